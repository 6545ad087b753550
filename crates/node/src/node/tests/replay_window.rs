//! Frames that were recorded while their senders ran, replayed to members that have restarted
//! since.

use std::net::SocketAddr;
use std::sync::Arc;

use hustings_protocol::Duration;
use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::{Durable, Saved};

use super::tenure::TTL;
use super::{ALL, ANNOUNCE, DELAY, Field, Flight, LISTEN, address, announcing, entropy, id, name};
use crate::authority::Authority;
use crate::authority::in_flight::InFlight;
use crate::frame::{Body, Frame, Sender};
use crate::identity::{Incarnation, group_id};
use crate::node::{Io, Node, Outbox};
use crate::peer_table::Channel;
use hustings_testkit::logged;

/// An address without a member, from which replays come.
pub(super) fn stranger() -> SocketAddr {
    address(99)
}

impl Field {
    /// Records every frame that comes to `to` within `span`.
    pub(super) fn record(&mut self, to: usize, span: Duration) -> Vec<Flight> {
        self.recorder = Some((to, Vec::new()));
        self.run(span);
        let recorder = self.recorder.take();
        recorder.map(|it| it.1).unwrap_or_default()
    }

    /// Replays recorded frames to a member, one in each `pause`, from the stranger's address. The
    /// member's answers are lost: no process is there.
    fn replay_window(
        &mut self,
        recorded: &[Flight],
        to: usize,
        pause: Duration,
        look: impl Fn(&Self),
    ) {
        for flight in recorded {
            self.flights.push(Flight {
                at: self.now + DELAY,
                to,
                from: stranger(),
                ..flight.copy()
            });
            self.run(pause);
            look(self);
        }
    }

    /// Restarts a member at its address, with the same name and configuration. It remembers
    /// nothing.
    pub(super) fn restart(&mut self, index: usize) {
        let (config, port) = (self.members[index].context.config.clone(), address(index).port());
        let nobody = (Authority::Nobody, InFlight::new(Arc::default()));
        let random = entropy(self.now, port);
        let again = Node::new(config, &name(index), port, self.now, None, nobody, random);
        self.put(index, again);
    }

    /// Restarts a voter at its address.
    fn restart_fenced(&mut self, index: usize, takeover: Takeover, saved: Saved) {
        let priority = 5 - index as u64;
        let (again, given) = self.fenced_member(index, &[0, 1, 2], takeover, priority, saved);
        self.disks[index] = Some((given, true));
        self.put(index, again);
    }

    fn put(&mut self, index: usize, mut again: Node) {
        let mut out = Outbox::new();
        again.start(self.now, &mut out);
        self.members[index] = again;
        self.flights.retain(|it| it.to != index);
        self.post(index, out);
        self.save(index);
    }

    pub(super) fn knows_at(&self, who: usize, whom: usize) -> Option<SocketAddr> {
        self.members[who].context.peers.get(id(whom)).map(|it| it.address)
    }

    /// The numbers of frames that `index` has accepted, and refused for want of a proof.
    fn heard_and_unproven(&self, index: usize) -> (u64, u64) {
        let counters = &self.members[index].emit.counters;
        (counters.heard, counters.unproven)
    }
}

impl Flight {
    pub(super) fn copy(&self) -> Self {
        Self { frame: self.frame.clone(), ..*self }
    }
}

#[test]
fn restarted_members_do_not_follow_a_recorded_dead_leader() {
    let mut field = Field::settled(Takeover::Never, &[0; 5]);
    let leader = field.agreed(&ALL).expect("they agree");
    let victim = (leader + 1) % 5;
    let recorded = field.record(victim, ANNOUNCE * 20);
    assert!(recorded.len() >= 15, "{}", recorded.len());
    field.sides[leader] = 9;
    for it in ALL.into_iter().filter(|it| *it != leader) {
        field.restart(it);
    }
    field.replay_window(&recorded, victim, ANNOUNCE, |field| {
        assert_ne!(field.leader_of(victim), Some(id(leader)), "at {:?}", field.now);
        assert_eq!(field.knows_at(victim, leader), None);
    });
    let rest: Vec<usize> = ALL.into_iter().filter(|it| *it != leader).collect();
    assert!(field.agreed(&rest).is_some(), "they have elected another");
    let (_, unproven) = field.heard_and_unproven(victim);
    assert!(unproven > 0, "what never counted is counted");
}

