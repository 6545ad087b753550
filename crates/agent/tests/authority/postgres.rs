//! The contract with a real PostgreSQL, and the function that guards the user's own transactions.

use std::time::Duration;

use hustings_agent::authority::StoreTerms;
use hustings_agent::authority::postgres::{Postgres, SCHEMA};
use hustings_agent::authority::store::{Store, StoreError};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::house::House;
use crate::member::{PATIENCE, terms};
use crate::{common, contract};
use hustings_testkit::{Scratch, Server, free_port, postgres_server};

pub(crate) struct PostgresHouse {
    server: Server,
    port: u16,
    /// The session that has locked the table of tenure, after `halt`.
    halted: Option<Client>,
    _home: Scratch,
}

impl PostgresHouse {
    fn url(port: u16) -> String {
        format!("postgresql://hustings@127.0.0.1:{port}/postgres")
    }

    pub(crate) fn setting_by(port: u16) -> String {
        format!("postgres = \"{}\"", Self::url(port))
    }

    async fn connect(&self) -> Result<Client, tokio_postgres::Error> {
        let (client, connection) = tokio_postgres::connect(&Self::url(self.port), NoTls).await?;
        tokio::spawn(async { _ = connection.await });
        Ok(client)
    }

    pub(crate) async fn client(&self) -> Client {
        self.connect().await.unwrap()
    }
}

/// Returns the rows of a query, each as text.
pub(crate) async fn rows(client: &Client, query: &str) -> Vec<String> {
    let answer = client.simple_query(query).await.unwrap();
    let texts = answer.iter().filter_map(|it| match it {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("null").to_owned()),
        _ => None,
    });
    texts.collect()
}

impl House for PostgresHouse {
    async fn open() -> Self {
        let home = Scratch::new("hustings-authority");
        let port = free_port();
        let mut command = postgres_server(home.path(), "127.0.0.1", port, "samehost");
        // The writes of a killed server are safe in the kernel. They need not reach the disk here.
        command.push("-F".to_owned());
        let mut house = Self {
            server: Server::start(command, home.join("log")),
            port,
            halted: None,
            _home: home,
        };
        house.ready().await;
        house
    }

    async fn answers(&self) -> bool {
        self.connect().await.is_ok()
    }

    fn port(&self) -> u16 {
        self.port
    }

    fn server(&mut self) -> &mut Server {
        &mut self.server
    }

    fn store(&self, terms: &StoreTerms, port: u16) -> impl Store + use<> {
        Postgres::new(&Self::url(port), terms).unwrap()
    }

    fn setting(&self) -> String {
        Self::setting_by(self.port)
    }

    async fn take_away(&self, group: &str) {
        let steal = format!(
            "UPDATE hustings_tenure SET holder = 'a thief', incarnation = 0, epoch = epoch + 1,
             expires = clock_timestamp() + interval '1 s' WHERE group_name = '{group}' RETURNING 1"
        );
        assert_eq!(rows(&self.client().await, &steal).await, ["1"]);
    }

    async fn end(&self, group: &str) {
        let expire = format!(
            "UPDATE hustings_tenure SET expires = 'epoch' WHERE group_name = '{group}' RETURNING 1"
        );
        assert_eq!(rows(&self.client().await, &expire).await, ["1"]);
    }

    async fn copy(&mut self) {
        let keep = "CREATE TABLE copied AS
            SELECT *, expires - clock_timestamp() AS lasts FROM hustings_tenure";
        self.client().await.batch_execute(keep).await.unwrap();
    }

    async fn halt(&mut self) {
        let client = self.client().await;
        let lock = "BEGIN; LOCK TABLE hustings_tenure IN ACCESS EXCLUSIVE MODE";
        client.batch_execute(lock).await.unwrap();
        self.halted = Some(client);
    }

    async fn restore(&mut self) {
        let put_back = "DELETE FROM hustings_tenure;
            INSERT INTO hustings_tenure SELECT group_name, era, epoch, holder, incarnation, attempt,
                clock_timestamp() + lasts FROM copied; COMMIT";
        if self.halted.is_none() {
            self.halt().await;
        }
        self.halted.take().unwrap().batch_execute(put_back).await.unwrap();
    }

    async fn litter(&self) -> Vec<String> {
        let held = "SELECT group_name FROM hustings_tenure WHERE expires > clock_timestamp()";
        rows(&self.client().await, held).await
    }
}

