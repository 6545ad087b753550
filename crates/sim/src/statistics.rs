//! Statistics of many runs: means with confidence intervals.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// The kind of quantity a sample holds, which decides its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number: Student's interval.
    Number,
    /// A number from 0 to 1: Student's interval, clamped to that range.
    Fraction,
    /// Yes or no, as 1 and 0: Wilson's interval, which stays valid if all runs agree.
    Proportion,
}

/// A sample that grows run by run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    kind: Kind,
    count: u64,
    mean: f64,
    /// The sum of squared distances from the mean.
    squares: f64,
    min: f64,
    max: f64,
}

impl Sample {
    /// An empty sample.
    pub fn new(kind: Kind) -> Self {
        Self { kind, count: 0, mean: 0.0, squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }

    /// Adds one value (Welford's method: no cancellation for any number of values).
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (value - self.mean);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean, interval and range; `None` for an empty sample.
    pub fn estimate(&self) -> Option<Estimate> {
        if self.count == 0 {
            return None;
        }
        let ci95 = || match self.kind {
            Kind::Number => self.student(),
            Kind::Fraction => self.student().map(|bound| bound.clamp(0.0, 1.0)),
            Kind::Proportion => self.wilson(),
        };
        Some(Estimate {
            mean: self.mean,
            ci95: (self.count > 1).then(ci95),
            min: self.min,
            max: self.max,
        })
    }

    /// The standard deviation of the values; 0 if there is only one.
    pub fn deviation(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        (self.squares / (self.count - 1) as f64).sqrt()
    }

    /// Student's interval of two or more values.
    fn student(&self) -> [f64; 2] {
        let law = StudentsT::new(0.0, 1.0, (self.count - 1) as f64)
            .expect("one degree of freedom or more");
        let reach = law.inverse_cdf(0.975) * self.deviation() / (self.count as f64).sqrt();
        [self.mean - reach, self.mean + reach]
    }

    fn wilson(&self) -> [f64; 2] {
        let n = self.count as f64;
        let z = Normal::standard().inverse_cdf(0.975);
        let shrink = 1.0 + z * z / n;
        let centre = (self.mean + z * z / (2.0 * n)) / shrink;
        let spread = self.mean * (1.0 - self.mean) / n + z * z / (4.0 * n * n);
        let reach = z * spread.sqrt() / shrink;
        // At the ends the bound is exact, except for rounding.
        let low = if self.mean == 0.0 { 0.0 } else { (centre - reach).max(0.0) };
        let high = if self.mean == 1.0 { 1.0 } else { (centre + reach).min(1.0) };
        [low, high]
    }
}

/// The estimate from a sample.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// The 95 % confidence interval of the mean. `None` for one value, which gives no estimate of
    /// the variance.
    pub ci95: Option<[f64; 2]>,
    /// The least value.
    pub min: f64,
    /// The greatest value.
    pub max: f64,
}

#[cfg(test)]
mod tests {
    use super::{Kind, Sample};

    fn sample(kind: Kind, values: &[f64]) -> Sample {
        let mut sample = Sample::new(kind);
        values.iter().for_each(|&value| sample.add(value));
        sample
    }

    fn interval(kind: Kind, values: &[f64]) -> Option<[f64; 2]> {
        sample(kind, values).estimate().unwrap().ci95
    }

    #[test]
    fn numbers_get_students_interval() {
        // t(0.975; 4) = 2.776445, deviation sqrt(2.5), so the reach is 1.963243.
        let estimate = sample(Kind::Number, &[1.0, 2.0, 3.0, 4.0, 5.0]).estimate().unwrap();
        assert_eq!((estimate.mean, estimate.min, estimate.max), (3.0, 1.0, 5.0));
        let [low, high] = estimate.ci95.unwrap();
        assert!((low - (3.0 - 1.963_243)).abs() < 1e-5, "{low}");
        assert!((high - (3.0 + 1.963_243)).abs() < 1e-5, "{high}");
    }

    #[test]
    fn proportions_get_wilsons_interval_even_when_all_agree() {
        // 10 of 10: n / (n + z^2) = 10 / 13.841459.
        let [low, high] = interval(Kind::Proportion, &[1.0; 10]).unwrap();
        assert!((low - 0.722_467).abs() < 1e-5, "{low}");
        assert_eq!(high, 1.0);
        let [low, _] = interval(Kind::Proportion, &[0.0; 10]).unwrap();
        assert_eq!(low, 0.0);
    }

    #[test]
    fn fractions_stay_between_0_and_1() {
        let fractions = [1.0, 1.0, 1.0, 0.2];
        assert!(interval(Kind::Number, &fractions).unwrap()[1] > 1.0);
        assert_eq!(interval(Kind::Fraction, &fractions).unwrap()[1], 1.0);
    }

    #[test]
    fn empty_sample_has_no_estimate() {
        assert_eq!(Sample::new(Kind::Number).estimate(), None);
    }

    #[test]
    fn one_value_has_a_mean_and_no_interval() {
        for kind in [Kind::Number, Kind::Fraction, Kind::Proportion] {
            let estimate = sample(kind, &[1.0]).estimate().unwrap();
            assert_eq!((estimate.mean, estimate.ci95), (1.0, None));
            assert!(interval(kind, &[1.0, 1.0]).is_some());
        }
    }
}
