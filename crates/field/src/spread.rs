//! The distribution of repeated measurements.

/// Measurements in one unit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spread {
    sorted: Vec<f64>,
}

impl Spread {
    pub(crate) fn add(&mut self, value: f64) {
        let at = self.sorted.partition_point(|&it| it < value);
        self.sorted.insert(at, value);
    }

    pub(crate) fn count(&self) -> usize {
        self.sorted.len()
    }

    /// Returns the least measurement that a fraction `share` of all measurements does not exceed.
    pub(crate) fn quantile(&self, share: f64) -> Option<f64> {
        let rank = (share * self.sorted.len() as f64).ceil() as usize;
        self.sorted.get(rank.max(1) - 1).copied()
    }

    pub(crate) fn max(&self) -> Option<f64> {
        self.quantile(1.0)
    }

    pub(crate) fn median(&self) -> Option<f64> {
        self.quantile(0.5)
    }
}

/// The headings of [`Spread::cells`].
pub(crate) const HEADINGS: [&str; 4] = ["trials", "median", "p95", "max"];

impl Spread {
    /// Returns the cells of a table row: count, median, p95, max.
    pub(crate) fn cells(&self) -> Vec<String> {
        let show = |share| self.quantile(share).map_or("-".to_owned(), |it| format!("{it:.1}"));
        let count = self.count().to_string();
        vec![count, show(0.5), show(0.95), show(1.0)]
    }
}

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn quantiles_are_measured_values() {
        let mut spread = Spread::default();
        assert_eq!(spread.cells(), ["0", "-", "-", "-"]);
        for value in (1..=20).rev() {
            spread.add(f64::from(value));
        }
        assert_eq!(spread.median(), Some(10.0));
        assert_eq!(spread.quantile(0.95), Some(19.0));
        assert_eq!(spread.max(), Some(20.0));
        assert_eq!(spread.cells(), ["20", "10.0", "19.0", "20.0"]);
    }
}