#[tokio::test]
async fn postgres_without_faults() {
    contract::in_peace::<PostgresHouse>().await;
}

#[tokio::test]
async fn postgres_killed_and_restarted() {
    contract::killed::<PostgresHouse>().await;
}

#[tokio::test]
async fn postgres_paused_and_resumed() {
    contract::paused::<PostgresHouse>().await;
}

#[tokio::test]
async fn expired_postgres_row_allows_two_holders_for_a_third_of_a_ttl() {
    contract::ended_by_hand::<PostgresHouse>().await;
}

#[tokio::test]
async fn postgres_restored_from_an_old_copy() {
    contract::restored::<PostgresHouse>().await;
}

#[tokio::test]
async fn postgres_restored_from_an_old_copy_under_agents_that_never_asked() {
    contract::restored_under_agents::<PostgresHouse>("postgres").await;
}

#[tokio::test]
async fn agents_with_state_recover_from_postgres_set_back_by_one_tenure() {
    contract::set_back_by_one_tenure::<PostgresHouse>("postgres").await;
}

#[tokio::test]
async fn agents_recover_from_a_postgres_copy_with_a_live_lease() {
    contract::set_back_to_a_live_lease::<PostgresHouse>("postgres").await;
}

#[tokio::test]
async fn agents_with_postgres_without_faults() {
    common::in_peace::<PostgresHouse>("postgres").await;
}

#[tokio::test]
async fn agents_whose_postgres_is_killed_and_restarted() {
    common::killed::<PostgresHouse>("postgres").await;
}

#[tokio::test]
async fn agents_whose_postgres_is_paused_and_resumed() {
    common::paused::<PostgresHouse>("postgres").await;
}

#[tokio::test]
async fn two_postgres_servers_with_equal_setup_have_distinct_identities() {
    let houses = [PostgresHouse::open().await, PostgresHouse::open().await];
    contract::told_apart(&houses).await;
}

#[test]
fn encrypted_connection_is_refused_with_a_remedy() {
    for (mode, what) in [("require", "a tunnel"), ("verify-full", "without sslmode")] {
        let url = format!("postgresql://hustings@db.example/postgres?sslmode={mode}");
        let refused = Postgres::new(&url, &terms("g", "anna", 0));
        let why = refused.err().expect("it is refused").to_string();
        assert!(why.contains("sslmode") && why.contains(what), "{why}");
    }
}

/// Runs a guarded transaction. Returns the SQL state with which it failed, if it did.
async fn guarded(client: &Client, fence: i64) -> Result<(), String> {
    let assert = format!("SELECT hustings_assert_fence('g', {fence})");
    let result = client.batch_execute(&assert).await;
    result.map_err(|error| error.code().expect("the server refused it").code().to_owned())
}

#[tokio::test]
async fn stale_fence_is_refused_inside_its_transaction() {
    let house = PostgresHouse::open().await;
    let (old, new) = (house.client().await, house.client().await);
    old.batch_execute(SCHEMA).await.unwrap();
    old.batch_execute("CREATE TABLE work (done_by int)").await.unwrap();
    assert_eq!(guarded(&old, 5).await, Ok(()));
    assert_eq!(guarded(&old, 5).await, Ok(()));
    assert_eq!(guarded(&old, 4).await, Err("HU001".to_owned()));

    // The check and the work are one transaction: while the old holder works, the new one waits.
    old.batch_execute("BEGIN").await.unwrap();
    assert_eq!(guarded(&old, 5).await, Ok(()));
    let overtakes = async {
        new.batch_execute("BEGIN").await.unwrap();
        assert_eq!(guarded(&new, 6).await, Ok(()));
        let before_it = rows(&new, "SELECT count(*) FROM work").await;
        new.batch_execute("INSERT INTO work VALUES (6); COMMIT").await.unwrap();
        before_it
    };
    let works = async {
        // The new holder is seen waiting before the old one continues.
        let third = house.client().await;
        let waiters = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        while rows(&third, waiters).await != ["1"] {
            tokio::task::yield_now().await;
        }
        old.batch_execute("INSERT INTO work VALUES (5); COMMIT").await.unwrap();
    };
    let both = async { tokio::join!(overtakes, works) };
    let (before_it, ()) = tokio::time::timeout(PATIENCE, both).await.unwrap();
    assert_eq!(before_it, ["1"], "all that the old holder did was there");

    // A later transaction with the old fence has no effect at all.
    old.batch_execute("BEGIN; INSERT INTO work VALUES (55)").await.unwrap();
    assert_eq!(guarded(&old, 5).await, Err("HU001".to_owned()));
    old.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(rows(&new, "SELECT string_agg(done_by::text, ' ') FROM work").await, ["5 6"]);
}

