//! How the protocol is to be run, and what the document leaves open.

use super::Strategy;
use crate::Duration;
use crate::config::{ConfigError, require_some_time};

/// Of [`Config::longest_path`]: as in the document with K = 14.
const FIELD_PATH: u32 = 21;

/// In messages from one to another: what it takes until all have heard what is said to all where each that hears it passes it
/// on to six. That reaches a million in nine, if a tenth is lost.
const RUMOUR_SPREAD: u64 = 10;

/// Of what members that relay wait for a message: they find each other by what is said to all, twice over, which must be
/// possible in the 10 messages' time of the smallest usual K.
const RUMOUR_HOPS: u64 = 3;

/// How the protocol is to be run. The same for all members.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// The key of the hash.
    pub key: u64,
    /// N_i of the filter.
    pub size: GroupSize,
    /// K of each round, and how many there are.
    pub strategy: Strategy,
    /// Who calls the next round when one has failed.
    pub recall: Recall,
    /// How relaying members find each other.
    pub introduction: Introduction,
    /// Whom a relaying member answers.
    pub reply: Reply,
    /// Whether a member that missed the initiation, and hears of two leaders, counts that as a failure.
    pub uninformed_detect: bool,
    /// The longest that a unicast takes, with what is done about it: Time_Out_2 is 3K/2 times this.
    pub hop: Duration,
    /// So many times at most. 3K/2 is the longest path that there can be among those who relay; where most of them know
    /// each other, from the beginning or by what they say to all, they are a few hops apart, however many they are.
    pub longest_path: u32,
    /// The same for a multicast.
    pub spread: Duration,
    /// How long whoever has decided waits for what others decided: Time_Out_3. They heard of the round up to `spread`
    /// later, and so they are heard.
    pub wait: Duration,
    /// How far apart the final multicasts of a round may arrive at one member.
    pub apart: Duration,
    /// What a member does when it comes up.
    pub joining: Joining,
    /// Who is to call an election, or the next round, waits for a time up to this, by chance, and hears others out. The
    /// longer it is, compared with `spread`, the fewer call at once. With [`Recall::Delay`] the next round begins when
    /// it is over.
    pub hesitation: Duration,
    /// Whether, and how often, a leader asks one member, picked by chance, whether it is of the same mind: it may have
    /// missed the election, or have been cut off and have another leader. All others together ask it as often.
    pub check: Option<Duration>,
    /// Whether, and how long after, an election that has failed in its last round is called anew.
    pub again: Option<Duration>,
}

/// N_i: how large a member holds the group to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupSize {
    /// As everybody knows.
    Known(u64),
    /// As large as its view, the document's first choice.
    View,
    /// As it was told last ([`Request::GroupSize`](super::Request::GroupSize)). Until then it is not drawn: by its view it
    /// would be far too often, where that holds a small part of the group.
    Estimate,
}

/// Who calls the next round when one has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recall {
    /// Those whose hash is below K/N_i: the rule of the document's Figure 3. Where few notice, none may be among them.
    Hash,
    /// Whoever has hesitated for the shortest time: the document's alternative.
    Delay,
    /// Everyone that noticed.
    All,
}

/// How relaying members find each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Introduction {
    /// By their views, as in the document: two of which neither knows the other do not meet. Where views hold fewer
    /// than a few in ten of all members, as they must in a group of a million, hardly any two do.
    View,
    /// Each tells its first preference to everyone: about K multicasts more in a round, whatever the views.
    Multicast,
}

/// What a member does when it comes up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joining {
    /// Calls an election, at once: it was asked to by somebody who wants one.
    Call,
    /// Asks a few members who leads, and calls an election after some hesitation if none of them knows.
    Ask,
}

/// Whom a relaying member answers with its own choice, of those whose choice is no better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// Those whose choice is worse.
    Worse,
    /// Those too whose choice is the same, but each only once in a round.
    Once,
    /// All, as Figure 3 has it: two that agree tell each other so until the time is over.
    Literal,
}

impl Config {
    /// As the document simulates it, in a group of `members`, where every message takes `hop`. Members hesitate for so
    /// long that almost never two call before either could have heard the other; who misses a call calls too.
    pub fn document(members: u64, hop: Duration) -> Self {
        Self {
            key: 0,
            size: GroupSize::Known(members),
            strategy: Strategy::DOCUMENT,
            recall: Recall::Delay,
            introduction: Introduction::View,
            reply: Reply::Worse,
            uninformed_detect: true,
            hop,
            longest_path: u32::MAX,
            spread: hop,
            wait: hop,
            apart: Duration::ZERO,
            joining: Joining::Call,
            hesitation: hop * 1_000,
            check: None,
            again: None,
        }
    }

    /// For a group whose members know all others, where most unicasts take less than `hop`, and most multicasts less than `spread`.
    pub fn field(key: u64, hop: Duration, spread: Duration) -> Self {
        Self {
            key,
            size: GroupSize::View,
            strategy: Strategy::FIELD,
            recall: Recall::Delay,
            introduction: Introduction::View,
            reply: Reply::Worse,
            uninformed_detect: true,
            hop,
            longest_path: FIELD_PATH,
            spread,
            wait: spread * 2,
            apart: spread * 2,
            joining: Joining::Ask,
            hesitation: spread * 10,
            check: Some(spread * 100),
            again: Some(spread * 20),
        }
    }

    /// The same where members know a few of many: those who relay find each other by multicast alone, and how many there are
    /// they are told.
    #[must_use]
    pub fn knowing_few(self) -> Self {
        Self {
            introduction: Introduction::Multicast,
            size: GroupSize::Estimate,
            ..self
        }
    }

    /// The same where what is said to all goes from each to a few others.
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

    /// Whether it can work.
    ///
    /// # Errors
    /// Names what cannot.
    pub fn check(&self) -> Result<(), ConfigError> {
        require_some_time("hop", Some(self.hop))?;
        require_some_time("spread", Some(self.spread))?;
        if self.longest_path == 0 {
            return Err(ConfigError::OutOfRange {
                field: "the longest path",
                range: "1 or more",
            });
        }
        if self.wait < self.spread {
            return Err(ConfigError::Below {
                field: "wait",
                value: self.wait,
                bound: "spread",
                least: self.spread,
            });
        }
        require_some_time("check", self.check)?;
        require_some_time("again", self.again)?;
        self.strategy.check()
    }

    /// Time_Out_2: how long members relay.
    #[inline]
    pub fn relay_time(&self, k: u32) -> Duration {
        let path = (u64::from(k) * 3).div_ceil(2);
        self.hop * path.min(u64::from(self.longest_path))
    }

    /// How long a round lasts for a member that does not relay: Time_Out_1.
    #[inline]
    pub fn round_time(&self, k: u32) -> Duration {
        self.relay_time(k) + self.wait
    }
}
