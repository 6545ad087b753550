//! All messages that a segment can send in a Basic round, and asynchronous rings.

use std::collections::VecDeque;
use std::fmt::Debug;

use hustings_protocol::Duration;
use hustings_protocol::wagner::flips::{Flip, Places};
use hustings_protocol::wagner::leader::Leader;
use hustings_protocol::wagner::subset::Compare;
use hustings_protocol::wagner::{Config, Message, Ring, Wagner};
use hustings_sim::{Seeds, Stream};
use rand_core::Rng;
use serde_json::Value;

use super::table::{Coins, Table};

const TABLE: &str = include_str!("../../../theory/tests/data/wagner.json");

/// All segments on rings of 4 to 6, members and cheaters, that leave two honest neighbours or more.
const SEGMENTS: [(u32, u32); 9] =
    [(4, 1), (4, 2), (5, 1), (5, 2), (5, 3), (6, 1), (6, 2), (6, 3), (6, 4)];

fn config(ring: Ring) -> Config {
    Config { ring, ..Config::field(Duration::from_secs(1)) }
}

fn bit(number: u32, at: u32) -> bool {
    number >> at & 1 == 1
}

fn flip(is_heads: bool) -> Message {
    Message::Flip(Flip::heads_if(is_heads))
}

/// A ring of `members` of which the test controls the first `cheaters`, and the others flip, round
/// by round, as `flips` says.
fn table(members: u32, cheaters: u32, ring: Ring, flips: impl Fn(u32) -> Vec<bool>) -> Table {
    let coins = |place: u32| Coins { next: flips(place).into(), state: 0 };
    let mut table = Table::new(members, config(ring), |place| place >= cheaters, coins);
    table.start_all();
    table
}

/// Lets the cheaters send these messages to their right neighbour and to their left, and executes
/// all consequences. Returns true if there is a fault: then all honest members must know it, and
/// otherwise none.
fn is_fault(table: &mut Table, right: &[Message], left: &[Message], what: &dyn Debug) -> bool {
    let honest = table.honest().count();
    let members = table.to.len();
    table.to[members - honest][0].extend(right);
    table.to[members - 1][1].extend(left);
    table.settle();
    let informed = table.honest().filter(|it| it.fault().is_some()).count();
    assert!(
        informed == 0 || informed == honest,
        "{informed} of {honest} know: {what:?} {right:?} {left:?}"
    );
    informed > 0
}

/// Plays the first round of a ring of `members` with all streams that the first `cheaters` can send
/// to both sides, and all flips of the others. Returns the number of cases that are faults.
fn faults_of_all_streams(members: u32, cheaters: u32, ring: Ring) -> u64 {
    let mut faults = 0;
    for flips in 0..1_u32 << (members - cheaters) {
        let of = |place: u32| vec![place >= cheaters && bit(flips, place - cheaters)];
        let begun = table(members, cheaters, ring, of);
        for streams in 0..1_u32 << (2 * members) {
            let all: Vec<Message> = (0..2 * members).map(|at| flip(bit(streams, at))).collect();
            let (right, left) = all.split_at(members as usize);
            let what = (members, cheaters, flips);
            faults += u64::from(is_fault(&mut begun.clone(), right, left, &what));
        }
    }
    faults
}

/// All messages to one side short of a whole stream: flips, and then silence, or a misplaced
/// message.
fn broken_off(members: u32) -> Vec<Vec<Message>> {
    let ends: [&[Message]; 3] = [&[], &[Message::Withheld], &[Message::Fault]];
    let flips = (0..members).flat_map(|count| (0..1_u32 << count).map(move |flips| (count, flips)));
    flips
        .flat_map(|(count, flips)| {
            let said: Vec<Message> = (0..count).map(|at| flip(bit(flips, at))).collect();
            ends.map(|end| [said.as_slice(), end].concat())
        })
        .collect()
}

/// W2, W3: streams that break off, on one side or on both. Heads and tails are symmetric, so one
/// honest flip may be heads.
#[test]
fn every_broken_stream_is_known_to_all() {
    for (members, cheaters) in SEGMENTS {
        let parts = broken_off(members);
        let whole: Vec<Vec<Message>> = (0..1_u32 << members)
            .map(|flips| (0..members).map(|at| flip(bit(flips, at))).collect())
            .collect();
        let of_both = parts.iter().flat_map(|one| parts.iter().map(move |other| (one, other)));
        let of_one = parts.iter().flat_map(|one| whole.iter().map(move |other| (one, other)));
        let mut cases: Vec<(&[Message], &[Message])> = Vec::new();
        cases.extend(of_both.map(|(one, other)| (one.as_slice(), other.as_slice())));
        for (one, other) in of_one {
            cases.extend([(one.as_slice(), other.as_slice()), (other, one)]);
        }
        for flips in 0..1_u32 << (members - cheaters - 1) {
            let of = |place: u32| vec![place >= cheaters && bit(2 * flips + 1, place - cheaters)];
            let begun = table(members, cheaters, Ring::BothWays, of);
            for (right, left) in &cases {
                let mut table = begun.clone();
                table.to[cheaters as usize][0].extend(*right);
                table.to[members as usize - 1][1].extend(*left);
                table.settle();
                // A member that is left waiting times out.
                (cheaters..members).for_each(|place| table.expire(place as usize));
                table.settle();
                let is_known = table.honest().all(|it| it.fault().is_some());
                assert!(is_known, "{members} {cheaters} {flips:b} {right:?} {left:?}");
            }
        }
    }
}

