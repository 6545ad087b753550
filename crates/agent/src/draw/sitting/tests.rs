//! Sittings taken in hand: members that do not speak as they should, and disks that fail.

use std::fs;
use std::sync::Arc;

use hustings_protocol::Duration;
use hustings_protocol::wagner::Wagner;
use hustings_protocol::wagner::fault::{Cause, Fault, Side};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::{Failure, Sitting};
use crate::draw::account::{Account, State};
use crate::draw::bytes::Bytes;
use crate::draw::doors::Doors;
use crate::draw::gathering::Gathering;
use crate::draw::link::{Ends, Link};
use crate::draw::part::NoDraw;
use crate::draw::presence::{Presence, Seating};
use crate::draw::said::{Conclusion, Frame, Statement, Verdict};
use crate::draw::seat::{Seat, System};
use crate::draw::table::{Table, conclusions, leader};
use crate::draw::transcript::Transcript;
use crate::draw::verify::Weight;

const PATIENT: &str = "respond_within = \"60s\"";

type Held = (Sitting<Wagner>, watch::Sender<Account>);

fn ends(table: &Table, place: usize) -> Ends {
    Ends {
        ring: Arc::new(table.ring.clone()),
        digest: table.ring.digest(),
        place: place as u32,
        secret: table.secrets[place].clone(),
    }
}

/// Gathers like everybody, and does nothing yet.
async fn sit(table: &Table, place: usize, listener: tokio::net::TcpListener) -> Held {
    let (part, ends) = (table.part(place), ends(table, place));
    let account = part.account();
    let mut doors = Doors::open(listener, ends.clone());
    let mut gathering = Gathering::new(ends.clone(), &account);
    let Ok(gathered) = gathering.gather(&mut doors).await else {
        panic!("the draw has begun without m{place}");
    };
    let seat = Seat::new(Wagner::new(), &ends.ring, ends.place, System);
    let transcript = Transcript::create(&part.transcript).unwrap();
    let sitting = Sitting::new(ends, gathered, seat, transcript, doors.herald());
    (sitting, account)
}

/// Four who have gathered, and of whom none has begun.
async fn all_sit() -> (Table, [Held; 4]) {
    let mut table = Table::lay(4, PATIENT).await;
    let mut listeners = table.listeners.iter_mut().map(|it| it.take().unwrap());
    let listeners: [_; 4] = std::array::from_fn(|_| listeners.next().unwrap());
    let [a, b, c, d] = listeners;
    let (a, b, c, d) = tokio::join!(
        sit(&table, 0, a),
        sit(&table, 1, b),
        sit(&table, 2, c),
        sit(&table, 3, d)
    );
    (table, [a, b, c, d])
}

/// What the member at `place` signs in the sitting that `of` is of.
fn signs(table: &Table, place: u32, of: &Sitting<Wagner>, verdict: Verdict) -> Statement {
    let conclusion = Conclusion {
        place,
        entry: 9,
        head: Bytes([0; 32]),
        verdict,
    };
    Statement::sign(&table.secrets[place as usize], &of.sitting, conclusion)
}

fn elected(leader: u32, messages: u64) -> Verdict {
    Verdict::Elected { leader, messages }
}

#[tokio::test]
async fn who_signs_one_result_after_the_other_is_convicted_and_spoils_nothing() {
    let mut table = Table::lay(4, PATIENT).await;
    let honest: Vec<_> = (0..3).map(|it| table.seat(it, Wagner::new())).collect();
    let listener = table.listeners[3].take().unwrap();
    let (sitting, account) = sit(&table, 3, listener).await;
    for messages in 1..4 {
        let statement = signs(&table, 3, &sitting, elected(1, messages));
        for side in Side::BOTH {
            sitting
                .links
                .to(side)
                .say(Frame::Statement(statement.clone()));
        }
    }
    let held = sitting.hold(&account, std::future::pending());
    let (held, honest) = tokio::join!(held, conclusions(honest));
    assert!(held.is_ok());
    let leader = leader(&honest);
    let found = table.verify(0..3);
    assert_eq!(found.leader, Some(leader), "{found:?}");
    assert_eq!(found.findings.len(), 1, "{found:?}");
    assert_eq!(found.findings[0].who, ["m3"], "{found:?}");
    assert_eq!(found.findings[0].weight, Weight::Proven);
    assert!(found.findings[0].what.contains("signed several results"));
}

