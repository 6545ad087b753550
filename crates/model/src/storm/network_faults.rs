//! Network faults: messages are lost, late, duplicated, reordered or cut off.

use super::chance::Chance;
use super::clock::Micros;
use super::fault::Profile;

/// The maximum delays of late messages: a round, a tenure, or several.
const LATEST: [Micros; 3] = [150_000, 1_000_000, 5_000_000];

/// The maximum delays of messages at which nominees interfere with each other.
const SLOW: [Micros; 3] = [30_000, 50_000, 80_000];

/// The state of the network for some time. Probabilities are in percent.
#[derive(Debug, Clone, Copy)]
pub(super) struct NetworkFaults {
    loss: u64,
    doubling: u64,
    /// The share of late messages.
    late: u64,
    /// The maximum delay of late messages.
    latest: Micros,
    /// The maximum delay of all other messages. Delays vary, so messages overtake each other.
    slowest: Micros,
}

/// The fate of one message: the arrival times of its copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Lost,
    Arrives(Micros),
    Doubled(Micros, Micros),
}

impl NetworkFaults {
    /// Draws a state of the network. Half of the time there are no faults: without a holder nothing
    /// is tested.
    pub(super) fn draw(profile: Profile, chance: &mut Chance) -> Self {
        let fair = |slowest| Self { loss: 0, doubling: 0, late: 0, latest: 0, slowest };
        if profile == Profile::LostDisks {
            return fair(chance.choose(&SLOW));
        }
        let slowest = chance.choose(&[1, 200, 5_000, SLOW[0], SLOW[1], SLOW[2]]);
        if chance.happens(50) {
            return fair(slowest);
        }
        Self {
            loss: chance.choose(&[0, 3, 10, 40]),
            doubling: chance.choose(&[0, 10, 50]),
            late: chance.choose(&[0, 3, 20, 50]),
            latest: chance.choose(&LATEST),
            slowest,
        }
    }

    pub(super) fn fate(&self, now: Micros, chance: &mut Chance) -> Fate {
        if self.loss > 0 && chance.happens(self.loss) {
            return Fate::Lost;
        }
        let first = self.arrival(now, chance);
        if self.doubling > 0 && chance.happens(self.doubling) {
            return Fate::Doubled(first, self.arrival(now, chance));
        }
        Fate::Arrives(first)
    }

    fn arrival(&self, now: Micros, chance: &mut Chance) -> Micros {
        let slowest =
            if self.late > 0 && chance.happens(self.late) { self.latest } else { self.slowest };
        now + chance.between(1, slowest)
    }
}

/// Links that are cut. Messages already in flight still arrive.
#[derive(Debug, Clone, Default)]
pub(super) struct Cuts {
    /// For each sender, one bit per member that does not hear it.
    deaf: [u16; 16],
}

impl Cuts {
    pub(super) fn is_cut(&self, from: usize, to: usize) -> bool {
        self.deaf[from] & 1 << to != 0
    }

    /// Cuts every link between the two sides.
    pub(super) fn divide(&mut self, side: u16) {
        for (who, deaf) in self.deaf.iter_mut().enumerate() {
            *deaf |= if side & 1 << who != 0 { !side } else { side };
        }
    }

    pub(super) fn cut_one_way(&mut self, from: usize, to: usize) {
        self.deaf[from] |= 1 << to;
    }

    pub(super) fn heal(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::Cuts;

    #[test]
    fn partition_cuts_only_links_between_sides_until_healed() {
        let mut cuts = Cuts::default();
        cuts.divide(0b0011);
        cuts.cut_one_way(2, 3);
        let cut = |cuts: &Cuts| {
            let links = (0..4).flat_map(|from| (0..4).map(move |to| (from, to)));
            links.filter(|(from, to)| cuts.is_cut(*from, *to)).collect::<Vec<_>>()
        };
        let across = [(0, 2), (0, 3), (1, 2), (1, 3)];
        let back = [(2, 0), (2, 1), (2, 3), (3, 0), (3, 1)];
        assert_eq!(cut(&cuts), [&across[..], &back[..]].concat());
        cuts.heal();
        assert_eq!(cut(&cuts), []);
    }
}
