//! Two that go by one name: the first stays, and nothing that it says is lost. With tenure: `namesakes`.

use std::sync::Arc;

use hustings_protocol::announce::Takeover;
use hustings_protocol::{Duration, bully};

use super::{ALL, DELAY, Field, MIDNIGHT, address, announcing, entropy, name};
use crate::authority::Authority;
use crate::authority::occupancy::Occupancy;
use crate::config::ProtocolConfig;
use crate::group::Group;
use crate::identity::Life;

#[test]
fn a_namesake_is_refused_and_the_first_is_still_heard() {
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
            assert!(field.members[3].namesake().is_some());
            assert_eq!(
                field.agreed(&ALL[..3]),
                Some(leader),
                "{copied} of {leader}"
            );
            // To a failure detector a later life is a restart: a bully that leads is elected anew.
            if !protocol.needs_view() {
                assert_eq!(field.changes(&ALL[..3]), before, "{copied} of {leader}");
            }
            // What it says is still heard.
            field.sides[leader] = 9;
            field.run(Duration::from_secs(10));
            let rest: Vec<usize> = (0..3).filter(|it| *it != leader).collect();
            assert!(field.agreed(&rest).is_some(), "without {leader}");
        }
    }
}

/// To those who have heard the newcomer its life is the past. It begins a later one before it speaks again.
#[test]
fn nothing_that_a_leader_says_is_lost_to_a_namesake() {
    let mut field = Field::settled(Takeover::Never, &[0; 3]);
    let leader = field.agreed(&ALL[..3]).expect("they agree");
    field.enter_as(&name(leader), announcing(Takeover::Never), 0, &[], 0);
    field.run(Duration::from_secs(1));
    assert!(field.members[3].namesake().is_some());
    for it in (0..3).filter(|it| *it != leader) {
        assert_eq!(field.members[it].counters.replayed, 0, "{it}");
    }
}

/// By its calendar the newcomer was here a day before, or comes a day later.
#[test]
fn of_two_namesakes_the_first_stays_whatever_calendars_say() {
    const DAY: u64 = 86_400_000_000_000;
    let today = MIDNIGHT;
    let bully = ProtocolConfig::Bully(bully::Config::field(DELAY * 10, Duration::from_secs(1)));
    for protocol in [announcing(Takeover::Never), bully] {
        for (copied, born) in [0, 1, 2]
            .into_iter()
            .flat_map(|it| [(it, today - DAY), (it, today + DAY)])
        {
            let mut field = Field::empty();
            for _ in 0..3 {
                field.enter(protocol, 0, &[], 0);
            }
            field.run(Duration::from_secs(5));
            let leader = field.agreed(&ALL[..3]).expect("they agree");
            let config = field.members[copied].config.clone();
            let nobody = (Authority::Nobody, Occupancy::new(Arc::default()));
            let port = address(3).port();
            let mut twin = Group::new(
                config,
                &name(copied),
                port,
                field.now,
                None,
                nobody,
                entropy(field.now, port),
            );
            (twin.life, twin.born) = (Life(born), Life(born));
            field.admit_member(twin, None, &[], 0);
            field.run(Duration::from_secs(10));
            let refused = field.members.iter().map(|it| it.namesake().is_some());
            assert_eq!(refused.collect::<Vec<_>>(), [false, false, false, true]);
            assert_eq!(field.agreed(&ALL[..3]), Some(leader), "{copied}");
        }
    }
}

/// The second, too, is told, though the first was only just: it may say nothing else that is heard there.
#[test]
fn of_two_that_come_one_after_the_other_with_a_name_that_is_taken_neither_stays() {
    let mut field = Field::settled(Takeover::Never, &[0; 3]);
    let leader = field.agreed(&ALL[..3]).expect("they agree");
    let copied = name((leader + 1) % 3);
    for newcomer in [3, 4] {
        field.enter_as(&copied, announcing(Takeover::Never), 0, &[], 0);
        field.run(Duration::from_millis(5));
        assert!(field.members[newcomer].namesake().is_some(), "{newcomer}");
    }
}

/// Neither has been here for longer than a frame may take.
#[test]
fn of_two_namesakes_that_come_up_at_once_one_stays() {
    for _ in 0..20 {
        let mut field = Field::settled(Takeover::Never, &[0; 3]);
        for _ in 0..2 {
            field.enter_as("twin", announcing(Takeover::Never), 0, &[], 0);
        }
        field.run(Duration::from_secs(2));
        let refused = field.members.iter().map(|it| it.namesake().is_some());
        let refused: Vec<bool> = refused.collect();
        assert_eq!(refused[..3], [false; 3]);
        assert_ne!(refused[3], refused[4]);
    }
}
