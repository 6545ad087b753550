//! The merge of two partitions: of two leaders, the one with more followers stays.
//!
//! Purpose     after a partition both sides may have a working leader; this decides between them
//! Inputs      announcements of a rival leader, followers' answers, time
//! Outputs     `CountFollowers`, `Follows` and `Yield` messages; delayed messages to the protocol
//! Owns        the merge round under way ([`MergeRound`])
//! Invariants  the protocol compares two leaders only after both have counted, or the time for that
//!             is over. A group without a rival sends no message for this
//!
//! Followers are silent, so a leader does not know how many it has. When it hears a rival, it calls
//! its followers and holds back the rival's messages until they have answered. Only then does the
//! protocol compare (`Claim::follower_count`). Followers hold back a rival's messages too, until
//! both leaders have counted, or one fails to.

use std::collections::{BTreeMap, BTreeSet};

use hustings_protocol::{Candidate, Duration, Instant, MemberId, Priority, ViewChange};

use super::cause::Trigger;
use super::{Group, Outbox, Route};
use crate::frame::Body;

/// Times in announcement intervals: for the followers' answers; for the leader's wait; for which a
/// follower holds back a rival's messages; and for which a count is valid.
const ANSWER_WITHIN: f64 = 0.125;
const LEADER_WAITS: f64 = 0.25;
const FOLLOWER_WAITS: f64 = 1.5;
const COUNT_LASTS: f64 = 3.0;
/// The time in which a busy host still answers.
const LEAST_WAIT: Duration = Duration::from_millis(5);
/// The most rivals whose messages are held back.
const MOST_RIVALS: usize = 16;

/// A member's state in the merge of partitions.
pub(super) struct PartitionMerge {
    announce: Duration,
    /// The number of members behind its leader, possibly itself, as the leader knows it; `None`
    /// while no leader is established.
    follower_count: Option<u16>,
    merge_round: Option<MergeRound>,
    /// The time to answer the leader's call, and the number of the call.
    answer: Option<(Instant, u64)>,
    /// True if this member led until it was compared with a rival: its followers wait for its
    /// message.
    gives_way: bool,
    /// The rival in the log. A rival that goes on to lead is met again and again.
    told_of: Option<MemberId>,
}

/// The state after a rival's message.
struct MergeRound {
    /// The time until which rivals' messages are held back.
    holds_until: Option<Instant>,
    /// The last message of each rival.
    held: BTreeMap<MemberId, HeldWord>,
    /// The number of the frame that called the followers, if this member leads.
    call: Option<u64>,
    /// The followers that answered.
    followers: BTreeSet<MemberId>,
    ends: Instant,
}

/// A rival's message.
struct HeldWord {
    follower_count: u16,
    message: Vec<u8>,
}

impl PartitionMerge {
    /// Creates the state for a group whose leaders announce themselves every `announce`.
    pub(super) fn new(announce: Duration) -> Self {
        Self {
            announce,
            follower_count: None,
            merge_round: None,
            answer: None,
            gives_way: false,
            told_of: None,
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        let answer = self.answer.map(|(at, _)| at);
        let merge_round = self.merge_round.as_ref();
        let merge_round = merge_round.map(|it| it.holds_until.unwrap_or(it.ends));
        answer.into_iter().chain(merge_round).min()
    }

    fn intervals(&self, count: f64) -> Duration {
        self.announce.mul_f64(count)
    }

    /// Releases the messages at once if both the leader and a rival have counted.
    fn hurry(&mut self, now: Instant) {
        let has_counted = |follower_count: u16| follower_count > 1;
        if let Some(merge_round) = &mut self.merge_round
            && merge_round.call.is_none()
            && self.follower_count.is_some_and(has_counted)
            && merge_round.held.values().any(|word| has_counted(word.follower_count))
        {
            merge_round.let_go(now);
        }
    }
}

impl MergeRound {
    /// Releases the rivals' messages now.
    fn let_go(&mut self, now: Instant) {
        self.holds_until = self.holds_until.map(|until| until.min(now));
    }
}

impl Group {
    /// Passes a message to the protocol: now, or after the followers were counted.
    pub(super) fn on_election(
        &mut self,
        now: Instant,
        from: MemberId,
        message: &[u8],
        out: &mut Outbox,
    ) {
        match self.rival_follower_count(now, from, message) {
            Some(follower_count) if self.hold_back(now, from, follower_count, message, out) => {}
            Some(_) | None => self.receive(now, from, message),
        }
    }

    fn receive(&mut self, now: Instant, from: MemberId, message: &[u8]) {
        if let Err(why) = self.election.receive(now, from, message) {
            self.counters.reject(why);
        }
    }

    /// Returns the number of members behind the sender, if it is a rival and both leaders are
    /// established.
    fn rival_follower_count(
        &mut self,
        now: Instant,
        from: MemberId,
        message: &[u8],
    ) -> Option<u16> {
        let leader = self.nominee?;
        let partition_merge = self.partition_merge.as_mut()?;
        let follower_count = self.election.follower_count(message);
        if leader == from {
            partition_merge.follower_count = follower_count;
            partition_merge.hurry(now);
            return None;
        }
        partition_merge.follower_count.and(follower_count)
    }

    /// Notes the follower count in this member's own broadcast.
    pub(super) fn note_own_word(&mut self, message: &[u8]) {
        if self.is_nominee()
            && let Some(partition_merge) = &mut self.partition_merge
        {
            partition_merge.follower_count = self.election.follower_count(message);
        }
    }

