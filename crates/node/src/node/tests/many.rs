//! Members of a large group, with partial views.

use hustings_protocol::tenure::Fence;
use hustings_protocol::{Duration, probabilistic};

use super::{Field, Flight, address, entropy, id, name};
use crate::authority::Authority;
use crate::authority::in_flight::InFlight;
use crate::config::{GroupConfig, MULTICAST, ProtocolConfig};
use crate::frame::{Body, Frame, Sender};
use crate::identity::{Incarnation, group_id, member_id};
use crate::node::{Node, Outbox, PartialViewStatus};
use crate::peer_table::Channel;

const MEMBERS: usize = 24;
const VIEW: u16 = 8;
const BOUND: Duration = Duration::from_millis(5);

/// The discovery: by multicast, or by the address of the first member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    ByMulticast,
    ByAddress,
}

/// Long enough for a message to all, repairs included. Too short to ask a leader in vain, which
/// takes eight times 50 ms.
const AT_ONCE: Duration = Duration::from_millis(300);

const WAYS: [Found; 2] = [Found::ByMulticast, Found::ByAddress];

impl Field {
    /// Members that have started, have been counted, and have a leader.
    fn of_many(found: Found) -> Self {
        let mut field = Self::empty();
        for index in 0..MEMBERS {
            field.enter_many(index, found);
        }
        field.run(Duration::from_secs(30));
        field
    }

    fn enter_many(&mut self, index: usize, found: Found) {
        self.enter_wanting(None, index, found);
    }

    /// Starts a member with this target for the success of first rounds.
    fn enter_wanting(&mut self, target: Option<f64>, index: usize, found: Found) {
        let join: &[usize] = match (found, index) {
            (Found::ByMulticast, _) | (Found::ByAddress, 0) => &[],
            (Found::ByAddress, _) => &[0],
        };
        let protocol = ProtocolConfig::probabilistic_field("test", BOUND, 7).knowing_few();
        let config = GroupConfig {
            view: Some(VIEW),
            target,
            multicast: (found == Found::ByMulticast).then_some(MULTICAST),
            join: join.iter().map(|&it| address(it).to_string()).collect(),
            ..GroupConfig::plain("test", protocol)
        };
        let nobody = (Authority::Nobody, InFlight::default());
        let port = address(index).port();
        let member =
            Node::new(config, &name(index), port, self.now, None, nobody, entropy(self.now, port));
        self.admit_member(member, None, join, 0);
    }

    fn partial_view_of(&self, index: usize) -> PartialViewStatus {
        let status = self.members[index].status(self.now);
        status.partial_view.expect("nobody knows all")
    }

    /// Asserts that no other member names this one as the leader, at once. Of some hundred rumours
    /// one comes late to a member that hardly any other knows: it depends on the repairs, and few
    /// of them go to it.
    fn assert_unnamed(&self, index: usize, found: Found) {
        let names_it = |other: &usize| self.leader_of(*other) == Some(id(index));
        let naming = (0..MEMBERS).filter(|it| *it != index).filter(names_it);
        let most = usize::from(found == Found::ByAddress);
        assert!(naming.count() <= most, "{found:?}");
    }

    /// Waits until the members on the first side name one leader, for a minute at most. Returns
    /// true if they do already.
    fn agree_soon(&mut self) -> bool {
        let there: Vec<usize> = (0..MEMBERS).filter(|it| self.sides[*it] == 0).collect();
        let agree_already = self.agreed(&there).is_some();
        for _ in 0..60 {
            if self.agreed(&there).is_none() {
                self.run(Duration::from_secs(1));
            }
        }
        agree_already
    }

    /// True if a recorded frame announces the decision of an election to all.
    fn tells_decision(&self, flight: &Flight) -> bool {
        let mut frame = flight.frame.clone();
        let keyring = self.members[flight.to].keyring();
        let content = keyring.open(&mut frame).expect("members share a key");
        match Frame::decode(content).expect("a frame").body {
            Body::Election { message, .. } => {
                let message = postcard::from_bytes(message).expect("a message");
                matches!(message, probabilistic::Message::Decision { .. })
            }
            _ => false,
        }
    }

    /// The leader of all members on the first side.
    fn leader_of_many(&self) -> usize {
        let there: Vec<usize> = (0..MEMBERS).filter(|it| self.sides[*it] == 0).collect();
        let named: Vec<_> = there.iter().map(|it| self.leader_of(*it)).collect();
        let leader = self.agreed(&there);
        leader.unwrap_or_else(|| panic!("{named:?}"))
    }
}

