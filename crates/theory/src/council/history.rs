//! After an undershoot those hosts draw again that were active before it: Skip-Reset with history.
//!
//! An undershoot leads back to the beginning of the round, so from `a` active hosts of which `k`
//! were heard
//!
//! ```text
//! v(a, k) = (one round + sum over b <= a of D(b; a, k) V(b)) / (1 - Pr[undershoot]),
//! V(b) = sum over k > U of B(k; b) v(b, k)
//! ```
//!
//! in the terms of `plain.rs`: equations (10) and (11) without loss. `V(a)` is on both sides once,
//! for `b = a`.

use super::draw::{Descend, Opening, Passage, Rules, Verdict, single_opening};

pub(super) struct History {
    rules: Rules,
    /// `V`, from 0 on.
    table: Vec<Passage>,
}

/// `v(a, k)`, without the part in which all `a` hosts stay active.
struct HistoryRound {
    passage: Passage,
    /// The weight of `V(a)`.
    all_stay: f64,
}

impl History {
    pub(super) fn new(rules: Rules) -> Self {
        Self { rules, table: Vec::new() }
    }

    /// `v(active, count)`.
    fn after(&mut self, active: u64, count: u64) -> Passage {
        let HistoryRound { mut passage, all_stay } = self.counted(active, count);
        let all = self.before_count(active);
        passage.add(all_stay, &all);
        passage
    }

    /// `V(active)`.
    fn before_count(&mut self, active: u64) -> Passage {
        match self.table.get(active as usize) {
            Some(known) => *known,
            None => self.solved(active),
        }
    }

    fn solved(&mut self, active: u64) -> Passage {
        let mut passage = Passage::default();
        let mut again = 0.0;
        for (count, weight) in self.rules.hearing(active) {
            if self.rules.verdict(count) == Verdict::Overshoot {
                let step = self.counted(active, count);
                passage.add(weight, &step.passage);
                again += weight * step.all_stay;
            }
        }
        passage.repeated(again)
    }

    fn counted(&mut self, active: u64, count: u64) -> HistoryRound {
        let chance = self.rules.chance(count);
        let next = self.rules.staying(active, chance);
        let below = next.iter().map(|(number, _)| *number);
        self.tabulate(below.filter(|number| *number < active).max());
        let mut passage = Passage::round(self.rules.replies(active, chance));
        let mut all_stay = 0.0;
        for (number, weight) in next {
            if number == active {
                all_stay += weight;
            } else {
                passage.add(weight, &self.table[number as usize]);
            }
        }
        let heard = self.rules.heard_of(active, chance).into_iter();
        let undershoot: f64 = heard
            .filter(|(number, _)| self.rules.verdict(*number) == Verdict::Undershoot)
            .map(|(_, weight)| weight)
            .sum();
        HistoryRound {
            passage: passage.repeated(undershoot),
            all_stay: all_stay / (1.0 - undershoot),
        }
    }

    /// Fills the table up to `most`.
    fn tabulate(&mut self, most: Option<u64>) {
        let Some(most) = most else { return };
        while self.table.len() as u64 <= most {
            let passage = self.solved(self.table.len() as u64);
            self.table.push(passage);
        }
    }
}

impl Descend for History {
    fn opening(&mut self, members: u64, chance: f64) -> Opening {
        let rules = self.rules;
        single_opening(&rules, members, chance, |active, count| self.after(active, count))
    }
}