#[tokio::test]
async fn what_agrees_is_asked_for_again_by_who_had_to_drop_it() {
    let (table, [(mut m0, _), (mut m1, _), _m2, _m3]) = all_sit().await;
    // m2 floods m1 with results before m1 has come to any; the one that counts comes last.
    for messages in 0..4 {
        let statement = signs(&table, 2, &m1, elected(1, messages));
        m1.on_statement(Side::Right, &statement).ok().unwrap();
    }
    let own = elected(1, 3);
    let of_m2 = signs(&table, 2, &m0, own);
    m0.on_statement(Side::Left, &of_m2).ok().unwrap();
    for sitting in [&mut m0, &mut m1] {
        sitting.state(own).ok().unwrap();
    }
    assert!(!m1.tally.knows(2, own), "it was dropped");
    // Each hears what the other said, until m0 has answered.
    while !m0.right.has_asked_again {
        let frame = m0.links.right.hear().await;
        m0.on_frame(Side::Right, frame).ok().unwrap();
    }
    while !m1.tally.knows(2, own) {
        let frame = m1.links.left.hear().await;
        m1.on_frame(Side::Left, frame).ok().unwrap();
    }
}

#[tokio::test]
async fn statements_of_another_sitting_and_endless_ones_break_the_link() {
    let (table, [(mut m0, _), (mut m1, _), _m2, _m3]) = all_sit().await;
    let statement = signs(&table, 3, &m0, elected(1, 8));
    for _ in 0..16 {
        m0.on_statement(Side::Left, &statement).ok().unwrap();
    }
    assert!(!m0.left.broken, "as many as somebody may have to pass on");
    m0.on_statement(Side::Left, &statement).ok().unwrap();
    assert!(m0.left.broken);
    let own_sitting = std::mem::replace(&mut m1.sitting, Bytes([9; 32]));
    let foreign = signs(&table, 3, &m1, elected(1, 8));
    m1.sitting = own_sitting;
    m1.on_statement(Side::Right, &foreign).ok().unwrap();
    assert!(m1.right.broken && !m1.tally.knows(3, foreign.verdict));
    m1.transcript.sync().unwrap();
    let transcript = fs::read_to_string(table.transcript(1)).unwrap();
    assert!(transcript.contains("wrong signature"), "{transcript}");
}

#[tokio::test]
async fn who_is_elected_is_without_a_fault_and_what_was_reported_after_is_told() {
    let (table, [(mut m0, account), ..]) = all_sit().await;
    let own = elected(2, 8);
    m0.state(own).ok().unwrap();
    m0.state(Verdict::Fault(Fault {
        place: 0,
        round: 2,
        cause: Cause::Told { side: Side::Left },
    }))
    .ok()
    .unwrap();
    for place in 1..4 {
        let statement = signs(&table, place, &m0, own);
        m0.on_statement(Side::Left, &statement).ok().unwrap();
    }
    account.send_modify(|it| m0.conclude(it));
    let account = account.borrow();
    assert_eq!(account.state, State::Elected);
    assert_eq!(account.leader.as_deref(), Some("m2"));
    assert_eq!(account.fault, None);
    assert_eq!(account.reports.len(), 1, "{account:?}");
}

/// Everybody waits for everybody, as after a break in the network: of whom there is a transcript is no worse than the others.
#[tokio::test]
async fn silence_of_which_all_complain_is_nobodys_that_is_known() {
    let (table, [(mut m0, _), ..]) = all_sit().await;
    m0.begin().ok().unwrap();
    for place in 1..4 {
        let fault = Verdict::Fault(Fault {
            place,
            round: 1,
            cause: Cause::Silence { side: None },
        });
        let statement = signs(&table, place, &m0, fault);
        m0.on_statement(Side::Left, &statement).ok().unwrap();
    }
    m0.on_silence().ok().unwrap();
    m0.close().ok().unwrap();
    let found = table.verify([0]);
    assert_eq!(found.findings.len(), 1, "{found:?}");
    assert_eq!(found.findings[0].weight, Weight::Open, "{found:?}");
    assert!(found.findings[0].who.is_empty(), "{found:?}");
}

/// The next that comes from `side`.
async fn hear(sitting: &mut Sitting<Wagner>, side: Side) {
    let links = &mut sitting.links;
    let frame = match side {
        Side::Left => links.left.hear().await,
        Side::Right => links.right.hear().await,
    };
    sitting.on_frame(side, frame).ok().unwrap();
}

