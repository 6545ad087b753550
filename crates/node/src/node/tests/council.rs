//! Councils: messages that seem to come from a centre, and their effects.

mod guests;
mod late;
mod record;
mod scarce;

use std::collections::BTreeSet;

use hustings_protocol::Duration;
use hustings_protocol::Instant;
use hustings_protocol::council::{
    Config, Feedback, Message, Search, Seat, Seats, Standing, WireBits,
};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Field, address};
use crate::authority::Authority;
use crate::authority::in_flight::InFlight;
use crate::config::{GroupConfig, MULTICAST, ProtocolConfig};
use crate::council::{CentreStatus, CouncilPart, CouncilStatus, Terms};
use crate::driver::encode;
use crate::entropy::Entropy;
use crate::frame::{Body, Frame, Sender};
use crate::identity::{Incarnation, group_id, member_id};
use crate::node::{Node, Outbox};
use crate::peer_table::Channel;
use hustings_system::clock::calendar;

const ROUND: Duration = Duration::from_millis(100);
const NOW: Instant = Instant(1_000_000_000);

fn rules() -> Config {
    Config::field(Seats::new(4, 8), 1_000, ROUND)
}

/// The configuration of a centre that elects once.
fn guest_rules() -> Config {
    Config { yields: true, ..rules() }
}

fn host_fleet(field: &mut Field, count: usize) {
    for number in 0..count {
        let host = member(&format!("host-{number}"), CouncilPart::HOST);
        field.admit_member(host, None, &[], 0);
    }
}

/// Rules under which a host answers a poll that no earlier round led up to.
fn plain_rules() -> Config {
    Config { search: Search::Printed, ..rules() }
}

fn member(name: &str, council: CouncilPart) -> Node {
    let config = GroupConfig {
        council,
        multicast: Some(MULTICAST),
        ..GroupConfig::plain("test", ProtocolConfig::NoElection)
    };
    let nobody = (Authority::Nobody, InFlight::default());
    Node::new(config, name, 7400, Instant::START, None, nobody, Entropy::seeded(7400))
}

fn host() -> Node {
    host_that_heeds(None)
}

fn host_that_heeds(centre: Option<&str>) -> Node {
    let centre = centre.map(str::to_owned);
    let mut host = member("host", CouncilPart::Host { class: 0, centre });
    let mut out = Outbox::new();
    host.start(NOW, &mut out);
    assert!(out.is_empty(), "hosts of a fleet are silent");
    host
}

/// A call to which all hosts reply.
fn poll(session: u64, round: u32) -> Message {
    Message::Feedback(Feedback {
        session,
        class: 0,
        round,
        base: 0,
        seated: 0,
        word: 1,
        floor: None,
    })
}

/// A seat for the host `host`, elected in `round`.
fn seat_for(host: &str, round: u32) -> Message {
    Message::Seat(Seat { session: 7, class: 0, host: member_id(host), round, place: 3, beat: 0 })
}

/// A host that was called, has replied, and got a seat.
fn seated_host() -> Node {
    let mut host = host();
    assert_eq!(Said::now(0).to(&mut host, &poll(7, 1)), 1);
    assert_eq!(Said::now(1).to(&mut host, &seat_for("host", 1)), 1);
    host
}

/// The envelope of a centre's message: incarnation, frame number and send time.
struct Said {
    incarnation: u64,
    number: u64,
    at_ns: u64,
}

impl Said {
    fn now(number: u64) -> Self {
        Self { incarnation: 7, number, at_ns: calendar() }
    }

    /// The number of frames that `host` sends in answer to `message`.
    fn to(&self, host: &mut Node, message: &Message) -> usize {
        let terms = Terms::of(message, &plain_rules()).expect("a centre's");
        self.with(host, &encode(&terms), &encode(message))
    }

