//! Testimonies after a fault, and the members that they accuse.

use std::collections::VecDeque;

use hustings_protocol::wagner::fault::{
    About, Contradiction, FaultCause, Side, Testimony, contradictions,
};
use hustings_protocol::wagner::flips::Flip;
use hustings_protocol::wagner::{Config, Message, Wagner};
use hustings_protocol::{Duration, Input};

use super::table::{Coins, Table, number};

const MEMBERS: usize = 7;

fn table(seed: u64) -> Table {
    let coins =
        |place: u32| Coins { next: VecDeque::new(), state: seed << 32 | u64::from(place) << 24 };
    let config = Config::field(Duration::from_secs(1));
    let mut table = Table::new(MEMBERS as u32, config, |_| true, coins);
    table.start_all();
    table
}

fn testimonies(table: &Table, round: u32) -> Vec<Testimony> {
    let all = table.honest().flat_map(Wagner::testimonies);
    all.filter(|it| it.round == round).collect()
}

/// Delivers `times` messages to each position from each side, in turn.
fn lap(table: &mut Table, times: u32) {
    for _ in 0..times {
        for place in 0..MEMBERS {
            table.deliver(place, 0);
            table.deliver(place, 1);
        }
    }
}

/// A link that alters a message looks like a neighbour that does: the fault is traced to the two at
/// its ends.
#[test]
fn altered_message_is_traced_to_two_neighbours() {
    for side in Side::BOTH {
        for receiver in 0..MEMBERS {
            for after in 0..MEMBERS as u32 - 1 {
                let mut table = table(7);
                lap(&mut table, after);
                let next = table.to[receiver][number(side)].front_mut();
                let next = next.expect("a message is on its way");
                let Message::Flip(flip) = *next else {
                    panic!("no flip: {next:?}");
                };
                *next = Message::Flip(flip.other());
                table.run(|_| 0);
                assert!(table.honest().all(|it| it.fault().is_some()));
                let round = table.member(receiver).fault().expect("as said").round;
                assert_eq!(round, 1);
                let found = contradictions(MEMBERS as u32, &testimonies(&table, 1));
                let sender = match side {
                    Side::Left => (receiver + MEMBERS - 1) % MEMBERS,
                    Side::Right => (receiver + 1) % MEMBERS,
                };
                let [only] = found.as_slice() else {
                    panic!("{found:?}");
                };
                assert_eq!((only.sender as usize, only.receiver as usize), (sender, receiver));
                let About::Message { number, sent, .. } = only.about else {
                    panic!("{only:?}");
                };
                assert_eq!((number, sent), (after + 1, Message::Flip(flip)));
            }
        }
    }
}

/// In the first round nothing is withheld. A member that sends it all the same, and denies it,
/// contradicts the member that received it.
#[test]
fn misplaced_message_is_traced_to_two_neighbours() {
    let mut table = table(8);
    lap(&mut table, 2);
    let next = table.to[4][0].front_mut();
    let Message::Flip(flip) = std::mem::replace(next.expect("a message"), Message::Withheld) else {
        panic!("no flip in the first round");
    };
    table.run(|_| 0);
    let received = Message::Withheld;
    let fault = table.member(4).fault().expect("it is nonsense");
    let side = Side::Left;
    assert_eq!(fault.cause, FaultCause::Nonsense { side, received });
    let found = contradictions(MEMBERS as u32, &testimonies(&table, 1));
    let nonsense = Contradiction {
        sender: 3,
        receiver: 4,
        about: About::Message { number: 3, sent: Message::Flip(flip), received },
    };
    assert_eq!(found, [nonsense]);
}

/// Messages that by their sender's testimony were not sent yet: one too many in a round, and two
/// for a round that cannot have begun.
#[test]
fn denied_messages_are_traced_to_two_neighbours() {
    let members = MEMBERS as u32;
    for (laps, more, number) in [(0, 1, 2), (members - 1, 2, members + 2)] {
        let mut table = table(9);
        lap(&mut table, laps);
        table.deliver(4, 0);
        for _ in 0..more {
            table.to[4][0].push_back(Message::Flip(Flip::Heads));
            table.deliver(4, 0);
        }
        let found = contradictions(members, &testimonies(&table, 1));
        let denied = Contradiction { sender: 3, receiver: 4, about: About::Unsent { number } };
        assert_eq!(found, [denied]);
    }
}

