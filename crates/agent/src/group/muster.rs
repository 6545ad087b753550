//! Two leaders meet: the one with more members behind it stays.
//!
//! Where a network was cut in two and grows together again, both sides may have a leader that works.
//! Followers are silent by nature, so a leader does not know how many it has. When it hears a rival it calls
//! them, holds back what the rival says until they have answered, and only then lets the protocol compare
//! (`Claim::backing`). Followers hold back a rival's words too, until both leaders have counted, or one does not.
//! A group that is whole pays nothing for this.

use std::collections::{BTreeMap, BTreeSet};

use hustings_protocol::{Candidate, Duration, Instant, MemberId, Merit, ViewChange};

use super::{Group, Outbox, Route};
use crate::frame::Body;

/// In intervals of announcement: how long followers have to answer, and their leader waits for them; how long
/// a follower holds back what a rival says; and how long a count is good for.
const ANSWER_WITHIN: f64 = 0.125;
const LEADER_WAITS: f64 = 0.25;
const FOLLOWER_WAITS: f64 = 1.5;
const COUNT_LASTS: f64 = 3.0;
/// A host that does not do its best answers in this time still.
const LEAST_WAIT: Duration = Duration::from_millis(5);
/// The words of so many rivals are held back at most.
const MOST_RIVALS: usize = 16;

/// A member's part in the meeting of leaders.
pub(super) struct Muster {
    announce: Duration,
    /// How many members are behind its leader, itself perhaps, as far as that knows; none while it is not
    /// established.
    backing: Option<u16>,
    contest: Option<Contest>,
    /// When to answer its leader's call, and which.
    answer: Option<(Instant, u64)>,
    /// Led until it was compared with a rival: its followers wait to be told.
    gives_way: bool,
    /// The rival that the log names already: one that goes on to lead is met again and again.
    told_of: Option<MemberId>,
}

/// A rival has been heard.
struct Contest {
    /// What rivals say is held back until then.
    holds_until: Option<Instant>,
    /// The last word of each.
    held: BTreeMap<MemberId, Word>,
    /// The number of the frame that called the followers, if this member leads.
    call: Option<u64>,
    /// Who answered.
    followers: BTreeSet<MemberId>,
    ends: Instant,
}

/// What a rival says.
struct Word {
    backing: u16,
    message: Vec<u8>,
}

impl Muster {
    /// For a group where leaders announce themselves every `announce`.
    pub(super) fn new(announce: Duration) -> Self {
        Self {
            announce,
            backing: None,
            contest: None,
            answer: None,
            gives_way: false,
            told_of: None,
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        let answer = self.answer.map(|(at, _)| at);
        let contest = self.contest.as_ref();
        let contest = contest.map(|it| it.holds_until.unwrap_or(it.ends));
        answer.into_iter().chain(contest).min()
    }

    fn intervals(&self, count: f64) -> Duration {
        self.announce.mul_f64(count)
    }

    /// If both its leader and a rival have counted there is nothing to wait for.
    fn hurry(&mut self, now: Instant) {
        let has_counted = |backing: u16| backing > 1;
        if let Some(contest) = &mut self.contest
            && contest.call.is_none()
            && self.backing.is_some_and(has_counted)
            && contest.held.values().any(|word| has_counted(word.backing))
        {
            contest.let_go(now);
        }
    }
}

impl Contest {
    /// What rivals said need not be held back any longer.
    fn let_go(&mut self, now: Instant) {
        self.holds_until = self.holds_until.map(|until| until.min(now));
    }
}

impl Group {
    /// Somebody says something that the protocol must hear: now, or once it is known who follows whom.
    pub(super) fn on_election(
        &mut self,
        now: Instant,
        from: MemberId,
        message: &[u8],
        out: &mut Outbox,
    ) {
        match self.rivals_backing(now, from, message) {
            Some(backing) if self.hold_back(now, from, backing, message, out) => {}
            Some(_) | None => self.receive(now, from, message),
        }
    }

    fn receive(&mut self, now: Instant, from: MemberId, message: &[u8]) {
        if let Err(why) = self.seat.receive(now, from, message) {
            self.counters.reject(why);
        }
    }

    /// Of the word of a leader that is not ours, where both are established, how many are behind it.
    fn rivals_backing(&mut self, now: Instant, from: MemberId, message: &[u8]) -> Option<u16> {
        let leader = self.nominee?;
        let muster = self.muster.as_mut()?;
        let backing = self.seat.backing(message);
        if leader == from {
            muster.backing = backing;
            muster.hurry(now);
            return None;
        }
        muster.backing.and(backing)
    }

    /// This member said something to all.
    pub(super) fn note_own_word(&mut self, message: &[u8]) {
        if self.is_nominee()
            && let Some(muster) = &mut self.muster
        {
            muster.backing = self.seat.backing(message);
        }
    }