#[tokio::test]
async fn transactions_with_the_same_fence_do_not_block_each_other() {
    let house = PostgresHouse::open().await;
    let (one, other) = (house.client().await, house.client().await);
    one.batch_execute(SCHEMA).await.unwrap();
    assert_eq!(guarded(&one, 7).await, Ok(()));
    one.batch_execute("BEGIN").await.unwrap();
    assert_eq!(guarded(&one, 7).await, Ok(()));
    let at_once = tokio::time::timeout(PATIENCE, guarded(&other, 7)).await;
    assert_eq!(at_once.expect("it does not wait"), Ok(()));
}

#[tokio::test]
async fn fence_is_stale_as_soon_as_the_row_has_a_later_tenure() {
    let house = PostgresHouse::open().await;
    let client = house.client().await;
    let mut store = house.store(&terms("g", "anna", 2), house.port());
    let count = i64::try_from(store.acquire().await.unwrap().count).unwrap();
    let fence = (2_i64 << 48) + count;
    assert_eq!(guarded(&client, fence).await, Ok(()));
    store.release().await.unwrap();
    store.acquire().await.unwrap();
    assert_eq!(guarded(&client, fence).await, Err("HU001".to_owned()));
    // Members that are still in the old era are refused.
    let mut behind = house.store(&terms("g", "ben", 1), house.port());
    store.release().await.unwrap();
    let why = "group `g` is in era 2: raise `era` of this member to that";
    let denied = behind.acquire().await.unwrap_err();
    assert_eq!(denied, StoreError::Refused(why.to_owned()));
}

/// Raising the members' era does not help if no higher era exists. From below the first era it
/// would issue fences again.
#[tokio::test]
async fn row_of_an_invalid_era_is_refused_and_the_remedy_works() {
    let house = PostgresHouse::open().await;
    let client = house.client().await;
    contract::begin(&house, "g").await;
    for (era, no_era) in [(0_u16, -1), (1, 32_768)] {
        let set = format!("UPDATE hustings_tenure SET era = {no_era}");
        client.batch_execute(&set).await.unwrap();
        let mut store = house.store(&terms("g", "anna", era), house.port());
        let Err(StoreError::Refused(why)) = store.acquire().await else {
            panic!("era {no_era}: not refused");
        };
        let remedy = format!("UPDATE hustings_tenure SET era = {era} WHERE group_name = 'g'");
        assert!(why.contains(&remedy), "{why}");
        client.batch_execute(&remedy).await.unwrap();
        let mut raised = house.store(&terms("g", "anna", era + 1), house.port());
        assert_eq!(raised.acquire().await.unwrap().count, 1);
        raised.release().await.unwrap();
    }
}

/// An administrator or another program has set the counter. Counting on from there would issue a
/// fence twice.
#[tokio::test]
async fn row_with_counter_out_of_range_is_refused_until_the_era_is_raised() {
    let house = PostgresHouse::open().await;
    let client = house.client().await;
    contract::begin(&house, "g").await;
    let shown = "SELECT concat_ws(' ', era, epoch) FROM hustings_tenure";
    let set = async |epoch: i64| {
        let set = format!("UPDATE hustings_tenure SET epoch = {epoch}");
        client.batch_execute(&set).await.unwrap();
    };
    for (era, epoch) in [(0_u16, -5), (1, 0), (2, i64::MAX)] {
        set(epoch).await;
        let mut store = house.store(&terms("g", "anna", era), house.port());
        for _ in 0..2 {
            let Err(StoreError::Refused(why)) = store.acquire().await else {
                panic!("era {era}, epoch {epoch}: not refused");
            };
            assert!(why.contains("no valid row of group `g`"), "{why}");
            assert!(why.contains("raise `era`"), "{why}");
        }
        assert_eq!(rows(&client, shown).await, [format!("{era} {epoch}")]);
        let mut raised = house.store(&terms("g", "anna", era + 1), house.port());
        assert_eq!(raised.acquire().await.unwrap().count, 1);
        raised.release().await.unwrap();
    }

    // One fence is left in the era.
    set((1 << 48) - 2).await;
    let mut last = house.store(&terms("g", "anna", 3), house.port());
    assert_eq!(last.acquire().await.unwrap().count, (1 << 48) - 1);
    let mut raised = house.store(&terms("g", "ben", 4), house.port());
    let Err(StoreError::Held { .. }) = raised.acquire().await else {
        panic!("anna holds");
    };
    assert_eq!(raised.last_count(), None, "of an era that is not its own");
    last.release().await.unwrap();
    assert_eq!(raised.acquire().await.unwrap().count, 1);
}

