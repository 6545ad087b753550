//! Replay protection: the processes that are known, and the frames that were received from them.
//!
//! Purpose     decides whether a frame is new, and whether its sender has proven that it runs
//! Inputs      senders and numbers of authenticated frames; answers to challenges
//! Outputs     [`Freshness`] of a frame, [`Trust`] in its sender
//! Owns        one window of frame numbers and one proof for each sender
//! Invariants  while a sender is remembered, each of its frames counts as new at most once, and an
//!             incarnation that has ended never comes back; at most `MOST_SENDERS` senders are
//!             remembered
//!
//! A process is identified by its member's identity and the incarnation in which the process
//! started. Recorded frames stay validly sealed for ever, so a window over frame numbers is not
//! enough: a member that has restarted has no window yet. A process is therefore *proven* only when
//! it has answered a challenge of this very process (see `admission/challenge.rs`).
//!
//! A proof lasts for [`PROOF_LASTS`]. While frames of the process arrive, the proof is renewed
//! before it ends. Without an end, a member that was cut off would accept old frames that it had
//! missed, although their sender has died since. A leader that is missed has to prove itself again
//! at once.
//!
//! The table grows with the group. When it is full, the sender that was heard least recently is
//! dropped. That sender is a stranger then, and has to prove itself again.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant, MemberId};

use crate::frame::Sender;
use crate::identity::Incarnation;

/// The number of later frames of its sender that may overtake a frame.
const WINDOW: u64 = 128;

/// The number of senders that are remembered. A process that holds the key could invent more.
const MOST_SENDERS: usize = 65_536;

/// The time for which an answered challenge proves that a process runs.
pub const PROOF_LASTS: Duration = Duration::from_secs(60);

/// The age of a proof at which a process that still sends is challenged again.
const RENEW_AFTER: Duration = Duration::from_secs(30);

/// The number of proven addresses kept for a process. A process with more addresses has to prove
/// some of them repeatedly.
const MOST_PLACES: usize = 4;

/// The frames that were received from each sender. A restarted sender begins a new incarnation, and
/// frames of an earlier incarnation count as received.
#[derive(Debug, Default)]
pub struct ReplayWindow {
    senders: BTreeMap<MemberId, Heard>,
    /// The senders in the order in which they were last heard: each sender has one turn.
    turns: BTreeMap<u64, MemberId>,
    turn: u64,
}

#[derive(Debug, Clone)]
struct Heard {
    /// The process: the incarnation in which it started.
    process_incarnation: Incarnation,
    incarnation: Incarnation,
    /// Frames with lower numbers count as too old.
    floor: u64,
    /// The greatest number received; the floor if there is none.
    latest: u64,
    /// Bit `n` is set if frame `latest - n` was received.
    recent: u128,
    /// The addresses at which the process has answered a challenge, the latest first.
    places: Vec<SocketAddr>,
    /// The time of its latest answer.
    proven: Option<Instant>,
    /// True if it was missed since that answer.
    missed: bool,
    turn: u64,
}

/// The result of the check for replays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// Received for the first time.
    New,
    /// Received before.
    Heard,
    /// Older than the window: undecidable.
    TooOld,
    /// From an incarnation that has ended.
    StaleIncarnation,
}

/// The trust in the process that sent a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// No frame of its member is known, or only frames of earlier incarnations.
    UnprovenSender,
    /// Frames of it are known, but it has not answered a challenge.
    Unproven,
    /// It has answered a challenge.
    Proven,
    /// A later incarnation of its member is known.
    Past,
}

impl ReplayWindow {
    /// Records a frame and returns whether it is new.
    pub fn note(&mut self, sender: &Sender<'_>, number: u64) -> Freshness {
        match self.standing(sender) {
            Trust::Past => return Freshness::StaleIncarnation,
            Trust::UnprovenSender => self.enter(sender, 0, None),
            Trust::Unproven | Trust::Proven => {}
        }
        let Some(heard) = self.senders.get_mut(&sender.id) else {
            return Freshness::New; // a sender that is not remembered has sent nothing
        };
        self.turns.remove(&heard.turn);
        self.turn += 1;
        heard.turn = self.turn;
        self.turns.insert(self.turn, sender.id);
        if sender.incarnation > heard.incarnation {
            heard.begin(sender.incarnation, 0);
        }
        heard.note(number)
    }

