//! Proofs that a process runs. Floods do not delay them, recorded answers do not make them, and
//! they expire.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use hustings_protocol::Duration;
use hustings_protocol::announce::Takeover;

use super::replay_window::stranger;
use super::{ALL, ANNOUNCE, CAME_UP, DELAY, Field, Flight, address, id, name};
use crate::entropy::Entropy;
use crate::frame::{Body, Frame, Sender};
use crate::identity::group_id;
use crate::node::{Node, Outbox};
use crate::peer_table::Channel;
use crate::replay_window::PROOF_LASTS;
use crate::tenure::LAST_NUMBER;

impl Field {
    /// Records the multicasts that come to `to` within `span`.
    fn record_multicasts(&mut self, to: usize, span: Duration) -> Vec<Flight> {
        let mut recorded = self.record(to, span);
        recorded.retain(|it| it.channel == Channel::Multicast);
        recorded
    }

    /// Replays a recorded frame to a member now.
    fn send_again(&mut self, flight: &Flight, to: usize, from: SocketAddr) {
        self.flights.push(Flight { at: self.now, to, from, ..flight.copy() });
    }

    fn body_name(&mut self, flight: &Flight) -> String {
        let mut frame = flight.frame.clone();
        let keyring = self.members[flight.to].keyring();
        let content = keyring.open(&mut frame).expect("it is for this member");
        let body = Frame::decode(content).expect("it is a frame").body;
        match body {
            Body::Pong { .. } => "here".to_owned(),
            Body::Ping { .. } => "ping".to_owned(),
            _ => String::new(),
        }
    }
}

/// Frames of the leader come from many addresses, far faster than its answer. If one of them could
/// replace an open challenge, no answer would ever be in time.
#[test]
fn flood_of_recorded_frames_does_not_delay_a_proof() {
    let ms = Duration::from_millis;
    for (every, addresses, delay) in [(ms(5), 12, ms(50)), (ms(5), 5, ms(50)), (ms(1), 200, ms(10))]
    {
        let mut field = Field::settled(Takeover::Never, &[0; 4]);
        let leader = field.agreed(&ALL[..4]).expect("they agree");
        let victim = (leader + 1) % 4;
        let recorded = field.record_multicasts(victim, ANNOUNCE * 20);
        field.slow = Some((victim, delay));
        field.restart(victim);
        for number in 0..(2_000 / (every.0 / 1_000_000)) {
            let from = SocketAddr::from(([10, 0, 1, (number % addresses) as u8], 7400));
            let flight = recorded[number as usize % recorded.len()].copy();
            field.send_again(&flight, victim, from);
            field.run(every);
        }
        let named = field.leader_of(victim);
        assert_eq!(named, Some(id(leader)), "{every} {addresses} {delay}");
    }
}

/// The member was cut off and has missed these frames, so they are new to it. Their sender has died
/// since.
#[test]
fn missed_frames_of_a_leader_that_died_do_not_count_later() {
    for are_left in [true, false] {
        let mut field = Field::settled(Takeover::Never, &[0; 4]);
        let leader = field.agreed(&ALL[..4]).expect("they agree");
        let [victim, other, third] = [1, 2, 3].map(|it| (leader + it) % 4);
        field.sides[victim] = 9;
        let recorded = field.record_multicasts(other, ANNOUNCE * 50);
        field.sides[leader] = 8; // it is dead
        field.run(Duration::from_secs(2));
        if are_left {
            field.sides[victim] = 0;
            field.run(Duration::from_secs(2));
            assert!(field.agreed(&[victim, other, third]).is_some());
        }
        for flight in &recorded {
            field.send_again(flight, victim, stranger());
            field.run(ANNOUNCE);
            assert_ne!(field.leader_of(victim), Some(id(leader)), "{are_left}");
        }
        assert!(recorded.len() > 40);
    }
}

/// The same with a member that was not the leader when it was last heard: its proof expires in
/// time.
#[test]
fn proof_of_a_silent_member_expires() {
    let mut field = Field::settled(Takeover::Never, &[0; 4]);
    let leader = field.agreed(&ALL[..4]).expect("they agree");
    let victim = (leader + 1) % 4;
    field.sides[victim] = 9;
    field.sides[leader] = 8; // it is dead
    field.run(Duration::from_secs(2));
    let rest = [2, 3].map(|it| (leader + it) % 4);
    let next = field.agreed(&rest).expect("they agree");
    let witness = rest[usize::from(rest[0] == next)];
    let recorded = field.record_multicasts(witness, ANNOUNCE * 20);
    for it in rest {
        field.sides[it] = 7; // they die
    }
    field.run(PROOF_LASTS);
    for flight in &recorded {
        field.send_again(flight, victim, stranger());
        field.run(ANNOUNCE);
        assert_eq!(field.leader_of(victim), Some(id(victim)));
    }
    assert!(recorded.len() > 10);
}

/// A leader that sends is challenged again long before its proof expires: none of its frames has to
/// wait.
#[test]
fn proof_of_a_sending_leader_is_renewed() {
    let mut field = Field::settled(Takeover::Never, &[0; 3]);
    let leader = field.agreed(&ALL[..3]).expect("they agree");
    let follower = (leader + 1) % 3;
    let unproven = field.members[follower].emit.counters.unproven;
    let before = field.members[follower].emit.counters.challenges_sent;
    field.run(PROOF_LASTS * 4);
    assert_eq!(field.agreed(&ALL[..3]), Some(leader));
    let counters = field.members[follower].emit.counters;
    assert_eq!(counters.unproven, unproven);
    let renewed = counters.challenges_sent - before;
    assert!((7..=9).contains(&renewed), "{renewed} in four minutes");
}

