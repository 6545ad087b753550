//! Epidemic multicast: its reach, its repetitions and its cost.

use std::collections::{BTreeMap, BTreeSet};

use hustings_protocol::epidemic::{
    Config, Delivery, Epidemic, Id, MOST_NAMED, Message, Request, Timer,
};
use hustings_protocol::{Candidate, Duration, Input, Instant, MemberId};
use hustings_sim::{Boot, Delay, Network, Reordering, Seeds, Setup, Stream, Verb, Who, World};
use rand_core::Rng;

use crate::support::desk::Desk;
use crate::support::{below, choose, seeds};
use crate::{PERIOD, assert_silent, moments, setup};

type Kinds = Message<u32>;

fn world(setup: Setup, config: Config, run: u64) -> World<Epidemic<u32>> {
    assert_eq!(config.check(), Ok(()));
    let make = |_: Boot<Epidemic<u32>>| Epidemic::new(1);
    World::new(setup, config, Seeds::new(1, run), make)
}

fn say(world: &mut World<Epidemic<u32>>, member: u32, word: u32) {
    world.request(member, Request::Multicast(word));
}

fn run(world: &mut World<Epidemic<u32>>, periods: u64) {
    world.run_until(world.now() + PERIOD * periods);
}

/// The number of members that have heard each message. None has heard one twice.
fn heard(world: &mut World<Epidemic<u32>>) -> BTreeMap<u32, u32> {
    let mut heard = BTreeMap::new();
    for (index, member) in world.members_mut().iter_mut().enumerate() {
        let mut words: Vec<u32> = member.take_delivered().map(|it| it.payload).collect();
        let all = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), all, "{index} has heard one twice");
        for word in words {
            *heard.entry(word).or_default() += 1;
        }
    }
    heard
}

/// The first phase only.
fn no_repair(fan_out: u8, hops: u8) -> Config {
    Config { fan_out, hops, period: PERIOD * 1_000_000, repair_time: PERIOD * 1_000_000, room: 10 }
}

/// The fraction that hears a message by its `hops`th step: each member without it gets it from one
/// of those that heard it just before with probability fq/(N - 1).
fn expected(members: u32, fan_out: u8, arrives: f64, hops: u8) -> f64 {
    let others = f64::from(members - 1);
    let (mut untold, mut telling) = (others, 1.0);
    for _ in 0..hops {
        let missed = (1.0 - f64::from(fan_out) * arrives / others).powf(telling);
        telling = untold * (1.0 - missed);
        untold -= telling;
    }
    1.0 - untold / others
}

#[test]
fn first_phase_reaches_as_many_as_computed() {
    let constant = |loss| {
        let setup = setup(1_000, loss);
        let delay = Delay::Constant(PERIOD.mul_f64(0.01));
        let network = Network { delay, ..setup.network };
        Setup { network, ..setup }
    };
    for (fan_out, loss, hops) in [
        (2, 0.0, 20),
        (3, 0.0, 4),
        (3, 0.0, 14),
        (3, 0.05, 14),
        (4, 0.2, 5),
        (4, 0.2, 14),
        (6, 0.0, 10),
        (6, 0.2, 10),
        (10, 0.5, 10),
    ] {
        let reached = (0..40).map(|number| {
            let mut world = world(constant(loss), no_repair(fan_out, hops), number);
            say(&mut world, 0, 7);
            run(&mut world, 1);
            let heard = heard(&mut world);
            f64::from(heard.get(&7).copied().unwrap_or(0)) / 999.0
        });
        let reached: Vec<f64> = reached.collect();
        let (mean, variance) = moments(reached.iter().copied());
        let expected = expected(1_000, fan_out, 1.0 - loss, hops);
        // Four times the error of a mean of 40, and an allowance for the first few steps.
        let error = 4.0 * (variance / 40.0).sqrt() + 0.01;
        assert!(
            (mean - expected).abs() < error,
            "fan-out {fan_out}, loss {loss}, {hops} hops: {mean} for {expected}"
        );
    }
}

#[test]
fn repair_reaches_all_members() {
    for (members, view, loss, fan_out) in
        [(1_000, 1.0, 0.05, 3), (1_000, 1.0, 0.2, 6), (1_000, 0.03, 0.2, 6), (4, 1.0, 0.2, 6)]
    {
        let setup = Setup { view, ..setup(members, loss) };
        let config = Config { fan_out, ..Config::field(PERIOD) };
        let mut world = world(setup, config, 0);
        for word in 0..20 {
            say(&mut world, word % members, word);
            run(&mut world, 1);
        }
        run(&mut world, 40);
        let heard = heard(&mut world);
        let missed: Vec<_> = heard.iter().filter(|it| *it.1 < members - 1).collect();
        assert_eq!(heard.len(), 20);
        assert!(missed.is_empty(), "{members}, {loss}: {missed:?}");
    }
}

