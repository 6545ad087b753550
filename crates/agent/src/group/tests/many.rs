//! Members of a group that nobody knows whole.

use hustings_protocol::{Duration, probabilistic};

use super::{Field, Flight, address, entropy, id, name};
use crate::authority::Authority;
use crate::authority::occupancy::Occupancy;
use crate::config::{GroupConfig, MULTICAST, ProtocolConfig};
use crate::frame::{Body, Frame, Sender};
use crate::group::{CircleStatus, Group, Outbox};
use crate::identity::{Life, group_id, member_id};
use crate::peers::Way;

const MEMBERS: usize = 24;
const VIEW: u16 = 8;
const BOUND: Duration = Duration::from_millis(5);

/// Members that find each other by multicast, or by the address of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    ByMulticast,
    ByAddress,
}

/// Long enough for what is said to all, repairs included, and too short for asking a leader in vain: that takes eight times
/// 50 ms.
const AT_ONCE: Duration = Duration::from_millis(300);

const WAYS: [Found; 2] = [Found::ByMulticast, Found::ByAddress];

impl Field {
    /// Members that have come up, have been counted, and have a leader.
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

    /// A member that wants so many of all first rounds to succeed.
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
        let nobody = (Authority::Nobody, Occupancy::default());
        let port = address(index).port();
        let member = Group::new(
            config,
            &name(index),
            port,
            self.now,
            None,
            nobody,
            entropy(self.now, port),
        );
        self.admit_member(member, None, join, 0);
    }

    fn circle_of(&self, index: usize) -> CircleStatus {
        let status = self.members[index].status(self.now);
        status.circle.expect("nobody knows all")
    }

    /// Nobody else takes this one for the leader, at once. Of some hundred rumours one comes late to somebody whom hardly
    /// anybody knows: it was left to the repairs, and few of them go to it.
    fn assert_unnamed(&self, index: usize, found: Found) {
        let names_it = |other: &usize| self.leader_of(*other) == Some(id(index));
        let naming = (0..MEMBERS).filter(|it| *it != index).filter(names_it);
        let most = usize::from(found == Found::ByAddress);
        assert!(naming.count() <= most, "{found:?}");
    }

    /// Waits for those on the first side to name one leader, for a minute at most. Returns whether they do already.
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

    /// Whether a recorded frame tells all whom an election has chosen.
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

    /// The leader of all who are on the first side.
    fn leader_of_many(&self) -> usize {
        let there: Vec<usize> = (0..MEMBERS).filter(|it| self.sides[*it] == 0).collect();
        let named: Vec<_> = there.iter().map(|it| self.leader_of(*it)).collect();
        let leader = self.agreed(&there);
        leader.unwrap_or_else(|| panic!("{named:?}"))
    }
}

#[test]
fn they_agree_though_each_knows_only_a_few() {
    for found in WAYS {
        let field = Field::of_many(found);
        field.leader_of_many();
        let lifelines = field.members.iter().filter_map(Group::lifeline_to).count();
        assert!((1..=18).contains(&lifelines), "{found:?}: {lifelines}");
        for index in 0..MEMBERS {
            let circle = field.circle_of(index);
            assert!(circle.known <= VIEW.into(), "{found:?}: {circle:?}");
            let size = circle.size.expect("they have been counted") as f64;
            let error = (size / MEMBERS as f64 - 1.0).abs();
            assert!(error < 0.2, "{found:?}: {circle:?}");
        }
    }
}

