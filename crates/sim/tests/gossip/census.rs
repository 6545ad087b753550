//! A census: the accuracy of the members' estimates of their number.

use hustings_protocol::census::{Census, Config, Count, Message, Request, Share, Timer};
use hustings_protocol::{Candidate, Duration, Input, MemberId};
use hustings_sim::{Boot, Network, Seeds, Setup, Stream, Verb, Who, World};
use rand_core::Rng;

use crate::support::desk::Desk;
use crate::support::{below, choose, seeds};
use crate::{PERIOD, assert_silent, moments, setup};

/// One count at a time, on request.
fn once(turns: u16) -> Config {
    Config { turns, kept: 1, pause: PERIOD * 1_000_000, ..Config::field(PERIOD) }
}

fn world(setup: Setup, config: Config, seed: u64, run: u64) -> World<Census> {
    assert_eq!(config.check(), Ok(()));
    let make = |_: Boot<Census>| Census::default();
    World::new(setup, config, Seeds::new(seed, run), make)
}

fn run(world: &mut World<Census>, periods: u64) {
    world.run_until(world.now() + PERIOD * periods);
}

/// The live members' estimates of the size.
fn sizes(world: &World<Census>) -> Vec<f64> {
    let up = (0..world.len()).filter(|&member| world.is_up(member));
    let size = |member| world.members()[member as usize].size();
    up.filter_map(size).map(|size| size as f64).collect()
}

/// Member 0 calls a count; returns the estimates of all, as a part of `members`.
fn count(setup: Setup, config: Config, run_number: u64) -> Vec<f64> {
    let members = setup.priorities.len() as f64;
    let mut world = world(setup, config, 1, run_number);
    world.request(0, Request::Count);
    run(&mut world, u64::from(config.turns) + 40);
    let sizes = sizes(&world);
    sizes.iter().map(|size| size / members).collect()
}

fn assert_all_near(sizes: &[f64], expected: f64, error: f64) {
    let is_off = |size: &&f64| (*size / expected - 1.0).abs() > error;
    assert!(!sizes.is_empty(), "no member has an estimate");
    let off = sizes.iter().find(is_off);
    assert_eq!(off, None, "instead of {expected}");
}

#[test]
fn all_members_learn_the_size() {
    for (members, view) in
        [(1, 1.0), (2, 1.0), (100, 1.0), (100, 0.3), (1_000, 1.0), (1_000, 0.03), (10_000, 0.05)]
    {
        for loss in [0.0, 0.2] {
            let setup = Setup { view, ..setup(members, loss) };
            let sizes = count(setup, once(60), 0);
            assert_eq!(sizes.len(), members as usize, "of {members}, {view}");
            assert_all_near(&sizes, 1.0, if loss > 0.0 { 0.05 } else { 0.01 });
        }
    }
}

#[test]
fn ten_more_turns_suffice_for_ten_times_as_many() {
    for (members, turns) in [(100, 30), (1_000, 40), (10_000, 50)] {
        let sizes = count(setup(members, 0.0), once(turns), 0);
        let (mean, variance) = moments(sizes.iter().copied());
        assert!((mean - 1.0).abs() < 0.02, "{members}: mean {mean}");
        assert!(variance.sqrt() < 0.02, "{members}: variance {variance}");
        let hasty = count(setup(members, 0.0), once(turns / 2), 0);
        let (mean, _) = moments(hasty.iter().copied());
        assert!((mean - 1.0).abs() > 0.1, "{members}: mean {mean} in half");
    }
}

/// The formula in the documentation of `Config::tries`.
#[test]
fn tries_compensate_loss() {
    for (members, loss, runs) in
        [(100, 0.05, 100), (100, 0.2, 300), (1_000, 0.05, 60), (1_000, 0.2, 100)]
    {
        let inverse = |tries, run| {
            let config = Config { tries, ..once(60) };
            let sizes = count(setup(members, loss), config, run);
            1.0 / moments(sizes.into_iter()).0
        };
        let (plain, _) =
            moments((0..runs).map(|run| inverse(1, run)).collect::<Vec<_>>().into_iter());
        let joined_after = f64::from(members).ln() / (2.0 - loss).ln();
        let expected = (1.0 - loss / 2.0_f64).powf(joined_after);
        assert!((plain / expected - 1.0).abs() < 0.15, "{members}, {loss}: {plain} for {expected}");
        let tries = Config::field(PERIOD).tries;
        let (tried, _) =
            moments((0..10).map(|run| inverse(tries, run)).collect::<Vec<_>>().into_iter());
        assert!((tried - 1.0).abs() < 0.02, "{members}, {loss}: {tried}");
    }
}

