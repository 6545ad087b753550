//! Comparison of transcripts: messages that one member claims to have sent, and signed messages
//! that its neighbour received.

use hustings_protocol::wagner::Message;
use hustings_protocol::wagner::fault::{Fault, FaultCause, Side};

use super::reading::Reading;
use super::statements::Statements;
use super::{Finding, Weight};
use crate::ring::Ring;
use crate::signed::Verdict;
use crate::status::{in_words, show};
use crate::transcript::Entry;

/// All contradictions between the transcripts of one session. `statements` are those in them.
pub(super) fn check(
    ring: &Ring,
    readings: &[Option<Reading>],
    statements: &Statements<'_>,
) -> Vec<Finding> {
    let at = |place: u32| readings[place as usize].as_ref();
    let mut found = Vec::new();
    for sender in readings.iter().flatten() {
        for side in Side::BOTH {
            if let Some(receiver) = at(ring.neighbour(sender.place, side)) {
                found.extend(check_link(ring, sender, side, receiver));
            }
        }
    }
    // If a member noticed a fault itself, fault messages have a reason, on any path.
    let is_explained = readings.iter().flatten().any(has_noticed);
    for left in readings.iter().flatten() {
        let step = |steps: u32| (left.place + steps) % ring.len();
        let absent = (1..ring.len()).take_while(|steps| at(step(*steps)).is_none());
        let absent = absent.count() as u32;
        let Some(right) = at(step(absent.max(1) + 1)).filter(|it| it.place != left.place) else {
            continue;
        };
        found.extend(match absent {
            // The member between them hands in a transcript, but two signatures that contradict
            // each other still count.
            0 => Gap::new(ring, left, 1, right).shown_two_ways(),
            _ => {
                let gap = Gap::new(ring, left, absent, right);
                let fault = || gap.fault_message(statements).filter(|_| !is_explained);
                gap.flips().or_else(fault)
            }
        });
    }
    found
}

/// True if the holder found a fault itself and was not told of it by a neighbour.
fn has_noticed(reading: &Reading) -> bool {
    match reading.verdict {
        Verdict::Fault(fault) => is_own(fault),
        Verdict::Elected { .. } => false,
    }
}

/// True if the member that reports the fault noticed it itself.
fn is_own(fault: Fault) -> bool {
    !matches!(fault.cause, FaultCause::Told { .. })
}

/// Compares the messages that `sender` claims to have sent to `side` with those that `receiver`
/// has.
fn check_link(ring: &Ring, sender: &Reading, side: Side, receiver: &Reading) -> Option<Finding> {
    let from = side.opposite();
    let (name, other) = (ring.name(sender.place), ring.name(receiver.place));
    for signed in receiver.heard(from) {
        let sent = Entry::Sent { side, message: signed.message };
        let at = signed.entry as usize;
        if at >= sender.entries.len() {
            return Some(cut_off(name, sender));
        }
        if sender.entries.get(at) != Some(&sent) || sender.heads.get(at) != Some(&signed.head) {
            let number = signed.number;
            let what = format!(
                "signed {} for {other}, message {number} on their link, after a history that \
                 differs from the transcript that it hands in: that transcript was made up \
                 afterwards",
                show(signed.message)
            );
            return Some(Finding::proven(name, what));
        }
    }
    None
}

/// The finding for a transcript that is shorter than what its holder signed. Any owner of a copy
/// can cut a transcript, so this is no proof against the holder.
pub(super) fn cut_off(name: &str, holder: &Reading) -> Finding {
    let entries = holder.entries.len();
    let what = format!(
        "signed more than the {entries} entries of the transcript that it hands in: that \
         transcript was cut off"
    );
    Finding::unanswered(name, what)
}

/// A run of neighbours that hand in no transcript, and the messages that the two members around
/// them exchanged with them.
struct Gap<'r> {
    ring: &'r Ring,
    left: &'r Reading,
    right: &'r Reading,
    /// The number of members in the gap.
    absent: usize,
    /// The messages that came out of the gap (`to_*`) and that went in (`from_*`).
    to_left: Vec<Message>,
    to_right: Vec<Message>,
    from_left: Vec<Message>,
    from_right: Vec<Message>,
}

impl<'r> Gap<'r> {
    fn new(ring: &'r Ring, left: &'r Reading, absent: u32, right: &'r Reading) -> Self {
        let heard = |reading: &Reading, side| reading.heard(side).map(|it| it.message).collect();
        Self {
            ring,
            left,
            right,
            absent: absent as usize,
            to_left: heard(left, Side::Right),
            to_right: heard(right, Side::Left),
            from_left: left.sent(Side::Right).collect(),
            from_right: right.sent(Side::Left).collect(),
        }
    }

