//! The processes that have not proven that they run, and their waiting frames.
//!
//! Purpose     keeps frames until their sender has answered a challenge
//! Inputs      frames of unproven processes; proofs
//! Outputs     the waiting frames of a proven process, in order of arrival
//! Owns        the table of unproven processes
//! Invariants  memory is bounded. The entry opened first gives way first: a flood drops what was
//!             unanswered longest, and no recent challenge

use std::collections::BTreeMap;
use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant, MemberId};

use crate::frame::Sender;
use crate::identity::Incarnation;
use crate::peer_table::Channel;

/// The time in which a challenge can be answered, and for which frames wait.
pub(super) const OPEN_FOR: Duration = Duration::from_secs(2);

/// The most entries, and the most addresses of one process.
pub(super) const MOST_STRANGERS: usize = 1_024;
const MOST_PLACES: usize = 4;

/// The most waiting frames, and the most of one process at one address.
const MOST_FRAMES: usize = 1_024;
const MOST_FRAMES_EACH: usize = 16;

/// An unproven process at one address.
pub(super) type Key = (MemberId, Incarnation, SocketAddr);

/// The unproven processes.
#[derive(Debug, Default)]
pub(super) struct UnprovenSenders {
    entries: BTreeMap<Key, UnprovenSender>,
    /// The number of waiting frames in all entries.
    frames: usize,
}

/// The state of an unproven process at one address.
#[derive(Debug)]
pub(super) struct UnprovenSender {
    since: Instant,
    /// The time of the last challenge to it.
    pub(super) asked: Option<Instant>,
    /// The time of the last answer to its own challenges.
    pub(super) answered: Option<Instant>,
    frames: Vec<Waiting>,
}

/// A frame that waits until its sender is proven.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) at: Instant,
    pub(super) channel: Channel,
    pub(super) content: Vec<u8>,
}

impl UnprovenSenders {
    pub(super) fn get_mut(&mut self, key: &Key) -> Option<&mut UnprovenSender> {
        self.entries.get_mut(key)
    }

    /// True if a process was challenged, and has not answered in time.
    pub(super) fn is_unanswered(&self, key: &Key, now: Instant) -> bool {
        let stranger = self.entries.get(key);
        stranger.is_some_and(|it| it.asked.is_some() && now - it.since > OPEN_FOR)
    }

    /// Returns the entry of a process, created if there is none, and the number of frames dropped.
    pub(super) fn open(&mut self, key: Key, now: Instant) -> (&mut UnprovenSender, u64) {
        let is_over = |it: &UnprovenSender| now - it.since > OPEN_FOR;
        let mut lost = 0;
        if self.entries.get(&key).is_some_and(is_over) {
            lost += self.close(key);
        }
        if !self.entries.contains_key(&key) {
            let eldest = match self.places(key.0, key.1).count() >= MOST_PLACES {
                true => eldest(self.places(key.0, key.1)),
                false if self.entries.len() >= MOST_STRANGERS => eldest(self.entries.iter()),
                false => None,
            };
            lost += eldest.map_or(0, |key| self.close(key));
        }
        let stranger = self.entries.entry(key).or_insert_with(|| UnprovenSender {
            since: now,
            asked: None,
            answered: None,
            frames: Vec::new(),
        });
        (stranger, lost)
    }

    /// Returns the entries of one process: one for each address.
    fn places(
        &self,
        id: MemberId,
        process_incarnation: Incarnation,
    ) -> impl Iterator<Item = (&Key, &UnprovenSender)> {
        let lowest = (id, process_incarnation, SocketAddr::from(([0, 0, 0, 0], 0)));
        let from_there = self.entries.range(lowest..);
        from_there.take_while(move |it| (it.0.0, it.0.1) == (id, process_incarnation))
    }

    /// Removes an entry. Returns the number of its waiting frames.
    fn close(&mut self, key: Key) -> u64 {
        let stranger = self.entries.remove(&key);
        let count = stranger.map_or(0, |it| it.frames.len());
        self.frames -= count;
        count as u64
    }

