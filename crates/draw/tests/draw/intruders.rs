//! Processes that do not belong on the ring, and members that are missing or late.

use hustings_draw::NoDraw;
use hustings_protocol::Duration;
use hustings_protocol::wagner::Wagner;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::table::{Table, conclusions, leader};

/// Data that strangers send in place of a length and a greeting.
const GARBAGE: &[&[u8]] =
    &[b"", b"\0", b"\0\0", b"\xff\xffffff", b"\0\x04abcd", b"GET / HTTP/1.1\r\n\r\n"];

#[tokio::test]
async fn garbage_and_silent_callers_do_not_disturb_a_draw() {
    let mut table = Table::lay(4, "").await;
    let seats: Vec<_> = (0..3).map(|place| table.seat(place, Wagner::default())).collect();
    let mut accept = Vec::new();
    for garbage in GARBAGE {
        let mut caller = TcpStream::connect(&table.ring.members[1].address).await.unwrap();
        caller.write_all(garbage).await.unwrap();
        accept.push(caller);
    }
    // The first three connections stay half open. The oversized frame and the invalid greeting are
    // refused at once.
    for refused in &mut accept[3..5] {
        // The connection may be closed or reset.
        let _ = refused.read_to_end(&mut Vec::new()).await;
    }
    let last = table.seat(3, Wagner::default());
    let accounts = conclusions(seats.into_iter().chain([last])).await;
    leader(&accounts);
    assert!(accounts[1].refused >= 2, "{:?}", accounts[1]);
}

#[tokio::test]
async fn member_with_another_ring_file_is_named() {
    let mut table = Table::lay(4, "").await;
    let mut seats: Vec<_> = (0..3).map(|place| table.seat(place, Wagner::default())).collect();
    let mut other = table.participant(3);
    other.ring.number += 1;
    other.wait = Duration::from_secs(2);
    let listener = table.listeners[3].take().unwrap();
    let status = other.status();
    let drawn = other.draw(listener, &status, std::future::pending()).await;
    let signed = drawn.unwrap_err().to_string();
    // The member calls m0, and a process that calls itself m2 calls the member.
    let called = "m2 and m0 (the peer that calls itself m0 has another ring file: ";
    assert!(signed.contains(called), "{signed}");
    let caller = "; a caller was refused: the peer that calls itself m2 has another ring file: ";
    assert!(signed.contains(caller), "{signed}");
    for task in seats.drain(..) {
        task.abort();
    }
}

#[tokio::test]
async fn late_or_returning_member_is_waited_for() {
    let mut table = Table::lay(4, "").await;
    let mut early: Vec<_> = (0..3).map(|place| table.seat(place, Wagner::default())).collect();
    let mut participant = table.participant(3);
    participant.wait = Duration::from_secs(300);
    // The first process of m3 ends as soon as it has a link.
    let address = table.ring.members[3].address.clone();
    let listener = table.listeners[3].take().unwrap();
    let mut told = TcpStream::connect(&address).await.unwrap();
    let first = tokio::spawn({
        let participant = participant.clone();
        async move {
            let status = participant.status();
            participant.draw(listener, &status, std::future::pending()).await
        }
    });
    told.read_u8().await.unwrap(); // the greeting shows that it is up
    first.abort();
    let _ = first.await;
    let listener = tokio::net::TcpListener::bind(&address).await.unwrap();
    early.push(tokio::spawn(async move {
        let status = participant.status();
        participant.draw(listener, &status, std::future::pending()).await
    }));
    leader(&conclusions(early).await);
}

#[tokio::test]
async fn missing_members_are_named() {
    let mut table = Table::lay(4, "").await;
    let mut participant = table.participant(0);
    participant.wait = Duration::from_millis(300);
    let listener = table.listeners[0].take().unwrap();
    let status = participant.status();
    let drawn = participant.draw(listener, &status, std::future::pending()).await;
    let signed = drawn.unwrap_err().to_string();
    assert!(signed.contains("m3 and m1 did not appear"), "{signed}");
    let missing = status.borrow().missing.join(", ");
    assert!(missing.contains("m3") && missing.contains("m1"), "{missing}");
    assert!(!table.transcript(0).exists(), "nothing was drawn");
}

#[tokio::test]
async fn key_or_name_not_on_the_ring_is_refused_before_connecting() {
    let table = Table::lay(4, "").await;
    let mut participant = table.participant(0);
    participant.secret = table.secrets[1].clone();
    assert!(matches!(participant.check(), Err(NoDraw::OtherKey { .. })));
    participant.member = "m9".to_owned();
    assert!(matches!(participant.check(), Err(NoDraw::NoMember { .. })));
}
