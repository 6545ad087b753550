//! Verification of transcripts after a draw, by any holder of the ring file.
//!
//! A transcript counts if every signature in it is valid and its holder signed it as a whole
//! (`reading`). Three checks follow:
//!
//! - `conduct` replays the protocol. With the same random words and the same messages an honest
//!   member sends the same messages.
//! - `links` compares the transcript with those of the neighbours. A message that a neighbour
//!   received carries the sender's signature over the hash of everything the sender had done by
//!   then. A transcript made up afterwards does not match that hash. For members that hand in no
//!   transcript, the neighbours' transcripts show the messages that they received and sent.
//! - `statements` looks at the members' conclusions for faults that no signature proves: silence, a
//!   veto, a result that stays open.
//!
//! Content signed in one session is never compared with another session.

mod conduct;
mod neighbour_comparison;
mod reading;
mod statements;
#[cfg(test)]
mod tests;

use serde::Serialize;

use super::attestation::Attestation;
use super::bytes::Digest;
use super::ring::Ring;
use super::signed::Verdict;
use super::status::in_words;
use reading::Reading;
pub use reading::Times;
use statements::Statements;

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// The name of the draw.
    pub draw: String,
    /// The number of the draw.
    pub number: u64,
    /// The digest of the ring file.
    pub ring: Digest,
    /// The elected leader, if all members have signed it.
    pub leader: Option<String>,
    /// The transcripts that count.
    pub transcripts: Vec<Heard>,
    /// The transcripts that do not count.
    pub unusable: Vec<Refused>,
    /// The members for which no transcript counts.
    pub missing: Vec<String>,
    /// The violations and faults found.
    pub findings: Vec<Finding>,
}

/// A transcript that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Heard {
    /// The source that the caller named, such as a file.
    pub source: String,
    /// The member that holds it.
    pub member: String,
    /// The id of the session, which differs between two sessions of the same draw.
    #[serde(rename = "sitting")]
    pub session: Digest,
    /// The number of entries.
    pub entries: usize,
    /// The holder's verdict in words.
    pub verdict: String,
    /// The times of the draw by the holder's clock, which no other member confirms. `None` for the
    /// layout without times.
    pub times: Option<Times>,
}

/// A transcript that does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// The source that the caller named, such as a file.
    pub source: String,
    /// The reason.
    pub why: String,
}

/// A violation or fault that does not occur when all members follow the protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The members of which one is responsible. Empty if no member is known to be.
    pub who: Vec<String>,
    /// The strength of the evidence against these members.
    pub weight: Weight,
    /// A description in words.
    pub what: String,
}

/// The strength of the evidence for a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// Signatures of the responsible member prove it.
    Proven,
    /// It holds unless the named members hand in transcripts that refute it.
    Unanswered,
    /// One of the named members is responsible, or the link between them.
    Either,
    /// It happened, but nothing shows which member caused it, if any did.
    Open,
}

impl Verification {
    /// True if there is a leader and there are no findings. An unusable file does not matter: the
    /// usable ones contain the signatures of all members.
    pub fn is_clean(&self) -> bool {
        self.leader.is_some() && self.findings.is_empty()
    }
}

/// Verifies `transcripts` of the draw on `ring`. Each comes with a name for its source.
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
    let mut sessions: Vec<RecordedSession> = Vec::new();
    for (source, content) in transcripts {
        match Reading::read(content, ring, digest) {
            Ok(reading) => found.take(ring, source, reading, &mut sessions),
            Err(why) => found.unusable.push(Refused { source: source.clone(), why }),
        }
    }
    let name = |place: u32| ring.name(place).to_owned();
    let is_absent = |place: &u32| {
        let mut all = sessions.iter();
        all.all(|it| it.readings[*place as usize].is_none())
    };
    found.missing = (0..ring.len()).filter(is_absent).map(name).collect();
    let statements: Vec<Statements<'_>> =
        sessions.iter().map(|it| Statements::new(ring, &it.readings)).collect();
    // A statement made in one session says nothing about another.
    for (session, statements) in sessions.iter().zip(&statements) {
        found.findings.extend(session.check(ring, statements));
    }
    found.findings.extend(drawn_twice(ring, &statements));
    found.findings.extend(two_faced(ring, &sessions));
    let mut leaders: Vec<u32> = statements.iter().filter_map(Statements::leader).collect();
    leaders.dedup();
    found.leader = match leaders[..] {
        [leader] => Some(name(leader)),
        _ => None, // two sessions with different leaders: all members took part in both
    };
    found
}

