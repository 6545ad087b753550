//! Protocols as an agent runs them unless told otherwise: every number here, with its reason.

use std::ops::RangeInclusive;

use hustings_protocol::announce::{Config, Criterion, Joining, Listen, Takeover};
use hustings_protocol::{Duration, bully, chang_roberts, modified_ring, probabilistic};

use super::ProtocolConfig;
use crate::identity::group_id;

/// T_A: ten small datagrams a second from the leader alone. A leader whose host fails silently is then
/// missed within a second; one whose process dies is known to be dead at once, whatever this says.
pub const ANNOUNCE: Duration = Duration::from_millis(100);

/// T_S: on a LAN, where a datagram takes less than 1 ms, some members in a hundred speak before they
/// hear a better one; and an election takes milliseconds.
pub const SUPPRESS: Duration = Duration::from_millis(5);

/// How long a member that asks for the leader waits before it announces itself: several round trips on
/// a LAN. Too short costs one announcement, which the leader corrects at once.
pub const ANSWER_WITHIN: Duration = Duration::from_millis(5);

/// How likely a leader that is there may be missed, each time its announcements are counted: at ten
/// a second about once a day if loss is as high as assumed, and never where nothing is lost. The chapter's
/// 1e-3 would mean every other minute.
pub const LISTEN_MISS: f64 = 1e-6;

/// What to assume of the loss until it is measured: a bad wireless network.
pub const LOSS: f64 = 0.1;

/// How long a bully or a ring waits for what is due before it calls an election: twice what the failure
/// detector needs, or the dead would be asked in vain.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// Most messages take less than this, between busy hosts too. Only elections with dead members wait for it.
pub const BOUND: Duration = Duration::from_millis(100);

/// The same for a probabilistic election, which waits for it more than ten times over: ten times what a message takes on
/// a LAN.
pub const HOP: Duration = Duration::from_millis(5);

/// K: how many members of a probabilistic election are expected to relay at first, as in its source.
pub const RELAYING: u32 = 7;

/// How likely the first round of an election is to succeed in a group that nobody knows whole. One in a thousand takes
/// another round.
pub const TARGET: f64 = 0.999;

/// Of how many others a member of a large group knows. A group whose members know d others at random falls apart with a
/// probability of about N e^-d: with 8, which bear little, one of 100 members in 30; with 30, one of a million in 10^7.
/// Whoever is gone is forgotten after twice as many seconds, so that more than some hundred know too many dead.
pub const VIEW_BOUNDS: RangeInclusive<u16> = 8..=1_000;

/// How long tenure is granted at a time. It is renewed three times as often, by one small datagram to each voter and
/// back; when a host is lost, nobody leads for so long.
pub const TTL: Duration = Duration::from_secs(2);

/// By how many parts in a million clocks may be off: twice what the worst oscillators of servers are.
pub const DRIFT_PPM: u32 = 200;

/// Of a ttl, how long a nominee waits for a voter: a renewal may fail twice before tenure ends.
pub const ANSWERS_IN_A_TTL: u64 = 6;

/// Of a ttl, the most that a nominee waits at random before it tries again: it is on the way of whoever is elected
/// after a host was lost, and two that collide are rare.
pub const BACK_OFFS_IN_A_TTL: u64 = 30;
/// But so long at most: two attempts take far less than this, whatever the ttl.
pub const LONGEST_BACK_OFF: Duration = Duration::from_secs(1);

/// Of a ttl. Shorter ones would end in the ordinary pauses of a busy host; in a longer one nobody leads for an hour
/// after a host was lost.
pub const TTL_BOUNDS: Bounds = Bounds {
    shortest: Duration::from_millis(100),
    longest: Duration::from_secs(3600),
    in_words: "100ms to 1h",
};

/// What an interval may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// At least so long.
    pub shortest: Duration,
    /// At most so long.
    pub longest: Duration,
    /// Both, as people write them: `1ms to 1h`.
    pub in_words: &'static str,
}

/// Of [`Config::announce`]. A thousand datagrams a second are what one thread carries with ease; who announces
/// itself less than once an hour is not heard of by anybody who looks.
pub const ANNOUNCE_BOUNDS: Bounds = Bounds {
    shortest: Duration::from_millis(1),
    longest: Duration::from_secs(3600),
    in_words: "1ms to 1h",
};

