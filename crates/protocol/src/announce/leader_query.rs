//! Members query a silent leader before it counts as lost.
//!
//! Towards the end of T_L a member that has received nothing sends a query, [`Config::asks`] times
//! at most, and goes on naming the leader. A leader that is up, and whose announcements were lost
//! or late, announces itself at once, and no member changes its mind. Without an answer by the end
//! of T_L the leader is lost, and a further query is useless. The members that lost it stand for
//! election as if it had said goodbye.
//!
//! All members that receive the leader alike would query at the same time. So each waits for a
//! moment of its own, and counts the queries of others meanwhile as its own.
//!
//! A member that has just started has measured little. By the assumed loss, its T_L is longer than
//! that of the others. So they lose a dead leader before it does, and one of them announces itself.
//! That member is a *rival* of the leader. While there is a rival, the assumption does not count:
//! T_L follows from the measured loss alone. If that T_L is over, and no query received meanwhile
//! was answered, the leader is lost at once.

use super::{Announce, Config, KnownLeader, Listen, Message, Timer, Vacancy};
use crate::mix64::fit;
use crate::{Duration, Instant, Io, MemberId};

/// The queries for a leader before it counts as lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct QueryPlan {
    /// The number of queries.
    asks: u8,
    /// Time to wait for an answer.
    election_timeout: Duration,
}

impl Config {
    /// The number of queries for a leader that counts as lost after `listen`.
    pub(super) fn queries_within(&self, listen: Duration) -> u8 {
        self.leader_query(listen).asks
    }

    /// The queries for a leader that counts as lost after `listen`.
    fn leader_query(&self, listen: Duration) -> QueryPlan {
        let Some(election_timeout) = self.joining.election_timeout() else {
            return QueryPlan::NONE;
        };
        // The first query is sent when an announcement is overdue, the last in time for its answer.
        let span = self.announce.min(Duration(listen.0 / 4));
        let fit = (span.0 / election_timeout.0.max(1)).saturating_sub(1);
        match fit.min(u64::from(self.asks)).min(u64::from(u8::MAX)) as u8 {
            0 => QueryPlan::NONE,
            asks => QueryPlan { asks, election_timeout },
        }
    }
}

impl QueryPlan {
    const NONE: Self = Self { asks: 0, election_timeout: Duration::ZERO };

    /// The state of knowledge once a leader is lost.
    fn vacancy(self) -> Vacancy {
        match self.asks {
            0 => Vacancy::Likely,
            _ => Vacancy::Certain,
        }
    }

    /// The time of the next action about a leader, for a member that waits for `moment` before it
    /// queries.
    #[inline]
    fn due(self, heard: &KnownLeader, moment: Duration) -> Instant {
        if self.is_over(heard) { heard.until } else { self.opens(heard, heard.until) + moment }
    }

    #[inline]
    fn is_over(self, heard: &KnownLeader) -> bool {
        heard.asked >= self.asks || heard.until == Instant(u64::MAX)
    }

    /// The earliest time of the next query about a leader that counts as lost at `until`.
    #[inline]
    fn opens(self, heard: &KnownLeader, until: Instant) -> Instant {
        Instant(until.0.saturating_sub(self.takes(heard).0))
    }

    /// The time that all remaining queries take, with the answer to the last.
    #[inline]
    fn takes(self, heard: &KnownLeader) -> Duration {
        self.election_timeout * (u64::from(self.asks.saturating_sub(heard.asked)) + 1)
    }

    /// Counts a query. If it was later than due, because the process did not run, the leader counts
    /// as lost later too: an answer takes its time.
    fn note(self, heard: &mut KnownLeader, now: Instant) {
        heard.asked += 1;
        heard.until = heard.until.max(now + self.takes(heard));
    }
}

impl KnownLeader {
    /// The time at which this leader counts as lost while it has a rival.
    #[inline]
    fn lost_at_with_rival(&self, config: &Config) -> Instant {
        let sooner = config.announce * u64::from(self.sooner);
        Instant(self.until.0.saturating_sub(sooner.0))
    }
}