    fn with(&self, host: &mut Node, terms: &[u8], message: &[u8]) -> usize {
        let frame = Frame {
            group: group_id("test"),
            sender: Sender::new("centre", member_id("centre"), Incarnation(self.incarnation), 7400),
            number: self.number,
            to_all: true,
            body: Body::CentreMessage { at_ns: self.at_ns, terms, message },
        };
        let mut out = Outbox::new();
        host.hear(NOW, address(9), Channel::Multicast, &frame, &mut out);
        out.len()
    }
}

#[test]
fn repeated_call_is_answered_once() {
    let mut host = host();
    let said = Said::now(5);
    assert_eq!(said.to(&mut host, &poll(7, 1)), 1);
    assert_eq!(said.to(&mut host, &poll(7, 1)), 0, "the same frame");
    assert_eq!(Said::now(6).to(&mut host, &poll(7, 1)), 0, "the same call");
    assert_eq!(Said::now(7).to(&mut host, &poll(7, 2)), 1);
}

/// A process with the key could poll all hosts, and so could a centre that was cut off from all.
#[test]
fn sudden_poll_is_answered_as_if_the_fleet_were_largest() {
    let terms = Terms::of(&poll(7, 6), &rules()).expect("a centre's");
    let answers = |_| Said::now(0).with(&mut host(), &encode(&terms), &encode(&poll(7, 6)));
    let answers: usize = (0..100).map(answers).sum();
    // With c = 6.7 and 1,000 hosts.
    assert!(answers < 10, "{answers} of 100");
}

#[test]
fn host_with_a_configured_centre_ignores_others() {
    for (centre, answers) in [("centre", 1), ("another", 0)] {
        let mut host = host_that_heeds(Some(centre));
        assert_eq!(Said::now(0).to(&mut host, &poll(7, 1)), answers);
    }
}

#[test]
fn recorded_call_does_not_set_the_address_of_its_centre() {
    let centre = member_id("centre");
    for (at_ns, is_known) in [(calendar(), true), (0, false)] {
        let mut host = host();
        let said = Said { at_ns, ..Said::now(0) };
        said.to(&mut host, &poll(7, 1));
        assert_eq!(host.context.peers.get(centre).is_some(), is_known, "{at_ns}");
    }
}

/// The message was recorded, and is replayed after the fleet was restarted: no host remembers it.
#[test]
fn old_message_is_not_answered_by_restarted_hosts() {
    const SECOND: u64 = 1_000_000_000;
    let said = |at_ns| Said { at_ns, ..Said::now(1) };
    for (at_ns, is_heeded) in [
        (calendar(), true),
        (calendar() - 20 * SECOND, true),
        (calendar() + 20 * SECOND, true),
        (calendar() - 40 * SECOND, false),
        (calendar() + 40 * SECOND, false),
        (0, false),
        (u64::MAX, false),
    ] {
        for message in [poll(7, 2), seat_for("host", 1)] {
            let mut host = host();
            assert_eq!(Said::now(0).to(&mut host, &poll(7, 1)), 1);
            let answers = said(at_ns).to(&mut host, &message);
            assert_eq!(answers, usize::from(is_heeded), "{at_ns} {message:?}");
            assert_eq!(host.emit.counters.council_stale, u64::from(!is_heeded));
        }
    }
}

/// One replayed frame of a centre's earlier incarnation must not cause an answer of every host.
#[test]
fn call_of_an_old_incarnation_is_answered_by_seated_hosts_only() {
    let past = Said { incarnation: 6, ..Said::now(1) };
    let mut unseated = host();
    assert_eq!(Said::now(0).to(&mut unseated, &poll(7, 1)), 1);
    assert_eq!(past.to(&mut unseated, &poll(6, 1)), 0);
    assert_eq!(unseated.emit.counters.replayed, 1);
    let mut seated = seated_host();
    assert_eq!(past.to(&mut seated, &poll(6, 1)), 1, "so that a centre learns of it");
}

