//! The options of the announce family.

use super::loss::repetitions;
use super::wake::Wake;
use crate::config::{ConfigError, require, require_some_time};
use crate::{Duration, Priority};

/// With a measured T_L, the least number of announcements that have to be lost before a leader
/// counts as lost: loss may set in suddenly. One less if members also query the leader.
const LEAST_LISTEN: u32 = 3;
const LEAST_LISTEN_WITH_QUERIES: u32 = 2;

/// Queries shorten T_L by at most this many announcement intervals. They are sent within less than
/// T_A, so one burst of loss may take them all.
const MOST_REPLACED: u32 = 2;
/// The range of loss in which queries count. Below it a network is assumed to lose as much. Above
/// it queries do not count: a high loss is known only roughly, and a working leader must not be
/// given up because the estimate was too low.
const LEAST_LOSS: f64 = 1e-3;
const MOST_LOSS: f64 = 0.1;

/// The options that select one protocol of the family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// T_S: a member without a leader wakes up within this time and announces itself, unless it has
    /// received an announcement of a better member. Zero: at once (LE-A).
    pub suppress: Duration,
    /// T_A: the interval between two announcements of a leader.
    pub announce: Duration,
    /// T_L: the time without an announcement after which a leader counts as lost.
    pub listen: Listen,
    /// The distribution of the wake-up within T_S.
    pub wake: Wake,
    /// The order of candidates.
    pub criterion: Criterion,
    /// The number of leaders to elect; at least 1.
    pub leaders: u32,
    /// The way in which a member without a leader looks for one.
    pub joining: Joining,
    /// The greatest number of queries for a silent leader before T_L is over and it counts as lost.
    /// Queries are `election_timeout` apart, and none is sent before an announcement is overdue, so
    /// there may be fewer. With 0, members send their query after the leader counts as lost.
    /// Without effect for [`Joining::Announce`].
    pub asks: u32,
    /// The announcements that restart the listen timer.
    pub heartbeat: Heartbeat,
    /// The reaction of a leader to an announcement of a worse member.
    pub correction: Correction,
    /// The effect of a better newcomer on a working leader.
    pub takeover: Takeover,
    /// The number of goodbyes of a leader that leaves. All members need the same rule: by
    /// [`Repeat::Measured`] a listener complains about a leader that promises too few goodbyes, and
    /// a leader with a fixed number that is too low would get a complaint every T_A.
    pub farewell: Repeat,
    /// The loss to assume until it is measured.
    pub assumed_loss: f64,
}

/// The time without an announcement after which a leader counts as lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Listen {
    /// A leader never counts as lost.
    Never,
    /// A fixed time.
    For(Duration),
    /// T_L = k T_A, plus half a T_A to allow for late arrivals. By the measured loss, `miss` bounds
    /// the probability that k announcements in a row are lost.
    ///
    /// The queries that members send before T_L is over count as up to two of the k announcements,
    /// and no more: in a large group too many members would query at any time. If more than a tenth
    /// of the messages is lost, queries do not count. k is at least 3, or 2 if queries count.
    Measured {
        /// The acceptable probability that a leader which is up counts as lost.
        miss: f64,
    },
}

/// The number of copies of a message that must arrive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Repeat {
    /// A fixed number.
    Times(u32),
    /// The least number of copies for which `miss` bounds the probability that a listener loses all
    /// of them. The loss is the one that listeners measure: a listener that needs more copies
    /// complains.
    Measured {
        /// The acceptable probability that all copies are lost.
        miss: f64,
    },
}

/// The order of candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Criterion {
    /// The greater priority, then the lower identity (LE-A, LE-S).
    Priority,
    /// The earlier wake-up within T_S, then the lower identity (LE-M).
    EarliestWake,
}

/// The way in which a member without a leader looks for one. Members that query do so if there may
/// be a leader: when they start, or after their leader was lost. If the leader is known to be gone,
/// by its goodbye or by a failure detector, no member queries: all act as with
/// [`Joining::Announce`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joining {
    /// Waits for the wake-up and announces itself.
    Announce,
    /// Queries at once, and announces itself if no leader answers in time.
    Query {
        /// Time to wait for an answer.
        election_timeout: Duration,
    },
    /// Waits for the wake-up, queries, and announces itself if no leader answers in time.
    SuppressThenQuery {
        /// Time to wait for an answer.
        election_timeout: Duration,
    },
}

/// The announcements that restart the listen timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heartbeat {
    /// Every announcement of the leader.
    Restarts,
    /// Only those of a new leader, as Program 5.2 is printed: every listener then loses a leader
    /// that is up.
    Ignored,
}

