//! Which processes are known, and which of their frames were heard before.
//!
//! A process is one incarnation of a member: the member's identity and the life in which the process was born. Frames that
//! were recorded while a process ran are sealed rightly for ever, so a window over frame numbers is not enough: a member
//! that has restarted has no window yet. So a process is *proven* only when it has answered a challenge of this very process
//! (see `group/challenge.rs`), and what is not proven can be told from what is.
//!
//! The table grows with the group. When it is full the process heard least recently gives way; it is a stranger then, and
//! has to prove itself again.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::net::SocketAddr;

use hustings_protocol::MemberId;

use crate::frame::Sender;
use crate::identity::Life;

/// How far a frame may be overtaken by later ones of its sender.
const WINDOW: u64 = 128;

/// More senders than this are not remembered one by one: whoever holds the key could invent them.
const MOST_SENDERS: usize = 65_536;

/// A process with more addresses than this has to prove some of them again and again.
const MOST_PLACES: usize = 4;

/// Which frames of each sender have been heard. Restarted senders begin a new life; what was sent in
/// an earlier one counts as heard.
#[derive(Debug, Default)]
pub struct Replays {
    senders: BTreeMap<MemberId, Heard>,
    /// The senders by when they were last heard: each has one turn.
    turns: BTreeMap<u64, MemberId>,
    turn: u64,
}

#[derive(Debug, Clone)]
struct Heard {
    /// The process: the life in which it was born.
    born: Life,
    life: Life,
    /// What has a lower number counts as heard.
    floor: u64,
    /// The greatest number heard; the floor if none was.
    latest: u64,
    /// Bit `n`: whether `latest - n` was heard.
    recent: u128,
    /// Where the process has answered a challenge; empty if it has not.
    places: Vec<SocketAddr>,
    turn: u64,
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

/// What is known of the process that sent a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Nothing: its member was never heard, or in earlier lives only.
    Stranger,
    /// It was heard, and has not answered a challenge.
    Unproven,
    /// It has answered a challenge.
    Proven,
    /// A later life of its member is known.
    Past,
}

impl Replays {
    /// Takes note of a frame. Returns what is known of it.
    pub fn note(&mut self, sender: &Sender<'_>, number: u64) -> Novelty {
        match self.trust(sender) {
            Trust::Past => Novelty::Outlived,
            Trust::Stranger => {
                self.enter(sender, 0, Vec::new());
                self.note_number(sender, number)
            }
            Trust::Unproven | Trust::Proven => self.note_number(sender, number),
        }
    }

    fn note_number(&mut self, sender: &Sender<'_>, number: u64) -> Novelty {
        let Some(heard) = self.senders.get_mut(&sender.id) else {
            return Novelty::New; // whoever is not remembered was not heard
        };
        self.turns.remove(&heard.turn);
        self.turn += 1;
        heard.turn = self.turn;
        self.turns.insert(self.turn, sender.id);
        if sender.life() > heard.life {
            heard.begin(sender.life(), 0);
        }
        heard.note(number)
    }

    /// What is known of the process that sent a frame.
    pub fn trust(&self, sender: &Sender<'_>) -> Trust {
        let Some(heard) = self.senders.get(&sender.id) else {
            return Trust::Stranger;
        };
        let is_known = heard.born == sender.born();
        match sender.life().cmp(&heard.life) {
            Ordering::Less => Trust::Past,
            // Two processes in one life: the one that is known goes on, and the other is told to begin a later one.
            Ordering::Equal if !is_known => Trust::Past,
            Ordering::Greater if !is_known => Trust::Stranger,
            _ if heard.places.is_empty() => Trust::Unproven,
            _ => Trust::Proven,
        }
    }

