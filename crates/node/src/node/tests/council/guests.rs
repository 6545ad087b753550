//! Centres that elect once and yield to any other.

use super::{Field, NOW, ROUND, believers, centre_status, guest_rules, host_fleet, member, rules};
use crate::council::CouncilPart;
use crate::node::Outbox;
use hustings_protocol::council::Config;

/// It hears a standing centre, and sends nothing at all.
#[test]
fn yielding_centre_ends_no_other() {
    let mut field = Field::empty();
    let standing = CouncilPart::Centre(Box::new(rules()));
    field.admit_member(member("standing", standing), None, &[], 0);
    host_fleet(&mut field, 10);
    field.run(ROUND * 100);
    let seats = believers(&field);
    assert!(seats.len() >= 4, "{seats:?}");
    let guest = CouncilPart::Centre(Box::new(guest_rules()));
    field.admit_member(member("guest", guest), None, &[], 0);
    field.run(ROUND * 100);
    let other = centre_status(&field, 11).gives_way_to.expect("it gives way");
    assert_eq!(other.name, "standing");
    assert_eq!(centre_status(&field, 0).gives_way_to, None);
    assert_eq!(believers(&field), seats);
}

/// A heartbeat every ten seconds: a centre that listens for less hears nothing.
fn long_rules() -> Config {
    let mut long = rules();
    let lease = long.lease.as_mut().expect("it has one");
    (lease.beat, lease.lasts) = (ROUND * 100, ROUND * 300);
    long
}

/// A standing centre with such leases and its council, as the first member; then 30 hosts.
fn standing() -> Field {
    let mut field = Field::empty();
    let centre = CouncilPart::Centre(Box::new(long_rules()));
    field.admit_member(member("standing", centre), None, &[], 0);
    host_fleet(&mut field, 30);
    while !centre_status(&field, 0).is_filled() {
        field.run(ROUND);
        assert!(field.now < NOW + ROUND * 2_000, "no council");
    }
    // All seated hosts have confirmed, and the next heartbeat is far away.
    field.run(ROUND * 101);
    field
}

fn admit_guest(field: &mut Field, name: &str) -> usize {
    let guest = CouncilPart::Centre(Box::new(guest_rules()));
    field.admit_member(member(name, guest), None, &[], 0);
    field.members.len() - 1
}

#[test]
fn guest_with_a_short_lease_ends_no_centre_with_a_long_one() {
    let mut field = standing();
    let seats = believers(&field);
    assert!(seats.len() >= 4, "{seats:?}");
    let guest = admit_guest(&mut field, "guest");
    for _ in 0..80 {
        field.run(ROUND);
        assert_eq!(believers(&field), seats);
    }
    let refused = centre_status(&field, guest);
    let holder = refused.held_elsewhere.as_ref().expect("somebody told it");
    assert!(seats.contains(&holder.name), "{holder:?}");
    assert_eq!(refused.seats().count(), 0);
    // The other centre goes on undisturbed.
    field.run(ROUND * 700);
    let standing = centre_status(&field, 0);
    assert_eq!(standing.gives_way_to, None);
    assert_eq!(standing.seats().count(), seats.len());
    assert_eq!(believers(&field), seats);
}

/// It was cut off for longer than its seats last, and hosts have accepted a guest since.
#[test]
fn hosts_return_from_a_guest_to_a_centre_that_is_back() {
    let mut field = standing();
    field.sides[0] = 1;
    field.run(ROUND * 310);
    assert!(believers(&field).is_empty());
    let guest = admit_guest(&mut field, "guest");
    field.run(ROUND * 60);
    assert!(centre_status(&field, guest).is_filled());
    field.sides[0] = 0;
    field.run(ROUND * 1_000);
    let other = centre_status(&field, guest).gives_way_to;
    assert_eq!(other.expect("it hears it").name, "standing");
    let standing = centre_status(&field, 0);
    assert!(standing.gives_way_to.is_none() && standing.is_filled());
    assert_eq!(believers(&field).len(), standing.seats().count());
}

/// The centre crashed: its seats end with their leases, and not before.
#[test]
fn guest_is_refused_while_seats_of_a_lost_centre_are_held() {
    let mut field = standing();
    field.sides[0] = 1;
    let seats = believers(&field);
    let guest = admit_guest(&mut field, "guest");
    field.run(ROUND * 60);
    assert!(centre_status(&field, guest).held_elsewhere.is_some());
    assert_eq!(believers(&field), seats);
    field.run(ROUND * 300);
    let guest = admit_guest(&mut field, "another");
    field.run(ROUND * 60);
    assert!(centre_status(&field, guest).is_filled());
}

/// A centre that stops in order releases its seats, but a host that is cut off does not hear that.
#[test]
fn guest_reports_that_it_waits_for_longer_seats() {
    let mut field = standing();
    let mut out = Outbox::new();
    let now = field.now;
    field.members[0].handle(now, &crate::node::Event::Leaving, &mut out);
    field.post(0, out);
    field.sides[0] = 1;
    field.run(ROUND);
    assert!(believers(&field).is_empty());
    let guest = admit_guest(&mut field, "guest");
    field.run(ROUND * 60);
    let status = centre_status(&field, guest);
    let awaits = status.awaits.expect("it waits");
    assert!(awaits > ROUND * 200 && awaits < ROUND * 300, "{awaits:?}");
    let told = field.members[guest].watch_council().expect("a centre");
    assert!(told.borrow().awaits.is_some(), "and has said so");
    field.run(awaits + ROUND * 2);
    let status = centre_status(&field, guest);
    assert!(status.is_filled() && status.awaits.is_none(), "{status:?}");
    assert_eq!(told.borrow().awaits, None);
}

/// Both listen and call at the same time, and hear each other: one of them goes on.
#[test]
fn first_of_two_guests_goes_on() {
    let mut field = Field::empty();
    host_fleet(&mut field, 30);
    let first = admit_guest(&mut field, "guest");
    let second = admit_guest(&mut field, "second");
    field.run(ROUND * 100);
    let other = centre_status(&field, second).gives_way_to;
    assert_eq!(other.expect("it hears it").name, "guest");
    let first = centre_status(&field, first);
    assert!(first.is_filled(), "{first:?}");
}
