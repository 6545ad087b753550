//! How certain a figure is: its 95 % confidence interval.

use serde_json::Value;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// What 2.5 % of a normal distribution exceed.
const Z: f64 = 1.959_964;

/// A mean, or a share, and where the true one lies in 95 of 100 cases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    pub(super) mean: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Estimate {
    /// How often something held: Wilson's interval, which stays honest where it always did.
    pub(super) fn of_share(held: usize, of: usize) -> Self {
        let (count, share) = (of as f64, held as f64 / of as f64);
        let scale = 1.0 + Z * Z / count;
        let middle = (share + Z * Z / (2.0 * count)) / scale;
        let spread = (share * (1.0 - share) / count + Z * Z / (4.0 * count * count)).sqrt();
        Self {
            mean: share,
            low: middle - Z * spread / scale,
            high: middle + Z * spread / scale,
        }
    }

    /// The mean of counts: Student's interval. Counts that are all alike tell nothing of how they vary: then as many may
    /// be off by one as Wilson's interval allows for.
    pub(super) fn of_mean(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        let off = match squares > 0.0 {
            true => student(count - 1.0) * error,
            false => Self::of_share(0, values.len()).high,
        };
        Self {
            mean,
            low: mean - off,
            high: mean + off,
        }
    }

    /// As the simulator tells it.
    pub(super) fn read(metric: &Value) -> Option<Self> {
        Some(Self {
            mean: metric["mean"].as_f64()?,
            low: metric["ci95"][0].as_f64()?,
            high: metric["ci95"][1].as_f64()?,
        })
    }

    /// Whether both may be of the same.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// For a row of a table: mean, from, to.
    pub(super) fn cells(&self) -> Vec<String> {
        let show = |value: &f64| format!("{value:.2}");
        [self.mean, self.low, self.high].iter().map(show).collect()
    }
}

/// What 2.5 % of Student's distribution exceed.
fn student(degrees: f64) -> f64 {
    let distribution = StudentsT::new(0.0, 1.0, degrees);
    // With fewer than two measurements there is no interval, and no number either.
    distribution.map_or(f64::NAN, |it| it.inverse_cdf(0.975))
}

#[cfg(test)]
mod tests {
    use super::{Estimate, student};
    use serde_json::json;

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 0.001, "{value}, not {expected}");
    }

    #[test]
    fn intervals_are_those_of_the_textbooks() {
        near(student(19.0), 2.093);
        near(student(99.0), 1.984);
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
    }

    #[test]
    fn two_agree_where_their_intervals_meet() {
        let told = json!({"mean": 2.0, "ci95": [1.0, 3.0], "min": 0.0, "max": 9.0});
        let first = Estimate::read(&told).expect("it has all three");
        let at = |low, high| Estimate {
            mean: (low + high) / 2.0,
            low,
            high,
        };
        assert!(first.agrees(&at(2.5, 4.0)));
        assert!(at(2.5, 4.0).agrees(&first));
        assert!(!first.agrees(&at(3.1, 4.0)));
        assert_eq!(Estimate::read(&json!(null)), None);
        assert_eq!(first.cells(), ["2.00", "1.00", "3.00"]);
    }
}
