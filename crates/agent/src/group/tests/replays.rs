//! Frames that were recorded while their senders ran, replayed at members that have restarted since.

use std::net::SocketAddr;
use std::sync::Arc;

use hustings_protocol::Duration;
use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::{Durable, Saved};

use super::tenancy::TTL;
use super::{ALL, ANNOUNCE, DELAY, Field, Flight, LISTEN, address, announcing, entropy, id, name};
use crate::authority::Authority;
use crate::authority::occupancy::Occupancy;
use crate::frame::{Body, Frame, Sender};
use crate::group::{Group, Outbox};
use crate::identity::{Life, group_id};
use crate::peers::Way;

/// Where no member is, and recordings come from.
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

    /// Sends recorded frames to a member once more, one in each `pause`, from the stranger's address. What the member
    /// answers is lost: no process is there.
    fn replay(&mut self, recorded: &[Flight], to: usize, pause: Duration, look: impl Fn(&Self)) {
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

    /// A member is started again in its place, with the same name and configuration. It remembers nothing.
    pub(super) fn restart(&mut self, index: usize) {
        let (config, port) = (self.members[index].config.clone(), address(index).port());
        let nobody = (Authority::Nobody, Occupancy::new(Arc::default()));
        let random = entropy(self.now, port);
        let again = Group::new(config, &name(index), port, self.now, None, nobody, random);
        self.put(index, again);
    }

    /// A voter is started again in its place.
    fn restart_fenced(&mut self, index: usize, takeover: Takeover, saved: Saved) {
        let merit = 5 - index as u64;
        let (again, given) = self.fenced_member(index, &[0, 1, 2], takeover, merit, saved);
        self.disks[index] = Some((given, true));
        self.put(index, again);
    }

    fn put(&mut self, index: usize, mut again: Group) {
        let mut out = Outbox::new();
        again.start(self.now, &mut out);
        self.members[index] = again;
        self.flights.retain(|it| it.to != index);
        self.post(index, out);
        self.save(index);
    }

    pub(super) fn knows_at(&self, who: usize, whom: usize) -> Option<SocketAddr> {
        self.members[who].peers.get(id(whom)).map(|it| it.address)
    }

    /// What `index` has let in and refused for want of a proof.
    fn heard_and_unproven(&self, index: usize) -> (u64, u64) {
        let counters = &self.members[index].counters;
        (counters.heard, counters.unproven)
    }
}

impl Flight {
    pub(super) fn copy(&self) -> Self {
        Self {
            frame: self.frame.clone(),
            ..*self
        }
    }
}

#[test]
fn recording_of_a_dead_leader_is_not_followed_by_restarted_members() {
    let mut field = Field::settled(Takeover::Never, &[0; 5]);
    let leader = field.agreed(&ALL).expect("they agree");
    let victim = (leader + 1) % 5;
    let recorded = field.record(victim, ANNOUNCE * 20);
    assert!(recorded.len() >= 15, "{}", recorded.len());
    field.sides[leader] = 9;
    for it in ALL.into_iter().filter(|it| *it != leader) {
        field.restart(it);
    }
    field.replay(&recorded, victim, ANNOUNCE, |field| {
        assert_ne!(
            field.leader_of(victim),
            Some(id(leader)),
            "at {:?}",
            field.now
        );
        assert_eq!(field.knows_at(victim, leader), None);
    });
    let rest: Vec<usize> = ALL.into_iter().filter(|it| *it != leader).collect();
    assert!(field.agreed(&rest).is_some(), "they have elected another");
    let (_, unproven) = field.heard_and_unproven(victim);
    assert!(unproven > 0, "what never counted is counted");
}

/// Members that have restarted hear a former leader, of which there is a recording, beside the one that works.
#[test]
fn working_leader_keeps_its_restarted_followers() {
    for takeover in [Takeover::Never, Takeover::ByTheBetter] {
        // The best, which was there before.
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
            field.replay(&recorded, it, ANNOUNCE, |field| {
                assert_eq!(field.agreed(&rest), Some(leader), "{takeover:?}");
            });
        }
    }
}

