//! The defaults of the protocols in an agent, each number with its reason.

use std::ops::RangeInclusive;

use hustings_protocol::announce::{Config, Criterion, Joining, Listen, Takeover};
use hustings_protocol::{Duration, bully, chang_roberts, modified_ring, probabilistic};

use super::ProtocolConfig;
use crate::identity::group_id;
pub use hustings_authority::terms::{
    ANSWERS_IN_A_TTL, BACK_OFFS_IN_A_TTL, Bounds, DRIFT_PPM, LONGEST_BACK_OFF, TTL, TTL_BOUNDS,
};

/// T_A: ten small datagrams a second, from the leader alone. A leader whose host fails silently is
/// then missed within a second. The death of a leader's process is known at once, whatever the
/// value.
pub const ANNOUNCE: Duration = Duration::from_millis(100);

/// T_S: on a LAN, where a datagram takes less than 1 ms, a few members in a hundred announce
/// themselves before they hear a better one. An election takes milliseconds.
pub const SUPPRESS: Duration = Duration::from_millis(5);

/// The time that a member that asks for the leader waits before it announces itself: several round
/// trips on a LAN. Too short a time costs one announcement, which the leader corrects at once.
pub const ANSWER_WITHIN: Duration = Duration::from_millis(5);

/// The probability of missing a live leader, each time its announcements are counted. At ten
/// announcements a second that is about once a day if the loss is as high as assumed, and never if
/// nothing is lost. The paper's 1e-3 would mean every other minute.
pub const LISTEN_MISS: f64 = 1e-6;

/// The assumed loss until it is measured: that of a bad wireless network.
pub const LOSS: f64 = 0.1;

/// The time that a bully or a ring waits for an expected message before it calls an election: twice
/// the time of the failure detector. With less, a member would wait in vain for dead members.
pub const ELECTION_TIMEOUT: Duration = Duration::from_secs(1);

/// The delay that most messages stay below, between busy hosts too. Only elections with dead
/// members wait for it.
pub const BOUND: Duration = Duration::from_millis(100);

/// The same delay for a probabilistic election, which waits for it more than ten times: ten times
/// the delay of a message on a LAN.
pub const HOP: Duration = Duration::from_millis(5);

/// K: the number of members that are expected to relay at first in a probabilistic election, as in
/// its source.
pub const RELAYING: u32 = 7;

/// The probability with which the first round of an election succeeds in a group with partial
/// views. One election in a thousand takes another round.
pub const TARGET: f64 = 0.999;

/// The number of other members that a member of a large group may know. A group whose members know
/// d random others falls apart with a probability of about N e^-d. With 8, which tolerate little,
/// that is one group of 100 members in 30; with 30, one group of a million members in 10^7. A dead
/// member is forgotten after twice as many seconds, so a view of more than a few hundred holds too
/// many dead members.
pub const VIEW_BOUNDS: RangeInclusive<u16> = 8..=1_000;

/// The bounds of [`Config::announce`]. One thread carries a thousand datagrams a second with ease.
/// A leader that announces itself less than once an hour is invisible to any member that listens.
pub const ANNOUNCE_BOUNDS: Bounds = Bounds {
    shortest: Duration::from_millis(1),
    longest: Duration::from_secs(3600),
    in_words: "1ms to 1h",
};

/// The bounds of [`Config::listen`]. Several of the longest announce intervals fit into the
/// longest.
pub const LISTEN_BOUNDS: Bounds =
    Bounds { longest: Duration::from_secs(24 * 3600), in_words: "1ms to 24h", ..ANNOUNCE_BOUNDS };

/// The bounds of waits. A shorter timer fires before anything can have happened.
pub const WAIT_BOUNDS: Bounds = ANNOUNCE_BOUNDS;

/// The bounds of [`Config::suppress`], which may be zero.
pub const SUPPRESS_BOUNDS: Bounds =
    Bounds { shortest: Duration::ZERO, in_words: "0s to 1h", ..ANNOUNCE_BOUNDS };

/// The configuration of [`ProtocolConfig::announce_field`].
pub fn announce_family(announce: Duration) -> Config {
    Config {
        suppress: SUPPRESS,
        listen: Listen::Measured { miss: LISTEN_MISS },
        joining: Joining::SuppressThenQuery { election_timeout: ANSWER_WITHIN },
        takeover: Takeover::Never,
        assumed_loss: LOSS,
        ..Config::field(announce)
    }
}

impl ProtocolConfig {
    /// The announce family with an announcement every `announce`: LE-S. Set `suppress` to zero for
    /// LE-A.
    ///
    /// - `takeover` is `Never`: a change of leaders costs the application more than a better leader
    ///   gains. A member that comes and goes would cause two changes each time.
    /// - `listen` is measured with [`LISTEN_MISS`] from an assumed [`LOSS`]: T_L = 4.5 T_A at
    ///   first, and 2.5 T_A once none of 18 or more announcements was lost.
    /// - `joining`: towards the end of T_L a member asks for the leader every `election_timeout`,
    ///   and names it until then.
    /// - `suppress` is [`SUPPRESS`] and `election_timeout` is [`ANSWER_WITHIN`] for every
    ///   `announce`: they follow from the network's delay alone.
    pub fn announce_field(announce: Duration) -> Self {
        Self::Announce(announce_family(announce))
    }

    /// The bully protocol, if most messages take less than `bound`.
    pub fn bully_field(bound: Duration, election_timeout: Duration) -> Self {
        Self::Bully(bully::Config::field(bound, election_timeout))
    }

    /// The ring of Chang and Roberts.
    pub fn chang_roberts_field(election_timeout: Duration) -> Self {
        Self::ChangRoberts(chang_roberts::Config::field(election_timeout))
    }

    /// The modified ring.
    pub fn modified_ring_field(election_timeout: Duration) -> Self {
        Self::ModifiedRing(modified_ring::Config::field(election_timeout))
    }

    /// The probabilistic election of the group `group`, if most messages take less than `bound`.
    pub fn probabilistic_field(group: &str, bound: Duration, k: u32) -> Self {
        let config = probabilistic::Config::field(group_id(group), bound, bound);
        let strategy = probabilistic::Strategy { first: k, ..config.strategy };
        Self::Probabilistic(probabilistic::Config { strategy, ..config })
    }

    /// The same protocol for members with partial views.
    #[must_use]
    pub fn knowing_few(self) -> Self {
        match self {
            Self::Probabilistic(config) => Self::Probabilistic(config.knowing_few()),
            other => other,
        }
    }

    /// The name of the protocol on the command line: the announce family has three.
    pub(super) fn family_name(config: &Config) -> &'static str {
        match (config.criterion, config.suppress) {
            (Criterion::EarliestWake, _) => "earliest",
            (Criterion::Priority, Duration::ZERO) => "announce",
            (Criterion::Priority, Duration(_)) => "suppress",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ANNOUNCE_BOUNDS, LISTEN_BOUNDS, SUPPRESS_BOUNDS, TTL_BOUNDS};

    #[test]
    fn bounds_match_their_texts() {
        for bounds in [ANNOUNCE_BOUNDS, LISTEN_BOUNDS, SUPPRESS_BOUNDS, TTL_BOUNDS] {
            let (shortest, longest) = bounds.in_words.split_once(" to ").unwrap();
            assert_eq!(shortest.parse(), Ok(bounds.shortest));
            assert_eq!(longest.parse(), Ok(bounds.longest));
        }
    }
}
