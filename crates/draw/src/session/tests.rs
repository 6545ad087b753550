//! Sessions driven by hand: members that break the protocol, and disks that fail.

mod silences;
mod strangers;

use std::fs;
use std::sync::Arc;

use hustings_protocol::Duration;
use hustings_protocol::wagner::fault::{Fault, FaultCause, Side};
use hustings_protocol::wagner::flips::Flip;
use hustings_protocol::wagner::{Message, Wagner};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::{Failure, Session};
use crate::attestation::{Attestation, Seating};
use crate::bytes::Bytes;
use crate::connect::Connector;
use crate::link::{Broken, Ends, Link, Meter};
use crate::participant::NoDraw;
use crate::rendezvous::Rendezvous;
use crate::ring_driver::{RingDriver, os_randomness};
use crate::signed::{Conclusion, Frame, NumberedMessage, SignedMessage, Statement, Verdict};
use crate::status::{DrawStatus, State};
use crate::table::{Table, conclusions, leader};
use crate::transcript::Transcript;
use crate::verify::Weight;

const PATIENT: &str = "respond_within = \"60s\"";

type Held = (Session<Wagner>, watch::Sender<DrawStatus>);

fn ends(table: &Table, place: usize) -> Ends {
    Ends {
        ring: Arc::new(table.ring.clone()),
        digest: table.ring.digest(),
        place: place as u32,
        secret: table.secrets[place].clone(),
    }
}

/// Completes the rendezvous and does nothing yet.
async fn sit(table: &Table, place: usize, listener: tokio::net::TcpListener) -> Held {
    let (participant, ends) = (table.participant(place), ends(table, place));
    let status = participant.status();
    let mut connect = Connector::open(listener, ends.clone(), status.clone());
    let mut rendezvous = Rendezvous::new(ends.clone(), &status);
    let Ok(gathered) = rendezvous.gather(&mut connect).await else {
        panic!("the draw has begun without m{place}");
    };
    let randomness = Box::new(os_randomness);
    let ring_driver = RingDriver::new(Wagner::default(), &ends.ring, ends.place, randomness);
    let transcript = Transcript::create(&participant.transcript).unwrap();
    let session = Session::new(ends, gathered, ring_driver, transcript, connect.herald());
    (session, status)
}

/// Four members after the rendezvous, none of which has begun.
async fn all_sit() -> (Table, [Held; 4]) {
    let mut table = Table::lay(4, PATIENT).await;
    let mut listeners = table.listeners.iter_mut().map(|it| it.take().unwrap());
    let listeners: [_; 4] = std::array::from_fn(|_| listeners.next().unwrap());
    let [a, b, c, d] = listeners;
    let (a, b, c, d) =
        tokio::join!(sit(&table, 0, a), sit(&table, 1, b), sit(&table, 2, c), sit(&table, 3, d));
    (table, [a, b, c, d])
}

/// A statement of the member at `place`, signed in the session of `of`.
fn signs(table: &Table, place: u32, of: &Session<Wagner>, verdict: Verdict) -> Statement {
    let conclusion = Conclusion { place, entry: 9, head: Bytes([0; 32]), verdict };
    Statement::sign(&table.secrets[place as usize], &of.session, conclusion)
}

fn elected(leader: u32, messages: u64) -> Verdict {
    Verdict::Elected { leader, messages }
}

