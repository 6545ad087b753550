//! What transcripts prove: afterwards, by anybody who has the ring file.
//!
//! A transcript counts if every signature in it fits and its holder signed it as a whole (`reading`). Its holder is then held to
//! it: an honest member, given the same chance and the same messages, says the same (`conduct`). And it is held against those
//! of its neighbours (`links`): what a neighbour heard has the speaker's signature, and under it the hash of all that the
//! speaker had done by then, so that a transcript made up afterwards does not fit. Of members that hand in none it shows what
//! went into them and what came out. What was signed in one sitting is held against nothing of another. And what members have come
//! to (`statements`) tells of what no signature proves: silence, a veto, a result that is open.

mod conduct;
mod links;
mod reading;
mod statements;
#[cfg(test)]
mod tests;

use serde::Serialize;

use super::account::in_words;
use super::bytes::Digest;
use super::presence::Presence;
use super::ring::Ring;
use super::said::Verdict;
use reading::Reading;
pub use reading::{Times, Unusable};
use statements::Signed;

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
    /// What tells its sitting from all others, of the same draw too.
    pub sitting: Digest,
    /// How many entries it has.
    pub entries: usize,
    /// What its holder came to, in words.
    pub verdict: String,
    /// When it was, by its holder's clock, which nobody else vouches for; none of the layout without times.
    pub times: Option<Times>,
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
    /// Whose doing it is: one of these; nobody's that is known if there are none.
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
    /// It happened, and nothing shows whose doing it was, if it was anybody's.
    Open,
}

impl Verification {
    /// Whether all is well: there is a leader, and nothing is wrong. A file that does not count changes nothing of that: the
    /// signatures of all members are in those that do.
    pub fn is_clean(&self) -> bool {
        self.leader.is_some() && self.findings.is_empty()
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
    let mut sittings: Vec<Sitting> = Vec::new();
    for (source, content) in transcripts {
        match Reading::read(content, ring, digest) {
            Ok(reading) => found.take(ring, source, reading, &mut sittings),
            Err(why) => found.unusable.push(Refused {
                source: source.clone(),
                why: why.to_string(),
            }),
        }
    }
    let name = |place: u32| ring.member(place).name.clone();
    let is_absent = |place: &u32| {
        let mut all = sittings.iter();
        all.all(|it| it.readings[*place as usize].is_none())
    };
    found.missing = (0..ring.len()).filter(is_absent).map(name).collect();
    let signed: Vec<Signed<'_>> = sittings
        .iter()
        .map(|it| Signed::new(ring, &it.readings))
        .collect();
    // What was said in one sitting says nothing about another.
    for (sitting, signed) in sittings.iter().zip(&signed) {
        found.findings.extend(sitting.check(ring, signed));
    }
    found.findings.extend(drawn_twice(ring, &signed));
    found.findings.extend(two_faced(ring, &sittings));
    let mut leaders: Vec<u32> = signed.iter().filter_map(Signed::leader).collect();
    leaders.dedup();
    found.leader = match leaders[..] {
        [leader] => Some(name(leader)),
        _ => None, // of two sittings: all took part in both
    };
    found
}

/// A sitting of the draw of which there are transcripts.
struct Sitting {
    id: Digest,
    /// By place.
    readings: Vec<Option<Reading>>,
}

impl Sitting {
    /// All that is wrong.
    fn check(&self, ring: &Ring, signed: &Signed<'_>) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut is_sound = vec![false; self.readings.len()];
        for reading in self.readings.iter().flatten() {
            match conduct::check(ring, reading) {
                Ok(()) => is_sound[reading.place as usize] = true,
                Err(breach) => {
                    let name = ring.member(reading.place).name.clone();
                    found.push(Finding::proven(name, breach));
                }
            }
        }
        found.extend(links::check(ring, &self.readings, signed));
        found.extend(signed.check(&is_sound));
        if found.is_empty() {
            found.extend(signed.silence_of_somebody());
        }
        found
    }
}

/// Members that came to something in two sittings of one draw.
fn drawn_twice(ring: &Ring, sittings: &[Signed<'_>]) -> Vec<Finding> {
    let twice = |place: &u32| {
        let all = sittings.iter();
        all.filter(|it| it.is_signed_by(*place)).count() > 1
    };
    let places = (0..ring.len()).filter(twice);
    places
        .map(|place| {
            let what = "took part in two sittings of this draw, which is held once".to_owned();
            Finding::proven(ring.member(place).name.clone(), what)
        })
        .collect()
}

/// Members that told some of one link, and others of another, beside the same: honest ones give up both.
fn two_faced(ring: &Ring, sittings: &[Sitting]) -> Vec<Finding> {
    let seated: Vec<&[Presence]> = sittings
        .iter()
        .filter_map(|it| it.readings.iter().flatten().next())
        .map(Reading::seated)
        .collect();
    let places = (0..ring.len()).filter(|place| {
        let at = *place as usize;
        seated.iter().enumerate().any(|(number, one)| {
            let mut others = seated[..number].iter();
            others
                .any(|other| (one[at].left == other[at].left) != (one[at].right == other[at].right))
        })
    });
    places
        .map(|place| {
            let what = "told some members of one link of its own, and others of another, so that they sat in two sittings".to_owned();
            Finding::proven(ring.member(place).name.clone(), what)
        })
        .collect()
}

impl Verification {
    /// Takes in a transcript that counts.
    fn take(&mut self, ring: &Ring, source: &str, reading: Reading, sittings: &mut Vec<Sitting>) {
        let member = ring.member(reading.place).name.clone();
        self.transcripts.push(Heard {
            source: source.to_owned(),
            member: member.clone(),
            sitting: reading.sitting,
            entries: reading.entries.len(),
            verdict: verdict_in_words(ring, reading.verdict),
            times: reading.times(),
        });
        let at = sittings.iter().position(|it| it.id == reading.sitting);
        let at = at.unwrap_or_else(|| {
            sittings.push(Sitting {
                id: reading.sitting,
                readings: vec![None; ring.members.len()],
            });
            sittings.len() - 1
        });
        let slot = &mut sittings[at].readings[reading.place as usize];
        match slot {
            None => *slot = Some(reading),
            // Whoever was given a transcript can cut it where its holder had signed once: the longer one counts.
            Some(other) if reading.entries.starts_with(&other.entries) => *slot = Some(reading),
            Some(other) if other.entries.starts_with(&reading.entries) => {}
            Some(_) => {
                let what = "handed in two transcripts of one sitting, both signed".to_owned();
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
