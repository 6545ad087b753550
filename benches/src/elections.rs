//! Elections and draws without a skeleton: CPU time, and with it memory at a million members.

use hustings_protocol::announce::{Announce, Config as AnnounceConfig};
use hustings_protocol::probabilistic::{Config, LastRound, Recall, Strategy};
use hustings_protocol::{Duration, Instant, wagner};
use hustings_sim::probabilistic::{ProbabilisticTrial, elect};
use hustings_sim::wagner::{DrawTrial, FastDraws};
use hustings_sim::{Delay, Network, Scratch, Seeds, announcing};
use hustings_theory::wagner::Compare;
use hustings_theory::wagner::election::table;
use hustings_theory::wagner::stall::StallLimit;

use crate::{peak_kilobytes, timed};

const HOP: Duration = Duration::from_millis(100);
const ANNOUNCE_LOSS: f64 = 0.1;
const INTERVAL: Duration = Duration::from_secs(1);
/// An election that has not converged by then never does.
const LIMIT: Instant = Instant(1_000_000_000_000);

/// Holds an LE-S election with T_S = T_A = 1 s and a loss of one tenth. Returns the announcements
/// until all had heard the leader, the peak memory (in kB), the CPU time, set-up included, and the
/// size of the protocol's state per member. `None` if not all members hear the leader.
pub(crate) fn by_announcing(members: u32, delay: Duration, seed: u64) -> Option<String> {
    let config = AnnounceConfig::paper(INTERVAL, INTERVAL);
    let perfect = Network::perfect(Delay::Constant(delay));
    let network = Network { multicast_loss: ANNOUNCE_LOSS, ..perfect };
    let seeds = Seeds::new(seed, 0);
    let (watch, nanos) = timed(|| announcing::elect(members, config, network, seeds, LIMIT));
    let announcements = watch.hearing.convergence?.messages;
    Some(format!("{announcements} {} {nanos} {}", peak_kilobytes(), size_of::<Announce>()))
}

/// The loss and crash probability where they are not varied.
const RARE: f64 = 0.001;
/// After a round with K = 1, in which perhaps no member is drawn, the next round succeeds.
const GROWTH_OF_ONE: f64 = 14.0;

fn trial(members: u32, view: f64, loss: f64) -> ProbabilisticTrial {
    ProbabilisticTrial {
        members,
        view,
        crash: RARE,
        unicast_loss: loss,
        multicast_loss: loss,
        config: Config::paper(members.into(), HOP),
        purge: true,
    }
}

/// Holds a probabilistic election: a first round with K, and further rounds if necessary. Returns
/// the messages, the peak memory (in kB), the CPU time, set-up included, and the rounds.
pub(crate) fn by_hash(members: u32, k: u32, loss: f64, seed: u64) -> String {
    let growth = if k == 1 { GROWTH_OF_ONE } else { Strategy::DOCUMENT.growth };
    let strategy = Strategy { first: k, growth, last: LastRound::Grown, ..Strategy::DOCUMENT };
    let trial = trial(members, 0.5, loss);
    let trial = ProbabilisticTrial { config: Config { strategy, ..trial.config }, ..trial };
    let (run, nanos) = timed(|| elect(&trial, Seeds::new(seed, 0), Scratch::default()).0);
    format!("{} {} {nanos} {}", run.unicasts + run.multicasts, peak_kilobytes(), run.rounds)
}

const LOSSES: [f64; 11] = [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5];
const MEMBERS: [u32; 11] =
    [1_000, 1_500, 2_000, 2_500, 3_000, 3_500, 4_000, 4_500, 5_000, 5_500, 6_000];
const VIEWS: [f64; 7] = [0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5];

/// Simulates `runs` elections per point of Figure 5 of the report on probabilistic elections, for
/// both rules. Returns the number of points, separate for each rule.
pub(crate) fn figure_5(runs: u64) -> usize {
    let by_loss = LOSSES.map(|loss| trial(2_000, 0.5, loss));
    let by_members = MEMBERS.map(|members| trial(members, 0.5, RARE));
    let by_view = VIEWS.map(|view| trial(5_000, view, RARE));
    let places = [&by_loss[..], &by_members, &by_view].concat();
    let rules = [Recall::Hash, Recall::Delay];
    let mut scratch = Scratch::default();
    for (place, recall) in places.iter().flat_map(|it| rules.map(|rule| (it, rule))) {
        let trial = ProbabilisticTrial { config: Config { recall, ..place.config }, ..*place };
        for run in 0..runs {
            (_, scratch) = elect(&trial, Seeds::new(1, run), scratch);
        }
    }
    places.len() * rules.len()
}

const MOST_ROUNDS: u32 = 10_000;

/// Holds honest draws on Wagner's ring as `hustings sim wagner` does: by their flips, without the
/// messages. A test of the simulator shows that these are the same draws. Returns the number of
/// draws with a leader.
pub(crate) fn on_ring(members: u32, draws: u32, seed: u64) -> usize {
    let trial = DrawTrial {
        members,
        config: wagner::Config::field(Duration::from_secs(60)),
        cheaters: Vec::new(),
        hop: HOP,
        loss: 0.0,
        most_rounds: MOST_ROUNDS,
    };
    FastDraws::of(&trial).map_or(0, |fast_draws| {
        let runs = (0..draws).filter_map(|run| fast_draws.draw(Seeds::new(seed, run.into())));
        runs.filter(|run| run.leader.is_some()).count()
    })
}

/// Computes the tables of all rings of up to `most` members, with either comparison, with and
/// without a limit on equal stages. Returns the stages of the largest ring, so that the tables are
/// not optimised away.
pub(crate) fn ring_tables(most: usize) -> f64 {
    let limits = [None, Some(StallLimit::new(40))];
    let stages = [Compare::Strict, Compare::NonStrict]
        .into_iter()
        .flat_map(|compare| limits.map(|limit| table(most, compare, limit)))
        .filter_map(|costs| costs.last().map(|it| it.stages));
    stages.sum::<f64>() / 4.0
}
