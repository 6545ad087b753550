//! Hints to the protocol: the size of the group, and the number of relays K.
//!
//! Purpose     chooses K of a probabilistic election from measurements
//! Inputs      group size, message loss, departure rate, probability that two relays find each
//!             other
//! Outputs     hints to the election driver; the measurements for the status
//! Owns        the last hints ([`AdaptiveK`])
//! Invariants  K is recomputed only if an input has changed notably, and never exceeds [`MOST`]
//!
//! K follows from the wanted success probability of a round by the closed forms of
//! [`hustings_theory`].

use hustings_theory::probabilistic::Model;
use hustings_theory::probabilistic::adaptive::smallest_k;
use serde::{Deserialize, Serialize};

use super::churn_estimate::ChurnEstimate;
use crate::config::ProtocolConfig;
use crate::config::presets::LOSS;
use crate::driver::{ElectionDriver, Hint};
use crate::membership::{Membership, PartialView};
use crate::node::Context;

/// K is recomputed if the size has changed by this share, or loss or crashes by this much.
/// Measurements fluctuate by about as much.
const OTHER_SIZE: f64 = 0.1;
const OTHER_LOSS: f64 = 0.03;
const OTHER_CRASH: f64 = 0.01;

/// The largest first K, at any loss. The number of messages grows with its square.
const MOST: u64 = 224;

/// The largest crash probability in the computation. If more members depart in a round, no election
/// succeeds.
const MOST_CRASHES: f64 = 0.9;

/// The number of members to which each relays gossip.
const FAN_OUT: f64 = 6.0;

/// The last hints to the protocol.
#[derive(Debug, Default)]
pub(super) struct AdaptiveK {
    pub(super) churn_estimate: ChurnEstimate,
    size: Option<u64>,
    /// K, and the inputs of its computation.
    k: Option<(u32, AdaptiveKInputs)>,
}

/// A member's measurements of its group, from which K of a probabilistic election is computed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The share of messages between two members that is lost; none before enough were counted.
    pub loss: Option<f64>,
    /// The probability that a member departs in a first round: it crashes, leaves, or is suspected;
    /// none before enough was observed.
    pub crash: Option<f64>,
    /// The probability that a relay knows another one, from the start or by its broadcast.
    pub view: Option<f64>,
}

/// The inputs of K.
#[derive(Debug, Clone, Copy, PartialEq)]
struct AdaptiveKInputs {
    size: u64,
    crash: f64,
    unicast_loss: f64,
    multicast_loss: f64,
    /// The probability that a relay finds another one.
    meeting: f64,
}

impl AdaptiveKInputs {
    fn is_like(&self, other: &Self) -> bool {
        let ratio = self.size as f64 / other.size as f64;
        (ratio - 1.0).abs() <= OTHER_SIZE
            && (self.unicast_loss - other.unicast_loss).abs() <= OTHER_LOSS
            && (self.multicast_loss - other.multicast_loss).abs() <= OTHER_LOSS
            && (self.crash - other.crash).abs() <= OTHER_CRASH
    }

    /// Returns the smallest K with which a round succeeds as often as wanted, unless its leader
    /// crashes: no K helps against that. If there is none, returns nearly the best K.
    fn k(&self, target: f64) -> u32 {
        let model = Model {
            members: self.size,
            view: self.meeting,
            crash: self.crash.min(MOST_CRASHES),
            unicast_loss: self.unicast_loss,
            multicast_loss: self.multicast_loss,
        };
        let k = match smallest_k(&model, target * (1.0 - model.crash)) {
            Ok(prospect) => prospect.k,
            // The very best would take all members.
            Err(it) if it.best.success > 0.0 => {
                smallest_k(&model, target * it.best.success).map_or(MOST, |it| it.k)
            }
            Err(_) => MOST,
        };
        let k = k.min(MOST);
        u32::try_from(k).unwrap_or(u32::MAX)
    }
}

impl AdaptiveK {
    /// Returns the number of relays in the first round of an election that this member calls.
    pub(super) fn first_k(&self, context: &Context) -> Option<u32> {
        let ProtocolConfig::Probabilistic(protocol) = context.config.protocol else {
            return None;
        };
        Some(self.k.map_or(protocol.strategy.first, |(k, _)| k))
    }

    pub(super) fn measured(&self, context: &Context) -> Option<Measured> {
        self.first_k(context)?; // other protocols have no relays
        Some(Measured {
            loss: context.members.get().and_then(Membership::loss),
            crash: self.crash(context),
            view: self.inputs(context).map(|it| it.meeting),
        })
    }

    /// Returns the probability that a member departs in a first round.
    fn crash(&self, context: &Context) -> Option<f64> {
        let ProtocolConfig::Probabilistic(protocol) = context.config.protocol else {
            return None;
        };
        let round = protocol.spread + protocol.round_time(self.first_k(context)?);
        self.churn_estimate.within(round)
    }

