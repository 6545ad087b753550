//! Members that do not come, or go, and strangers who call.

use std::sync::Arc;

use hustings_protocol::Duration;
use hustings_protocol::wagner::fault::Side;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::{Gathering, seats};
use crate::clock;
use crate::draw::account::Account;
use crate::draw::bytes::Bytes;
use crate::draw::doors::Doors;
use crate::draw::keys::Secret;
use crate::draw::link::{Ends, Link};
use crate::draw::presence::{Presence, Seating};
use crate::draw::table::Table;

#[test]
fn who_says_one_thing_to_the_left_and_another_to_the_right_is_not_there() {
    let secret = Secret::generate().unwrap();
    let word = |place: u32, left: u8| {
        let seating = Seating {
            place,
            left: Bytes([left; 32]),
            right: Bytes([place as u8 + 1; 32]),
        };
        Presence::sign(&secret, &Bytes([7; 32]), seating)
    };
    // Of four, m0 hears of m2 from both sides.
    let heard = |other: u8| {
        [
            word(3, 3),
            word(2, other),
            word(1, 1),
            word(2, 2),
            word(0, 0),
        ]
    };
    assert!(seats(4, heard(2).iter()).is_some());
    assert_eq!(seats(4, heard(9).iter()), None, "two words");
    assert_eq!(seats(4, heard(2)[1..].iter()), None, "one is missing");
    assert_eq!(seats(3, heard(2).iter()), None, "of another ring");
}

/// A member that gathers until it is told to give up.
struct Waiting {
    told: watch::Receiver<Account>,
    give_up: oneshot::Sender<()>,
    /// Who is missing as it does, and who it says was if its links had been lost a while before.
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
        let account = table.part(place).account();
        let told = account.subscribe();
        let (give_up, given_up) = oneshot::channel();
        let absent = tokio::spawn(async move {
            let mut doors = Doors::open(listener, ends.clone(), account.clone());
            let mut gathering = Gathering::new(ends, &account);
            tokio::select! {
                _ = gathering.gather(&mut doors) => panic!("m{place} says that all are there"),
                _ = given_up => {}
            }
            let now = clock::now();
            [now, now + Duration::from_secs(60)].map(|it| gathering.absent(it))
        });
        Self {
            told,
            give_up,
            absent,
        }
    }

    async fn give_up(self) -> [Vec<String>; 2] {
        self.give_up.send(()).unwrap();
        self.absent.await.unwrap()
    }
}

async fn wait_for(told: &mut watch::Receiver<Account>, is_so: impl Fn(&Account) -> bool) {
    let within = std::time::Duration::from_secs(30);
    let is_in_time = {
        let waited = tokio::time::timeout(within, told.wait_for(is_so)).await;
        waited.is_ok()
    };
    assert!(is_in_time, "{:?}", told.borrow().missing);
}

#[tokio::test]
async fn what_a_stranger_says_at_the_door_is_nothing_that_the_neighbour_did() {
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
    let calls = async |refused: u64, told: &mut watch::Receiver<Account>| {
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
    // It may be the neighbour: so it is told, as what somebody says of itself.
    let told = m1.told.borrow().clone();
    let refused = told.last_refused.unwrap();
    let expected = "who calls itself m0 has another ring file";
    assert!(refused.starts_with(expected), "{refused}");
    assert_eq!(told.missing[0], "m0");
    let [absent, _] = m1.give_up().await;
    assert_eq!(absent[0], "m0");
}

/// What members of seven say of whom they miss when m3 does not come: who beyond their neighbours may have heard of nobody.
const WITHOUT_M3: [(usize, &str); 6] = [
    (0, "somebody among m2, m3, m4"),
    (1, "somebody among m3, m4, m5"),
    (2, "m3 (Connection refused (os error 111))"),
    (4, "m3"),
    (5, "somebody among m1, m2, m3"),
    (6, "somebody among m2, m3, m4"),
];

/// When all have said so, those but one give up. What that one says then, and a while later.
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
async fn who_gives_up_with_all_others_names_who_was_missing_and_nobody_who_was_there() {
    for (last, (place, expected)) in WITHOUT_M3.into_iter().enumerate() {
        let [absent, later] = last_of_seven_without_m3(last).await;
        assert_eq!(absent, expected, "m{place}");
        // If it goes on to wait, it knows no more of those whom it knew of by others.
        assert!(later.contains(" (its link "), "m{place}: {later}");
        assert!(!later.contains("somebody"), "m{place}: {later}");
    }
}