#[test]
fn members_with_partial_views_agree_on_a_leader() {
    for found in WAYS {
        let field = Field::of_many(found);
        field.leader_of_many();
        let lifelines = field.members.iter().filter_map(Node::lifeline_to).count();
        assert!((1..=18).contains(&lifelines), "{found:?}: {lifelines}");
        for index in 0..MEMBERS {
            let partial_view = field.partial_view_of(index);
            assert!(partial_view.known <= VIEW.into(), "{found:?}: {partial_view:?}");
            let size = partial_view.size.expect("they have been counted") as f64;
            let error = (size / MEMBERS as f64 - 1.0).abs();
            assert!(error < 0.2, "{found:?}: {partial_view:?}");
        }
    }
}

/// A member tells it no more than the leader's identity, so it asks all members for the leader.
#[test]
fn newcomers_learn_their_leader_and_its_address() {
    for found in WAYS {
        let mut field = Field::of_many(found);
        let leader = field.leader_of_many();
        let newcomers = MEMBERS..MEMBERS + 8;
        for index in newcomers.clone() {
            field.enter_many(index, found);
            field.run(Duration::from_millis(500)); // newcomers may first elect each other
        }
        field.run(Duration::from_secs(3));
        for index in newcomers {
            let told = field.members[index].status(field.now).leadership;
            let named = told.leader.map(|it| (it.name, it.address));
            let expected = (name(leader), Some(address(leader)));
            assert_eq!(named, Some(expected), "{found:?}: {index}");
            assert_eq!(told.changes, 1, "{found:?}: {index}");
        }
    }
}

#[test]
fn silent_leader_is_missed_by_all() {
    for found in WAYS {
        let mut field = Field::of_many(found);
        let leader = field.leader_of_many();
        field.sides[leader] = 1;
        field.run(Duration::from_secs(8));
        assert_ne!(field.leader_of_many(), leader, "{found:?}");
    }
}

#[test]
fn live_leader_refutes_the_report_of_its_death() {
    for found in WAYS {
        let mut field = Field::of_many(found);
        let leader = field.leader_of_many();
        let (incarnation, follower) =
            (field.members[leader].context.incarnation, (leader + 1) % MEMBERS);
        let all: Vec<usize> = (0..MEMBERS).collect();
        let before = field.changes(&all);
        let mut out = Outbox::new();
        field.members[follower].declare_dead(field.now, id(leader), &mut out);
        field.post(follower, out);
        field.run(Duration::from_secs(2));
        assert!(field.members[leader].context.incarnation > incarnation, "{found:?}");
        assert_eq!(field.leader_of_many(), leader, "{found:?}");
        assert_eq!(field.changes(&all), before, "{found:?}");
    }
}

/// Most members hear of it from no partner of an exchange, and would take it for dead in later
/// elections.
#[test]
fn member_that_comes_back_is_dead_to_no_member() {
    for found in WAYS {
        let mut field = Field::of_many(found);
        let leader = match field.leader_of_many() {
            0 => continue, // its address is the seed of the others
            leader => leader,
        };
        let incarnation = field.members[leader].context.incarnation;
        field.sides[leader] = 1;
        field.run(Duration::from_secs(8));
        let takes_for_dead = |field: &Field, index: &usize| {
            let partial_view = field.members[*index].partial_view();
            partial_view.is_some_and(|it| it.has_buried(id(leader), incarnation))
        };
        let others: Vec<usize> = (0..MEMBERS).filter(|it| *it != leader).collect();
        assert!(others.iter().all(|it| takes_for_dead(&field, it)), "{found:?}");
        // Another process with its name, at its address.
        field.enter_many(leader, found);
        let place = field.members.len() - 1;
        field.members.swap(leader, place);
        field.sides[leader] = 0;
        field.sides[place] = 1;
        field.run(Duration::from_secs(1));
        let still = others.iter().filter(|it| takes_for_dead(&field, it));
        assert_eq!(still.count(), 0, "{found:?}");
    }
}

/// A member that was unreachable when others reported it dead learns so from the members that it
/// contacts.
#[test]
fn member_marked_dead_learns_so_from_its_contacts() {
    let mut field = Field::of_many(Found::ByMulticast);
    let leader = field.leader_of_many();
    let incarnation = field.members[leader].context.incarnation;
    // All others mark it dead while it is unreachable.
    field.sides[leader] = 1;
    field.run(Duration::from_secs(8));
    assert_ne!(field.leader_of_many(), leader);
    field.sides[leader] = 0;
    field.run(Duration::from_secs(20));
    assert!(field.members[leader].context.incarnation > incarnation);
    field.leader_of_many();
}

