//! The probabilistic election: a few members, drawn by a hash, agree on a leader for all.
//!
//! Source    Gupta, van Renesse and Birman, "A Probabilistically Correct Leader Election Protocol
//!           for Large Groups" (seed 000), section 4; claims P1 to P12
//! Assumes   one round among `N` members; a fair hash, so that each member passes the filter with
//!           probability `K/N`; a member knows another with probability `view_prob`, fails in the
//!           round with `p_fail`, and, if it fails, does so before its final multicast; a unicast
//!           is lost with `p_ucastl`, a multicast by each receiver with `p_mcastl`; all of this
//!           independently; time-outs that are long enough
//! Counts    unicasts that are lost, or that go to failed members, too
//!
//! | Module | Section | Content |
//! |---|---|---|
//! | [`factors`] | round success, Figure 4 | the five factors and their product as printed |
//! | [`relay_agreement`] | 3.1, 4 | the agreement of the relay members on one choice |
//! | [`success`] | round success probabilities | the probability that a round succeeds |
//! | [`detection`] | Theorem 2 | the probability that a failed round is noticed |
//! | [`cost`] | complexity, Theorems 3 to 5 | messages and time |
//! | [`rounds`] | 3.2 | bounds on the rounds and messages of an election |
//! | [`adaptive`] | 3.2 | the smallest `K` for a wanted success, and its cost |
//!
//! **Errors in print.** The factors are approximations, not bounds ([`factors::e1_exact`],
//! [`relay_agreement::connected`]). Two relay members are joined if *one* of them knows the other
//! ([`relay_agreement::passage_probability`]). The exponents of Theorem 2 are misplaced ([`detection`]). The
//! group size from which the fourth factor falls has three times the exponent
//! ([`factors::log10_of_group_limit`]). The third factor assumes that every unicast along a tree is
//! needed, so that more relay members make a round *less* likely to succeed; in truth there are
//! alternative paths ([`success`]).

pub mod adaptive;
pub mod cost;
pub mod detection;
pub mod factors;
pub mod relay_agreement;
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
    /// `p_mcastl`: the probability that a receiver misses a multicast.
    pub multicast_loss: f64,
}

impl Model {
    /// The parameters of Figure 4.
    pub fn of_figure_4() -> Self {
        Self { members: 10_000, view: 0.4, crash: 0.01, unicast_loss: 0.01, multicast_loss: 0.01 }
    }

    /// `K_1 = (1 - p_mcastl) K`: the mean number of members that enter the relay phase.
    ///
    /// # Panics
    /// If the model or `K` is invalid.
    pub fn relay_members(&self, k: f64) -> f64 {
        self.check(k);
        (1.0 - self.multicast_loss) * k
    }

    /// `K_2 = (1 - p_fail) K_1`: the mean number of relay members that live to send their final
    /// multicast.
    ///
    /// # Panics
    /// If the model or `K` is invalid.
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
        assert!(self.members >= 1, "election among 0 members: need one or more");
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
