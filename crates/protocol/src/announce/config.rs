//! The options of the announce family.

use super::loss::repetitions;
use super::wake::Wake;
use crate::config::ConfigError;
use crate::{Duration, Merit};

/// Where T_L is measured, the fewest announcements that have to be lost before a leader is missed: loss may set in
/// suddenly. One less where members ask for the leader as well.
const LEAST_LISTEN: u32 = 3;
const LEAST_LISTEN_WITH_QUESTIONS: u32 = 2;

/// The number of announcements that all questions together are worth at most. They are asked within less than T_A, so
/// one burst of loss may take them all.
const QUESTIONS_ARE_WORTH: u32 = 2;
/// The range of loss in which questions count. Below it a network is taken to lose as much. Above it they do not count: a
/// high loss is known only roughly, and a leader that works must not be missed because the estimate was too low.
const LEAST_LOSS: f64 = 1e-3;
const MOST_LOSS: f64 = 0.1;

/// Which member of the family this is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// T_S: within this time after it starts, or misses its leader, a member wakes up and
    /// announces itself unless it has heard of somebody better. Zero: at once (LE-A).
    pub suppress: Duration,
    /// T_A: how often a leader announces itself.
    pub announce: Duration,
    /// T_L: how long a member that hears nothing of its leader takes it to be there.
    pub listen: Listen,
    /// When within T_S a member wakes up.
    pub wake: Wake,
    /// Who is better.
    pub criterion: Criterion,
    /// How many leaders there are to be; at least one.
    pub leaders: u32,
    /// How a member that has no leader looks for one.
    pub joining: Joining,
    /// How often, where members ask, a leader that falls silent is asked for before T_L is over and it is missed:
    /// one time each `patience`, and not before an announcement is overdue, so perhaps less often. If never, it is
    /// asked for once it is missed.
    pub asks: u32,
    /// What restarts the listen timer.
    pub heartbeat: Heartbeat,
    /// What a leader does when it hears of somebody worse who announces itself.
    pub correction: Correction,
    /// What a better newcomer does to a leader that works.
    pub takeover: Takeover,
    /// How often a leader that leaves says so. The same rule for all members: by
    /// [`Repeat::Measured`] a listener complains of a leader that promises too few goodbyes, and one
    /// with a fixed number that is too low would hear a complaint every T_A.
    pub farewell: Repeat,
    /// What to assume of the loss until it is measured.
    pub assumed_loss: f64,
}

/// How long a member that hears nothing of its leader takes it to be there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Listen {
    /// For ever.
    Never,
    /// So long.
    For(Duration),
    /// T_L = k T_A and half a T_A to allow for late arrivals, where `miss` bounds the probability that
    /// k announcements in a row are lost, by the loss measured. The questions that members ask before
    /// T_L is over count as up to two of the k announcements, and no more: of many members too many
    /// would ask at any time. Where more than a tenth is lost they are not counted. k is at least 3, or 2
    /// where questions count.
    Measured {
        /// How likely a leader that is there may be missed.
        miss: f64,
    },
}

/// How often to say what must not be missed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Repeat {
    /// So often.
    Times(u32),
    /// So often that `miss` bounds the probability that a listener loses all copies, by the loss that
    /// listeners measure: who needs to hear it more often says so.
    Measured {
        /// How likely it may be missed.
        miss: f64,
    },
}

/// Who is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Criterion {
    /// The greater merit, then the lower identity (LE-A, LE-S).
    Merit,
    /// The earlier wake-up within T_S, then the lower identity (LE-M).
    EarliestWake,
}

/// How a member that has no leader looks for one. Those that ask do so where there may be one: when they
/// start, or have missed theirs. Where it is known to be gone, since it said goodbye or a failure
/// detector says so, nobody asks: all do as with [`Joining::Announce`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joining {
    /// It waits for its wake-up and announces itself.
    Announce,
    /// It asks at once, and announces itself if no leader answers in time.
    Query {
        /// How long it waits for an answer.
        patience: Duration,
    },
    /// It waits for its wake-up, asks, and announces itself if no leader answers in time.
    SuppressThenQuery {
        /// How long it waits for an answer.
        patience: Duration,
    },
}

/// What restarts the listen timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heartbeat {
    /// Every announcement of the leader.
    Restarts,
    /// Only a new leader, as Program 5.2 is printed: then every listener misses a leader that is
    /// there.
    Ignored,
}

