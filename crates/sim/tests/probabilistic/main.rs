//! Every sentence under `Promises` in the header of the probabilistic election, and the reactions
//! to faults that the document leaves out.

use std::collections::BTreeSet;

use hustings_protocol::probabilistic::{
    Config, GroupSize, Introduction, LastRound, Message, Probabilistic, Recall, RoundId, Strategy,
};
use hustings_protocol::{Duration, Instant, MemberId, Priority};
use hustings_sim::probabilistic::{ProbabilisticTrial, elect};
use hustings_sim::{
    Delay, Detection, JsonLines, Network, Scratch, Seeds, Setup, Stream, Summary, Trace, Verb, Who,
    World,
};
use rand_core::Rng;

mod behind;
mod faults;
mod late;
mod member;
mod parts;
mod sizes;
#[path = "../support/mod.rs"]
mod support;

const HOP: Duration = Duration::from_millis(10);

/// A group in the field: no member gets a request to call an election, all come up.
fn group(members: u32, view: f64, loss: f64, seed: u64) -> World<Probabilistic> {
    group_with(Config::field(7, HOP, HOP), members, view, loss, seed)
}

/// The configuration of members that get the group's size by request.
fn counted(key: u64) -> Config {
    Config { size: GroupSize::Estimate, ..Config::field(key, HOP, HOP) }
}

fn group_with(
    config: Config,
    members: u32,
    view: f64,
    loss: f64,
    seed: u64,
) -> World<Probabilistic> {
    let setup = Setup {
        priorities: (0..members).map(|it| Priority(u64::from(it))).collect(),
        network: Network {
            unicast_loss: loss,
            multicast_loss: loss,
            ..Network::perfect(Delay::Uniform { from: Duration(HOP.0 / 10), to: config.hop })
        },
        detection: Detection::After(HOP * 10),
        view,
    };
    let seeds = Seeds::new(seed, 0);
    let mut world = World::new(setup, config, seeds, |_| Probabilistic::default());
    let mut rng = seeds.rng(Stream::Layout);
    for member in 0..members {
        let at = Instant(rng.next_u64() % (HOP.0 * 20));
        world.schedule(at, Verb::Start(Who::one(member)));
    }
    world
}

/// The nominees of the live members.
fn named(world: &World<Probabilistic>) -> BTreeSet<Option<MemberId>> {
    let up = (0..world.len()).filter(|&member| world.is_up(member));
    up.map(|member| world.nominee(member).map(|(id, _)| id)).collect()
}

/// The common nominee of all, if it is up.
fn agreed(world: &World<Probabilistic>) -> Option<MemberId> {
    let named = named(world);
    let leader = named.first().copied().flatten()?;
    (named.len() == 1 && world.is_up(leader.0 as u32)).then_some(leader)
}

fn ms(count: u64) -> Instant {
    Instant::START + Duration::from_millis(count)
}

#[test]
fn all_live_members_name_one_leader_after_a_round() {
    let trial = ProbabilisticTrial {
        members: 300,
        view: 1.0,
        crash: 0.0,
        unicast_loss: 0.0,
        multicast_loss: 0.0,
        config: Config::paper(300, HOP),
        purge: true,
    };
    for run in 0..200 {
        let (run, _) = elect(&trial, Seeds::new(3, run), Scratch::default());
        assert!(run.strong_success, "{run:?}");
        if run.relay_members > 0 {
            assert_eq!(run.rounds, 1, "{run:?}");
            // All know all, so all agree from the beginning: one preference to each, and one
            // decision each.
            let relay = u64::from(run.relay_members);
            assert_eq!(run.unicasts, relay * (relay - 1), "{run:?}");
            assert_eq!(run.multicasts, relay + 1, "{run:?}");
        }
    }
}

/// If no member relays none decides, and all notice: there is another round, with a larger K.
#[test]
fn round_without_relays_is_followed_by_another() {
    let strategy =
        Strategy { first: 1, growth: 4.0, rounds: 4, last: LastRound::Grown, ..Strategy::DOCUMENT };
    let trial = |recall| ProbabilisticTrial {
        members: 100,
        view: 1.0,
        crash: 0.0,
        unicast_loss: 0.0,
        multicast_loss: 0.0,
        config: Config { strategy, recall, ..Config::paper(100, HOP) },
        purge: true,
    };
    let mut empty = 0;
    for run in 0..100 {
        let (run, _) = elect(&trial(Recall::Delay), Seeds::new(4, run), Scratch::default());
        empty += u32::from(run.relay_members == 0);
        assert_eq!(run.relay_members == 0, run.rounds > 1, "{run:?}");
        assert_eq!(run.detected, (run.relay_members == 0).then_some(true));
        assert!(run.strong_success, "{run:?}");
    }
    // (1 - 1/100)^100 of all runs: 37, give or take 4.9.
    assert!((15..60).contains(&empty), "{empty}");
}

