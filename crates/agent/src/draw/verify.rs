//! What transcripts prove: afterwards, by anybody who has the ring file.
//!
//! A transcript counts if every signature in it fits and its holder signed it as a whole (`reading`). Its holder is then held to
//! it: an honest member, given the same chance and the same messages, says the same (`conduct`). And it is held against those
//! of its neighbours (`links`): what a neighbour heard has the speaker's signature, and under it the hash of all that the
//! speaker had done by then, so that a transcript made up afterwards does not fit. Of members that hand in none it shows what
//! went into them and what came out.

mod conduct;
mod links;
mod reading;
#[cfg(test)]
mod tests;

use serde::Serialize;

use super::account::in_words;
use super::bytes::Digest;
use super::ring::Ring;
use super::said::{Statement, Verdict};
use reading::Reading;
pub use reading::Unusable;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// What was drawn for.
    pub draw: String,
    /// Which draw for that it was.
    pub number: u64,
    /// What tells its ring from others.
    pub ring: Digest,
    /// Who is elected, if all members have signed it.
    pub leader: Option<String>,
    /// The transcripts that count.
    pub transcripts: Vec<Heard>,
    /// Those that do not.
    pub unusable: Vec<Refused>,
    /// Members of whom there is none that counts.
    pub missing: Vec<String>,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// A transcript that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Heard {
    /// Where it came from.
    pub source: String,
    /// Whose it is.
    pub member: String,
    /// How many entries it has.
    pub entries: usize,
    /// What its holder came to, in words.
    pub verdict: String,
}

/// A transcript that does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Where it came from.
    pub source: String,
    /// Why not.
    pub why: String,
}

/// Something that nobody does who keeps to the protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Whose doing it is: one of these.
    pub who: Vec<String>,
    /// How well that is known.
    pub weight: Weight,
    /// What it is.
    pub what: String,
}

/// How well something is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// By signatures of who did it.
    Proven,
    /// Unless they hand in transcripts that say otherwise.
    Unanswered,
    /// One of them, or the link between them.
    Either,
}

impl Verification {
    /// Whether all is well: there is a leader, and nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.leader.is_some() && self.findings.is_empty() && self.unusable.is_empty()
    }
}

/// Reads `transcripts`, each with a name for where it came from, of the draw on `ring`.
pub fn verify(ring: &Ring, transcripts: &[(String, Vec<u8>)]) -> Verification {
    let digest = ring.digest();
    let mut found = Verification {
        draw: ring.draw.clone(),
        number: ring.number,
        ring: digest,
        leader: None,
        transcripts: Vec::new(),
        unusable: Vec::new(),
        missing: Vec::new(),
        findings: Vec::new(),
    };
    let mut readings: Vec<Option<Reading>> = vec![None; ring.members.len()];
    for (source, content) in transcripts {
        match Reading::read(content, ring, digest) {
            Ok(reading) => found.take(ring, source, reading, &mut readings),
            Err(why) => found.unusable.push(Refused {
                source: source.clone(),
                why: why.to_string(),
            }),
        }
    }
    let name = |place: u32| ring.member(place).name.clone();
    let absent = (0..).zip(&readings).filter(|(_, it)| it.is_none());
    found.missing = absent.map(|(place, _)| name(place)).collect();
    for reading in readings.iter().flatten() {
        if let Err(breach) = conduct::check(ring, reading) {
            let Reading { place, .. } = *reading;
            found.findings.push(Finding::proven(name(place), breach));
        }
    }
    match links::attempts(ring, &readings) {
        one if one.is_empty() => {
            found.findings.extend(links::check(ring, &readings));
            found.leader = leader(ring, &readings).map(name);
        }
        // What was said in one attempt says nothing about another.
        several => found.findings.extend(several),
    }
    found
}

impl Verification {
    /// Takes in a transcript that counts.
    fn take(
        &mut self,
        ring: &Ring,
        source: &str,
        reading: Reading,
        readings: &mut [Option<Reading>],
    ) {
        let member = ring.member(reading.place).name.clone();
        self.transcripts.push(Heard {
            source: source.to_owned(),
            member: member.clone(),
            entries: reading.entries.len(),
            verdict: verdict_in_words(ring, reading.verdict),
        });
        let slot = &mut readings[reading.place as usize];
        match slot {
            None => *slot = Some(reading),
            // Whoever was given a transcript can cut it where its holder had signed once: the longer one counts.
            Some(other) if reading.entries.starts_with(&other.entries) => *slot = Some(reading),
            Some(other) if other.entries.starts_with(&reading.entries) => {}
            Some(_) => {
                let what = "handed in two transcripts of one draw, both signed".to_owned();
                self.findings.push(Finding::proven(member, what));
            }
        }
    }
}

impl Finding {
    fn proven(who: String, what: String) -> Self {
        Self {
            who: vec![who],
            weight: Weight::Proven,
            what,
        }
    }
}

fn verdict_in_words(ring: &Ring, verdict: Verdict) -> String {
    match verdict {
        Verdict::Elected { leader, .. } => format!("saw {} elected", ring.member(leader).name),
        Verdict::Fault(fault) => in_words(ring, fault),
    }
}

/// Who is elected, if there are signatures of all members under the same.
fn leader(ring: &Ring, readings: &[Option<Reading>]) -> Option<u32> {
    let statements: Vec<&Statement> = readings
        .iter()
        .flatten()
        .flat_map(Reading::statements)
        .collect();
    let is_signed_by_all = |verdict| {
        let has_signed = |place| {
            let mut signed = statements.iter();
            signed.any(|it| it.place == place && it.verdict == verdict)
        };
        (0..ring.len()).all(has_signed)
    };
    // Somebody may have signed another one as well, which undoes nothing.
    statements.iter().find_map(|it| match it.verdict {
        Verdict::Elected { leader, .. } if is_signed_by_all(it.verdict) => Some(leader),
        Verdict::Elected { .. } | Verdict::Fault(_) => None,
    })
}