    /// Takes note that a process runs, and receives at `place`: it has answered a challenge there. What it sent before its
    /// frame number `since` is past. A process of a later life that is known already stays.
    pub fn prove(&mut self, sender: &Sender<'_>, since: u64, place: SocketAddr) {
        match self.trust(sender) {
            Trust::Past => {}
            Trust::Stranger => self.enter(sender, since, vec![place]),
            Trust::Unproven | Trust::Proven => {
                if let Some(heard) = self.senders.get_mut(&sender.id) {
                    if sender.life() > heard.life {
                        heard.begin(sender.life(), since);
                    } else if heard.places.is_empty() {
                        heard.floor = heard.floor.max(since);
                    }
                    heard.places.retain(|it| *it != place);
                    heard.places.truncate(MOST_PLACES - 1);
                    heard.places.insert(0, place);
                }
            }
        }
    }

    /// Whether the process that sent a frame has answered a challenge at `place`.
    pub fn is_proven_at(&self, sender: &Sender<'_>, place: SocketAddr) -> bool {
        let places = self.senders.get(&sender.id).map(|it| &it.places);
        self.trust(sender) == Trust::Proven && places.is_some_and(|it| it.contains(&place))
    }

    /// Where the member `id` has answered a challenge last.
    pub fn place_of(&self, id: MemberId) -> Option<SocketAddr> {
        self.senders.get(&id)?.places.first().copied()
    }

    /// A later life of `sender` than `life`, if it was heard in one.
    pub fn outlived(&self, sender: MemberId, life: Life) -> Option<Life> {
        let heard = self.senders.get(&sender)?.life;
        (heard >= life).then_some(heard)
    }

    /// Remembers a process of which nothing was heard yet.
    fn enter(&mut self, sender: &Sender<'_>, floor: u64, places: Vec<SocketAddr>) {
        if let Some(before) = self.senders.remove(&sender.id) {
            self.turns.remove(&before.turn);
        }
        if self.senders.len() >= MOST_SENDERS
            && let Some((_, stalest)) = self.turns.pop_first()
        {
            self.senders.remove(&stalest);
        }
        self.turn += 1;
        let heard = Heard {
            born: sender.born(),
            life: sender.life(),
            floor,
            latest: floor,
            recent: 0,
            places,
            turn: self.turn,
        };
        self.turns.insert(self.turn, sender.id);
        self.senders.insert(sender.id, heard);
    }
}

impl Heard {
    /// A later life of the same process has begun.
    fn begin(&mut self, life: Life, floor: u64) {
        (self.life, self.floor) = (life, floor);
        (self.latest, self.recent) = (floor, 0);
    }

    fn note(&mut self, number: u64) -> Novelty {
        if number < self.floor {
            return Novelty::TooOld;
        }
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
    use super::{MOST_PLACES, MOST_SENDERS, Replays, Trust, WINDOW};
    use crate::frame::Sender;
    use crate::identity::Life;
    use hustings_protocol::MemberId;
    use std::net::SocketAddr;

    fn sender(id: u64, born: u64, life: u64) -> Sender<'static> {
        Sender::new("a", MemberId(id), Life(life), 7400).born_in(Life(born))
    }

