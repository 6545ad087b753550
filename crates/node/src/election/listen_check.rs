//! Warns when a fixed listen interval is too short for the message loss that this member measures.
//!
//! Purpose     names the cause when members repeatedly give up leaders that work. Nothing else
//!             would report it
//! Inputs      the loss that the announcement protocol measures, the configured listen interval
//! Outputs     a log line with the listen interval that is needed
//! Owns        the time of the last check and the longest interval that it asked for
//! Invariants  with `listen = "auto"` it never warns. Each warning asks for at least
//!             [`SAY_AGAIN_FROM`] times the interval of the one before

use hustings_protocol::announce::{self, Listen};
use hustings_protocol::{Duration, Instant};

use crate::config::ProtocolConfig;
use crate::config::presets::LISTEN_MISS;
use crate::driver::ElectionDriver;
use crate::node::Context;

/// The time between two checks of the loss. Announcements may arrive a thousand times a second.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The factor by which the needed interval must grow before the warning is repeated. The first
/// warning comes after few measurements, and may name too short an interval.
const SAY_AGAIN_FROM: f64 = 1.25;

/// The warnings about the listen interval.
#[derive(Debug, Default)]
pub(super) struct ListenCheck {
    looked_at: Option<Instant>,
    /// The longest interval that a warning asked for.
    asked_for: Option<Duration>,
}

impl ListenCheck {
    /// Returns the listen interval to ask for at this `loss`, if a warning is due. It must be
    /// longer than the configured one, and [`SAY_AGAIN_FROM`] times as long as the last one asked
    /// for.
    fn note(&mut self, config: &announce::Config, loss: f64) -> Option<Duration> {
        let Listen::For(span) = config.listen else {
            return None;
        };
        let needed = needed(config, loss).filter(|needed| *needed > span)?;
        let is_news = |before: Duration| needed >= before.mul_f64(SAY_AGAIN_FROM);
        let is_news = self.asked_for.is_none_or(is_news);
        is_news.then(|| *self.asked_for.insert(needed))
    }

    /// Checks the loss once per [`LOOK_EVERY`], if the listen interval is fixed.
    pub(super) fn check(&mut self, driver: &dyn ElectionDriver, context: &Context) {
        let ProtocolConfig::Announce(config) = &context.config.protocol else {
            return;
        };
        let Listen::For(span) = config.listen else {
            return;
        };
        if self.looked_at.is_some_and(|at| context.now - at < LOOK_EVERY) {
            return;
        }
        self.looked_at = Some(context.now);
        let Some(loss) = driver.measured_loss() else {
            return;
        };
        if let Some(needed) = self.note(config, loss) {
            tracing::warn!(
                "group `{}`: {:.0} % of the leader's announcements are lost here, and listen {span} is too short for that: members give up working leaders; set listen to auto, or to {needed} or more, on all members",
                context.config.name,
                loss * 100.0
            );
        }
    }

    /// Returns the listen interval that this member has asked for.
    #[cfg(test)]
    pub(super) fn asked_for(&self) -> Option<Duration> {
        self.asked_for
    }
}

/// Returns the listen interval with which a working leader is missed no more often than with the
/// default `listen-miss`.
fn needed(config: &announce::Config, loss: f64) -> Option<Duration> {
    let measured = announce::Config { listen: Listen::Measured { miss: LISTEN_MISS }, ..*config };
    measured.listen_interval(loss)
}

#[cfg(test)]
mod tests {
    use super::ListenCheck;
    use hustings_protocol::Duration;
    use hustings_protocol::announce::{self, Listen};

    #[test]
    fn warning_repeats_when_the_needed_interval_grows_by_a_quarter() {
        let config = announce::Config {
            listen: Listen::For(Duration::from_millis(300)),
            ..announce::Config::field(Duration::from_millis(100))
        };
        let mut check = ListenCheck::default();
        let mut asked = |loss| check.note(&config, loss).map(|it| it.0 / 1_000_000);
        assert_eq!(asked(0.01), None, "250 ms are enough");
        assert_eq!(asked(0.1), Some(450));
        assert_eq!(asked(0.1), None, "said already");
        assert_eq!(asked(0.15), Some(850));
        assert_eq!(asked(0.2), None, "950 ms are not a quarter more");
        assert_eq!(asked(0.3), Some(1250));
        let auto = announce::Config::field(Duration::from_millis(100));
        assert_eq!(ListenCheck::default().note(&auto, 0.5), None);
    }
}
