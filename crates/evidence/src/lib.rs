//! Claims of the source documents, the experiments that test them, and the verdicts that follow.
//!
//! A document is a slice of claims and figures. A claim is a function that runs its experiments and
//! returns the evidence. The verdict is computed from the evidence. Each claim also records the
//! verdict that we came to when we wrote it, so that a change of ours that changes a verdict is
//! noticed.

mod announce_thesis;
mod budget;
mod council_paper;
mod epidemic;
mod evidence;
mod figure;
mod lecture_slides;
mod page;
mod probabilistic_paper;
#[cfg(test)]
mod tests;
mod text;
mod wagner_paper;

use serde::Serialize;

pub use budget::{Budget, ExperimentError};
use budget::{Result, seed_of};
use evidence::{Evidence, Verdict, name_of};
use figure::{Panel, Series};
pub use page::write as page;
pub use text::write as text;

/// All documents with claims.
const DOCUMENTS: &[Document] = &[
    lecture_slides::DOCUMENT,
    announce_thesis::DOCUMENT,
    probabilistic_paper::DOCUMENT,
    epidemic::DOCUMENT,
    council_paper::DOCUMENT,
    wagner_paper::DOCUMENT,
];

/// A document that makes claims.
struct Document {
    /// The prefix of the ids of its claims.
    key: &'static str,
    title: &'static str,
    claims: &'static [Claim],
    figures: &'static [FigureSpec],
}

/// A measurable statement of a document.
#[derive(Debug)]
pub struct Claim {
    /// The name under which the command line finds the claim.
    pub id: &'static str,
    /// The place in the document.
    source: &'static str,
    /// The statement as the document makes it.
    says: &'static str,
    /// Our interpretation of the statement, and our additions to it.
    reading: &'static str,
    method: Method,
    /// The verdict at the time of writing.
    on_record: Verdict,
    /// Adds the checks, and returns the main result on one line.
    evaluate: fn(&Budget, &mut Evidence) -> Result<String>,
}

impl Claim {
    fn evidence(&self, budget: &Budget) -> Result<Evidence> {
        let mut evidence = Evidence::default();
        let own = budget.reseeded(seed_of(self.id));
        evidence.measured = (self.evaluate)(&own, &mut evidence)?;
        Ok(evidence)
    }
}

/// The method that tests a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Method {
    /// Random runs, or runs laid out as the claim says.
    Simulation,
    /// All cases up to some size, and simulation beyond it.
    Exhaustive,
    /// Formulas, confirmed by simulation as far as simulation reaches.
    Theory,
}

/// A figure, or several figures that show different measures of the same runs. The names of all
/// seed the experiments.
struct FigureSpec {
    panels: &'static [Panel],
    /// Runs the experiments. Returns the series of each panel.
    draw: fn(&Budget) -> Result<Vec<Vec<Series>>>,
}

/// A claim and its evidence.
#[derive(Debug)]
pub struct Finding {
    claim: &'static Claim,
    document: &'static str,
    evidence: Result<Evidence>,
}

/// A drawn figure.
#[derive(Debug)]
pub struct Drawing {
    /// The file name without extension.
    pub name: &'static str,
    caption: &'static str,
    /// The drawing as an SVG document.
    pub svg: String,
}

/// Claims, with the documents that make them.
pub struct Selection {
    claims: Vec<(&'static Document, &'static Claim)>,
    /// True if the caller named a claim by its own id.
    pub is_particular: bool,
}

impl Selection {
    /// Returns the claims that `asked` names, in the order of the documents. A name is the id of a
    /// claim or the key of a document. An empty list selects all claims.
    ///
    /// # Errors
    /// Names the first unknown name, and lists the ids that exist.
    pub fn of(asked: &[String]) -> std::result::Result<Self, String> {
        for name in asked {
            if !claims().any(|(document, claim)| means(name, document, claim)) {
                return Err(format!("there is no claim {name}: {}", what_there_is()));
            }
        }
        let is_asked = |(document, claim): &(&Document, &Claim)| {
            asked.is_empty() || asked.iter().any(|name| means(name, document, claim))
        };
        Ok(Self {
            claims: claims().filter(is_asked).collect(),
            is_particular: claims()
                .any(|(_, claim)| asked.iter().any(|name| name.eq_ignore_ascii_case(claim.id))),
        })
    }

    /// Returns the number of claims.
    pub fn count(&self) -> usize {
        self.claims.len()
    }

    /// Evaluates the claims one after the other. Calls `before` with each claim first.
    pub fn evaluate(&self, budget: &Budget, before: impl Fn(&Claim)) -> Vec<Finding> {
        let evaluate = |&(document, claim): &(&'static Document, &'static Claim)| {
            before(claim);
            Finding { claim, document: document.title, evidence: claim.evidence(budget) }
        };
        self.claims.iter().map(evaluate).collect()
    }

