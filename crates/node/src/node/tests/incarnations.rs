//! Members with useless calendars, as on a host without a battery-backed clock.

use hustings_protocol::announce::Takeover;
use hustings_protocol::{Duration, bully};

use super::{ALL, ANNOUNCE, CALENDAR, DELAY, Field, announcing, id, name};
use crate::config::ProtocolConfig;
use crate::node::Node;

/// A calendar before 2025 and one after it. Both stand still.
const CALENDARS: [u64; 2] = [0, 1 << 56];

fn bullying() -> ProtocolConfig {
    ProtocolConfig::Bully(bully::Config::field(DELAY * 10, Duration::from_secs(1)))
}

#[test]
fn restarted_member_with_a_lower_incarnation_is_accepted() {
    for calendar in CALENDARS {
        CALENDAR.set(Some(calendar));
        for protocol in [announcing(Takeover::ByTheBetter), bullying()] {
            let mut field = Field::empty();
            for priority in [9, 3, 3] {
                field.enter(protocol, priority, &[], 0);
            }
            field.run(Duration::from_secs(5));
            let mut lower = 0;
            for restart in 0..20 {
                assert_eq!(field.agreed(&ALL[..3]), Some(0), "{restart}");
                let before = field.members[0].context.incarnation;
                // The member may leave in order, and the others may miss it before it is back.
                if restart % 2 == 0 {
                    field.act(0, Node::leave);
                    field.run(DELAY);
                }
                field.sides[0] = 9;
                field.run(ANNOUNCE * (restart % 5));
                field.sides[0] = 0;
                field.restart(0);
                lower += u32::from(field.members[0].context.incarnation < before);
                field.run(match protocol.needs_view() {
                    true => Duration::from_secs(5),
                    false => Duration::from_secs(1),
                });
                let process_incarnation = field.members[0].context.process_incarnation;
                for other in [1, 2] {
                    let known = field.members[other]
                        .context
                        .peers
                        .get(id(0))
                        .map(|it| it.process_incarnation);
                    assert_eq!(known, Some(process_incarnation), "{restart}: by {other}");
                }
            }
            assert!(lower >= 4, "{lower}");
        }
    }
}

#[test]
fn duplicate_name_is_noticed_without_a_calendar() {
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
                let refused = field.members.iter().map(|it| it.duplicate_name().is_some());
                let refused: Vec<bool> = refused.collect();
                assert_eq!(refused[..3], [false; 3]);
                assert_eq!(refused.last(), Some(&true), "{copied}");
                assert_eq!(field.agreed(&ALL[..3]), Some(leader));
            }
        }
    }
}
