//! The 95 % confidence interval of a measurement.

use hustings_sim::statistics::{Kind, Sample};
use serde_json::Value;

/// A mean or a share, with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    pub(super) mean: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Estimate {
    /// Returns the share `held` / `of`.
    pub(super) fn of_share(held: usize, of: usize) -> Self {
        let values = (0..of).map(|index| f64::from(u8::from(index < held)));
        Self::of(Kind::Proportion, values)
    }

    /// Returns the mean of counts. Equal counts give no variance. Then the interval allows as many
    /// counts to be off by one as the interval of a share of zero would.
    pub(super) fn of_mean(values: &[f64]) -> Self {
        let estimate = Self::of(Kind::Number, values.iter().copied());
        if values.iter().any(|value| *value != values[0]) {
            return estimate;
        }
        let off = Self::of_share(0, values.len()).high;
        Self { low: estimate.mean - off, high: estimate.mean + off, ..estimate }
    }

    /// A single value gives the interval [0, 1]. Without values, all fields are NaN.
    fn of(kind: Kind, values: impl Iterator<Item = f64>) -> Self {
        let mut sample = Sample::new(kind);
        values.for_each(|value| sample.add(value));
        let (mean, [low, high]) = match sample.estimate() {
            Some(estimate) => (estimate.mean, estimate.ci95.unwrap_or([0.0, 1.0])),
            None => (f64::NAN, [f64::NAN; 2]),
        };
        Self { mean, low, high }
    }

    /// Reads a metric from the simulator's output.
    pub(super) fn read(metric: &Value) -> Option<Self> {
        Some(Self {
            mean: metric["mean"].as_f64()?,
            low: metric["ci95"][0].as_f64()?,
            high: metric["ci95"][1].as_f64()?,
        })
    }

    /// True if the intervals overlap.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// Returns the cells of a table row: mean, from, to.
    pub(super) fn cells(&self) -> Vec<String> {
        let show = |value: &f64| format!("{value:.2}");
        [self.mean, self.low, self.high].iter().map(show).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Estimate;
    use serde_json::json;

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 0.001, "{value}, not {expected}");
    }

    #[test]
    fn intervals_match_textbook_values() {
        let all = Estimate::of_share(20, 20);
        near(all.low, 0.839);
        near(all.high, 1.0);
        let half = Estimate::of_share(10, 20);
        near(half.low, 0.299);
        near(half.high, 0.701);
        let mean = Estimate::of_mean(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        near(mean.mean, 3.5);
        near(mean.low, 3.5 - 2.571 * 0.7638);
        let alike = Estimate::of_mean(&[1.0; 20]);
        near(alike.high, 1.161);
        near(alike.low, 0.839);
        let one = Estimate::of_mean(&[3.0]);
        assert_eq!((one.low, one.high), (2.0, 4.0));
        for none in [Estimate::of_mean(&[]), Estimate::of_share(0, 0)] {
            assert!(!none.agrees(&half), "{none:?}");
        }
    }

    #[test]
    fn estimates_agree_if_their_intervals_overlap() {
        let told = json!({"mean": 2.0, "ci95": [1.0, 3.0], "min": 0.0, "max": 9.0});
        let first = Estimate::read(&told).expect("it has all three");
        let at = |low, high| Estimate { mean: (low + high) / 2.0, low, high };
        assert!(first.agrees(&at(2.5, 4.0)));
        assert!(at(2.5, 4.0).agrees(&first));
        assert!(!first.agrees(&at(3.1, 4.0)));
        assert_eq!(Estimate::read(&json!(null)), None);
        assert_eq!(first.cells(), ["2.00", "1.00", "3.00"]);
    }
}