/// Otherwise one recorded frame would seat a whole fleet, which would answer every heartbeat.
#[test]
fn replayed_seat_seats_only_its_host() {
    for (calls, meant, round, is_heeded) in [
        (1, "host", 1, true),
        (1, "another", 1, false),
        (0, "host", 1, false), // it has restarted since
        (2, "host", 1, false), // and has replied again
        (2, "host", 2, true),
    ] {
        let mut host = host();
        for call in 1..=calls {
            Said::now(call).to(&mut host, &poll(7, call as u32));
        }
        let answers = Said::now(9).to(&mut host, &seat_for(meant, round));
        let watched = host.watch_seat().expect("a host");
        let is_seated = watched.borrow().seat.is_some();
        let heeded = (usize::from(is_heeded), is_heeded);
        assert_eq!((answers, is_seated), heeded, "{calls} {meant} {round}");
    }
}

#[test]
fn seats_are_held_for_a_lease_and_no_longer() {
    let mut host = seated_host();
    let watched = host.watch_seat().expect("a host");
    let held = watched.borrow().seat.clone().expect("it is seated");
    assert_eq!((held.place, held.centre.name.as_str()), (3, "centre"));
    let lasts = rules().lease.expect("it has one").lasts;
    assert_eq!(host.due(), Some(NOW + lasts));
    let mut out = Outbox::new();
    host.pass(NOW + lasts, &mut out);
    assert_eq!(watched.borrow().seat, None);
}

/// The process was stopped, and handles the waiting frames before it looks at the clock.
#[test]
fn expired_lease_ends_before_waiting_frames_are_handled() {
    let mut host = seated_host();
    let watched = host.watch_seat().expect("a host");
    let standing = Message::Standing(Standing { session: 7, class: 0, beat: 1, places: u128::MAX });
    let terms = encode(&Terms::of(&standing, &rules()).expect("a centre's"));
    let frame = Frame {
        group: group_id("test"),
        sender: Sender::new("centre", member_id("centre"), Incarnation(7), 7400),
        number: 2,
        to_all: true,
        body: Body::CentreMessage { at_ns: calendar(), terms: &terms, message: &encode(&standing) },
    };
    let late = NOW + rules().lease.expect("it has one").lasts + ROUND;
    let mut out = Outbox::new();
    host.hear(late, address(9), Channel::Multicast, &frame, &mut out);
    assert_eq!(watched.borrow().seat, None);
}

#[test]
fn malformed_council_messages_are_counted_and_harmless() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut members = [
        host(),
        member("centre-2", CouncilPart::Centre(Box::new(rules()))),
        member("off", CouncilPart::Off),
    ];
    let (terms, message) =
        (encode(&Terms::of(&poll(7, 1), &rules()).expect("a centre's")), encode(&poll(7, 1)));
    for number in 0..20_000 {
        let mut noise = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            for _ in 0..1 + rng.next_u64() % 4 {
                match rng.next_u64() % 3 {
                    0 => bytes.truncate(rng.next_u64() as usize % (bytes.len() + 1)),
                    1 => bytes.push(rng.next_u64() as u8),
                    _ if bytes.is_empty() => {}
                    _ => {
                        let place = rng.next_u64() as usize % bytes.len();
                        bytes[place] = rng.next_u64() as u8;
                    }
                }
            }
            bytes
        };
        let (terms, message) = (noise(&terms), noise(&message));
        for member in &mut members {
            Said::now(number).with(member, &terms, &message);
            let frame = Frame {
                group: group_id("test"),
                sender: Sender::new("other", member_id("other"), Incarnation(7), 7400),
                number,
                to_all: false,
                body: Body::HostMessage { message: &message },
            };
            let mut out = Outbox::new();
            member.hear(NOW, address(8), Channel::Unicast, &frame, &mut out);
        }
    }
    let [host, centre, off] = members.map(|it| it.emit.counters);
    assert!(host.malformed > 1_000 && host.council_senseless > 1_000, "{host:?}");
    assert!(centre.malformed > 1_000, "{centre:?}");
    assert_eq!(off.malformed, 0);
}

