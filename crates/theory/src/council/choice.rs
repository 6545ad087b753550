//! Every host draws twice, and the centre takes the better draw.
//!
//! A reply carries both draws, so a host whose reply is lost, or that does not hear the centre, is
//! missing from both counts. The two are independent only given the number `x` of hosts whose
//! replies would get through. The other `a - x` active hosts add hosts that are active in the draw
//! taken, and unheard. The state is thus the count `k` of the draw taken, and the number `e` of
//! hosts that are active in it unheard. If the next state has as many active hosts as this one, it
//! is in the same row `a = k + e`, so rows are solved one after the other.

use std::collections::BTreeMap;

use super::Pick;
use super::draw::{Descend, NEGLIGIBLE, Opening, Overshoot, Passage, Rules, Verdict};
use crate::binomial::{law, law_in_steps};

pub(super) struct ChoiceTable {
    rules: Rules,
    pick: Pick,
    /// By the number of active hosts, then by the count, from [`ChoiceTable::least_count`] on.
    rows: Vec<Vec<Passage>>,
}

/// The result of a double draw.
#[derive(Default)]
struct DoubleDraw {
    elected: f64,
    undershoot: f64,
    /// By count and unheard hosts, with repetitions: sorting them would take ten times as long as
    /// iterating.
    overshoots: Vec<((u64, u64), f64)>,
}

impl ChoiceTable {
    pub(super) fn new(rules: Rules, pick: Pick) -> Self {
        Self { rules, pick, rows: Vec::new() }
    }

    /// The smallest possible count above `U` in the row of `active` hosts.
    fn least_count(&self, active: u64) -> u64 {
        if self.rules.loss.reply == 0.0 {
            active.max(self.rules.seats.most + 1)
        } else {
            self.rules.seats.most + 1
        }
    }

    /// The continuation after a draw with `count` hosts, more than `U`, and `unheard` ones.
    fn after(&mut self, count: u64, unheard: u64) -> Passage {
        let active = count + unheard;
        if let Some(known) = self.tabulated(count, unheard) {
            return known;
        }
        let (mut passage, draw) = self.round(active, count);
        let most = draw.overshoots.iter().map(|((count, more), _)| count + more);
        self.tabulate(most.max());
        if let Some(known) = self.tabulated(count, unheard) {
            return known;
        }
        for ((count, unheard), weight) in &draw.overshoots {
            let index = (count - self.least_count(count + unheard)) as usize;
            passage.add(*weight, &self.rows[(count + unheard) as usize][index]);
        }
        passage
    }

    fn tabulated(&self, count: u64, unheard: u64) -> Option<Passage> {
        let active = count + unheard;
        let row = self.rows.get(active as usize)?;
        row.get((count - self.least_count(active)) as usize).copied()
    }

    /// Fills the table up to `most` active hosts.
    fn tabulate(&mut self, most: Option<u64>) {
        let Some(most) = most else { return };
        while self.rows.len() as u64 <= most {
            let row = self.row(self.rows.len() as u64);
            self.rows.push(row);
        }
    }

    /// The row of `active` hosts; the rows below must exist.
    fn row(&self, active: u64) -> Vec<Passage> {
        let least = self.least_count(active);
        let mut passages = Vec::new();
        let mut same_row = Vec::new();
        for count in least..=active {
            let (mut passage, draw) = self.round(active, count);
            let mut weights = vec![0.0; (active - least + 1) as usize];
            for ((count, unheard), weight) in draw.overshoots {
                if count + unheard == active {
                    weights[(count - least) as usize] += weight;
                } else if let Some(below) = self.tabulated(count, unheard) {
                    passage.add(weight, &below);
                }
            }
            passages.push(passage);
            same_row.push(weights);
        }
        eliminate(passages, same_row)
    }

    /// One round among `active` hosts, of which `count` were heard: its cost, and its results.
    fn round(&self, active: u64, count: u64) -> (Passage, DoubleDraw) {
        let chance = self.rules.chance(count);
        let draw = self.draw(active, chance);
        let round = Passage::round(self.replies(active, chance));
        (Passage { undershoot: draw.undershoot, ..round }, draw)
    }

