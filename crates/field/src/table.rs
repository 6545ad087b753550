//! Tables of results. Each row is printed as soon as it is known, together with its limit.
//!
//! A measurement is a table: [`Report::rows`] measures the rows that the options ask for.

use std::fmt;

use crate::{Options, Result};

const NAME_WIDTH: usize = 52;
const CELL_WIDTH: usize = 9;

/// The rows that missed their limits, over all tables.
#[derive(Default)]
pub(crate) struct Report {
    missed: Vec<String>,
}

/// The limit of a row, and whether the row met it.
pub(crate) struct Verdict {
    demand: String,
    pub(crate) is_met: bool,
}

impl Verdict {
    pub(crate) fn new(demand: impl Into<String>, is_met: bool) -> Self {
        Self { demand: demand.into(), is_met }
    }

    /// Returns the verdict of a row without a limit.
    pub(crate) fn none() -> Self {
        Self::new("", true)
    }
}

impl Report {
    /// Measures each of `rows` whose name the options ask for, and prints their table. Returns true
    /// if there is one.
    pub(crate) fn rows<R>(
        &mut self,
        options: &Options,
        title: &str,
        headings: &[&str],
        rows: &[(&str, R)],
        mut measure: impl FnMut(&R) -> Result<(Vec<String>, Verdict)>,
    ) -> Result<bool> {
        let chosen = options.choose(rows, |(name, _)| name);
        if chosen.is_empty() {
            return Ok(false);
        }
        self.table(title, headings);
        for (name, row) in chosen {
            let (cells, verdict) = measure(row)?;
            self.row(name, &cells, &verdict);
        }
        Ok(true)
    }

    /// Begins a table: prints its title and headings.
    pub(crate) fn table(&mut self, title: &str, headings: &[&str]) {
        println!("\n{title}");
        println!("{}", line("", headings, "at most"));
    }

    /// Prints a row.
    pub(crate) fn row(&mut self, name: &str, cells: &[String], verdict: &Verdict) {
        let mut remark = verdict.demand.clone();
        if !verdict.is_met {
            remark += "  MISSED";
            self.missed.push(name.to_owned());
        }
        println!("{}", line(name, cells, &remark));
    }

    /// Prints the lines of a note below the table.
    pub(crate) fn note(&self, text: &str) {
        text.lines().for_each(|line| println!("  {line}"));
    }

    /// Fails if a row missed its limit.
    pub(crate) fn close(self) -> Result<()> {
        ensure!(self.missed.is_empty(), "not reached: {}", self.missed.join("; "));
        Ok(())
    }
}

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

    /// The headings of [`Spread::cells`].
    pub(crate) const HEADINGS: [&str; 4] = ["trials", "median", "p95", "max"];

    /// Returns the cells of a table row: count, median, p95, max.
    pub(crate) fn cells(&self) -> Vec<String> {
        let show = |share| self.quantile(share).map_or("-".to_owned(), |it| format!("{it:.1}"));
        let count = self.count().to_string();
        vec![count, show(0.5), show(0.95), show(1.0)]
    }
}

impl FromIterator<f64> for Spread {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        Self { sorted }
    }
}

fn line(name: &str, cells: &[impl fmt::Display], remark: &str) -> String {
    let cells: String = cells.iter().map(|cell| format!(" {cell:>CELL_WIDTH$}")).collect();
    format!("{name:<NAME_WIDTH$}{cells}  {remark}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Report, Spread, Verdict, line};

    #[test]
    fn rows_align_with_their_headings() {
        let heading = line("", &["trials", "median"], "at most");
        let row = line("cold start", &["30", "10.5"], "p95 300");
        assert_eq!(heading.find("at most"), row.find("p95"));
        assert_eq!(line("bare", &["1"], "").len(), 62);
    }

    #[test]
    fn missed_limit_in_any_table_fails_the_report() {
        let mut report = Report::default();
        report.table("a", &[]);
        report.row("met", &[], &Verdict::new("1", true));
        report.table("b", &[]);
        report.row("far", &[], &Verdict::new("1", false));
        report.table("c", &[]);
        report.row("told", &[], &Verdict::none());
        let error = report.close().expect_err("one row was missed");
        assert_eq!(error.to_string(), "not reached: far");
    }

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
