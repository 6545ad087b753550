//! Refused callers that call repeatedly.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{MOST_CALLERS, Refusals};
use crate::connect::Connector;
use crate::link::{Broken, Ends};
use crate::status::DrawStatus;
use crate::table::Table;

#[test]
fn repeated_refusals_are_logged_at_powers_of_two() {
    let mut refusals = Refusals::default();
    let mut signed = |why: &Broken, calls: usize| -> Vec<u64> {
        (0..calls).filter_map(|_| refusals.add(why)).collect()
    };
    let stranger = Broken::Stranger("mallory".to_owned());
    // A neighbour with another ring file makes five calls a second, for a minute.
    assert_eq!(signed(&stranger, 300), [1, 2, 4, 8, 16, 32, 64, 128, 256]);
    assert_eq!(signed(&Broken::Garbage, 1), [1]);
    // A stranger that changes its name each time causes no more log lines.
    assert!(signed(&Broken::Stranger("oscar".to_owned()), 200).is_empty());
    assert_eq!(signed(&stranger, 12), [512]);
}

/// Callers that exceed the limit, whose greeting is not even read, are counted too.
#[tokio::test]
async fn callers_beyond_the_limit_are_refused_and_counted() {
    let mut table = Table::lay(4, "").await;
    let listener = table.listeners[1].take().unwrap();
    let ends = Ends {
        ring: Arc::new(table.ring.clone()),
        digest: table.ring.digest(),
        place: 1,
        secret: table.secrets[1].clone(),
    };
    let status = table.participant(1).status();
    let mut told = status.subscribe();
    let _doors = Connector::open(listener, ends, status);
    // The callers send nothing. Even if the first ones time out before the last ones connect,
    // enough remain.
    let mut crowd = Vec::new();
    for _ in 0..3 * MOST_CALLERS {
        let address = &table.ring.members[1].address;
        crowd.push(TcpStream::connect(address).await.unwrap());
    }
    let is_told = |it: &DrawStatus| it.last_refused == Some(Broken::Crowd.to_string());
    let told = timeout(Duration::from_secs(30), told.wait_for(is_told)).await;
    let status = told.expect("it is told").unwrap();
    assert!(status.refused >= 1, "{status:?}");
}
