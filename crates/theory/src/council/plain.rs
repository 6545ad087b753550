//! A host that drew out stays out, and after an undershoot all draw again: basic and Skip-Reset.
//!
//! Of `a` active hosts the centre hears `k`, so the next draw is with `c/k`. With `V(a)` for the
//! expectation before they are counted, `B(k; a)` for the distribution of the count and `D(b; a,
//! k)` for that of the next active hosts,
//!
//! ```text
//! V(a) = sum over k > U of B(k; a) (one round + sum over b <= a of D(b; a, k) V(b)),
//!        and an undershoot for k < L
//! ```
//!
//! which has `V(a)` on both sides once, for `b = a`: it is solved for one `a` after the other.

use super::draw::{Descend, Opening, Passage, Rules, Verdict, single_opening};

pub(super) struct Plain {
    rules: Rules,
    /// `V`, from 0 on.
    table: Vec<Passage>,
}

/// A round and the hosts that stay active after it, without the continuation.
struct PlainRound {
    passage: Passage,
    next: Vec<(u64, f64)>,
}

impl Plain {
    pub(super) fn new(rules: Rules) -> Self {
        Self { rules, table: Vec::new() }
    }

    /// The continuation if `active` hosts are active and `count` of them, more than `U`, were
    /// heard.
    fn after(&mut self, active: u64, count: u64) -> Passage {
        if self.rules.loss.reply == 0.0 {
            return self.before_count(active);
        }
        let PlainRound { mut passage, next } = self.counted(active, count);
        let (below, same): (Vec<_>, Vec<_>) = next.iter().partition(|(number, _)| *number < active);
        self.tabulate(below.iter().map(|(number, _)| *number).max());
        for (number, weight) in below {
            passage.add(weight, &self.table[number as usize]);
        }
        for (number, weight) in same {
            passage.add(weight, &self.before_count(number));
        }
        passage
    }

    /// `V(active)`.
    fn before_count(&mut self, active: u64) -> Passage {
        if let Some(known) = self.table.get(active as usize) {
            return *known;
        }
        let step = self.uncounted(active);
        let below = step.next.iter().map(|(number, _)| *number);
        self.tabulate(below.filter(|number| *number < active).max());
        self.solved(active, &step)
    }

    /// Fills the table up to `most`.
    fn tabulate(&mut self, most: Option<u64>) {
        let Some(most) = most else { return };
        for active in self.table.len() as u64..=most {
            let step = self.uncounted(active);
            let passage = self.solved(active, &step);
            self.table.push(passage);
        }
    }

    /// `V(active)` from the table, which must have all entries that it needs.
    fn solved(&self, active: u64, step: &PlainRound) -> Passage {
        let mut passage = step.passage;
        let mut again = 0.0;
        for (number, weight) in &step.next {
            if *number == active {
                again += weight;
            } else {
                passage.add(*weight, &self.table[*number as usize]);
            }
        }
        passage.repeated(again)
    }

    fn uncounted(&self, active: u64) -> PlainRound {
        let mut step = PlainRound { passage: Passage::default(), next: Vec::new() };
        for (count, weight) in self.rules.hearing(active) {
            match self.rules.verdict(count) {
                Verdict::Undershoot => step.passage.add_undershoot(weight, count),
                Verdict::Council => {}
                Verdict::Overshoot => {
                    let counted = self.counted(active, count);
                    step.passage.add(weight, &counted.passage);
                    let next = counted.next.into_iter();
                    step.next.extend(next.map(|(number, part)| (number, weight * part)));
                }
            }
        }
        step
    }

    fn counted(&self, active: u64, count: u64) -> PlainRound {
        let chance = self.rules.chance(count);
        PlainRound {
            passage: Passage::round(self.rules.replies(active, chance)),
            next: self.rules.staying(active, chance),
        }
    }
}

impl Descend for Plain {
    fn opening(&mut self, members: u64, chance: f64) -> Opening {
        let rules = self.rules;
        single_opening(&rules, members, chance, |active, count| self.after(active, count))
    }
}
