//! PostgreSQL with a synchronous standby, and an administrator who cancels the wait for it. The
//! server has then committed, but only warns that its standby may lack the commit.

use std::time::Duration;

use hustings_agent::authority::store::{Store, StoreError};
use tokio::time::timeout;
use tokio_postgres::Client;

use crate::house::House;
use crate::member::{PATIENCE, terms};
use crate::postgres::{PostgresHouse, rows};

/// Makes commits wait for a standby of this name, or for none if the name is empty.
async fn wait_for(client: &Client, standby: &str) {
    let set = format!("ALTER SYSTEM SET synchronous_standby_names = '{standby}'");
    client.batch_execute(&set).await.unwrap();
    client
        .batch_execute("SELECT pg_reload_conf()")
        .await
        .unwrap();
    let shown = "SHOW synchronous_standby_names";
    while rows(client, shown).await != [standby] {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Other sessions read the setting with their next query.
}

/// Cancels a wait for a standby as soon as there is one.
async fn cancel_the_wait(client: &Client) {
    let cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    while rows(client, cancel).await.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Returns the result of a request whose wait for a standby was cancelled.
async fn cancelled<T: std::fmt::Debug>(
    client: &Client,
    request: impl Future<Output = Result<T, StoreError>>,
) -> String {
    let both = async { tokio::join!(request, cancel_the_wait(client)) };
    let (answer, ()) = timeout(PATIENCE, both).await.expect("it is cancelled");
    match answer {
        Err(StoreError::Unavailable(why)) => why,
        answer => panic!("it is not known what became of it: {answer:?}"),
    }
}

#[tokio::test]
async fn commit_that_the_standby_may_lack_counts_as_no_answer() {
    let house = PostgresHouse::open().await;
    let client = house.client().await;
    let mut store = house.store(&terms("g", "anna", 0), house.port());
    let first = store.acquire().await.unwrap().count;
    store.release().await.unwrap();

    wait_for(&client, "nobody").await;
    let why = cancelled(&client, store.acquire()).await;
    assert!(
        why.contains("its synchronous standby was cancelled"),
        "{why}"
    );
    let epoch = "SELECT epoch FROM hustings_tenure";
    let committed = rows(&client, epoch).await;
    assert_eq!(committed, [(first + 1).to_string()], "on this server");
    cancelled(&client, store.release()).await;

    wait_for(&client, "").await;
    let second = store.acquire().await.unwrap().count;
    assert!(second > first + 1);
    wait_for(&client, "nobody").await;
    let why = cancelled(&client, store.renew()).await;
    assert!(why.contains("counts as not done"), "{why}");
    wait_for(&client, "").await;
    store.renew().await.expect("it is tried again");
    store.release().await.unwrap();
}

/// A role or a database may have warnings turned off for all sessions.
#[tokio::test]
async fn cancelled_wait_is_noticed_when_warnings_are_off() {
    let house = PostgresHouse::open().await;
    let client = house.client().await;
    let quiet = "ALTER ROLE hustings SET client_min_messages = error";
    client.batch_execute(quiet).await.unwrap();
    let mut store = house.store(&terms("g", "anna", 0), house.port());
    store.acquire().await.unwrap();
    store.release().await.unwrap();
    wait_for(&client, "nobody").await;
    let why = cancelled(&client, store.acquire()).await;
    assert!(why.contains("counts as not done"), "{why}");
    wait_for(&client, "").await;
}