#[test]
fn sizes_are_right_at_a_loss_of_two_in_five() {
    for (members, view, runs) in [(500, 0.1, 20), (2_000, 0.05, 10)] {
        let sizes = |run| {
            let setup = Setup { view, ..setup(members, 0.4) };
            let sizes = count(setup, once(60), run);
            assert_eq!(sizes.len(), members as usize, "every member has an estimate");
            moments(sizes.into_iter())
        };
        let counts: Vec<(f64, f64)> = (0..runs).map(sizes).collect();
        let (mean, _) = moments(counts.iter().map(|it| it.0));
        assert!((mean - 1.0).abs() < 0.02, "{members}: mean {mean}");
        let differ = |it: &&(f64, f64)| it.1.sqrt() > 0.05;
        assert_eq!(counts.iter().find(differ), None, "{members}");
    }
}

#[test]
fn one_of_simultaneous_callers_counts() {
    for callers in [vec![3, 900], vec![900, 3], (0..1_000).step_by(50).collect()] {
        let mut world = world(setup(1_000, 0.1), once(80), 2, 0);
        for &caller in &callers {
            world.request(caller, Request::Count);
            world.run_until(world.now() + PERIOD.mul_f64(0.3));
        }
        run(&mut world, 120);
        assert_eq!(sizes(&world).len(), 1_000);
        assert_all_near(&sizes(&world), 1_000.0, 0.03);
    }
}

#[test]
fn crash_of_a_tenth_during_a_count_is_tolerated() {
    for seed in seeds(5) {
        let mut world = world(setup(1_000, 0.05), once(80), seed, 0);
        world.request(0, Request::Count);
        run(&mut world, 20);
        let dead = (1..1_000).step_by(10).collect();
        world.schedule(world.now(), Verb::Kill(Who::Members(dead)));
        run(&mut world, 100);
        assert_eq!(sizes(&world).len(), 900);
        // The dead take shares with them, including shares that others passed on to them.
        assert_all_near(&sizes(&world), 950.0, 0.15);
    }
}

#[test]
fn leaving_member_passes_its_share_on() {
    let mut world = world(setup(1_000, 0.0), once(80), 3, 0);
    world.request(0, Request::Count);
    for caller_and_others in [vec![0], (1..200).collect()] {
        run(&mut world, 3);
        world.schedule(world.now(), Verb::Leave(Who::Members(caller_and_others)));
    }
    run(&mut world, 120);
    // Some of the members that have left by then have not heard of the count.
    let sizes = sizes(&world);
    assert_all_near(&sizes, 900.0, 0.12);
}

#[test]
fn late_joiner_does_no_harm_and_learns_the_size() {
    let mut world = world(setup(1_000, 0.0), once(80), 4, 0);
    let late: Vec<u32> = (800..1_000).collect();
    world.schedule(world.now(), Verb::Kill(Who::Members(late.clone())));
    run(&mut world, 1);
    world.request(0, Request::Count);
    run(&mut world, 60);
    world.schedule(world.now(), Verb::Restart { who: Who::Members(late), keep_state: false });
    run(&mut world, 60);
    let sizes = sizes(&world);
    assert!(sizes.len() > 950, "{}", sizes.len());
    assert_all_near(&sizes, 800.0, 0.03);
}

#[test]
fn counts_repeat_and_are_silent_between() {
    let config = Config { turns: 40, pause: PERIOD * 200, ..Config::field(PERIOD) };
    let mut world = world(setup(300, 0.1), config, 5, 0);
    world.schedule(world.now(), Verb::Start(Who::All));
    let mut counted = 0;
    let mut sent = 0;
    for _ in 0..2_000 {
        let before = world.tally().unicasts[0];
        let counts = world.members().iter().any(Census::counts);
        run(&mut world, 1);
        let counts_still = world.members().iter().any(Census::counts);
        counted += u32::from(counts && !counts_still);
        let now = world.tally().unicasts[0] - before;
        sent += now;
        assert!(counts || counts_still || now == 0, "{now} in a pause");
    }
    assert!((5..=8).contains(&counted), "{counted} counts");
    assert_all_near(&sizes(&world), 300.0, 0.03);
    // Each member sends one parcel a turn, and one in nine again; and few counts are called in
    // vain.
    let shares = sent as f64 / f64::from(counted) / 300.0;
    assert!((40.0..70.0).contains(&shares), "{shares} a member and count");
}