/// A moment within `span`: different for each member, and for each last announcement.
#[inline]
fn moment(id: MemberId, beat: u32, span: Duration) -> Duration {
    let mut mixed = (id.0 ^ u64::from(beat).rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^= mixed >> 32;
    mixed = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Duration(fit(mixed, span.0))
}

impl Announce {
    /// T_L of a leader whose announcement arrives now; `None` if it never counts as lost.
    #[inline]
    pub fn listen_interval(&self, config: &Config) -> Option<Duration> {
        config.listen_interval(self.loss.at_present(config.assumed_loss))
    }

    /// The time at which a leader whose announcement arrives now counts as lost.
    #[inline]
    pub(super) fn lost_at(&self, io: &impl Io<Self>) -> Instant {
        match self.listen_interval(io.config()) {
            Some(interval) => io.now() + interval,
            None => Instant(u64::MAX),
        }
    }

    /// The number of T_A by which T_L is shorter while the leader has a rival: T_L then follows
    /// from the measured loss alone.
    #[inline]
    pub(super) fn shortening_with_rival(&self, config: &Config) -> u8 {
        let Listen::Measured { .. } = config.listen else {
            return 0;
        };
        let measured = config.listen_interval(self.loss.at_present(0.0));
        let both = self.listen_interval(config).zip(measured);
        let sooner = both.map_or(0, |(usual, measured)| usual.0.saturating_sub(measured.0));
        (sooner / config.announce.0.max(1)).min(u64::from(u8::MAX)) as u8
    }

    #[inline]
    fn leader_query(&self, config: &Config) -> QueryPlan {
        match self.listen_interval(config) {
            Some(interval) => config.leader_query(interval),
            None => QueryPlan::NONE,
        }
    }

    #[inline]
    fn due(&self, heard: &KnownLeader, leader_query: QueryPlan, me: MemberId) -> Instant {
        leader_query.due(heard, moment(me, heard.beat, leader_query.election_timeout))
    }

    /// Arms the listen timer for the next action about a leader.
    #[inline]
    pub(super) fn listen(&self, io: &mut impl Io<Self>) {
        let (leader_query, me) = (self.leader_query(io.config()), io.me().id);
        let dues = self.leaders.iter().map(|it| self.due(it, leader_query, me));
        match dues.min() {
            Some(Instant(u64::MAX)) | None => io.disarm(Timer::Listen),
            Some(at) => io.arm(Timer::Listen, at - io.now()),
        }
    }

    /// Queries a silent leader, or drops it.
    pub(super) fn on_silence(&mut self, io: &mut impl Io<Self>) {
        let (leader_query, me) = (self.leader_query(io.config()), io.me().id);
        let dues = self.leaders.iter().map(|it| self.due(it, leader_query, me));
        // The expired timer decides, not a clock that may be read a moment too early.
        let Some(now) = dues.min().map(|due| due.max(io.now())) else {
            return;
        };
        let is_lost = |heard: &KnownLeader| leader_query.is_over(heard) && heard.until <= now;
        if self.leaders.drop_if(is_lost) {
            self.on_fewer(leader_query.vacancy(), io);
            return;
        }
        if self.count_query(leader_query, now, io.config()) {
            io.multicast(Message::Query);
        }
        self.listen(io);
    }

    /// Another member queries: a member that was about to query need not.
    pub(super) fn on_query(&mut self, io: &mut impl Io<Self>) {
        let (leader_query, now) = (self.leader_query(io.config()), io.now());
        if self.count_query(leader_query, now, io.config()) {
            self.listen(io);
        }
    }

    /// Counts a query for every leader that may be queried now. Returns true if there was one.
    fn count_query(&mut self, leader_query: QueryPlan, now: Instant, config: &Config) -> bool {
        let mut any = false;
        for heard in self.leaders.iter_mut() {
            // Queries of others count from the time at which they would count beside a rival.
            let until = heard.lost_at_with_rival(config);
            if !leader_query.is_over(heard) && leader_query.opens(heard, until) <= now {
                leader_query.note(heard, now);
                any = true;
            }
        }
        any
    }

    /// Handles an announcement of a member that is not among the known leaders. Drops the leaders
    /// that count as lost beside a rival; the others count as lost sooner, after queries. Returns
    /// the vacancy if a leader was dropped.
    #[inline]
    pub(super) fn on_rival(&mut self, id: MemberId, io: &mut impl Io<Self>) -> Option<Vacancy> {
        if self.leaders.len() == 0 || self.leaders.get(id).is_some() {
            return None;
        }
        let (leader_query, now) = (self.leader_query(io.config()), io.now());
        let config = io.config();
        // The rival's answer to the last query arrives here as soon as the leader's would.
        let is_lost = |heard: &KnownLeader| {
            leader_query.is_over(heard)
                && heard.lost_at_with_rival(config) <= now + leader_query.election_timeout
        };
        if self.leaders.drop_if(is_lost) {
            return Some(leader_query.vacancy());
        }
        let mut is_sooner = false;
        for heard in self.leaders.iter_mut() {
            let beside_rival = heard.lost_at_with_rival(config);
            let until = beside_rival.max(now + leader_query.takes(heard));
            if until < heard.until {
                is_sooner = true;
                heard.until = until;
                // All queries together take less than T_A: expired queries stay expired.
                heard.sooner = u8::from(beside_rival < until);
            }
        }
        if is_sooner {
            self.listen(io);
        }
        None
    }
}