/// Restarted members hear a recording of a former leader beside the working one.
#[test]
fn working_leader_keeps_its_restarted_followers() {
    for takeover in [Takeover::Never, Takeover::ByTheBetter] {
        // The best member, which was there before.
        let mut field = Field::settled(takeover, &[9, 3, 2, 1]);
        field.run(LISTEN);
        let former = field.agreed(&ALL[..4]).expect("they agree");
        let victim = (former + 1) % 4;
        let recorded = field.record(victim, ANNOUNCE * 20);
        field.sides[former] = 9;
        field.run(Duration::from_secs(2));
        let rest: Vec<usize> = (0..4).filter(|it| *it != former).collect();
        let leader = field.agreed(&rest).expect("the others agree");
        for it in rest.iter().copied().filter(|it| *it != leader) {
            field.restart(it);
        }
        field.run(ANNOUNCE * 3);
        let before = field.agreed(&rest);
        assert_eq!(before, Some(leader));
        for it in rest.iter().copied().filter(|it| *it != leader) {
            field.replay_window(&recorded, it, ANNOUNCE, |field| {
                assert_eq!(field.agreed(&rest), Some(leader), "{takeover:?}");
            });
        }
    }
}

/// The process still runs and proves itself, but its old frames are too old.
#[test]
fn restarted_member_refuses_old_frames_of_a_running_process() {
    let mut field = Field::settled(Takeover::Never, &[0; 4]);
    let leader = field.agreed(&ALL[..4]).expect("they agree");
    let victim = (leader + 1) % 4;
    let mut recorded = field.record(victim, ANNOUNCE * 20);
    recorded.retain(|it| it.channel == Channel::Multicast);
    let count = recorded.len();
    field.run(Duration::from_secs(3));
    field.restart(victim);
    // With the address of the leader, which answers the challenge that they cause.
    for flight in recorded {
        field.flights.push(Flight { at: field.now + DELAY, ..flight });
    }
    field.run(DELAY * 4);
    assert_eq!(field.knows_at(victim, leader), Some(address(leader)), "it is proven");
    assert_eq!(field.leader_of(victim), None, "by what it said long ago");
    let replayed = field.members[victim].emit.counters.replayed;
    let (_, unproven) = field.heard_and_unproven(victim);
    assert_eq!((replayed + unproven) as usize, count);
    field.run(ANNOUNCE);
    assert_eq!(field.leader_of(victim), Some(id(leader)));
}

/// The restarted member takes a recorded challenge of the leader for a new one. It asks in its
/// answer, and the leader, which has forgotten that challenge, answers all the same.
#[test]
fn recorded_challenge_does_not_delay_the_proof_of_a_process() {
    let mut field = Field::settled(Takeover::Never, &[0; 4]);
    let leader = field.agreed(&ALL[..4]).expect("they agree");
    let victim = (leader + 1) % 4;
    field.act(leader, |it, now, out| {
        it.input(now, out, |it| {
            Io::new(&it.context, &mut it.emit).ping_at(id(victim), address(victim), 7);
        });
    });
    let recorded = field.record(victim, DELAY);
    assert_eq!(recorded.len(), 1);
    field.run(Duration::from_secs(3));
    field.restart(victim);
    for flight in recorded {
        field.flights.push(Flight { at: field.now, ..flight });
    }
    field.run(DELAY * 4);
    assert_eq!(field.knows_at(victim, leader), Some(address(leader)));
}

/// A restarted voter without a memory of the holder would grant its promise once more, to a dead
/// process, for as long as the recording lasts. Meanwhile no member could get tenure.
#[test]
fn recorded_proposals_are_not_granted_by_restarted_voters() {
    let takeover = Takeover::Never;
    let mut field = Field::fenced(takeover);
    let (holder, fence) = field.settled_on(&ALL);
    let voters: Vec<usize> = (0..3).filter(|it| *it != holder).collect();
    let recordings: Vec<(usize, Vec<Flight>)> =
        voters.iter().map(|voter| (*voter, field.record(*voter, TTL * 5))).collect();
    field.sides[holder] = 9;
    field.run(Duration(1));
    for &voter in &voters {
        let durable = postcard::from_bytes::<Durable>(&field.kept[&voter]);
        let saved = Saved::Initialised(durable.expect("it votes"));
        field.restart_fenced(voter, takeover, saved);
    }
    let rest: Vec<usize> = ALL.into_iter().filter(|it| *it != holder).collect();
    let began = field.now;
    let mut recordings: Vec<_> =
        recordings.into_iter().map(|(voter, recorded)| (voter, recorded.into_iter())).collect();
    // One frame to each voter in a quarter of the ttl: a grant lasts for four times that.
    while field.now - began < TTL * 6 && field.leaders().iter().all(|it| *it == holder) {
        for (voter, recorded) in &mut recordings {
            let tenure = recorded.find(|it| it.channel == Channel::Unicast);
            if let Some(flight) = tenure {
                field.flights.push(Flight {
                    at: field.now + DELAY,
                    to: *voter,
                    from: stranger(),
                    ..flight
                });
            }
        }
        field.run(Duration(TTL.0 / 4));
    }
    let took = field.now - began;
    field.run(TTL);
    let (next, higher) = field.settled_on(&rest);
    assert!(next != holder && higher > fence);
    // The quarantine lasts for the ttl. Then the nominee asks.
    assert!(took < TTL * 4, "{took}");
}