    /// Notes the number of watched members. With partial views it is the leader alone, because all
    /// members learn only of its death.
    fn watch_over(&mut self, context: &Context) {
        let watched = match context.members.get() {
            None => 0,
            Some(view) if view.partial_view().is_some() => usize::from(context.nominee.is_some()),
            Some(whole) => whole.candidates().len(),
        };
        self.churn_estimate.watch(context.now, watched);
    }

    /// Repeats the hints for a new election driver.
    pub(super) fn hint_anew(&mut self, driver: &mut dyn ElectionDriver, context: &Context) {
        self.size = None;
        if let Some((k, _)) = self.k {
            driver.hint(context.now, Hint::FirstK(k));
        }
        self.hint(driver, context);
    }

    /// Gives the protocol the hints that have changed.
    pub(super) fn hint(&mut self, driver: &mut dyn ElectionDriver, context: &Context) {
        self.watch_over(context);
        let ready = context.partial_view().filter(|it| it.is_ready());
        let size = ready.map(PartialView::size_or_view);
        if let Some(size) = size.filter(|_| size != self.size) {
            self.size = Some(size);
            driver.hint(context.now, Hint::GroupSize(size));
        }
        if let Some(target) = context.config.target
            && let Some(inputs) = self.inputs(context)
            && self.k.is_none_or(|(_, it)| !it.is_like(&inputs))
        {
            let k = inputs.k(target);
            self.k = Some((k, inputs));
            driver.hint(context.now, Hint::FirstK(k));
        }
    }

    fn inputs(&self, context: &Context) -> Option<AdaptiveKInputs> {
        let membership = context.members.get()?;
        let unicast_loss = membership.loss().unwrap_or(LOSS);
        let crash = self.crash(context).unwrap_or(0.0);
        let partial_view = membership.partial_view();
        let size = partial_view.map(PartialView::size_or_view);
        let size = size.unwrap_or_else(|| membership.candidates().len() as u64 + 1);
        let goes_by_gossip = partial_view.is_some() && !context.reach.has_multicast();
        let multicast_loss = match goes_by_gossip {
            // It misses a member if no relay chooses it. The repair takes longer than a round.
            true => (-FAN_OUT * (1.0 - unicast_loss)).exp(),
            false => unicast_loss, // by multicast, or by as many unicasts
        };
        // With a partial view each relay broadcasts itself, and its receivers know it.
        let meeting = partial_view.map_or(1.0, |_| 1.0 - multicast_loss);
        Some(AdaptiveKInputs { size, crash, unicast_loss, multicast_loss, meeting })
    }
}

#[cfg(test)]
mod tests {
    use super::AdaptiveKInputs;

    fn grounds(size: u64, loss: f64) -> AdaptiveKInputs {
        AdaptiveKInputs {
            size,
            crash: 0.0,
            unicast_loss: loss,
            multicast_loss: loss,
            meeting: 1.0 - loss,
        }
    }

    #[test]
    fn k_grows_with_the_loss_and_hardly_with_the_group() {
        let k = |size, loss| grounds(size, loss).k(0.999);
        let without_loss = k(300, 0.0);
        assert!((6..=8).contains(&without_loss), "{without_loss}");
        let (some, much) = (k(300, 0.1), k(300, 0.2));
        assert!(without_loss < some && some < much && much < 60, "{some}, {much}");
        assert!(k(3_000, 0.1) <= some + 8);
        assert!(k(1, 0.1) == 1 && k(5, 0.5) <= 5, "never more than all");
    }

    /// Members that depart in a round do not relay to its end. A possible departure of the leader
    /// is no reason for all members to relay.
    #[test]
    fn k_grows_with_crashes_and_has_a_bound() {
        let k = |crash, loss| {
            let calm = grounds(20_000, loss);
            AdaptiveKInputs { crash, ..calm }.k(0.999)
        };
        let (none, some, many) = (k(0.0, 0.1), k(0.1, 0.1), k(0.5, 0.1));
        assert!(none < some && some < many && many < 60, "{none}, {some}, {many}");
        assert!(k(0.0, 0.8) <= 224 && k(1.0, 0.1) <= 224 && k(0.0, 1.0) <= 224);
    }

    /// The wanted success is a share of what is possible if the leader does not crash.
    #[test]
    fn k_does_not_make_up_for_the_crash_of_the_leader() {
        let calm = grounds(20_000, 0.1);
        let crashing = AdaptiveKInputs { crash: 0.09, ..calm };
        assert!(crashing.k(0.9) <= calm.k(0.9) + 1);
    }

    #[test]
    fn small_changes_do_not_recompute_k() {
        let now = grounds(300, 0.1);
        assert!(now.is_like(&grounds(320, 0.12)));
        assert!(!now.is_like(&grounds(400, 0.1)) && !now.is_like(&grounds(300, 0.15)));
        let with = |crash| AdaptiveKInputs { crash, ..now };
        assert!(now.is_like(&with(0.005)) && !now.is_like(&with(0.02)));
    }
}
