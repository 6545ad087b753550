//! A member that steps down takes no part for a while and then takes part again, with every
//! protocol.

use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::{Durable, Saved};
use hustings_protocol::{Duration, Instant};

use super::tenure::TTL;
use super::{ALL, DELAY, Field, announcing, id};
use crate::config::{ProtocolConfig, QuorumConfig};
use crate::control::Resignation;
use crate::identity::Incarnation;
use crate::membership::Membership;
use crate::node::Outbox;

const ELECTION_TIMEOUT: Duration = Duration::from_secs(1);

/// Every protocol that a group can run.
fn protocols() -> [ProtocolConfig; 5] {
    let bound = DELAY * 10;
    [
        announcing(Takeover::Never),
        ProtocolConfig::bully_field(bound, ELECTION_TIMEOUT),
        ProtocolConfig::chang_roberts_field(ELECTION_TIMEOUT),
        ProtocolConfig::modified_ring_field(ELECTION_TIMEOUT),
        ProtocolConfig::probabilistic_field("test", bound, 7),
    ]
}

impl Field {
    /// Five settled members that elect by `protocol`. The first three vote.
    fn elected_by(protocol: ProtocolConfig) -> Self {
        let mut field = Self::empty();
        field.protocol = Some(protocol);
        for index in ALL {
            let founding = Saved::Initialised(Durable::FOUNDING);
            field.admit_fenced(Takeover::Never, 5 - index as u64, founding);
        }
        field.run(Duration::from_secs(5));
        field
    }

    /// True if `who` has `whom` on its list of members.
    pub(super) fn lists(&self, who: usize, whom: usize) -> bool {
        let listed = self.members[who].context.members.get().into_iter();
        let mut listed = listed.flat_map(Membership::candidates);
        listed.any(|candidate| candidate.id == id(whom))
    }

    fn step_down_for(&mut self, index: usize, span: Duration) -> Instant {
        let mut out = Outbox::new();
        self.members[index].step_down(self.now, span, None, &mut out);
        self.post(index, out);
        self.now + span
    }
}

#[test]
fn member_that_steps_down_is_succeeded() {
    for protocol in protocols() {
        let name = protocol.name();
        let mut field = Field::elected_by(protocol);
        let (former, fence) = field.settled_on(&ALL);
        let back_at = field.step_down_for(former, Duration::from_secs(8));
        assert!(!field.leaders().contains(&former), "{name}");
        let step = Duration::from_millis(100);
        while field.now + step < back_at {
            field.run(step);
            for it in ALL {
                let named = field.members[it].context.nominee;
                assert_ne!(named, Some(id(former)), "{name}: by {it}");
            }
            if protocol.needs_view() {
                assert_eq!(field.members[former].context.nominee, None, "{name}");
            }
        }
        // All members know the holder. The member that takes no part receives the announcements
        // too.
        let (next, higher) = field.settled_on(&ALL);
        assert!(next != former && higher > fence, "{name}");
    }
}

#[test]
fn stepped_down_member_can_be_named_again_after_its_time() {
    for protocol in protocols() {
        let name = protocol.name();
        let mut field = Field::elected_by(protocol);
        let (former, _) = field.settled_on(&ALL);
        field.step_down_for(former, Duration::from_secs(5));
        field.run(Duration::from_secs(10));
        // Leaves a bare majority of the voters, and the former leader.
        let voters = [0, 1, 2];
        let gone = voters.into_iter().find(|it| *it != former);
        let gone = gone.expect("there are three");
        let mut rest: Vec<usize> = ALL.into_iter().filter(|it| *it != gone).collect();
        field.sides[gone] = 1;
        for other in [3, 4] {
            if other != former {
                field.sides[other] = 1;
                rest.retain(|it| *it != other);
            }
        }
        // Two voters are left, or two and the member that has come back.
        for other in rest.clone() {
            if other != former {
                field.step_down_for(other, Duration::from_secs(60));
            }
        }
        field.run(Duration::from_secs(10));
        assert_eq!(field.settled_on(&rest).0, former, "{name}");
    }
}

#[test]
fn second_step_down_replaces_the_time_of_the_first() {
    for protocol in protocols() {
        let name = protocol.name();
        let mut field = Field::elected_by(protocol);
        let (former, _) = field.settled_on(&ALL);
        field.step_down_for(former, Duration::from_secs(2));
        field.run(Duration::from_secs(1));
        field.step_down_for(former, Duration::from_secs(6));
        field.run(Duration::from_secs(5));
        let (next, _) = field.settled_on(&ALL);
        assert_ne!(next, former, "{name}");
        field.run(Duration::from_secs(10));
        // It takes part again: it is in the others' lists, and they are in its list.
        field.settled_on(&ALL);
        for it in ALL.into_iter().filter(|it| *it != former && protocol.needs_view()) {
            assert!(field.lists(it, former) && field.lists(former, it), "{name}: {it}");
        }
    }
}