    /// Keeps a frame until its sender is proven. Returns the number of other frames dropped.
    pub(super) fn keep(&mut self, key: Key, frame: Waiting) -> u64 {
        let mut lost = 0;
        while self.frames >= MOST_FRAMES
            && let Some(eldest) = eldest(self.entries.iter())
        {
            lost += self.close(eldest);
        }
        let (stranger, closed) = self.open(key, frame.at);
        lost += closed;
        let is_full = stranger.frames.len() >= MOST_FRAMES_EACH;
        if is_full {
            stranger.frames.remove(0);
        }
        stranger.frames.push(frame);
        match is_full {
            true => lost += 1,
            false => self.frames += 1,
        }
        lost
    }

    /// Returns the addresses from which frames of a process came.
    pub(super) fn places_of(&self, sender: &Sender<'_>) -> impl Iterator<Item = SocketAddr> {
        self.places(sender.id, sender.process_incarnation).map(|it| it.0.2)
    }

    /// Removes a process that is proven now. Returns its frames in order of arrival.
    pub(super) fn release(
        &mut self,
        id: MemberId,
        process_incarnation: Incarnation,
    ) -> Vec<Waiting> {
        let keys: Vec<Key> = self.places(id, process_incarnation).map(|it| *it.0).collect();
        let unproven = keys.iter().filter_map(|key| self.entries.remove(key));
        let mut frames: Vec<Waiting> = unproven.flat_map(|it| it.frames).collect();
        self.frames -= frames.len();
        frames.sort_by_key(|it| it.at);
        frames
    }
}

/// Returns the entry that was opened first.
fn eldest<'s>(unproven: impl Iterator<Item = (&'s Key, &'s UnprovenSender)>) -> Option<Key> {
    unproven.min_by_key(|it| it.1.since).map(|it| *it.0)
}

#[cfg(test)]
mod tests {
    use super::{
        MOST_FRAMES, MOST_FRAMES_EACH, MOST_PLACES, MOST_STRANGERS, OPEN_FOR, UnprovenSenders,
        Waiting,
    };
    use crate::identity::Incarnation;
    use crate::peer_table::Channel;
    use hustings_protocol::{Duration, Instant, MemberId};
    use std::net::SocketAddr;

    fn place(number: u64) -> SocketAddr {
        SocketAddr::from(([10, 0, (number >> 8) as u8, number as u8], 7400))
    }

    fn waiters(at: Instant) -> Waiting {
        Waiting { at, channel: Channel::Unicast, content: vec![0] }
    }

    #[test]
    fn entries_and_frames_are_bounded_and_the_oldest_give_way() {
        let mut unproven = UnprovenSenders::default();
        let (mut now, mut kept, mut lost) = (Instant::START, 0, 0);
        for id in 0..4_000 {
            for place_number in 0..2 * MOST_PLACES as u64 {
                now = now + Duration(1);
                let key = (MemberId(id), Incarnation(1), place(place_number));
                for _ in 0..id % 3 * MOST_FRAMES_EACH as u64 {
                    lost += unproven.keep(key, waiters(now));
                    kept += 1;
                }
                lost += unproven.open(key, now).1;
            }
            let held = unproven.entries.values().map(|it| it.frames.len());
            assert_eq!(unproven.frames, held.sum::<usize>());
            assert!(unproven.frames <= MOST_FRAMES);
            assert!(unproven.entries.len() <= MOST_STRANGERS);
            assert_eq!(unproven.frames as u64 + lost, kept);
        }
        let ids: Vec<u64> = unproven.entries.keys().map(|it| it.0.0).collect();
        assert!(ids.iter().all(|id| *id >= 3_000), "{ids:?}");
    }

    #[test]
    fn challenge_expires_and_frames_are_released_in_order() {
        let mut unproven = UnprovenSenders::default();
        let now = Instant::START;
        let key = |number| (MemberId(1), Incarnation(1), place(number));
        unproven.keep(key(2), waiters(now));
        unproven.keep(key(1), waiters(now + Duration(1)));
        unproven.keep((MemberId(1), Incarnation(2), place(1)), waiters(now));
        unproven.keep(key(2), waiters(now + Duration(2)));
        let released = unproven.release(MemberId(1), Incarnation(1));
        let order: Vec<u64> = released.iter().map(|it| (it.at - now).0).collect();
        assert_eq!(order, [0, 1, 2]);
        assert_eq!((unproven.frames, unproven.entries.len()), (1, 1));
        let later = now + OPEN_FOR + Duration(1);
        let (stranger, lost) = unproven.open((MemberId(1), Incarnation(2), place(1)), later);
        assert_eq!((stranger.since, lost), (later, 1));
    }
}