    /// Holds back the word of a rival, if it is time for that.
    fn hold_back(
        &mut self,
        now: Instant,
        from: MemberId,
        backing: u16,
        message: &[u8],
        out: &mut Outbox,
    ) -> bool {
        if self.muster.as_ref().is_some_and(|it| it.contest.is_none()) {
            self.begin_contest(now, from, out);
        }
        let Some(muster) = &mut self.muster else {
            return false;
        };
        let Some(contest) = &mut muster.contest else {
            return false;
        };
        if contest.holds_until.is_none() {
            return false;
        }
        if contest.held.len() < MOST_RIVALS || contest.held.contains_key(&from) {
            let message = message.to_vec();
            contest.held.insert(from, Word { backing, message });
            muster.hurry(now);
        }
        true
    }

    fn begin_contest(&mut self, now: Instant, rival: MemberId, out: &mut Outbox) {
        let leads = self.is_nominee();
        let call = leads.then_some(self.number);
        let Some(muster) = &mut self.muster else {
            return;
        };
        let wait = match leads {
            true => muster.intervals(LEADER_WAITS),
            false => muster.intervals(FOLLOWER_WAITS),
        };
        muster.contest = Some(Contest {
            holds_until: Some(now + wait.max(LEAST_WAIT)),
            held: BTreeMap::new(),
            call,
            followers: BTreeSet::new(),
            ends: now + muster.intervals(COUNT_LASTS).max(LEAST_WAIT * 3),
        });
        if leads {
            let within_ns = muster.intervals(ANSWER_WITHIN).0;
            if muster.told_of.replace(rival) != Some(rival) {
                tracing::info!(
                    "group `{}`: `{}` leads too: counting who follows this one",
                    self.config.name,
                    self.peers.describe(rival).name
                );
            }
            self.broadcast(now, &Body::Muster { within_ns }, out);
        }
    }

    /// Our leader wants to know who follows it.
    pub(super) fn on_muster(&mut self, now: Instant, from: MemberId, call: u64, within: Duration) {
        if !self.follows(from) {
            return;
        }
        if let Some(muster) = &mut self.muster {
            // Not all at once: each in its own moment.
            let within = within.min(muster.announce);
            let moment = Duration((self.me.id.0 ^ call) % within.0.max(1));
            muster.answer = Some((now + moment, call));
        }
    }

    /// Our leader follows a rival: nobody need wait for its word.
    pub(super) fn on_give_way(&mut self, now: Instant, from: MemberId) {
        if !self.follows(from) {
            return;
        }
        let muster = self.muster.as_mut();
        if let Some(contest) = muster.and_then(|it| it.contest.as_mut()) {
            contest.let_go(now);
        }
    }

    /// Tells its followers that it leads no longer, if so.
    pub(super) fn give_way(&mut self, now: Instant, out: &mut Outbox) {
        let muster = self.muster.as_mut();
        if muster.is_some_and(|it| std::mem::take(&mut it.gives_way)) {
            self.broadcast(now, &Body::GiveWay, out);
        }
    }

    /// Somebody follows us.
    pub(super) fn on_follow(&mut self, id: MemberId, merit: Merit, call: u64) {
        let muster = self.muster.as_mut();
        if let Some(contest) = muster.and_then(|it| it.contest.as_mut())
            && contest.call == Some(call)
            && contest.followers.insert(id)
        {
            self.seat.count(ViewChange::Joined(Candidate { merit, id }));
        }
    }

    /// Answers the leader, lets the protocol hear what was held back, forgets a count that is old.
    pub(super) fn pass_muster(&mut self, now: Instant, out: &mut Outbox) {
        let merit = self.me.merit;
        let leader = self.leader_elsewhere();
        let Some(muster) = &mut self.muster else {
            return;
        };
        let answer = muster.answer.take_if(|(at, _)| *at <= now);
        let mut held = BTreeMap::new();
        if let Some(contest) = &mut muster.contest
            && contest.holds_until.take_if(|until| *until <= now).is_some()
        {
            held = std::mem::take(&mut contest.held);
        }
        if muster.contest.as_ref().is_some_and(|it| it.ends <= now) {
            self.forget_followers();
        }
        if let (Some((_, call)), Some((leader, address))) = (answer, leader) {
            let follow = Body::Follow { merit, call };
            self.send_to(leader, Route::To(address), &follow, out);
        }
        for (from, word) in held {
            self.receive(now, from, &word.message);
        }
    }

    /// The leader changed.
    pub(super) fn end_contest(&mut self) {
        let follows = self.leader_elsewhere().is_some();
        if let Some(muster) = &mut self.muster {
            let led = muster.contest.as_ref().is_some_and(|it| it.call.is_some());
            muster.gives_way = led && follows;
        }
        self.forget_followers();
        if let Some(muster) = &mut self.muster {
            muster.backing = None;
            muster.answer = None;
            muster.told_of = None;
        }
    }

    fn forget_followers(&mut self) {
        let muster = self.muster.as_mut();
        let Some(contest) = muster.and_then(|it| it.contest.take()) else {
            return;
        };
        for id in contest.followers {
            self.seat.count(ViewChange::Left(id));
        }
    }
}
