//! The processes that have not proven that they run, and their frames, which wait for that.
//!
//! Memory is bounded. The stranger that was heard first gives way first: a flood of strangers ends what was left unanswered
//! longest, and no challenge of the last moment.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant, MemberId};

use crate::frame::Sender;
use crate::identity::Life;
use crate::peers::Way;

/// The time in which a challenge can be answered, and for which frames wait.
pub(super) const OPEN_FOR: Duration = Duration::from_secs(2);

/// The most strangers that are remembered, and the most addresses of one of them.
pub(super) const MOST_STRANGERS: usize = 1_024;
const MOST_PLACES: usize = 4;

/// The most frames that wait, and the most of one stranger at one address.
const MOST_FRAMES: usize = 1_024;
const MOST_FRAMES_EACH: usize = 16;

/// A process that is not proven, at one address.
pub(super) type Key = (MemberId, Life, SocketAddr);

/// The processes that are not proven.
#[derive(Debug, Default)]
pub(super) struct Strangers {
    entries: BTreeMap<Key, Stranger>,
    /// The number of frames that wait.
    frames: usize,
}

/// A process that is not proven, at one address.
#[derive(Debug)]
pub(super) struct Stranger {
    since: Instant,
    /// When it was challenged last.
    pub(super) asked: Option<Instant>,
    /// When a challenge of its own was answered last.
    pub(super) answered: Option<Instant>,
    frames: Vec<Waiting>,
}

/// A frame that waits until its sender is proven.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) at: Instant,
    pub(super) way: Way,
    pub(super) content: Vec<u8>,
}

impl Strangers {
    pub(super) fn get_mut(&mut self, key: &Key) -> Option<&mut Stranger> {
        self.entries.get_mut(key)
    }

    /// Whether a stranger was challenged, and has not answered in time.
    pub(super) fn is_unanswered(&self, key: &Key, now: Instant) -> bool {
        let stranger = self.entries.get(key);
        stranger.is_some_and(|it| it.asked.is_some() && now - it.since > OPEN_FOR)
    }

    /// Returns the entry of a stranger, made if there is none, and how many frames gave way.
    pub(super) fn open(&mut self, key: Key, now: Instant) -> (&mut Stranger, u64) {
        let is_over = |it: &Stranger| now - it.since > OPEN_FOR;
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
        let stranger = self.entries.entry(key).or_insert_with(|| Stranger {
            since: now,
            asked: None,
            answered: None,
            frames: Vec::new(),
        });
        (stranger, lost)
    }

    /// The entries of one process: one for each address.
    fn places(&self, id: MemberId, born: Life) -> impl Iterator<Item = (&Key, &Stranger)> {
        let lowest = (id, born, SocketAddr::from(([0, 0, 0, 0], 0)));
        let from_there = self.entries.range(lowest..);
        from_there.take_while(move |it| (it.0.0, it.0.1) == (id, born))
    }

    /// Forgets a stranger. Returns how many of its frames waited.
    fn close(&mut self, key: Key) -> u64 {
        let stranger = self.entries.remove(&key);
        let count = stranger.map_or(0, |it| it.frames.len());
        self.frames -= count;
        count as u64
    }

    /// Keeps a frame until its sender is proven. Returns how many others gave way.
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

    /// Returns where a process was heard.
    pub(super) fn places_of(&self, sender: &Sender<'_>) -> impl Iterator<Item = SocketAddr> {
        self.places(sender.id, sender.born()).map(|it| it.0.2)
    }

    /// Forgets a process that is proven now. Returns its frames in the order in which they came.
    pub(super) fn release(&mut self, id: MemberId, born: Life) -> Vec<Waiting> {
        let keys: Vec<Key> = self.places(id, born).map(|it| *it.0).collect();
        let strangers = keys.iter().filter_map(|key| self.entries.remove(key));
        let mut frames: Vec<Waiting> = strangers.flat_map(|it| it.frames).collect();
        self.frames -= frames.len();
        frames.sort_by_key(|it| it.at);
        frames
    }
}

/// The stranger that was heard first.
fn eldest<'s>(strangers: impl Iterator<Item = (&'s Key, &'s Stranger)>) -> Option<Key> {
    strangers.min_by_key(|it| it.1.since).map(|it| *it.0)
}

#[cfg(test)]
mod tests {
    use super::{
        MOST_FRAMES, MOST_FRAMES_EACH, MOST_PLACES, MOST_STRANGERS, OPEN_FOR, Strangers, Waiting,
    };
    use crate::identity::Life;
    use crate::peers::Way;
    use hustings_protocol::{Duration, Instant, MemberId};
    use std::net::SocketAddr;

    fn place(number: u64) -> SocketAddr {
        SocketAddr::from(([10, 0, (number >> 8) as u8, number as u8], 7400))
    }

    fn waiting(at: Instant) -> Waiting {
        Waiting {
            at,
            way: Way::Unicast,
            content: vec![0],
        }
    }

    #[test]
    fn strangers_and_their_frames_are_bounded_and_the_eldest_give_way() {
        let mut strangers = Strangers::default();
        let (mut now, mut kept, mut lost) = (Instant::START, 0, 0);
        for id in 0..4_000 {
            for place_number in 0..2 * MOST_PLACES as u64 {
                now = now + Duration(1);
                let key = (MemberId(id), Life(1), place(place_number));
                for _ in 0..id % 3 * MOST_FRAMES_EACH as u64 {
                    lost += strangers.keep(key, waiting(now));
                    kept += 1;
                }
                lost += strangers.open(key, now).1;
            }
            let held = strangers.entries.values().map(|it| it.frames.len());
            assert_eq!(strangers.frames, held.sum::<usize>());
            assert!(strangers.frames <= MOST_FRAMES);
            assert!(strangers.entries.len() <= MOST_STRANGERS);
            assert_eq!(strangers.frames as u64 + lost, kept);
        }
        let ids: Vec<u64> = strangers.entries.keys().map(|it| it.0.0).collect();
        assert!(ids.iter().all(|id| *id >= 3_000), "{ids:?}");
    }

    #[test]
    fn a_challenge_is_open_for_a_while_and_frames_come_out_in_order() {
        let mut strangers = Strangers::default();
        let now = Instant::START;
        let key = |number| (MemberId(1), Life(1), place(number));
        strangers.keep(key(2), waiting(now));
        strangers.keep(key(1), waiting(now + Duration(1)));
        strangers.keep((MemberId(1), Life(2), place(1)), waiting(now));
        strangers.keep(key(2), waiting(now + Duration(2)));
        let released = strangers.release(MemberId(1), Life(1));
        let order: Vec<u64> = released.iter().map(|it| (it.at - now).0).collect();
        assert_eq!(order, [0, 1, 2]);
        assert_eq!((strangers.frames, strangers.entries.len()), (1, 1));
        let later = now + OPEN_FOR + Duration(1);
        let (stranger, lost) = strangers.open((MemberId(1), Life(2), place(1)), later);
        assert_eq!((stranger.since, lost), (later, 1));
    }
}
