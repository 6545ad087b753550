//! `hustings reproduce`: tests the claims of the source documents.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use hustings_evidence::{self as evidence, Budget, Claim, Finding, Report, Selection};

use crate::failure::{Failure, print, say};
use crate::options::ChanceOptions;
use crate::simulation::bar;

/// Test the claims of the source documents and report which hold
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Reproduce {
    /// The claims to test: R4 for one claim, R for all claims whose id begins with R. Default: all
    #[arg(value_name = "IDS")]
    ids: Vec<String>,

    /// Write claims.json, the figures as SVG, and a page with everything, index.html, to this
    /// directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Fewer runs and smaller groups: a few seconds instead of a few minutes
    #[arg(long)]
    quick: bool,

    #[command(flatten)]
    chance: ChanceOptions,

    /// The output format of the result
    #[arg(long, value_enum, default_value_t = VerdictFormat::Text)]
    format: VerdictFormat,
}

const HELP: &str = include_str!("reproduce_help.txt").trim_ascii_end();

/// The output formats of the verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum VerdictFormat {
    /// A table for people; with evidence for claims selected by id
    Text,
    /// One JSON object on one line
    Json,
}

impl Reproduce {
    pub(super) fn run(self) -> Result<(), Failure> {
        let selection = Selection::of(&self.ids).map_err(Failure::Usage)?;
        if let Some(directory) = &self.out {
            prepare(directory)?;
        }
        let ChanceOptions { seed, threads } = self.chance;
        let budget = Budget { quick: self.quick, seed, threads };
        let progress = bar(selection.count() as u64, "{wide_bar} {msg} ({pos}/{len})");
        let findings = selection.evaluate(&budget, |Claim { id, .. }| {
            progress.set_message(*id);
            progress.inc(1);
        });
        progress.finish_and_clear();
        Failure::unless_unread(print(&match self.format {
            VerdictFormat::Text => evidence::text(&budget, &findings, selection.is_particular),
            VerdictFormat::Json => Report::new(&budget, &findings).to_json(),
        }))?;
        if let Some(directory) = &self.out {
            publish(directory, &budget, &selection, &findings)?;
        }
        let complaints: Vec<String> = findings.iter().filter_map(Finding::complaint).collect();
        if complaints.is_empty() {
            return Ok(()); // no verdict differs from the recorded one
        }
        Err(Failure::Failed(format!("not as on record: {}", complaints.join("; "))))
    }
}

/// Checks that the directory can be written to, before anything is computed.
fn prepare(directory: &Path) -> Result<(), Failure> {
    let made = fs::create_dir_all(directory);
    made.map_err(|error| Failure::file("--out", directory, error))?;
    let page = directory.join("index.html");
    let opened = fs::OpenOptions::new().append(true).create(true).open(&page);
    opened.map(drop).map_err(|error| Failure::file("--out", &page, error))
}

/// Writes the figures, `claims.json` and `index.html` to the directory.
fn publish(
    directory: &Path,
    budget: &Budget,
    selection: &Selection,
    findings: &[Finding],
) -> Result<(), Failure> {
    let write = |name: &str, content: &str| {
        let path = directory.join(name);
        fs::write(&path, content)
            .map_err(|error| Failure::Failed(format!("--out {}: {error}", path.display())))
    };
    let drawings = selection.draw(budget).map_err(Failure::failed)?;
    for drawing in &drawings {
        write(&format!("{}.svg", drawing.name), &drawing.svg)?;
    }
    write("claims.json", &Report::new(budget, findings).to_json())?;
    write("index.html", &evidence::page(budget, findings, &drawings))?;
    say(&format!("written to {}", directory.join("index.html").display()));
    Ok(())
}
