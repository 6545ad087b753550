//! Strangers who call, and call again.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{MOST_CALLERS, Refusals};
use crate::draw::account::Account;
use crate::draw::doors::Doors;
use crate::draw::link::{Broken, Ends};
use crate::draw::table::Table;

#[test]
fn what_is_refused_again_and_again_is_said_ever_more_seldom_and_at_once_if_it_is_new() {
    let mut refusals = Refusals::default();
    let mut said = |why: &Broken, calls: usize| -> Vec<u64> {
        (0..calls).filter_map(|_| refusals.add(why)).collect()
    };
    let stranger = Broken::Stranger("mallory".to_owned());
    // A minute of a neighbour with another ring file, at five calls a second.
    assert_eq!(said(&stranger, 300), [1, 2, 4, 8, 16, 32, 64, 128, 256]);
    assert_eq!(said(&Broken::Garbage, 1), [1]);
    // Nor does it help a stranger to say something else each time.
    assert!(said(&Broken::Stranger("oscar".to_owned()), 200).is_empty());
    assert_eq!(said(&stranger, 12), [512]);
}

/// Who is not even listened to is counted, too.
#[tokio::test]
async fn a_crowd_at_the_door_is_refused_and_counted() {
    let mut table = Table::lay(4, "").await;
    let listener = table.listeners[1].take().unwrap();
    let ends = Ends {
        ring: Arc::new(table.ring.clone()),
        digest: table.ring.digest(),
        place: 1,
        secret: table.secrets[1].clone(),
    };
    let account = table.part(1).account();
    let mut told = account.subscribe();
    let _doors = Doors::open(listener, ends, account);
    // They say nothing. If the first of them have been silent for too long when the last come, there are still enough.
    let mut crowd = Vec::new();
    for _ in 0..3 * MOST_CALLERS {
        let address = &table.ring.members[1].address;
        crowd.push(TcpStream::connect(address).await.unwrap());
    }
    let is_told = |it: &Account| it.last_refused == Some(Broken::Crowd.to_string());
    let told = timeout(Duration::from_secs(30), told.wait_for(is_told)).await;
    let account = told.expect("it is told").unwrap();
    assert!(account.refused >= 1, "{account:?}");
}
