//! Replies that come late, or never.

use super::{Field, ROUND, believers, centre_status, host_fleet, member, rules};
use crate::council::CouncilPart;
use crate::node::Node;
use hustings_protocol::Duration;

const HOSTS: usize = 100;

/// A centre, as the first member, and some hosts.
fn fleet() -> Field {
    let mut field = Field::empty();
    let centre = CouncilPart::Centre(Box::new(rules()));
    field.admit_member(member("centre", centre), None, &[], 0);
    host_fleet(&mut field, HOSTS);
    field
}

fn replies_sent(field: &Field) -> u64 {
    let sent = |it: &Node| it.emit.counters.council_sent;
    field.members[1..].iter().map(sent).sum()
}

/// All hosts hear the centre, and it receives nothing. It polls all hosts once, and then waits for
/// a lease before it searches again; for two leases the next time, and at last for a minute.
#[test]
fn centre_without_replies_polls_ever_less_often() {
    let mut field = fleet();
    field.deaf = Some(0);
    // It waits for a lease. Then there are five numbers from 1,000 down to 0, and a rest of 15
    // rounds, 30, 60 and so on.
    field.run(ROUND * 16);
    let search = |field: &mut Field, rest: u64| {
        let before = replies_sent(field);
        field.run(ROUND * (5 + rest));
        replies_sent(field) - before
    };
    // A poll for each search, and the draws before it: with 1000, 126, 30 and 11 and 6.7 on
    // average, 100 at most.
    let once = HOSTS as u64..HOSTS as u64 * 5 / 2;
    for rest in [16, 31, 61, 121, 241, 481, 601, 601, 601] {
        let sent = search(&mut field, rest);
        assert!(once.contains(&sent), "{sent} before a rest of {rest}");
    }
}

#[test]
fn replies_slower_than_a_round_cause_no_poll() {
    for tenths in [11, 15, 25, 42] {
        let mut field = fleet();
        field.slow = Some((0, Duration(ROUND.0 * tenths / 10)));
        let mut rounds = 0;
        while !centre_status(&field, 0).is_filled() {
            field.run(ROUND);
            rounds += 1;
            assert!(rounds < 200, "no council where replies take {tenths} tenths");
        }
        let status = centre_status(&field, 0);
        assert!(status.late > 0, "{tenths}: {status:?}");
        // The centre may reach a poll before the first replies arrive, but only once. That poll and
        // the draws before it, with 1000, 126, 30 and 11, cause 189 replies on average with a
        // spread of 7. The draws after the first replies cause some ten more. Two polls would cause
        // 289.
        assert!(status.replies < 250, "{tenths}: {status:?}");
        let is_near = tenths <= 15;
        assert!(!is_near || status.peak_replies < 70, "{tenths}: {status:?}");
        field.run(ROUND * 20);
        assert!(believers(&field).len() >= 4);
        // Lost hosts are replaced, with rounds that are long enough from the start.
        let (late, lost) = (centre_status(&field, 0).late, believers(&field));
        for index in 1..field.members.len() {
            if lost.contains(&field.members[index].context.member) {
                field.sides[index] = 1;
            }
        }
        field.run(ROUND * 100);
        let status = centre_status(&field, 0);
        assert!(status.is_filled(), "{tenths}: {status:?}");
        assert_eq!(status.late, late, "{tenths}");
    }
}

/// All of them at once, when the centre no longer waits for them: that is a burst too.
#[test]
fn late_replies_count_as_a_burst() {
    let mut field = fleet();
    field.slow = Some((0, ROUND * 6));
    field.run(ROUND * 16 + ROUND * 12);
    let status = centre_status(&field, 0);
    assert!(status.late as usize > HOSTS / 2, "{status:?}");
    assert!(status.peak_replies as usize > HOSTS / 2, "{status:?}");
}