    /// The first flip that came out of the gap although it could not, had its members followed the
    /// protocol.
    fn flips(&self) -> Option<Finding> {
        self.rounds().find_map(|round| self.own_flips(round).or_else(|| self.passed_on(round)))
    }

    /// A flip of a member in the gap that was shown one way to the left and another to the right.
    fn shown_two_ways(&self) -> Option<Finding> {
        self.rounds().find_map(|round| self.own_flips(round))
    }

    fn rounds(&self) -> std::ops::Range<usize> {
        let most = self.to_left.len().max(self.to_right.len());
        0..most.div_ceil(self.members())
    }

    /// Checks the flips of members in the gap, which come out at both ends.
    fn own_flips(&self, round: usize) -> Option<Finding> {
        (0..self.absent).find_map(|of| {
            let slot = |before: usize| round * self.members() + before;
            let left = flip(self.to_left.get(slot(of)))?;
            let right = flip(self.to_right.get(slot(self.absent - 1 - of)))?;
            if left == right {
                return None;
            }
            let place = self.left.place + 1 + of as u32;
            let (l, r) = self.ends();
            let what = format!(
                "in Basic round {}, the flip of {} was shown as {} to {l} and as {} to {r}",
                round + 1,
                self.ring.name(place),
                show(left),
                show(right),
            );
            let weight = match self.absent {
                1 => Weight::Proven, // proven by two signatures of its own
                _ => Weight::Unanswered,
            };
            Some(self.finding(weight, what))
        })
    }

    /// Checks the flips of other members, which go in at one end and come out at the other.
    fn passed_on(&self, round: usize) -> Option<Finding> {
        let (l, r) = self.ends();
        let ways =
            [(&self.from_left, &self.to_right, l, r), (&self.from_right, &self.to_left, r, l)];
        ways.into_iter().find_map(|(given, taken, giver, taker)| {
            (self.absent..self.members()).find_map(|before| {
                let slot = round * self.members() + before;
                let out = flip(taken.get(slot))?;
                let into = given.get(slot - self.absent).copied();
                if into == Some(out) {
                    return None;
                }
                let what = format!(
                    "in Basic round {}, {taker} received {} where {giver} had sent {}",
                    round + 1,
                    show(out),
                    into.map_or("nothing yet", show),
                );
                Some(self.finding(Weight::Unanswered, what))
            })
        })
    }

    /// A fault message that came out of the gap and did not go in.
    fn fault_message(&self, statements: &Statements<'_>) -> Option<Finding> {
        let has = |messages: &[Message]| messages.contains(&Message::Fault);
        let went_in = has(&self.from_left) || has(&self.from_right);
        let told = |reading: &Reading, side| match reading.verdict {
            Verdict::Fault(fault) => fault.cause == FaultCause::Told { side },
            Verdict::Elected { .. } => false,
        };
        let came_out = told(self.left, Side::Right) || told(self.right, Side::Left);
        let noticed = self.places().filter_map(|it| statements.fault_of(it));
        let noticed: Vec<Fault> = noticed.filter(|it| is_own(*it)).collect();
        // These causes have findings of their own, with what the other transcripts show about them.
        let is_told = |it: &Fault| {
            matches!(
                it.cause,
                FaultCause::Silence { .. } | FaultCause::Stalled { .. } | FaultCause::Withdrawn
            )
        };
        let what = match (came_out, went_in) {
            (true, _) if noticed.iter().any(is_told) => return None,
            (true, _) if !noticed.is_empty() => {
                let reasons: Vec<String> = noticed
                    .into_iter()
                    .map(|it| format!("\"{}\"", in_words(self.ring, it)))
                    .collect();
                format!(
                    "reported a fault and signed the reason, but do not show it: {}",
                    reasons.join(" and ")
                )
            }
            (true, false) => "reported a fault, and do not show the reason".to_owned(),
            // The message went in at one end because it came out at the other, perhaps after it had
            // gone round the ring.
            (true, true) => {
                "passed on a fault message, or began it: only their transcripts can show which"
                    .to_owned()
            }
            (false, _) => return None,
        };
        Some(self.finding(Weight::Unanswered, what))
    }

    fn finding(&self, weight: Weight, what: String) -> Finding {
        Finding::new(weight, self.places().map(|place| self.ring.name(place)), what)
    }

    /// The places of the members in the gap.
    fn places(&self) -> impl Iterator<Item = u32> {
        (1..=self.absent as u32).map(|step| (self.left.place + step) % self.ring.len())
    }

    fn ends(&self) -> (&str, &str) {
        (self.ring.name(self.left.place), self.ring.name(self.right.place))
    }

    fn members(&self) -> usize {
        self.ring.members.len()
    }
}

/// Keeps a flip and drops other messages: `Withheld`, and fault messages, which may come at any
/// position.
fn flip(message: Option<&Message>) -> Option<Message> {
    message.copied().filter(|it| matches!(it, Message::Flip(_)))
}
