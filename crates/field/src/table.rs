//! Tables of results. Each row is printed as soon as it is known, together with its limit.

use std::fmt;

use crate::Result;

const NAME_WIDTH: usize = 52;
const CELL_WIDTH: usize = 9;

/// The rows that missed their limits, over all tables.
#[derive(Default)]
pub(crate) struct Report {
    missed: Vec<String>,
}

/// A table whose title and headings are printed.
pub(crate) struct Table<'r> {
    report: &'r mut Report,
}

/// The limit of a row, and whether the row met it.
pub(crate) struct Verdict {
    demand: String,
    is_met: bool,
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
    /// Begins a table: prints its title and headings.
    pub(crate) fn table(&mut self, title: &str, headings: &[&str]) -> Table<'_> {
        println!("\n{title}");
        println!("{}", line("", headings, "at most"));
        Table { report: self }
    }

    /// Fails if a row missed its limit.
    pub(crate) fn close(self) -> Result<()> {
        match self.missed.is_empty() {
            true => Ok(()),
            false => Err(format!("not reached: {}", self.missed.join("; ")).into()),
        }
    }
}

impl Table<'_> {
    /// Prints a row.
    pub(crate) fn row(&mut self, name: &str, cells: &[String], verdict: &Verdict) {
        let Verdict { demand, is_met } = verdict;
        let remark = match is_met {
            true => demand.clone(),
            false => format!("{demand}  MISSED"),
        };
        println!("{}", line(name, cells, &remark));
        if !is_met {
            self.report.missed.push(name.to_owned());
        }
    }

    /// Prints a note below the table.
    pub(crate) fn note(&self, text: &str) {
        println!("  {text}");
    }
}

fn line(name: &str, cells: &[impl fmt::Display], remark: &str) -> String {
    let cells: String = cells.iter().map(|cell| format!(" {cell:>CELL_WIDTH$}")).collect();
    format!("{name:<NAME_WIDTH$}{cells}  {remark}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Report, Verdict, line};

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
        report.table("a", &[]).row("met", &[], &Verdict::new("1", true));
        report.table("b", &[]).row("far", &[], &Verdict::new("1", false));
        report.table("c", &[]).row("told", &[], &Verdict::none());
        let error = report.close().expect_err("one row was missed");
        assert_eq!(error.to_string(), "not reached: far");
    }
}
