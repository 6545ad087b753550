//! PostgreSQL with a synchronous standby, and an administrator who cancels the wait for it. The
//! server has then committed, but only warns that its standby may lack the commit.

use std::pin::pin;
use std::time::Duration;

use hustings_agent::authority::store::{Store, StoreError};
use tokio::time::timeout;
use tokio_postgres::Client;

use crate::house::House;
use crate::member::{PATIENCE, terms};
use crate::postgres::{PostgresHouse, rows};

/// Makes commits wait for a standby that does not exist.
async fn demand_standby(house: &PostgresHouse, client: &Client) {
    set_standby(client, "nobody").await;
    // The server's checkpointer passes the setting on, some time after the session that changed it
    // shows it. Only a commit that waits proves that commits wait.
    let prober = house.client().await;
    loop {
        let mut commit = pin!(prober.batch_execute("CREATE TABLE probe (); DROP TABLE probe"));
        tokio::select! {
            committed = &mut commit => committed.unwrap(),
            () = cancel_the_wait(client) => return commit.await.unwrap(),
        }
    }
}

/// Sets the standby that commits wait for; they wait for none if the name is empty.
async fn set_standby(client: &Client, standby: &str) {
    let set = format!("ALTER SYSTEM SET synchronous_standby_names = '{standby}'");
    client.batch_execute(&set).await.unwrap();
    client.batch_execute("SELECT pg_reload_conf()").await.unwrap();
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

    demand_standby(&house, &client).await;
    let why = cancelled(&client, store.acquire()).await;
    assert!(why.contains("its synchronous standby was cancelled"), "{why}");
    let epoch = "SELECT epoch FROM hustings_tenure";
    let committed = rows(&client, epoch).await;
    assert_eq!(committed, [(first + 1).to_string()], "on this server");
    cancelled(&client, store.release()).await;

    set_standby(&client, "").await;
    let second = store.acquire().await.unwrap().count;
    assert!(second > first + 1);
    demand_standby(&house, &client).await;
    let why = cancelled(&client, store.renew()).await;
    assert!(why.contains("counts as not done"), "{why}");
    set_standby(&client, "").await;
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
    demand_standby(&house, &client).await;
    let why = cancelled(&client, store.acquire()).await;
    assert!(why.contains("counts as not done"), "{why}");
    set_standby(&client, "").await;
}