/// Each period, a member that has missed a message hears of it from those that have it, requests
/// it, and gets it: each with q.
#[test]
fn repair_goes_as_fast_as_computed() {
    let (arrives, periods) = (0.5_f64, 10);
    let config = Config { fan_out: 8, ..Config::field(PERIOD) };
    let mut missed = [0.0, 0.0];
    for number in 0..40 {
        let mut world = world(setup(1_000, 1.0 - arrives), config, number);
        say(&mut world, 0, 7);
        let mut reached = 0;
        for (missed, wait) in missed.iter_mut().zip([2, periods]) {
            run(&mut world, wait);
            reached += heard(&mut world).get(&7).copied().unwrap_or(0);
            *missed += (1.0 - f64::from(reached) / 999.0) / 40.0;
        }
    }
    // Both the members without it and those with it change: the odds fall evenly.
    let [before, after] = missed.map(|it| it / (1.0 - it));
    let expected = (-arrives.powi(3) * periods as f64).exp();
    let ratio = after / before / expected;
    assert!((0.75..1.33).contains(&ratio), "{before} to {after}: {ratio}");
}

#[test]
fn all_members_hear_it_or_almost_none() {
    let config = Config { fan_out: 2, repair_time: PERIOD * 120, ..Config::field(PERIOD) };
    let mut counts = [0_u32; 3];
    for number in 0..100 {
        let mut world = world(setup(200, 0.4), config, number);
        say(&mut world, 0, 7);
        world.schedule(world.now(), Verb::Kill(Who::one(0)));
        run(&mut world, 140);
        let reached = heard(&mut world).get(&7).copied().unwrap_or(0);
        counts[match reached {
            0..10 => 0,
            10..199 => 1,
            _ => 2,
        }] += 1;
    }
    let [none, some, all] = counts;
    // Both of its first messages are lost with 0.16: mean 16, standard deviation 3.7.
    assert!((2..=30).contains(&none), "{counts:?}");
    // From one to 200 takes the repair some 30 periods, and then 200 e^(-0.6^3 x 90) are left out:
    // 10^-6.
    assert_eq!((some, all), (0, 100 - none));
}

#[test]
fn duplicates_and_disorder_do_no_harm() {
    let setup = setup(300, 0.1);
    let network = Network {
        duplicate: 0.5,
        reordering: Reordering { probability: 0.3, by: PERIOD * 5 },
        ..setup.network
    };
    let mut world = world(Setup { network, ..setup }, Config::field(PERIOD), 0);
    for word in 0..30 {
        say(&mut world, 0, word);
    }
    run(&mut world, 200);
    let heard = heard(&mut world);
    assert_eq!(heard.len(), 30);
    assert!(heard.values().all(|&by| by == 299));
}

#[test]
fn message_costs_the_fan_out_per_member_and_then_nothing() {
    let mut world = world(setup(2_000, 0.05), Config::field(PERIOD), 0);
    say(&mut world, 0, 7);
    run(&mut world, 100);
    let sent = world.tally().unicasts;
    let [rumours, digests, asked, repairs] =
        [0, 1, 2, 3].map(|kind: usize| sent[kind] as f64 / 2_000.0);
    assert!((5.9..=6.0).contains(&rumours), "{rumours} rumours");
    assert!((39.0..=41.0).contains(&digests), "{digests} digests");
    assert!(asked < 0.02 && repairs <= asked, "{asked}");
    run(&mut world, 1_000);
    assert_eq!(world.tally().unicasts, sent, "no member sends anything");
}

#[test]
fn memory_is_bounded_and_refused_messages_are_heard_once() {
    let config = Config { room: 50, repair_time: PERIOD * 5, ..Config::field(PERIOD) };
    let mut world = world(setup(50, 0.1), config, 0);
    for word in 0..400 {
        say(&mut world, word % 50, word);
        run(&mut world, u64::from(word % 4 == 0));
        let most = world.members().iter().map(Epidemic::remembered).max();
        assert!(most <= Some(50), "{most:?}");
    }
    // Messages that were refused for want of room are repaired when there is some: never twice, as
    // `heard` checks.
    let heard = heard(&mut world);
    let heard_by_all = heard.values().filter(|&&by| by == 49).count();
    assert!((50..400).contains(&heard_by_all), "{heard_by_all}");
    run(&mut world, 100);
    say(&mut world, 0, 1_000);
    run(&mut world, 20);
    assert_eq!(self::heard(&mut world).get(&1_000), Some(&49));
}

