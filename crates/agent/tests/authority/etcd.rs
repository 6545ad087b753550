//! The contract with a real etcd.

use std::path::Path;
use std::process::Command;

use etcd_client::Client;
use hustings_agent::authority::StoreTerms;
use hustings_agent::authority::etcd::{Etcd, EtcdConfig};
use hustings_agent::authority::store::Store;
use tokio::task::JoinSet;

use crate::contract;
use crate::house::House;
use crate::member::terms;
use crate::process::{Home, Server, find_program, free_port};

struct EtcdHouse {
    server: Server,
    port: u16,
    home: Home,
}

impl EtcdHouse {
    fn address(port: u16) -> String {
        format!("http://127.0.0.1:{port}")
    }

    async fn client(&self) -> Client {
        Client::connect([Self::address(self.port)], None)
            .await
            .unwrap()
    }
}

impl House for EtcdHouse {
    async fn open() -> Self {
        let program = find_program("etcd", "etcd-server", Vec::new());
        let home = Home::new();
        let (port, peers) = (free_port(), free_port());
        let (clients, peers) = (Self::address(port), Self::address(peers));
        let data = home.path("data");
        let command = [
            program.to_str().unwrap(),
            "--data-dir",
            data.to_str().unwrap(),
            "--listen-client-urls",
            &clients,
            "--advertise-client-urls",
            &clients,
            "--listen-peer-urls",
            &peers,
            "--initial-advertise-peer-urls",
            &peers,
            "--initial-cluster",
            &format!("default={peers}"),
        ];
        let command = command.map(str::to_owned).to_vec();
        let house = Self {
            server: Server::start(command),
            port,
            home,
        };
        house.ready().await;
        house
    }

    async fn answers(&self) -> bool {
        self.client().await.get("ready", None).await.is_ok()
    }

    fn port(&self) -> u16 {
        self.port
    }

    fn server(&mut self) -> &mut Server {
        &mut self.server
    }

    fn store(&self, terms: &StoreTerms, port: u16) -> impl Store + use<> {
        let config = EtcdConfig {
            endpoints: vec![Self::address(port)],
            login: None,
            ca: None,
        };
        Etcd::new(config, terms).unwrap()
    }

    async fn take_away(&self, group: &str) {
        let key = format!("/hustings/{group}/tenure");
        let deleted = self.client().await.delete(key, None).await.unwrap();
        assert_eq!(deleted.deleted(), 1);
    }

    async fn copy(&mut self) {
        self.server.kill();
        copy_directory(&self.home.path("data"), &self.home.path("copy"));
        self.restart().await;
    }

    async fn restore(&mut self) {
        self.server.kill();
        std::fs::remove_dir_all(self.home.path("data")).unwrap();
        std::fs::rename(self.home.path("copy"), self.home.path("data")).unwrap();
        self.restart().await;
    }

    async fn litter(&self) -> Vec<String> {
        let leases = self.client().await.leases().await.unwrap();
        let leases = leases.leases().iter();
        leases
            .map(|lease| format!("lease {:x}", lease.id()))
            .collect()
    }
}

fn copy_directory(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.unwrap().success());
}

#[tokio::test]
async fn etcd_in_peace() {
    contract::in_peace::<EtcdHouse>().await;
}

#[tokio::test]
async fn etcd_killed_and_restarted() {
    contract::killed::<EtcdHouse>().await;
}

#[tokio::test]
async fn etcd_paused_and_resumed() {
    contract::paused::<EtcdHouse>().await;
}

#[tokio::test]
async fn etcd_restored_from_an_old_copy() {
    contract::restored::<EtcdHouse>().await;
}

#[tokio::test]
async fn those_who_are_refused_leave_no_lease_behind() {
    let house = EtcdHouse::open().await;
    for round in 0..5 {
        let group = format!("g{round}");
        let names = ["anna", "ben", "carla", "dora", "emil", "fred"];
        let mut attempts = JoinSet::new();
        for name in names {
            let mut store = house.store(&terms(&group, name, 0), house.port());
            attempts.spawn(async move { store.acquire().await.is_ok() });
        }
        let answers = attempts.join_all().await;
        assert_eq!(answers.iter().filter(|is_granted| **is_granted).count(), 1);
        let key = format!("/hustings/{group}/tenure");
        let found = house.client().await.get(key, None).await.unwrap();
        let lease = found.kvs()[0].lease();
        assert_eq!(house.litter().await, [format!("lease {lease:x}")]);
        house.client().await.lease_revoke(lease).await.unwrap();
    }
}
