//! Takeovers: a better newcomer and an established leader.

use hustings_protocol::announce::{Config, Joining, Takeover};
use hustings_protocol::{MemberId, Priority};
use hustings_sim::{Seeds, Stream};

use crate::group::{ANNOUNCE, DELAY, agreed, at, calm, field, world};
use crate::kin::Kin;
use crate::support::{below, choose, ranked, script, shuffle};
use crate::{Verdict, require};

fn config(takeover: Takeover, seed: u64) -> Config {
    let rng = &mut Seeds::new(seed, 1).rng(Stream::Layout);
    let election_timeout = field().announce.mul_f64(0.1);
    Config {
        takeover,
        joining: choose(
            &[
                Joining::Announce,
                Joining::Query { election_timeout },
                Joining::SuppressThenQuery { election_timeout },
            ],
            rng,
        ),
        ..field()
    }
}

/// A better newcomer follows the established leader; or takes over, once and for all.
pub(crate) fn better_newcomer_takes_over_only_if_permitted<P: Kin>(seed: u64) -> Verdict {
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

/// A leader that has only just begun gives way to the better, under any rule.
pub(crate) fn best_of_simultaneous_starters_leads<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Layout);
    let members = 2 + below(8, rng);
    // Few priorities, so that ties are common.
    let mut priorities: Vec<Priority> = (0..members).map(|it| Priority(it / 3)).collect();
    shuffle(&mut priorities, rng);
    let takeover = choose(&[Takeover::Never, Takeover::ByTheBetter], rng);
    let config = config(takeover, seed);
    let mut world = world::<P>(&priorities, calm(), config, seed, &script("at 0s start all"));
    world.run_until(at(3_000));
    let leaders = agreed(&world, &config)?;
    let best = (0..members as u32).max_by_key(|&it| world.candidate(it));
    require(best.is_some_and(|best| leaders == [best]), || {
        format!("{leaders:?} lead, of {priorities:?}, not {best:?}")
    })
}

/// A newcomer that asks takes over as soon as a worse leader answers, for any patience.
pub(crate) fn worse_answer_ends_the_wait<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Layout);
    let comes = 10_000 + below(2_000, rng);
    let scenario = script(&format!("at 0s start 0-4\nat {comes}ms start 5"));
    let election_timeout = ANNOUNCE.mul_f64(0.7);
    let config = Config { joining: Joining::Query { election_timeout }, ..field() };
    let mut world = world::<P>(&ranked(6), calm(), config, seed, &scenario);
    // A delay there, the least time between two answers, a delay back, and one for the news.
    world.run_until(at(comes + 100) + DELAY * 3);
    let leaders = agreed(&world, &config)?;
    require(leaders == [5], || format!("{leaders:?} lead\n{scenario}"))
}

/// A leader that restarts has to begin anew: a better member that followed it takes over.
pub(crate) fn restarted_leader_loses_its_place<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Layout);
    let restarts = 20_000 + below(2_000, rng);
    let scenario = script(&format!("at 0s start 0-4\nat 10s start 5\nat {restarts}ms restart 4"));
    let config = config(Takeover::Never, seed);
    let mut world = world::<P>(&ranked(6), calm(), config, seed, &scenario);
    world.run_until(at(restarts - 1));
    let before = agreed(&world, &config)?;
    // Both wait for their wake-up and ask, one after the other.
    world.run_until(at(restarts) + config.suppress * 2 + ANNOUNCE.mul_f64(0.4) + DELAY * 4);
    let after = agreed(&world, &config)?;
    require((before.as_slice(), after.as_slice()) == (&[4], &[5]), || {
        format!("{before:?} led, then {after:?}\n{scenario}")
    })
}
