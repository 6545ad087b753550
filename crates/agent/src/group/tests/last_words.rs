//! The sealed release that a watcher sends for a dead holder: it reaches every voter, wherever the voter is now.

use std::net::SocketAddr;

use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::{Durable, Saved};
use hustings_protocol::{Duration, MemberId};
use tokio::sync::watch;

use super::tenancy::TTL;
use super::{ALL, ANNOUNCE, DELAY, Field, Flight, LISTEN, address, id};
use crate::authority::last_words::LastWords;
use crate::peers::Way;

const FOUNDING: Saved = Saved::Initialised(Durable::FOUNDING);
/// Several round trips, and much less than a third of the ttl: no renewal happens meanwhile.
const SOON: Duration = Duration(DELAY.0 * 30);

/// Voters 0 and 1 of three, of which 0 holds tenure, and the release that 0 deposits.
fn two_of_three_voters() -> (Field, watch::Receiver<LastWords>) {
    let mut field = Field::empty();
    for priority in [2, 1] {
        field.admit_fenced(Takeover::ByTheBetter, priority, FOUNDING);
    }
    let words = field.members[0].last_words().subscribe();
    field.run(TTL);
    assert_eq!(field.holders(), [0]);
    (field, words)
}

fn receivers(words: &watch::Receiver<LastWords>) -> Vec<SocketAddr> {
    words.borrow().0.iter().map(|(to, _)| *to).collect()
}

/// The holder is dead: its watcher sends what it has.
fn send_for_the_dead(field: &mut Field, dead: usize, words: &watch::Receiver<LastWords>) {
    field.sides[dead] = 9;
    for (to, frame) in words.borrow().0.clone() {
        for to in field.who_is_at(to) {
            field.flights.push(Flight {
                at: field.now,
                to,
                from: address(dead),
                way: Way::Unicast,
                frame: frame.clone(),
            });
        }
    }
}

#[test]
fn a_voter_first_heard_during_the_tenure_gets_the_release() {
    let (mut field, words) = two_of_three_voters();
    assert_eq!(receivers(&words), [address(1)]);
    field.admit_fenced(Takeover::ByTheBetter, 0, FOUNDING);
    field.run(SOON);
    assert_eq!(receivers(&words), [address(1), address(2)]);

    // Both voters that are left have to agree, so both must have dropped their grants.
    field.run(TTL);
    send_for_the_dead(&mut field, 0, &words);
    field.run(LISTEN + ANNOUNCE);
    let survivors = [1, 2];
    let holders = field.holders();
    assert!(
        holders.iter().any(|it| survivors.contains(it)),
        "{holders:?}"
    );
}

#[test]
fn a_voter_that_moved_to_another_port_gets_the_release_there() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    let (leader, _) = field.settled_on(&ALL);
    assert_eq!(leader, 0);
    let words = field.members[leader].last_words().subscribe();
    field.run(TTL);
    assert_eq!(receivers(&words), [address(1), address(2)]);

    // Member 1 restarts, and is where member 5 would be.
    field.sides[1] = 9;
    let voters = [0, 1, 2];
    let (member, disk) = field.fenced_member(1, &voters, Takeover::ByTheBetter, 4, FOUNDING);
    field.admit_member(member, Some(disk), &[], 0);
    assert_eq!(field.members[5].me.id, id(1));
    field.run(SOON);
    assert_eq!(receivers(&words), [address(5), address(2)]);
}

/// What the watcher has is replaced only for a reason: each time costs a frame for each voter.
#[test]
fn a_release_is_not_sealed_again_while_nobody_moves() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    let (leader, _) = field.settled_on(&ALL);
    let mut words = field.members[leader].last_words().subscribe();
    field.run(TTL);
    let known: Vec<MemberId> = field.members[leader].peers.iter().map(|it| it.0).collect();
    assert!(known.contains(&id(4)), "no voter, and heard");
    words.mark_unchanged();
    field.run(TTL * 10);
    assert!(!words.has_changed().expect("the member lives"));
}
