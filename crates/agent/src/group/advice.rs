//! What the protocol is told of its group while it runs: how large it is, and how many are to relay.
//!
//! K follows from the wanted success of a round by the closed forms of [`hustings_theory`]: from the size of the group, what
//! part of the messages is lost, how often members go, and how likely two that relay find each other, all as measured.

use hustings_protocol::Instant;
use hustings_theory::probabilistic::Model;
use hustings_theory::probabilistic::adaptive::smallest_k;
use serde::{Deserialize, Serialize};

use super::Group;
use crate::config::ProtocolConfig;
use crate::config::presets::LOSS;
use crate::driver::Advice;
use crate::membership::{Circle, Membership};

/// K is computed anew where the size has changed by this part, or loss or crashes by this much: what is measured wavers as
/// much.
const OTHER_SIZE: f64 = 0.1;
const OTHER_LOSS: f64 = 0.03;
const OTHER_CRASH: f64 = 0.01;

/// However much is lost, no more are to relay at first: the square of it is sent.
const MOST: u64 = 224;

/// If more than this part of all members goes in a round, no election is of use, and K may as well be that for this.
const MOST_CRASHES: f64 = 0.9;

/// To how many each passes on what is said to all.
const FAN_OUT: f64 = 6.0;

/// What the protocol was told.
#[derive(Debug, Default)]
pub(super) struct Advised {
    size: Option<u64>,
    /// K, and what it was computed from.
    k: Option<(u32, Grounds)>,
}

/// What a member has measured of its group, and K of a probabilistic election is computed from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// What part of the messages between two members is lost; none before enough have been counted.
    pub loss: Option<f64>,
    /// How likely a member goes in a first round: it crashes, leaves, or is taken for dead; none before enough was seen.
    pub crash: Option<f64>,
    /// How likely one that relays knows another, from the beginning or by what it says to all.
    pub view: Option<f64>,
}

/// What K is computed from.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Grounds {
    size: u64,
    crash: f64,
    unicast_loss: f64,
    multicast_loss: f64,
    /// How likely a member that relays finds another.
    meeting: f64,
}

impl Grounds {
    fn is_like(&self, other: &Self) -> bool {
        let ratio = self.size as f64 / other.size as f64;
        (ratio - 1.0).abs() <= OTHER_SIZE
            && (self.unicast_loss - other.unicast_loss).abs() <= OTHER_LOSS
            && (self.multicast_loss - other.multicast_loss).abs() <= OTHER_LOSS
            && (self.crash - other.crash).abs() <= OTHER_CRASH
    }

    /// The smallest K with which a round succeeds as often as wanted, unless its leader crashes, against which no K helps;
    /// if none does, nearly the best.
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
            // The last little bit would take all members.
            Err(it) if it.best.success > 0.0 => {
                smallest_k(&model, target * it.best.success).map_or(MOST, |it| it.k)
            }
            Err(_) => MOST,
        };
        let k = k.min(MOST);
        u32::try_from(k).unwrap_or(u32::MAX)
    }
}

impl Group {
    /// How many are to relay in the first round of an election that this member calls.
    pub(super) fn first_k(&self) -> Option<u32> {
        let ProtocolConfig::Probabilistic(protocol) = self.config.protocol else {
            return None;
        };
        let advised = self.advised.k.map(|(k, _)| k);
        Some(advised.unwrap_or(protocol.strategy.first))
    }

    pub(super) fn measured(&self) -> Option<Measured> {
        self.first_k()?; // else nobody relays
        Some(Measured {
            loss: self.membership.as_ref().and_then(Membership::loss),
            crash: self.crash(),
            view: self.grounds().map(|it| it.meeting),
        })
    }

    /// How likely a member goes in a first round.
    fn crash(&self) -> Option<f64> {
        let ProtocolConfig::Probabilistic(protocol) = self.config.protocol else {
            return None;
        };
        let round = protocol.spread + protocol.round_time(self.first_k()?);
        self.mortality.within(round)
    }

