//! Warns when a fixed listen interval is too short for the loss that this member measures. Members would give up leaders
//! that work, again and again, and nothing else would say why. With `listen = "auto"` there is nothing to warn of.

use hustings_protocol::announce::{self, Listen};
use hustings_protocol::{Duration, Instant};

use super::Group;
use crate::config::ProtocolConfig;
use crate::config::presets::LISTEN_MISS;

/// The time between two looks at the loss: announcements may come a thousand times a second.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The growth of what is needed from which the warning is repeated. The first one comes when little was measured, and may name
/// too short an interval.
const SAY_AGAIN_FROM: f64 = 1.25;

/// What was said of the listen interval.
#[derive(Debug, Default)]
pub(super) struct ListenCheck {
    looked_at: Option<Instant>,
    /// The longest interval that was asked for.
    asked_for: Option<Duration>,
}

impl ListenCheck {
    /// A follower of a group with this configuration measures `loss`. Returns the listen interval to ask for: one that
    /// is needed, and is [`SAY_AGAIN_FROM`] times as long as the last that was asked for.
    fn note(&mut self, config: &announce::Config, loss: f64) -> Option<Duration> {
        let Listen::For(span) = config.listen else {
            return None;
        };
        let needed = needed(config, loss).filter(|needed| *needed > span)?;
        let is_news = |before: Duration| needed >= before.mul_f64(SAY_AGAIN_FROM);
        let is_news = self.asked_for.is_none_or(is_news);
        is_news.then(|| *self.asked_for.insert(needed))
    }
}

/// The listen interval with which a leader that works is missed no more often than with the default `listen-miss`.
fn needed(config: &announce::Config, loss: f64) -> Option<Duration> {
    let measured = announce::Config {
        listen: Listen::Measured { miss: LISTEN_MISS },
        ..*config
    };
    measured.listen_interval(loss)
}

impl Group {
    /// Looks at the loss now and then, where the listen interval is fixed.
    pub(super) fn check_listen_interval(&mut self, now: Instant) {
        let ProtocolConfig::Announce(config) = &self.config.protocol else {
            return;
        };
        let Listen::For(span) = config.listen else {
            return;
        };
        let check = &mut self.listen_check;
        if check.looked_at.is_some_and(|at| now - at < LOOK_EVERY) {
            return;
        }
        check.looked_at = Some(now);
        let Some(loss) = self.seat.measured_loss() else {
            return;
        };
        if let Some(needed) = check.note(config, loss) {
            tracing::warn!(
                "group `{}`: {:.0} % of the leader's announcements are lost here, and listen {span} is too short for that: members \
                 give up leaders that work; set listen to auto, or to {needed} or more, on all members",
                self.config.name,
                loss * 100.0
            );
        }
    }

    /// The listen interval that this member has asked for.
    #[cfg(test)]
    pub(super) fn asked_for_listen(&self) -> Option<Duration> {
        self.listen_check.asked_for
    }
}

#[cfg(test)]
mod tests {
    use super::ListenCheck;
    use hustings_protocol::Duration;
    use hustings_protocol::announce::{self, Listen};

    #[test]
    fn an_interval_is_asked_for_once_and_again_when_a_quarter_more_is_needed() {
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
