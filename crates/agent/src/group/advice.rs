//! What the protocol is told of its group while it runs: how large it is, and how many are to relay.
//!
//! K follows from the wanted success of a round by the closed forms of [`hustings_theory`]: from the size of the group and
//! what part of the messages is lost, both as measured.

use hustings_protocol::Instant;
use hustings_theory::probabilistic::Model;
use hustings_theory::probabilistic::adaptive::smallest_k;

use super::Group;
use crate::config::ProtocolConfig;
use crate::config::presets::LOSS;
use crate::driver::Advice;
use crate::membership::Circle;

/// K is computed anew where the size has changed by this part, or the loss by this much: what is measured wavers as much.
const OTHER_SIZE: f64 = 0.1;
const OTHER_LOSS: f64 = 0.03;

/// To how many each passes on what is said to all.
const FAN_OUT: f64 = 6.0;

/// What the protocol was told.
#[derive(Debug, Default)]
pub(super) struct Advised {
    size: Option<u64>,
    /// K, and what it was computed from.
    k: Option<(u32, Grounds)>,
}

/// What K is computed from.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Grounds {
    size: u64,
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
    }

    /// The smallest K with which a round succeeds as often as wanted; if none does, the best.
    fn k(&self, target: f64) -> u32 {
        let model = Model {
            members: self.size,
            view: self.meeting,
            crash: 0.0, // an offer to who is gone counts as lost
            unicast_loss: self.unicast_loss,
            multicast_loss: self.multicast_loss,
        };
        let k = match smallest_k(&model, target) {
            Ok(prospect) => prospect.k,
            Err(out_of_reach) => out_of_reach.best.k,
        };
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
        let size = self.circle().and_then(Circle::size);
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
        let Some(circle) = membership.circle() else {
            return Some(Grounds {
                size: membership.candidates().len() as u64 + 1,
                unicast_loss: LOSS,
                multicast_loss: LOSS,
                meeting: 1.0,
            });
        };
        let unicast_loss = circle.loss().unwrap_or(LOSS);
        // What goes from each to a few misses whom none of them tells, and is repaired later than a round lasts.
        let multicast_loss = match self.reach.multicast() {
            Some(_) => unicast_loss,
            None => (-FAN_OUT * (1.0 - unicast_loss)).exp(),
        };
        Some(Grounds {
            size: circle.size_or_view(),
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

    #[test]
    fn what_wavers_is_no_news() {
        let now = grounds(300, 0.1);
        assert!(now.is_like(&grounds(320, 0.12)));
        assert!(!now.is_like(&grounds(400, 0.1)) && !now.is_like(&grounds(300, 0.15)));
    }
}
