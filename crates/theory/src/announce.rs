//! The announce family: leader election by announcing, listening and suppressing over multicast.
//!
//! Source    a thesis chapter, "Leader Election" (seed 004), sections 5.1 to 5.4; claims L1 to L20
//! Assumes   `N` processes that start at time 0, one of them the best; multicast with a fixed delay
//!           `D` and a loss `l` for each message, for all receivers together or for each by itself;
//!           a sender never loses its own messages; no process times out unless a function says
//!           otherwise (`T_L` infinite, as in the figures)
//! Counts    a multicast as one message, lost or not
//!
//! The processes, in order of priority `q_0, q_1, ...`, wake at times `t_0, t_1, ...`, independent
//! with the same distribution on `[0, T_S]` ([`Wake`]). From its wake-up on, a process announces
//! every `T_A`, until it hears a better one. [`Variant`] defines the order and the wake-up.
//!
//! | Module | Section | Content |
//! |---|---|---|
//! | [`wake`] | 5.1.2 | the distribution of the wake-up times |
//! | [`repeats_until_heard`] | 5.3.1 | announcements until all have heard; repetitions of a message |
//! | [`delay`] | 5.3.1, 5.4 | the end of the election |
//! | [`reestablishment`] | 5.3.2, 5.3.4 | the delay after a departure or a late joiner |
//! | [`messages`] | 5.3.3 | the cost of an election in messages |
//! | [`recurrence`] | 5.3.3.3 | the distribution of first-round messages, uncorrelated loss |
//! | [`printed`] | 5.3 | the formulas as printed, where the chapter is wrong |
//!
//! If no formula for a quantity is known to us, the function returns `None`: only the simulator has
//! it.
//!
//! **Priority that drives the wake-up** (L20). Let a candidate whose priority exceeds a fraction
//! `F` of all priorities wake at the quantile `1 - F` of the wake-up distribution: `T_S (1 - F)`
//! for the uniform one. Priorities drawn from the same distribution make `F` uniform. So the
//! wake-up times have their usual distribution, but the best now wakes first. In a first election
//! this is exactly LE-M: use [`Variant::LeM`]. It differs from LE-M afterwards, because priority
//! does not change from one election to the next as a drawn time would.

pub mod delay;
mod in_step;
pub mod messages;
pub mod printed;
mod quadrature;
pub mod recurrence;
pub mod reestablishment;
pub mod repeats_until_heard;
pub mod wake;

pub use wake::Wake;

/// A variant of the algorithm: the time of announcements, and the order between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Announce-listen election: all announce at time 0, `T_S = 0`; the greatest address wins.
    LeA,
    /// Election with suppression: the greatest address wins, regardless of its wake-up.
    LeS,
    /// Election with suppression in which the earliest wake-up wins; also LE-S with priority that
    /// drives the wake-up.
    LeM,
    /// Suppression alone: a process sends once, at its wake-up, unless it has heard another
    /// process.
    Sup,
    /// Announce-listen alone: all announce every `T_A` from time 0 on, and no process ever yields.
    Al,
}

/// The loss of multicasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MulticastLoss {
    /// Every receiver gets it.
    None,
    /// With this probability no receiver gets it.
    Correlated(f64),
    /// Each receiver misses it with this probability, independently.
    Uncorrelated(f64),
}

impl MulticastLoss {
    /// `l`: the probability that a receiver misses a message.
    pub fn probability(self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Correlated(loss) | Self::Uncorrelated(loss) => loss,
        }
    }

    fn check(self) {
        let loss = self.probability();
        assert!((0.0..1.0).contains(&loss), "loss {loss}: need 0 or more, below 1");
    }
}

/// A group and its network. All times are in one arbitrary unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnnounceModel {
    /// `N`: all processes, the best included. Two or more.
    pub members: u64,
    /// `T_S`: the interval in which processes wake. Above 0; LE-A and AL ignore it.
    pub suppress_interval: f64,
    /// `T_A`: the time from one announcement of a process to its next. Above 0.
    pub announce_interval: f64,
    /// `D`: the time from sending to hearing. 0 or more.
    pub delay: f64,
    /// The loss of multicasts.
    pub loss: MulticastLoss,
    /// The distribution of the wake-up times.
    pub wake: Wake,
}

impl AnnounceModel {
    /// The parameters of figures 5.6 to 5.13: `T_S = T_A = 1`, `D = 0.1`, uniform wake-up.
    pub fn of_the_chapter(members: u64, loss: MulticastLoss) -> Self {
        Self {
            members,
            suppress_interval: 1.0,
            announce_interval: 1.0,
            delay: 0.1,
            loss,
            wake: Wake::Uniform,
        }
    }

    /// `N - 1`: the number of processes that must hear the leader.
    pub fn receivers(&self) -> u64 {
        self.members - 1
    }

    /// Mean time of the leader's first announcement: 0 for LE-A and AL, `E[t_s]` for LE-S, the mean
    /// of the earliest wake-up for LE-M. Also the first message of SUP.
    ///
    /// # Panics
    /// If the model is invalid.
    fn first_announcement(&self, algorithm: Variant) -> f64 {
        self.check();
        match algorithm {
            Variant::LeA | Variant::Al => 0.0,
            Variant::LeS => self.suppress_interval * self.wake.mean(),
            Variant::LeM | Variant::Sup => {
                self.suppress_interval * self.wake.mean_of_earliest(self.members)
            }
        }
    }

    /// The first announcement of the two algorithms whose changes of leader have a closed form.
    fn first_of_le_a_or_s(&self, algorithm: Variant) -> Option<f64> {
        matches!(algorithm, Variant::LeA | Variant::LeS).then(|| self.first_announcement(algorithm))
    }

    /// The loss if it is the same for one receiver and for all. With a single receiver there is no
    /// difference, so two processes with uncorrelated loss behave as with correlated loss.
    fn shared_loss(&self) -> Option<f64> {
        match self.loss {
            MulticastLoss::None => Some(0.0),
            MulticastLoss::Correlated(loss) => Some(loss),
            MulticastLoss::Uncorrelated(loss) => (loss == 0.0 || self.members == 2).then_some(loss),
        }
    }

    fn check(&self) {
        assert!(self.members >= 2, "election among {} members: need two or more", self.members);
        check_interval("suppress", self.suppress_interval);
        check_interval("announce", self.announce_interval);
        assert!(
            self.delay >= 0.0 && self.delay.is_finite(),
            "delay {}: need 0 or more",
            self.delay
        );
        self.loss.check();
        self.wake.check();
    }
}

fn check_interval(name: &str, interval: f64) {
    assert!(interval > 0.0 && interval.is_finite(), "{name} interval {interval}: need above 0");
}
