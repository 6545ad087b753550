//! Fewer hosts than seats to keep.

use hustings_protocol::Duration;
use hustings_protocol::council::{Config, Estimate, Knowledge, Seats};

use super::{Field, ROUND, believers, centre_status, host_fleet, member, rules};
use crate::council::CouncilPart;
use crate::council::CouncilRole;

/// A centre that keeps five seats, as the first member, and four hosts, long after they were
/// seated.
fn fleet() -> Field {
    let mut field = Field::empty();
    let centre = CouncilPart::Centre(Box::new(rules()));
    field.admit_member(member("centre", centre), None, &[], 0);
    host_fleet(&mut field, 4);
    field.run(ROUND * 3_000);
    assert_eq!(believers(&field).len(), 4);
    field
}

#[test]
fn council_without_spare_hosts_is_searched_ever_less_often() {
    let mut field = fleet();
    let before = centre_status(&field, 0).rounds;
    field.run(ROUND * 6_000);
    let rounds = centre_status(&field, 0).rounds - before;
    // About six searches in a minute, which is 600 rounds. Before, there was one every two seconds.
    assert!((30..90).contains(&rounds), "{rounds}");
    assert_eq!(believers(&field).len(), 4);

    // Another host starts, and is seated within a minute and a search.
    admit_one_more(&mut field);
    field.run(ROUND * 630);
    assert_eq!(believers(&field).len(), 5);
}

/// The rest of the centre ends when a seat becomes vacant.
#[test]
fn resting_centre_searches_a_lease_after_a_seat_is_vacant() {
    let mut field = fleet();
    admit_one_more(&mut field);
    field.sides[1] = 1;
    // The lease ends after 15 rounds and a beat of 5, and the seat is free after as long again.
    // Then there is a search.
    field.run(ROUND * (20 + 15 + 20));
    let status = centre_status(&field, 0);
    assert!(status.is_filled(), "{status:?}");
}

fn admit_one_more(field: &mut Field) {
    let host = member("host-4", CouncilPart::HOST);
    field.admit_member(host, None, &[], 0);
}

/// The number of complaints of the centre, the first member, including those that were suppressed
/// as repetitions.
fn complaints(field: &Field) -> u64 {
    let centre = field.members[0].council.as_ref().and_then(CouncilRole::as_centre);
    centre.expect("a centre").scarce()
}

/// With one seat to fill the search comes down to 2 hosts, which is no poll, and to 1.6, which is 2
/// once more.
#[test]
fn centre_of_one_seat_without_hosts_rests_ever_longer() {
    for estimate in [Estimate::aggressive(1_000), Estimate::conservative(1_000)] {
        let mut field = Field::empty();
        let config = Config {
            knowledge: Knowledge::Estimated(estimate),
            ..Config::field(Seats::new(1, 1), 1_000, ROUND)
        };
        let centre = CouncilPart::Centre(Box::new(config));
        field.admit_member(member("centre", centre), None, &[], 0);
        // After six minutes a rest lasts for one minute. A search takes eleven rounds at most:
        // 1000, 500, 250 and so on.
        field.run(ROUND * 3_600);
        let before = (centre_status(&field, 0).rounds, complaints(&field));
        assert!((6..=13).contains(&before.1), "{before:?}: {estimate:?}");
        field.run(ROUND * 6_000);
        let rounds = centre_status(&field, 0).rounds - before.0;
        let searches = complaints(&field) - before.1;
        assert!((8..=10).contains(&searches), "{searches}: {estimate:?}");
        assert!(rounds <= 11 * (searches + 1), "{rounds}: {estimate:?}");

        // A newcomer is seated within a minute and a search.
        host_fleet(&mut field, 1);
        field.run(ROUND * 630);
        assert_eq!(believers(&field).len(), 1, "{estimate:?}");
    }
}

/// A host that is elected in a poll has replied to it, and counts as one host.
#[test]
fn host_seated_by_a_poll_is_not_counted_twice() {
    let mut field = Field::empty();
    let mut config = Config::field(Seats::new(2, 3), 1_000, ROUND);
    assert_eq!(config.chambers[0].keep, 3);
    config.chambers[0].c = vec![1e-6; 3]; // no host replies before the poll
    let centre = CouncilPart::Centre(Box::new(config));
    field.admit_member(member("centre", centre), None, &[], 0);
    host_fleet(&mut field, 2);
    while !centre_status(&field, 0).is_filled() {
        assert_eq!(complaints(&field), 0);
        field.run(Duration(ROUND.0 / 10));
    }
    assert_eq!(complaints(&field), 1, "two are there, and three seats are to be kept");
}
