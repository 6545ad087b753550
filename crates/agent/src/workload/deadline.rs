//! When a command must be told to stop, and when it must be killed, so that it is gone when its tenure ends.
//!
//! ```text
//! ───────────────┬─────────── grace ───────────┬── margin ──┐
//!        told to stop (TERM)             killed (KILL)     the end
//! ```
//!
//! Three processes keep to it, each with its own clock: the guardian kills at the beginning of the margin, the agent in its
//! place at half of it, the warden in the place of both soon after.

use hustings_protocol::{Duration, Instant};

/// Killing takes time: every process below the guardian is looked for in `/proc`, sent a signal, and has to be given
/// a turn to die. On a host with a core to spare that takes a few milliseconds, on a busy one tens of them. A margin
/// costs nothing while renewals come, so it is a tenth of the tenure; but no less than one look at `/proc` may take,
/// and no more than the most that a host is late which still renews in time.
const LEAST_MARGIN: Duration = Duration::from_millis(5);
const GREATEST_MARGIN: Duration = Duration::from_millis(400);

/// A renewal is due when a third of the tenure is over, and is tried again until the command is told to stop: whoever
/// grants may be silent for the time between. So the grace before an end that a renewal may still put off is small, and
/// more than two fifths of the tenure are left for such a silence.
const GRACES_IN_A_TENURE: u64 = 8;

/// The end of a tenure, as it was told last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deadline {
    until: Instant,
    /// The longest that was left of the tenure when word of it came: what a renewal is worth.
    span: Duration,
}

impl Deadline {
    /// As the agent told its guardian, which may have come up late in the tenure.
    pub(super) fn new(until: Instant, span: Duration) -> Self {
        Self { until, span }
    }

    /// The tenure is over, before its time: whatever is left of the command is killed.
    pub(super) fn at_once(now: Instant) -> Self {
        Self {
            until: now + GREATEST_MARGIN,
            span: GREATEST_MARGIN * 10,
        }
    }

    /// Word has come that the tenure ends at `until`.
    pub(super) fn told(before: Option<Self>, until: Instant, now: Instant) -> Self {
        let span = before.map_or(Duration::ZERO, |before| before.span);
        Self {
            until,
            span: span.max(until - now),
        }
    }

    /// The first moment at which the tenure is over.
    pub(super) fn until(self) -> Instant {
        self.until
    }

    /// What a renewal of the tenure is worth.
    pub(super) fn span(self) -> Duration {
        self.span
    }

    /// When a command that wishes for so much grace is told to stop.
    ///
    /// It gets no more than an eighth of the tenure: else a command with a long grace would be told to stop while the
    /// renewal is tried that keeps it alive. Where its end is wished, and not enforced by the clock, it has all
    /// the grace that renewals allow.
    pub(super) fn stop_at(self, grace: Duration) -> Instant {
        let grace = grace.min(Duration(self.span.0 / GRACES_IN_A_TENURE));
        earlier(self.kill_at(), grace)
    }

    /// When whatever is left of a command is killed.
    pub(super) fn kill_at(self) -> Instant {
        earlier(self.until, self.margin())
    }

    /// When the agent must do it, if the guardian has not.
    pub(super) fn overdue_at(self) -> Instant {
        earlier(self.until, Duration(self.margin().0 / 2))
    }

    /// When the warden must do it, if neither the guardian nor the agent has.
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
                deadline.until(),
            ];
            assert!(ends.is_sorted_by(|a, b| a < b), "{ends:?}");
        }
    }

    #[test]
    fn a_tenure_that_is_all_but_over_leaves_no_time() {
        let deadline = Deadline::told(None, at(1004), at(1000));
        assert!(deadline.stop_at(Duration::ZERO) < at(1000));
    }

    #[test]
    fn what_a_late_look_finds_left_does_not_make_the_tenure_shorter() {
        let first = Deadline::told(None, at(3000), at(0));
        let renewed = Deadline::told(Some(first), at(3100), at(2900));
        assert_eq!(renewed.kill_at(), at(2800));
        assert_eq!(renewed.stop_at(Duration::from_secs(10)), at(2425));
    }

    /// However long a grace was wished for: the first renewal that fails goes out when a third is over.
    #[test]
    fn a_silence_of_two_fifths_of_the_tenure_ends_no_command() {
        for tenure in [300, 2000, 10_000, 600_000] {
            let deadline = Deadline::told(None, at(tenure), at(0));
            let renewed_at = at(tenure / 3 + 1);
            let stop_at = deadline.stop_at(Duration::from_secs(3600));
            let silence = stop_at - renewed_at;
            assert!(
                silence >= Duration::from_millis(tenure * 2 / 5),
                "{tenure}: {silence}"
            );
            assert!(stop_at < deadline.kill_at() && deadline.kill_at() < at(tenure));
        }
    }
}
