//! Timeouts of the guardian, which may be stopped (STOP) or hang. After them the agent acts itself.
//!
//! ```text
//! ┬─────────── grace ───────────┬─── slack ───┬──── the rest ────┐
//! told to stop        the command is killed  the guardian is    the end was not seen:
//!                         by the guardian     killed, and the    tenure is not released
//!                                             command by the
//!                                             warden
//! ```
//!
//! In any case the agent kills a guardian that has not ended just before the tenure does.

use hustings_protocol::{Duration, Instant};

use super::deadline::Deadline;
use super::ipc::Order;

/// The time in which a guardian that is scheduled now and then has done its work.
pub(super) const SLACK: Duration = Duration::from_secs(1);
/// The pause after a failed attempt to kill the guardian.
const AGAIN: Duration = Duration::from_millis(10);
/// The time in which killed processes end, unless the system holds them up. The warden has reported
/// the processes.
const THE_REST: Duration = Duration::from_secs(10);

/// The deadlines that the guardian must meet.
#[derive(Debug)]
pub(super) struct GuardianTimeout {
    grace: Duration,
    /// `None` without tenure: leadership is advisory.
    deadline: Option<Deadline>,
    /// The time at which the guardian should have ended.
    ends_by: Option<Instant>,
    killed_at: Option<Instant>,
    /// The time of the next attempt to kill the guardian after a failed one.
    again_at: Option<Instant>,
}

/// The action of the agent when a timeout passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Kills the guardian.
    Kill,
    /// Assumes that no process will see the command's end.
    GiveUp,
}

impl GuardianTimeout {
    /// Creates the timeouts of a guardian that gives the command this grace.
    pub(super) fn new(grace: Duration) -> Self {
        Self { grace, deadline: None, ends_by: None, killed_at: None, again_at: None }
    }

    /// Records an order to the guardian.
    pub(super) fn on_order(&mut self, order: &Order, now: Instant) {
        match order {
            Order::Stop(_) => self.on_stopping(now),
            Order::Until(deadline) => self.deadline = Some(*deadline),
            Order::Pass(_) | Order::LastWill(_) | Order::Ping | Order::SoftLimit(_) => {}
        }
    }

    /// Records that the command was told to stop.
    pub(super) fn on_stopping(&mut self, now: Instant) {
        self.expect_end_by(now + self.grace + SLACK);
    }

    /// Records that only the guardian's own end is awaited.
    pub(super) fn on_ending(&mut self, now: Instant) {
        self.expect_end_by(now + SLACK);
    }

    /// Records that the guardian does not read its socket: it is killed at once.
    pub(super) fn on_deaf(&mut self, now: Instant) {
        self.expect_end_by(now);
    }

    pub(super) fn on_killed(&mut self, now: Instant) {
        self.killed_at = Some(now);
    }

    /// Records that the guardian could not be killed, which is retried until it works. Returns true
    /// at the first failure.
    pub(super) fn on_kill_failed(&mut self, now: Instant) -> bool {
        self.again_at.replace(now + AGAIN).is_none()
    }

    fn expect_end_by(&mut self, moment: Instant) {
        self.ends_by = Some(self.ends_by.map_or(moment, |before| before.min(moment)));
    }

    /// Returns the next action of the agent and its time. Without a tenure that could expire, the
    /// agent never gives up.
    pub(super) fn next(&self) -> Option<(Instant, Step)> {
        match (self.killed_at, self.deadline) {
            (None, deadline) => {
                let enforced = deadline.map(Deadline::overdue_at);
                let at = self.ends_by.into_iter().chain(enforced).min()?;
                let at = self.again_at.map_or(at, |again_at| at.max(again_at));
                Some((at, Step::Kill))
            }
            (Some(killed_at), Some(_)) => Some((killed_at + THE_REST, Step::GiveUp)),
            (Some(_), None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::Signal;

    use super::*;

    const STOP: Order = Order::Stop(Signal::TERM);

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    /// A tenure of three seconds, or what is left of it.
    fn until(millis: u64) -> Order {
        Order::Until(Deadline { until: at(millis), span: Duration::from_secs(3) })
    }

    fn kill_at(millis: u64) -> Option<(Instant, Step)> {
        Some((at(millis), Step::Kill))
    }

    #[test]
    fn guardian_told_to_stop_has_the_grace_and_one_second() {
        let mut guardian_timeout = GuardianTimeout::new(Duration::from_secs(5));
        assert_eq!(guardian_timeout.next(), None, "nothing is expected of it");
        guardian_timeout.on_order(&STOP, at(100));
        assert_eq!(guardian_timeout.next(), kill_at(6_100));
        guardian_timeout.on_order(&STOP, at(3_000));
        assert_eq!(guardian_timeout.next(), kill_at(6_100), "it is not asked twice");
        guardian_timeout.on_ending(at(2_000));
        assert_eq!(guardian_timeout.next(), kill_at(3_000));
        guardian_timeout.on_deaf(at(2_500));
        assert_eq!(guardian_timeout.next(), kill_at(2_500));
    }

    #[test]
    fn guardian_must_end_before_the_tenure_and_renewals_postpone_it() {
        let mut guardian_timeout = GuardianTimeout::new(Duration::from_secs(5));
        guardian_timeout.on_order(&until(3_000), at(0));
        // The guardian itself kills 300 ms before the end.
        assert_eq!(guardian_timeout.next(), kill_at(2_850));
        guardian_timeout.on_order(&until(4_000), at(1_000));
        assert_eq!(guardian_timeout.next(), kill_at(3_850));
        guardian_timeout.on_order(&STOP, at(1_000));
        assert_eq!(guardian_timeout.next(), kill_at(3_850), "no grace beyond the end");
        guardian_timeout.on_order(&until(9_000), at(2_000));
        assert_eq!(guardian_timeout.next(), kill_at(7_000));
    }

    #[test]
    fn failed_kill_of_the_guardian_is_retried_until_it_works() {
        let mut guardian_timeout = GuardianTimeout::new(Duration::ZERO);
        guardian_timeout.on_deaf(at(1_000));
        for millis in [1_000, 1_010, 1_020] {
            assert_eq!(guardian_timeout.next(), kill_at(millis));
            let is_first = guardian_timeout.on_kill_failed(at(millis));
            assert_eq!(is_first, millis == 1_000);
        }
        guardian_timeout.on_killed(at(1_030));
        assert_eq!(guardian_timeout.next(), None);
    }

    #[test]
    fn wait_for_killed_processes_is_bounded_if_tenure_can_expire() {
        for (end, next) in [(None, None), (Some(3_000), Some((at(12_900), Step::GiveUp)))] {
            let mut guardian_timeout = GuardianTimeout::new(Duration::ZERO);
            if let Some(end) = end {
                guardian_timeout.on_order(&until(end), at(0));
            }
            guardian_timeout.on_killed(at(2_900));
            guardian_timeout.on_order(&STOP, at(2_950));
            assert_eq!(guardian_timeout.next(), next);
        }
    }
}
