//! What becomes of messages: lost, late, doubled, overtaken, cut off.

use super::chance::Chance;
use super::clock::Micros;
use super::season::Season;

/// By how much late messages are late, at most: a round, a tenure, or several.
const LATEST: [Micros; 3] = [150_000, 1_000_000, 5_000_000];

/// How long messages take where nominees get in each other's way, at most.
const SLOW: [Micros; 3] = [30_000, 50_000, 80_000];

/// How the network is, for a while. Chances are in percent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weather {
    loss: u64,
    doubling: u64,
    /// How many are late.
    late: u64,
    /// And by how much, at most.
    latest: Micros,
    /// All others take up to so long, each its own time: they overtake each other.
    slowest: Micros,
}

/// What becomes of one message: when its copies arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Lost,
    Arrives(Micros),
    Doubled(Micros, Micros),
}

impl Weather {
    /// Fair as often as not: where nobody ever holds, nothing is tried.
    pub(super) fn draw(season: Season, chance: &mut Chance) -> Self {
        let fair = |slowest| Self {
            loss: 0,
            doubling: 0,
            late: 0,
            latest: 0,
            slowest,
        };
        if season == Season::LostDisks {
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
        let slowest = match self.late > 0 && chance.happens(self.late) {
            true => self.latest,
            false => self.slowest,
        };
        now + chance.between(1, slowest)
    }
}

/// Who cannot be heard by whom. What is on its way when a link is cut still arrives.
#[derive(Debug, Clone, Default)]
pub(super) struct Cuts {
    /// By sender: a bit for each member that does not hear it.
    deaf: [u16; 16],
}

impl Cuts {
    pub(super) fn is_cut(&self, from: usize, to: usize) -> bool {
        self.deaf[from] & 1 << to != 0
    }

    /// Nobody on one side hears anybody on the other.
    pub(super) fn divide(&mut self, side: u16) {
        for (who, deaf) in self.deaf.iter_mut().enumerate() {
            *deaf |= match side & 1 << who != 0 {
                true => !side,
                false => side,
            };
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
    fn a_division_separates_sides_and_nothing_else_until_it_heals() {
        let mut cuts = Cuts::default();
        cuts.divide(0b0011);
        cuts.cut_one_way(2, 3);
        let cut = |cuts: &Cuts| {
            let links = (0..4).flat_map(|from| (0..4).map(move |to| (from, to)));
            links
                .filter(|(from, to)| cuts.is_cut(*from, *to))
                .collect::<Vec<_>>()
        };
        let across = [(0, 2), (0, 3), (1, 2), (1, 3)];
        let back = [(2, 0), (2, 1), (2, 3), (3, 0), (3, 1)];
        assert_eq!(cut(&cuts), [&across[..], &back[..]].concat());
        cuts.heal();
        assert_eq!(cut(&cuts), []);
    }
}