#[test]
fn member_that_leaves_or_steps_down_may_come_back() {
    for found in WAYS {
        let mut field = Field::of_many(found);
        let leader = field.leader_of_many();
        let mut out = Outbox::new();
        let span = Duration::from_secs(5);
        field.members[leader].step_down(field.now, span, None, &mut out);
        field.post(leader, out);
        field.run(AT_ONCE);
        field.assert_unnamed(leader, found);
        field.run(Duration::from_secs(3));
        field.sides[leader] = 1;
        let next = field.leader_of_many();
        assert_ne!(next, leader, "{found:?}");
        field.sides[leader] = 0;
        field.run(Duration::from_secs(10));
        assert_eq!(field.leader_of_many(), next, "{found:?}");

        let mut out = Outbox::new();
        field.members[next].leave(field.now, &mut out);
        field.post(next, out);
        field.sides[next] = 1;
        field.run(AT_ONCE);
        field.assert_unnamed(next, found);
        field.run(Duration::from_secs(3));
        assert_ne!(field.leader_of_many(), next, "{found:?}");
    }
}

/// A tenth of all messages is lost, and the leader falls silent ten times. A member that misses the
/// end of an election asks, or is asked, once in six seconds on average. Now and then that takes
/// longer than eight seconds, but not ten times in a row.
#[test]
fn members_agree_although_messages_are_lost() {
    let mut late = 0;
    for found in WAYS {
        let mut field = Field::empty();
        field.lost_percent = 10;
        for index in 0..MEMBERS {
            field.enter_many(index, found);
        }
        field.run(Duration::from_secs(40));
        for _ in 0..10 {
            late += u32::from(!field.agree_soon());
            let leader = field.leader_of_many();
            field.sides[leader] = 1;
            field.run(Duration::from_secs(8));
            late += u32::from(!field.agree_soon());
            assert_ne!(field.leader_of_many(), leader, "{found:?}");
            field.sides[leader] = 0;
            field.run(Duration::from_secs(20));
        }
    }
    assert!(late <= 2, "{late}");
}

#[test]
fn member_met_by_the_protocol_enters_the_view_unless_all_name_it() {
    let mut field = Field::of_many(Found::ByMulticast);
    let leader = field.leader_of_many();
    let who = (leader + 1) % MEMBERS;
    let hears =
        |field: &Field, whom: usize| field.members[who].context.peers.get(id(whom)).is_some();
    let unproven = (0..MEMBERS).filter(|it| *it != who && *it != leader);
    let unproven = unproven.filter(|it| hears(&field, *it) && !field.lists(who, *it));
    let unproven: Vec<usize> = unproven.collect();
    assert!(!unproven.is_empty());
    for stranger in unproven {
        let candidate = field.members[stranger].context.me;
        let now = field.now;
        field.members[who].meet(now, candidate);
        assert!(field.lists(who, stranger), "{stranger}");
        assert!(field.partial_view_of(who).known <= VIEW.into());
    }
    let before = field.lists(who, leader);
    let candidate = field.members[leader].context.me;
    field.members[who].meet(field.now, candidate);
    assert_eq!(field.lists(who, leader), before);
}

/// By multicast, relaying members miss each other as often as a message is lost. If each member
/// relays to six others, a member that none of them picks is missed.
#[test]
fn k_follows_the_loss_and_the_channel_to_all() {
    for found in WAYS {
        let mut field = Field::empty();
        for index in 0..MEMBERS {
            field.enter_wanting(Some(0.999), index, found);
        }
        field.run(Duration::from_secs(30));
        let ks = |field: &Field| -> Vec<u32> {
            let statuses = field.members.iter().map(|it| it.status(field.now));
            statuses
                .map(|status| {
                    let measured = status.measured.expect("some relay");
                    let loss = measured.loss.expect("there were exchanges");
                    let missed = match found {
                        Found::ByMulticast => loss,
                        Found::ByAddress => (6.0 * (loss - 1.0)).exp(),
                    };
                    let view = measured.view.expect("they know some");
                    assert!((view - (1.0 - missed)).abs() < 1e-12, "{found:?}: {measured:?}");
                    status.k.expect("some relay")
                })
                .collect()
        };
        let calm = ks(&field);
        assert!(calm.iter().all(|k| (6..=9).contains(k)), "{found:?}: {calm:?}");
        field.lost_percent = 20;
        field.run(Duration::from_secs(60));
        let losing = ks(&field);
        let more = |(losing, calm): (&u32, &u32)| *losing > *calm && *losing <= MEMBERS as u32;
        assert!(losing.iter().zip(&calm).all(more), "{found:?}: {losing:?}, {calm:?}");
        // More than a view holds: the group is what is counted.
        let most = losing.iter().max().expect("there are members");
        assert!(found == Found::ByAddress || *most > u32::from(VIEW) + 1, "{losing:?}");
    }
}

