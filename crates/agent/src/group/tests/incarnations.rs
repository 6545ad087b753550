//! Members whose calendars say nothing, as on a host without a clock that runs while it is off.

use hustings_protocol::announce::Takeover;
use hustings_protocol::{Duration, bully};

use super::{ALL, ANNOUNCE, CALENDAR, DELAY, Field, announcing, id, name};
use crate::config::ProtocolConfig;
use crate::group::Group;

/// Before 2025, and after it: in either case a calendar that stands still.
const CALENDARS: [u64; 2] = [0, 1 << 56];

fn bullying() -> ProtocolConfig {
    ProtocolConfig::Bully(bully::Config::field(DELAY * 10, Duration::from_secs(1)))
}

#[test]
fn restarted_member_is_heard_though_its_incarnation_is_lower() {
    for calendar in CALENDARS {
        CALENDAR.set(Some(calendar));
        for protocol in [announcing(Takeover::ByTheBetter), bullying()] {
            let mut field = Field::empty();
            for merit in [9, 3, 3] {
                field.enter(protocol, merit, &[], 0);
            }
            field.run(Duration::from_secs(5));
            let mut lower = 0;
            for restart in 0..20 {
                assert_eq!(field.agreed(&ALL[..3]), Some(0), "{restart}");
                let before = field.members[0].life;
                // It may say goodbye, and it may be missed before it is back.
                if restart % 2 == 0 {
                    field.act(0, Group::leave);
                    field.run(DELAY);
                }
                field.sides[0] = 9;
                field.run(ANNOUNCE * (restart % 5));
                field.sides[0] = 0;
                field.restart(0);
                lower += u32::from(field.members[0].life < before);
                field.run(match protocol.needs_view() {
                    true => Duration::from_secs(5),
                    false => Duration::from_secs(1),
                });
                let born = field.members[0].born;
                for other in [1, 2] {
                    let known = field.members[other].peers.get(id(0)).map(|it| it.born);
                    assert_eq!(known, Some(born), "{restart}: by {other}");
                }
            }
            assert!(lower >= 4, "{lower}");
        }
    }
}

#[test]
fn namesake_is_noticed_though_the_calendar_says_nothing() {
    for calendar in CALENDARS {
        CALENDAR.set(Some(calendar));
        for protocol in [announcing(Takeover::Never), bullying()] {
            let mut field = Field::empty();
            for _ in 0..3 {
                field.enter(protocol, 0, &[], 0);
            }
            field.run(Duration::from_secs(5));
            let leader = field.agreed(&ALL[..3]).expect("they agree");
            for copied in 0..3 {
                field.enter_as(&name(copied), protocol, 0, &[], 0);
                field.run(Duration::from_secs(5));
                let refused = field.members.iter().map(|it| it.namesake().is_some());
                let refused: Vec<bool> = refused.collect();
                assert_eq!(refused[..3], [false; 3]);
                assert_eq!(refused.last(), Some(&true), "{copied}");
                assert_eq!(field.agreed(&ALL[..3]), Some(leader));
            }
        }
    }
}