#[test]
fn duplicate_parcels_count_once() {
    let twice = setup(300, 0.2);
    let setup = Setup { network: Network { duplicate: 0.5, ..twice.network }, ..twice };
    assert_all_near(&count(setup, once(60), 0), 1.0, 0.05);
}

#[test]
fn same_seed_gives_the_same_run() {
    let run = |seed| {
        let mut world = world(setup(200, 0.2), once(30), seed, 0);
        world.request(0, Request::Count);
        run(&mut world, 50);
        (sizes(&world), *world.tally())
    };
    assert!(run(6) == run(6));
    assert!(run(6) != run(7));
}

#[test]
fn arbitrary_input_does_not_panic() {
    let mut sized = 0;
    for seed in seeds(300) {
        let mut rng = Seeds::new(seed, 0).rng(Stream::Faults);
        let me = Candidate::new(below(6, &mut rng), 0);
        let mut desk = Desk::new(me, Census::default(), once(5), seed);
        for id in (0..6).filter(|&id| id != me.id.0) {
            desk.papers.view.insert(Candidate::new(id, 0));
        }
        for _ in 0..300 {
            desk.papers.now = desk.papers.now + PERIOD.mul_f64(0.4);
            desk.tell(nonsense(&mut rng));
            assert_ne!(desk.member.size(), Some(0), "seed {seed}");
            assert_silent(&desk, seed);
            for (_, said) in desk.papers.told.drain(..) {
                if let Message::Parcel { share, .. } = said {
                    let Share { value, weight } = share;
                    assert!(value.is_finite() && weight.is_finite(), "seed {seed}");
                    assert!(value >= 0.0 && weight >= 0.0, "seed {seed}");
                }
            }
        }
        sized += u32::from(desk.member.size().is_some());
    }
    assert!(sized > 0, "no count was ever concluded");
}

fn nonsense(rng: &mut impl Rng) -> Input<Census> {
    let odd = [0.0, -0.0, -1.0, 0.5, 1.0, 1e-300, 1e300, f64::MIN_POSITIVE / 2.0];
    let odder = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX];
    let number = |rng: &mut _| match below(3, rng) {
        0 => choose(&odder, rng),
        1 => choose(&odd, rng),
        _ => below(1_000, rng) as f64 / 1_000.0,
    };
    let count =
        Count { number: choose(&[0, 1, 2, 3, u64::MAX], rng), caller: MemberId(below(7, rng)) };
    let message = match below(4, rng) {
        0 => Message::Receipt { number: below(9, rng) as u32 },
        _ => Message::Parcel {
            count,
            age: PERIOD * choose(&[0, 1, 2, 5, 6, u64::MAX], rng),
            number: below(1_000, rng) as u32,
            share: Share { value: number(rng), weight: number(rng) },
        },
    };
    let from = MemberId(7 + below(5, rng));
    match below(12, rng) {
        0 => Input::Start,
        1..=3 => Input::Timer(Timer::Turn),
        4 => Input::Timer(Timer::Receipt),
        5 => Input::Timer(Timer::Call),
        6 => Input::Request(Request::Count),
        7 => Input::Leave,
        _ => Input::Message { from, message },
    }
}

#[test]
fn member_state_is_small() {
    assert!(size_of::<Census>() <= 480, "{}", size_of::<Census>());
}

#[test]
fn impossible_configuration_is_refused() {
    let field = Config::field(PERIOD);
    assert_eq!(field.check(), Ok(()));
    for (config, complaint) in [
        (Config { turns: 501, ..field }, "turns is out of range: choose 1 to 500"),
        (
            Config { election_timeout: Duration::from_millis(200), ..field },
            "period 1s is below tries x patience / 4 1200ms: raise period",
        ),
        (Config { kept: 9, ..field }, "kept is out of range: choose 1 to 8"),
        (Config { pause: Duration::ZERO, ..field }, "pause is 0s: raise pause"),
    ] {
        assert_eq!(config.check().unwrap_err().to_string(), complaint);
    }
}

