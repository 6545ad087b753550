//! Those who have no business on the ring.

use hustings_agent::draw::NoDraw;
use hustings_protocol::Duration;
use hustings_protocol::wagner::Wagner;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::table::{Table, conclusions, leader};

/// What strangers send, the length of a first frame and more.
const GARBAGE: &[&[u8]] = &[
    b"",
    b"\0",
    b"\0\0",
    b"\xff\xffffff",
    b"\0\x04abcd",
    b"GET / HTTP/1.1\r\n\r\n",
];

#[tokio::test]
async fn garbage_and_silence_at_the_door_change_nothing() {
    let mut table = Table::lay(4, "").await;
    let seats: Vec<_> = (0..3)
        .map(|place| table.seat(place, Wagner::new()))
        .collect();
    let mut callers = Vec::new();
    for garbage in GARBAGE {
        let mut caller = TcpStream::connect(&table.ring.members[1].address)
            .await
            .unwrap();
        caller.write_all(garbage).await.unwrap();
        callers.push(caller);
    }
    // These stay, half open; the frame too long and the one that is no greeting are shown the door at once.
    for refused in &mut callers[3..5] {
        // Whether the connection is closed or reset is all the same.
        let _ = refused.read_to_end(&mut Vec::new()).await;
    }
    let last = table.seat(3, Wagner::new());
    let accounts = conclusions(seats.into_iter().chain([last])).await;
    leader(&accounts);
    assert!(accounts[1].refused >= 2, "{:?}", accounts[1]);
}

#[tokio::test]
async fn whoever_has_another_ring_file_is_named() {
    let mut table = Table::lay(4, "").await;
    let mut seats: Vec<_> = (0..3)
        .map(|place| table.seat(place, Wagner::new()))
        .collect();
    let mut other = table.part(3);
    other.ring.number += 1;
    other.wait = Duration::from_secs(2);
    let listener = table.listeners[3].take().unwrap();
    let account = other.account();
    let drawn = other.draw(listener, &account, std::future::pending()).await;
    let said = drawn.unwrap_err().to_string();
    // It calls m0; and m2, or whoever that is, calls it.
    let called = "no sign of m2 and m0 (who calls itself m0 has another ring file: ";
    assert!(said.contains(called), "{said}");
    let caller = "; somebody called, and was refused: who calls itself m2 has another ring file: ";
    assert!(said.contains(caller), "{said}");
    for seat in seats.drain(..) {
        seat.abort();
    }
}

#[tokio::test]
async fn who_comes_late_or_comes_back_is_waited_for() {
    let mut table = Table::lay(4, "").await;
    let mut early: Vec<_> = (0..3)
        .map(|place| table.seat(place, Wagner::new()))
        .collect();
    let mut part = table.part(3);
    part.wait = Duration::from_secs(300);
    // The first process of m3 goes as soon as it has a link.
    let address = table.ring.members[3].address.clone();
    let listener = table.listeners[3].take().unwrap();
    let mut told = TcpStream::connect(&address).await.unwrap();
    let first = tokio::spawn({
        let part = part.clone();
        async move {
            let account = part.account();
            part.draw(listener, &account, std::future::pending()).await
        }
    });
    told.read_u8().await.unwrap(); // it greets: it is up
    first.abort();
    let _ = first.await;
    let listener = tokio::net::TcpListener::bind(&address).await.unwrap();
    early.push(tokio::spawn(async move {
        let account = part.account();
        part.draw(listener, &account, std::future::pending()).await
    }));
    leader(&conclusions(early).await);
}

#[tokio::test]
async fn who_is_missing_is_named() {
    let mut table = Table::lay(4, "").await;
    let mut part = table.part(0);
    part.wait = Duration::from_millis(300);
    let listener = table.listeners[0].take().unwrap();
    let account = part.account();
    let drawn = part.draw(listener, &account, std::future::pending()).await;
    let said = drawn.unwrap_err().to_string();
    assert!(said.contains("no sign of m3 and m1"), "{said}");
    let missing = account.borrow().missing.join(", ");
    assert!(
        missing.contains("m3") && missing.contains("m1"),
        "{missing}"
    );
    assert!(!table.transcript(0).exists(), "nothing was drawn");
}

#[tokio::test]
async fn a_key_or_a_name_that_is_not_the_rings_is_refused_before_anything_is_said() {
    let table = Table::lay(4, "").await;
    let mut part = table.part(0);
    part.secret = table.secrets[1].clone();
    assert!(matches!(part.check(), Err(NoDraw::OtherKey { .. })));
    part.member = "m9".to_owned();
    assert!(matches!(part.check(), Err(NoDraw::NoMember { .. })));
}
