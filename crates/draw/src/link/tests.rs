//! Sides of which one end misbehaves.

use std::sync::Arc;

use hustings_protocol::wagner::fault::Side;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{Broken, Ends, Link, read_frame, write_frame};
use crate::keys::Secret;
use crate::ring::Ring;
use crate::signed::Frame;

/// The members at places 0 and 1 of a ring of four.
fn neighbours() -> (Ends, Ends) {
    let secrets: Vec<Secret> = (0..4).map(|_| Secret::generate().unwrap()).collect();
    let mut text = "draw = \"x\"\nnumber = 1\n".to_owned();
    for (place, secret) in secrets.iter().enumerate() {
        let key = secret.public();
        text += &format!(
            "[[member]]\nname = \"m{place}\"\naddress = \"127.0.0.1:{}\"\nkey = \"{key}\"\n",
            place + 1
        );
    }
    let ring: Arc<Ring> = Arc::new(text.parse().unwrap());
    let end = |place: usize| Ends {
        ring: Arc::clone(&ring),
        digest: ring.digest(),
        place: place as u32,
        secret: secrets[place].clone(),
    };
    (end(0), end(1))
}

async fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let connected = TcpStream::connect(listener.local_addr().unwrap()).await;
    let (accepted, _) = listener.accept().await.unwrap();
    (connected.unwrap(), accepted)
}

async fn open(one: &Ends, other: &Ends) -> (Result<Link, Broken>, Result<Link, Broken>) {
    let (left, right) = connection().await;
    tokio::join!(Link::open(left, Side::Right, one), Link::open(right, Side::Left, other))
}

#[tokio::test]
async fn both_ends_agree_on_a_link_id_that_no_other_link_has() {
    let (one, other) = neighbours();
    let (left, right) = open(&one, &other).await;
    let (left, mut right) = (left.unwrap(), right.unwrap());
    assert_eq!(left.session, right.session);
    left.send(Frame::Begun);
    assert_eq!(right.receive().await, Ok(Frame::Begun));
    let (again, _) = open(&one, &other).await;
    assert_ne!(again.unwrap().session, left.session);
}

#[tokio::test]
async fn peer_without_the_key_gets_no_link() {
    let (mut one, other) = neighbours();
    one.secret = Secret::generate().unwrap();
    let (_, right) = open(&one, &other).await;
    assert_eq!(right.err(), Some(Broken::Key("m0".to_owned())));
    let (one, mut other) = neighbours();
    other.secret = Secret::generate().unwrap();
    let (left, right) = open(&one, &other).await;
    assert!(left.is_err());
    assert_eq!(right.err(), Some(Broken::Key("m0".to_owned())));
}

#[tokio::test]
async fn member_that_is_not_a_neighbour_gets_no_link() {
    let (mut one, other) = neighbours();
    one.place = 2; // m2 intends to call m3
    let (left, right) = open(&one, &other).await;
    assert_eq!(left.err(), Some(Broken::Stranger("m1".to_owned())));
    assert_eq!(right.err(), Some(Broken::Stranger("m2".to_owned())));
}

#[tokio::test]
async fn replay_of_an_earlier_handshake_is_refused() {
    let (one, other) = neighbours();
    // A man in the middle records everything that the left end sends.
    let (left, mut tap) = connection().await;
    let (mut forward, right) = connection().await;
    let between = async {
        let mut recorded = Vec::new();
        for _ in 0..3 {
            let signed = read_frame(&mut tap).await.unwrap();
            write_frame(&mut forward, &signed).await.unwrap();
            recorded.push(signed);
            if recorded.len() < 3 {
                let answer = read_frame(&mut forward).await.unwrap();
                write_frame(&mut tap, &answer).await.unwrap();
            }
        }
        recorded
    };
    let (recorded, left, right) = tokio::join!(
        between,
        Link::open(left, Side::Right, &one),
        Link::open(right, Side::Left, &other)
    );
    assert!(left.is_ok() && right.is_ok());
    // The man in the middle replays it.
    let (mut replay, right) = connection().await;
    let again = async {
        for signed in &recorded {
            write_frame(&mut replay, signed).await.unwrap();
        }
        replay.read_to_end(&mut Vec::new()).await
    };
    let (_, right) = tokio::join!(again, Link::open(right, Side::Left, &other));
    assert_eq!(right.err(), Some(Broken::Seal));
}

#[tokio::test]
async fn altered_or_oversized_frame_breaks_the_link() {
    for (frame, expected) in [
        (&b"\0\x20................................"[..], Broken::Seal),
        (b"\xff\xff", Broken::Misfit(65_535)),
        (b"\0\0", Broken::Misfit(0)),
    ] {
        let (one, other) = neighbours();
        let (left, mut tap) = connection().await;
        let (mut forward, right) = connection().await;
        let between = async {
            for _ in 0..2 {
                let signed = read_frame(&mut tap).await.unwrap();
                write_frame(&mut forward, &signed).await.unwrap();
                let answer = read_frame(&mut forward).await.unwrap();
                write_frame(&mut tap, &answer).await.unwrap();
            }
            let signed = read_frame(&mut tap).await.unwrap();
            write_frame(&mut forward, &signed).await.unwrap();
            forward.write_all(frame).await.unwrap();
        };
        let ((), left, right) = tokio::join!(
            between,
            Link::open(left, Side::Right, &one),
            Link::open(right, Side::Left, &other)
        );
        assert!(left.is_ok());
        assert_eq!(right.unwrap().receive().await, Err(expected));
    }
}