#[test]
fn replayed_frames_do_not_move_the_address_of_a_known_member() {
    let mut field = Field::settled(Takeover::Never, &[0; 4]);
    let leader = field.agreed(&ALL[..4]).expect("they agree");
    let [victim, other] = [1, 2].map(|it| (leader + it) % 4);
    // The leader's frames to all, which the victim misses.
    field.sides[victim] = 9;
    let recorded = field.record(other, Duration(LISTEN.0 / 2));
    field.sides[victim] = 0;
    assert!(!recorded.is_empty());
    field.replay_window(&recorded, victim, DELAY * 4, |field| {
        assert_eq!(field.knows_at(victim, leader), Some(address(leader)));
        let leadership = field.members[victim].publisher.leadership();
        let shown = leadership.leader.as_ref().and_then(|it| it.address);
        assert_eq!(shown, Some(address(leader)));
    });
}

/// The same process moves. It answers at its new address, and other members know the address after
/// one round trip.
#[test]
fn moved_member_is_known_at_its_new_address_in_a_round_trip() {
    let mut field = Field::settled(Takeover::Never, &[0; 4]);
    let leader = field.agreed(&ALL[..4]).expect("they agree");
    let others: Vec<usize> = (0..4).filter(|it| *it != leader).collect();
    for it in &others {
        field.members[*it].context.peers.mislead(id(leader), address(9));
        assert_eq!(field.knows_at(*it, leader), Some(address(9)));
    }
    field.run(ANNOUNCE + DELAY * 3);
    for it in others {
        assert_eq!(field.knows_at(it, leader), Some(address(leader)), "{it}");
    }
}

/// All processes were there before: none has to prove itself when another one leads.
#[test]
fn failover_between_known_members_costs_no_challenge() {
    let mut field = Field::settled(Takeover::Never, &[0; 5]);
    let leader = field.agreed(&ALL).expect("they agree");
    let sent = |field: &Field| -> u64 {
        let sent = |it: &Node| it.emit.counters.challenges_sent;
        field.members.iter().map(sent).sum()
    };
    let before = sent(&field);
    assert!(before > 0);
    field.sides[leader] = 9;
    field.run(Duration::from_secs(2));
    let rest: Vec<usize> = ALL.into_iter().filter(|it| *it != leader).collect();
    assert!(field.agreed(&rest).is_some());
    assert_eq!(sent(&field), before);
}

/// A restarted follower names the leader one round trip after the first announcement that it
/// receives.
#[test]
fn restarted_follower_names_its_leader_one_round_trip_later() {
    let mut field = Field::settled(Takeover::Never, &[0; 5]);
    let leader = field.agreed(&ALL).expect("they agree");
    let follower = (leader + 1) % 5;
    field.restart(follower);
    let mut heard_at = None;
    while field.leader_of(follower).is_none() {
        let is_announced = |it: &Flight| it.to == follower && it.channel == Channel::Multicast;
        if heard_at.is_none() && field.flights.iter().any(is_announced) {
            heard_at = Some(field.now);
        }
        field.run(Duration(DELAY.0 / 10));
        assert!(field.now.0 < 60_000_000_000, "it names nobody");
    }
    let took = field.now - heard_at.expect("it was heard");
    assert!(took <= DELAY * 4, "{took}");
}