    fn place(number: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, number], 7400))
    }

    #[test]
    fn every_frame_is_admitted_once_whatever_the_order() {
        let mut replays = Replays::default();
        let mut note = |life, number| replays.note(&sender(1, 6, life), number);
        for number in [5, 3, 4, 9, 200, 199, 150] {
            assert_eq!(note(7, number), New, "{number}");
            assert_eq!(note(7, number), Heard, "{number} again");
        }
        assert_eq!(note(7, 200 - WINDOW), TooOld, "too old to tell");
        assert_eq!(note(6, 1_000), Outlived, "of an earlier life");
        assert_eq!(note(8, 1), New, "of a new one");
        assert_eq!(note(7, 1_001), Outlived, "the old one is over");
        let known = [(8, 1), (8, 300), (8, 300 - WINDOW), (8, 299), (7, 1)];
        let known = known.map(|(life, number)| note(life, number));
        assert_eq!(known, [Heard, New, TooOld, New, Outlived]);
        let outlived = |life| replays.outlived(MemberId(1), Life(life));
        assert_eq!((outlived(7), outlived(9)), (Some(Life(8)), None));
    }

    #[test]
    fn only_a_process_that_answered_is_proven_and_only_from_then_on() {
        let mut replays = Replays::default();
        let (old, new) = (sender(1, 6, 6), sender(1, 8, 9));
        assert_eq!(replays.trust(&new), Trust::Stranger);
        replays.prove(&new, 100, place(1));
        assert_eq!(replays.trust(&new), Trust::Proven);
        let known = [99, 100, 100, 101].map(|it| replays.note(&new, it));
        assert_eq!(known, [TooOld, New, Heard, New]);
        // A process of an earlier life, of the same life, and of a later one.
        assert_eq!(replays.trust(&old), Trust::Past);
        assert_eq!(replays.trust(&sender(1, 9, 9)), Trust::Past);
        let next = sender(1, 10, 10);
        assert_eq!(replays.trust(&next), Trust::Stranger);
        assert_eq!(replays.trust(&new), Trust::Proven, "until it answers");
        replays.prove(&old, 0, place(2));
        assert_eq!(replays.place_of(MemberId(1)), Some(place(1)));
        replays.prove(&next, 0, place(3));
        assert_eq!(replays.trust(&new), Trust::Past);
        // Heard before it answers, and then in a later life.
        let mut replays = Replays::default();
        assert_eq!(replays.note(&new, 3), New);
        assert_eq!(replays.trust(&new), Trust::Unproven);
        replays.prove(&new, 5, place(1));
        assert_eq!([4, 5].map(|it| replays.note(&new, it)), [TooOld, New]);
        let later = sender(1, 8, 11);
        replays.prove(&later, 7, place(1));
        assert_eq!([6, 7].map(|it| replays.note(&later, it)), [TooOld, New]);
        assert_eq!(replays.trust(&later), Trust::Proven);
    }

    #[test]
    fn place_is_proven_by_an_answer_from_there() {
        let mut replays = Replays::default();
        let one = sender(1, 1, 1);
        replays.prove(&one, 0, place(1));
        assert!(replays.is_proven_at(&one, place(1)) && !replays.is_proven_at(&one, place(2)));
        for other in 2..=MOST_PLACES as u8 + 1 {
            replays.prove(&one, 0, place(other));
            assert_eq!(replays.place_of(MemberId(1)), Some(place(other)));
        }
        assert!(replays.is_proven_at(&one, place(2)) && !replays.is_proven_at(&one, place(1)));
    }

    /// Of 10,000 senders 5,905 replays counted as new when 4,096 senders were remembered, and the smallest identity gave way.
    #[test]
    fn no_replay_of_many_senders_counts_as_new() {
        let mut replays = Replays::default();
        let many = (0..10_000).map(|id: u64| sender(id.wrapping_mul(0x9e37_79b9_7f4a_7c15), 1, 1));
        let many: Vec<_> = many.collect();
        for one in &many {
            assert_eq!(replays.note(one, 5), New);
        }
        let new = many.iter().filter(|it| replays.note(it, 5) == New);
        assert_eq!(new.count(), 0);
    }

    #[test]
    fn when_the_table_is_full_the_sender_heard_least_recently_is_a_stranger() {
        let mut replays = Replays::default();
        let most = MOST_SENDERS as u64;
        for id in 0..most {
            replays.prove(&sender(id, 1, 1), 0, place(1));
        }
        replays.note(&sender(0, 1, 1), 1);
        replays.prove(&sender(most, 1, 1), 0, place(1));
        let trust = |id| replays.trust(&sender(id, 1, 1));
        assert_eq!(trust(0), Trust::Proven);
        assert_eq!(trust(1), Trust::Stranger);
        assert_eq!(trust(2), Trust::Proven);
        assert_eq!(replays.senders.len(), MOST_SENDERS);
        assert_eq!(replays.turns.len(), MOST_SENDERS);
    }
}