/// All members hear of their leaders' deaths, and of no other deaths.
#[test]
fn departures_are_measured_from_those_of_leaders() {
    let mut field = Field::of_many(Found::ByMulticast);
    for _ in 0..3 {
        let leader = field.leader_of_many();
        field.sides[leader] = leader as u8 + 1;
        field.run(Duration::from_secs(20));
    }
    let leader = field.leader_of_many();
    let measured = field.members[leader].status(field.now).measured;
    let crash = measured.and_then(|it| it.crash).expect("enough was seen");
    // Three departures in 90 s, of which leaders were present for some 70 to 80 s. A first round
    // takes 70 ms.
    assert!((0.002..0.004).contains(&crash), "{crash}");
}

/// The number of challenges that all members have sent.
fn challenges(field: &Field) -> u64 {
    let sent = |it: &Node| it.emit.counters.challenges_sent;
    field.members.iter().map(sent).sum()
}

/// All members hear the new leader, and a few challenge it. Besides, members ask their leader in
/// turn, all together about equally often in a group of any size.
#[test]
fn challenges_per_election_do_not_grow_with_the_group() {
    const ELECTIONS: u64 = 6;
    let per_election = |members: usize| {
        let mut field = Field::empty();
        for index in 0..members {
            field.enter_many(index, Found::ByMulticast);
        }
        field.run(Duration::from_secs(90)); // no process is young
        let there = |field: &Field| -> Vec<usize> {
            (0..members).filter(|it| field.sides[*it] == 0).collect()
        };
        let (mut elected, mut sent) = (0, 0);
        for round in 0..ELECTIONS {
            let leader = field.agreed(&there(&field)).expect("they agree");
            let before = challenges(&field);
            field.sides[leader] = round as u8 + 1;
            field.run(Duration::from_secs(8));
            let next = field.agreed(&there(&field));
            elected += u64::from(next.is_some_and(|it| it != leader));
            sent += challenges(&field) - before;
            field.run(Duration::from_secs(20));
        }
        assert!(elected >= ELECTIONS - 1, "{elected}");
        sent as f64 / ELECTIONS as f64
    };
    let (few, many) = (per_election(24), per_election(96));
    // Eight members ask the new leader on average, four times the old one at most, and so do their
    // helpers.
    assert!((many - few).abs() < 40.0, "{few:.1}, {many:.1}");
}

/// The member receives the recorded election of a former leader once more, beside the other members
/// or alone.
#[test]
fn restarted_member_of_many_names_no_former_leader() {
    const WHILE: Duration = Duration::from_secs(30);
    for others_are_gone in [false, true] {
        let mut field = Field::empty();
        for index in 0..MEMBERS {
            field.enter_many(index, Found::ByMulticast);
        }
        let (began, mut victim) = (field.now, 5);
        let mut recorded = field.record(victim, WHILE);
        let past = field.leader_of_many();
        if past == victim {
            // Another member receives the multicasts too.
            victim = 6;
            recorded.retain(|it| it.channel == Channel::Multicast);
        }
        field.sides[past] = 1;
        field.run(Duration::from_secs(8));
        // Another process at its address, which remembers nothing.
        field.enter_many(victim, Found::ByMulticast);
        let place = field.members.len() - 1;
        field.members.swap(victim, place);
        field.sides[place] = 99;
        if others_are_gone {
            field.sides[victim] = 50;
        }
        let restarted = field.now;
        for flight in recorded {
            field.flights.push(Flight {
                at: restarted + (flight.at - began),
                to: victim,
                from: address(200),
                ..flight
            });
        }
        while field.now < restarted + WHILE {
            field.run(Duration::from_millis(10));
            let named = field.leader_of(victim);
            assert_ne!(named, Some(id(past)), "{others_are_gone}: {:?}", field.now);
        }
    }
}

