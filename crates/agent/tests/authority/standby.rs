//! PostgreSQL that waits for a synchronous standby, and somebody who cancels that wait: the server has committed then, but
//! only warns that its standby may know nothing of it.

use std::time::Duration;

use hustings_agent::authority::store::{Denied, Store};
use tokio::time::timeout;
use tokio_postgres::Client;

use crate::house::House;
use crate::member::{PATIENCE, terms};
use crate::postgres::{PostgresHouse, rows};

/// From now on commits wait for a standby of this name; of none if it is empty.
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
    // Other sessions read it when they are asked next.
}

/// Cancels what waits for a standby, as soon as something does.
async fn cancel_the_wait(client: &Client) {
    let cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    while rows(client, cancel).await.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// What comes of a request whose commit waits for a standby in vain, and is cancelled.
async fn cancelled<T: std::fmt::Debug>(
    client: &Client,
    request: impl Future<Output = Result<T, Denied>>,
) -> String {
    let both = async { tokio::join!(request, cancel_the_wait(client)) };
    let (answer, ()) = timeout(PATIENCE, both).await.expect("it is cancelled");
    match answer {
        Err(Denied::Unavailable(why)) => why,
        answer => panic!("it is not known what became of it: {answer:?}"),
    }
}

#[tokio::test]
async fn a_commit_that_the_standby_may_lack_counts_as_no_answer() {
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
