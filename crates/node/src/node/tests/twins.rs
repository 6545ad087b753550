//! Two processes with one name: the first stays, and none of its frames is lost. With tenure:
//! `namesakes`.

use std::sync::Arc;

use hustings_protocol::announce::Takeover;
use hustings_protocol::{Duration, bully};

use super::{ALL, DELAY, Field, MIDNIGHT, address, announcing, entropy, name};
use crate::authority::Authority;
use crate::authority::in_flight::InFlight;
use crate::config::ProtocolConfig;
use crate::identity::Incarnation;
use crate::node::Node;

#[test]
fn later_process_with_one_name_is_refused_and_the_first_stays() {
    let bully = ProtocolConfig::Bully(bully::Config::field(DELAY * 10, Duration::from_secs(1)));
    for (protocol, others) in [
        (announcing(Takeover::Never), &[][..]),
        (announcing(Takeover::Never), &[0, 1]),
        (bully, &[]),
    ] {
        for copied in 0..3 {
            let mut field = Field::empty();
            for _ in 0..3 {
                field.enter(protocol, 0, others, 0);
            }
            field.run(Duration::from_secs(5));
            let leader = field.agreed(&ALL[..3]).expect("they agree");
            let before = field.changes(&ALL[..3]);
            field.enter_as(&name(copied), protocol, 0, others, 0);
            field.run(Duration::from_secs(10));
            assert!(field.members[3].duplicate_name().is_some());
            assert_eq!(field.agreed(&ALL[..3]), Some(leader), "{copied} of {leader}");
            // To a failure detector a later incarnation is a restart: the leader of a bully group
            // is elected anew.
            if !protocol.needs_view() {
                assert_eq!(field.changes(&ALL[..3]), before, "{copied} of {leader}");
            }
            // Its frames are still accepted.
            field.sides[leader] = 9;
            field.run(Duration::from_secs(10));
            let rest: Vec<usize> = (0..3).filter(|it| *it != leader).collect();
            assert!(field.agreed(&rest).is_some(), "without {leader}");
        }
    }
}

/// Members that have heard the newcomer take the leader's incarnation for stale. The leader begins
/// a later incarnation before it sends again.
#[test]
fn duplicate_name_loses_no_frame_of_the_leader() {
    let mut field = Field::settled(Takeover::Never, &[0; 3]);
    let leader = field.agreed(&ALL[..3]).expect("they agree");
    field.enter_as(&name(leader), announcing(Takeover::Never), 0, &[], 0);
    field.run(Duration::from_secs(1));
    assert!(field.members[3].duplicate_name().is_some());
    for it in (0..3).filter(|it| *it != leader) {
        assert_eq!(field.members[it].emit.counters.replayed, 0, "{it}");
    }
}

/// By its calendar the newcomer started a day before, or starts a day later.
#[test]
fn first_of_two_processes_stays_whatever_the_calendars_say() {
    const DAY: u64 = 86_400_000_000_000;
    let today = MIDNIGHT;
    let bully = ProtocolConfig::Bully(bully::Config::field(DELAY * 10, Duration::from_secs(1)));
    for protocol in [announcing(Takeover::Never), bully] {
        for (copied, process_incarnation) in
            [0, 1, 2].into_iter().flat_map(|it| [(it, today - DAY), (it, today + DAY)])
        {
            let mut field = Field::empty();
            for _ in 0..3 {
                field.enter(protocol, 0, &[], 0);
            }
            field.run(Duration::from_secs(5));
            let leader = field.agreed(&ALL[..3]).expect("they agree");
            let config = field.members[copied].context.config.clone();
            let nobody = (Authority::Nobody, InFlight::new(Arc::default()));
            let port = address(3).port();
            let mut twin = Node::new(
                config,
                &name(copied),
                port,
                field.now,
                None,
                nobody,
                entropy(field.now, port),
            );
            (twin.context.incarnation, twin.context.process_incarnation) =
                (Incarnation(process_incarnation), Incarnation(process_incarnation));
            field.admit_member(twin, None, &[], 0);
            field.run(Duration::from_secs(10));
            let refused = field.members.iter().map(|it| it.duplicate_name().is_some());
            assert_eq!(refused.collect::<Vec<_>>(), [false, false, false, true]);
            assert_eq!(field.agreed(&ALL[..3]), Some(leader), "{copied}");
        }
    }
}

/// The second newcomer is informed too, although the first was informed just before. It may send no
/// other frame that arrives there.
#[test]
fn two_later_processes_with_a_taken_name_are_both_refused() {
    let mut field = Field::settled(Takeover::Never, &[0; 3]);
    let leader = field.agreed(&ALL[..3]).expect("they agree");
    let copied = name((leader + 1) % 3);
    for newcomer in [3, 4] {
        field.enter_as(&copied, announcing(Takeover::Never), 0, &[], 0);
        field.run(Duration::from_millis(5));
        assert!(field.members[newcomer].duplicate_name().is_some(), "{newcomer}");
    }
}

/// Neither has been running for longer than a frame may take.
#[test]
fn one_of_two_processes_that_start_together_stays() {
    for _ in 0..20 {
        let mut field = Field::settled(Takeover::Never, &[0; 3]);
        for _ in 0..2 {
            field.enter_as("twin", announcing(Takeover::Never), 0, &[], 0);
        }
        field.run(Duration::from_secs(2));
        let refused = field.members.iter().map(|it| it.duplicate_name().is_some());
        let refused: Vec<bool> = refused.collect();
        assert_eq!(refused[..3], [false; 3]);
        assert_ne!(refused[3], refused[4]);
    }
}