    /// Draws the figures of all documents that have a claim in this selection.
    ///
    /// # Errors
    /// Returns an error if an experiment cannot be run.
    pub fn draw(&self, budget: &Budget) -> Result<Vec<Drawing>> {
        let is_chosen = |document: &&Document| {
            let mut chosen = self.claims.iter();
            chosen.any(|(other, _)| other.key == document.key)
        };
        let mut drawings = Vec::new();
        let figures = DOCUMENTS.iter().filter(is_chosen).flat_map(|document| document.figures);
        for FigureSpec { panels, draw } in figures {
            let names: String = panels.iter().map(|panel| panel.name).collect();
            let series = draw(&budget.reseeded(seed_of(&names)))?;
            for (panel, series) in panels.iter().zip(&series) {
                let svg = panel.draw(series)?;
                drawings.push(Drawing { name: panel.name, caption: panel.caption, svg });
            }
        }
        Ok(drawings)
    }
}

fn claims() -> impl Iterator<Item = (&'static Document, &'static Claim)> {
    DOCUMENTS.iter().flat_map(|document| document.claims.iter().map(move |claim| (document, claim)))
}

fn means(name: &str, document: &Document, claim: &Claim) -> bool {
    name.eq_ignore_ascii_case(claim.id) || name.eq_ignore_ascii_case(document.key)
}

/// Lists the ids of all documents as text.
fn what_there_is() -> String {
    let ids = |document: &Document| match document.claims {
        [] => document.key.to_owned(),
        [first, .., last] => format!("{} to {}", first.id, last.id),
        [only] => only.id.to_owned(),
    };
    let listed = DOCUMENTS.iter().map(|document| {
        let (key, title) = (document.key, document.title);
        format!("choose {}, or {key} for all of {title}", ids(document))
    });
    listed.collect::<Vec<_>>().join("; ")
}

/// All findings, as a JSON document.
#[derive(Serialize)]
pub struct Report<'a> {
    quick: bool,
    seed: u64,
    claims: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    id: &'a str,
    document: &'a str,
    source: &'a str,
    says: &'a str,
    reading: &'a str,
    method: Method,
    verdict: Option<Verdict>,
    on_record: Verdict,
    as_on_record: bool,
    measured: Option<&'a str>,
    checks: &'a [evidence::Check],
    error: Option<String>,
}

impl<'a> Report<'a> {
    /// Builds the report of `findings`.
    pub fn new(budget: &Budget, findings: &'a [Finding]) -> Self {
        Self {
            quick: budget.quick,
            seed: budget.seed,
            claims: findings.iter().map(Finding::entry).collect(),
        }
    }

    /// Returns the report as one JSON object on one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers under names have a JSON form") + "\n"
    }
}

impl Finding {
    fn entry(&self) -> Entry<'_> {
        let claim = self.claim;
        let evidence = self.evidence.as_ref();
        Entry {
            id: claim.id,
            document: self.document,
            source: claim.source,
            says: claim.says,
            reading: claim.reading,
            method: claim.method,
            verdict: self.verdict(),
            on_record: claim.on_record,
            as_on_record: self.complaint().is_none(),
            measured: evidence.ok().map(|evidence| evidence.measured.as_str()),
            checks: evidence.map_or(&[], |evidence| &evidence.checks),
            error: evidence.err().map(ToString::to_string),
        }
    }

    /// Returns the main result on one line, or the reason why there is none.
    fn measured(&self) -> String {
        match &self.evidence {
            Ok(evidence) => evidence.measured.clone(),
            Err(error) => error.to_string(),
        }
    }

    fn verdict(&self) -> Option<Verdict> {
        self.evidence.as_ref().ok().map(Evidence::verdict)
    }

    /// Describes how a finding differs from the record. `None` if nothing differs.
    pub fn complaint(&self) -> Option<String> {
        let Claim { id, on_record, .. } = self.claim;
        let evidence = match &self.evidence {
            Ok(evidence) => evidence,
            Err(error) => return Some(format!("{id} could not be evaluated: {error}")),
        };
        let verdict = evidence.verdict();
        if verdict != *on_record {
            let (verdict, on_record) = (name_of(&verdict), name_of(on_record));
            return Some(format!("{id} {verdict}, but on record it {on_record}"));
        }
        let check = evidence.first_of_ours_that_fails()?;
        Some(format!(
            "{id}: {}: expected {}, measured {}",
            check.what, check.expected, check.measured
        ))
    }
}
