//! Elections by announcement as the chapter runs them: all members start at once, none leaves, and
//! a run ends when all have heard the leader.

use hustings_protocol::announce::{Announce, Config, Criterion, Message};
use hustings_protocol::announce_listen::{self, AnnounceListen};
use hustings_protocol::suppression::{self, Suppression};
use hustings_protocol::{Duration, ElectionOutcome, Instant, Priority, Simulated};

use crate::convergence::{Expected, Watch};
use crate::{Boot, Detection, Halt, Network, Seeds, Setup, Verb, Who, World};

/// Priorities of members 0 to `members` - 1, the last of them the best.
pub fn priorities(members: u32) -> Vec<Priority> {
    (0..u64::from(members)).map(Priority).collect()
}

/// Runs LE-A, LE-S or LE-M until all members have heard the leader, or `limit`.
pub fn elect(
    members: u32,
    config: Config,
    network: Network,
    seeds: Seeds,
    limit: Instant,
) -> Watch {
    let expected = match config.criterion {
        Criterion::Priority => Expected::Member(members - 1),
        Criterion::EarliestWake => Expected::FirstAnnouncer,
    };
    let world = all_start(members, None, config, expected, network, seeds, announcer);
    until_heard(world, config.announce, limit)
}

/// Runs announce-listen until all members have heard the best, or `limit`.
pub fn announce_listen(
    members: u32,
    config: announce_listen::Config,
    network: Network,
    seeds: Seeds,
    limit: Instant,
) -> Watch {
    let expected = Expected::Member(members - 1);
    let make = |_: Boot<AnnounceListen>| AnnounceListen::default();
    let world = all_start(members, None, config, expected, network, seeds, make);
    until_heard(world, config.announce, limit)
}

/// Runs suppression to its end.
pub fn suppression(
    members: u32,
    config: suppression::Config,
    network: Network,
    seeds: Seeds,
) -> Watch {
    let make = |_: Boot<Suppression>| Suppression::default();
    let expected = Expected::FirstAnnouncer;
    let mut world = all_start(members, None, config, expected, network, seeds, make);
    world.run_until(Instant(u64::MAX - 1));
    world.into_trace()
}

/// Creates a member of LE-A, LE-S or LE-M.
fn announcer(Boot { saved, .. }: Boot<Announce>) -> Announce {
    Announce::new(saved)
}

/// Runs `world` in steps of `stretch` until all have heard the leader, or `limit`.
fn until_heard<P: Simulated<Message = Message, Outcome = ElectionOutcome>>(
    mut world: World<P, Watch>,
    stretch: Duration,
    limit: Instant,
) -> Watch {
    // Events after convergence are not counted, so the overshoot of a step has no effect.
    while world.trace().hearing.convergence.is_none() && world.now() < limit {
        let end = limit.min(world.now() + stretch);
        if world.run_until(end) == Halt::Quiet {
            break;
        }
    }
    world.into_trace()
}

/// A world in which all members start at once, except `late`, which is down.
fn all_start<P: Simulated<Message = Message, Outcome = ElectionOutcome>>(
    members: u32,
    late: Option<u32>,
    config: P::Config,
    expected: Expected,
    network: Network,
    seeds: Seeds,
    make: impl FnMut(Boot<P>) -> P + 'static,
) -> World<P, Watch> {
    let setup =
        Setup { priorities: priorities(members), network, detection: Detection::Never, view: 1.0 };
    let convergence = Watch::new(members, expected);
    let mut world = World::traced(setup, config, seeds, convergence, make);
    if let Some(joiner) = late {
        world.schedule(Instant::START, Verb::Kill(Who::one(joiner)));
        world.trace_mut().left(joiner, Instant::START);
    }
    world.schedule(Instant::START, Verb::Start(Who::All));
    world
}

/// A change in a group that has settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Perturbation {
    /// The leader crashes.
    LeaderDies,
    /// The leader leaves in good order.
    LeaderLeaves,
    /// A member joins that is better than the leader.
    GreaterJoins,
    /// A member joins that is worse than the leader.
    LesserJoins,
}

/// The time that a settled group of `members` (after the change) takes to agree when `perturbation`
/// happens at `at`. `None` if it has not settled by then, or does not agree by `limit`.
pub fn reestablishment(
    members: u32,
    config: Config,
    network: Network,
    perturbation: Perturbation,
    (at, limit): (Instant, Instant),
    seeds: Seeds,
) -> Option<Duration> {
    let late = match perturbation {
        Perturbation::LeaderDies | Perturbation::LeaderLeaves => None,
        Perturbation::GreaterJoins => Some(members - 1),
        Perturbation::LesserJoins => Some(0),
    };
    let count = members + u32::from(late.is_none());
    let expected = Expected::Member(count - 1);
    let mut world = all_start(count, late, config, expected, network, seeds, announcer);
    world.run_until(Instant(at.0.saturating_sub(1)));
    if world.trace().agreement.disagreed_since.is_some() {
        return None;
    }
    let leader = world.nominee(0).or(world.nominee(1)).map(|(id, _)| id);
    if let Some(joiner) = late {
        let (who, keep_state) = (Who::one(joiner), true);
        world.trace_mut().came(joiner, at);
        world.schedule(at, Verb::Restart { who, keep_state });
    } else {
        let leader = leader?.0 as u32;
        let who = Who::one(leader);
        let dies = perturbation == Perturbation::LeaderDies;
        world.schedule(at, if dies { Verb::Kill(who) } else { Verb::Leave(who) });
        world.run_until(at);
        world.trace_mut().left(leader, at);
    }
    world.run_until(limit);
    let spans = &world.trace().agreement.disagreements;
    let upset = spans.iter().find(|(_, end)| *end > at)?;
    Some(upset.1 - at)
}
