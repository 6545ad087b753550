//! The probabilistic election: a few members, drawn by a hash, agree on a leader for all.
//!
//! Source    Gupta, van Renesse and Birman, "A Probabilistically Correct Leader Election Protocol for Large
//!           Groups" (seed 000), section 4; claims P1 to P12
//! Assumes   one round among `N` members; a fair hash, so that each member passes the filter with probability
//!           `K/N`; a member knows another with probability `view_prob`, fails in the round with `p_fail`, and,
//!           if it fails, does so before its final multicast; a unicast is lost with `p_ucastl`, a multicast by
//!           each receiver with `p_mcastl`; all of this independently; time-outs that are long enough
//! Counts    unicasts that are lost, or that go to who is not there
//!
//! | Module | Section | What it answers |
//! |---|---|---|
//! | [`factors`] | round success probabilities, Figure 4 | the five factors and their product, as printed; the first as it is |
//! | [`relay`] | 3.1, 4 | whether the relay members come to one choice |
//! | [`success`] | round success probabilities | how often a round succeeds |
//! | [`detection`] | detection of incorrect termination, Theorem 2 | how often a failed round is noticed |
//! | [`cost`] | complexity, Theorems 3 to 5 | messages and time |
//! | [`rounds`] | 3.2 | how many rounds an election takes at most, and how many messages |
//! | [`adaptive`] | 3.2 | the smallest `K` for a wanted success, and its cost |
//!
//! **What is wrong in print.** The factors are approximations, not bounds ([`factors::e1_exact`],
//! [`relay::connected`]); two relay members are joined if *one* of them knows the other
//! ([`relay::edge_probability`]); the exponents of Theorem 2 are misplaced ([`detection`]); the group size from
//! which the fourth factor falls has three times the exponent ([`factors::log10_of_group_limit`]); and the third
//! factor takes every unicast along a tree to be needed, so that more relay members make a round *less* likely to
//! succeed, where in truth what does not come one way comes another ([`success`]).

pub mod adaptive;
pub mod cost;
pub mod detection;
pub mod factors;
pub mod relay;
pub mod rounds;
pub mod success;

/// A group and its network, in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// `N`: all members. One or more.
    pub members: u64,
    /// `view_prob`: the probability that a member knows another.
    pub view: f64,
    /// `p_fail`: the probability that a member fails in the round.
    pub crash: f64,
    /// `p_ucastl`: the probability that a unicast is lost.
    pub unicast_loss: f64,
    /// `p_mcastl`: the probability that one receiver misses a multicast.
    pub multicast_loss: f64,
}

impl Model {
    /// The parameters of Figure 4.
    #[must_use]
    pub fn of_figure_4() -> Self {
        Self {
            members: 10_000,
            view: 0.4,
            crash: 0.01,
            unicast_loss: 0.01,
            multicast_loss: 0.01,
        }
    }

    /// `K_1 = (1 - p_mcastl) K`: how many members enter the relay phase, on average.
    ///
    /// # Panics
    /// If the model or `K` is none.
    #[must_use]
    pub fn relay_members(&self, k: f64) -> f64 {
        self.check(k);
        (1.0 - self.multicast_loss) * k
    }

    /// `K_2 = (1 - p_fail) K_1`: how many of these live to send their final multicast, on average.
    ///
    /// # Panics
    /// If the model or `K` is none.
    #[must_use]
    pub fn final_senders(&self, k: f64) -> f64 {
        (1.0 - self.crash) * self.relay_members(k)
    }

    /// The probability that a given member enters the relay phase.
    fn chance_to_relay(&self, k: f64) -> f64 {
        self.relay_members(k) / self.members as f64
    }

    /// The probability that a given member sends a final multicast.
    fn chance_to_finish(&self, k: f64) -> f64 {
        self.final_senders(k) / self.members as f64
    }

    fn check(&self, k: f64) {
        assert!(self.members >= 1, "election among nobody");
        check_probability("view", self.view);
        check_probability("crash", self.crash);
        check_probability("unicast loss", self.unicast_loss);
        check_probability("multicast loss", self.multicast_loss);
        assert!(
            k > 0.0 && k <= self.members as f64,
            "K {k} among {} members: need above 0, at most all of them",
            self.members
        );
    }
}

fn check_probability(name: &str, probability: f64) {
    assert!(
        (0.0..=1.0).contains(&probability),
        "{name} probability {probability}: need from 0 to 1"
    );
}