/// (L), step 3: the same for a round in which two neighbours do not show each other their flips,
/// which go round one way only.
#[test]
fn every_wrong_stream_is_known_to_all_beside_a_withholding_pair() {
    for (members, cheaters) in SEGMENTS {
        let mut faults = 0;
        for first in 0..members {
            faults += faults_beside_a_pair(members, cheaters, first);
        }
        let all = 1_u64 << (members - cheaters + 2 * members);
        let expected = u64::from(members) * (all - (1 << members));
        assert_eq!(faults, expected, "{members} {cheaters}");
    }
}

/// The same, if the member at `first` and the next are those.
fn faults_beside_a_pair(members: u32, cheaters: u32, first: u32) -> u64 {
    let second = (first + 1) % members;
    let is_one = |place: u32| place == first || place == second;
    // The pair flips heads, and then come coins that let it stay.
    let mut heads = Places::none(members);
    (0..members).for_each(|place| heads.put(place, is_one(place)));
    let mut leader = Leader::new(members);
    leader.take(&heads, Compare::NonStrict, None);
    let mut rounds = vec![(0..members).map(is_one).collect::<Vec<bool>>()];
    while !leader.splits() {
        leader.take(&Places::none(members), Compare::NonStrict, None);
        rounds.push(vec![false; members as usize]);
    }
    assert_eq!(leader.neighbours(), Some(first));
    let mut faults = 0;
    for flips in 0..1_u32 << (members - cheaters) {
        let of = |place: u32| {
            let last = place >= cheaters && bit(flips, place - cheaters);
            let before = rounds.iter().map(|round| round[place as usize]);
            before.chain([last]).collect()
        };
        let mut begun = table(members, cheaters, Ring::BothWays, of);
        for round in &rounds {
            // As honest members: the flip of each, from the nearest on.
            let of = |place: u32| flip(round[(place % members) as usize]);
            let right: Vec<_> = (1..=members).map(|k| of(cheaters + members - k)).collect();
            let left: Vec<_> = (1..=members).map(|k| of(members - 1 + k)).collect();
            assert!(!is_fault(&mut begun, &right, &left, &"honest"));
        }
        for streams in 0..1_u32 << (2 * members) {
            // In place of a withheld flip, another bit still is a flip.
            let said = |withheld: u32, place: u32, at: u32| match bit(streams, at) {
                false if place % members == withheld => Message::Withheld,
                is_heads => flip(is_heads),
            };
            let right: Vec<_> =
                (1..=members).map(|k| said(first, cheaters + members - k, k - 1)).collect();
            let left: Vec<_> =
                (1..=members).map(|k| said(second, members - 1 + k, members + k - 1)).collect();
            let what = (members, cheaters, first, flips);
            faults += u64::from(is_fault(&mut begun.clone(), &right, &left, &what));
        }
    }
    faults
}

/// W2: of all streams only those pass that an honest segment could have sent, for any length.
#[test]
fn every_dishonest_stream_is_known_to_all() {
    let points: Value = serde_json::from_str(TABLE).expect("the table is JSON");
    let points = points["points"].as_array().expect("a list of points");
    let mut met = 0;
    for (members, cheaters) in SEGMENTS {
        let faults = faults_of_all_streams(members, cheaters, Ring::BothWays);
        let all = 1_u64 << (members - cheaters + 2 * members);
        assert_eq!(faults, all - (1 << members), "{members} {cheaters}");
        let id = format!("detect_exhaustive_n{members}_f{cheaters}");
        if let Some(point) = points.iter().find(|point| point["id"] == id.as_str()) {
            assert_eq!(point["value"], faults, "{id}");
            met += 1;
        }
    }
    assert_eq!(met, 2);
}

#[test]
fn every_dishonest_stream_is_known_with_an_agreed_direction() {
    for (members, cheaters) in [(3, 1), (4, 1), (5, 2)] {
        let faults = faults_of_all_streams(members, cheaters, Ring::Clockwise);
        let all = 1_u64 << (members - cheaters + 2 * members);
        assert_eq!(faults, all - (1 << members), "{members} {cheaters}");
    }
}

/// Members wait for each other and not for time: for any order of arrival, all agree.
#[test]
fn order_of_arrival_decides_nothing() {
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
fn one_starting_member_starts_all_others() {
    let coins = |place: u32| Coins { next: VecDeque::new(), state: u64::from(place) << 24 };
    let mut table = Table::new(6, config(Ring::BothWays), |_| true, coins);
    table.tell(2, hustings_protocol::Input::Start);
    table.run(|_| 0);
    assert!(table.honest().all(|it| it.elected().is_some()));
}

/// Any message from any sender, at any time.
#[test]
fn arbitrary_input_does_not_panic() {
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
        // All or none: members that are left waiting time out.
        (0..5).for_each(|place| table.expire(place));
        table.run(|_| 0);
        let informed = table.honest().filter(|it| it.fault().is_some()).count();
        assert!(informed == 0 || informed == 5, "{seed}: {informed}");
    }
}
