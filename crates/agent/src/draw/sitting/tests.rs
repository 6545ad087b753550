//! Sittings taken in hand: members that do not speak as they should, and disks that fail.

mod silences;
mod strangers;

use std::fs;
use std::sync::Arc;

use hustings_protocol::Duration;
use hustings_protocol::wagner::fault::{Cause, Fault, Side};
use hustings_protocol::wagner::flips::Flip;
use hustings_protocol::wagner::{Message, Wagner};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::{Failure, Sitting};
use crate::draw::account::{Account, State};
use crate::draw::bytes::Bytes;
use crate::draw::doors::Doors;
use crate::draw::gathering::Gathering;
use crate::draw::link::{Broken, Ends, Link, Meter};
use crate::draw::part::NoDraw;
use crate::draw::presence::{Presence, Seating};
use crate::draw::said::{Conclusion, Frame, Said, Statement, Verdict, Words};
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
    let mut doors = Doors::open(listener, ends.clone(), account.clone());
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
    // Once: who asks again and again gets no more. What comes after tells that nothing came before.
    m0.links.to(Side::Right).say(Frame::Linked);
    while m1.links.left.hear().await != Ok(Frame::Linked) {}
    m0.on_again(Side::Right);
    m0.links.to(Side::Right).say(Frame::Linked);
    assert_eq!(m1.links.left.hear().await, Ok(Frame::Linked));
}

/// What m0 says to m1 as its first message: `spoil` may change it before it is signed, and after.
async fn hears_first(
    spoil_words: impl FnOnce(&mut Words),
    spoil_signed: impl FnOnce(&mut Said),
) -> (Sitting<Wagner>, String) {
    let (table, [(m0, _), (mut m1, _), _m2, _m3]) = all_sit().await;
    m1.begin().ok().unwrap();
    let mut words = Words {
        number: 1,
        entry: 4,
        head: Bytes([3; 32]),
        message: Message::Flip(Flip::Heads),
    };
    spoil_words(&mut words);
    let mut said = Said::sign(&table.secrets[0], &m0.way_to(Side::Right), words);
    spoil_signed(&mut said);
    m0.links.to(Side::Right).say(Frame::Said(said));
    hear(&mut m1, Side::Left).await;
    m1.transcript.sync().unwrap();
    let transcript = fs::read_to_string(table.transcript(1)).unwrap();
    (m1, transcript)
}

#[tokio::test]
async fn words_that_are_not_signed_or_not_the_next_break_the_link_and_are_not_taken_in() {
    let (m1, transcript) = hears_first(|_| {}, |_| {}).await;
    assert!(!m1.left.broken && m1.left.heard == 1);
    assert!(transcript.contains("\"heard\""), "{transcript}");
    type Spoil = (fn(&mut Words), fn(&mut Said));
    let spoils: [Spoil; 4] = [
        (|it| it.number = 2, |_| {}),
        (|it| it.number = 0, |_| {}),
        (|_| {}, |it| it.signature.0[0] ^= 1),
        (|_| {}, |it| it.content.message = Message::Flip(Flip::Tails)),
    ];
    for (number, (words, signed)) in spoils.into_iter().enumerate() {
        let (m1, transcript) = hears_first(words, signed).await;
        assert!(m1.left.broken && m1.left.heard == 0, "{number}");
        assert!(!transcript.contains("\"heard\""), "{number}: {transcript}");
        assert!(transcript.contains("wrong signature"), "{transcript}");
    }
}

/// Its entries tell when a neighbour said what: none is said twice, nor before another that came first.
#[tokio::test]
async fn words_out_of_a_neighbours_order_break_the_link() {
    for (second, is_broken) in [(5, false), (4, true), (3, true)] {
        let (table, [(m0, _), (mut m1, _), _m2, _m3]) = all_sit().await;
        m1.begin().ok().unwrap();
        for (number, entry) in [(1, 4), (2, second)] {
            let words = Words {
                number,
                entry,
                head: Bytes([3; 32]),
                message: Message::Flip(Flip::Heads),
            };
            let said = Said::sign(&table.secrets[0], &m0.way_to(Side::Right), words);
            m0.links.to(Side::Right).say(Frame::Said(said));
            hear(&mut m1, Side::Left).await;
        }
        assert_eq!(m1.left.broken, is_broken, "{second}");
        assert_eq!(m1.left.heard, 2 - u64::from(is_broken), "{second}");
    }
}