/// Of time transcripts tell nothing. But nobody is said to have waited who has not said so.
#[tokio::test]
async fn who_alone_complains_of_silence_is_told_as_that() {
    let (table, [(mut m0, _), (mut m1, _), (mut m2, _), (mut m3, _)]) = all_sit().await;
    for sitting in [&mut m0, &mut m1, &mut m2, &mut m3] {
        sitting.begin().ok().unwrap();
    }
    // m3 does all that is due but wait.
    for side in Side::BOTH {
        hear(&mut m3, side).await;
    }
    m3.on_silence().ok().unwrap();
    m3.close().ok().unwrap();
    for (sitting, side) in [
        (&mut m0, Side::Left),
        (&mut m2, Side::Right),
        (&mut m1, Side::Left),
    ] {
        while sitting.verdict.is_none() {
            hear(sitting, side).await;
        }
        sitting.close().ok().unwrap();
    }
    let found = table.verify(0..4);
    assert_eq!(found.findings.len(), 1, "{found:?}");
    let open = &found.findings[0];
    assert_eq!(open.weight, Weight::Open, "{found:?}");
    let alone = "by the word of m3 alone there was silence for too long. m0 and m2, for whom";
    assert!(open.what.contains(alone), "{found:?}");
}

#[tokio::test]
async fn a_disk_that_fails_is_a_fault_that_all_learn_at_once() {
    let mut table = Table::lay(4, PATIENT).await;
    let honest: Vec<_> = (0..3).map(|it| table.seat(it, Wagner::new())).collect();
    let listener = table.listeners[3].take().unwrap();
    let (mut sitting, account) = sit(&table, 3, listener).await;
    sitting.transcript.fill_disk();
    let held = sitting.hold(&account, std::future::pending());
    let (held, honest) = tokio::join!(held, conclusions(honest));
    assert!(matches!(held, Err(Failure::Disk(_))));
    for account in honest {
        assert_eq!(account.state, State::Fault, "{account:?}");
        let told = account.reports.iter().map(|it| (&*it.by, it.cause));
        assert!(
            told.into_iter().any(|it| it == ("m3", Cause::Withdrawn)),
            "{account:?}"
        );
    }
}

#[tokio::test]
async fn a_disk_that_fails_late_does_not_deny_a_result() {
    let table = Table::lay(4, "").await;
    let account = table.part(0).account();
    let failed = |account: &watch::Sender<Account>| {
        let error = std::io::Error::other("no room");
        table.part(0).disk_failed(error, account).to_string()
    };
    assert!(failed(&account).contains("without it there is no result"));
    account.send_modify(|it| it.seen = Some("m2".to_owned()));
    let said = failed(&account);
    assert!(said.contains("m2 is elected, so that may stand"), "{said}");
    account.send_modify(|it| it.leader = Some("m2".to_owned()));
    let said = failed(&account);
    assert!(
        said.contains("and so have all others: that stands"),
        "{said}"
    );
}

/// m3 says to both sides that it is there, passes nothing on, and goes when m1, opposite, has begun.
#[tokio::test]
async fn who_loses_its_link_as_others_begin_learns_it_at_once() {
    let mut table = Table::lay(4, "respond_within = \"1s\"").await;
    let early: Vec<_> = [0, 2].map(|it| table.seat(it, Wagner::new())).into();
    let (part, listener) = (table.part(1), table.listeners[1].take().unwrap());
    let account = part.account();
    let mut told = account.subscribe();
    let opposite =
        tokio::spawn(async move { part.draw(listener, &account, std::future::pending()).await });
    let ends = ends(&table, 3);
    let calls = async {
        loop {
            let (stream, _) = table.listeners[3].as_ref().unwrap().accept().await.unwrap();
            if let Ok(link) = Link::open(stream, Side::Left, &ends).await {
                return link;
            }
        }
    };
    let called = async {
        let stream = TcpStream::connect(&table.ring.members[0].address).await;
        Link::open(stream.unwrap(), Side::Right, &ends)
            .await
            .unwrap()
    };
    let (left, right) = tokio::join!(calls, called);
    let seating = Seating {
        place: 3,
        left: left.session,
        right: right.session,
    };
    let here = Presence::sign(&ends.secret, &ends.digest, seating);
    for link in [&left, &right] {
        link.say(Frame::Here(here.clone()));
    }
    drop(
        told.wait_for(|it| it.state == State::Drawing)
            .await
            .unwrap(),
    );
    drop((left, right));
    // They would wait for two minutes.
    for seat in early {
        let late = tokio::time::timeout(std::time::Duration::from_secs(30), seat);
        let late = late.await.unwrap().unwrap();
        assert!(matches!(late, Err(NoDraw::TooLate { .. })), "{late:?}");
    }
    assert!(table.part(0).wait > Duration::from_secs(60));
    let opposite = opposite.await.unwrap().unwrap();
    assert_eq!(opposite.state, State::Fault, "{opposite:?}");
}