#[tokio::test]
async fn member_that_signs_several_results_is_convicted_without_harm() {
    let mut table = Table::lay(4, PATIENT).await;
    let honest: Vec<_> = (0..3).map(|it| table.seat(it, Wagner::default())).collect();
    let listener = table.listeners[3].take().unwrap();
    let (session, status) = sit(&table, 3, listener).await;
    for messages in 1..4 {
        let statement = signs(&table, 3, &session, elected(1, messages));
        for side in Side::BOTH {
            session.links[side].send(Frame::Statement(statement.clone()));
        }
    }
    let held = session.hold(&status, std::future::pending());
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
async fn dropped_agreeing_statements_are_requested_again() {
    let (table, [(mut m0, _), (mut m1, _), _m2, _m3]) = all_sit().await;
    // m2 floods m1 with results before m1 has its own verdict. The statement that counts comes
    // last.
    for messages in 0..4 {
        let statement = signs(&table, 2, &m1, elected(1, messages));
        m1.on_statement(Side::Right, &statement).ok().unwrap();
    }
    let own = elected(1, 3);
    let of_m2 = signs(&table, 2, &m0, own);
    m0.on_statement(Side::Left, &of_m2).ok().unwrap();
    for session in [&mut m0, &mut m1] {
        session.sign_verdict(own).ok().unwrap();
    }
    assert!(!m1.result_votes.knows(2, own), "it was dropped");
    // Both handle frames until m0 has answered the request.
    while !m0.traffic.right.has_asked_again {
        let frame = m0.links.right.receive().await;
        m0.on_frame(Side::Right, frame).ok().unwrap();
    }
    while !m1.result_votes.knows(2, own) {
        let frame = m1.links.left.receive().await;
        m1.on_frame(Side::Left, frame).ok().unwrap();
    }
    // A second request gets no answer. The frame sent after it is the next one to arrive.
    m0.links[Side::Right].send(Frame::Linked);
    while m1.links.left.receive().await != Ok(Frame::Linked) {}
    m0.on_again(Side::Right);
    m0.links[Side::Right].send(Frame::Linked);
    assert_eq!(m1.links.left.receive().await, Ok(Frame::Linked));
}

/// Lets m0 send its first message to m1. The closures may change it before and after it is signed.
async fn hears_first(
    spoil_numbered: impl FnOnce(&mut NumberedMessage),
    spoil_signed: impl FnOnce(&mut SignedMessage),
) -> (Session<Wagner>, String) {
    let (table, [(m0, _), (mut m1, _), _m2, _m3]) = all_sit().await;
    m1.begin().ok().unwrap();
    let mut numbered = NumberedMessage {
        number: 1,
        entry: 4,
        head: Bytes([3; 32]),
        message: Message::Flip(Flip::Heads),
    };
    spoil_numbered(&mut numbered);
    let mut signed =
        SignedMessage::sign(&table.secrets[0], &m0.direction_to(Side::Right), numbered);
    spoil_signed(&mut signed);
    m0.links[Side::Right].send(Frame::SignedMessage(signed));
    hear(&mut m1, Side::Left).await;
    m1.transcript.sync().unwrap();
    let transcript = fs::read_to_string(table.transcript(1)).unwrap();
    (m1, transcript)
}

#[tokio::test]
async fn message_unsigned_or_out_of_sequence_breaks_the_link() {
    let (m1, transcript) = hears_first(|_| {}, |_| {}).await;
    assert!(!m1.traffic.left.broken && m1.traffic.left.last_heard.number == 1);
    assert!(transcript.contains("\"heard\""), "{transcript}");
    type Spoil = (fn(&mut NumberedMessage), fn(&mut SignedMessage));
    let spoils: [Spoil; 4] = [
        (|it| it.number = 2, |_| {}),
        (|it| it.number = 0, |_| {}),
        (|_| {}, |it| it.signature.0[0] ^= 1),
        (|_| {}, |it| it.content.message = Message::Flip(Flip::Tails)),
    ];
    for (number, (numbered, signed)) in spoils.into_iter().enumerate() {
        let (m1, transcript) = hears_first(numbered, signed).await;
        assert!(m1.traffic.left.broken && m1.traffic.left.last_heard.number == 0, "{number}");
        assert!(!transcript.contains("\"heard\""), "{number}: {transcript}");
        assert!(transcript.contains("wrong signature"), "{transcript}");
    }
}

/// The entry numbers in a neighbour's messages must increase.
#[tokio::test]
async fn message_with_an_earlier_entry_breaks_the_link() {
    for (second, is_broken) in [(5, false), (4, true), (3, true)] {
        let (table, [(m0, _), (mut m1, _), _m2, _m3]) = all_sit().await;
        m1.begin().ok().unwrap();
        for (number, entry) in [(1, 4), (2, second)] {
            let numbered = NumberedMessage {
                number,
                entry,
                head: Bytes([3; 32]),
                message: Message::Flip(Flip::Heads),
            };
            let signed =
                SignedMessage::sign(&table.secrets[0], &m0.direction_to(Side::Right), numbered);
            m0.links[Side::Right].send(Frame::SignedMessage(signed));
            hear(&mut m1, Side::Left).await;
        }
        assert_eq!(m1.traffic.left.broken, is_broken, "{second}");
        assert_eq!(m1.traffic.left.last_heard.number, 2 - u64::from(is_broken), "{second}");
    }
}

#[tokio::test]
async fn rendezvous_frames_are_refused_during_a_draw() {
    let (_table, [(mut m0, _), ..]) = all_sit().await;
    let here = m0.seated[2].clone();
    for frame in [Frame::Linked, Frame::Here(here), Frame::Begun] {
        m0.traffic.left.broken = false;
        m0.on_frame(Side::Left, Ok(frame)).ok().unwrap();
        assert!(m0.traffic.left.broken);
    }
    m0.traffic.left.broken = false;
    m0.on_frame(Side::Left, Ok(Frame::Again)).ok().unwrap();
    assert!(!m0.traffic.left.broken);
}

#[tokio::test]
async fn foreign_or_excess_statements_break_the_link() {
    let (table, [(mut m0, _), (mut m1, _), _m2, _m3]) = all_sit().await;
    let statement = signs(&table, 3, &m0, elected(1, 8));
    for _ in 0..16 {
        m0.on_statement(Side::Left, &statement).ok().unwrap();
    }
    assert!(!m0.traffic.left.broken, "as many as somebody may have to pass on");
    m0.on_statement(Side::Left, &statement).ok().unwrap();
    assert!(m0.traffic.left.broken);
    let own_sitting = std::mem::replace(&mut m1.session, Bytes([9; 32]));
    let foreign = signs(&table, 3, &m1, elected(1, 8));
    m1.session = own_sitting;
    m1.on_statement(Side::Right, &foreign).ok().unwrap();
    assert!(m1.traffic.right.broken && !m1.result_votes.knows(3, foreign.verdict));
    m1.transcript.sync().unwrap();
    let transcript = fs::read_to_string(table.transcript(1)).unwrap();
    assert!(transcript.contains("wrong signature"), "{transcript}");
}

/// Without links no statement can arrive, so the member does not wait for the timeout.
#[tokio::test]
async fn member_with_a_verdict_and_no_links_is_done() {
    let (_table, [(mut m0, _), ..]) = all_sit().await;
    for side in Side::BOTH {
        assert!(!m0.is_done());
        m0.lose(side, &Broken::Closed).ok().unwrap();
    }
    assert!(!m0.is_done(), "it has come to nothing yet");
    m0.sign_verdict(elected(2, 8)).ok().unwrap();
    assert!(m0.is_done());
}

#[tokio::test]
async fn status_is_updated_during_a_draw() {
    for direction in ["both-ways", "clockwise"] {
        told_while_it_lasts(direction).await;
    }
}

async fn told_while_it_lasts(direction: &str) {
    let terms = format!("{PATIENT}\ndirection = \"{direction}\"");
    let mut table = Table::lay(4, &terms).await;
    let (participant, listener) = (table.participant(0), table.listeners[0].take().unwrap());
    let status = participant.status();
    let told = status.subscribe();
    let first =
        tokio::spawn(
            async move { participant.draw(listener, &status, std::future::pending()).await },
        );
    let others = [1, 2].map(|it| table.seat(it, Wagner::default()));
    // m3 is present and sends nothing, so that the first round does not end.
    let listener = table.listeners[3].take().unwrap();
    let silent = sit(&table, 3, listener).await;
    let flips_are_told = async {
        while told.borrow().messages_sent == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    let within = std::time::Duration::from_secs(30);
    tokio::time::timeout(within, flips_are_told).await.unwrap();
    let status = told.borrow().clone();
    assert_eq!(status.state, State::Drawing, "{status:?}");
    assert_eq!(status.basic_rounds, 1, "{status:?}");
    drop(silent);
    for task in others.into_iter().chain([first]) {
        task.abort();
    }
}

/// Signatures may still be queued when the draw is over. They are counted too.
#[tokio::test]
async fn all_bytes_sent_are_counted_at_the_end() {
    let (_table, seats) = all_sit().await;
    let held = seats.map(|(session, status)| {
        let meters = session.links.both().map(Link::meter);
        tokio::spawn(async move {
            let stop = std::future::pending();
            let status = session.hold(&status, stop).await.ok().expect("it is held");
            (status, meters)
        })
    });
    for held in held {
        let (status, meters) = held.await.unwrap();
        assert_eq!(status.state, State::Elected, "{status:?}");
        let sent: u64 = meters.iter().map(Meter::read).sum();
        assert_eq!(status.bytes_sent, sent);
    }
}

#[tokio::test]
async fn seen_leader_is_reported_while_signatures_are_exchanged() {
    let (_table, [(mut m0, status), ..]) = all_sit().await;
    m0.sign_verdict(elected(2, 8)).ok().unwrap();
    status.send_if_modified(|it| m0.update(it));
    let status = status.borrow();
    assert_eq!(status.state, State::Confirming);
    assert_eq!(status.seen.as_deref(), Some("m2"));
    assert_eq!(status.basic_rounds, 2);
}

#[tokio::test]
async fn fault_after_an_election_is_reported_and_is_no_fault() {
    let (table, [(mut m0, status), ..]) = all_sit().await;
    let own = elected(2, 8);
    m0.sign_verdict(own).ok().unwrap();
    m0.sign_verdict(Verdict::Fault(Fault {
        place: 0,
        round: 2,
        cause: FaultCause::Told { side: Side::Left },
    }))
    .ok()
    .unwrap();
    for place in 1..4 {
        let statement = signs(&table, place, &m0, own);
        m0.on_statement(Side::Left, &statement).ok().unwrap();
    }
    status.send_modify(|it| m0.conclude(it));
    let status = status.borrow();
    assert_eq!(status.state, State::Elected);
    assert_eq!(status.leader.as_deref(), Some("m2"));
    assert_eq!(status.fault, None);
    assert_eq!(status.reports.len(), 1, "{status:?}");
}

/// Handles the next frame from `side`.
async fn hear(session: &mut Session<Wagner>, side: Side) {
    let links = &mut session.links;
    let frame = match side {
        Side::Left => links.left.receive().await,
        Side::Right => links.right.receive().await,
    };
    session.on_frame(side, frame).ok().unwrap();
}

/// The neighbours have what it signed, and its transcript must match.
#[tokio::test]
async fn member_killed_after_signing_has_a_usable_transcript() {
    let (table, [(mut m0, _), ..]) = all_sit().await;
    m0.begin().ok().unwrap();
    m0.on_silence().ok().unwrap();
    let found = table.verify([0]);
    assert_eq!(found.unusable, [], "{found:?}");
    assert_eq!(found.transcripts.len(), 1, "{found:?}");
    drop(m0);
}

#[tokio::test]
async fn disk_failure_is_a_fault_reported_to_all_at_once() {
    let mut table = Table::lay(4, PATIENT).await;
    let honest: Vec<_> = (0..3).map(|it| table.seat(it, Wagner::default())).collect();
    let listener = table.listeners[3].take().unwrap();
    let (mut session, status) = sit(&table, 3, listener).await;
    session.transcript.fill_disk();
    let held = session.hold(&status, std::future::pending());
    let (held, honest) = tokio::join!(held, conclusions(honest));
    assert!(matches!(held, Err(Failure::Disk(_))));
    for status in honest {
        assert_eq!(status.state, State::Fault, "{status:?}");
        let told = status.reports.iter().map(|it| (&*it.by, it.cause));
        assert!(told.into_iter().any(|it| it == ("m3", FaultCause::Withdrawn)), "{status:?}");
    }
}

#[tokio::test]
async fn late_disk_failure_does_not_deny_a_result() {
    let table = Table::lay(4, "").await;
    let status = table.participant(0).status();
    let failed = |status: &watch::Sender<DrawStatus>| {
        let error = std::io::Error::other("no room");
        table.participant(0).disk_failed(error, status).to_string()
    };
    assert!(failed(&status).contains("without a transcript there is no result"));
    status.send_modify(|it| it.seen = Some("m2".to_owned()));
    let signed = failed(&status);
    assert!(signed.contains("m2 is elected, so the result may stand"), "{signed}");
    status.send_modify(|it| it.leader = Some("m2".to_owned()));
    let signed = failed(&status);
    assert!(signed.contains("and so have all others: the result stands"), "{signed}");
}

/// Lets m3 send an attestation, changed by `spoil` and `forge`, to m0, its right neighbour. Returns
/// true if m0 keeps the link.
async fn is_taken_to_be_there(spoil: fn(&mut Seating), forge: fn(&mut Attestation)) -> bool {
    let mut table = Table::lay(4, "").await;
    let task = table.seat(0, Wagner::default());
    let ends = ends(&table, 3);
    let stream = TcpStream::connect(&table.ring.members[0].address).await;
    let mut link = Link::open(stream.unwrap(), Side::Right, &ends).await.unwrap();
    let mut seating = Seating { place: 3, left: Bytes([1; 32]), right: link.session };
    spoil(&mut seating);
    let mut here = Attestation::sign(&ends.secret, &ends.digest, seating);
    forge(&mut here);
    link.send(Frame::Here(here));
    // m1 is missing, so m0 has nothing to send and closes the link only if the attestation is
    // invalid.
    let within = std::time::Duration::from_millis(700);
    let heard = tokio::time::timeout(within, link.receive()).await;
    task.abort();
    heard.is_err()
}

#[tokio::test]
async fn attestation_with_wrong_link_place_or_key_is_refused() {
    assert!(is_taken_to_be_there(|_| {}, |_| {}).await);
    let spoils: [fn(&mut Seating); 2] = [|it| it.right.0[0] ^= 1, |it| it.place = 2];
    for spoil in spoils {
        assert!(!is_taken_to_be_there(spoil, |_| {}).await);
    }
    assert!(!is_taken_to_be_there(|_| {}, |it| it.signature.0[0] ^= 1).await);
}

/// m3 sends its attestation to both sides, forwards none, and leaves when m1, opposite, has begun.
#[tokio::test]
async fn member_that_loses_its_link_as_others_begin_learns_it_at_once() {
    let mut table = Table::lay(4, "respond_within = \"1s\"").await;
    let early: Vec<_> = [0, 2].map(|it| table.seat(it, Wagner::default())).into();
    let (participant, listener) = (table.participant(1), table.listeners[1].take().unwrap());
    let status = participant.status();
    let mut told = status.subscribe();
    let opposite =
        tokio::spawn(
            async move { participant.draw(listener, &status, std::future::pending()).await },
        );
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
        Link::open(stream.unwrap(), Side::Right, &ends).await.unwrap()
    };
    let (left, right) = tokio::join!(calls, called);
    let seating = Seating { place: 3, left: left.session, right: right.session };
    let here = Attestation::sign(&ends.secret, &ends.digest, seating);
    for link in [&left, &right] {
        link.send(Frame::Here(here.clone()));
    }
    drop(told.wait_for(|it| it.state == State::Drawing).await.unwrap());
    drop((left, right));
    // Without this notice they would wait for two minutes.
    for task in early {
        let late = tokio::time::timeout(std::time::Duration::from_secs(30), task);
        let late = late.await.unwrap().unwrap();
        assert!(matches!(late, Err(NoDraw::TooLate { .. })), "{late:?}");
    }
    assert!(table.participant(0).wait > Duration::from_secs(60));
    let opposite = opposite.await.unwrap().unwrap();
    assert_eq!(opposite.state, State::Fault, "{opposite:?}");
}