/// What a leader does when it hears of somebody worse who announces itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correction {
    /// Nothing: its next announcement is due in T_A at the latest.
    AtNextAnnouncement,
    /// It announces itself at once, but not more often than ten times in T_A.
    AtOnce,
}

/// What a better newcomer does to a leader that works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takeover {
    /// It takes over.
    ByTheBetter,
    /// It follows: a leader that nobody challenged for T_S + T_A stays until it is missed. Of two such
    /// leaders, as after a cut has healed, the one that knows of more members stays.
    Never,
}

impl Config {
    /// The chapter's election: nobody leaves, nobody asks, heartbeats count.
    pub const fn chapter(suppress: Duration, announce: Duration) -> Self {
        Self {
            suppress,
            announce,
            listen: Listen::Never,
            wake: Wake::Uniform,
            criterion: Criterion::Merit,
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
    /// A member that asks waits 0.1 T_A for an answer, whatever the network's delay is. Where that is less
    /// than a round trip the answer comes too late: the member announces itself, and is corrected. Then
    /// set `patience` to some round trips.
    pub fn field(announce: Duration) -> Self {
        Self {
            listen: Listen::Measured { miss: 1e-3 },
            joining: Joining::SuppressThenQuery {
                patience: announce.mul_f64(0.1),
            },
            asks: 8,
            correction: Correction::AtOnce,
            farewell: Repeat::Measured { miss: 1e-3 },
            ..Self::chapter(announce.mul_f64(0.5), announce)
        }
    }

    /// Whether it can work.
    ///
    /// # Errors
    /// Names the first option that cannot.
    pub fn check(&self) -> Result<(), ConfigError> {
        let zero = |field, is_zero: bool| match is_zero {
            true => Err(ConfigError::Zero { field }),
            false => Ok(()),
        };
        zero("announce interval", self.announce == Duration::ZERO)?;
        if let Listen::For(span) = self.listen {
            zero("listen interval", span == Duration::ZERO)?;
        }
        if let Joining::Query { patience } | Joining::SuppressThenQuery { patience } = self.joining
        {
            zero("patience", patience == Duration::ZERO)?;
        }
        if self.leaders == 0 {
            return Err(ConfigError::OutOfRange {
                field: "number of leaders",
                range: "1 or more",
            });
        }
        self.wake.check()?;
        if !(0.0..1.0).contains(&self.assumed_loss) {
            return Err(ConfigError::OutOfRange {
                field: "assumed loss",
                range: "0 to 1, but not 1",
            });
        }
        for miss in [self.listen.miss(), self.farewell.miss()] {
            if miss.is_some_and(|miss| !(miss > 0.0 && miss < 1.0)) {
                return Err(ConfigError::OutOfRange {
                    field: "probability of a miss",
                    range: "between 0 and 1",
                });
            }
        }
        Ok(())
    }

    /// Whether an announcement matters only to those who know of nobody as good.
    pub(crate) fn ignores_the_worse(&self) -> bool {
        self.leaders == 1
            && self.listen == Listen::Never
            && self.joining == Joining::Announce
            && self.correction == Correction::AtNextAnnouncement
            && self.takeover == Takeover::ByTheBetter
            && self.farewell.miss().is_none()
    }

    /// The merit that counts for a member that waits for `wait` before it announces itself.
    pub(crate) fn merit_that_counts(&self, merit: Merit, wait: Duration) -> Merit {
        match self.criterion {
            Criterion::Merit => merit,
            Criterion::EarliestWake => Merit(u64::MAX - wait.0),
        }
    }

    /// T_L where the probability of loss is `loss`.
    pub fn listen_interval(&self, loss: f64) -> Option<Duration> {
        match self.listen {
            Listen::Never => None,
            Listen::For(span) => Some(span),
            Listen::Measured { miss } => {
                let (worth, least) = match self.worth_of_questions(loss) {
                    0 => (0, LEAST_LISTEN),
                    worth => (worth, LEAST_LISTEN_WITH_QUESTIONS),
                };
                let announcements = repetitions(loss, miss).saturating_sub(worth).max(least);
                Some(self.interval_of(announcements))
            }
        }
    }

    /// T_L for a leader of which so many announcements may be lost.
    fn interval_of(&self, announcements: u32) -> Duration {
        self.announce * u64::from(announcements) + self.announce.mul_f64(0.5)
    }

    /// The number of lost announcements that are at least as likely as the loss of every question or its answer.
    fn worth_of_questions(&self, loss: f64) -> u32 {
        // A longer T_L leaves time for as many or more.
        let asks = self.questions_within(self.interval_of(LEAST_LISTEN_WITH_QUESTIONS));
        if asks == 0 || loss > MOST_LOSS {
            return 0;
        }
        // Where nothing was lost so far, something may be.
        let loss = loss.max(LEAST_LOSS);
        let unanswered = (1.0 - (1.0 - loss) * (1.0 - loss)).powi(asks.into());
        let (mut worth, mut lost) = (0, loss);
        while worth < QUESTIONS_ARE_WORTH && unanswered <= lost {
            worth += 1;
            lost *= loss;
        }
        worth
    }

    /// The least time between two announcements of a leader that has to correct somebody.
    pub(crate) fn correction_gap(&self) -> Duration {
        self.announce.mul_f64(0.1)
    }

    /// The same for one that is asked: whoever asks a moment after an announcement gets its answer in time.
    pub(crate) fn answer_gap(&self) -> Duration {
        let gap = self.correction_gap();
        match self.joining {
            Joining::Announce => gap,
            Joining::Query { patience } | Joining::SuppressThenQuery { patience } => {
                gap.min(Duration(patience.0 / 2))
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
    fn measured_listening_allows_for_lost_announcements_and_for_late_ones() {
        let intervals = |joining, miss| {
            let config = Config {
                listen: Listen::Measured { miss },
                joining,
                ..Config::field(ANNOUNCE)
            };
            [0.0, 0.01, 0.1, 0.3].map(|loss| config.listen_interval(loss).expect("it listens"))
        };
        let ms = |values: [u64; 4]| values.map(Duration::from_millis);
        // Half an interval more is for one that is late. 0.1^3 = 1e-3, and 0.3^6 is the first below.
        let silent = Joining::Announce;
        assert_eq!(intervals(silent, 1e-3), ms([350, 350, 350, 650]));
        assert_eq!(intervals(silent, 1e-6), ms([350, 350, 650, 1250]));
        // Eight questions are worth two announcements, but not where much is lost.
        let patience = Duration::from_millis(5);
        let asking = Joining::SuppressThenQuery { patience };
        assert_eq!(intervals(asking, 1e-3), ms([250, 250, 250, 650]));
        assert_eq!(intervals(asking, 1e-6), ms([250, 250, 450, 1250]));
    }

    /// A question and its answer are two messages: one question is lost more often than one announcement.
    #[test]
    fn a_single_question_is_worth_no_announcement() {
        let config = |millis| Config {
            joining: Joining::SuppressThenQuery {
                patience: Duration::from_millis(millis),
            },
            ..Config::field(ANNOUNCE)
        };
        for loss in [0.0, 0.01, 0.1] {
            assert_eq!(config(5).worth_of_questions(loss), 2);
            assert_eq!(config(30).worth_of_questions(loss), 0, "one question");
        }
        assert_eq!(config(90).worth_of_questions(0.1), 0, "none");
        assert_eq!(config(5).worth_of_questions(0.11), 0, "much is lost");
    }

    #[test]
    fn an_answer_is_never_held_back_for_longer_than_it_is_waited_for() {
        let gap = |joining| {
            let config = Config {
                joining,
                ..Config::field(ANNOUNCE)
            };
            config.answer_gap()
        };
        assert_eq!(gap(Joining::Announce), Duration::from_millis(10));
        let patience = Duration::from_millis(5);
        let half = Duration::from_micros(2_500);
        assert_eq!(gap(Joining::Query { patience }), half);
        assert_eq!(gap(Joining::SuppressThenQuery { patience }), half);
    }

    #[test]
    fn whoever_measures_the_loss_for_goodbyes_hears_every_announcement() {
        let chapter = Config::chapter(ANNOUNCE, ANNOUNCE);
        assert!(chapter.ignores_the_worse());
        let measuring = Config {
            farewell: Repeat::Measured { miss: 1e-3 },
            ..chapter
        };
        assert!(!measuring.ignores_the_worse());
    }
}
