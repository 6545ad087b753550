//! The cheaters' choice of flips, and its timing.

use std::sync::Arc;

use hustings_protocol::wagner::Ring;
use hustings_protocol::wagner::flips::Flip;
use rand_core::Rng;

use super::scheme::{Move, Scheme};
use super::{Cheat, Plot};

impl Plot {
    /// True if all of their flips are chosen.
    pub(super) fn has_chosen(&self) -> bool {
        self.own.iter().all(Option::is_some)
    }

    /// Chooses the flips that can be chosen now.
    pub(super) fn choose(&mut self, rng: &mut impl Rng) {
        if self.has_chosen() {
            return;
        }
        match &self.segment.cheat {
            Cheat::DeterministicFlip => self.see_and_steer(rng),
            Cheat::StaleMate => self.follow_neighbours(rng),
            Cheat::Best(scheme) => {
                let scheme = Arc::clone(scheme);
                self.follow(&scheme, rng);
            }
            Cheat::InconsistentMessage
            | Cheat::ChangeMessage
            | Cheat::BrokenRing
            | Cheat::FaultMessage
            | Cheat::NoFaultMessage
            | Cheat::SimulateProcessor => self.flip_all(rng),
        }
    }

    fn flip_all(&mut self, rng: &mut impl Rng) {
        let cheaters = self.cheaters as usize;
        for own in &mut self.own[..cheaters] {
            *own = Some(flip(rng));
        }
        if let Some(plan) = &mut self.plan {
            for own in &mut self.own[cheaters..] {
                *own = Some(flip(&mut plan.pretended));
            }
        }
    }

    /// All flips but the leftmost go to the right at once, in return for which the right neighbour
    /// shows as many flips of others. Then the last flip is chosen.
    fn see_and_steer(&mut self, rng: &mut impl Rng) {
        if self.own.get(1).is_some_and(Option::is_none) {
            self.flip_all(rng);
            if self.leader.splits() {
                self.gather();
            }
            self.own[0] = None;
        }
        let shown_first = self.cheaters - 1;
        self.ahead = [0, shown_first];
        let others = self.setting.members - self.cheaters;
        let for_free = match self.setting.honest.ring {
            Ring::BothWays => 1,
            Ring::Clockwise => 0,
        };
        let wanted = (shown_first + for_free).min(others - 1) as usize;
        let [left, right] = &self.ends;
        if left.heard.is_empty() || right.heard.len() < wanted {
            return;
        }
        self.own[0] = Some(if self.leader.splits() {
            self.side_of_the_others()
        } else {
            self.steered_coin()
        });
    }

    /// In a stage the cheaters flip alike, so that a coin in their favour keeps all of them. Once
    /// only cheaters are active, the first active one flips differently; otherwise the draw would
    /// not end.
    fn gather(&mut self) {
        let is_first = self.first_active();
        for at in 0..self.own.len() {
            self.own[at] = Some(Flip::heads_if(is_first == Some(at)));
        }
        if self.has_rivals() {
            self.own.fill(Some(Flip::Heads));
        }
    }

    fn side_of_the_others(&self) -> Flip {
        if self.has_rivals() { Flip::Heads } else { Flip::heads_if(self.first_active() == Some(0)) }
    }

    /// The first active cheater.
    fn first_active(&self) -> Option<usize> {
        (0..self.own.len()).find(|at| self.leader.active().contains(self.place(*at)))
    }

    /// True if any other member is active.
    fn has_rivals(&self) -> bool {
        let mut active = self.leader.active().iter();
        active.any(|place| !self.segment.holds(place, self.setting.members))
    }

    /// The flip that makes the number of known heads even. Even means tails, which keeps the
    /// members that flipped heads, as the cheaters did.
    fn steered_coin(&self) -> Flip {
        let known = (0..self.setting.members).filter_map(|place| self.flip_of(place));
        let heads = known.filter(|flip| *flip == Flip::Heads).count();
        Flip::heads_if(heads % 2 == 1)
    }

    /// The cheaters wait for both neighbours (with an agreed direction, for the one that sends
    /// first), and flip as the active ones do. If the neighbours differ, one cheater goes with
    /// each, the far one. Then, in either remaining part, they see all other flips before they show
    /// their own, and the two are not neighbours.
    fn follow_neighbours(&mut self, rng: &mut impl Rng) {
        let waits_for_right = match self.setting.honest.ring {
            Ring::BothWays => true,
            Ring::Clockwise => false,
        };
        let [left, right] = &self.ends;
        if left.heard.is_empty() || (waits_for_right && right.heard.is_empty()) {
            return;
        }
        if !self.leader.splits() {
            self.flip_all(rng);
            return;
        }
        let shown = |place: u32| {
            let is_active = self.leader.active().contains(place);
            self.flip_of(place).filter(|_| is_active)
        };
        let (left, right) =
            (shown(self.left_neighbour().0 as u32), shown(self.right_neighbour().0 as u32));
        match (left, right) {
            (Some(left), Some(right)) if left != right => self.part(left, right),
            (one, other) => self.own.fill(one.or(other).or(Some(Flip::Heads))),
        }
    }

    /// One cheater goes with each neighbour.
    fn part(&mut self, left: Flip, right: Flip) {
        let active: Vec<usize> = (0..self.own.len())
            .filter(|at| self.leader.active().contains(self.place(*at)))
            .collect();
        self.own.fill(Some(right));
        // The rightmost goes with the left neighbour, unless the two would be neighbours.
        if let Some(far) = active.last().filter(|far| **far > 0) {
            self.own[*far] = Some(left);
        }
    }

    /// Makes one move after the other, each when all flips have come that can come before it.
    fn follow(&mut self, scheme: &Scheme, rng: &mut impl Rng) {
        if !self.leader.splits() {
            self.flip_all(rng); // the coin is not theirs
            return;
        }
        let active = self.known(u32::MAX, |place| self.leader.active().contains(place));
        while !self.has_chosen() {
            let [left, right] = self.ahead;
            let sight = scheme.sight(active, left, right);
            let [from_left, from_right] = self.ends.each_ref().map(|end| end.heard.len());
            if from_left < sight.from_left as usize || from_right < sight.from_right as usize {
                return;
            }
            let heads = self
                .known(sight.shown | sight.seen, |place| self.flip_of(place) == Some(Flip::Heads));
            let Move { side, flip } = scheme.next(active, left, right, heads);
            self.ahead[side as usize] += 1;
            let shown = scheme.sight(active, self.ahead[0], self.ahead[1]).shown;
            for at in 0..self.own.len() {
                if (shown & !sight.shown) >> at & 1 == 1 {
                    self.own[at] = Some(flip);
                }
            }
        }
    }

    /// The positions in `set`, counted from the first cheater on, for which `what` holds on the
    /// ring.
    fn known(&self, set: u32, what: impl Fn(u32) -> bool) -> u32 {
        let places = (0..self.setting.members).filter(|at| set >> at & 1 == 1);
        let these = places.filter(|at| what(self.place(*at as usize)));
        these.map(|at| 1 << at).sum()
    }

    /// The position on the ring that is `at` positions clockwise of the first cheater.
    fn place(&self, at: usize) -> u32 {
        (self.segment.from + at as u32) % self.setting.members
    }
}

fn flip(rng: &mut impl Rng) -> Flip {
    Flip::heads_if(rng.next_u64() >> 63 == 1)
}
