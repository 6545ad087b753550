//! Draws on Wagner's ring, and their exact tables: CPU time.

use hustings_protocol::Duration;
use hustings_protocol::wagner::Config;
use hustings_sim::Seeds;
use hustings_sim::wagner::{DrawTrial as Trial, FastDraws};
use hustings_theory::wagner::Compare;
use hustings_theory::wagner::election::table;
use hustings_theory::wagner::stall::StallLimit;

use crate::cpu_nanos;

const HOP: Duration = Duration::from_millis(100);
const MOST_ROUNDS: u32 = 10_000;

/// Holds honest draws as `hustings sim wagner` does: by their flips, without the messages. A test
/// of the simulator shows that these are the same draws. Returns the CPU time, and the number of
/// draws with a leader.
pub(crate) fn hold(members: u32, draws: u32, seed: u64) -> (f64, u32) {
    let trial = Trial {
        members,
        config: Config::field(Duration::from_secs(60)),
        cheaters: Vec::new(),
        hop: HOP,
        loss: 0.0,
        most_rounds: MOST_ROUNDS,
    };
    let begin = cpu_nanos();
    let elected = FastDraws::of(&trial).map_or(0, |fast_draws| {
        let runs = (0..draws).filter_map(|run| fast_draws.draw(Seeds::new(seed, run.into())));
        runs.filter(|run| run.leader.is_some()).count() as u32
    });
    (cpu_nanos() - begin, elected)
}

/// Computes the tables of all rings of up to `most` members, with either comparison, with and
/// without a limit on equal stages. Returns the CPU time, and the stages of the largest ring, so
/// that the tables are not optimised away.
pub(crate) fn tables(most: usize) -> (f64, f64) {
    let begin = cpu_nanos();
    let limits = [None, Some(StallLimit::new(40))];
    let stages = [Compare::Strict, Compare::NonStrict]
        .into_iter()
        .flat_map(|compare| limits.map(|limit| table(most, compare, limit)))
        .filter_map(|costs| costs.last().map(|it| it.stages))
        .sum::<f64>();
    (cpu_nanos() - begin, stages / 4.0)
}
