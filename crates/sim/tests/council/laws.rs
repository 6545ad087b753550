//! Properties of every run.

use hustings_protocol::council::{
    Algorithm, Chamber, Change, Coin, Config, Council, CouncilOutcome, Estimate, Feedback,
    Knowledge, Message, Search, Seats,
};
use hustings_protocol::{Duration, Instant, MemberId, Priority};
use hustings_sim::council::{CouncilTrial, elect};
use hustings_sim::{
    Boot, Delay, Detection, Event, Network, Reordering, Scratch, Seeds, Setup, Trace, Verb, Who,
    World,
};

use crate::{ROUND, at, trial};

const ALGORITHMS: [Algorithm; 8] = [
    Algorithm::Naive,
    Algorithm::Basic,
    Algorithm::SkipReset,
    Algorithm::CHOICE,
    Algorithm::HISTORY,
    Algorithm::History { depth: 3 },
    Algorithm::Priority,
    Algorithm::Bolot,
];

/// All messages sent, all reports, and all replies.
#[derive(Default)]
struct Log {
    said: Vec<(u32, Message)>,
    changes: Vec<(u32, Change)>,
}

impl Trace<Council> for Log {
    const ON: bool = true;

    fn record(&mut self, _: Instant, event: Event<'_, Council>) {
        match event {
            Event::Sent { from, message, .. } | Event::Multicast { from, message } => {
                self.said.push((from, *message));
            }
            Event::Reported { member, outcome: CouncilOutcome::Council(change) } => {
                self.changes.push((member, change));
            }
            _ => {}
        }
    }
}

/// A network with delays, losses, duplicates and reordering.
fn rough() -> Network {
    Network {
        unicast_loss: 0.1,
        multicast_loss: 0.1,
        duplicate: 0.1,
        reordering: Reordering { probability: 0.2, by: Duration::from_millis(800) },
        ..Network::perfect(Delay::Uniform {
            from: Duration::from_millis(10),
            to: Duration::from_millis(400),
        })
    }
}

fn world(hosts: u32, config: Config, network: Network, seed: u64) -> World<Council, Log> {
    let setup = Setup {
        priorities: (0..=u64::from(hosts)).map(Priority).collect(),
        network,
        detection: Detection::Never,
        view: 1.0,
    };
    let make = |Boot { me, saved }: Boot<Council>| match me.id {
        MemberId(0) => Council::centre(1, saved),
        MemberId(_) => Council::host(0),
    };
    World::traced(setup, config, Seeds::new(13, seed), Log::default(), make)
}

fn field(algorithm: Algorithm) -> Config {
    Config { algorithm, ..Config::field(Seats::new(2, 5), 1_000, ROUND) }
}

fn seated(world: &World<Council, Log>) -> Vec<MemberId> {
    let hosts = (0..world.len()).zip(world.members());
    let seated = hosts.filter(|(host, it)| {
        world.is_up(*host) && it.as_host().is_some_and(|it| it.seat().is_some())
    });
    seated.map(|(host, _)| MemberId(u64::from(host))).collect()
}

#[test]
fn settled_hosts_agree_with_the_centre_on_seats() {
    for algorithm in ALGORITHMS {
        for seed in 0..30 {
            let mut world = world(60, field(algorithm), rough(), seed);
            world.start(0);
            let (mut told, mut same_for) = (Vec::new(), 0);
            let mut second = 0;
            // Three leases without a change: every host has heard of its seat, or has lost it.
            while same_for < 45 {
                second += 1;
                world.run_until(at(second));
                let most = seated(&world).len();
                assert!(most <= 5, "{algorithm:?}, seed {seed}: {most} at {second}s");
                let centre = world.members()[0].as_centre().expect("the centre");
                let mut now: Vec<MemberId> = centre.seats().map(|(_, host)| host).collect();
                now.sort_unstable();
                same_for = if now == told && centre.is_settled() { same_for + 1 } else { 0 };
                told = now;
                assert!(second < 5_000, "{algorithm:?}, seed {seed}: never settled");
            }
            let held = seated(&world);
            assert!((2..=5).contains(&told.len()), "{algorithm:?}, seed {seed}");
            assert!(held.iter().all(|it| told.contains(it)), "{held:?} of {told:?}");
            // One host may have missed enough heartbeats to give up, and the centre does
            // not know yet.
            assert!(held.len() + 1 >= told.len(), "{held:?} of {told:?}");
        }
    }
}

#[test]
fn centre_reports_no_council_of_the_wrong_size() {
    for algorithm in ALGORITHMS {
        for seed in 0..20 {
            let mut world = world(60, field(algorithm), rough(), seed);
            world.start(0);
            for host in [3, 9, 27, 31, 44] {
                world.schedule(at(100 + u64::from(host)), Verb::Leave(Who::one(host)));
            }
            world.run_until(at(400));
            let changes = &world.trace().changes;
            assert!(!changes.is_empty());
            for (_, change) in changes {
                match change {
                    Change::Filled(it) => assert!((2..=5).contains(&it.seats), "{it:?}"),
                    Change::Short(it) => assert!(it.seats < 2, "{it:?}"),
                    Change::Seated { .. } | Change::Unseated => {}
                }
            }
        }
    }
}