/// The row was written by hand, or the server's clock was set back since. No member asks for more
/// than an hour.
#[tokio::test]
async fn row_that_lasts_longer_than_any_ttl_is_reported_with_a_remedy() {
    let house = PostgresHouse::open().await;
    let client = house.client().await;
    let mut store = house.store(&terms("g", "anna", 0), house.port());
    store.acquire().await.unwrap();
    let expire = async |when: &str| {
        let expire =
            format!("UPDATE hustings_tenure SET holder = 'x', incarnation = 0, expires = {when}");
        client.batch_execute(&expire).await.unwrap();
    };
    expire("now() + interval '59 minutes'").await;
    let denied = store.acquire().await.unwrap_err();
    assert!(matches!(denied, StoreError::Held { .. }), "{denied}");
    expire("now() + interval '26 hours'").await;
    let StoreError::Blocked(why) = store.acquire().await.unwrap_err() else {
        panic!("it waits for 26 hours");
    };
    let (_, remedy) = why.split_once("end it: ").expect("it says what to do");
    client.batch_execute(remedy).await.unwrap();
    store.acquire().await.expect("what was advised helps");
}

#[tokio::test]
async fn concurrent_installation_works_and_names_are_escaped() {
    let house = PostgresHouse::open().await;
    let stores = ["anna", "b'e\\n", "carla", "dora"].map(|member| {
        let terms = terms("o'hara\\'; DROP TABLE hustings_tenure; --", member, 0);
        let mut store = house.store(&terms, house.port());
        async move { store.acquire().await }
    });
    let [a, b, c, d] = stores;
    let (a, b, c, d) = tokio::join!(a, b, c, d);
    let answers = [a, b, c, d];
    let granted = answers.iter().flatten().count();
    assert_eq!(granted, 1, "{answers:?}");
    let is_sound = |it: &Result<_, StoreError>| matches!(it, Ok(_) | Err(StoreError::Held { .. }));
    assert!(answers.iter().all(is_sound), "{answers:?}");
    let held = "SELECT group_name FROM hustings_tenure";
    let named = rows(&house.client().await, held).await;
    assert_eq!(named, ["o'hara\\'; DROP TABLE hustings_tenure; --"]);
}

#[tokio::test]
async fn wait_for_a_locked_row_has_a_timeout() {
    let house = PostgresHouse::open().await;
    let mut store = house.store(&terms("g", "anna", 0), house.port());
    store.acquire().await.unwrap();
    let client = house.client().await;
    let lock = "BEGIN; SELECT 1 FROM hustings_tenure FOR UPDATE";
    client.batch_execute(lock).await.unwrap();
    let renewed = tokio::time::timeout(PATIENCE, store.renew()).await;
    let denied = renewed.expect("the server gives up by itself").unwrap_err();
    assert!(
        matches!(&denied, StoreError::Unavailable(why) if why.contains("statement timeout (57014)")),
        "{denied:?}"
    );
    // The session keeps nothing of that attempt, so the next one succeeds.
    client.batch_execute("ROLLBACK").await.unwrap();
    assert!(store.renew().await.is_ok());
}