#[test]
fn seats_are_filled_although_a_fifth_of_messages_is_lost() {
    let mut field = Field::empty();
    field.lost_percent = 20;
    field.admit_member(member("centre", CouncilPart::Centre(Box::new(rules()))), None, &[], 0);
    host_fleet(&mut field, 40);
    let filled = |field: &Field| match field.members[0].status(field.now).council {
        Some(CouncilStatus::Centre(centre)) => centre.is_filled() && centre.is_settled,
        other => panic!("{other:?}"),
    };
    let mut rounds = 0;
    while !filled(&field) {
        field.run(ROUND);
        rounds += 1;
        assert!(rounds < 300, "no council");
    }
    // Seats become vacant if a few heartbeats in a row, or the answers to them, are lost; now and
    // then several at once.
    let mut short = 0;
    for _ in 0..200 {
        field.run(ROUND);
        let seated = believers(&field).len();
        assert!(seated <= 8);
        short += u32::from(seated < 4);
    }
    assert!(short < 50, "{short} of 200 rounds");
}

fn centre_status(field: &Field, member: usize) -> CentreStatus {
    match field.members[member].status(field.now).council {
        Some(CouncilStatus::Centre(centre)) => centre,
        other => panic!("{other:?}"),
    }
}

fn believers(field: &Field) -> BTreeSet<String> {
    let held = |it: &Node| it.watch_seat().is_some_and(|it| it.borrow().seat.is_some());
    let holders = field.members.iter().filter(|it| held(it));
    holders.map(|it| it.context.member.clone()).collect()
}

/// An election may end with fewer seats than the centre keeps. If there are only just enough hosts,
/// they keep their seats.
#[test]
fn hosts_are_recruited_until_the_kept_number_is_seated() {
    for (hosts, kept) in [(30, 8), (5, 5)] {
        let mut rules = rules();
        rules.chambers[0].keep = 8;
        rules.chambers[0].c = Vec::new();
        let mut field = Field::empty();
        let centre = CouncilPart::Centre(Box::new(rules));
        field.admit_member(member("centre", centre), None, &[], 0);
        host_fleet(&mut field, hosts);
        let mut fewest = None;
        for _ in 0..400 {
            field.run(ROUND);
            let seated = believers(&field).len();
            assert!(fewest.is_none_or(|before| seated >= before), "nobody rises");
            fewest = (seated >= 4).then_some(seated).or(fewest);
        }
        assert_eq!(fewest, Some(kept), "of {hosts}");
    }
}

/// The hosts that `--once` prints know by then that they are seated. All seats end a lease later,
/// even if the centre's last message is lost.
#[test]
fn seats_given_once_are_confirmed_and_end_with_their_lease() {
    for seed in 0..300 {
        let mut field = Field::empty();
        field.chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        field.lost_percent = 20;
        host_fleet(&mut field, 30);
        let guest = CouncilPart::Centre(Box::new(guest_rules()));
        field.admit_member(member("guest", guest), None, &[], 0);
        let told = loop {
            field.run(Duration(ROUND.0 / 10));
            let told = centre_status(&field, 30);
            if told.is_filled() && told.is_settled && told.is_confirmed() {
                break told;
            }
            assert!(field.now < NOW + ROUND * 1_000, "no council, seed {seed}");
        };
        let seats: BTreeSet<String> = told.seats().map(|it| it.member.name.clone()).collect();
        // One more host may believe for a lease that it has a seat: the centre has not heard it for
        // long, and no longer counts on it.
        assert!(seats.is_subset(&believers(&field)), "seed {seed}");
        // The centre ends, and its last message is lost.
        field.sides[30] = 1;
        let lasts = rules().lease.expect("it has one").lasts;
        field.run(lasts + ROUND);
        assert_eq!(believers(&field), BTreeSet::new(), "seed {seed}");
    }
}

