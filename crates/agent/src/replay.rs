//! Frames heard before.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use hustings_protocol::MemberId;

use crate::identity::Life;

/// How far a frame may be overtaken by later ones of its sender.
const WINDOW: u64 = 128;

/// More senders than this are not remembered one by one: whoever holds the key could invent them.
const MOST_SENDERS: usize = 4096;

/// Which frames of each sender have been heard. Restarted senders begin a new life; what was sent in
/// an earlier one counts as heard.
#[derive(Debug, Default)]
pub struct Replays {
    senders: BTreeMap<MemberId, Heard>,
}

#[derive(Debug, Clone, Copy)]
struct Heard {
    life: Life,
    /// The greatest number heard.
    latest: u64,
    /// Bit `n`: whether `latest - n` was heard.
    recent: u128,
}

/// Whether a frame was heard before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Novelty {
    /// It was not.
    New,
    /// It was.
    Heard,
    /// Too many later ones have been heard to tell.
    TooOld,
    /// It is of a life that is over.
    Outlived,
}

impl Replays {
    /// Takes note of a frame. Returns whether it is new, as far as can be told.
    pub fn admit(&mut self, sender: MemberId, life: Life, number: u64) -> bool {
        self.note(sender, life, number) == Novelty::New
    }

    /// Takes note of a frame. Returns what is known of it.
    pub fn note(&mut self, sender: MemberId, life: Life, number: u64) -> Novelty {
        let fresh = Heard {
            life,
            latest: number,
            recent: 1,
        };
        if let Some(heard) = self.senders.get_mut(&sender) {
            return match life.cmp(&heard.life) {
                Ordering::Greater => {
                    *heard = fresh;
                    Novelty::New
                }
                Ordering::Equal => heard.note(number),
                Ordering::Less => Novelty::Outlived,
            };
        }
        if self.senders.len() >= MOST_SENDERS {
            self.senders.pop_first();
        }
        self.senders.insert(sender, fresh);
        Novelty::New
    }
}

impl Replays {
    /// A later life of `sender` than `life`, if it was heard in one.
    pub fn outlived(&self, sender: MemberId, life: Life) -> Option<Life> {
        let heard = self.senders.get(&sender)?.life;
        (heard > life).then_some(heard)
    }
}

impl Heard {
    fn note(&mut self, number: u64) -> Novelty {
        if number > self.latest {
            let ahead = number - self.latest;
            self.recent = match ahead < WINDOW {
                true => self.recent << ahead | 1,
                false => 1,
            };
            self.latest = number;
            return Novelty::New;
        }
        let behind = self.latest - number;
        if behind >= WINDOW {
            return Novelty::TooOld;
        }
        if self.recent >> behind & 1 == 1 {
            return Novelty::Heard;
        }
        self.recent |= 1 << behind;
        Novelty::New
    }
}

#[cfg(test)]
mod tests {
    use super::Novelty::{Heard, New, Outlived, TooOld};
    use super::{Replays, WINDOW};
    use crate::identity::Life;
    use hustings_protocol::MemberId;

    #[test]
    fn every_frame_is_admitted_once_whatever_the_order() {
        let mut replays = Replays::default();
        let mut admit = |life, number| replays.admit(MemberId(1), Life(life), number);
        for number in [5, 3, 4, 9, 200, 199, 150] {
            assert!(admit(7, number), "{number}");
            assert!(!admit(7, number), "{number} again");
        }
        assert!(!admit(7, 200 - WINDOW), "too old to tell");
        assert!(!admit(6, 1_000), "of an earlier life");
        assert!(admit(8, 1), "of a new one");
        assert!(!admit(7, 1_001), "the old one is over");
        let known = [(8, 1), (8, 300), (8, 300 - WINDOW), (8, 299), (7, 1)];
        let known = known.map(|(life, number)| replays.note(MemberId(1), Life(life), number));
        assert_eq!(known, [Heard, New, TooOld, New, Outlived]);
        let outlived = |life| replays.outlived(MemberId(1), Life(life));
        assert_eq!(
            (outlived(7), outlived(8), outlived(9)),
            (Some(Life(8)), None, None)
        );
    }
}
