//! The fixture of the paper's elections.

use hustings_sim::council_aggregate::{self, PollRun as Run};
use hustings_sim::statistics::{Kind, Sample};
use hustings_theory::council::estimate::by_pseudocode;
use hustings_theory::council::{
    Algorithm, Cost, Election, Estimate, Knowledge, Loss, Seats, optimum::Goal, optimum::best_c,
};

use super::super::budget::{Budget, Fixture, Result, sample_of, seed_of, share_of};

/// The greatest number of rounds. An election that lasts longer counts as never ending.
const MOST_ROUNDS: u64 = 1_000_000;

pub(super) const ONE: Seats = Seats { least: 1, most: 1 };
pub(super) const UP_TO_EIGHT: Seats = Seats { least: 1, most: 8 };
pub(super) const FOUR_TO_EIGHT: Seats = Seats { least: 4, most: 8 };
pub(super) const EIGHT_TO_SIXTEEN: Seats = Seats { least: 8, most: 16 };

/// The paper's first estimate.
pub(super) const FIRST_ESTIMATE: f64 = 100_000.0;

/// The fixture of the paper's claims. Mutants change an election.
pub(super) type CouncilFixture<'a> = Fixture<'a, fn(Election) -> Election>;

/// Builds a fixture whose members follow the rules.
pub(super) fn honest(budget: &Budget) -> CouncilFixture<'_> {
    Fixture { budget, conduct: |election| election }
}

/// The measures of many elections.
#[derive(Debug)]
pub(super) struct CouncilResults {
    pub(super) rounds: Sample,
    pub(super) messages: Sample,
    pub(super) first_round: Sample,
}

impl CouncilFixture<'_> {
    /// Runs an election as often as the budget allows. Each kind of election has its own seed.
    pub(super) fn held(&self, election: &Election) -> Result<CouncilResults> {
        let conducted = (self.conduct)(*election);
        let own = self.budget.reseeded(seed_of(&format!("{election:?}")));
        let one = |_, seeds| council_aggregate::elect(&conducted, MOST_ROUNDS, seeds);
        Ok(CouncilResults::of(&own.each(self.runs(), one)?))
    }

    /// Runs the baseline: Bolot's poll with masks.
    pub(super) fn polled(&self, members: u64) -> Result<CouncilResults> {
        let own = self.budget.reseeded(seed_of(&format!("bolot {members}")));
        let one = |_, seeds| council_aggregate::poll(members, Loss::NONE, MOST_ROUNDS, seeds);
        Ok(CouncilResults::of(&own.each(self.runs(), one)?))
    }

    /// Returns the number of runs. The paper has 10,000.
    fn runs(&self) -> u64 {
        self.budget.choose(4_000, 40_000)
    }
}

impl CouncilResults {
    fn of(runs: &[Run]) -> Self {
        Self {
            rounds: sample_of(Kind::Number, runs.iter().map(|run| run.rounds as f64)),
            messages: sample_of(Kind::Number, runs.iter().map(|run| run.messages as f64)),
            first_round: share_of(runs.iter().map(Run::success_first_round)),
        }
    }
}

/// Returns the election with the `c` that takes the fewest rounds.
pub(super) fn at_best(seats: Seats, members: u64, algorithm: Algorithm) -> Election {
    let election = Election::new(seats, members, algorithm, 1.0);
    election.with_c(best_c(&election, Goal::ROUNDS).c)
}

/// Replaces the number of hosts by an estimate.
pub(super) fn estimated(election: Election, estimate: Estimate) -> Election {
    Election { knowledge: Knowledge::Estimated(estimate), ..election }
}

/// Returns the election of Figures 15 and 17.
pub(super) fn of_section_seven(members: u64) -> Election {
    Election::new(UP_TO_EIGHT, members, Algorithm::SkipReset, 5.6)
}

/// Returns the cost that a simulation is expected to measure.
pub(super) fn expected(election: &Election) -> Cost {
    match election.knowledge {
        Knowledge::Estimated(_) => by_pseudocode(election).unwrap_or_else(|| election.cost()),
        Knowledge::Known | Knowledge::Taken(_) => election.cost(),
    }
}

/// Returns `count` numbers of hosts in equal ratios, from 10 to 100,000.
pub(super) fn sizes(count: u32) -> impl Iterator<Item = u64> {
    let steps = f64::from(count - 1);
    (0..count).map(move |index| 10f64.powf(1.0 + 4.0 * f64::from(index) / steps).round() as u64)
}

/// Returns the greatest value of `of` over `count` numbers of hosts.
pub(super) fn greatest(count: u32, of: impl Fn(u64) -> f64) -> f64 {
    sizes(count).map(of).fold(0.0, f64::max)
}

/// Returns the rounds of a cost.
pub(super) fn rounds_of(cost: &Cost) -> f64 {
    cost.rounds
}

/// Returns the messages of a cost.
pub(super) fn messages_of(cost: &Cost) -> f64 {
    cost.messages
}