/// Recorded challenges are answered, so that a member can prove itself to one that has forgotten
/// it. An attacker cannot use that to cause more frames than it sends.
#[test]
fn replays_cause_no_more_frames_than_they_are() {
    let mut field = Field::settled(Takeover::Never, &[0; 4]);
    let leader = field.agreed(&ALL[..4]).expect("they agree");
    let victim = (leader + 1) % 4;
    field.restart((leader + 2) % 4);
    let recorded = field.record(victim, ANNOUNCE * 10);
    field.sides[leader] = 9;
    field.run(LISTEN * 3);
    field.restart(victim);
    field.run(ANNOUNCE * 3);
    let mut drawn = 0;
    for round in 0..10 {
        for flight in &recorded {
            let keyring = field.members[victim].keyring();
            let mut frame = flight.frame.clone();
            let Ok(content) = keyring.open(&mut frame) else {
                continue;
            };
            let content = content.to_vec();
            let frame = Frame::decode(&content).expect("a frame");
            let mut out = Outbox::new();
            let (now, channel) = (field.now + Duration(round), flight.channel);
            field.members[victim].hear(now, stranger(), channel, &frame, &mut out);
            assert!(out.len() <= 1, "{:?}", frame.body);
            let bytes: usize = out.iter().map(|it| it.2.len()).sum();
            assert!(bytes <= flight.frame.len() + 16, "{bytes}");
            drawn += out.len();
        }
    }
    assert!((1..20).contains(&drawn), "{drawn} of {}", 10 * recorded.len());
}

/// As when 16 members restart at once.
#[test]
fn members_that_start_together_are_proven_within_a_second() {
    let everyone: Vec<usize> = (0..16).collect();
    let mut field = Field::empty();
    for _ in &everyone {
        field.enter(announcing(Takeover::Never), 0, &[], 0);
    }
    field.run(Duration::from_secs(1));
    assert!(field.agreed(&everyone).is_some());
    for &it in &everyone {
        let others = everyone.iter().filter(|other| **other != it);
        let proven = others.filter(|other| field.members[it].is_proven(id(**other)));
        assert_eq!(proven.count(), 15, "{it}");
    }
}

/// Identities are short: a member with the key can choose a name that has the identity of another.
#[test]
fn name_with_the_identity_of_another_member_does_not_count() {
    let mut field = Field::settled(Takeover::Never, &[0; 3]);
    let leader = field.agreed(&ALL[..3]).expect("they agree");
    let follower = (leader + 1) % 3;
    for of in [leader, follower] {
        let known = field.members[follower].context.peers.get(id(of)).cloned();
        let sender = Sender::new("another", id(of), Incarnation(u64::MAX), 7400);
        let frame =
            Frame { group: group_id("test"), sender, number: 0, to_all: false, body: Body::Up };
        let before = field.members[follower].emit.counters;
        let mut out = Outbox::new();
        let (now, channel) = (field.now, Channel::Unicast);
        field.members[follower].trust(&sender, address(9));
        field.members[follower].hear(now, address(9), channel, &frame, &mut out);
        let counters = field.members[follower].emit.counters;
        assert_eq!(counters.malformed, before.malformed + 1);
        assert_eq!((counters.heard, out.len()), (before.heard, 0));
        let now_known = field.members[follower].context.peers.get(id(of));
        assert_eq!(now_known.map(|it| it.address), known.map(|it| it.address));
        assert_eq!(field.members[follower].duplicate_name(), None);
    }
}

#[test]
fn bodies_of_unknown_kinds_are_counted_and_logged_once_per_sender() {
    let mut field = Field::settled(Takeover::Never, &[0; 3]);
    let leader = field.agreed(&ALL[..3]).expect("they agree");
    let follower = (leader + 1) % 3;
    let name = name(leader);
    let sent = &field.members[leader];
    let sender = Sender::new(&name, id(leader), sent.context.incarnation, 7400);
    let sender = sender.with_process_incarnation(sent.context.process_incarnation);
    let first = sent.emit.number + 100;
    let mut out = Outbox::new();
    let lines = logged(|| {
        for number in first..first + 5 {
            let frame = Frame {
                group: group_id("test"),
                sender,
                number,
                to_all: false,
                body: Body::Unknown { version: 2, kind: 99 },
            };
            let member = &mut field.members[follower];
            assert!(member.hear(field.now, address(leader), Channel::Unicast, &frame, &mut out));
        }
    });
    assert_eq!(field.members[follower].emit.counters.unknown_body, 5);
    let warnings = lines.iter().filter(|(_, line)| line.contains("of kind 99"));
    assert_eq!(warnings.count(), 1, "{lines:?}");
    assert_eq!(field.agreed(&ALL[..3]), Some(leader));
}