/// A session of the draw for which there are transcripts.
struct RecordedSession {
    id: Digest,
    /// Transcripts by place.
    readings: Vec<Option<Reading>>,
}

impl RecordedSession {
    /// All findings about this session.
    fn check(&self, ring: &Ring, statements: &Statements<'_>) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut is_sound = vec![false; self.readings.len()];
        for reading in self.readings.iter().flatten() {
            match conduct::check(ring, reading) {
                Ok(()) => is_sound[reading.place as usize] = true,
                Err(breach) => found.push(Finding::proven(ring.name(reading.place), breach)),
            }
        }
        found.extend(neighbour_comparison::check(ring, &self.readings, statements));
        found.extend(statements.check(&is_sound));
        if found.is_empty() {
            found.extend(statements.unexplained_silence());
        }
        found
    }
}

/// Findings against members that signed a conclusion in two sessions of one draw.
fn drawn_twice(ring: &Ring, sessions: &[Statements<'_>]) -> Vec<Finding> {
    let twice = |place: &u32| {
        let all = sessions.iter();
        all.filter(|it| it.is_signed_by(*place)).count() > 1
    };
    let places = (0..ring.len()).filter(twice);
    places
        .map(|place| {
            let what =
                "took part in two sittings of this draw, which may be held only once".to_owned();
            Finding::proven(ring.name(place), what)
        })
        .collect()
}

/// Findings against members that kept one link and changed the other between two sessions. An
/// honest member that loses one link closes both.
fn two_faced(ring: &Ring, sessions: &[RecordedSession]) -> Vec<Finding> {
    let seated: Vec<&[Attestation]> = sessions
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
            let what = "announced one link of its own to some members and another link to \
                        others, so that they took part in two sittings"
                .to_owned();
            Finding::proven(ring.name(place), what)
        })
        .collect()
}

impl Verification {
    /// Takes in a transcript that counts.
    fn take(
        &mut self,
        ring: &Ring,
        source: &str,
        reading: Reading,
        sessions: &mut Vec<RecordedSession>,
    ) {
        let member = ring.name(reading.place);
        self.transcripts.push(Heard {
            source: source.to_owned(),
            member: member.to_owned(),
            session: reading.session,
            entries: reading.entries.len(),
            verdict: verdict_in_words(ring, reading.verdict),
            times: reading.times(),
        });
        let at = sessions.iter().position(|it| it.id == reading.session);
        let at = at.unwrap_or_else(|| {
            sessions.push(RecordedSession {
                id: reading.session,
                readings: vec![None; ring.members.len()],
            });
            sessions.len() - 1
        });
        let slot = &mut sessions[at].readings[reading.place as usize];
        match slot {
            None => *slot = Some(reading),
            // The holder signs its transcript twice, and any reader can cut a copy at the first
            // signature. The longer transcript counts.
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
    fn new<'n>(weight: Weight, who: impl IntoIterator<Item = &'n str>, what: String) -> Self {
        Self { who: who.into_iter().map(str::to_owned).collect(), weight, what }
    }

    fn proven(who: &str, what: String) -> Self {
        Self::new(Weight::Proven, [who], what)
    }

    fn unanswered(who: &str, what: String) -> Self {
        Self::new(Weight::Unanswered, [who], what)
    }

    fn open(what: String) -> Self {
        Self::new(Weight::Open, [], what)
    }
}

fn verdict_in_words(ring: &Ring, verdict: Verdict) -> String {
    match verdict {
        Verdict::Elected { leader, .. } => format!("saw {} elected", ring.name(leader)),
        Verdict::Fault(fault) => in_words(ring, fault),
    }
}