/// The process still runs, and so proves itself: but what it said a while ago is past.
#[test]
fn old_frames_of_a_process_that_runs_do_not_count_at_a_restarted_member() {
    let mut field = Field::settled(Takeover::Never, &[0; 4]);
    let leader = field.agreed(&ALL[..4]).expect("they agree");
    let victim = (leader + 1) % 4;
    let mut recorded = field.record(victim, ANNOUNCE * 20);
    recorded.retain(|it| it.way == Way::Multicast);
    let count = recorded.len();
    field.run(Duration::from_secs(3));
    field.restart(victim);
    // As if they came from the leader, which answers the challenge that they draw.
    for flight in recorded {
        field.flights.push(Flight {
            at: field.now + DELAY,
            ..flight
        });
    }
    field.run(DELAY * 4);
    assert_eq!(
        field.knows_at(victim, leader),
        Some(address(leader)),
        "it is proven"
    );
    assert_eq!(field.leader_of(victim), None, "by what it said long ago");
    let replayed = field.members[victim].counters.replayed;
    let (_, unproven) = field.heard_and_unproven(victim);
    assert_eq!((replayed + unproven) as usize, count);
    field.run(ANNOUNCE);
    assert_eq!(field.leader_of(victim), Some(id(leader)));
}

/// A challenge that the leader issued once is heard by the restarted member as if it were new. The member asks in its answer,
/// and the leader, which knows nothing of that challenge, answers all the same.
#[test]
fn recorded_challenge_does_not_hold_up_the_proof_of_a_process_that_runs() {
    let mut field = Field::settled(Takeover::Never, &[0; 4]);
    let leader = field.agreed(&ALL[..4]).expect("they agree");
    let victim = (leader + 1) % 4;
    field.act(leader, |it, _, out| {
        it.knock(id(victim), address(victim), 7, out);
    });
    let recorded = field.record(victim, DELAY);
    assert_eq!(recorded.len(), 1);
    field.run(Duration::from_secs(3));
    field.restart(victim);
    for flight in recorded {
        field.flights.push(Flight {
            at: field.now,
            ..flight
        });
    }
    field.run(DELAY * 4);
    assert_eq!(field.knows_at(victim, leader), Some(address(leader)));
}