#[test]
fn silence_is_traced_to_two_neighbours() {
    let mut table = table(1);
    lap(&mut table, 2);
    // No message from 3 to 4 arrives any more.
    table.to[4][0].clear();
    table.cut = Some((4, 0));
    table.run(|_| 0);
    assert!(table.honest().all(|it| it.fault().is_none()));
    table.expire(4);
    let fault = table.member(4).fault().expect("it has waited in vain");
    assert_eq!(fault.cause, FaultCause::Silence { side: Some(Side::Left) });
    table.run(|_| 0);
    assert!(table.honest().all(|it| it.fault().is_some()));
    let found = contradictions(MEMBERS as u32, &testimonies(&table, 1));
    let silence = Contradiction { sender: 3, receiver: 4, about: About::Silence { number: 3 } };
    assert_eq!(found, [silence]);
}

/// A member that starts fault messages both ways and denies it contradicts both of its neighbours.
#[test]
fn denied_fault_messages_are_traced_to_two_neighbours() {
    let mut table = table(2);
    table.to[5][1].push_front(Message::Fault);
    table.to[0][0].push_front(Message::Fault);
    table.deliver(5, 1);
    table.deliver(0, 0);
    table.run(|_| 0);
    let mut found = contradictions(MEMBERS as u32, &testimonies(&table, 1));
    found.sort_by_key(|it| it.receiver);
    let denied =
        [0, 5].map(|receiver| Contradiction { sender: 6, receiver, about: About::FaultMessage });
    assert_eq!(found, denied);
}

/// As the paper says: a fault message in one direction comes round to its originator, which then
/// received it like all others.
#[test]
fn fault_message_in_one_direction_leaves_no_evidence() {
    let mut table = table(2);
    table.to[5][1].push_front(Message::Fault);
    table.run(|_| 0);
    assert!(table.honest().all(|it| it.fault().is_some()));
    assert_eq!(contradictions(MEMBERS as u32, &testimonies(&table, 1)), []);
}

#[test]
fn honest_draw_has_nothing_to_trace() {
    let mut table = table(3);
    table.run(|_| 0);
    let rounds: Vec<u32> = table.member(0).testimonies().map(|it| it.round).collect();
    assert_eq!(rounds.len(), 2);
    for round in rounds {
        assert_eq!(testimonies(&table, round).len(), MEMBERS);
        assert_eq!(contradictions(MEMBERS as u32, &testimonies(&table, round)), []);
    }
}

#[test]
fn member_stopped_in_the_middle_testifies_so() {
    let mut table = table(4);
    lap(&mut table, 3);
    table.tell(2, Input::Leave);
    table.run(|_| 0);
    assert!(table.honest().all(|it| it.fault().is_some()));
    let cause = table.member(2).fault().map(|fault| fault.cause);
    assert_eq!(cause, Some(FaultCause::Withdrawn));
}

/// A retry would let a cheater choose: after a fault there is no other draw.
#[test]
fn no_member_draws_again_after_a_fault() {
    let mut table = table(5);
    table.tell(2, Input::Leave);
    table.run(|_| 0);
    table.start_all();
    table.run(|_| 0);
    assert!(table.honest().all(|it| it.fault().is_some()));
    assert!(table.to.iter().flatten().all(VecDeque::is_empty));
}

/// A member may hear of a fault in the last round after it has named the elected one.
#[test]
fn fault_message_after_the_end_revokes_the_result() {
    let mut table = table(6);
    table.run(|_| 0);
    assert!(table.honest().all(|it| it.elected().is_some()));
    table.to[0][0].push_back(Message::Fault);
    table.run(|_| 0);
    assert!(table.honest().all(|it| it.elected().is_none()));
    assert!(table.honest().all(|it| it.fault().is_some()));
}