#[test]
fn step_down_while_aside_keeps_reason_and_leader() {
    for protocol in protocols() {
        let name = protocol.name();
        let mut field = Field::elected_by(protocol);
        let (former, _) = field.settled_on(&ALL);
        let (why, is_failure) = ("this member's command ended with code 7".to_owned(), true);
        let resignation = Resignation { why, is_failure };
        field.act(former, |it, now, out| {
            it.resign(now, Duration::from_secs(20), resignation.clone(), out);
        });
        field.run(Duration::from_secs(10));
        let (next, _) = field.settled_on(&ALL);
        let known = |field: &Field| {
            let member = &field.members[former];
            (member.context.nominee, member.publisher.leadership().leader.clone())
        };
        let before = known(&field);
        assert_eq!(before.1.as_ref().map(|it| it.id), Some(id(next)), "{name}");
        field.step_down_for(former, Duration::from_secs(60));
        assert_eq!(known(&field), before, "{name}");
        field.run(Duration::from_secs(20));
        field.settled_on(&ALL);
        let aside = field.members[former].status(field.now).aside;
        let aside = aside.expect("it is aside for longer");
        assert_eq!(aside.why, Some(resignation.why), "{name}");
        assert_eq!(aside.remaining, Duration::from_secs(40), "{name}");
    }
}

/// Even if it learns that it had a later incarnation than its calendar gives.
#[test]
fn stepped_down_member_is_silent_and_in_no_list() {
    let needs_view = |protocol: &ProtocolConfig| protocol.needs_view();
    for protocol in protocols().into_iter().filter(needs_view) {
        let name = protocol.name();
        let mut field = Field::elected_by(protocol);
        let away = 4; // does not vote
        field.step_down_for(away, Duration::from_secs(20));
        field.run(Duration::from_secs(2));
        let later = Incarnation(field.members[away].context.incarnation.0 + 1_000_000);
        field.members[away].begin_incarnation_after(later);
        let before = field.members[away].emit.counters.sent;
        field.run(Duration::from_secs(10));
        assert_eq!(field.members[away].emit.counters.sent, before, "{name}");
        assert!((0..away).all(|it| !field.lists(it, away)), "{name}");
        field.run(Duration::from_secs(10));
        assert!((0..away).all(|it| field.lists(it, away)), "{name}");
    }
}

/// All members stand aside in turn while they reach no voters, and the group loses none by that.
#[test]
fn a_member_holds_tenure_soon_after_a_network_failure() {
    for protocol in protocols() {
        let name = protocol.name();
        for gone in [5, 15, 40, 90] {
            let mut field = Field::elected_by(protocol);
            field.sides = vec![1, 2, 3, 4, 5];
            field.run(Duration::from_secs(gone));
            assert!(field.holders().is_empty(), "{name}");
            field.sides.fill(0);
            let terms = field.terms(Duration::from_secs(15));
            assert!(!terms.is_empty(), "{name}: after {gone} s apart");
            field.settled_on(&ALL);
        }
    }
}

/// Although the newcomer has the best priority, and the election names it. A newcomer that could
/// never hold tenure does not unseat the holder either.
#[test]
fn holder_is_not_unseated_by_a_newcomer() {
    for protocol in protocols() {
        let name = protocol.name();
        for ttl in [TTL, TTL * 2] {
            let mut field = Field::elected_by(protocol);
            let before = field.settled_on(&ALL);
            let quorum =
                QuorumConfig { voters: (0..3).map(super::name).collect(), ttl, state: None };
            let (newcomer, given) = field.member_by(5, quorum, Takeover::Never, 99, Saved::Missing);
            field.admit_member(newcomer, Some(given), &[], 0);
            assert_eq!(field.terms(Duration::from_secs(30)), [before], "{name}");
        }
    }
}

/// An agent is stopped while work goes on under its tenure. The tenure expires and is not released.
#[test]
fn leaving_while_work_goes_on_releases_nothing() {
    for is_at_work in [true, false] {
        let mut field = Field::fenced(Takeover::Never);
        let (former, _) = field.settled_on(&ALL);
        let held = field.members[former].tenure.authority().holds(field.now);
        let ends = held.expect("it holds").until;
        let work = is_at_work.then(|| field.members[former].in_flight().begin());
        let mut out = Outbox::new();
        field.members[former].leave(field.now, &mut out);
        field.post(former, out);
        let mut is_early = false;
        while field.now < ends {
            field.run(DELAY);
            is_early |= field.holders().iter().any(|it| *it != former);
        }
        assert_eq!(is_early, !is_at_work);
        drop(work);
        field.run(TTL * 3);
        assert!(field.holders().iter().any(|it| *it != former));
    }
}