#[test]
fn no_host_replies_twice_or_to_an_old_feedback() {
    for algorithm in ALGORITHMS {
        // All messages of the centre of an election, again and in the same order, to hosts that
        // have heard them.
        let heard_by_all = Network { multicast_loss: 0.0, ..rough() };
        let mut first = world(40, field(algorithm), heard_by_all, 1);
        first.start(0);
        first.run_until(at(60));
        let log = std::mem::take(first.trace_mut());
        let mut replies: Vec<_> = log.said.iter().filter_map(reply).collect();
        let all = replies.len();
        replies.sort_unstable();
        replies.dedup();
        assert_eq!(replies.len(), all, "{algorithm:?}: two replies to one feedback");
        assert!(all > 0);
        let old: Vec<Message> = log.said.iter().filter_map(centres).collect();
        let mut deaf = 0;
        for message in old {
            for host in 1..=40 {
                first.hand(0, host, message);
                deaf += 1;
            }
        }
        assert!(deaf > 40);
        let again = first.trace().said.iter().filter_map(reply).count();
        assert_eq!(again, 0, "{algorithm:?}: replies to old feedbacks");
    }
}

#[test]
fn late_replies_are_not_counted_in_a_later_round() {
    for algorithm in ALGORITHMS {
        // A round trip takes longer than a round.
        let slow = Network::perfect(Delay::Constant(Duration::from_millis(600)));
        let mut world = world(40, field(algorithm), slow, 2);
        world.start(0);
        world.run_until(at(200));
        let said = &world.trace().said;
        // Then rounds last longer, and every seated host has replied in the round in which it was
        // elected.
        let centre = world.members()[0].as_centre().expect("the centre");
        assert!(centre.waits(ROUND) > ROUND, "{algorithm:?}");
        let seats = said.iter().filter_map(|(_, message)| match message {
            Message::Seat(seat) => Some((seat.host.0 as u32, seat.round)),
            _ => None,
        });
        let seats: Vec<(u32, u32)> = seats.collect();
        assert!(seats.len() >= 2, "{algorithm:?}: {seats:?}");
        for seat in seats {
            let mut replies = said.iter().filter_map(reply);
            assert!(replies.any(|it| it == seat), "{algorithm:?}: {seat:?}");
        }
    }
}

#[test]
fn hosts_that_know_their_centre_ignore_others() {
    let config = Config {
        centre: Some(MemberId(0)),
        search: Search::Printed, // otherwise hosts ignore a poll without earlier rounds
        ..field(Algorithm::Naive)
    };
    let mut world = world(40, config, rough(), 3);
    world.start(0);
    world.run_until(at(30));
    let said = &world.trace().said;
    let call = said.iter().find_map(centres).expect("the centre has called");
    let Message::Feedback(call) = call else { panic!("no feedback") };
    // Of a later session, so that hosts would accept it, and such that all would reply.
    let forged = Message::Feedback(Feedback { session: 9, word: 0, ..call });
    let replies = |world: &World<Council, Log>| world.trace().said.iter().filter_map(reply).count();
    let before = replies(&world);
    (1..=40).for_each(|host| world.hand(7, host, forged));
    assert_eq!(replies(&world), before);
    (1..=40).for_each(|host| world.hand(0, host, forged));
    assert_eq!(replies(&world), before + 40);
}

fn reply((from, message): &(u32, Message)) -> Option<(u32, u32)> {
    match message {
        Message::Reply(reply) => Some((*from, reply.round)),
        _ => None,
    }
}

fn centres((_, message): &(u32, Message)) -> Option<Message> {
    matches!(message, Message::Feedback(_)).then_some(*message)
}

#[test]
fn same_seed_gives_the_same_run() {
    for algorithm in ALGORITHMS {
        let run = |seed| {
            let mut world = world(50, field(algorithm), rough(), seed);
            world.start(0);
            world.run_until(at(100));
            std::mem::take(world.trace_mut()).said
        };
        assert_eq!(run(5), run(5), "{algorithm:?}");
        assert_ne!(run(5), run(6), "{algorithm:?}");
    }
}

#[test]
fn overestimate_keeps_replies_few() {
    let estimate = Knowledge::Estimated(Estimate::aggressive(100_000));
    let trial = trial(20_000, Seats::new(1, 8), Algorithm::SkipReset, estimate, 5.6);
    let mut scratch = Scratch::default();
    for run in 0..20 {
        let (it, memory) = elect(&trial, Seeds::new(14, run), scratch);
        scratch = memory;
        // The second estimate is 3,162: about 35 replies, with a standard deviation of 6.
        assert!(it.peak_replies < 80, "{it:?}");
    }
}

#[test]
fn each_class_has_its_own_council() {
    let config = Config {
        chambers: vec![
            Chamber::new(Seats::new(1, 2)),
            Chamber::new(Seats::new(3, 6)),
            Chamber::new(Seats::new(2, 4)),
        ],
        coin: Coin::Private,
        ..Config::once(
            Seats::new(1, 1),
            Algorithm::SkipReset,
            Knowledge::Estimated(Estimate::aggressive(1_000)),
            ROUND,
        )
    };
    let trial = CouncilTrial::new(300, config);
    for run in 0..50 {
        let (it, _) = elect(&trial, Seeds::new(15, run), Scratch::default());
        assert!((6..=12).contains(&it.seats), "{it:?}");
    }
}
