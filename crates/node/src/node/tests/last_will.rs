//! The sealed release that a death witness sends for a dead holder. It reaches every voter at its
//! current address.

use std::net::SocketAddr;

use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::{Durable, Saved};
use hustings_protocol::{Duration, MemberId};
use tokio::sync::watch;

use super::tenure::TTL;
use super::{ALL, ANNOUNCE, DELAY, Field, Flight, LISTEN, address, id};
use crate::authority::LastWill;
use crate::peer_table::Channel;

const FOUNDING: Saved = Saved::Initialised(Durable::FOUNDING);
/// Several round trips, and much less than a third of the ttl: no renewal happens meanwhile.
const SOON: Duration = Duration(DELAY.0 * 30);

/// Voters 0 and 1 of three, of which 0 holds tenure, and the release that 0 deposits.
fn two_of_three_voters() -> (Field, watch::Receiver<LastWill>) {
    let mut field = Field::empty();
    for priority in [2, 1] {
        field.admit_fenced(Takeover::ByTheBetter, priority, FOUNDING);
    }
    let last_will = field.members[0].last_will().subscribe();
    field.run(TTL);
    assert_eq!(field.holders(), [0]);
    (field, last_will)
}

fn receivers(last_will: &watch::Receiver<LastWill>) -> Vec<SocketAddr> {
    last_will.borrow().0.iter().map(|(to, _)| *to).collect()
}

/// Sends the deposited release of a dead holder, as its witness does.
fn send_for_the_dead(field: &mut Field, dead: usize, last_will: &watch::Receiver<LastWill>) {
    field.sides[dead] = 9;
    for (to, frame) in last_will.borrow().0.clone() {
        for to in field.who_is_at(to) {
            field.flights.push(Flight {
                at: field.now,
                to,
                from: address(dead),
                channel: Channel::Unicast,
                frame: frame.clone(),
            });
        }
    }
}

#[test]
fn voter_first_heard_during_the_tenure_gets_the_release() {
    let (mut field, last_will) = two_of_three_voters();
    assert_eq!(receivers(&last_will), [address(1)]);
    field.admit_fenced(Takeover::ByTheBetter, 0, FOUNDING);
    field.run(SOON);
    assert_eq!(receivers(&last_will), [address(1), address(2)]);

    // Both remaining voters must agree, so both must have dropped their grants.
    field.run(TTL);
    send_for_the_dead(&mut field, 0, &last_will);
    field.run(LISTEN + ANNOUNCE);
    let survivors = [1, 2];
    let holders = field.holders();
    assert!(holders.iter().any(|it| survivors.contains(it)), "{holders:?}");
}

#[test]
fn voter_that_moved_to_another_port_gets_the_release() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    let (leader, _) = field.settled_on(&ALL);
    assert_eq!(leader, 0);
    let last_will = field.members[leader].last_will().subscribe();
    field.run(TTL);
    assert_eq!(receivers(&last_will), [address(1), address(2)]);

    // Member 1 restarts at the address of member 5.
    field.sides[1] = 9;
    let voters = [0, 1, 2];
    let (member, disk) = field.fenced_member(1, &voters, Takeover::ByTheBetter, 4, FOUNDING);
    field.admit_member(member, Some(disk), &[], 0);
    assert_eq!(field.members[5].context.me.id, id(1));
    field.run(SOON);
    assert_eq!(receivers(&last_will), [address(5), address(2)]);
}

/// The deposited release is replaced only for a reason: each time costs a frame for each voter.
#[test]
fn release_is_not_sealed_again_while_no_voter_moves() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    let (leader, _) = field.settled_on(&ALL);
    let mut last_will = field.members[leader].last_will().subscribe();
    field.run(TTL);
    let known: Vec<MemberId> = field.members[leader].context.peers.iter().map(|it| it.0).collect();
    assert!(known.contains(&id(4)), "no voter, and heard");
    last_will.mark_unchanged();
    field.run(TTL * 10);
    assert!(!last_will.has_changed().expect("the member lives"));
}