/// It is told of the leader by somebody who says no more than its number, and asks all for it.
#[test]
fn newcomers_find_out_who_and_where_their_leader_is() {
    for found in WAYS {
        let mut field = Field::of_many(found);
        let leader = field.leader_of_many();
        let newcomers = MEMBERS..MEMBERS + 8;
        for index in newcomers.clone() {
            field.enter_many(index, found);
            field.run(Duration::from_millis(500)); // several at once, who ask each other alone, may call an election
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
fn a_leader_that_falls_silent_is_missed_by_all() {
    for found in WAYS {
        let mut field = Field::of_many(found);
        let leader = field.leader_of_many();
        field.sides[leader] = 1;
        field.run(Duration::from_secs(8));
        assert_ne!(field.leader_of_many(), leader, "{found:?}");
    }
}

#[test]
fn a_leader_that_lives_objects_to_its_obituary_and_goes_on() {
    for found in WAYS {
        let mut field = Field::of_many(found);
        let leader = field.leader_of_many();
        let (life, follower) = (field.members[leader].life, (leader + 1) % MEMBERS);
        let all: Vec<usize> = (0..MEMBERS).collect();
        let before = field.changes(&all);
        let mut out = Outbox::new();
        field.members[follower].declare_dead(field.now, id(leader), &mut out);
        field.post(follower, out);
        field.run(Duration::from_secs(2));
        assert!(field.members[leader].life > life, "{found:?}");
        assert_eq!(field.leader_of_many(), leader, "{found:?}");
        assert_eq!(field.changes(&all), before, "{found:?}");
    }
}

/// Most hear of it from nobody they exchange acquaintances with, and would take it for dead in elections to come.
#[test]
fn who_comes_back_is_taken_for_dead_by_nobody() {
    for found in WAYS {
        let mut field = Field::of_many(found);
        let leader = match field.leader_of_many() {
            0 => continue, // by its address others would find nobody
            leader => leader,
        };
        let life = field.members[leader].life;
        field.sides[leader] = 1;
        field.run(Duration::from_secs(8));
        let takes_for_dead = |field: &Field, index: &usize| {
            let circle = field.members[*index].circle();
            circle.is_some_and(|it| it.has_buried(id(leader), life))
        };
        let others: Vec<usize> = (0..MEMBERS).filter(|it| *it != leader).collect();
        assert!(
            others.iter().all(|it| takes_for_dead(&field, it)),
            "{found:?}"
        );
        // Another process of its name, in its place.
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

/// Who missed both the obituary and the objection hears of them from whom it speaks to.
#[test]
fn who_was_taken_for_dead_is_told_so_by_whom_it_speaks_to() {
    let mut field = Field::of_many(Found::ByMulticast);
    let leader = field.leader_of_many();
    let life = field.members[leader].life;
    // All others bury it while it cannot be reached.
    field.sides[leader] = 1;
    field.run(Duration::from_secs(8));
    assert_ne!(field.leader_of_many(), leader);
    field.sides[leader] = 0;
    field.run(Duration::from_secs(20));
    assert!(field.members[leader].life > life);
    field.leader_of_many();
}

#[test]
fn who_leaves_or_steps_down_is_followed_no_longer_and_may_come_back() {
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

/// A tenth of all, and the leader falls silent ten times. Who misses the end of an election is asked, or asks, once in six
/// seconds on average: so now and then it takes longer than eight, and ten times that never.
#[test]
fn they_agree_though_messages_get_lost() {
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
fn whom_the_protocol_meets_is_in_view_unless_all_name_it() {
    let mut field = Field::of_many(Found::ByMulticast);
    let leader = field.leader_of_many();
    let who = (leader + 1) % MEMBERS;
    let hears = |field: &Field, whom: usize| field.members[who].peers.get(id(whom)).is_some();
    let strangers = (0..MEMBERS).filter(|it| *it != who && *it != leader);
    let strangers = strangers.filter(|it| hears(&field, *it) && !field.lists(who, *it));
    let strangers: Vec<usize> = strangers.collect();
    assert!(!strangers.is_empty());
    for stranger in strangers {
        let candidate = field.members[stranger].me;
        let now = field.now;
        field.members[who].meet(now, candidate);
        assert!(field.lists(who, stranger), "{stranger}");
        assert!(field.circle_of(who).known <= VIEW.into());
    }
    let before = field.lists(who, leader);
    let candidate = field.members[leader].me;
    field.members[who].meet(field.now, candidate);
    assert_eq!(field.lists(who, leader), before);
}

/// By multicast those who relay miss each other as often as a message is lost; what each passes on to six misses whom none
/// of them tells.
#[test]
fn k_follows_what_is_lost_and_how_all_are_told() {
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
                    assert!(
                        (view - (1.0 - missed)).abs() < 1e-12,
                        "{found:?}: {measured:?}"
                    );
                    status.k.expect("some relay")
                })
                .collect()
        };
        let calm = ks(&field);
        assert!(
            calm.iter().all(|k| (6..=9).contains(k)),
            "{found:?}: {calm:?}"
        );
        field.lost_percent = 20;
        field.run(Duration::from_secs(60));
        let losing = ks(&field);
        let more = |(losing, calm): (&u32, &u32)| *losing > *calm && *losing <= MEMBERS as u32;
        assert!(
            losing.iter().zip(&calm).all(more),
            "{found:?}: {losing:?}, {calm:?}"
        );
        // More than a view holds: it is the group that is counted.
        let most = losing.iter().max().expect("there are members");
        assert!(
            found == Found::ByAddress || *most > u32::from(VIEW) + 1,
            "{losing:?}"
        );
    }
}

/// All hear of their leaders' deaths, and of nobody else's.
#[test]
fn departures_are_measured_by_those_of_leaders() {
    let mut field = Field::of_many(Found::ByMulticast);
    for _ in 0..3 {
        let leader = field.leader_of_many();
        field.sides[leader] = leader as u8 + 1;
        field.run(Duration::from_secs(20));
    }
    let leader = field.leader_of_many();
    let measured = field.members[leader].status(field.now).measured;
    let crash = measured.and_then(|it| it.crash).expect("enough was seen");
    // Three in 90 s, of which leaders were there for some 70 to 80, and a first round takes 70 ms.
    assert!((0.002..0.004).contains(&crash), "{crash}");
}

/// How many challenges all members have sent.
fn challenges(field: &Field) -> u64 {
    let sent = |it: &Group| it.counters.challenges_sent;
    field.members.iter().map(sent).sum()
}

/// All hear the new leader, and a few challenge it. Besides, members ask their leader in turn, all together about as often in a
/// group of any size.
#[test]
fn challenges_per_election_do_not_grow_with_the_group() {
    const ELECTIONS: u64 = 6;
    let per_election = |members: usize| {
        let mut field = Field::empty();
        for index in 0..members {
            field.enter_many(index, Found::ByMulticast);
        }
        field.run(Duration::from_secs(90)); // nobody is young
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
    // Eight ask the new leader on average, four times the old one at most, and the helpers of those who do.
    assert!((many - few).abs() < 40.0, "{few:.1}, {many:.1}");
}

/// It hears the election of a leader of the past once more, as it was: beside the others, or alone when they are gone.
#[test]
fn restarted_member_of_many_names_no_leader_of_the_past() {
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
            // What all hear another one hears too.
            victim = 6;
            recorded.retain(|it| it.way == Way::Multicast);
        }
        field.sides[past] = 1;
        field.run(Duration::from_secs(8));
        // Another process in its place, which remembers nothing.
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

/// The price of an election that costs as much in a group of any size: a member that came up more than a minute ago believes
/// a recorded one, if it is later than all that the member knows. The few that look after a leader end that.
#[test]
fn recorded_election_misleads_older_members_for_a_moment() {
    const WHILE: Duration = Duration::from_secs(15);
    let mut field = Field::of_many(Found::ByMulticast);
    let worst = (0..MEMBERS).max_by_key(|it| id(*it)).expect("some"); // it is never elected
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
        field.sides[index] = 50; // they hear the recording alone
        field.flights.clear();
    }
    let others: Vec<usize> = others.collect();
    field.run(Duration::from_secs(90));
    assert!(field.agreed(&others).is_some());
    let replayed = field.now;
    for (flight, to) in recorded
        .iter()
        .flat_map(|it| others.iter().map(move |to| (it, *to)))
    {
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

/// What a voter acts on, and who holds: of other frames of strangers a large group takes the risk.
#[test]
fn in_a_large_group_some_frames_need_a_proof() {
    let mut field = Field::of_many(Found::ByMulticast);
    field.enter_many(MEMBERS, Found::ByMulticast);
    let stranger = Sender::new("stranger", member_id("stranger"), Life(1), 7400);
    let frame = |body| Frame {
        group: group_id("test"),
        sender: stranger,
        number: 0,
        to_all: true,
        body,
    };
    let (authority, lasts_ns, fence) = (0, 1, 1);
    let tenure = |to| Body::Tenure {
        to,
        authority,
        message: &[],
    };
    let holds = Body::Holds {
        fence,
        lasts_ns,
        authority,
    };
    let election = Body::Election {
        protocol: 0,
        message: &[],
    };
    let later = field.now + Duration::from_secs(60);
    let must_prove = |who: usize, at, body| field.members[who].must_prove(at, &frame(body));
    assert!(must_prove(3, later, tenure(id(3))) && !must_prove(3, later, tenure(id(4))));
    assert!(!must_prove(3, later, election) && !must_prove(MEMBERS, field.now, election));
    assert!(must_prove(MEMBERS, field.now, holds), "it is young");
    let few = (0..MEMBERS).filter(|it| must_prove(*it, later, holds));
    assert!((1..MEMBERS).contains(&few.count()));
}
