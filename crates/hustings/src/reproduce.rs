//! The claims of the source documents, put to the test: what each says, what comes out, and the
//! verdict that follows.
//!
//! A document is a slice of claims and figures; a claim is a function that does its experiments and
//! returns the evidence. The verdict is computed from the evidence. The one on record stands beside
//! it, so that a change of ours that turns a verdict does not go unnoticed.

mod council;
mod effort;
mod epidemic;
mod evidence;
mod fair_draw;
#[cfg(test)]
mod fall;
mod figure;
mod large_groups;
mod page;
mod slides;
mod text;
mod thesis;

use serde::Serialize;

pub(crate) use effort::{Effort, Extent};
use effort::{ExperimentError, seed_of};
use evidence::{Evidence, Verdict};
use figure::Figure;
pub(crate) use page::write as page;
pub(crate) use text::{Telling, write as text};

/// Every document whose claims are put to the test.
const DOCUMENTS: &[Document] = &[
    slides::DOCUMENT,
    thesis::DOCUMENT,
    large_groups::DOCUMENT,
    epidemic::DOCUMENT,
    council::DOCUMENT,
    fair_draw::DOCUMENT,
];

/// A document that makes claims.
struct Document {
    /// What the ids of its claims begin with.
    key: &'static str,
    title: &'static str,
    claims: &'static [Claim],
    sketches: &'static [Sketch],
    plates: &'static [Plate],
}

/// Something that a document says and that can be measured.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) id: &'static str,
    /// Where in the document.
    source: &'static str,
    /// What it says there.
    says: &'static str,
    /// How we read it, and what we add.
    reading: &'static str,
    method: Method,
    /// The verdict that we came to when we wrote this.
    on_record: Verdict,
    evaluate: fn(&Effort) -> Result<Evidence, ExperimentError>,
}

/// How a claim is put to the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Method {
    /// By runs drawn by chance, or laid out as the claim says.
    Simulation,
    /// By every case there is, up to some size, and by simulation beyond it.
    Exhaustive,
    /// By formulas, which simulation confirms as far as it reaches.
    Theory,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Simulation => "simulation",
            Self::Exhaustive => "exhaustive",
            Self::Theory => "theory",
        }
    }
}

/// A figure that a document gives reason to draw.
#[derive(Debug)]
struct Sketch {
    /// Its file is called so.
    name: &'static str,
    caption: &'static str,
    draw: fn(&Effort) -> Result<Figure, ExperimentError>,
}

/// Figures that show different sides of the same runs.
struct Plate {
    /// Their names, by which their files are called, and captions.
    panels: &'static [(&'static str, &'static str)],
    /// Draws them all, in that order.
    draw: fn(&Effort) -> Result<Vec<Figure>, ExperimentError>,
}

/// A claim and what became of it.
#[derive(Debug)]
pub(crate) struct Finding {
    claim: &'static Claim,
    document: &'static str,
    evidence: Result<Evidence, ExperimentError>,
}

/// A figure, drawn.
#[derive(Debug)]
pub(crate) struct Drawing {
    /// Its file is called so.
    pub(crate) name: &'static str,
    caption: &'static str,
    pub(crate) svg: String,
}

/// Claims, with the documents that make them.
pub(crate) struct Selection {
    claims: Vec<(&'static Document, &'static Claim)>,
    /// Whether any was asked for by its own id.
    pub(crate) is_particular: bool,
}

impl Selection {
    /// What `asked` names, in the order of the documents: claims by id, or all that begin so. All
    /// claims if nothing is asked for.
    ///
    /// # Errors
    /// Tells which name means nothing, and what there is.
    pub(crate) fn of(asked: &[String]) -> Result<Self, String> {
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

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.claims.len()
    }

    /// Puts one of the claims to the test after the other; `before` hears of each.
    pub(crate) fn evaluate(&self, effort: &Effort, before: impl Fn(&Claim)) -> Vec<Finding> {
        let evaluate = |&(document, claim): &(&'static Document, &'static Claim)| {
            before(claim);
            Finding {
                claim,
                document: document.title,
                evidence: (claim.evaluate)(&effort.reseeded(seed_of(claim.id))),
            }
        };
        self.claims.iter().map(evaluate).collect()
    }

