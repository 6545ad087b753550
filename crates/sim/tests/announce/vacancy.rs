//! Departed leaders: the members that ask for them, and the time that a failure detector saves.

use hustings_protocol::announce::{Config, Joining, Listen, Message, Takeover};
use hustings_protocol::{Duration, Instant};
use hustings_sim::{Detection, Seeds, Stream, World};

use crate::group::{
    ANNOUNCE, DELAY, Log, agreed, at, calm, detecting_world, field, is_announcement, is_query,
    world,
};
use crate::kin::Kin;
use crate::support::{below, choose, ranked, script};
use crate::{Verdict, require};

/// Longer than any election in which no member waits for an answer.
const ELECTION_TIMEOUT: Duration = Duration::from_secs(3);
/// The delay of the failure detector.
const NOTICE: Duration = Duration::from_millis(200);
/// The best of six.
const BEST: u32 = 5;

/// The time of an event in a group that has settled.
fn some_time(seed: u64) -> u64 {
    10_000 + below(1_000, &mut Seeds::new(seed, 0).rng(Stream::Layout))
}

/// Field rules, except for the search for a leader, its intervals, and takeovers.
fn config(joining: Joining, seed: u64) -> Config {
    let rng = &mut Seeds::new(seed, 1).rng(Stream::Layout);
    Config {
        suppress: choose(&[Duration::ZERO, field().suppress], rng),
        takeover: choose(&[Takeover::ByTheBetter, Takeover::Never], rng),
        leaders: choose(&[1, 2], rng),
        joining,
        ..field()
    }
}

/// Checks that the next best leads beside the remaining leaders, in time and without a question.
fn replaced_without_a_question<P: Kin>(
    mut world: World<P, Log>,
    config: &Config,
    gone: Instant,
    most: Duration,
) -> Verdict {
    world.run_until(gone + most);
    let leaders = agreed(&world, config).map_err(|what| format!("after {most}: {what}"))?;
    require(leaders[0] == BEST - 1, || format!("{leaders:?} lead"))?;
    world.run_until(gone + ELECTION_TIMEOUT * 3);
    let asked = world.trace().count(gone, is_query);
    require(asked == 0, || format!("{asked} ask"))
}

fn after_a_goodbye<P: Kin>(joining: Joining, seed: u64) -> Verdict {
    let (gone, config) = (some_time(seed), config(joining, seed));
    let scenario = script(&format!("at 0s start all\nat {gone}ms leave {BEST}"));
    let world = world::<P>(&ranked(BEST + 1), calm(), config, seed, &scenario);
    // The goodbye, the wake-up, the announcement.
    let most = DELAY + config.suppress + DELAY;
    replaced_without_a_question(world, &config, at(gone), most)
}

/// After a goodbye members that would ask at their wake-up announce themselves.
pub(crate) fn no_member_asks_after_a_goodbye<P: Kin>(seed: u64) -> Verdict {
    let election_timeout = ELECTION_TIMEOUT;
    after_a_goodbye::<P>(Joining::SuppressThenQuery { election_timeout }, seed)
}

/// After a goodbye members that would ask at once wait for their wake-up, and announce themselves.
pub(crate) fn no_member_asks_at_once_after_a_goodbye<P: Kin>(seed: u64) -> Verdict {
    let election_timeout = ELECTION_TIMEOUT;
    after_a_goodbye::<P>(Joining::Query { election_timeout }, seed)
}

/// A member that has missed its leader, and did not ask for it before, asks before it announces
/// itself: the leader may be alive.
pub(crate) fn members_ask_after_missing_the_leader<P: Kin>(seed: u64) -> Verdict {
    let election_timeout = field().announce.mul_f64(0.1);
    for joining in
        [Joining::SuppressThenQuery { election_timeout }, Joining::Query { election_timeout }]
    {
        let config = Config { leaders: 1, asks: 0, ..config(joining, seed) };
        let gone = some_time(seed);
        let scenario = script(&format!("at 0s start all\nat {gone}ms kill {BEST}"));
        let mut world = world::<P>(&ranked(BEST + 1), calm(), config, seed, &scenario);
        world.run_until(at(gone + 10_000));
        let leaders = agreed(&world, &config)?;
        require(leaders == [BEST - 1], || format!("{leaders:?} lead"))?;
        let log = world.into_trace();
        for member in 0..BEST {
            let said = log.said.iter();
            let mut said = said.filter(|(at_, from, _)| *at_ >= at(gone) && *from == member);
            let first = said.find(|(_, _, message)| is_query(message) || is_announcement(message));
            let asks = first.is_none_or(|(_, _, message)| *message == Message::Query);
            require(asks, || format!("{joining:?}: {member} leads unasked"))?;
        }
    }
    Ok(())
}

/// A group with a failure detector and a very long listen interval.
fn patient<P: Kin>(verb: &str, who: u32, seed: u64) -> (World<P, Log>, Config, Instant) {
    let election_timeout = ELECTION_TIMEOUT;
    let rng = &mut Seeds::new(seed, 2).rng(Stream::Layout);
    let joining = choose(
        &[
            Joining::Announce,
            Joining::Query { election_timeout },
            Joining::SuppressThenQuery { election_timeout },
        ],
        rng,
    );
    let config = Config { listen: Listen::For(ANNOUNCE * 1_000), ..config(joining, seed) };
    let gone = some_time(seed);
    let scenario = script(&format!("at 0s start all\nat {gone}ms {verb} {who}"));
    let detection = Detection::After(NOTICE);
    let priorities = ranked(BEST + 1);
    let world = detecting_world::<P>(&priorities, calm(), detection, config, seed, &scenario);
    (world, config, at(gone))
}

/// A leader that a failure detector has seen die need not be missed first, nor asked for.
pub(crate) fn failure_detector_saves_the_listen_interval<P: Kin>(seed: u64) -> Verdict {
    let (world, config, gone) = patient::<P>("kill", BEST, seed);
    let most = NOTICE + config.suppress + DELAY;
    replaced_without_a_question(world, &config, gone, most)
}

/// The death of a member that did not lead has no effect: all keep their nominees, and only leaders
/// send.
pub(crate) fn detected_death_of_a_follower_changes_nothing<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 3).rng(Stream::Layout);
    let dies = below(u64::from(BEST) - 1, rng) as u32;
    let (mut world, config, gone) = patient::<P>("kill", dies, seed);
    world.run_until(gone);
    let leaders = agreed(&world, &config)?;
    world.run_until(gone + ELECTION_TIMEOUT * 3);
    let after = agreed(&world, &config)?;
    require(after == leaders, || format!("{after:?} lead, not {leaders:?}"))?;
    let log = world.into_trace();
    for member in (0..=BEST).filter(|member| *member != dies) {
        let changes = log.changes(member, gone);
        require(changes.is_empty(), || format!("{member} names {changes:?}"))?;
    }
    let mut said = log.said.iter().filter(|(at, _, _)| *at > gone);
    let other = said.find(|(_, from, message)| !leaders.contains(from) || is_query(message));
    require(other.is_none(), || format!("{other:?}, though {leaders:?} lead"))
}