/// The reaction of a leader to an announcement of a worse member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correction {
    /// The leader waits: its next announcement is due within T_A.
    AtNextAnnouncement,
    /// The leader announces itself at once, but at most ten times within T_A.
    AtOnce,
}

/// The effect of a better newcomer on a working leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takeover {
    /// The newcomer takes over.
    ByTheBetter,
    /// The newcomer follows: a leader that was unchallenged for T_S + T_A stays until it is lost.
    /// If two such leaders meet after a partition, the one with more followers stays.
    Never,
}

impl Config {
    /// The election of the chapter: no member leaves, no member queries, heartbeats count.
    pub const fn paper(suppress: Duration, announce: Duration) -> Self {
        Self {
            suppress,
            announce,
            listen: Listen::Never,
            wake: Wake::Uniform,
            criterion: Criterion::Priority,
            leaders: 1,
            joining: Joining::Announce,
            asks: 0,
            heartbeat: Heartbeat::Restarts,
            correction: Correction::AtNextAnnouncement,
            takeover: Takeover::ByTheBetter,
            farewell: Repeat::Times(0),
            assumed_loss: 0.1,
        }
    }

    /// For real networks: a leader announces itself every `announce`.
    ///
    /// A member that queries waits 0.1 T_A for an answer, whatever the network's delay is. If a
    /// round trip takes longer, the answer comes too late: the member announces itself, and the
    /// leader corrects it. In such a network set `election_timeout` to several round trips.
    pub fn field(announce: Duration) -> Self {
        Self {
            listen: Listen::Measured { miss: 1e-3 },
            joining: Joining::SuppressThenQuery { election_timeout: announce.mul_f64(0.1) },
            asks: 8,
            correction: Correction::AtOnce,
            farewell: Repeat::Measured { miss: 1e-3 },
            ..Self::paper(announce.mul_f64(0.5), announce)
        }
    }

    /// Checks that this configuration can work.
    ///
    /// # Errors
    /// Names the first option that cannot work.
    pub fn check(&self) -> Result<(), ConfigError> {
        require_some_time("announce interval", Some(self.announce))?;
        if let Listen::For(span) = self.listen {
            require_some_time("listen interval", Some(span))?;
        }
        require_some_time("patience", self.joining.election_timeout())?;
        require(self.leaders > 0, "number of leaders", "1 or more")?;
        self.wake.check()?;
        let is_loss = (0.0..1.0).contains(&self.assumed_loss);
        require(is_loss, "assumed loss", "0 to 1, but not 1")?;
        for miss in [self.listen.miss(), self.farewell.miss()] {
            let is_between = miss.is_none_or(|miss| miss > 0.0 && miss < 1.0);
            require(is_between, "probability of a miss", "between 0 and 1")?;
        }
        Ok(())
    }

    /// True if an announcement matters only to members that know no candidate as good.
    pub(crate) fn ignores_worse_candidates(&self) -> bool {
        self.leaders == 1
            && self.listen == Listen::Never
            && self.joining == Joining::Announce
            && self.correction == Correction::AtNextAnnouncement
            && self.takeover == Takeover::ByTheBetter
            && self.farewell.miss().is_none()
    }

    /// The effective priority of a member that waits for `wait` before it announces itself.
    pub(crate) fn effective_priority(&self, priority: Priority, wait: Duration) -> Priority {
        match self.criterion {
            Criterion::Priority => priority,
            Criterion::EarliestWake => Priority(u64::MAX - wait.0),
        }
    }

    /// T_L for the loss probability `loss`.
    pub fn listen_interval(&self, loss: f64) -> Option<Duration> {
        match self.listen {
            Listen::Never => None,
            Listen::For(span) => Some(span),
            Listen::Measured { miss } => {
                let (worth, least) = match self.announcements_replaced(loss) {
                    0 => (0, LEAST_LISTEN),
                    worth => (worth, LEAST_LISTEN_WITH_QUERIES),
                };
                let announcements = repetitions(loss, miss).saturating_sub(worth).max(least);
                Some(self.interval_of(announcements))
            }
        }
    }

    /// T_L if `announcements` in a row may be lost.
    fn interval_of(&self, announcements: u32) -> Duration {
        self.announce * u64::from(announcements) + self.announce.mul_f64(0.5)
    }