/// Each of a thousand members knows ten. The relays do not find each other by their views, but do
/// by multicast.
#[test]
fn relays_with_small_views_find_each_other_by_multicast() {
    let succeeded = |introduction| {
        let trial = ProbabilisticTrial {
            members: 1_000,
            view: 0.01,
            crash: 0.0,
            unicast_loss: 0.05,
            multicast_loss: 0.05,
            config: Config {
                introduction,
                strategy: Strategy { first: 14, rounds: 1, ..Strategy::DOCUMENT },
                ..Config::paper(1_000, HOP)
            },
            purge: true,
        };
        let runs = (0..200).map(|run| elect(&trial, Seeds::new(6, run), Scratch::default()).0);
        runs.filter(|run| run.strong_success).count()
    };
    let (by_view, by_multicast) =
        (succeeded(Introduction::View), succeeded(Introduction::Multicast));
    assert!(by_view < 10, "{by_view} of 200");
    assert!(by_multicast > 190, "{by_multicast} of 200");
}

/// In the document's model, with its own rule, a noticed failure may go uncalled.
#[test]
fn by_the_hash_rule_a_noticed_failure_may_go_uncalled() {
    let trial = ProbabilisticTrial {
        members: 500,
        view: 0.5,
        crash: 0.0,
        unicast_loss: 0.3,
        multicast_loss: 0.3,
        config: Config { recall: Recall::Hash, ..Config::paper(500, HOP) },
        purge: true,
    };
    let mut uncalled = 0;
    for run in 0..200 {
        let (run, _) = elect(&trial, Seeds::new(5, run), Scratch::default());
        uncalled += u32::from(run.detected == Some(false));
    }
    assert!(uncalled > 20, "{uncalled}");
}

#[test]
fn same_seed_gives_the_same_run() {
    let trial = ProbabilisticTrial {
        members: 400,
        view: 0.3,
        crash: 0.05,
        unicast_loss: 0.2,
        multicast_loss: 0.2,
        config: Config::paper(400, HOP),
        purge: true,
    };
    let mut scratch = Scratch::default();
    for run in 0..50 {
        let seeds = Seeds::new(9, run);
        let (fresh, _) = elect(&trial, seeds, Scratch::default());
        let (used, back) = elect(&trial, seeds, scratch);
        scratch = back;
        assert_eq!(fresh, used);
    }
}

#[test]
fn new_group_agrees_and_keeps_its_leader() {
    for seed in 0..100 {
        let members = 2 + (seed as u32 * 7) % 60;
        let mut world = group(members, 1.0, 0.0, seed);
        world.run_until(ms(5_000));
        let leader = agreed(&world).unwrap_or_else(|| panic!("{seed}: {:?}", named(&world)));
        let sent = *world.tally();
        world.run_until(ms(20_000));
        assert_eq!(agreed(&world), Some(leader), "{seed}");
        let now = world.tally();
        assert_eq!(now.multicasts, sent.multicasts, "{seed}");
        // Its leader asks one member a second, and the others together ask it as often, and get
        // answers.
        let checks: u64 = now.unicasts.iter().sum::<u64>() - sent.unicasts.iter().sum::<u64>();
        assert!((14..=75).contains(&checks), "{seed}: {checks}");
    }
}

/// It asks, and gets an answer: no election is called for it.
#[test]
fn newcomer_learns_the_leader_without_an_election() {
    for seed in 0..50 {
        let mut world = group(20, 1.0, 0.0, seed);
        world.schedule(Instant::START, Verb::Kill(Who::one(19)));
        world.run_until(ms(5_000));
        let leader = agreed(&world).expect("they agree");
        let initiations = world.tally().multicasts[Message::INITIATION];
        let (who, keep_state) = (Who::one(19), false);
        world.schedule(ms(5_000), Verb::Restart { who, keep_state });
        world.run_until(ms(6_000));
        assert_eq!(agreed(&world), Some(leader), "{seed}");
        assert_eq!(world.tally().multicasts[Message::INITIATION], initiations);
    }
}

#[test]
fn summary_agrees_with_the_nominees() {
    let mut world = group(9, 1.0, 0.0, 1);
    let halt = world.run_until(ms(5_000));
    assert_eq!(Summary::of(&world, halt).strong_success, agreed(&world).is_some());
    assert_ne!(world.members()[0].round(), RoundId::default());
}
