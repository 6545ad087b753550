//! How long the agent waits for the guardian, which may be stopped (STOP) or hang, before it acts itself.
//!
//! ```text
//! ┬─────────── grace ───────────┬─── slack ───┬──── the rest ────┐
//! told to stop        the command is killed  the guardian is    nobody has seen the end:
//!                         by the guardian     killed, and the    tenure is not given up
//!                                             command by the
//!                                             warden
//! ```
//!
//! Whatever was ordered, a guardian that has not ended just before the tenure does is killed then.

use hustings_protocol::{Duration, Instant};

use super::deadline::Deadline;
use super::lines::Order;

/// A guardian that has its turn now and then has done its work by then.
pub(super) const SLACK: Duration = Duration::from_secs(1);
/// After the guardian could not be killed.
const AGAIN: Duration = Duration::from_millis(10);
/// What was killed has ended by then, or is held up by the system. The warden has said by what process.
const THE_REST: Duration = Duration::from_secs(10);

/// What the agent knows of the guardian's duties.
#[derive(Debug)]
pub(super) struct Patience {
    grace: Duration,
    /// None: there is no tenure, leadership is advisory.
    deadline: Option<Deadline>,
    /// When the guardian should have ended.
    ends_by: Option<Instant>,
    killed_at: Option<Instant>,
    /// The guardian could not be killed, and is not tried again before.
    again_at: Option<Instant>,
}

/// What the agent does when it has waited for long enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Kills the guardian.
    Kill,
    /// Takes it that nobody will see the command's end.
    GiveUp,
}

impl Patience {
    /// With a guardian that leaves the command so much grace.
    pub(super) fn new(grace: Duration) -> Self {
        Self {
            grace,
            deadline: None,
            ends_by: None,
            killed_at: None,
            again_at: None,
        }
    }

    /// The guardian was told something.
    pub(super) fn on_order(&mut self, order: &Order, now: Instant) {
        match order {
            Order::Stop(_) => self.on_stopping(now),
            Order::Until(deadline) => self.deadline = Some(*deadline),
            Order::Pass(_) | Order::LastWords(_) | Order::Ping | Order::SoftLimit(_) => {}
        }
    }

    /// The command was told to stop.
    pub(super) fn on_stopping(&mut self, now: Instant) {
        self.expect_end_by(now + self.grace + SLACK);
    }

    /// There is nothing more to wait for but the guardian's own end.
    pub(super) fn on_ending(&mut self, now: Instant) {
        self.expect_end_by(now + SLACK);
    }

    /// The guardian does not hear: nothing more is expected of it.
    pub(super) fn on_deaf(&mut self, now: Instant) {
        self.expect_end_by(now);
    }

    pub(super) fn on_killed(&mut self, now: Instant) {
        self.killed_at = Some(now);
    }

    /// The guardian could not be killed: that is tried again until it works. Returns whether it has failed for the first
    /// time.
    pub(super) fn on_kill_failed(&mut self, now: Instant) -> bool {
        self.again_at.replace(now + AGAIN).is_none()
    }

    fn expect_end_by(&mut self, moment: Instant) {
        self.ends_by = Some(self.ends_by.map_or(moment, |before| before.min(moment)));
    }

    /// What the agent does next, and when. Without a tenure that could run out, it never gives up.
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
        Order::Until(Deadline::new(at(millis), Duration::from_secs(3)))
    }

    fn kill_at(millis: u64) -> Option<(Instant, Step)> {
        Some((at(millis), Step::Kill))
    }

    #[test]
    fn a_guardian_that_was_told_to_stop_has_the_grace_and_a_second() {
        let mut patience = Patience::new(Duration::from_secs(5));
        assert_eq!(patience.next(), None, "nothing is expected of it");
        patience.on_order(&STOP, at(100));
        assert_eq!(patience.next(), kill_at(6_100));
        patience.on_order(&STOP, at(3_000));
        assert_eq!(patience.next(), kill_at(6_100), "it is not asked twice");
        patience.on_ending(at(2_000));
        assert_eq!(patience.next(), kill_at(3_000));
        patience.on_deaf(at(2_500));
        assert_eq!(patience.next(), kill_at(2_500));
    }

    #[test]
    fn a_guardian_has_ended_when_the_tenure_does_and_renewals_put_that_off() {
        let mut patience = Patience::new(Duration::from_secs(5));
        patience.on_order(&until(3_000), at(0));
        // It kills 300 ms before the end itself.
        assert_eq!(patience.next(), kill_at(2_850));
        patience.on_order(&until(4_000), at(1_000));
        assert_eq!(patience.next(), kill_at(3_850));
        patience.on_order(&STOP, at(1_000));
        assert_eq!(patience.next(), kill_at(3_850), "no grace beyond the end");
        patience.on_order(&until(9_000), at(2_000));
        assert_eq!(patience.next(), kill_at(7_000));
    }

    #[test]
    fn a_guardian_that_could_not_be_killed_is_tried_again_until_it_works() {
        let mut patience = Patience::new(Duration::ZERO);
        patience.on_deaf(at(1_000));
        for millis in [1_000, 1_010, 1_020] {
            assert_eq!(patience.next(), kill_at(millis));
            let is_first = patience.on_kill_failed(at(millis));
            assert_eq!(is_first, millis == 1_000);
        }
        patience.on_killed(at(1_030));
        assert_eq!(patience.next(), None);
    }

    #[test]
    fn where_a_tenure_can_run_out_the_wait_for_the_killed_has_an_end() {
        for (end, next) in [
            (None, None),
            (Some(3_000), Some((at(12_900), Step::GiveUp))),
        ] {
            let mut patience = Patience::new(Duration::ZERO);
            if let Some(end) = end {
                patience.on_order(&until(end), at(0));
            }
            patience.on_killed(at(2_900));
            patience.on_order(&STOP, at(2_950));
            assert_eq!(patience.next(), next);
        }
    }
}