/// The price of an election whose cost does not grow with the group. A member that started more
/// than a minute ago believes a recorded election that is later than all that it knows. The few
/// members that watch a leader end that.
#[test]
fn recorded_election_misleads_older_members_for_a_moment() {
    const WHILE: Duration = Duration::from_secs(15);
    let mut field = Field::of_many(Found::ByMulticast);
    let worst = (0..MEMBERS).max_by_key(|it| id(*it)).expect("some"); // is never elected
    let (mut began, mut recorded) = (field.now, Vec::new());
    for side in 1..=6 {
        let leader = field.leader_of_many();
        field.sides[leader] = side;
        began = field.now;
        recorded = field.record(worst, WHILE);
    }
    let past = field.leader_of_many();
    recorded.retain(|it| field.tells_decision(it));
    assert!(!recorded.is_empty());
    let others = MEMBERS..MEMBERS + 3;
    for index in others.clone() {
        field.enter_many(index, Found::ByMulticast);
        field.sides[index] = 50; // receive only the recording
        field.flights.clear();
    }
    let others: Vec<usize> = others.collect();
    field.run(Duration::from_secs(90));
    assert!(field.agreed(&others).is_some());
    let replayed = field.now;
    for (flight, to) in recorded.iter().flat_map(|it| others.iter().map(move |to| (it, *to))) {
        field.flights.push(Flight {
            at: replayed + (flight.at - began),
            to,
            from: address(200),
            ..flight.copy()
        });
    }
    let (step, mut misled) = (Duration::from_millis(10), [Duration::ZERO; 3]);
    while field.now < replayed + WHILE * 2 {
        field.run(step);
        for (span, it) in misled.iter_mut().zip(&others) {
            let is_misled = field.leader_of(*it) == Some(id(past));
            *span = *span + step * u64::from(is_misled);
        }
    }
    let moment = Duration::from_millis(100)..Duration::from_millis(700);
    assert!(misled.iter().all(|it| moment.contains(it)), "{misled:?}");
    assert!(field.agreed(&others).is_some_and(|it| it != past));
}

/// Messages that a voter acts on, and claims of tenure. A large group accepts the risk of other
/// frames of strangers.
#[test]
fn some_frames_need_a_proof_in_a_large_group() {
    let mut field = Field::of_many(Found::ByMulticast);
    field.enter_many(MEMBERS, Found::ByMulticast);
    let stranger = Sender::new("stranger", member_id("stranger"), Incarnation(1), 7400);
    let frame =
        |body| Frame { group: group_id("test"), sender: stranger, number: 0, to_all: true, body };
    let (authority, lasts_ns, fence) = (0, 1, 1);
    let tenure = |to| Body::Tenure { to, authority, message: &[] };
    let holds = Body::Holds { fence, lasts_ns, authority };
    let election = Body::Election { protocol: 0, message: &[] };
    let later = field.now + Duration::from_secs(60);
    let mut must_prove = |who: usize, at, body| field.members[who].must_prove(at, &frame(body));
    assert!(must_prove(3, later, tenure(id(3))) && !must_prove(3, later, tenure(id(4))));
    assert!(!must_prove(3, later, election) && !must_prove(MEMBERS, field.now, election));
    assert!(must_prove(MEMBERS, field.now, holds), "it is young");
    let few: Vec<usize> = (0..MEMBERS).filter(|it| must_prove(*it, later, holds)).collect();
    assert!((1..MEMBERS).contains(&few.len()));
    let other = (0..MEMBERS).find(|it| !few.contains(it)).expect("one of the rest");
    field.members[other].context.tenure.fence = Some(Fence(1));
    assert!(field.members[other].must_prove(later, &frame(holds)), "it holds tenure");
}

/// A recorded frame of a dead process is validly sealed. Over a connection it must not count as a
/// member's hello, because a member's connection stays open.
#[test]
fn unproven_process_is_not_admitted_over_a_link_in_a_large_group() {
    let mut field = Field::of_many(Found::ByMulticast);
    let stranger = Sender::new("stranger", member_id("stranger"), Incarnation(1), 7400);
    let body = Body::Election { protocol: 0, message: &[] };
    let frame =
        |number| Frame { group: group_id("test"), sender: stranger, number, to_all: true, body };
    let (now, from) = (field.now, address(200));
    let mut hear = |number, channel| {
        let mut out = Outbox::new();
        let is_admitted = field.members[3].hear(now, from, channel, &frame(number), &mut out);
        (is_admitted, out.len())
    };
    assert_eq!(hear(0, Channel::Link), (false, 1), "it is challenged");
    assert!(hear(1, Channel::Unicast).0, "datagrams count at once in a group with `view`");
    assert!(!hear(2, Channel::Link).0, "a counted datagram is no proof");
}
