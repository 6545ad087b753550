//! The options of the protocol, and the choices that the paper leaves open.

use super::Strategy;
use crate::Duration;
use crate::config::{ConfigError, require, require_at_least, require_some_time};

/// The value of [`Config::longest_path`] in the field: as in the paper with K = 14.
const FIELD_PATH: u32 = 21;

/// The time of a rumour in messages from one member to another, if each receiver passes it on to
/// six. That reaches a million members in nine, at a loss of a tenth.
const RUMOUR_SPREAD: u64 = 10;

/// The time of a hop with rumours, in messages. Relaying members find each other by two rumours,
/// which must fit into the time of 10 messages for the smallest usual K.
const RUMOUR_HOPS: u64 = 3;

/// The options of the protocol. The same for all members.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// The key of the hash.
    pub key: u64,
    /// N_i of the filter.
    pub size: GroupSize,
    /// K of each round, and the number of rounds.
    pub strategy: Strategy,
    /// The members that call the next round after a failed one.
    pub recall: Recall,
    /// The way in which relaying members find each other.
    pub introduction: Introduction,
    /// The preferences that a relaying member answers.
    pub reply: ReplyRule,
    /// True if a member that missed the initiation counts two different decisions as a failure.
    pub uninformed_detect: bool,
    /// The longest time of a unicast, including its handling: Time_Out_2 is 3K/2 times this.
    pub hop: Duration,
    /// The upper bound on 3K/2, in hops. 3K/2 is the longest possible path among relaying members.
    /// If most of them know each other, from the beginning or by multicast, they are a few hops
    /// apart, however many they are.
    pub longest_path: u32,
    /// The longest time of a multicast, including its handling.
    pub spread: Duration,
    /// Time_Out_3: the time that a member which has decided waits for other decisions. Other
    /// members may have learnt of the round up to `spread` later, and their decisions arrive as
    /// much later.
    pub wait: Duration,
    /// The greatest time between the final multicasts of a round at one member.
    pub apart: Duration,
    /// The action of a member that starts.
    pub joining: StartAction,
    /// The longest random wait before a member calls an election or the next round; the call of
    /// another member cancels it. The longer it is, compared with `spread`, the fewer members call
    /// at once. With [`Recall::Delay`] the next round begins at its end.
    pub hesitation: Duration,
    /// The interval at which a leader asks one random member whether it names the same leader;
    /// `None` for never. That member may have missed the election, or follow another leader after a
    /// partition. All followers together ask the leader as often.
    pub check: Option<Duration>,
    /// The time after which an election that failed in its last round is called again; `None` for
    /// never.
    pub again: Option<Duration>,
}

/// N_i: the size of the group as a member knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupSize {
    /// A size known to all members.
    Known(u64),
    /// The size of the member's view, the paper's first choice.
    View,
    /// The size that the driver submitted last ([`Request::GroupSize`](super::Request::GroupSize)).
    /// Until then the hash does not pick the member: by a view that holds a small part of the group
    /// it would be picked far too often.
    Estimate,
}

/// The members that call the next round after a failed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recall {
    /// Members whose hash is below K/N_i: the rule of the paper's Figure 3. If few members notice
    /// the failure, the hash may pick none of them.
    Hash,
    /// The member with the shortest random wait: the paper's alternative.
    Delay,
    /// Every member that noticed.
    All,
}

/// The way in which relaying members find each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Introduction {
    /// By their views, as in the paper: two members that do not know each other do not meet. If
    /// views hold less than a few tenths of all members, as in a group of a million, hardly any two
    /// meet.
    View,
    /// Each multicasts its first preference: about K more multicasts in a round, with any views.
    Multicast,
}

/// The action of a member that starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartAction {
    /// Calls an election at once, at the request of its user.
    Call,
    /// Asks a few members for the leader, and calls an election after a random wait if no member
    /// knows one.
    Ask,
}

/// The preferences that a relaying member answers with its own choice, if they are no better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyRule {
    /// Worse preferences.
    Worse,
    /// Equal preferences too, but each sender only once in a round.
    Once,
    /// All, as in Figure 3: two members that agree repeat this to each other until the time is
    /// over.
    Literal,
}

impl Config {
    /// The paper's simulation, in a group of `members`, where every message takes `hop`. The random
    /// wait is so long that two members almost never call before either could have received the
    /// other's call. A member that misses a call calls too.
    pub fn paper(members: u64, hop: Duration) -> Self {
        Self {
            key: 0,
            size: GroupSize::Known(members),
            strategy: Strategy::DOCUMENT,
            recall: Recall::Delay,
            introduction: Introduction::View,
            reply: ReplyRule::Worse,
            uninformed_detect: true,
            hop,
            longest_path: u32::MAX,
            spread: hop,
            wait: hop,
            apart: Duration::ZERO,
            joining: StartAction::Call,
            hesitation: hop * 1_000,
            check: None,
            again: None,
        }
    }

    /// For a group with complete views, where most unicasts take less than `hop`, and most
    /// multicasts less than `spread`.
    pub fn field(key: u64, hop: Duration, spread: Duration) -> Self {
        Self {
            key,
            size: GroupSize::View,
            strategy: Strategy::FIELD,
            longest_path: FIELD_PATH,
            spread,
            wait: spread * 2,
            apart: spread * 2,
            joining: StartAction::Ask,
            hesitation: spread * 10,
            check: Some(spread * 100),
            again: Some(spread * 20),
            ..Self::paper(0, hop)
        }
    }

    /// For partial views: relaying members find each other by multicast alone, and the driver
    /// submits the size of the group.
    #[must_use]
    pub fn knowing_few(self) -> Self {
        Self { introduction: Introduction::Multicast, size: GroupSize::Estimate, ..self }
    }

    /// For a multicast made of rumours: each receiver passes a message on to a few others.
    #[must_use]
    pub fn by_rumour(self) -> Self {
        let spread = self.hop * RUMOUR_SPREAD;
        Self {
            size: self.size,
            strategy: self.strategy,
            recall: self.recall,
            introduction: self.introduction,
            reply: self.reply,
            check: self.check, // one question to one member
            ..Self::field(self.key, self.hop * RUMOUR_HOPS, spread)
        }
    }

    /// Checks that this configuration can work.
    ///
    /// # Errors
    /// Names the option that cannot work.
    pub fn check(&self) -> Result<(), ConfigError> {
        require_some_time("hop", Some(self.hop))?;
        require_some_time("spread", Some(self.spread))?;
        require(self.longest_path > 0, "the longest path", "1 or more")?;
        require_at_least("wait", self.wait, ("spread", self.spread))?;
        require_some_time("check", self.check)?;
        require_some_time("again", self.again)?;
        self.strategy.check()
    }

    /// Time_Out_2: the time that members relay.
    #[inline]
    pub fn relay_time(&self, k: u32) -> Duration {
        let path = (u64::from(k) * 3).div_ceil(2);
        self.hop * path.min(u64::from(self.longest_path))
    }

    /// Time_Out_1: the time of a round for a member that does not relay.
    #[inline]
    pub fn round_time(&self, k: u32) -> Duration {
        self.relay_time(k) + self.wait
    }
}
