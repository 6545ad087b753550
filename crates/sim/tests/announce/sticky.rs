//! Takeovers: whether a better newcomer unseats a leader that works.

use hustings_protocol::announce::{Config, Joining, Takeover};
use hustings_protocol::{MemberId, Merit};
use hustings_sim::{Seeds, Stream};

use crate::group::{ANNOUNCE, DELAY, agreed, at, calm, field, world};
use crate::kin::Kin;
use crate::support::{below, choose, ranked, script, shuffle};
use crate::{Verdict, require};

fn config(takeover: Takeover, seed: u64) -> Config {
    let rng = &mut Seeds::new(seed, 1).rng(Stream::Layout);
    let patience = field().announce.mul_f64(0.1);
    Config {
        takeover,
        joining: choose(
            &[
                Joining::Announce,
                Joining::Query { patience },
                Joining::SuppressThenQuery { patience },
            ],
            rng,
        ),
        ..field()
    }
}

/// A better newcomer follows the leader that is established; or takes over, once and for all.
pub(crate) fn a_better_newcomer_takes_over_only_if_it_may<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Layout);
    let comes = 10_000 + below(2_000, rng);
    let scenario = script(&format!("at 0s start 0-4\nat {comes}ms start 5"));
    for (takeover, leader) in [(Takeover::Never, 4), (Takeover::ByTheBetter, 5)] {
        let config = config(takeover, seed);
        let mut world = world::<P>(&ranked(6), calm(), config, seed, &scenario);
        world.run_until(at(comes + 20_000));
        let leaders = agreed(&world, &config)?;
        require(leaders == [leader], || {
            format!("{takeover:?}: {leaders:?} lead, not {leader}\n{scenario}")
        })?;
        let log = world.into_trace();
        for member in 0..5 {
            let changes = log.changes(member, at(comes));
            let expected = match takeover {
                Takeover::Never => vec![],
                Takeover::ByTheBetter => vec![Some(MemberId(5))],
            };
            require(changes == expected, || {
                format!("{takeover:?}: {member} names {changes:?}\n{scenario}")
            })?;
        }
    }
    Ok(())
}

/// A leader that has only just begun gives way to the better, whatever the rule.
pub(crate) fn the_best_of_those_who_come_together_leads<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Layout);
    let members = 2 + below(8, rng);
    // Few merits, so that ties are common.
    let mut merits: Vec<Merit> = (0..members).map(|it| Merit(it / 3)).collect();
    shuffle(&mut merits, rng);
    let takeover = choose(&[Takeover::Never, Takeover::ByTheBetter], rng);
    let config = config(takeover, seed);
    let mut world = world::<P>(&merits, calm(), config, seed, &script("at 0s start all"));
    world.run_until(at(3_000));
    let leaders = agreed(&world, &config)?;
    let best = (0..members as u32).max_by_key(|&it| world.candidate(it));
    require(best.is_some_and(|best| leaders == [best]), || {
        format!("{leaders:?} lead, of {merits:?}, not {best:?}")
    })
}

/// A newcomer that asks takes over as soon as a worse leader answers, whatever its patience.
pub(crate) fn a_worse_answer_ends_the_wait<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Layout);
    let comes = 10_000 + below(2_000, rng);
    let scenario = script(&format!("at 0s start 0-4\nat {comes}ms start 5"));
    let patience = ANNOUNCE.mul_f64(0.7);
    let config = Config {
        joining: Joining::Query { patience },
        ..field()
    };
    let mut world = world::<P>(&ranked(6), calm(), config, seed, &scenario);
    // A delay there, the least time between two answers, a delay back, and one for the news.
    world.run_until(at(comes + 100) + DELAY * 3);
    let leaders = agreed(&world, &config)?;
    require(leaders == [5], || format!("{leaders:?} lead\n{scenario}"))
}

/// A leader that restarts has to begin anew: somebody better who followed it takes over.
pub(crate) fn a_restart_costs_the_seat<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Layout);
    let restarts = 20_000 + below(2_000, rng);
    let scenario = script(&format!(
        "at 0s start 0-4\nat 10s start 5\nat {restarts}ms restart 4"
    ));
    let config = config(Takeover::Never, seed);
    let mut world = world::<P>(&ranked(6), calm(), config, seed, &scenario);
    world.run_until(at(restarts - 1));
    let before = agreed(&world, &config)?;
    // Both wait for their wake-up and ask, one after the other.
    world.run_until(at(restarts) + config.suppress * 2 + ANNOUNCE.mul_f64(0.4) + DELAY * 4);
    let after = agreed(&world, &config)?;
    require(
        (before.as_slice(), after.as_slice()) == (&[4], &[5]),
        || format!("{before:?} led, then {after:?}\n{scenario}"),
    )
}