/// The first of two successive centres gave seats for longer than the second one's own lease. One
/// holder of a long seat hears neither centre.
#[test]
fn centre_waits_for_longer_seats_of_an_earlier_centre() {
    for seed in 0..10 {
        let mut field = Field::empty();
        field.chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut long = rules();
        let lease = long.lease.as_mut().expect("it has one");
        (lease.beat, lease.lasts) = (ROUND * 5, ROUND * 60);
        let first = CouncilPart::Centre(Box::new(long));
        field.admit_member(member("first", first), None, &[], 0);
        host_fleet(&mut field, 30);
        while believers(&field).len() < 4 {
            field.run(ROUND);
        }
        // The first centre is gone, and two seated hosts are cut off.
        field.sides[0] = 1;
        let seats = believers(&field);
        let cut = (1..31).filter(|index| seats.contains(&field.members[*index].context.member));
        for index in cut.take(2).collect::<Vec<_>>() {
            field.sides[index] = 2;
        }
        let second = CouncilPart::Centre(Box::new(rules()));
        field.admit_member(member("second", second), None, &[], 0);
        let mut was_filled = false;
        for _ in 0..200 {
            field.run(ROUND);
            let held = believers(&field);
            assert!(held.len() <= 8, "seed {seed}: {held:?}");
            let second = centre_status(&field, 31);
            was_filled |= second.is_filled();
            let of_first = held.len() > second.seats().count() && second.is_filled();
            assert!(!of_first, "seed {seed}: seats of two sessions at once: {held:?}");
        }
        assert!(was_filled, "seed {seed}");
    }
}

/// A recorded frame is replayed in the same incarnation: the heartbeat that confirmed a seat.
#[test]
fn replayed_heartbeat_renews_no_lease() {
    let mut host = seated_host();
    let watched = host.watch_seat().expect("a host");
    let standing =
        |beat| Message::Standing(Standing { session: 7, class: 0, beat, places: 1 << 3 });
    assert_eq!(Said::now(2).to(&mut host, &standing(1)), 1, "it confirms");
    assert_eq!(Said::now(2).to(&mut host, &standing(1)), 0, "the same frame");
    assert_eq!(Said::now(3).to(&mut host, &standing(1)), 0, "the same beat");
    let due = host.due();
    assert_eq!(Said::now(4).to(&mut host, &standing(0)), 0, "an earlier one");
    assert_eq!(host.due(), due);
    // The beat before does not give back a seat that was taken away.
    let gone = Message::Standing(Standing { session: 7, class: 0, beat: 3, places: 0 });
    Said::now(5).to(&mut host, &gone);
    assert_eq!(Said::now(6).to(&mut host, &standing(2)), 0);
    assert_eq!(watched.borrow().seat, None);
}

/// The number in the first call that a centre makes from `now` on.
fn first_call(centre: &mut Node, mut now: Instant) -> u32 {
    let mut out = Outbox::new();
    for _ in 0..1_000 {
        now = centre.due().expect("it waits for something").max(now);
        centre.pass(now, &mut out);
        for (_, _, mut frame) in out.drain(..) {
            let content = centre.keyring().open(&mut frame).expect("its own");
            let frame = Frame::decode(content).expect("its own");
            let Body::CentreMessage { message, .. } = frame.body else {
                continue;
            };
            if let Ok(Message::Feedback(call)) = postcard::from_bytes(message) {
                assert_eq!((call.round, call.base), (1, 0), "the first of a session");
                let content = WireBits::decode(call.word, rules().algorithm, false);
                return content.expect("a reset").count;
            }
        }
    }
    panic!("it never calls");
}

/// Independent of how well it knew its fleet before.
#[test]
fn restarted_centre_begins_with_the_highest_estimate() {
    let mut field = Field::empty();
    let centre = || member("centre", CouncilPart::Centre(Box::new(rules())));
    field.admit_member(centre(), None, &[], 0);
    host_fleet(&mut field, 40);
    field.run(ROUND * 300);
    assert!(centre_status(&field, 0).is_filled(), "no council");
    let now = field.now;
    let running = &mut field.members[0];
    running.handle(now, &crate::node::Event::CouncilOutlived, &mut Outbox::new());
    assert_eq!(first_call(running, now), 1_000);
    let mut restarted = centre();
    restarted.start(now, &mut Outbox::new());
    assert_eq!(first_call(&mut restarted, now), 1_000);
}
