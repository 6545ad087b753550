//! The tables: each row is printed as soon as it is known, and says what it had to come to.

use std::fmt;

use crate::Result;

const NAME_WIDTH: usize = 52;
const CELL_WIDTH: usize = 9;

/// What was not reached, over all tables.
#[derive(Default)]
pub(crate) struct Report {
    missed: Vec<String>,
}

/// One table, which has been begun.
pub(crate) struct Table<'r> {
    report: &'r mut Report,
}

/// What a row has to come to, and whether it did.
pub(crate) struct Verdict {
    demand: String,
    is_met: bool,
}

impl Verdict {
    pub(crate) fn new(demand: impl Into<String>, is_met: bool) -> Self {
        Self {
            demand: demand.into(),
            is_met,
        }
    }

    /// The row is for information.
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

    /// Fails if something was not reached.
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

    /// Prints a note below.
    pub(crate) fn note(&self, text: &str) {
        println!("  {text}");
    }
}

fn line(name: &str, cells: &[impl fmt::Display], remark: &str) -> String {
    let cells: String = cells
        .iter()
        .map(|cell| format!(" {cell:>CELL_WIDTH$}"))
        .collect();
    format!("{name:<NAME_WIDTH$}{cells}  {remark}")
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Report, Verdict, line};

    #[test]
    fn rows_line_up_with_their_headings() {
        let heading = line("", &["trials", "median"], "at most");
        let row = line("cold start", &["30", "10.5"], "p95 300");
        assert_eq!(heading.find("at most"), row.find("p95"));
        assert_eq!(line("bare", &["1"], "").len(), 62);
    }

    #[test]
    fn what_is_missed_in_any_table_fails_the_whole() {
        let mut report = Report::default();
        report
            .table("a", &[])
            .row("met", &[], &Verdict::new("1", true));
        report
            .table("b", &[])
            .row("far", &[], &Verdict::new("1", false));
        report.table("c", &[]).row("told", &[], &Verdict::none());
        let error = report.close().expect_err("one row was missed");
        assert_eq!(error.to_string(), "not reached: far");
    }
}