    /// The number of announcements whose loss is at least as likely as the loss of all queries or
    /// their answers.
    fn announcements_replaced(&self, loss: f64) -> u32 {
        // A longer T_L leaves time for at least as many queries.
        let asks = self.queries_within(self.interval_of(LEAST_LISTEN_WITH_QUERIES));
        if asks == 0 || loss > MOST_LOSS {
            return 0;
        }
        // A network that has lost nothing yet may lose something.
        let loss = loss.max(LEAST_LOSS);
        let unanswered = (1.0 - (1.0 - loss) * (1.0 - loss)).powi(asks.into());
        let (mut worth, mut lost) = (0, loss);
        while worth < MOST_REPLACED && unanswered <= lost {
            worth += 1;
            lost *= loss;
        }
        worth
    }

    /// The least time between two announcements of a leader that corrects a worse member.
    pub(crate) fn correction_gap(&self) -> Duration {
        self.announce.mul_f64(0.1)
    }

    /// The least time between two announcements of a leader that answers queries: a query right
    /// after an announcement still gets its answer in time.
    pub(crate) fn answer_gap(&self) -> Duration {
        let gap = self.correction_gap();
        self.joining.election_timeout().map_or(gap, |timeout| gap.min(Duration(timeout.0 / 2)))
    }
}

impl Joining {
    /// The time to wait for an answer to a query, if a member asks.
    pub(super) fn election_timeout(self) -> Option<Duration> {
        match self {
            Self::Announce => None,
            Self::Query { election_timeout } | Self::SuppressThenQuery { election_timeout } => {
                Some(election_timeout)
            }
        }
    }
}

impl Listen {
    fn miss(self) -> Option<f64> {
        match self {
            Self::Measured { miss } => Some(miss),
            Self::Never | Self::For(_) => None,
        }
    }
}

impl Repeat {
    pub(crate) fn miss(self) -> Option<f64> {
        match self {
            Self::Measured { miss } => Some(miss),
            Self::Times(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Config, Joining, Listen, Repeat};
    use crate::Duration;

    const ANNOUNCE: Duration = Duration::from_millis(100);

    #[test]
    fn measured_listening_allows_for_lost_and_late_announcements() {
        let intervals = |joining, miss| {
            let config =
                Config { listen: Listen::Measured { miss }, joining, ..Config::field(ANNOUNCE) };
            [0.0, 0.01, 0.1, 0.3].map(|loss| config.listen_interval(loss).expect("it listens"))
        };
        let ms = |values: [u64; 4]| values.map(Duration::from_millis);
        // Half an interval is added for late announcements. 0.1^3 = 1e-3; 0.3^6 is the first power
        // below.
        let silent = Joining::Announce;
        assert_eq!(intervals(silent, 1e-3), ms([350, 350, 350, 650]));
        assert_eq!(intervals(silent, 1e-6), ms([350, 350, 650, 1250]));
        // Eight queries replace two announcements, but not at high loss.
        let election_timeout = Duration::from_millis(5);
        let asking = Joining::SuppressThenQuery { election_timeout };
        assert_eq!(intervals(asking, 1e-3), ms([250, 250, 250, 650]));
        assert_eq!(intervals(asking, 1e-6), ms([250, 250, 450, 1250]));
    }

    /// A query and its answer are two messages: one query fails more often than one announcement.
    #[test]
    fn a_single_query_replaces_no_announcement() {
        let config = |millis| Config {
            joining: Joining::SuppressThenQuery { election_timeout: Duration::from_millis(millis) },
            ..Config::field(ANNOUNCE)
        };
        for loss in [0.0, 0.01, 0.1] {
            assert_eq!(config(5).announcements_replaced(loss), 2);
            assert_eq!(config(30).announcements_replaced(loss), 0, "one query");
        }
        assert_eq!(config(90).announcements_replaced(0.1), 0, "none");
        assert_eq!(config(5).announcements_replaced(0.11), 0, "high loss");
    }

    #[test]
    fn an_answer_is_sent_before_the_asking_member_stops_waiting() {
        let gap = |joining| {
            let config = Config { joining, ..Config::field(ANNOUNCE) };
            config.answer_gap()
        };
        assert_eq!(gap(Joining::Announce), Duration::from_millis(10));
        let election_timeout = Duration::from_millis(5);
        let half = Duration::from_micros(2_500);
        assert_eq!(gap(Joining::Query { election_timeout }), half);
        assert_eq!(gap(Joining::SuppressThenQuery { election_timeout }), half);
    }

    #[test]
    fn measured_goodbyes_need_every_announcement() {
        let paper = Config::paper(ANNOUNCE, ANNOUNCE);
        assert!(paper.ignores_worse_candidates());
        let measuring = Config { farewell: Repeat::Measured { miss: 1e-3 }, ..paper };
        assert!(!measuring.ignores_worse_candidates());
    }
}