/// Member 0 of two; counts take ten turns.
fn one_of_two() -> Desk<Census> {
    let mut desk = Desk::new(Candidate::new(0, 0), Census::default(), once(10), 1);
    desk.papers.view.insert(Candidate::new(1, 0));
    desk
}

/// The `number`th parcel of member 1, of a count called `periods` periods ago.
fn parcel(count: u64, periods: u64, number: u32) -> Message {
    Message::Parcel {
        count: Count { number: count, caller: MemberId(1) },
        age: PERIOD * periods,
        number,
        share: Share { value: 0.5, weight: 0.5 },
    }
}

/// The numbers of the parcels that it has sent since the last call.
fn shares(desk: &mut Desk<Census>) -> Vec<u32> {
    let said = desk.papers.told.drain(..);
    let shares = said.filter_map(|(_, message)| match message {
        Message::Parcel { number, .. } => Some(number),
        Message::Receipt { .. } => None,
    });
    shares.collect()
}

#[test]
fn count_ends_for_all_at_the_same_time() {
    let mut desk = one_of_two();
    let turn = |desk: &mut Desk<Census>| {
        desk.papers.now = desk.papers.now + PERIOD;
        desk.tell(Input::Timer(Timer::Turn));
    };
    desk.papers.now = desk.papers.now + PERIOD * 20;
    desk.hear(1, parcel(1, 5, 1));
    (0..4).for_each(|_| turn(&mut desk));
    assert!(desk.member.counts());
    turn(&mut desk);
    assert!(!desk.member.counts(), "ten periods after the call");
    desk.hear(1, parcel(2, 5, 2));
    desk.hear(1, parcel(2, 8, 3));
    turn(&mut desk);
    assert!(desk.member.counts());
    turn(&mut desk);
    assert!(!desk.member.counts(), "it was called earlier than the first said");
}

/// Lets the time for a receipt pass.
fn lose_patience(desk: &mut Desk<Census>) {
    desk.papers.now = desk.papers.now + once(10).election_timeout;
    desk.tell(Input::Timer(Timer::Receipt));
}

#[test]
fn parcel_is_pending_until_its_receipt_comes() {
    let mut desk = one_of_two();
    desk.tell(Input::Request(Request::Count));
    let [number] = shares(&mut desk)[..] else {
        panic!("one parcel");
    };
    desk.hear(1, Message::Receipt { number: number ^ 1 });
    desk.hear(2, Message::Receipt { number });
    lose_patience(&mut desk);
    assert_eq!(shares(&mut desk), [number]);
    desk.hear(1, Message::Receipt { number });
    lose_patience(&mut desk);
    assert!(shares(&mut desk).is_empty());
}

#[test]
fn parcel_is_retried_for_four_turns_and_then_taken_back() {
    let mut desk = one_of_two();
    desk.tell(Input::Request(Request::Count));
    let first = shares(&mut desk)[0];
    for turn in 1..=4 {
        (0..6).for_each(|_| lose_patience(&mut desk));
        assert!(shares(&mut desk).contains(&first), "in turn {turn}");
        desk.tell(Input::Timer(Timer::Turn));
        let later = shares(&mut desk);
        assert_eq!(later.len(), 1, "another one goes out: {later:?}");
    }
    (0..6).for_each(|_| lose_patience(&mut desk));
    assert!(!shares(&mut desk).contains(&first));
}

#[test]
fn pending_parcels_are_dropped_when_a_later_count_begins() {
    let mut desk = one_of_two();
    desk.tell(Input::Request(Request::Count));
    shares(&mut desk);
    desk.hear(1, parcel(7, 0, 1));
    lose_patience(&mut desk);
    assert!(shares(&mut desk).is_empty());
}

#[test]
fn last_number_is_not_followed_by_an_earlier_one() {
    let mut desk = one_of_two();
    desk.hear(1, parcel(u64::MAX, 0, 1));
    desk.tell(Input::Request(Request::Count));
    assert!(shares(&mut desk).is_empty());
}