/// Each refusal is an answer: the store is reachable and names the problem.
#[tokio::test]
async fn postgres_refusals_quote_the_server_and_name_a_remedy() {
    let house = PostgresHouse::open().await;
    let client = house.client().await;
    client.batch_execute("CREATE ROLE guest LOGIN").await.unwrap();
    let port = house.port();
    let refused = async |user: &str, database: &str| {
        let url = format!("postgresql://{user}@127.0.0.1:{port}/{database}");
        let mut store = Postgres::new(&url, &terms("g", "anna", 0)).unwrap();
        let answer = tokio::time::timeout(PATIENCE, store.acquire()).await;
        refusal(answer.expect("it answers").unwrap_err())
    };
    // There are no tables yet, and this user may not create any.
    let why = refused("guest", "postgres").await;
    let said = "refuses: permission denied for schema public (42501): ";
    assert!(why.contains(said) && why.contains("create them"), "{why}");
    client.batch_execute(SCHEMA).await.unwrap();
    let why = refused("guest", "postgres").await;
    let said = "permission denied for table hustings_tenure (42501): grant its role SELECT, INSERT and UPDATE";
    assert!(why.contains(said), "{why}");
    let why = refused("nobody", "postgres").await;
    let said = r#"role "nobody" does not exist (28000): check the name and the password"#;
    assert!(why.contains(said), "{why}");
    let why = refused("hustings", "elsewhere").await;
    let said = r#"database "elsewhere" does not exist (3D000): name an existing database"#;
    assert!(why.contains(said), "{why}");
    let read_only = "ALTER ROLE guest SET default_transaction_read_only = on;
        GRANT ALL ON hustings_tenure TO guest";
    client.batch_execute(read_only).await.unwrap();
    let why = refused("guest", "postgres").await;
    assert!(why.contains("read-only transaction (25006): name the primary server"), "{why}");

    let mut holder = house.store(&terms("g", "ben", 0), port);
    holder.acquire().await.unwrap();
    client.batch_execute("DROP TABLE hustings_tenure").await.unwrap();
    let why = refusal(holder.renew().await.unwrap_err());
    assert!(
        why.contains(r#"relation "hustings_tenure" does not exist (42P01): make sure"#),
        "{why}"
    );
}

fn refusal(denied: StoreError) -> String {
    match denied {
        StoreError::Refused(why) => why,
        other => panic!("no refusal: {other:?}"),
    }
}

/// The server asks for passwords, and the client has none or a wrong one.
#[tokio::test]
async fn missing_or_wrong_password_is_a_refusal() {
    let mut house = PostgresHouse::open().await;
    let client = house.client().await;
    client.batch_execute("ALTER ROLE hustings PASSWORD 'right'").await.unwrap();
    let data = rows(&client, "SHOW hba_file").await.remove(0);
    std::fs::write(data, "host all all 127.0.0.1/32 scram-sha-256\n").unwrap();
    client.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    house.server().kill();
    house.server().restart();
    let port = house.port();
    let acquired = async |login: &str| {
        let url = format!("postgresql://{login}@127.0.0.1:{port}/postgres");
        let mut store = Postgres::new(&url, &terms("g", "anna", 0)).unwrap();
        // The server may still be starting.
        loop {
            match store.acquire().await {
                Err(StoreError::Unavailable(_)) => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                answer => return answer,
            }
        }
    };
    for (login, said) in [
        ("hustings:wrong", r#"password authentication failed for user "hustings" (28P01)"#),
        ("hustings", "password missing"),
    ] {
        let answer = tokio::time::timeout(PATIENCE, acquired(login)).await;
        let why = refusal(answer.expect("it answers").unwrap_err());
        assert!(why.contains(said) && why.contains("check the name and the password"), "{why}");
    }
    let answer = tokio::time::timeout(PATIENCE, acquired("hustings:right")).await;
    answer.expect("it answers").expect("it is let in");
}

/// The end of a session aborts the request. It does not mean that the store would refuse it.
#[tokio::test]
async fn terminated_session_is_not_a_refusal() {
    let house = PostgresHouse::open().await;
    let mut store = house.store(&terms("g", "anna", 0), house.port());
    store.acquire().await.unwrap();
    let client = house.client().await;
    client.batch_execute("BEGIN; SELECT 1 FROM hustings_tenure FOR UPDATE").await.unwrap();
    let ends = async {
        let other = house.client().await;
        let end =
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        while rows(&other, end).await.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    let both = async { tokio::join!(store.renew(), ends) };
    let (renewed, ()) = tokio::time::timeout(PATIENCE, both).await.unwrap();
    let denied = renewed.unwrap_err();
    assert!(
        matches!(&denied, StoreError::Unavailable(why) if why.contains("(57P01)")),
        "{denied:?}"
    );
}