    /// The trust in the process that sent a frame, at `now`.
    pub fn trust(&self, sender: &Sender<'_>, now: Instant) -> Trust {
        let proven = self.senders.get(&sender.id).and_then(|it| it.proven);
        match self.standing(sender) {
            Trust::Proven if proven.is_none_or(|at| now - at >= PROOF_LASTS) => Trust::Unproven,
            standing => standing,
        }
    }

    /// True if the process that sent a frame has ever answered a challenge.
    pub fn was_proven(&self, sender: &Sender<'_>) -> bool {
        self.standing(sender) == Trust::Proven
    }

    /// True if a proven process has to be challenged again, before its proof ends.
    pub fn is_renewal_due(&self, id: MemberId, now: Instant) -> bool {
        let proven = self.senders.get(&id).and_then(|it| it.proven);
        proven.is_some_and(|at| now - at >= RENEW_AFTER)
    }

    /// Records that a member is missed: it has to prove itself again.
    pub fn miss(&mut self, id: MemberId) {
        if let Some(heard) = self.senders.get_mut(&id) {
            heard.missed = true;
        }
    }

    /// True if a member was missed and has not proven itself since.
    pub fn is_missed(&self, id: MemberId) -> bool {
        self.senders.get(&id).is_some_and(|it| it.missed)
    }

    /// Same as [`Self::trust`], regardless of the age of the proof.
    fn standing(&self, sender: &Sender<'_>) -> Trust {
        let Some(heard) = self.senders.get(&sender.id) else {
            return Trust::UnprovenSender;
        };
        let is_known = heard.process_incarnation == sender.process_incarnation;
        match sender.incarnation.cmp(&heard.incarnation) {
            Ordering::Less => Trust::Past,
            // Two processes use one incarnation. The known process goes on. The other one learns
            // that its incarnation is stale and begins a later one.
            Ordering::Equal if !is_known => Trust::Past,
            Ordering::Greater if !is_known => Trust::UnprovenSender,
            _ if heard.places.is_empty() => Trust::Unproven,
            _ => Trust::Proven,
        }
    }