/// A voter that restarted with an empty memory of who holds would grant what it promised once more, to a process that is
/// dead, for as long as the recording lasts. Meanwhile no member could have tenure.
#[test]
fn recorded_proposals_are_not_granted_by_restarted_voters() {
    let takeover = Takeover::Never;
    let mut field = Field::fenced(takeover);
    let (holder, fence) = field.settled_on(&ALL);
    let voters: Vec<usize> = (0..3).filter(|it| *it != holder).collect();
    let recordings: Vec<(usize, Vec<Flight>)> = voters
        .iter()
        .map(|voter| (*voter, field.record(*voter, TTL * 5)))
        .collect();
    field.sides[holder] = 9;
    field.run(Duration(1));
    for &voter in &voters {
        let durable = postcard::from_bytes::<Durable>(&field.kept[&voter]);
        let saved = Saved::Initialised(durable.expect("it votes"));
        field.restart_fenced(voter, takeover, saved);
    }
    let rest: Vec<usize> = ALL.into_iter().filter(|it| *it != holder).collect();
    let began = field.now;
    let mut recordings: Vec<_> = recordings
        .into_iter()
        .map(|(voter, recorded)| (voter, recorded.into_iter()))
        .collect();
    // One frame to each voter in a quarter of the ttl: what one of them grants lasts for four times that.
    while field.now - began < TTL * 6 && field.leaders().iter().all(|it| *it == holder) {
        for (voter, recorded) in &mut recordings {
            let tenure = recorded.find(|it| it.way == Way::Unicast);
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
    // Quarantine lasts for the ttl; then whoever is named asks.
    assert!(took < TTL * 4, "{took}");
}

#[test]
fn replayed_frames_do_not_move_the_address_of_a_known_member() {
    let mut field = Field::settled(Takeover::Never, &[0; 4]);
    let leader = field.agreed(&ALL[..4]).expect("they agree");
    let [victim, other] = [1, 2].map(|it| (leader + it) % 4);
    // What the leader says to all, and the victim misses.
    field.sides[victim] = 9;
    let recorded = field.record(other, Duration(LISTEN.0 / 2));
    field.sides[victim] = 0;
    assert!(!recorded.is_empty());
    field.replay(&recorded, victim, DELAY * 4, |field| {
        assert_eq!(field.knows_at(victim, leader), Some(address(leader)));
        let leadership = field.members[victim].leadership.borrow();
        let shown = leadership.leader.as_ref().and_then(|it| it.address);
        assert_eq!(shown, Some(address(leader)));
    });
}

/// The same process is somewhere else from now on: it answers there, and is known to be there after one round trip.
#[test]
fn member_that_moves_is_known_at_its_new_address_after_a_round_trip() {
    let mut field = Field::settled(Takeover::Never, &[0; 4]);
    let leader = field.agreed(&ALL[..4]).expect("they agree");
    let others: Vec<usize> = (0..4).filter(|it| *it != leader).collect();
    for it in &others {
        field.members[*it].peers.mislead(id(leader), address(9));
        assert_eq!(field.knows_at(*it, leader), Some(address(9)));
    }
    field.run(ANNOUNCE + DELAY * 3);
    for it in others {
        assert_eq!(field.knows_at(it, leader), Some(address(leader)), "{it}");
    }
}

/// All were there before: no process has to prove itself when another leads.
#[test]
fn failover_costs_no_challenge_where_all_have_heard_of_each_other() {
    let mut field = Field::settled(Takeover::Never, &[0; 5]);
    let leader = field.agreed(&ALL).expect("they agree");
    let sent = |field: &Field| -> u64 {
        let sent = |it: &Group| it.counters.challenges_sent;
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

/// A follower that is started again names the leader one round trip after the first announcement that it hears.
#[test]
fn restarted_follower_names_its_leader_one_round_trip_later() {
    let mut field = Field::settled(Takeover::Never, &[0; 5]);
    let leader = field.agreed(&ALL).expect("they agree");
    let follower = (leader + 1) % 5;
    field.restart(follower);
    let mut heard_at = None;
    while field.leader_of(follower).is_none() {
        let is_announced = |it: &Flight| it.to == follower && it.way == Way::Multicast;
        if heard_at.is_none() && field.flights.iter().any(is_announced) {
            heard_at = Some(field.now);
        }
        field.run(Duration(DELAY.0 / 10));
        assert!(field.now.0 < 60_000_000_000, "it names nobody");
    }
    let took = field.now - heard_at.expect("it was heard");
    assert!(took <= DELAY * 4, "{took}");
}

/// Recorded challenges are answered, so that a member can prove itself to one that has forgotten it. Nobody can use that to
/// have more sent than they send, or more often.
#[test]
fn replays_draw_no_more_frames_than_they_are() {
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
            let (now, way) = (field.now + Duration(round), flight.way);
            field.members[victim].hear(now, stranger(), way, &frame, &mut out);
            assert!(out.len() <= 1, "{:?}", frame.body);
            let bytes: usize = out.iter().map(|it| it.2.len()).sum();
            assert!(bytes <= flight.frame.len() + 16, "{bytes}");
            drawn += out.len();
        }
    }
    assert!(
        (1..20).contains(&drawn),
        "{drawn} of {}",
        10 * recorded.len()
    );
}

/// As where 16 members start anew at once.
#[test]
fn members_that_come_up_together_prove_themselves_in_their_first_second() {
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

/// Identities are short: a member that has the key can choose a name that has the identity of another.
#[test]
fn name_with_the_identity_of_another_member_does_not_count() {
    let mut field = Field::settled(Takeover::Never, &[0; 3]);
    let leader = field.agreed(&ALL[..3]).expect("they agree");
    let follower = (leader + 1) % 3;
    for of in [leader, follower] {
        let known = field.members[follower].peers.get(id(of)).cloned();
        let sender = Sender::new("another", id(of), Life(u64::MAX), 7400);
        let frame = Frame {
            group: group_id("test"),
            sender,
            number: 0,
            to_all: false,
            body: Body::Up,
        };
        let before = field.members[follower].counters;
        let mut out = Outbox::new();
        let (now, way) = (field.now, Way::Unicast);
        field.members[follower].trust(&sender, address(9));
        field.members[follower].hear(now, address(9), way, &frame, &mut out);
        let counters = field.members[follower].counters;
        assert_eq!(counters.malformed, before.malformed + 1);
        assert_eq!((counters.heard, out.len()), (before.heard, 0));
        let now_known = field.members[follower].peers.get(id(of));
        assert_eq!(now_known.map(|it| it.address), known.map(|it| it.address));
        assert_eq!(field.members[follower].namesake(), None);
    }
}
