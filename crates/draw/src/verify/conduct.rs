//! Replay of a transcript. An honest member gets the same random words and the same messages, and
//! must do the same as the holder did.

use std::collections::VecDeque;

use hustings_protocol::Instant;
use hustings_protocol::wagner::Wagner;
use hustings_protocol::wagner::fault::Side;

use super::reading::Reading;
use crate::ring::Ring;
use crate::ring_driver::{Effect, NoRandomness, RingDriver};
use crate::signed::Verdict;
use crate::status::show;
use crate::transcript::Entry;

/// Checks that the holder did what an honest member does.
///
/// # Errors
/// A description of the first difference.
pub(super) fn check(ring: &Ring, reading: &Reading) -> Result<(), String> {
    replay(ring, reading).map(drop)
}

/// The members that were active in the end. `None` unless the holder did what an honest member
/// does.
pub(super) fn active(ring: &Ring, reading: &Reading) -> Option<Vec<u32>> {
    let replay = replay(ring, reading).ok()?;
    let progress = replay.ring_driver.protocol.progress()?;
    Some(progress.active().iter().collect())
}

fn replay<'r>(ring: &'r Ring, reading: &Reading) -> Result<Replay<'r>, String> {
    let words = reading.entries.iter().filter_map(|entry| match entry {
        Entry::Drew { word, salt } => Some((u64::from_be_bytes(word.0), salt.0)),
        _ => None,
    });
    let mut words = words.collect::<Vec<_>>().into_iter();
    let recorded = Box::new(move || words.next());
    let mut replay = Replay {
        ring,
        place: reading.place,
        ring_driver: RingDriver::new(Wagner::default(), ring, reading.place, recorded),
        due: VecDeque::new(),
        sent_left: 0,
        verdict: None,
    };
    // The last entry is the holder's own statement, before which no effect may be outstanding.
    for (line, entry) in reading.lines.iter().zip(&reading.entries) {
        let taken = replay.take(entry);
        taken.map_err(|what| format!("broke the protocol: line {line}: {what}"))?;
    }
    Ok(replay)
}

struct Replay<'r> {
    ring: &'r Ring,
    place: u32,
    ring_driver: RingDriver<Wagner>,
    /// The effects of an honest member that the transcript has not shown yet.
    due: VecDeque<Effect>,
    sent_left: u64,
    verdict: Option<Verdict>,
}

impl Replay<'_> {
    fn take(&mut self, entry: &Entry) -> Result<(), String> {
        let now = Instant::START;
        match entry {
            // A time stamp is the holder's claim: nothing follows from it.
            Entry::Transcript(_) | Entry::Met(_) | Entry::Broken { .. } | Entry::Clock(_) => Ok(()),
            Entry::Began => self.step(|driver| driver.start(now)),
            Entry::Heard { side, signed } => {
                self.step(|driver| driver.receive(now, *side, signed.message))
            }
            Entry::Silence => {
                self.settle()?;
                if self.ring_driver.due().is_none() {
                    return Err("it complains of silence although no answer was due".to_owned());
                }
                self.step(|driver| driver.time_out(now))
            }
            Entry::Withdrew => self.step(|driver| driver.leave(now)),
            Entry::Drew { word, salt } => {
                self.did("flipped a coin", Some(&Effect::Drew { word: *word, salt: *salt }))
            }
            Entry::Sent { side, message } => {
                self.sent_left += u64::from(*side == Side::Left);
                let what = format!("sent {} to {}", show(*message), self.neighbour(*side));
                self.did(&what, Some(&Effect::Send { side: *side, message: *message }))
            }
            Entry::Statement(statement) if statement.place == self.place => {
                self.settle()?;
                match self.verdict {
                    Some(verdict) if verdict == statement.verdict => Ok(()),
                    _ => Err("it signed something other than what it saw".to_owned()),
                }
            }
            Entry::Statement(_) => Ok(()),
        }
    }

    /// Gives an honest member an input, and takes in the effects.
    fn step(
        &mut self,
        input: impl FnOnce(&mut RingDriver<Wagner>) -> Result<Vec<Effect>, NoRandomness>,
    ) -> Result<(), String> {
        self.settle()?;
        let done = input(&mut self.ring_driver).map_err(|NoRandomness| {
            "it did nothing where an honest member flips a coin".to_owned()
        })?;
        let mut sent_left = self.sent_left;
        for effect in done {
            match effect {
                Effect::Report(outcome) => {
                    self.verdict = Verdict::of(outcome, sent_left).or(self.verdict);
                }
                Effect::Send { side, .. } => {
                    sent_left += u64::from(side == Side::Left);
                    self.due.push_back(effect);
                }
                Effect::Drew { .. } => self.due.push_back(effect),
            }
        }
        Ok(())
    }

    /// Checks that no effect of an honest member is outstanding.
    fn settle(&mut self) -> Result<(), String> {
        self.did("did nothing", None)
    }

    /// Checks that `effect` is the next one of an honest member. `what` describes it.
    fn did(&mut self, what: &str, effect: Option<&Effect>) -> Result<(), String> {
        let honest = self.due.pop_front();
        if honest.as_ref() == effect {
            return Ok(());
        }
        Err(format!("it {what} where an honest member {}", self.in_words(honest.as_ref())))
    }

    fn in_words(&self, effect: Option<&Effect>) -> String {
        match effect {
            Some(Effect::Send { side, message }) => {
                format!("sends {} to {}", show(*message), self.neighbour(*side))
            }
            Some(Effect::Drew { .. }) => "flips a coin".to_owned(),
            Some(Effect::Report(_)) | None => "does nothing".to_owned(),
        }
    }

    fn neighbour(&self, side: Side) -> &str {
        self.ring.name(self.ring.neighbour(self.place, side))
    }
}