    /// Records that a process runs and receives at `place`, where it has answered a challenge.
    /// Frames with numbers below `since` count as too old, unless the process was proven already.
    /// Does nothing if a later incarnation is known.
    pub fn prove(&mut self, now: Instant, sender: &Sender<'_>, since: u64, place: SocketAddr) {
        let was_proven = self.trust(sender, now) == Trust::Proven && !self.is_missed(sender.id);
        match self.standing(sender) {
            Trust::Past => {}
            Trust::UnprovenSender => self.enter(sender, since, Some((now, place))),
            Trust::Unproven | Trust::Proven => {
                if let Some(heard) = self.senders.get_mut(&sender.id) {
                    if sender.incarnation > heard.incarnation {
                        heard.begin(sender.incarnation, since);
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

    /// True if the process that sent a frame has answered a challenge at `place`.
    pub fn is_proven_at(&self, sender: &Sender<'_>, place: SocketAddr) -> bool {
        let places = self.senders.get(&sender.id).map(|it| &it.places);
        self.standing(sender) == Trust::Proven && places.is_some_and(|it| it.contains(&place))
    }

    /// The address at which the member `id` last answered a challenge.
    pub fn place_of(&self, id: MemberId) -> Option<SocketAddr> {
        self.senders.get(&id)?.places.first().copied()
    }

    /// The latest known incarnation of `sender`, if `incarnation` is not later than it.
    pub fn stale_incarnation(
        &self,
        sender: MemberId,
        incarnation: Incarnation,
    ) -> Option<Incarnation> {
        let heard = self.senders.get(&sender)?.incarnation;
        (heard >= incarnation).then_some(heard)
    }

    /// Starts to remember a process of which no frame is known.
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
            process_incarnation: sender.process_incarnation,
            incarnation: sender.incarnation,
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
    /// Starts a later incarnation of the same process.
    fn begin(&mut self, incarnation: Incarnation, floor: u64) {
        (self.incarnation, self.floor) = (incarnation, floor);
        (self.latest, self.recent) = (floor, 0);
    }

    fn note(&mut self, number: u64) -> Freshness {
        if number < self.floor {
            return Freshness::TooOld;
        }
        if number > self.latest {
            let ahead = number - self.latest;
            self.recent = if ahead < WINDOW { self.recent << ahead | 1 } else { 1 };
            self.latest = number;
            return Freshness::New;
        }
        let behind = self.latest - number;
        if behind >= WINDOW {
            return Freshness::TooOld;
        }
        if self.recent >> behind & 1 == 1 {
            return Freshness::Heard;
        }
        self.recent |= 1 << behind;
        Freshness::New
    }
}

#[cfg(test)]
mod tests {
    use super::Freshness::{Heard, New, StaleIncarnation, TooOld};
    use super::{MOST_PLACES, MOST_SENDERS, PROOF_LASTS, RENEW_AFTER, ReplayWindow, Trust, WINDOW};
    use crate::frame::Sender;
    use crate::identity::Incarnation;
    use hustings_protocol::{Instant, MemberId};
    use std::net::SocketAddr;

    const NOW: Instant = Instant::START;

    fn sender(id: u64, process_incarnation: u64, incarnation: u64) -> Sender<'static> {
        Sender::new("a", MemberId(id), Incarnation(incarnation), 7400)
            .with_process_incarnation(Incarnation(process_incarnation))
    }

    fn place(number: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, number], 7400))
    }

    #[test]
    fn every_frame_is_admitted_once_whatever_the_order() {
        let mut replay_window = ReplayWindow::default();
        let mut note = |incarnation, number| replay_window.note(&sender(1, 6, incarnation), number);
        for number in [5, 3, 4, 9, 200, 199, 150] {
            assert_eq!(note(7, number), New, "{number}");
            assert_eq!(note(7, number), Heard, "{number} again");
        }
        assert_eq!(note(7, 200 - WINDOW), TooOld, "too old to tell");
        assert_eq!(note(6, 1_000), StaleIncarnation, "of an earlier life");
        assert_eq!(note(8, 1), New, "of a new one");
        assert_eq!(note(7, 1_001), StaleIncarnation, "the old one is over");
        let known = [(8, 1), (8, 300), (8, 300 - WINDOW), (8, 299), (7, 1)];
        let known = known.map(|(incarnation, number)| note(incarnation, number));
        assert_eq!(known, [Heard, New, TooOld, New, StaleIncarnation]);
        let stale_incarnation =
            |incarnation| replay_window.stale_incarnation(MemberId(1), Incarnation(incarnation));
        assert_eq!((stale_incarnation(7), stale_incarnation(9)), (Some(Incarnation(8)), None));
    }

    #[test]
    fn process_is_proven_from_its_answer_on() {
        let mut replay_window = ReplayWindow::default();
        let (old, new) = (sender(1, 6, 6), sender(1, 8, 9));
        assert_eq!(replay_window.trust(&new, NOW), Trust::UnprovenSender);
        replay_window.prove(NOW, &new, 100, place(1));
        assert_eq!(replay_window.trust(&new, NOW), Trust::Proven);
        let known = [99, 100, 100, 101].map(|it| replay_window.note(&new, it));
        assert_eq!(known, [TooOld, New, Heard, New]);
        // A process of an earlier incarnation, of the same one, and of a later one.
        assert_eq!(replay_window.trust(&old, NOW), Trust::Past);
        assert_eq!(replay_window.trust(&sender(1, 9, 9), NOW), Trust::Past);
        let next = sender(1, 10, 10);
        assert_eq!(replay_window.trust(&next, NOW), Trust::UnprovenSender);
        assert_eq!(replay_window.trust(&new, NOW), Trust::Proven, "until it answers");
        replay_window.prove(NOW, &old, 0, place(2));
        assert_eq!(replay_window.place_of(MemberId(1)), Some(place(1)));
        replay_window.prove(NOW, &next, 0, place(3));
        assert_eq!(replay_window.trust(&new, NOW), Trust::Past);
        // A process sends before it answers, and then in a later incarnation.
        let mut replay_window = ReplayWindow::default();
        assert_eq!(replay_window.note(&new, 3), New);
        assert_eq!(replay_window.trust(&new, NOW), Trust::Unproven);
        replay_window.prove(NOW, &new, 5, place(1));
        assert_eq!([4, 5].map(|it| replay_window.note(&new, it)), [TooOld, New]);
        let later = sender(1, 8, 11);
        replay_window.prove(NOW, &later, 7, place(1));
        assert_eq!([6, 7].map(|it| replay_window.note(&later, it)), [TooOld, New]);
        assert_eq!(replay_window.trust(&later, NOW), Trust::Proven);
    }

    #[test]
    fn proof_ends_and_frames_before_the_next_proof_are_too_old() {
        let one = sender(1, 1, 1);
        for missed in [false, true] {
            let mut replay_window = ReplayWindow::default();
            replay_window.prove(NOW, &one, 0, place(1));
            assert_eq!(replay_window.note(&one, 5), New);
            let half = NOW + RENEW_AFTER;
            assert!(
                replay_window.is_renewal_due(one.id, half)
                    && !replay_window.is_renewal_due(one.id, NOW)
            );
            let later = NOW + PROOF_LASTS;
            match missed {
                true => replay_window.miss(one.id),
                false => assert_eq!(replay_window.trust(&one, later), Trust::Unproven),
            }
            assert_eq!(replay_window.is_missed(one.id), missed);
            let then = if missed { NOW } else { later };
            replay_window.prove(then, &one, 9, place(1));
            assert_eq!(replay_window.trust(&one, then), Trust::Proven);
            assert!(!replay_window.is_missed(one.id));
            assert_eq!([8, 9].map(|it| replay_window.note(&one, it)), [TooOld, New]);
            // After a renewal in time, no earlier frame is too old.
            replay_window.prove(then, &one, 20, place(1));
            assert_eq!(replay_window.note(&one, 15), New);
        }
    }

    #[test]
    fn address_is_proven_by_an_answer_from_it() {
        let mut replay_window = ReplayWindow::default();
        let one = sender(1, 1, 1);
        replay_window.prove(NOW, &one, 0, place(1));
        assert!(
            replay_window.is_proven_at(&one, place(1))
                && !replay_window.is_proven_at(&one, place(2))
        );
        for other in 2..=MOST_PLACES as u8 + 1 {
            replay_window.prove(NOW, &one, 0, place(other));
            assert_eq!(replay_window.place_of(MemberId(1)), Some(place(other)));
        }
        assert!(
            replay_window.is_proven_at(&one, place(2))
                && !replay_window.is_proven_at(&one, place(1))
        );
    }

    /// Regression: with 4,096 remembered senders, of which the smallest identity was dropped first,
    /// 5,905 replays of 10,000 senders counted as new.
    #[test]
    fn replays_of_many_senders_are_never_new() {
        let mut replay_window = ReplayWindow::default();
        let many = (0..10_000).map(|id: u64| sender(id.wrapping_mul(0x9e37_79b9_7f4a_7c15), 1, 1));
        let many: Vec<_> = many.collect();
        for one in &many {
            assert_eq!(replay_window.note(one, 5), New);
        }
        let new = many.iter().filter(|it| replay_window.note(it, 5) == New);
        assert_eq!(new.count(), 0);
    }

    #[test]
    fn full_table_drops_the_sender_heard_least_recently() {
        let mut replay_window = ReplayWindow::default();
        let most = MOST_SENDERS as u64;
        for id in 0..most {
            replay_window.prove(NOW, &sender(id, 1, 1), 0, place(1));
        }
        replay_window.note(&sender(0, 1, 1), 1);
        replay_window.prove(NOW, &sender(most, 1, 1), 0, place(1));
        let trust = |id| replay_window.trust(&sender(id, 1, 1), NOW);
        assert_eq!(trust(0), Trust::Proven);
        assert_eq!(trust(1), Trust::UnprovenSender);
        assert_eq!(trust(2), Trust::Proven);
        assert_eq!(replay_window.senders.len(), MOST_SENDERS);
        assert_eq!(replay_window.turns.len(), MOST_SENDERS);
    }
}