#[test]
fn restarted_member_uses_new_message_numbers() {
    let mut incarnations = 0;
    let make = move |_: Boot<Epidemic<u32>>| {
        incarnations += 1;
        Epidemic::new(incarnations)
    };
    let config = Config::field(PERIOD);
    let mut world = World::new(setup(20, 0.0), config, Seeds::new(1, 0), make);
    say(&mut world, 0, 1);
    run(&mut world, 1);
    let restart = Verb::Restart { who: Who::one(0), keep_state: false };
    world.schedule(world.now(), restart);
    run(&mut world, 1);
    say(&mut world, 0, 2);
    run(&mut world, 50);
    assert_eq!(heard(&mut world), BTreeMap::from([(1, 19), (2, 19)]));
}

#[test]
fn same_seed_gives_the_same_run() {
    let run = |number| {
        let mut world = world(setup(200, 0.3), Config::field(PERIOD), number);
        say(&mut world, 0, 7);
        run(&mut world, 3);
        (heard(&mut world), *world.tally())
    };
    assert!(run(6) == run(6));
    assert!(run(6) != run(7));
}

fn id(origin: u64, number: u32) -> Id {
    Id { origin: MemberId(origin), incarnation: 1, number }
}

fn rumour(id: Id, periods: u64, hops: u8) -> Kinds {
    Message::Rumour { id, age: PERIOD * periods, hops, payload: 7 }
}

/// Member 0 of eight.
fn one_of_eight(config: Config) -> Desk<Epidemic<u32>> {
    let mut desk = Desk::new(Candidate::new(0, 0), Epidemic::new(1), config, 1);
    for id in 1..8 {
        desk.papers.view.insert(Candidate::new(id, 0));
    }
    desk
}

fn delivered(desk: &mut Desk<Epidemic<u32>>) -> usize {
    desk.member.take_delivered().count()
}

#[test]
fn rumour_respects_hops_and_fan_out() {
    let config = Config { fan_out: 3, hops: 5, ..Config::field(PERIOD) };
    let mut desk = one_of_eight(config);
    for (number, hops, left) in [(1, 0, None), (2, 1, Some(0)), (3, 4, Some(3)), (4, 200, Some(4))]
    {
        desk.hear(1, rumour(id(1, number), 2, hops));
        let told = desk.papers.told.drain(..).map(|(to, message)| match message {
            Message::Rumour { hops, age, .. } if age == PERIOD * 2 => (to, hops),
            other => panic!("{other:?}"),
        });
        let mut told: Vec<_> = told.collect();
        assert!(told.iter().all(|it| Some(it.1) == left), "{told:?}");
        told.dedup();
        assert_eq!(told.len(), if left.is_some() { 3 } else { 0 });
        desk.hear(2, rumour(id(1, number), 2, hops));
        assert!(desk.papers.told.is_empty(), "it is not passed on twice");
    }
    assert_eq!(delivered(&mut desk), 4);
}

#[test]
fn old_messages_are_dropped() {
    let config = Config { repair_time: PERIOD * 10, ..Config::field(PERIOD) };
    let mut desk = one_of_eight(config);
    desk.hear(1, rumour(id(1, 1), 10, 3));
    let repair = |number, age| Message::Repair { id: id(1, number), age, payload: 7 };
    desk.hear(1, repair(1, PERIOD * 10));
    assert_eq!(delivered(&mut desk), 0, "too old");
    desk.papers.now = Instant::START + PERIOD * 100;
    desk.hear(1, rumour(id(1, 2), 4, 0));
    assert_eq!(delivered(&mut desk), 1);
    let asked = Message::Solicitation { ids: vec![id(1, 2), id(1, 9)] };
    desk.papers.now = desk.papers.now + PERIOD * 3;
    desk.hear(5, asked.clone());
    assert_eq!(desk.papers.told, [(MemberId(5), repair(2, PERIOD * 7))]);
    desk.papers.told.clear();
    desk.papers.now = desk.papers.now + PERIOD * 3;
    desk.tell(Input::Timer(Timer::Digest));
    desk.hear(5, asked);
    assert!(desk.papers.told.is_empty(), "ten periods after it was said");
    desk.papers.now = desk.papers.now + PERIOD * 13;
    desk.hear(1, rumour(id(1, 2), 9, 0));
    assert_eq!(delivered(&mut desk), 0, "it is remembered for longer");
    desk.papers.now = desk.papers.now + PERIOD;
    desk.tell(Input::Timer(Timer::Digest));
    assert_eq!(desk.member.remembered(), 0);
}

#[test]
fn only_missing_messages_are_requested() {
    let mut desk = one_of_eight(Config::field(PERIOD));
    desk.hear(1, rumour(id(1, 1), 0, 0));
    let ids = vec![id(1, 1), id(1, 2), id(0, 5), id(2, 1)];
    desk.hear(3, Message::Digest { ids });
    let ids = vec![id(1, 2), id(2, 1)];
    assert_eq!(desk.papers.told, [(MemberId(3), Message::Solicitation { ids })]);
}

