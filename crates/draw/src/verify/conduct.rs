//! Replay of a transcript. An honest member gets the same random words and the same messages, and
//! must do the same as the holder did.

use std::collections::VecDeque;

use hustings_protocol::Instant;
use hustings_protocol::wagner::Wagner;

use super::reading::Reading;
use crate::ring::Ring;
use crate::ring_driver::{Effect, Honest, NoRandomness, Randomness, RingDriver};
use crate::signed::Verdict;
use crate::status::show;
use crate::transcript::Entry;
use hustings_protocol::wagner::fault::Side;

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
    let progress = replay.ring_driver.protocol().progress()?;
    Some(progress.active().iter().collect())
}

fn replay<'r>(ring: &'r Ring, reading: &Reading) -> Result<Replay<'r>, String> {
    let chance = reading.entries.iter().filter_map(|entry| match entry {
        Entry::Drew { word, salt } => Some((u64::from_be_bytes(word.0), salt.0)),
        _ => None,
    });
    let mut replay = Replay {
        ring,
        place: reading.place,
        ring_driver: RingDriver::new(
            Wagner::new(),
            ring,
            reading.place,
            Recorded(chance.collect()),
        ),
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
    ring_driver: Honest<Recorded>,
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
            Entry::Began => {
                self.settle()?;
                let done = self.ring_driver.start(now);
                self.expect(done)
            }
            Entry::Heard { side, signed } => {
                self.settle()?;
                let done = self.ring_driver.receive(now, *side, signed.message);
                self.expect(done)
            }
            Entry::Silence => {
                self.settle()?;
                if self.ring_driver.due().is_none() {
                    return Err("it complains of silence although no answer was due".to_owned());
                }
                let done = self.ring_driver.time_out(now);
                self.expect(done)
            }
            Entry::Withdrew => {
                self.settle()?;
                let done = self.ring_driver.leave(now);
                self.expect(done)
            }
            Entry::Drew { word, salt } => match self.due.pop_front() {
                Some(Effect::Drew { word: w, salt: s }) if (w, s) == (*word, *salt) => Ok(()),
                other => Err(format!(
                    "it flipped a coin where an honest member {}",
                    self.in_words(other.as_ref())
                )),
            },
            Entry::Sent { side, message } => {
                let honest = self.due.pop_front();
                if *side == Side::Left {
                    self.sent_left += 1;
                }
                let sends = Effect::Send { side: *side, message: *message };
                match honest {
                    Some(effect) if effect == sends => Ok(()),
                    other => Err(format!(
                        "it sent {} to {} where an honest member {}",
                        show(*message),
                        self.neighbour(*side),
                        self.in_words(other.as_ref())
                    )),
                }
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

    /// Takes in the effects of an honest member.
    fn expect(&mut self, done: Result<Vec<Effect>, NoRandomness>) -> Result<(), String> {
        let done = done.map_err(|NoRandomness| {
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
        match self.due.pop_front() {
            None => Ok(()),
            undone => Err(format!(
                "it did nothing where an honest member {}",
                self.in_words(undone.as_ref())
            )),
        }
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

/// The random words of a transcript.
struct Recorded(VecDeque<(u64, [u8; 16])>);

impl Randomness for Recorded {
    fn draw(&mut self) -> Option<(u64, [u8; 16])> {
        self.0.pop_front()
    }
}
