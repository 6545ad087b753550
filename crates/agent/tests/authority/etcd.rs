//! The contract with a real etcd.

use std::path::Path;
use std::process::Command;

use etcd_client::{Client, ConnectOptions, Permission};
use hustings_agent::authority::etcd::{Etcd, EtcdConfig, Login};
use hustings_agent::authority::store::{Denied, Store};
use hustings_agent::authority::{Request, StoreTerms};
use hustings_agent::clock;
use tokio::task::JoinSet;

use crate::house::House;
use crate::member::{Group, Member, TTL, first_to_gain, pass, terms};
use crate::process::{Home, Server, find_program, free_port};
use crate::{common, contract};

/// An etcd of so many servers, of which members have so many for endpoints: the first, and some of the others.
struct EtcdHouse<const SERVERS: usize, const ENDPOINTS: usize> {
    servers: Vec<Server>,
    ports: Vec<u16>,
    home: Home,
}

type Alone = EtcdHouse<1, 1>;

fn address(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

impl<const SERVERS: usize, const ENDPOINTS: usize> EtcdHouse<SERVERS, ENDPOINTS> {
    async fn client(&self) -> Client {
        Client::connect([address(self.port())], None).await.unwrap()
    }

    /// All of it ends, something is done to what it has written, and it comes back.
    async fn with_all_killed(&mut self, act: impl Fn(&Home)) {
        for server in &mut self.servers {
            server.kill();
        }
        act(&self.home);
        for server in &mut self.servers {
            server.restart();
        }
        self.ready().await;
    }
}

impl<const SERVERS: usize, const ENDPOINTS: usize> House for EtcdHouse<SERVERS, ENDPOINTS> {
    async fn open() -> Self {
        let program = find_program("etcd", "etcd-server", Vec::new());
        let home = Home::new();
        let mut house = Self {
            servers: Vec::new(),
            ports: (0..SERVERS).map(|_| free_port()).collect(),
            home,
        };
        let peers: Vec<String> = (0..SERVERS).map(|_| address(free_port())).collect();
        let named = peers.iter().enumerate();
        let cluster: Vec<String> = named.map(|(nth, peer)| format!("s{nth}={peer}")).collect();
        std::fs::create_dir(house.home.path("data")).unwrap();
        for (nth, peer) in peers.iter().enumerate() {
            let clients = address(house.ports[nth]);
            let data = house.home.path("data").join(nth.to_string());
            let command = [
                program.to_str().unwrap(),
                "--name",
                &format!("s{nth}"),
                "--data-dir",
                data.to_str().unwrap(),
                "--listen-client-urls",
                &clients,
                "--advertise-client-urls",
                &clients,
                "--listen-peer-urls",
                peer,
                "--initial-advertise-peer-urls",
                peer,
                "--initial-cluster",
                &cluster.join(","),
            ];
            let command = command.map(str::to_owned).to_vec();
            let log = house.home.path(&format!("log-{nth}"));
            house.servers.push(Server::start(command, log));
        }
        house.ready().await;
        house
    }

    async fn answers(&self) -> bool {
        self.client().await.get("ready", None).await.is_ok()
    }

    fn port(&self) -> u16 {
        self.ports[0]
    }

    fn server(&mut self) -> &mut Server {
        &mut self.servers[0]
    }

    fn account(&mut self) -> String {
        let accounts: Vec<String> = self.servers.iter_mut().map(Server::account).collect();
        accounts.join("\n\n")
    }

    fn store(&self, terms: &StoreTerms, port: u16) -> impl Store + use<SERVERS, ENDPOINTS> {
        let ports = [port].into_iter().chain(self.ports.iter().skip(1).copied());
        let config = EtcdConfig {
            endpoints: ports.take(ENDPOINTS).map(address).collect(),
            login: None,
            ca: None,
        };
        Etcd::new(config, terms).unwrap()
    }

    fn setting(&self) -> String {
        format!("etcd = [\"{}\"]", address(self.port()))
    }

    async fn take_away(&self, group: &str) {
        let key = format!("/hustings/{group}/tenure");
        let deleted = self.client().await.delete(key, None).await.unwrap();
        assert_eq!(deleted.deleted(), 1);
    }

    async fn end(&self, group: &str) {
        self.take_away(group).await;
    }

    async fn copy(&mut self) {
        let copy = |home: &Home| copy_directory(&home.path("data"), &home.path("copy"));
        self.with_all_killed(copy).await;
    }

    async fn restore(&mut self) {
        let put_back = |home: &Home| {
            std::fs::remove_dir_all(home.path("data")).unwrap();
            std::fs::rename(home.path("copy"), home.path("data")).unwrap();
        };
        self.with_all_killed(put_back).await;
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
    contract::in_peace::<Alone>().await;
}

#[tokio::test]
async fn etcd_killed_and_restarted() {
    contract::killed::<Alone>().await;
}

#[tokio::test]
async fn etcd_paused_and_resumed() {
    contract::paused::<Alone>().await;
}

#[tokio::test]
async fn a_key_of_etcd_that_is_deleted_lets_two_hold_for_a_third_of_a_ttl_at_most() {
    contract::ended_by_hand::<Alone>().await;
}

#[tokio::test]
async fn etcd_restored_from_an_old_copy() {
    contract::restored::<Alone>().await;
}

#[tokio::test]
async fn etcd_restored_from_an_old_copy_under_agents_that_only_listened() {
    contract::restored_under_agents::<Alone>("etcd").await;
}

#[tokio::test]
async fn etcd_set_back_by_one_tenure_is_followed_by_agents_with_state() {
    contract::set_back_by_one_tenure::<Alone>("etcd").await;
}

#[tokio::test]
async fn agents_with_etcd_in_peace() {
    common::in_peace::<Alone>("etcd").await;
}

#[tokio::test]
async fn agents_whose_etcd_is_killed_and_restarted() {
    common::killed::<Alone>("etcd").await;
}

#[tokio::test]
async fn agents_whose_etcd_is_paused_and_resumed() {
    common::paused::<Alone>("etcd").await;
}

#[tokio::test]
async fn those_who_are_refused_leave_no_lease_behind() {
    let house = Alone::open().await;
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

/// Members know one of three servers, and the other two go on without it.
#[tokio::test]
async fn etcd_of_three_servers_in_peace() {
    contract::in_peace::<EtcdHouse<3, 1>>().await;
}

#[tokio::test]
async fn etcd_of_three_servers_of_which_the_one_that_is_known_is_killed() {
    contract::killed::<EtcdHouse<3, 1>>().await;
}

#[tokio::test]
async fn etcd_of_three_servers_of_which_the_one_that_is_known_is_paused() {
    contract::paused::<EtcdHouse<3, 1>>().await;
}

/// Each of the servers is killed in turn, whichever of them leads: there is a holder all the same, but not without a
/// majority of them.
#[tokio::test]
async fn etcd_of_three_servers_bears_the_loss_of_any_of_them() {
    let mut house = EtcdHouse::<3, 3>::open().await;
    let (mut members, watcher, _, _) = contract::held_by_one_of_three(&house).await;
    let holding = |members: &[Member]| members.iter().filter(|it| it.held().is_some()).count();
    for nth in 0..3 {
        house.servers[nth].kill();
        pass(TTL * 3).await;
        assert_eq!(holding(&members), 1, "without server {nth}");
        house.servers[nth].restart();
        pass(TTL).await;
    }
    assert_eq!(holding(&members), 1);
    for server in &mut house.servers[1..] {
        server.kill();
    }
    pass(TTL * 2).await;
    assert_eq!(holding(&members), 0);
    for member in &mut members {
        member.forget_words();
    }
    for server in &mut house.servers[1..] {
        server.restart();
    }
    first_to_gain(&mut members).await;
    contract::leave(members).await;
    watcher.judge();
}

#[tokio::test]
async fn one_etcd_is_told_from_another_that_was_set_up_alike() {
    let houses = [Alone::open().await, Alone::open().await];
    contract::told_apart(&houses).await;
}

/// Revisions rise whatever the era, so that fences would fall from an era to an earlier one.
#[tokio::test]
async fn who_was_left_in_an_earlier_era_gets_no_tenure_of_etcd() {
    let house = Alone::open().await;
    let store = |name, era| house.store(&terms("g", name, era), house.port());
    let (mut behind, mut ahead) = (store("ben", 0), store("anna", 1));
    behind.acquire().await.unwrap();
    behind.release().await.unwrap();
    ahead.acquire().await.unwrap();
    ahead.release().await.unwrap();
    // Nothing is left of the tenure but the era, for one that has seen nothing of it too.
    for mut behind in [behind, store("carla", 0)] {
        let why = "group `g` is in era 1: raise `era` of this member to it";
        let denied = behind.acquire().await.unwrap_err();
        assert_eq!(denied, Denied::Refused(why.to_owned()));
    }
    assert_eq!(house.litter().await, Vec::<String>::new());
    assert!(ahead.acquire().await.is_ok());
}

/// The era is written in the transaction that grants: between a look and a grant another may have begun one.
#[tokio::test]
async fn an_era_that_begins_between_the_look_and_the_grant_is_noticed() {
    let house = Alone::open().await;
    for round in 0..20 {
        let group = format!("g{round}");
        let mut attempts = JoinSet::new();
        for era in 0..4 {
            let mut store = house.store(&terms(&group, &format!("m{era}"), era), house.port());
            attempts.spawn(async move {
                let grant = store.acquire().await.ok()?;
                store.release().await.unwrap();
                Some((grant.count, era))
            });
        }
        let mut granted: Vec<(u64, u16)> =
            attempts.join_all().await.into_iter().flatten().collect();
        granted.sort_unstable();
        assert!(granted.is_sorted_by_key(|(_, era)| *era), "{granted:?}");
        assert!(!granted.is_empty());
    }
}

/// A person, or another program, has written the key without a lease. Whatever it says, and though it were what a member
/// writes there, nobody gets tenure until it is deleted.
#[tokio::test]
async fn a_key_without_a_lease_shuts_members_out_and_they_say_what_to_do() {
    let house = Alone::open().await;
    let group = Group::new(&house, "g");
    let key = "/hustings/g/tenure";
    let mut client = house.client().await;
    client.put(key, "ben 0123456789abcdef", None).await.unwrap();
    let mut member = group.member("anna").await;
    member.ask(Request::Acquire);
    let why = member.refused("has no lease").await;
    assert!(why.contains("`etcdctl del /hustings/g/tenure`"), "{why}");
    pass(TTL * 2).await;
    assert_eq!(member.held(), None);
    assert_eq!(house.litter().await, Vec::<String>::new());
    client.delete(key, None).await.unwrap();
    let deleted_at = clock::now();
    let fence = member.gained().await;
    let took = clock::now() - deleted_at;
    assert!(took < TTL, "it watches the key: {took}");

    // In place of what this member holds.
    let found = client.get(key, None).await.unwrap();
    let value = found.kvs()[0].value().to_vec();
    client.put(key, value, None).await.unwrap();
    member.lost(fence).await;
    member.refused("has no lease").await;
    client.delete(key, None).await.unwrap();
    assert!(member.gained().await > fence);
    contract::leave(vec![member]).await;
    group.watcher.judge();
}

/// Each is an answer: etcd is there, and says what is wrong.
#[tokio::test]
async fn what_etcd_refuses_is_told_in_its_own_words_and_with_what_to_do() {
    let house = Alone::open().await;
    let mut client = house.client().await;
    client.user_add("root", "secret", None).await.unwrap();
    client.user_grant_role("root", "root").await.unwrap();
    client.user_add("guest", "secret", None).await.unwrap();
    let login = |user: &str, password: &str| Login {
        user: user.to_owned(),
        password: password.to_owned(),
    };
    let store = |login| {
        let config = EtcdConfig {
            endpoints: vec![address(house.port())],
            login,
            ca: None,
        };
        Etcd::new(config, &terms("g", "anna", 0)).unwrap()
    };
    let refused = async |login| match store(login).acquire().await.unwrap_err() {
        Denied::Refused(why) => why,
        other => panic!("no refusal: {other:?}"),
    };
    let why = refused(Some(login("guest", "secret"))).await;
    assert!(
        why.contains("authentication is not enabled: see that `etcd-user`"),
        "{why}"
    );

    client.auth_enable().await.unwrap();
    let why = refused(None).await;
    assert!(
        why.contains("user name is empty: see that `etcd-user`"),
        "{why}"
    );
    let why = refused(Some(login("guest", "wrong"))).await;
    assert!(
        why.contains("invalid user ID or password: see that `etcd-user`"),
        "{why}"
    );
    let why = refused(Some(login("guest", "secret"))).await;
    let said = "permission denied: let its user (`etcd-user`) read and write all keys that begin with `/hustings/g/`";
    assert!(why.contains(said), "{why}");

    // What was advised helps, on a line that was refused before.
    let mut guest = store(Some(login("guest", "secret")));
    assert!(guest.acquire().await.is_err());
    let options = ConnectOptions::new().with_user("root", "secret");
    let mut root = Client::connect([address(house.port())], Some(options))
        .await
        .unwrap();
    root.role_add("hustings").await.unwrap();
    let keys = Permission::read_write("/hustings/g/").with_prefix();
    root.role_grant_permission("hustings", keys).await.unwrap();
    root.user_grant_role("guest", "hustings").await.unwrap();
    guest.release().await.unwrap();
    guest.acquire().await.expect("it may now");
}