/// An answer to an earlier challenge comes with a frame of the dead process, while the new
/// challenge to it is open.
#[test]
fn recorded_answer_to_another_challenge_proves_nothing() {
    let mut field = Field::settled(Takeover::Never, &[0; 4]);
    let leader = field.agreed(&ALL[..4]).expect("they agree");
    let victim = (leader + 1) % 4;
    field.restart(victim);
    let recorded = field.record(victim, ANNOUNCE * 10);
    let names: Vec<String> = recorded.iter().map(|it| field.body_name(it)).collect();
    assert!(names.iter().any(|it| it == "here"));
    field.sides[leader] = 8; // it is dead
    field.restart(victim);
    for _ in 0..20 {
        for flight in recorded.iter().filter(|it| it.from == address(leader)) {
            field.send_again(flight, victim, address(leader));
        }
        field.run(DELAY * 4);
        assert!(!field.members[victim].is_proven(id(leader)));
        assert_ne!(field.leader_of(victim), Some(id(leader)));
        field.run(ANNOUNCE);
    }
}

/// A voter answers a search, and then its process dies. The answer is recorded.
#[test]
fn recorded_answer_to_a_search_proves_nothing() {
    let mut field = Field::settled(Takeover::Never, &[0; 3]);
    field.act(0, |it, now, out| it.handle(now, &crate::node::Event::Seek(id(1)), out));
    let recorded = field.record(0, DELAY * 4);
    let answers: Vec<Flight> = {
        let is_here: Vec<bool> = recorded.iter().map(|it| field.body_name(it) == "here").collect();
        let both = recorded.into_iter().zip(is_here);
        both.filter(|it| it.1).map(|it| it.0).collect()
    };
    assert!(!answers.is_empty());
    field.sides[1] = 8; // it is dead
    field.restart(0);
    field.act(0, |it, now, out| it.handle(now, &crate::node::Event::Seek(id(1)), out));
    for flight in &answers {
        field.send_again(flight, 0, address(1));
    }
    field.run(DELAY * 4);
    assert!(!field.members[0].is_proven(id(1)));
}

/// The guardian sends it when the process is dead and can no longer answer, perhaps long after its
/// last frame.
#[test]
fn release_of_a_dead_process_needs_no_new_proof() {
    let mut field = Field::settled(Takeover::Never, &[0; 3]);
    let (name, incarnation) = (name(1), field.members[1].context.incarnation);
    let sender = Sender::new(&name, id(1), incarnation, 7400)
        .with_process_incarnation(field.members[1].context.process_incarnation);
    let release = |number| Frame {
        group: group_id("test"),
        sender,
        number,
        to_all: false,
        body: Body::Tenure { to: id(0), authority: 0, message: &[] },
    };
    let later = field.now + PROOF_LASTS;
    field.members[0].admission.miss(id(1));
    for (now, is_lapsed) in [(field.now, false), (later, true)] {
        let mut must_prove = |number| field.members[0].must_prove(now, &release(number));
        assert_eq!(must_prove(LAST_NUMBER - 1), is_lapsed);
        assert!(!must_prove(LAST_NUMBER));
    }
    // A process that has never answered cannot have been granted anything.
    field.restart(0);
    assert!(field.members[0].must_prove(later, &release(LAST_NUMBER)));
}

/// A follower's hello to its leader, on a connection to another member.
#[test]
fn recorded_hello_of_a_lifeline_is_for_its_leader_alone() {
    let mut field = Field::settled(Takeover::Never, &[0; 4]);
    let leader = field.agreed(&ALL[..4]).expect("they agree");
    let [follower, other] = [1, 2].map(|it| (leader + it) % 4);
    let hello = field.members[follower].lifeline_hello(id(leader));
    let hello = hello.expect("there is randomness");
    let is_let_in = |member: &mut Node, now| {
        let mut bytes = hello.clone();
        let content = member.keyring().open(&mut bytes).map(<[u8]>::to_vec);
        content.is_ok_and(|content| {
            let frame = Frame::decode(&content).expect("it is a frame");
            member.hear(now, stranger(), Channel::Link, &frame, &mut Outbox::new())
        })
    };
    let now = field.now;
    assert!(!is_let_in(&mut field.members[other], now));
    assert!(is_let_in(&mut field.members[leader], now));
}

/// An attacker that has two frames under one nonce learns more than it should. Here the members run
/// twice from one snapshot: only the operating system's random numbers differ from then on.
#[test]
fn no_two_frames_have_the_same_nonce() {
    let (mut recorded, mut settled) = (Vec::new(), BTreeSet::new());
    for run in 0..2 {
        CAME_UP.set(0);
        let mut field = Field::settled(Takeover::Never, &[0; 3]);
        settled.insert(field.members[0].emit.entropy.next());
        for (index, member) in (0..).zip(&mut field.members) {
            member.emit.entropy = Entropy::seeded(run * 3 + index);
        }
        recorded.extend(field.record(0, Duration::from_secs(2)));
    }
    assert_eq!(settled.len(), 1, "the members are in the same state");
    let nonces: BTreeSet<&[u8]> = recorded.iter().map(|it| &it.frame[13..37]).collect();
    assert!(recorded.len() > 10);
    assert_eq!(nonces.len(), recorded.len());
}