    /// Takes note of how many are there to depart: of a group that nobody knows whole, all hear of its leader's death alone.
    fn watch_over(&mut self, now: Instant) {
        let watched = match &self.membership {
            None => 0,
            Some(whole @ Membership::Whole(_)) => whole.count(),
            Some(Membership::Partial(_)) => usize::from(self.nominee.is_some()),
        };
        self.mortality.watch(now, watched);
    }

    /// A new seat has been told nothing.
    pub(super) fn advise_anew(&mut self, now: Instant) {
        self.advised.size = None;
        if let Some((k, _)) = self.advised.k {
            self.seat.advise(now, Advice::FirstK(k));
        }
        self.advise(now);
    }

    /// Tells the protocol what is news.
    pub(super) fn advise(&mut self, now: Instant) {
        self.watch_over(now);
        let ready = self.circle().filter(|it| it.is_ready());
        let size = ready.map(Circle::size_or_view);
        if let Some(size) = size.filter(|_| size != self.advised.size) {
            self.advised.size = Some(size);
            self.seat.advise(now, Advice::GroupSize(size));
        }
        if let Some(target) = self.config.target
            && let Some(grounds) = self.grounds()
            && self.advised.k.is_none_or(|(_, it)| !it.is_like(&grounds))
        {
            let k = grounds.k(target);
            self.advised.k = Some((k, grounds));
            self.seat.advise(now, Advice::FirstK(k));
        }
    }

    fn grounds(&self) -> Option<Grounds> {
        let membership = self.membership.as_ref()?;
        let unicast_loss = membership.loss().unwrap_or(LOSS);
        let crash = self.crash().unwrap_or(0.0);
        let Some(circle) = membership.circle() else {
            return Some(Grounds {
                size: membership.count() as u64 + 1,
                crash,
                unicast_loss,
                multicast_loss: unicast_loss, // or as many unicasts
                meeting: 1.0,
            });
        };
        // What goes from each to a few misses whom none of them tells, and is repaired later than a round lasts.
        let multicast_loss = match self.reach.multicast() {
            Some(_) => unicast_loss,
            None => (-FAN_OUT * (1.0 - unicast_loss)).exp(),
        };
        Some(Grounds {
            size: circle.size_or_view(),
            crash,
            unicast_loss,
            multicast_loss,
            // Each tells all of itself, and those who hear it know it.
            meeting: 1.0 - multicast_loss,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Grounds;

    fn grounds(size: u64, loss: f64) -> Grounds {
        Grounds {
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
        assert!(
            without_loss < some && some < much && much < 60,
            "{some}, {much}"
        );
        assert!(k(3_000, 0.1) <= some + 8);
        assert!(k(1, 0.1) == 1 && k(5, 0.5) <= 5, "never more than all");
    }

    /// Members that go in a round do not relay to its end; that the leader itself may go is no reason for all to relay.
    #[test]
    fn k_grows_with_crashes_and_has_a_bound() {
        let k = |crash, loss| {
            let calm = grounds(20_000, loss);
            Grounds { crash, ..calm }.k(0.999)
        };
        let (none, some, many) = (k(0.0, 0.1), k(0.1, 0.1), k(0.5, 0.1));
        assert!(
            none < some && some < many && many < 60,
            "{none}, {some}, {many}"
        );
        assert!(k(0.0, 0.8) <= 224 && k(1.0, 0.1) <= 224 && k(0.0, 1.0) <= 224);
    }

    /// What is wanted is so much of what can be had if the leader lives.
    #[test]
    fn k_does_not_make_up_for_the_crash_of_the_leader() {
        let calm = grounds(20_000, 0.1);
        let crashing = Grounds {
            crash: 0.09,
            ..calm
        };
        assert!(crashing.k(0.9) <= calm.k(0.9) + 1);
    }

    #[test]
    fn what_wavers_is_no_news() {
        let now = grounds(300, 0.1);
        assert!(now.is_like(&grounds(320, 0.12)));
        assert!(!now.is_like(&grounds(400, 0.1)) && !now.is_like(&grounds(300, 0.15)));
        let with = |crash| Grounds { crash, ..now };
        assert!(now.is_like(&with(0.005)) && !now.is_like(&with(0.02)));
    }
}