    /// Holds back a rival's message during the round. Returns true if it did.
    fn hold_back(
        &mut self,
        now: Instant,
        from: MemberId,
        follower_count: u16,
        message: &[u8],
        out: &mut Outbox,
    ) -> bool {
        if self.partition_merge.as_ref().is_some_and(|it| it.merge_round.is_none()) {
            self.begin_contest(now, from, out);
        }
        let Some(partition_merge) = &mut self.partition_merge else {
            return false;
        };
        let Some(merge_round) = &mut partition_merge.merge_round else {
            return false;
        };
        if merge_round.holds_until.is_none() {
            return false;
        }
        if merge_round.held.len() < MOST_RIVALS || merge_round.held.contains_key(&from) {
            let message = message.to_vec();
            merge_round.held.insert(from, HeldWord { follower_count, message });
            partition_merge.hurry(now);
        }
        true
    }

    fn begin_contest(&mut self, now: Instant, rival: MemberId, out: &mut Outbox) {
        let leads = self.is_nominee();
        let call = leads.then_some(self.number);
        let Some(partition_merge) = &mut self.partition_merge else {
            return;
        };
        let wait = match leads {
            true => partition_merge.intervals(LEADER_WAITS),
            false => partition_merge.intervals(FOLLOWER_WAITS),
        };
        partition_merge.merge_round = Some(MergeRound {
            holds_until: Some(now + wait.max(LEAST_WAIT)),
            held: BTreeMap::new(),
            call,
            followers: BTreeSet::new(),
            ends: now + partition_merge.intervals(COUNT_LASTS).max(LEAST_WAIT * 3),
        });
        if leads {
            let within_ns = partition_merge.intervals(ANSWER_WITHIN).0;
            if partition_merge.told_of.replace(rival) != Some(rival) {
                tracing::info!(
                    "group `{}`: `{}` leads too: counting who follows this one",
                    self.config.name,
                    self.peer_table.describe(rival).name
                );
            }
            self.broadcast(now, &Body::CountFollowers { within_ns }, out);
        }
    }

    /// Handles the leader's call to its followers.
    pub(super) fn on_count_followers(
        &mut self,
        now: Instant,
        from: MemberId,
        call: u64,
        within: Duration,
    ) {
        if !self.follows(from) {
            return;
        }
        if let Some(partition_merge) = &mut self.partition_merge {
            // The answers are spread over the interval.
            let within = within.min(partition_merge.announce);
            let moment = Duration((self.me.id.0 ^ call) % within.0.max(1));
            partition_merge.answer = Some((now + moment, call));
        }
    }

    /// Handles that the leader follows a rival: its messages need not be awaited.
    pub(super) fn on_give_way(&mut self, now: Instant, from: MemberId) {
        if !self.follows(from) {
            return;
        }
        let partition_merge = self.partition_merge.as_mut();
        if let Some(merge_round) = partition_merge.and_then(|it| it.merge_round.as_mut()) {
            merge_round.let_go(now);
        }
    }

    /// Tells the followers that this member no longer leads, if that has happened.
    pub(super) fn give_way(&mut self, now: Instant, out: &mut Outbox) {
        let partition_merge = self.partition_merge.as_mut();
        if partition_merge.is_some_and(|it| std::mem::take(&mut it.gives_way)) {
            self.broadcast(now, &Body::Yield, out);
        }
    }

    /// Counts a follower that answered the call.
    pub(super) fn on_follow(&mut self, id: MemberId, priority: Priority, call: u64) {
        let partition_merge = self.partition_merge.as_mut();
        if let Some(merge_round) = partition_merge.and_then(|it| it.merge_round.as_mut())
            && merge_round.call == Some(call)
            && merge_round.followers.insert(id)
        {
            self.election.count(ViewChange::Joined(Candidate { priority, id }));
        }
    }

    /// Answers the leader, releases held messages, and drops an expired count.
    pub(super) fn pass_partition_merge(&mut self, now: Instant, out: &mut Outbox) {
        let priority = self.me.priority;
        let leader = self.leader_elsewhere();
        let Some(partition_merge) = &mut self.partition_merge else {
            return;
        };
        let answer = partition_merge.answer.take_if(|(at, _)| *at <= now);
        let mut held = BTreeMap::new();
        if let Some(merge_round) = &mut partition_merge.merge_round
            && merge_round.holds_until.take_if(|until| *until <= now).is_some()
        {
            held = std::mem::take(&mut merge_round.held);
        }
        if partition_merge.merge_round.as_ref().is_some_and(|it| it.ends <= now) {
            self.forget_followers();
        }
        if let (Some((_, call)), Some((leader, address))) = (answer, leader) {
            let follow = Body::Follows { priority, call };
            self.send_to(leader, Route::To(address), &follow, out);
        }
        for (from, word) in held {
            self.trigger = Trigger::Heard(from); // it was only held back
            self.receive(now, from, &word.message);
        }
    }

    /// Ends the round, because the leader has changed.
    pub(super) fn end_merge_round(&mut self) {
        let follows = self.leader_elsewhere().is_some();
        if let Some(partition_merge) = &mut self.partition_merge {
            let led = partition_merge.merge_round.as_ref().is_some_and(|it| it.call.is_some());
            partition_merge.gives_way = led && follows;
        }
        self.forget_followers();
        if let Some(partition_merge) = &mut self.partition_merge {
            partition_merge.follower_count = None;
            partition_merge.answer = None;
            partition_merge.told_of = None;
        }
    }

    fn forget_followers(&mut self) {
        let partition_merge = self.partition_merge.as_mut();
        let Some(merge_round) = partition_merge.and_then(|it| it.merge_round.take()) else {
            return;
        };
        for id in merge_round.followers {
            self.election.count(ViewChange::Left(id));
        }
    }
}