#[tokio::test]
async fn what_belongs_to_a_gathering_has_no_place_in_a_draw() {
    let (_table, [(mut m0, _), ..]) = all_sit().await;
    let here = m0.seated[2].clone();
    for frame in [Frame::Linked, Frame::Here(here), Frame::Begun] {
        m0.left.broken = false;
        m0.on_frame(Side::Left, Ok(frame)).ok().unwrap();
        assert!(m0.left.broken);
    }
    m0.left.broken = false;
    m0.on_frame(Side::Left, Ok(Frame::Again)).ok().unwrap();
    assert!(!m0.left.broken);
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

/// Who has lost both neighbours hears no more: it does not sit out what they may take to answer.
#[tokio::test]
async fn who_has_come_to_something_and_lost_both_links_is_done() {
    let (_table, [(mut m0, _), ..]) = all_sit().await;
    for side in Side::BOTH {
        assert!(!m0.is_done());
        m0.lose(side, &Broken::Closed).ok().unwrap();
    }
    assert!(!m0.is_done(), "it has come to nothing yet");
    m0.state(elected(2, 8)).ok().unwrap();
    assert!(m0.is_done());
}

#[tokio::test]
async fn a_draw_is_told_while_it_lasts() {
    for direction in ["both-ways", "clockwise"] {
        told_while_it_lasts(direction).await;
    }
}

async fn told_while_it_lasts(direction: &str) {
    let terms = format!("{PATIENT}\ndirection = \"{direction}\"");
    let mut table = Table::lay(4, &terms).await;
    let (part, listener) = (table.part(0), table.listeners[0].take().unwrap());
    let account = part.account();
    let told = account.subscribe();
    let first =
        tokio::spawn(async move { part.draw(listener, &account, std::future::pending()).await });
    let others = [1, 2].map(|it| table.seat(it, Wagner::new()));
    // m3 is there, and says nothing: so the first round does not end.
    let listener = table.listeners[3].take().unwrap();
    let silent = sit(&table, 3, listener).await;
    let flips_are_told = async {
        while told.borrow().messages_sent == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    let within = std::time::Duration::from_secs(30);
    tokio::time::timeout(within, flips_are_told).await.unwrap();
    let account = told.borrow().clone();
    assert_eq!(account.state, State::Drawing, "{account:?}");
    assert_eq!(account.basic_rounds, 1, "{account:?}");
    drop(silent);
    for seat in others.into_iter().chain([first]) {
        seat.abort();
    }
}

/// Signatures too, which may wait to go out when the draw is over.
#[tokio::test]
async fn all_that_was_sent_is_counted_in_the_end() {
    let (_table, seats) = all_sit().await;
    let held = seats.map(|(seat, account)| {
        let meters = seat.links.meters();
        tokio::spawn(async move {
            let stop = std::future::pending();
            let account = seat.hold(&account, stop).await.ok().expect("it is held");
            (account, meters)
        })
    });
    for held in held {
        let (account, meters) = held.await.unwrap();
        assert_eq!(account.state, State::Elected, "{account:?}");
        let sent: u64 = meters.iter().map(Meter::read).sum();
        assert_eq!(account.bytes_sent, sent);
    }
}

#[tokio::test]
async fn whom_a_member_has_seen_elected_is_told_while_signatures_go_round() {
    let (_table, [(mut m0, account), ..]) = all_sit().await;
    m0.state(elected(2, 8)).ok().unwrap();
    account.send_if_modified(|it| m0.tell(it));
    let account = account.borrow();
    assert_eq!(account.state, State::Confirming);
    assert_eq!(account.seen.as_deref(), Some("m2"));
    assert_eq!(account.basic_rounds, 2);
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

/// The next that comes from `side`.
async fn hear(sitting: &mut Sitting<Wagner>, side: Side) {
    let links = &mut sitting.links;
    let frame = match side {
        Side::Left => links.left.hear().await,
        Side::Right => links.right.hear().await,
    };
    sitting.on_frame(side, frame).ok().unwrap();
}

/// Its neighbours have what it signed, and it can be held to it.
#[tokio::test]
async fn who_is_killed_after_it_has_spoken_has_a_transcript_that_counts() {
    let (table, [(mut m0, _), ..]) = all_sit().await;
    m0.begin().ok().unwrap();
    m0.on_silence().ok().unwrap();
    let found = table.verify([0]);
    assert_eq!(found.unusable, [], "{found:?}");
    assert_eq!(found.transcripts.len(), 1, "{found:?}");
    drop(m0);
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

/// m3 tells m0, its right neighbour, that it is there, as `spoil` has it. Whether m0 keeps the link.
async fn is_taken_to_be_there(spoil: fn(&mut Seating), forge: fn(&mut Presence)) -> bool {
    let mut table = Table::lay(4, "").await;
    let seat = table.seat(0, Wagner::new());
    let ends = ends(&table, 3);
    let stream = TcpStream::connect(&table.ring.members[0].address).await;
    let mut link = Link::open(stream.unwrap(), Side::Right, &ends)
        .await
        .unwrap();
    let mut seating = Seating {
        place: 3,
        left: Bytes([1; 32]),
        right: link.session,
    };
    spoil(&mut seating);
    let mut here = Presence::sign(&ends.secret, &ends.digest, seating);
    forge(&mut here);
    link.say(Frame::Here(here));
    // m1 is missing: so m0 has nothing to say, and only ends the link if it must.
    let within = std::time::Duration::from_millis(700);
    let heard = tokio::time::timeout(within, link.hear()).await;
    seat.abort();
    heard.is_err()
}

#[tokio::test]
async fn who_says_of_another_link_or_place_that_it_is_there_or_by_another_key_is_not() {
    assert!(is_taken_to_be_there(|_| {}, |_| {}).await);
    let spoils: [fn(&mut Seating); 2] = [|it| it.right.0[0] ^= 1, |it| it.place = 2];
    for spoil in spoils {
        assert!(!is_taken_to_be_there(spoil, |_| {}).await);
    }
    assert!(!is_taken_to_be_there(|_| {}, |it| it.signature.0[0] ^= 1).await);
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
