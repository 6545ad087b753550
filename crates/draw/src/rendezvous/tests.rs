//! Missing and leaving members, and strangers that call.

use std::sync::Arc;

use hustings_protocol::Duration;
use hustings_protocol::wagner::fault::Side;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::{Rendezvous, seats};
use crate::attestation::{Attestation, Seating};
use crate::bytes::Bytes;
use crate::connect::Connector;
use crate::keys::Secret;
use crate::link::{Ends, Link};
use crate::status::DrawStatus;
use crate::table::Table;
use hustings_system::clock;

#[test]
fn member_with_two_different_attestations_is_not_seated() {
    let secret = Secret::generate().unwrap();
    let word = |place: u32, left: u8| {
        let seating =
            Seating { place, left: Bytes([left; 32]), right: Bytes([place as u8 + 1; 32]) };
        Attestation::sign(&secret, &Bytes([7; 32]), seating)
    };
    // On a ring of four, m0 receives the attestation of m2 from both sides.
    let heard = |other: u8| [word(3, 3), word(2, other), word(1, 1), word(2, 2), word(0, 0)];
    assert!(seats(4, heard(2).iter()).is_some());
    assert_eq!(seats(4, heard(9).iter()), None, "two words");
    assert_eq!(seats(4, heard(2)[1..].iter()), None, "one is missing");
    assert_eq!(seats(3, heard(2).iter()), None, "of another ring");
}

/// A member that waits in a rendezvous until the test makes it give up.
struct Waiting {
    told: watch::Receiver<DrawStatus>,
    give_up: oneshot::Sender<()>,
    /// The members reported missing at that time, and those reported if its links had been lost a
    /// minute before.
    absent: JoinHandle<[Vec<String>; 2]>,
}

impl Waiting {
    fn begin(table: &Table, place: usize, listener: TcpListener) -> Self {
        let ends = Ends {
            ring: Arc::new(table.ring.clone()),
            digest: table.ring.digest(),
            place: place as u32,
            secret: table.secrets[place].clone(),
        };
        let status = table.participant(place).status();
        let told = status.subscribe();
        let (give_up, given_up) = oneshot::channel();
        let absent = tokio::spawn(async move {
            let mut connect = Connector::open(listener, ends.clone(), status.clone());
            let mut rendezvous = Rendezvous::new(ends, &status);
            tokio::select! {
                _ = rendezvous.gather(&mut connect) => panic!("m{place} says that all are there"),
                _ = given_up => {}
            }
            let now = clock::now();
            [now, now + Duration::from_secs(60)].map(|it| rendezvous.absent(it))
        });
        Self { told, give_up, absent }
    }

    async fn give_up(self) -> [Vec<String>; 2] {
        self.give_up.send(()).unwrap();
        self.absent.await.unwrap()
    }
}

async fn wait_for(told: &mut watch::Receiver<DrawStatus>, is_so: impl Fn(&DrawStatus) -> bool) {
    let within = std::time::Duration::from_secs(30);
    let is_in_time = {
        let waited = tokio::time::timeout(within, told.wait_for(is_so)).await;
        waited.is_ok()
    };
    assert!(is_in_time, "{:?}", told.borrow().missing);
}

#[tokio::test]
async fn callers_claims_are_not_attributed_to_the_neighbour() {
    let mut table = Table::lay(4, "").await;
    let listener = table.listeners[1].take().unwrap();
    let mut m1 = Waiting::begin(&table, 1, listener);
    let mut ring = table.ring.clone();
    ring.number += 1;
    let stranger = Ends {
        digest: ring.digest(),
        ring: Arc::new(ring),
        place: 0,
        secret: Secret::generate().unwrap(),
    };
    let address = &table.ring.members[1].address;
    let calls = async |refused: u64, told: &mut watch::Receiver<DrawStatus>| {
        let mut caller = TcpStream::connect(address).await.unwrap();
        caller.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        wait_for(told, |it| it.refused == refused).await;
    };
    calls(1, &mut m1.told).await;
    let garbage = m1.told.borrow().last_refused.clone().unwrap();
    assert!(garbage.starts_with("a frame of 18245 bytes"), "{garbage}");
    let stream = TcpStream::connect(address).await.unwrap();
    assert!(Link::open(stream, Side::Right, &stranger).await.is_err());
    wait_for(&mut m1.told, |it| it.refused == 2).await;
    calls(3, &mut m1.told).await;
    // The caller may be the neighbour. Its claim is therefore reported as a claim.
    let told = m1.told.borrow().clone();
    let refused = told.last_refused.unwrap();
    let expected = "the peer that calls itself m0 has another ring file";
    assert!(refused.starts_with(expected), "{refused}");
    assert_eq!(told.missing[0], "m0");
    let [absent, _] = m1.give_up().await;
    assert_eq!(absent[0], "m0");
}

/// The members that each of seven reports missing when m3 does not come. Members beyond the
/// neighbours may have received no attestation.
const WITHOUT_M3: [(usize, &str); 6] = [
    (0, "one or more of m2, m3, m4"),
    (1, "one or more of m3, m4, m5"),
    (2, "m3 (Connection refused (os error 111))"),
    (4, "m3"),
    (5, "one or more of m1, m2, m3"),
    (6, "one or more of m2, m3, m4"),
];

/// Waits until all have reported this, and then lets all but one give up. Returns what that member
/// reports then, and a minute later.
async fn last_of_seven_without_m3(last: usize) -> [String; 2] {
    let mut table = Table::lay(7, "").await;
    table.listeners[3] = None;
    let mut waiting: Vec<Waiting> = Vec::new();
    for (place, _) in WITHOUT_M3 {
        let listener = table.listeners[place].take().unwrap();
        waiting.push(Waiting::begin(&table, place, listener));
    }
    for (it, (_, expected)) in waiting.iter_mut().zip(WITHOUT_M3) {
        wait_for(&mut it.told, |it| it.missing == [expected]).await;
    }
    let mut last = waiting.remove(last);
    for other in waiting {
        other.give_up().await;
    }
    wait_for(&mut last.told, |it| it.missing.len() == 2).await;
    last.give_up().await.map(|it| it.join(" and "))
}

#[tokio::test]
async fn last_to_give_up_names_only_the_missing_member() {
    for (last, (place, expected)) in WITHOUT_M3.into_iter().enumerate() {
        let [absent, later] = last_of_seven_without_m3(last).await;
        assert_eq!(absent, expected, "m{place}");
        // If it continued to wait, it would know no more about members beyond its neighbours.
        assert!(later.contains(" (its link "), "m{place}: {later}");
        assert!(!later.contains("one or more of"), "m{place}: {later}");
    }
}