#[test]
fn room_is_made_on_demand() {
    let config = Config { room: 1, repair_time: PERIOD * 10, ..Config::field(PERIOD) };
    let mut desk = one_of_eight(config);
    desk.hear(1, rumour(id(1, 1), 0, 0));
    desk.hear(1, rumour(id(1, 2), 0, 0));
    assert_eq!(delivered(&mut desk), 1);
    desk.papers.now = Instant::START + PERIOD * 20;
    desk.hear(1, rumour(id(1, 2), 0, 0));
    assert_eq!(delivered(&mut desk), 1);
}

#[test]
fn requests_and_answers_are_at_most_a_digest_long() {
    let mut desk = one_of_eight(Config::field(PERIOD));
    let ids = (0..100).map(|number| id(1, number)).collect();
    desk.hear(3, Message::Digest { ids });
    let Some((_, Message::Solicitation { ids })) = desk.papers.told.pop() else {
        panic!("it asks");
    };
    assert_eq!(ids.len(), MOST_NAMED);
    desk.hear(1, rumour(id(1, 1), 0, 0));
    let ids = vec![id(1, 1); 100];
    desk.hear(3, Message::Solicitation { ids });
    assert_eq!(desk.papers.told.len(), MOST_NAMED);
}

#[test]
fn member_repairs_its_own_message_without_delivering_it() {
    let mut desk = one_of_eight(Config::field(PERIOD));
    desk.tell(Input::Request(Request::Multicast(7)));
    desk.papers.told.clear();
    let ids = vec![id(0, 1)];
    desk.hear(3, Message::Solicitation { ids });
    let [(MemberId(3), Message::Repair { payload: 7, .. })] = desk.papers.told[..] else {
        panic!("{:?}", desk.papers.told);
    };
    for incarnation in [1, 2] {
        let own = Id { incarnation, ..id(0, 1) };
        desk.hear(1, rumour(own, 0, 3));
    }
    assert_eq!(delivered(&mut desk), 0);
}

#[test]
fn digest_overflow_goes_into_the_next() {
    let mut desk = one_of_eight(Config::field(PERIOD));
    for number in 0..100 {
        desk.hear(1, rumour(id(1, number), 0, 0));
    }
    let mut named = BTreeSet::new();
    for _ in 0..60 {
        desk.tell(Input::Timer(Timer::Digest));
        for (_, message) in desk.papers.told.drain(..) {
            let Message::Digest { ids } = message else {
                panic!("{message:?}");
            };
            assert_eq!(ids.len(), MOST_NAMED);
            named.extend(ids);
        }
    }
    assert_eq!(named.len(), 100);
}

#[test]
fn arbitrary_input_does_not_panic() {
    for seed in seeds(300) {
        let mut rng = Seeds::new(seed, 0).rng(Stream::Faults);
        let config = Config { room: 6, repair_time: PERIOD * 3, ..Config::field(PERIOD) };
        let mut desk = one_of_eight(config);
        for _ in 0..300 {
            desk.papers.now = desk.papers.now + Duration(below(PERIOD.0, &mut rng));
            desk.tell(nonsense(&mut rng));
            assert!(desk.member.remembered() <= 6, "seed {seed}");
            let own = |it: Delivery<u32>| it.origin == MemberId(0);
            assert!(!desk.member.take_delivered().any(own), "seed {seed}");
            assert_silent(&desk, seed);
        }
    }
}

fn nonsense(rng: &mut impl Rng) -> Input<Epidemic<u32>> {
    let any = |rng: &mut _| Id {
        origin: MemberId(choose(&[0, 1, 2, u64::MAX], rng)),
        incarnation: choose(&[0, 1, u64::MAX], rng),
        number: choose(&[0, 1, 2, u32::MAX], rng),
    };
    let (one, count) = (any(rng), below(99, rng));
    let ids: Vec<Id> = (0..count).map(|_| any(rng)).collect();
    let age = PERIOD * choose(&[0, 1, 2, 3, u64::MAX], rng);
    let from = MemberId(below(9, rng));
    let message = match below(4, rng) {
        0 => Message::Digest { ids },
        1 => Message::Solicitation { ids },
        2 => Message::Repair { id: one, age, payload: 1 },
        _ => rumour(one, below(5, rng), choose(&[0, 1, 255], rng)),
    };
    match below(8, rng) {
        0 => Input::Start,
        1 => Input::Timer(Timer::Digest),
        2 => Input::Request(Request::Multicast(2)),
        3 => Input::Leave,
        _ => Input::Message { from, message },
    }
}

#[test]
fn idle_member_state_is_small() {
    assert!(size_of::<Epidemic<u32>>() <= 80);
}
