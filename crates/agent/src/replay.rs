//! Which processes are known, and which of their frames were heard before.
//!
//! A process is one incarnation of a member: the member's identity and the life in which the process was born. Frames that
//! were recorded while a process ran are sealed rightly for ever, so a window over frame numbers is not enough: a member
//! that has restarted has no window yet. So a process is *proven* only when it has answered a challenge of this very process
//! (see `group/challenge.rs`), and what is not proven can be told from what is.
//!
//! A proof lasts for [`PROOF_LASTS`], and is renewed before it ends while the process is heard. Without that a member which
//! was cut off would take frames that it missed for new ones, though their sender has died since. A leader that is missed
//! has to prove itself again at once.
//!
//! The table grows with the group. When it is full the process heard least recently gives way; it is a stranger then, and
//! has to prove itself again.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant, MemberId};

use crate::frame::Sender;
use crate::identity::Life;

/// How far a frame may be overtaken by later ones of its sender.
const WINDOW: u64 = 128;

/// More senders than this are not remembered one by one: whoever holds the key could invent them.
const MOST_SENDERS: usize = 65_536;

/// The time for which an answered challenge proves that a process runs.
pub const PROOF_LASTS: Duration = Duration::from_secs(60);

/// The age of a proof at which a process that is heard is challenged again.
const RENEW_AFTER: Duration = Duration::from_secs(30);

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
    /// When it has answered last.
    proven: Option<Instant>,
    /// Whether it was missed since.
    missed: bool,
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
        match self.standing(sender) {
            Trust::Past => Novelty::Outlived,
            Trust::Stranger => {
                self.enter(sender, 0, None);
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
    pub fn trust(&self, sender: &Sender<'_>, now: Instant) -> Trust {
        let proven = self.senders.get(&sender.id).and_then(|it| it.proven);
        match self.standing(sender) {
            Trust::Proven if proven.is_none_or(|at| now - at >= PROOF_LASTS) => Trust::Unproven,
            standing => standing,
        }
    }

    /// Whether the process that sent a frame has ever answered a challenge.
    pub fn was_proven(&self, sender: &Sender<'_>) -> bool {
        self.standing(sender) == Trust::Proven
    }

    /// Whether a process that is proven has to be challenged again, before its proof ends.
    pub fn is_renewal_due(&self, id: MemberId, now: Instant) -> bool {
        let proven = self.senders.get(&id).and_then(|it| it.proven);
        proven.is_some_and(|at| now - at >= RENEW_AFTER)
    }

    /// Takes note that a member is missed: it has to prove itself again.
    pub fn miss(&mut self, id: MemberId) {
        if let Some(heard) = self.senders.get_mut(&id) {
            heard.missed = true;
        }
    }

    /// Whether a member was missed, and has not proven itself since.
    pub fn is_missed(&self, id: MemberId) -> bool {
        self.senders.get(&id).is_some_and(|it| it.missed)
    }

    /// The same as [`Self::trust`], however long ago the process has answered.
    fn standing(&self, sender: &Sender<'_>) -> Trust {
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
    pub fn prove(&mut self, now: Instant, sender: &Sender<'_>, since: u64, place: SocketAddr) {
        let was_proven = self.trust(sender, now) == Trust::Proven && !self.is_missed(sender.id);
        match self.standing(sender) {
            Trust::Past => {}
            Trust::Stranger => self.enter(sender, since, Some((now, place))),
            Trust::Unproven | Trust::Proven => {
                if let Some(heard) = self.senders.get_mut(&sender.id) {
                    if sender.life() > heard.life {
                        heard.begin(sender.life(), since);
                    } else if !was_proven {
                        heard.floor = heard.floor.max(since);
                    }
                    (heard.proven, heard.missed) = (Some(now), false);
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
        self.standing(sender) == Trust::Proven && places.is_some_and(|it| it.contains(&place))
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
    fn enter(&mut self, sender: &Sender<'_>, floor: u64, proof: Option<(Instant, SocketAddr)>) {
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
            places: proof.iter().map(|it| it.1).collect(),
            proven: proof.map(|it| it.0),
            missed: false,
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
    use super::{MOST_PLACES, MOST_SENDERS, PROOF_LASTS, RENEW_AFTER, Replays, Trust, WINDOW};
    use crate::frame::Sender;
    use crate::identity::Life;
    use hustings_protocol::{Instant, MemberId};
    use std::net::SocketAddr;

    const NOW: Instant = Instant::START;

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
        assert_eq!(replays.trust(&new, NOW), Trust::Stranger);
        replays.prove(NOW, &new, 100, place(1));
        assert_eq!(replays.trust(&new, NOW), Trust::Proven);
        let known = [99, 100, 100, 101].map(|it| replays.note(&new, it));
        assert_eq!(known, [TooOld, New, Heard, New]);
        // A process of an earlier life, of the same life, and of a later one.
        assert_eq!(replays.trust(&old, NOW), Trust::Past);
        assert_eq!(replays.trust(&sender(1, 9, 9), NOW), Trust::Past);
        let next = sender(1, 10, 10);
        assert_eq!(replays.trust(&next, NOW), Trust::Stranger);
        assert_eq!(replays.trust(&new, NOW), Trust::Proven, "until it answers");
        replays.prove(NOW, &old, 0, place(2));
        assert_eq!(replays.place_of(MemberId(1)), Some(place(1)));
        replays.prove(NOW, &next, 0, place(3));
        assert_eq!(replays.trust(&new, NOW), Trust::Past);
        // Heard before it answers, and then in a later life.
        let mut replays = Replays::default();
        assert_eq!(replays.note(&new, 3), New);
        assert_eq!(replays.trust(&new, NOW), Trust::Unproven);
        replays.prove(NOW, &new, 5, place(1));
        assert_eq!([4, 5].map(|it| replays.note(&new, it)), [TooOld, New]);
        let later = sender(1, 8, 11);
        replays.prove(NOW, &later, 7, place(1));
        assert_eq!([6, 7].map(|it| replays.note(&later, it)), [TooOld, New]);
        assert_eq!(replays.trust(&later, NOW), Trust::Proven);
    }

    #[test]
    fn proof_ends_and_what_was_sent_before_the_next_one_is_past() {
        let one = sender(1, 1, 1);
        for missed in [false, true] {
            let mut replays = Replays::default();
            replays.prove(NOW, &one, 0, place(1));
            assert_eq!(replays.note(&one, 5), New);
            let half = NOW + RENEW_AFTER;
            assert!(replays.is_renewal_due(one.id, half) && !replays.is_renewal_due(one.id, NOW));
            let later = NOW + PROOF_LASTS;
            match missed {
                true => replays.miss(one.id),
                false => assert_eq!(replays.trust(&one, later), Trust::Unproven),
            }
            assert_eq!(replays.is_missed(one.id), missed);
            let then = if missed { NOW } else { later };
            replays.prove(then, &one, 9, place(1));
            assert_eq!(replays.trust(&one, then), Trust::Proven);
            assert!(!replays.is_missed(one.id));
            assert_eq!([8, 9].map(|it| replays.note(&one, it)), [TooOld, New]);
            // Renewed in time, nothing of what it sent is past.
            replays.prove(then, &one, 20, place(1));
            assert_eq!(replays.note(&one, 15), New);
        }
    }

    #[test]
    fn place_is_proven_by_an_answer_from_there() {
        let mut replays = Replays::default();
        let one = sender(1, 1, 1);
        replays.prove(NOW, &one, 0, place(1));
        assert!(replays.is_proven_at(&one, place(1)) && !replays.is_proven_at(&one, place(2)));
        for other in 2..=MOST_PLACES as u8 + 1 {
            replays.prove(NOW, &one, 0, place(other));
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
            replays.prove(NOW, &sender(id, 1, 1), 0, place(1));
        }
        replays.note(&sender(0, 1, 1), 1);
        replays.prove(NOW, &sender(most, 1, 1), 0, place(1));
        let trust = |id| replays.trust(&sender(id, 1, 1), NOW);
        assert_eq!(trust(0), Trust::Proven);
        assert_eq!(trust(1), Trust::Stranger);
        assert_eq!(trust(2), Trust::Proven);
        assert_eq!(replays.senders.len(), MOST_SENDERS);
        assert_eq!(replays.turns.len(), MOST_SENDERS);
    }
}
