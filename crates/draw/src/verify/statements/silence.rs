//! Complaints of silence: which member waited for which neighbour, and what the transcripts show
//! about the cause.
//!
//! A transcript gives waiting times by its holder's own clock, which proves nothing. A message that
//! was delayed anywhere on the ring makes all members wait. The timeout of a distant member may
//! expire first, when the delayed message is already moving again through neighbours that had to
//! wait themselves.
//!
//! A complaint therefore names two members only if one of the two, or the link between them, must
//! have been late, whatever was late elsewhere.

use hustings_protocol::wagner::Message;
use hustings_protocol::wagner::fault::{Fault, FaultCause, Side};

use super::Statements;
use crate::signed::Verdict;
use crate::verify::reading::Reading;
use crate::verify::{Finding, Weight};

impl Statements<'_> {
    /// A finding about silence for which nothing shows the member responsible.
    pub(in super::super) fn unexplained_silence(&self) -> Option<Finding> {
        let places = || 0..self.ring.len();
        let complaining: Vec<u32> = places().filter(|it| self.complains(*it)).collect();
        if complaining.is_empty() {
            return None;
        }
        // A neighbour complains of waiting for them, and they complain of no silence themselves.
        let is_content = |place: &u32| {
            let is_waited_for = |side: &Side| {
                let beside = self.ring.neighbour(*place, *side);
                self.has_waited(beside, side.opposite())
            };
            !self.complains(*place) && Side::BOTH.iter().any(is_waited_for)
        };
        let content: Vec<u32> = places().filter(is_content).collect();
        let who = self.names(&complaining);
        let what = match content.is_empty() {
            true => format!(
                "{who} received nothing in time, and every member that one of them waited for \
                 reports that it waited itself: these transcripts do not show which member was \
                 silent"
            ),
            // By then they may have waited nearly as long for other silent members.
            false => {
                let on_the_way = match self.on_the_way() {
                    ways if ways.is_empty() => String::new(),
                    ways => format!(" (on the way was {})", ways.join(" and ")),
                };
                format!(
                    "the draw ended only because {who} reported a silence above the limit. The \
                     members that it waited for, {}, had sent all that was due and complained of \
                     no member. Either {who} complained too early, which is a veto, or a message \
                     further on was late, one that was still on its way or one that had arrived \
                     by then{on_the_way}. The waiting times are each holder's own claim, which \
                     proves nothing",
                    self.names(&content)
                )
            }
        };
        Some(Finding::open(what))
    }

    /// The messages that a member had sent and the next had not received when it learned of the
    /// fault. All members waited for them in the end. The message that had held up the draw before
    /// may have arrived by then.
    fn on_the_way(&self) -> Vec<String> {
        let readings = self.readings.iter().flatten();
        let ends = readings.flat_map(|sender| Side::BOTH.map(|side| (sender, side)));
        let ways = ends.filter_map(|(sender, side)| {
            let beside = self.ring.neighbour(sender.place, side);
            let receiver = self.readings[beside as usize].as_ref()?;
            let heard = receiver.flips_before_verdict(side.opposite());
            (flips(sender, side) > heard).then(|| {
                let (from, to) = (self.ring.name(sender.place), self.ring.name(beside));
                format!("message {} from {from} to {to}", heard + 1)
            })
        });
        ways.collect()
    }

    /// True if the member at `place` complains of silence.
    fn complains(&self, place: u32) -> bool {
        let cause = self.fault_of(place).map(|it| it.cause);
        matches!(cause, Some(FaultCause::Silence { .. }))
    }

    /// Findings about the neighbours for which the member at `place` claims to have waited in vain.
    /// They are never proven: only the two members and the link between them can know.
    pub(super) fn silences(&self, place: u32) -> Vec<Finding> {
        let Some(Fault { cause: FaultCause::Silence { side }, .. }) = self.fault_of(place) else {
            return Vec::new();
        };
        let sides = Side::BOTH.into_iter();
        sides
            .filter(|it| side.is_none_or(|side| side == *it))
            .filter_map(|side| self.silence(place, side))
            .collect()
    }

    fn silence(&self, place: u32, side: Side) -> Option<Finding> {
        let silent = self.ring.neighbour(place, side);
        let [holder, other] = [place, silent].map(|it| self.readings[it as usize].as_ref());
        let (holder, other) = match (holder, other) {
            (Some(holder), Some(other)) => (holder, other),
            // The silent member makes the same complaint about its neighbour further on.
            _ if self.has_waited(silent, side) => return None,
            (Some(holder), None) => {
                let waited = holder.flips_before_silence(side);
                return Some(self.silence_of_absent(holder, side, waited, None));
            }
            (None, other) => return Some(self.word_of_absent(place, silent, other)),
        };
        let waited = holder.flips_before_silence(side);
        let sent = flips(other, side.opposite());
        if sent <= waited {
            // Everything that the neighbour had sent has arrived: the neighbour was waiting itself.
            return self.silence_behind(place, side);
        }
        let [name, neighbour] = [place, silent].map(|it| self.ring.name(it));
        let what = format!(
            "{name} waited in vain for {neighbour}{}, which reports that it sent {sent}",
            heard(holder, side, waited)
        );
        if self.complains(silent) {
            // A member sends no flips while it waits. So the missing flip had been sent one full
            // timeout before the neighbour complained. The neighbour had not received the holder's
            // complaint either, which was sent to it at once. So the two took longer than the
            // timeout.
            let what = format!(
                "{what}, and complained of silence itself before it learned of that: the round \
                 trip took longer than the limit for an answer, or one of the two withheld a \
                 message"
            );
            return Some(Finding::new(Weight::Either, [name, neighbour], what));
        }
        Some(Finding::open(format!(
            "{what}: one of the two withheld it, or it was lost or late on their link, or a \
             member behind {neighbour} made {neighbour} wait. The waiting times are each \
             holder's own claim, which proves nothing"
        )))
    }

    /// The finding about a member at `place` that complained but hands in no transcript. The
    /// messages of the member at `silent` may have arrived. They may also have been late because
    /// that member had to wait itself.
    fn word_of_absent(&self, place: u32, silent: u32, other: Option<&Reading>) -> Finding {
        let [name, neighbour] = [place, silent].map(|it| self.ring.name(it));
        let what =
            format!("{name} reports that it waited in vain for {neighbour}, and does not show it");
        let is_asked_too = other.is_none() && self.has_begun(silent);
        let who = [Some(name), Some(neighbour).filter(|_| is_asked_too)];
        Finding::new(Weight::Unanswered, who.into_iter().flatten(), what)
    }

    /// The finding about `holder`, which had received `had` messages from `side` and waited for a
    /// neighbour without transcript. If `holder` did not wait for its full timeout, `complaining`
    /// is the member whose complaint ended the wait.
    fn silence_of_absent(
        &self,
        holder: &Reading,
        side: Side,
        had: usize,
        complaining: Option<u32>,
    ) -> Finding {
        let silent = self.ring.neighbour(holder.place, side);
        let [name_of_holder, neighbour] = [holder.place, silent].map(|it| self.ring.name(it));
        let until = complaining.map_or_else(String::new, |it| {
            let complaining = self.ring.name(it);
            format!(", until {complaining}, which waited behind {name_of_holder}, complained")
        });
        let what = format!(
            "{name_of_holder} waited in vain for {neighbour}{}, which hands in no \
             transcript{until}",
            heard(holder, side, had)
        );
        if !self.has_begun(silent) {
            return Finding::open(format!(
                "{what}. No transcript shows any message of {neighbour} in this draw: it was \
                 silent, their link failed, the complaint is false, or {neighbour} never began \
                 because another member left at that moment"
            ));
        }
        if self.is_signed_by(silent) || !holder.is_whole() {
            // The neighbour was present to the end, or may have been.
            let what = format!(
                "{what}: it was silent, the link failed or was late, the complaint came too \
                 early, or {neighbour} had to wait itself"
            );
            return Finding::unanswered(neighbour, what);
        }
        // An honest neighbour that is present signs in the end that it learned of the fault. The
        // holder receives this before it stops waiting, if `respond_within` is longer than the
        // round-trip time, as the guide requires.
        let what = format!(
            "{what} and signed nothing: it was silent, the link failed, or the complaint \
                     is false"
        );
        Finding::new(Weight::Either, [name_of_holder, neighbour], what)
    }

    /// True if anything shows that the member at `place` took part. A member may not have begun
    /// although others did, if some member left at that moment.
    fn has_begun(&self, place: u32) -> bool {
        let is_heard = |side: Side| {
            let beside = self.ring.neighbour(place, side);
            let beside = self.readings[beside as usize].as_ref();
            beside.is_some_and(|it| it.heard(side.opposite()).next().is_some())
        };
        self.readings[place as usize].is_some()
            || self.is_signed_by(place)
            || Side::BOTH.into_iter().any(is_heard)
    }

    /// Follows the members that waited for each other from `place` towards `side`, up to the first
    /// without transcript. The complaint may have reached them just before their own timeout. So
    /// the messages they had received tell what they waited for, not what they signed.
    ///
    /// Returns `None` if a member on the way complains itself or had all that it needed, or if the
    /// message that it waited for was in transit.
    fn silence_behind(&self, place: u32, side: Side) -> Option<Finding> {
        let mut waiting = self.ring.neighbour(place, side);
        while waiting != place {
            let holder = self.readings[waiting as usize].as_ref()?;
            let first = self.by_place[waiting as usize].first()?.verdict;
            let is_told =
                matches!(first, Verdict::Fault(Fault { cause: FaultCause::Told { .. }, .. }));
            let [had, back] = [side, side.opposite()].map(|from| holder.flips_before_verdict(from));
            if !is_told || had > back {
                return None;
            }
            let beyond = self.ring.neighbour(waiting, side);
            match &self.readings[beyond as usize] {
                Some(next) if flips(next, side.opposite()) > had => return None,
                Some(_) => waiting = beyond,
                None if self.has_waited(beyond, side) => return None,
                None => return Some(self.silence_of_absent(holder, side, had, Some(place))),
            }
        }
        None
    }

    /// True if the member at `place` itself complains of silence on side `on`.
    fn has_waited(&self, place: u32, on: Side) -> bool {
        match self.fault_of(place).map(|it| it.cause) {
            Some(FaultCause::Silence { side }) => side.is_none_or(|side| side == on),
            _ => false,
        }
    }
}

/// The number of flips and `Withheld` messages that a member sent to one side.
fn flips(reading: &Reading, to: Side) -> usize {
    reading.sent(to).filter(|it| *it != Message::Fault).count()
}

/// Describes how much the holder had received from a neighbour, and what it recorded about the
/// link.
fn heard(holder: &Reading, from: Side, messages: usize) -> String {
    let came = match messages {
        1 => " after 1 message".to_owned(),
        several => format!(" after {several} messages"),
    };
    let link = holder.broken(from);
    let link = link.map_or_else(String::new, |why| format!(" (its note about the link: {why})"));
    came + &link
}
