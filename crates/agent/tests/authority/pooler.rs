//! The contract with PostgreSQL behind a pooler that gives each transaction any of its sessions.

use std::fs;

use hustings_agent::authority::StoreTerms;
use hustings_agent::authority::store::Store;
use tokio::net::TcpStream;

use crate::contract;
use crate::house::House;
use crate::postgres::PostgresHouse;
use hustings_testkit::{Scratch, Server, as_nobody, find_program, free_port};

struct PoolerHouse {
    postgres: PostgresHouse,
    pooler: Server,
    port: u16,
    _home: Scratch,
}

impl House for PoolerHouse {
    async fn open() -> Self {
        let postgres = PostgresHouse::open().await;
        let program = find_program("pgbouncer", "pgbouncer", vec!["/usr/sbin".into()]);
        let home = Scratch::new("hustings-authority");
        let (port, behind) = (free_port(), postgres.port());
        let config = home.join("pgbouncer.ini");
        // There are fewer sessions than members, so members have to share them.
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={behind} user=hustings\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = any\n\
             unix_socket_dir =\npool_mode = transaction\ndefault_pool_size = 3\n"
        );
        fs::write(&config, settings).unwrap();
        let mut command = as_nobody(&config);
        command.extend([program, config].map(|it| it.to_str().unwrap().to_owned()));
        let mut house =
            Self { postgres, pooler: Server::start(command, home.join("log")), port, _home: home };
        house.ready().await;
        house
    }

    async fn answers(&self) -> bool {
        TcpStream::connect(("127.0.0.1", self.port)).await.is_ok()
    }

    fn port(&self) -> u16 {
        self.port
    }

    fn server(&mut self) -> &mut Server {
        &mut self.pooler
    }

    fn store(&self, terms: &StoreTerms, port: u16) -> impl Store + use<> {
        self.postgres.store(terms, port)
    }

    fn setting(&self) -> String {
        PostgresHouse::setting_by(self.port)
    }

    async fn take_away(&self, group: &str) {
        self.postgres.take_away(group).await;
    }

    async fn end(&self, group: &str) {
        self.postgres.end(group).await;
    }

    async fn copy(&mut self) {
        self.postgres.copy().await;
    }

    async fn restore(&mut self) {
        self.postgres.restore().await;
    }

    async fn litter(&self) -> Vec<String> {
        self.postgres.litter().await
    }
}

#[tokio::test]
async fn postgres_behind_a_pooler_without_faults() {
    contract::in_peace::<PoolerHouse>().await;
}

#[tokio::test]
async fn postgres_behind_a_pooler_that_is_killed_and_restarted() {
    contract::killed::<PoolerHouse>().await;
}