    /// A host that stays in either draw replies.
    fn replies(&self, active: u64, chance: f64) -> f64 {
        self.rules.replies(active, chance * (2.0 - chance))
    }

    fn draw(&self, active: u64, chance: f64) -> DoubleDraw {
        let loss = self.rules.loss;
        let clear = loss.both_ways();
        let unheard_chance = if clear < 1.0 {
            (1.0 - loss.multicast) * loss.reply / (1.0 - clear) * chance
        } else {
            0.0
        };
        let mut draw = DoubleDraw::default();
        for (through, weight) in law_in_steps(active, clear, self.rules.smooth_beyond()) {
            if weight < NEGLIGIBLE {
                continue;
            }
            let counts = self.pick_of_two(through, chance);
            draw.elected += weight * counts.elected;
            draw.undershoot += weight * counts.undershoot;
            let unheard = law(active - through, unheard_chance);
            for ((count, _), part) in counts.overshoots {
                for (more, share) in &unheard {
                    let likely = weight * part * share;
                    if likely >= NEGLIGIBLE {
                        draw.overshoots.push(((count, *more), likely));
                    }
                }
            }
        }
        draw
    }

    /// The centre's choice of two draws among hosts that it hears.
    fn pick_of_two(&self, hosts: u64, chance: f64) -> DoubleDraw {
        let mut counts = law(hosts, chance);
        counts.sort_unstable_by_key(|(count, _)| *count);
        let share_of = |verdict: Verdict| -> f64 {
            let such = counts.iter().filter(|(count, _)| self.rules.verdict(*count) == verdict);
            such.map(|(_, weight)| weight).sum()
        };
        let (low, council) = (share_of(Verdict::Undershoot), share_of(Verdict::Council));
        let no_council = 1.0 - council;
        let mut greater = 0.0;
        let mut overshoots = Vec::new();
        for (count, weight) in counts.iter().rev() {
            if self.rules.verdict(*count) != Verdict::Overshoot {
                break;
            }
            let taken = match self.pick {
                // The other draw is below L, or greater, or the same.
                Pick::SmallestOvershoot => weight * (2.0 * (low + greater) + weight),
                Pick::First => weight * no_council,
            };
            overshoots.push(((*count, 0), taken));
            greater += weight;
        }
        DoubleDraw {
            elected: council * (1.0 + no_council),
            undershoot: match self.pick {
                Pick::SmallestOvershoot => low * low,
                Pick::First => low * no_council,
            },
            overshoots,
        }
    }
}

impl Descend for ChoiceTable {
    fn opening(&mut self, members: u64, chance: f64) -> Opening {
        let draw = self.draw(members, chance);
        // The continuation is expensive, and the same for equal states.
        let mut overshoots: BTreeMap<(u64, u64), f64> = BTreeMap::new();
        for (state, probability) in draw.overshoots {
            *overshoots.entry(state).or_default() += probability;
        }
        let follow = |((count, unheard), probability)| Overshoot {
            count,
            probability,
            after: self.after(count, unheard),
        };
        let overshoots = overshoots.into_iter().map(follow).collect();
        let round = Passage::round(self.replies(members, chance));
        let first = Passage { undershoot: draw.undershoot, ..round };
        Opening { first, elected: draw.elected, overshoots }
    }
}

/// Solves `v_i = passage_i + sum over j of weights_ij v_j`.
///
/// The weights of a row add up to less than 1, so no pivot is near 0.
fn eliminate(mut passages: Vec<Passage>, mut weights: Vec<Vec<f64>>) -> Vec<Passage> {
    for pivot in 0..passages.len() {
        let again = weights[pivot][pivot];
        let solved = passages[pivot].repeated(again);
        let row: Vec<f64> = weights[pivot].iter().map(|it| it / (1.0 - again)).collect();
        passages[pivot] = solved;
        for other in 0..passages.len() {
            let weight = weights[other][pivot];
            if other == pivot || weight == 0.0 {
                continue;
            }
            passages[other].add(weight, &solved);
            for (column, it) in weights[other].iter_mut().enumerate() {
                *it = if column == pivot { 0.0 } else { *it + weight * row[column] };
            }
        }
        weights[pivot] = row;
        weights[pivot][pivot] = 0.0;
    }
    passages
}
