//! Frames to all members in groups that may be large.

use hustings_protocol::Duration;

use super::super::Outbox;
use super::{ALL, DELAY, Field, id};
use crate::config::ProtocolConfig;
use crate::frame::Body;

#[test]
fn only_small_groups_add_unicasts_to_a_multicast() {
    let bound = Duration::from_millis(5);
    let check = |protocol: ProtocolConfig, expected: usize| {
        let mut field = Field::empty();
        for _ in ALL {
            field.enter(protocol, 0, &[], 0);
        }
        field.run(Duration::from_secs(2));
        let leader = field.agreed(&ALL).expect("they agree");
        let follower = (leader + 1) % 5;
        let mut out = Outbox::new();
        let word = Body::Obituary { of: id(leader) };
        field.members[follower].broadcast(field.now, &word, &mut out);
        assert_eq!(out.len(), expected, "{}", protocol.name());
    };
    check(ProtocolConfig::bully_field(bound, bound), 1 + 4);
    check(ProtocolConfig::probabilistic_field("test", bound, 3), 1);
}

#[test]
fn only_a_few_of_many_members_report_a_dead_leader() {
    // A bound so large that no election starts meanwhile.
    let protocol = ProtocolConfig::probabilistic_field("test", Duration::from_secs(1), 3);
    let everyone: Vec<usize> = (0..30).collect();
    let mut field = Field::empty();
    for _ in &everyone {
        field.enter(protocol, 0, &[], 0);
    }
    field.run(Duration::from_secs(30));
    let leader = field.agreed(&everyone).expect("they agree");
    field.sides[leader] = 1;
    field.multicasts = 0;
    for follower in everyone.into_iter().filter(|&it| it != leader) {
        let mut out = Outbox::new();
        field.members[follower].suspect(field.now, id(leader), DELAY * 2, &mut out);
        field.post(follower, out);
    }
    field.run(Duration::from_millis(2));
    assert!((1..29).contains(&field.multicasts), "{}", field.multicasts);
}