    /// Draws the figures of the documents that have a claim here.
    ///
    /// # Errors
    /// If an experiment cannot be run.
    pub(crate) fn draw(&self, effort: &Effort) -> Result<Vec<Drawing>, ExperimentError> {
        let documents = DOCUMENTS.iter().filter(|document| {
            let mut chosen = self.claims.iter();
            chosen.any(|(other, _)| other.key == document.key)
        });
        let mut drawings = Vec::new();
        for document in documents {
            for Sketch {
                name,
                caption,
                draw,
            } in document.sketches
            {
                let figure = draw(&effort.reseeded(seed_of(name)))?;
                drawings.push(Drawing::of(name, caption, &figure)?);
            }
            for Plate { panels, draw } in document.plates {
                let names: String = panels.iter().map(|(name, _)| *name).collect();
                let figures = draw(&effort.reseeded(seed_of(&names)))?;
                for ((name, caption), figure) in panels.iter().zip(&figures) {
                    drawings.push(Drawing::of(name, caption, figure)?);
                }
            }
        }
        Ok(drawings)
    }
}

impl Drawing {
    fn of(
        name: &'static str,
        caption: &'static str,
        figure: &Figure,
    ) -> Result<Self, ExperimentError> {
        Ok(Self {
            name,
            caption,
            svg: figure.to_svg()?,
        })
    }
}

fn claims() -> impl Iterator<Item = (&'static Document, &'static Claim)> {
    DOCUMENTS
        .iter()
        .flat_map(|document| document.claims.iter().map(move |claim| (document, claim)))
}

fn means(name: &str, document: &Document, claim: &Claim) -> bool {
    name.eq_ignore_ascii_case(claim.id) || name.eq_ignore_ascii_case(document.key)
}

/// The ids, in words.
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

/// All that was found, for programs.
#[derive(Serialize)]
pub(crate) struct Report<'a> {
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
    pub(crate) fn new(effort: &Effort, findings: &'a [Finding]) -> Self {
        Self {
            quick: effort.extent == Extent::Quick,
            seed: effort.seed,
            claims: findings.iter().map(Finding::entry).collect(),
        }
    }

    /// One object on one line.
    pub(crate) fn to_json(&self) -> String {
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

    fn verdict(&self) -> Option<Verdict> {
        self.evidence.as_ref().ok().map(Evidence::verdict)
    }

    /// What is not as it was when we wrote the claim down; nothing if all is.
    pub(crate) fn complaint(&self) -> Option<String> {
        let Claim { id, on_record, .. } = self.claim;
        let evidence = match &self.evidence {
            Ok(evidence) => evidence,
            Err(error) => return Some(format!("{id} could not be evaluated: {error}")),
        };
        let verdict = evidence.verdict();
        if verdict != *on_record {
            return Some(format!("{id} {verdict}, but on record it {on_record}"));
        }
        let check = evidence.first_of_ours_that_fails()?;
        Some(format!(
            "{id}: {}: expected {}, measured {}",
            check.what, check.expected, check.measured
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{Selection, claims};

    fn chosen(asked: &[&str]) -> Result<Vec<&'static str>, String> {
        let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
        Selection::of(&asked)
            .map(|selection| selection.claims.iter().map(|(_, claim)| claim.id).collect())
    }

    #[test]
    fn claims_are_chosen_by_id_or_by_document() {
        let all: Vec<&str> = claims().map(|(_, claim)| claim.id).collect();
        assert_eq!(chosen(&[]), Ok(all.clone()));
        let of_slides = all.iter().copied().filter(|id| id.starts_with('R'));
        assert_eq!(chosen(&["R"]), Ok(of_slides.collect()));
        assert_eq!(chosen(&["R12", "r4", "R4"]), Ok(vec!["R4", "R12"]));
        let refused = chosen(&["R4", "R40"]).unwrap_err();
        assert!(
            refused.starts_with("there is no claim R40: choose R1 to R12"),
            "{refused}"
        );
    }

    #[test]
    fn ids_are_unique_and_begin_with_their_document() {
        let mut ids = Vec::new();
        for (document, claim) in claims() {
            assert!(claim.id.starts_with(document.key), "{}", claim.id);
            assert!(!ids.contains(&claim.id), "{} twice", claim.id);
            ids.push(claim.id);
        }
    }
}