/// Of [`Config::listen`]: several of the longest announce intervals fit into the longest.
pub const LISTEN_BOUNDS: Bounds = Bounds {
    longest: Duration::from_secs(24 * 3600),
    in_words: "1ms to 24h",
    ..ANNOUNCE_BOUNDS
};

/// Of what members wait for: timers that are over sooner are over before anything can have happened.
pub const WAIT_BOUNDS: Bounds = ANNOUNCE_BOUNDS;

/// Of [`Config::suppress`], which may be none.
pub const SUPPRESS_BOUNDS: Bounds = Bounds {
    shortest: Duration::ZERO,
    in_words: "0s to 1h",
    ..ANNOUNCE_BOUNDS
};

impl Bounds {
    /// Whether an interval may be so long.
    ///
    /// # Errors
    /// Tells what it may be.
    pub fn check(self, span: Duration) -> Result<Duration, String> {
        let what = match span {
            _ if span < self.shortest => "too short",
            _ if span > self.longest => "too long",
            _ => return Ok(span),
        };
        Err(format!("{what}: choose from {}", self.in_words))
    }
}

/// See [`ProtocolConfig::announce_field`].
pub(super) fn announce_family(announce: Duration) -> Config {
    Config {
        suppress: SUPPRESS,
        listen: Listen::Measured { miss: LISTEN_MISS },
        joining: Joining::SuppressThenQuery {
            patience: ANSWER_WITHIN,
        },
        takeover: Takeover::Never,
        assumed_loss: LOSS,
        ..Config::field(announce)
    }
}

impl ProtocolConfig {
    /// The announce family where a leader announces itself every `announce`: LE-S. Set `suppress` to zero
    /// for LE-A.
    ///
    /// - `takeover` is `Never`: a change of leaders costs the application more than a better one gains
    ///   it, and a member that comes and goes would cost two a time.
    /// - `listen` is measured with [`LISTEN_MISS`] from an assumed [`LOSS`]: T_L = 4.5 T_A at first, and
    ///   2.5 T_A where none of 18 or more announcements was lost.
    /// - `asks`: towards the end of T_L a leader is asked for every `patience`, and named until then.
    /// - `suppress` is [`SUPPRESS`], `patience` is [`ANSWER_WITHIN`], whatever `announce` is: they follow
    ///   from the network's delay alone.
    pub fn announce_field(announce: Duration) -> Self {
        Self::Announce(announce_family(announce))
    }

    /// The bully where most messages take less than `bound`.
    pub fn bully_field(bound: Duration, patience: Duration) -> Self {
        Self::Bully(bully::Config::field(bound, patience))
    }

    /// Chang and Roberts' ring.
    pub fn chang_roberts_field(patience: Duration) -> Self {
        Self::ChangRoberts(chang_roberts::Config::field(patience))
    }

    /// The modified ring.
    pub fn modified_ring_field(patience: Duration) -> Self {
        Self::ModifiedRing(modified_ring::Config::field(patience))
    }

    /// The probabilistic election of the group called `group`, where most messages take less than `bound`.
    pub fn probabilistic_field(group: &str, bound: Duration, k: u32) -> Self {
        let config = probabilistic::Config::field(group_id(group), bound, bound);
        let strategy = probabilistic::Strategy {
            first: k,
            ..config.strategy
        };
        Self::Probabilistic(probabilistic::Config { strategy, ..config })
    }

    /// The same where members know a few of many.
    #[must_use]
    pub fn knowing_few(self) -> Self {
        match self {
            Self::Probabilistic(config) => Self::Probabilistic(config.knowing_few()),
            other => other,
        }
    }

    /// What its name on the command line is: the announce family has three.
    pub(super) fn family_name(config: &Config) -> &'static str {
        match (config.criterion, config.suppress) {
            (Criterion::EarliestWake, _) => "earliest",
            (Criterion::Merit, Duration::ZERO) => "announce",
            (Criterion::Merit, Duration(_)) => "suppress",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ANNOUNCE_BOUNDS, LISTEN_BOUNDS, SUPPRESS_BOUNDS, TTL_BOUNDS};

    #[test]
    fn bounds_are_as_their_words_say() {
        for bounds in [ANNOUNCE_BOUNDS, LISTEN_BOUNDS, SUPPRESS_BOUNDS, TTL_BOUNDS] {
            let (shortest, longest) = bounds.in_words.split_once(" to ").unwrap();
            assert_eq!(shortest.parse(), Ok(bounds.shortest));
            assert_eq!(longest.parse(), Ok(bounds.longest));
        }
    }
}
