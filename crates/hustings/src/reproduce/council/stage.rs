//! Where the paper's elections are held.

use hustings_sim::council_tally::{self, Run};
use hustings_sim::statistics::{Kind, Sample};
use hustings_theory::council::{
    Algorithm, Cost, Election, Estimate, Knowledge, Loss, Seats, optimum::Goal, optimum::best_c,
};

use super::super::effort::{Effort, ExperimentError, seed_of};

/// Elections that last longer do not end.
const MOST_ROUNDS: u64 = 1_000_000;

pub(super) const ONE: Seats = Seats { least: 1, most: 1 };
pub(super) const UP_TO_EIGHT: Seats = Seats { least: 1, most: 8 };
pub(super) const FOUR_TO_EIGHT: Seats = Seats { least: 4, most: 8 };
pub(super) const EIGHT_TO_SIXTEEN: Seats = Seats { least: 8, most: 16 };

/// The paper's first estimate.
pub(super) const FIRST_ESTIMATE: f64 = 100_000.0;

/// Where elections are held, and how they differ from what is asked for: not at all, save in tests.
pub(super) struct Stage<'a> {
    pub(super) effort: &'a Effort,
    pub(super) conduct: fn(Election) -> Election,
}

/// What many elections say.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) rounds: Sample,
    pub(super) messages: Sample,
    pub(super) first_round: Sample,
}

impl<'a> Stage<'a> {
    pub(super) fn honest(effort: &'a Effort) -> Self {
        Self {
            effort,
            conduct: |election| election,
        }
    }

    /// Holds an election as often as is worth it, with chance of its own.
    pub(super) fn held(&self, election: &Election) -> Result<Held, ExperimentError> {
        let conducted = (self.conduct)(*election);
        let own = self.effort.reseeded(seed_of(&format!("{election:?}")));
        let one = |_, seeds| council_tally::elect(&conducted, MOST_ROUNDS, seeds);
        Ok(Held::of(&own.each(self.runs(), one)?))
    }

    /// The baseline.
    pub(super) fn polled(&self, members: u64) -> Result<Held, ExperimentError> {
        let own = self.effort.reseeded(seed_of(&format!("bolot {members}")));
        let one = |_, seeds| council_tally::poll(members, Loss::NONE, MOST_ROUNDS, seeds);
        Ok(Held::of(&own.each(self.runs(), one)?))
    }

    /// The paper has 10,000.
    fn runs(&self) -> u64 {
        self.effort.choose(4_000, 40_000)
    }
}

impl Held {
    fn of(runs: &[Run]) -> Self {
        let mut held = Self {
            rounds: Sample::new(Kind::Number),
            messages: Sample::new(Kind::Number),
            first_round: Sample::new(Kind::Proportion),
        };
        for run in runs {
            held.rounds.add(run.rounds as f64);
            held.messages.add(run.messages as f64);
            let is_first = run.success_first_round();
            held.first_round.add(f64::from(u8::from(is_first)));
        }
        held
    }
}

/// With the `c` that takes the fewest rounds.
pub(super) fn at_best(seats: Seats, members: u64, algorithm: Algorithm) -> Election {
    let election = Election::new(seats, members, algorithm, 1.0);
    election.with_c(best_c(&election, Goal::ROUNDS).c)
}

/// With an estimate instead of the number of hosts.
pub(super) fn estimated(election: Election, estimate: Estimate) -> Election {
    Election {
        knowledge: Knowledge::Estimated(estimate),
        ..election
    }
}

/// What Figures 15 and 17 are about.
pub(super) fn of_section_seven(members: u64) -> Election {
    Election::new(UP_TO_EIGHT, members, Algorithm::SkipReset, 5.6)
}

/// From 10 to 100,000 hosts, `count` numbers in equal ratios.
pub(super) fn sizes(count: u32) -> impl Iterator<Item = u64> {
    let steps = f64::from(count - 1);
    (0..count).map(move |index| 10f64.powf(1.0 + 4.0 * f64::from(index) / steps).round() as u64)
}

/// Another number's cost, for each of so many sizes.
pub(super) fn greatest(count: u32, of: impl Fn(u64) -> f64) -> f64 {
    sizes(count).map(of).fold(0.0, f64::max)
}

/// The rounds of a cost.
pub(super) fn rounds_of(cost: &Cost) -> f64 {
    cost.rounds
}

/// The messages of a cost.
pub(super) fn messages_of(cost: &Cost) -> f64 {
    cost.messages
}
