//! Council elections: the CPU time of their curves, of a simulation of many hosts, and of aggregate
//! simulations.

use hustings_protocol::Duration;
use hustings_protocol::council::{self as protocol, Config};
use hustings_sim::council::{self, CouncilTrial as Trial};
use hustings_sim::{Scratch, Seeds, council_aggregate};
use hustings_theory::council::optimum::{Goal, best_c};
use hustings_theory::council::{Algorithm, Election, Estimate, Knowledge, Seats};

const SEATS: Seats = Seats { least: 4, most: 8 };
const ALGORITHMS: [Algorithm; 5] = [
    Algorithm::Naive,
    Algorithm::Basic,
    Algorithm::SkipReset,
    Algorithm::CHOICE,
    Algorithm::History,
];
/// Sizes of a curve, from 10 to 100,000 in equal ratios.
const SIZES: u32 = 41;
/// The value in the paper's figures with an estimated number of hosts, and the first estimate.
const C: f64 = 5.6;
const FIRST: f64 = 100_000.0;
/// The best value for the fewest rounds at this number of hosts.
const BEST_C: f64 = 6.1;
const MOST_ROUNDS: u64 = 100_000;
const ROUND: Duration = Duration::from_millis(400);

/// Computes T and N of all algorithms for n from 10 to 100,000: with the best `c` for either, and
/// with an estimated n, in both of the paper's ways. Returns the number of points.
pub(crate) fn curves() -> usize {
    let steps = f64::from(SIZES - 1);
    let size = |index: u32| 10f64.powf(1.0 + 4.0 * f64::from(index) / steps).round() as u64;
    let sizes = (0..SIZES).map(size);
    let elections = sizes.flat_map(|members| {
        ALGORITHMS.map(|algorithm| Election::new(SEATS, members, algorithm, C))
    });
    let costs = elections.flat_map(|election| {
        let estimated =
            |estimate| Election { knowledge: Knowledge::Estimated(estimate), ..election };
        [
            best_c(&election, Goal::ROUNDS).cost,
            best_c(&election, Goal::MESSAGES).cost,
            estimated(Estimate::conservative(FIRST)).cost(),
            estimated(Estimate::aggressive(FIRST)).cost(),
        ]
    });
    let points = costs.filter(|it| it.rounds.is_finite() && it.messages.is_finite());
    points.count()
}

/// Elects a council of `hosts`, each simulated. Returns the number of rounds.
pub(crate) fn by_hosts(hosts: u32, seed: u64) -> u64 {
    let seats = protocol::Seats::new(4, 8);
    let knowledge = protocol::Knowledge::Told(hosts);
    let mut config = Config::once(seats, protocol::Algorithm::SkipReset, knowledge, ROUND);
    config.chambers[0].c.fill(BEST_C);
    let trial = Trial::new(hosts, config);
    council::elect(&trial, Seeds::new(seed, 0), Scratch::default()).0.feedbacks
}

/// Simulates `elections` of `members` as aggregate counts. Returns the number of elections that
/// ended with a council.
pub(crate) fn by_tallies(members: u64, elections: u64) -> usize {
    let election = Election::new(SEATS, members, Algorithm::SkipReset, BEST_C);
    let runs = (0..elections)
        .map(|run| council_aggregate::elect(&election, MOST_ROUNDS, Seeds::new(1, run)));
    runs.filter(|run| run.seats.is_some()).count()
}
