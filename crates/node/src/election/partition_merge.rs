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

use hustings_protocol::{Candidate, Duration, Instant, MemberId, ViewChange};

use crate::driver::ElectionDriver;
use crate::frame::Body;
use crate::node::{Admitted, Context, Event, Io, Route};

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
#[derive(Default)]
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
    logged_rival: Option<MemberId>,
}

/// The state after a rival's message.
struct MergeRound {
    /// The time until which rivals' messages are held back.
    holds_until: Option<Instant>,
    /// The last message of each rival, and the number of followers that it claims.
    held: BTreeMap<MemberId, (u16, Vec<u8>)>,
    /// The number of the frame that called the followers, if this member leads.
    call: Option<u64>,
    /// The followers that answered.
    followers: BTreeSet<MemberId>,
    ends: Instant,
}

impl PartitionMerge {
    /// Creates the state for a group whose leaders announce themselves every `announce`.
    pub(super) fn new(announce: Duration) -> Self {
        Self { announce, ..Self::default() }
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
            && merge_round.held.values().any(|(claimed, _)| has_counted(*claimed))
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

impl PartitionMerge {
    /// Holds back a rival's message until the followers are counted. Returns true if it did. Both
    /// leaders must be established.
    pub(super) fn holds_back(
        &mut self,
        (from, message): (MemberId, &[u8]),
        driver: &dyn ElectionDriver,
        io: &mut Io<'_>,
    ) -> bool {
        let Some(leader) = io.nominee else {
            return false;
        };
        let follower_count = driver.follower_count(message);
        if leader == from {
            self.follower_count = follower_count;
            self.hurry(io.now);
            return false;
        }
        let (Some(_), Some(follower_count)) = (self.follower_count, follower_count) else {
            return false;
        };
        if self.merge_round.is_none() {
            self.begin_round(from, io);
        }
        let Some(round) = self.merge_round.as_mut().filter(|it| it.holds_until.is_some()) else {
            return false;
        };
        if round.held.len() < MOST_RIVALS || round.held.contains_key(&from) {
            round.held.insert(from, (follower_count, message.to_vec()));
            self.hurry(io.now);
        }
        true
    }

    /// Notes the follower count in this member's own broadcast.
    pub(super) fn note_own_message(
        &mut self,
        message: &[u8],
        driver: &dyn ElectionDriver,
        context: &Context,
    ) {
        if context.is_nominee() {
            self.follower_count = driver.follower_count(message);
        }
    }

    fn begin_round(&mut self, rival: MemberId, io: &mut Io<'_>) {
        let leads = io.is_nominee();
        let wait = self.intervals(if leads { LEADER_WAITS } else { FOLLOWER_WAITS });
        self.merge_round = Some(MergeRound {
            holds_until: Some(io.now + wait.max(LEAST_WAIT)),
            held: BTreeMap::new(),
            call: leads.then_some(io.number()),
            followers: BTreeSet::new(),
            ends: io.now + self.intervals(COUNT_LASTS).max(LEAST_WAIT * 3),
        });
        if leads {
            if self.logged_rival.replace(rival) != Some(rival) {
                let (group, name) = (&io.config.name, io.peers.describe(rival).name);
                tracing::info!(
                    "group `{group}`: `{name}` leads too: counting the followers of this member"
                );
            }
            let within_ns = self.intervals(ANSWER_WITHIN).0;
            io.broadcast(&Body::CountFollowers { within_ns });
        }
    }

    /// Handles a call to followers, an answer to one, or the end of a leadership.
    pub(super) fn heard(
        &mut self,
        heard: &Admitted<'_>,
        driver: &mut dyn ElectionDriver,
        context: &Context,
    ) {
        let (id, number) = (heard.frame.sender.id, heard.frame.number);
        match heard.frame.body {
            Body::CountFollowers { within_ns } if context.follows(id) => {
                // The answers are spread over the interval.
                let within = Duration(within_ns).min(self.announce);
                let moment = Duration((context.me.id.0 ^ number) % within.0.max(1));
                self.answer = Some((context.now + moment, number));
            }
            // The leader follows a rival: its messages need not be awaited.
            Body::Yield if context.follows(id) => {
                if let Some(round) = &mut self.merge_round {
                    round.let_go(context.now);
                }
            }
            Body::Follows { priority, call } => {
                if let Some(round) = &mut self.merge_round
                    && round.call == Some(call)
                    && round.followers.insert(id)
                {
                    driver.count(ViewChange::Joined(Candidate { priority, id }));
                }
            }
            _ => {}
        }
    }

    /// Tells the followers that this member no longer leads, if that has happened.
    pub(super) fn give_way(&mut self, io: &mut Io<'_>) {
        if std::mem::take(&mut self.gives_way) {
            io.broadcast(&Body::Yield);
        }
    }

    /// Answers the leader, releases held messages, and drops an expired count.
    pub(super) fn on_timeout(&mut self, driver: &mut dyn ElectionDriver, io: &mut Io<'_>) {
        let answer = self.answer.take_if(|(at, _)| *at <= io.now);
        let mut held = BTreeMap::new();
        if let Some(round) = &mut self.merge_round
            && round.holds_until.take_if(|until| *until <= io.now).is_some()
        {
            held = std::mem::take(&mut round.held);
        }
        if self.merge_round.as_ref().is_some_and(|it| it.ends <= io.now) {
            self.forget_followers(driver);
        }
        if let (Some((_, call)), Some((leader, address))) = (answer, io.leader_elsewhere()) {
            let follow = Body::Follows { priority: io.me.priority, call };
            io.send_to(leader, Route::To(address), &follow);
        }
        for (from, (_, message)) in held {
            io.raise(Event::HeldBack { from, message });
        }
    }

    /// Ends the round, because the leader has changed.
    pub(super) fn end_round(&mut self, driver: &mut dyn ElectionDriver, context: &Context) {
        let led = self.merge_round.as_ref().is_some_and(|it| it.call.is_some());
        self.gives_way = led && context.leader_elsewhere().is_some();
        self.forget_followers(driver);
        self.follower_count = None;
        self.answer = None;
        self.logged_rival = None;
    }

    fn forget_followers(&mut self, driver: &mut dyn ElectionDriver) {
        for id in self.merge_round.take().into_iter().flat_map(|it| it.followers) {
            driver.count(ViewChange::Left(id));
        }
    }
}
