//! All that a segment can say in a Basic round, and asynchronous rings.

use std::collections::VecDeque;

use hustings_protocol::Duration;
use hustings_protocol::wagner::flips::Flip;
use hustings_protocol::wagner::{Config, Message, Ring, Wagner};
use hustings_sim::{Seeds, Stream};
use rand_core::Rng;
use serde_json::Value;

use super::table::{Coins, Table};

const TABLE: &str = include_str!("../../../theory/tests/data/wagner.json");

fn config(ring: Ring) -> Config {
    Config {
        ring,
        ..Config::field(Duration::from_secs(1))
    }
}

fn bit(number: u32, at: u32) -> bool {
    number >> at & 1 == 1
}

/// Plays the first round of a ring of `members` with all streams that the first `cheaters` can send to both sides, and all
/// flips of the others. Returns how many cases are faults: all of whose honest members must know it then, and otherwise none.
fn faults_of_all_streams(members: u32, cheaters: u32, ring: Ring) -> u64 {
    let honest = members - cheaters;
    let mut faults = 0;
    for flips in 0..1_u32 << honest {
        for streams in 0..1_u32 << (2 * members) {
            let coins = |place: u32| Coins {
                next: VecDeque::from([place >= cheaters && bit(flips, place - cheaters)]),
                state: 0,
            };
            let mut table = Table::new(members, config(ring), |place| place >= cheaters, coins);
            let stream = |first: u32| {
                let flip = move |at| Message::Flip(Flip::heads_if(bit(streams, first + at)));
                (0..members).map(flip)
            };
            table.to[cheaters as usize][0].extend(stream(0));
            table.to[members as usize - 1][1].extend(stream(members));
            table.start_all();
            table.run(|_| 0);
            let informed = table.honest().filter(|it| it.fault().is_some()).count();
            assert!(
                informed == 0 || informed == honest as usize,
                "{informed} of {honest} know: {members} {cheaters} {flips:b} {streams:b}"
            );
            faults += u64::from(informed > 0);
        }
    }
    faults
}

/// W2: of all streams only those pass that an honest segment could have sent, whatever its length.
#[test]
fn every_stream_that_no_honest_segment_sends_is_known_to_all() {
    let points: Value = serde_json::from_str(TABLE).expect("the table is JSON");
    let points = points["points"].as_array().expect("a list of points");
    let mut met = 0;
    for (members, most) in [(4, 2), (5, 3), (6, 4)] {
        for cheaters in 1..=most {
            let faults = faults_of_all_streams(members, cheaters, Ring::BothWays);
            let all = 1_u64 << (members - cheaters + 2 * members);
            assert_eq!(faults, all - (1 << members), "{members} {cheaters}");
            let id = format!("detect_exhaustive_n{members}_f{cheaters}");
            if let Some(point) = points.iter().find(|point| point["id"] == id.as_str()) {
                assert_eq!(point["value"], faults, "{id}");
                met += 1;
            }
        }
    }
    assert!(met >= 2, "{met}");
}

#[test]
fn the_same_holds_with_an_agreed_direction() {
    for (members, cheaters) in [(3, 1), (4, 1), (5, 2)] {
        let faults = faults_of_all_streams(members, cheaters, Ring::Clockwise);
        let all = 1_u64 << (members - cheaters + 2 * members);
        assert_eq!(faults, all - (1 << members), "{members} {cheaters}");
    }
}

/// Members wait for each other and not for time: whatever comes first, all agree.
#[test]
fn the_order_in_which_messages_arrive_decides_nothing() {
    for ring in [Ring::BothWays, Ring::Clockwise] {
        for seed in 0..200 {
            let members = 4 + (seed % 6) as u32;
            let coins = |place: u32| Coins {
                next: VecDeque::new(),
                state: seed << 32 | u64::from(place) << 24,
            };
            let elect = |pick: &mut dyn FnMut(usize) -> usize| {
                let mut table = Table::new(members, config(ring), |_| true, coins);
                table.start_all();
                table.run(pick);
                let named: Vec<_> = table.honest().map(Wagner::elected).collect();
                assert!(named.iter().all(|it| *it == named[0]), "{seed}: {named:?}");
                named[0].unwrap_or_else(|| panic!("{seed}: {:?}", table.member(0).fault()))
            };
            let mut rng = Seeds::new(seed, 0).rng(Stream::Network);
            let in_order = elect(&mut |_| 0);
            let last_first = elect(&mut |ready| ready - 1);
            let at_random = elect(&mut |ready| rng.next_u64() as usize % ready);
            assert_eq!((in_order, in_order), (last_first, at_random), "{seed}");
        }
    }
}

#[test]
fn one_member_that_begins_makes_all_others_begin() {
    let coins = |place: u32| Coins {
        next: VecDeque::new(),
        state: u64::from(place) << 24,
    };
    let mut table = Table::new(6, config(Ring::BothWays), |_| true, coins);
    table.tell(2, hustings_protocol::Input::Start);
    table.run(|_| 0);
    assert!(table.honest().all(|it| it.elected().is_some()));
}

/// Anything may come from anywhere, at any time.
#[test]
fn nonsense_is_survived() {
    for seed in 0..300 {
        let mut rng = Seeds::new(seed, 1).rng(Stream::Network);
        let coins = |place: u32| Coins {
            next: VecDeque::new(),
            state: seed << 32 | u64::from(place) << 24,
        };
        let mut table = Table::new(5, config(Ring::BothWays), |_| true, coins);
        table.start_all();
        for _ in 0..400 {
            let number = rng.next_u64();
            let (place, side) = (number as usize % 5, (number >> 8) as usize % 2);
            match (number >> 16) % 16 {
                0 => table.to[place][side].push_back(Message::Withheld),
                1 => table.to[place][side].push_back(Message::Flip(Flip::Heads)),
                2 if number >> 60 == 0 => table.to[place][side].push_back(Message::Fault),
                3 if number >> 60 == 0 => table.expire(place),
                _ => table.deliver(place, side),
            }
        }
        table.run(|_| 0);
        // All or none: those that are left waiting run out of time.
        (0..5).for_each(|place| table.expire(place));
        table.run(|_| 0);
        let informed = table.honest().filter(|it| it.fault().is_some()).count();
        assert!(informed == 0 || informed == 5, "{seed}: {informed}");
    }
}
