//! Two ends of a link, of which one is not as it should be.

use std::sync::Arc;

use hustings_protocol::wagner::fault::Side;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{Broken, Ends, Link, read_frame, write_frame};
use crate::draw::keys::Secret;
use crate::draw::ring::Ring;
use crate::draw::said::Frame;

/// The members at 0 and 1 of a ring of four.
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
    tokio::join!(
        Link::open(left, Side::Right, one),
        Link::open(right, Side::Left, other)
    )
}

#[tokio::test]
async fn both_ends_know_the_link_by_the_same_session_and_no_two_links_do() {
    let (one, other) = neighbours();
    let (left, right) = open(&one, &other).await;
    let (left, mut right) = (left.unwrap(), right.unwrap());
    assert_eq!(left.session, right.session);
    left.say(Frame::Begun);
    assert_eq!(right.hear().await, Ok(Frame::Begun));
    let (again, _) = open(&one, &other).await;
    assert_ne!(again.unwrap().session, left.session);
}

#[tokio::test]
async fn who_does_not_hold_the_key_gets_no_link() {
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
async fn a_member_that_is_no_neighbour_gets_no_link() {
    let (mut one, other) = neighbours();
    one.place = 2; // m2 calls m3, or so it thinks
    let (left, right) = open(&one, &other).await;
    assert_eq!(left.err(), Some(Broken::Stranger("m1".to_owned())));
    assert_eq!(right.err(), Some(Broken::Stranger("m2".to_owned())));
}

#[tokio::test]
async fn what_was_said_in_an_earlier_link_opens_no_other() {
    let (one, other) = neighbours();
    // Somebody between the two hears all that the left one says.
    let (left, mut tap) = connection().await;
    let (mut forward, right) = connection().await;
    let between = async {
        let mut recorded = Vec::new();
        for _ in 0..3 {
            let said = read_frame(&mut tap).await.unwrap();
            write_frame(&mut forward, &said).await.unwrap();
            recorded.push(said);
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
    // And says it again.
    let (mut replay, right) = connection().await;
    let again = async {
        for said in &recorded {
            write_frame(&mut replay, said).await.unwrap();
        }
        replay.read_to_end(&mut Vec::new()).await
    };
    let (_, right) = tokio::join!(again, Link::open(right, Side::Left, &other));
    assert_eq!(right.err(), Some(Broken::Seal));
}

#[tokio::test]
async fn a_frame_that_is_altered_or_too_long_breaks_the_link() {
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
                let said = read_frame(&mut tap).await.unwrap();
                write_frame(&mut forward, &said).await.unwrap();
                let answer = read_frame(&mut forward).await.unwrap();
                write_frame(&mut tap, &answer).await.unwrap();
            }
            let said = read_frame(&mut tap).await.unwrap();
            write_frame(&mut forward, &said).await.unwrap();
            forward.write_all(frame).await.unwrap();
        };
        let ((), left, right) = tokio::join!(
            between,
            Link::open(left, Side::Right, &one),
            Link::open(right, Side::Left, &other)
        );
        assert!(left.is_ok());
        assert_eq!(right.unwrap().hear().await, Err(expected));
    }
}
