//! Times at which a command gets TERM and then KILL, so that it has ended before its tenure
//! does.
//!
//! ```text
//! ───────────────┬─────────── grace ───────────┬── margin ──┐
//!        told to stop (TERM)             killed (KILL)     the end
//! ```
//!
//! Three processes enforce it, each by its own clock. The guardian kills at the start of the
//! margin. The agent does so in its place at half of it, and the warden in place of both soon
//! after.

use hustings_protocol::{Duration, Instant};

/// The bounds of the margin. Killing takes time: every descendant of the guardian has to be found
/// in `/proc`, signalled, and scheduled to die. This takes a few milliseconds on a host with an
/// idle core, and tens of milliseconds on a busy one. A margin costs nothing while renewals
/// succeed, so it is a tenth of the tenure. It is at least the time of one scan of `/proc`, and at
/// most the longest delay of a host that still renews in time.
const LEAST_MARGIN: Duration = Duration::from_millis(5);
const GREATEST_MARGIN: Duration = Duration::from_millis(400);

/// The divisor of the tenure that bounds the grace before its end. A renewal is due after a third
/// of the tenure, and is retried until the command gets TERM. Meanwhile the authority may be
/// silent. A small grace leaves more than two fifths of the tenure for such a silence.
const GRACES_IN_A_TENURE: u64 = 8;

/// The end of a tenure by the last notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deadline {
    /// The first instant at which the tenure is over.
    pub(super) until: Instant,
    /// The longest time that was left of the tenure at any notice: the value of a renewal. A
    /// guardian that starts late in the tenure gets it from the agent.
    pub(super) span: Duration,
}

impl Deadline {
    /// Creates the deadline of a tenure that ended early: what is left of the command is killed at
    /// once.
    pub(super) fn at_once(now: Instant) -> Self {
        Self { until: now + GREATEST_MARGIN, span: GREATEST_MARGIN * 10 }
    }

    /// Updates the deadline on the notice that the tenure ends at `until`.
    pub(super) fn told(before: Option<Self>, until: Instant, now: Instant) -> Self {
        let span = before.map_or(Duration::ZERO, |before| before.span);
        Self { until, span: span.max(until - now) }
    }

    /// The time at which a command with this grace gets TERM.
    ///
    /// The grace is at most an eighth of the tenure. Otherwise a command with a long grace would be
    /// told to stop while the renewal that keeps it running is tried. A command that is stopped by
    /// request, not by the clock, has all the grace that renewals allow.
    pub(super) fn stop_at(self, grace: Duration) -> Instant {
        let grace = grace.min(Duration(self.span.0 / GRACES_IN_A_TENURE));
        earlier(self.kill_at(), grace)
    }

    /// The time at which what is left of a command is killed.
    pub(super) fn kill_at(self) -> Instant {
        earlier(self.until, self.margin())
    }

    /// The time at which the agent kills it, if the guardian has not.
    pub(super) fn overdue_at(self) -> Instant {
        earlier(self.until, Duration(self.margin().0 / 2))
    }

    /// The time at which the warden kills it, if neither guardian nor agent has.
    pub(super) fn last_chance_at(self) -> Instant {
        earlier(self.until, Duration(self.margin().0 * 2 / 5))
    }

    fn margin(self) -> Duration {
        Duration(self.span.0 / 10).clamp(LEAST_MARGIN, GREATEST_MARGIN)
    }
}

fn earlier(moment: Instant, span: Duration) -> Instant {
    Instant(moment.0.saturating_sub(span.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    #[test]
    fn grace_and_margin_lie_before_the_end() {
        for (left, grace, stop, kill) in [
            (3000, 300, 2400, 2700),
            (3000, 10_000, 2325, 2700),
            (30_000, 0, 29_600, 29_600),
            (300, 30, 240, 270),
            (30, 0, 25, 25),
        ] {
            let deadline = Deadline::told(None, at(1000 + left), at(1000));
            let stop_at = deadline.stop_at(Duration::from_millis(grace));
            assert_eq!(stop_at, at(1000 + stop), "{left} {grace}");
            assert_eq!(deadline.kill_at(), at(1000 + kill), "{left} {grace}");
            let ends = [
                deadline.kill_at(),
                deadline.overdue_at(),
                deadline.last_chance_at(),
                deadline.until,
            ];
            assert!(ends.is_sorted_by(|a, b| a < b), "{ends:?}");
        }
    }

    #[test]
    fn tenure_that_is_almost_over_leaves_no_time() {
        let deadline = Deadline::told(None, at(1004), at(1000));
        assert!(deadline.stop_at(Duration::ZERO) < at(1000));
    }

    #[test]
    fn late_notice_does_not_shorten_the_span() {
        let first = Deadline::told(None, at(3000), at(0));
        let renewed = Deadline::told(Some(first), at(3100), at(2900));
        assert_eq!(renewed.kill_at(), at(2800));
        assert_eq!(renewed.stop_at(Duration::from_secs(10)), at(2425));
    }

    /// The first renewal that fails is sent after a third of the tenure, however long the grace is.
    #[test]
    fn silence_of_two_fifths_of_the_tenure_ends_no_command() {
        for tenure in [300, 2000, 10_000, 600_000] {
            let deadline = Deadline::told(None, at(tenure), at(0));
            let renewed_at = at(tenure / 3 + 1);
            let stop_at = deadline.stop_at(Duration::from_secs(3600));
            let silence = stop_at - renewed_at;
            assert!(silence >= Duration::from_millis(tenure * 2 / 5), "{tenure}: {silence}");
            assert!(stop_at < deadline.kill_at() && deadline.kill_at() < at(tenure));
        }
    }
}
