//! The contract with a real etcd.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use hustings_agent::authority::config::EtcdConfig;
use hustings_agent::authority::etcd::Etcd;
use hustings_agent::authority::store::{Store, StoreError};
use hustings_agent::authority::{Request, StoreTerms};
use hustings_agent::clock;
use tokio::task::JoinSet;

use crate::house::House;
use crate::member::{ANSWER_WITHIN, Group, Member, PATIENCE, TTL, first_to_gain, pass, terms};
use crate::{common, contract};
use hustings_testkit::{Scratch, Server, etcd_server, find_program, free_port};

/// An etcd cluster. Members have only some of its servers as endpoints, the first included.
struct EtcdHouse<const SERVERS: usize, const ENDPOINTS: usize> {
    servers: Vec<Server>,
    ports: Vec<u16>,
    home: Scratch,
}

type Alone = EtcdHouse<1, 1>;

fn address(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

impl<const SERVERS: usize, const ENDPOINTS: usize> EtcdHouse<SERVERS, ENDPOINTS> {
    /// Runs `etcdctl`, which shares no code with the tested client, and returns its output.
    async fn etcdctl(&self, arguments: &[&str]) -> String {
        let (succeeded, said) = self.try_etcdctl(arguments).await;
        assert!(succeeded, "etcdctl {arguments:?}: {said}");
        said
    }

    async fn try_etcdctl(&self, arguments: &[&str]) -> (bool, String) {
        let mut command = Command::new(find_program("etcdctl", "etcd-client", Vec::new()));
        command
            .env("ETCDCTL_API", "3")
            .args(["--endpoints", &address(self.port())])
            .args(["--dial-timeout=2s", "--command-timeout=2s"])
            .args(arguments);
        // Members run on this thread.
        let ended = tokio::task::spawn_blocking(move || command.output());
        let output = ended.await.unwrap().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        (output.status.success(), said.trim_end().to_owned())
    }

    /// Kills all servers, applies `act` to their data, and restarts them.
    async fn with_all_killed(&mut self, act: impl Fn(&Scratch)) {
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
        let home = Scratch::new("hustings-authority");
        let mut house =
            Self { servers: Vec::new(), ports: (0..SERVERS).map(|_| free_port()).collect(), home };
        let peer_table: Vec<String> = (0..SERVERS).map(|_| address(free_port())).collect();
        let named = peer_table.iter().enumerate();
        let cluster: Vec<String> = named.map(|(nth, peer)| format!("s{nth}={peer}")).collect();
        std::fs::create_dir(house.home.join("data")).unwrap();
        for (nth, peer) in peer_table.iter().enumerate() {
            let clients = address(house.ports[nth]);
            let data = house.home.join("data").join(nth.to_string());
            let command =
                etcd_server(&format!("s{nth}"), &data, &clients, peer, &cluster.join(","));
            let log = house.home.join(&format!("log-{nth}"));
            house.servers.push(Server::start(command, log));
        }
        house.ready().await;
        house
    }

    async fn answers(&self) -> bool {
        self.try_etcdctl(&["get", "ready"]).await.0
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
        assert_eq!(self.etcdctl(&["del", &key]).await, "1");
    }

    async fn end(&self, group: &str) {
        self.take_away(group).await;
    }

    async fn copy(&mut self) {
        let copy = |home: &Scratch| copy_directory(&home.join("data"), &home.join("copy"));
        self.with_all_killed(copy).await;
    }

    async fn restore(&mut self) {
        let put_back = |home: &Scratch| {
            std::fs::remove_dir_all(home.join("data")).unwrap();
            std::fs::rename(home.join("copy"), home.join("data")).unwrap();
        };
        self.with_all_killed(put_back).await;
    }

    async fn litter(&self) -> Vec<String> {
        let listed = self.etcdctl(&["lease", "list"]).await;
        // The first line holds the number of leases.
        let leases = listed.lines().skip(1);
        leases.map(|lease| format!("lease {lease}")).collect()
    }
}

fn copy_directory(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.unwrap().success());
}

#[tokio::test]
async fn etcd_without_faults() {
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
async fn deleted_etcd_key_allows_two_holders_for_a_third_of_a_ttl() {
    contract::ended_by_hand::<Alone>().await;
}

#[tokio::test]
async fn etcd_restored_from_an_old_copy() {
    contract::restored::<Alone>().await;
}

#[tokio::test]
async fn etcd_restored_from_an_old_copy_under_agents_that_never_asked() {
    contract::restored_under_agents::<Alone>("etcd").await;
}

#[tokio::test]
async fn agents_with_state_recover_from_etcd_set_back_by_one_tenure() {
    contract::set_back_by_one_tenure::<Alone>("etcd").await;
}

#[tokio::test]
async fn agents_recover_from_an_etcd_copy_with_a_live_lease() {
    contract::set_back_to_a_live_lease::<Alone>("etcd").await;
}

#[tokio::test]
async fn agents_with_etcd_without_faults() {
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
async fn refused_members_leave_no_lease_behind() {
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
        let found = house.etcdctl(&["get", &key, "-w", "json"]).await;
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        let lease = format!("{:016x}", found["kvs"][0]["lease"].as_i64().unwrap());
        assert_eq!(house.litter().await, [format!("lease {lease}")]);
        house.etcdctl(&["lease", "revoke", &lease]).await;
    }
}

/// Members know one of three servers, and the other two continue without it.
#[tokio::test]
async fn etcd_of_three_servers_without_faults() {
    contract::in_peace::<EtcdHouse<3, 1>>().await;
}

#[tokio::test]
async fn etcd_of_three_servers_whose_known_endpoint_is_killed() {
    contract::killed::<EtcdHouse<3, 1>>().await;
}

#[tokio::test]
async fn etcd_of_three_servers_whose_known_endpoint_is_paused() {
    contract::paused::<EtcdHouse<3, 1>>().await;
}

/// Each server is killed in turn, including the leader. Tenure continues, but not without a
/// majority of the servers.
#[tokio::test]
async fn etcd_of_three_servers_survives_the_loss_of_any_one() {
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
async fn two_etcd_clusters_with_equal_setup_have_distinct_identities() {
    let houses = [Alone::open().await, Alone::open().await];
    contract::told_apart(&houses).await;
}

/// Revisions rise in every era, so fences would fall from an era to an earlier one.
#[tokio::test]
async fn member_in_an_earlier_era_gets_no_tenure_from_etcd() {
    let house = Alone::open().await;
    let store = |name, era| house.store(&terms("g", name, era), house.port());
    let (mut behind, mut ahead) = (store("ben", 0), store("anna", 1));
    behind.acquire().await.unwrap();
    behind.release().await.unwrap();
    ahead.acquire().await.unwrap();
    ahead.release().await.unwrap();
    // Only the era is left of the tenure. A member that has seen nothing is refused too.
    for mut behind in [behind, store("carla", 0)] {
        let why = "group `g` is in era 1: raise `era` of this member to that";
        let denied = behind.acquire().await.unwrap_err();
        assert_eq!(denied, StoreError::Refused(why.to_owned()));
    }
    assert_eq!(house.litter().await, Vec::<String>::new());
    assert!(ahead.acquire().await.is_ok());
}

/// The transaction that grants tenure also writes the era, because another member may begin an era
/// between the read and the grant.
#[tokio::test]
async fn era_that_begins_between_read_and_grant_is_noticed() {
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

/// An administrator or another program has written the key without a lease. Whatever its value, no
/// member acquires tenure until the key is deleted.
#[tokio::test]
async fn key_without_a_lease_shuts_members_out_with_a_remedy() {
    let house = Alone::open().await;
    let group = Group::new(&house, "g");
    let key = "/hustings/g/tenure";
    house.etcdctl(&["put", key, "ben 0123456789abcdef"]).await;
    let mut member = group.member("anna").await;
    member.ask(Request::Acquire);
    let why = member.refused("has no lease").await;
    assert!(why.contains("`etcdctl del /hustings/g/tenure`"), "{why}");
    pass(TTL * 2).await;
    assert_eq!(member.held(), None);
    assert_eq!(house.litter().await, Vec::<String>::new());
    house.etcdctl(&["del", key]).await;
    let deleted_at = clock::now();
    let fence = member.gained().await;
    let took = clock::now() - deleted_at;
    assert!(took < TTL, "it watches the key: {took}");

    // This replaces the key that the member holds.
    let value = house.etcdctl(&["get", key, "--print-value-only"]).await;
    house.etcdctl(&["put", key, &value]).await;
    member.lost(fence).await;
    member.refused("has no lease").await;
    house.etcdctl(&["del", key]).await;
    assert!(member.gained().await > fence);
    contract::leave(vec![member]).await;
    group.watcher.judge();
}

/// Each refusal is an answer: etcd is reachable and names the problem.
#[tokio::test]
async fn etcd_refusals_quote_the_server_and_name_a_remedy() {
    let house = Alone::open().await;
    house.etcdctl(&["user", "add", "root:secret"]).await;
    house.etcdctl(&["role", "add", "root"]).await;
    house.etcdctl(&["user", "grant-role", "root", "root"]).await;
    house.etcdctl(&["user", "add", "guest:secret"]).await;
    let login = |user: &str, password: &str| (user.to_owned(), password.to_owned());
    let store = |login| {
        let config = EtcdConfig { endpoints: vec![address(house.port())], login, ca: None };
        Etcd::new(config, &terms("g", "anna", 0)).unwrap()
    };
    let refused = async |login| match store(login).acquire().await.unwrap_err() {
        StoreError::Refused(why) => why,
        other => panic!("no refusal: {other:?}"),
    };
    let why = refused(Some(login("guest", "secret"))).await;
    assert!(why.contains("authentication is not enabled: set `etcd-user`"), "{why}");

    house.etcdctl(&["auth", "enable"]).await;
    let why = refused(None).await;
    assert!(why.contains("user name is empty: set `etcd-user`"), "{why}");
    let why = refused(Some(login("guest", "wrong"))).await;
    assert!(why.contains("invalid user ID or password: set `etcd-user`"), "{why}");
    let why = refused(Some(login("guest", "secret"))).await;
    let said = "permission denied: grant its user (`etcd-user`) read and write access to all keys that begin with `/hustings/g/`";
    assert!(why.contains(said), "{why}");

    // The advice works on a connection that was refused before.
    let mut guest = store(Some(login("guest", "secret")));
    assert!(guest.acquire().await.is_err());
    let as_root = async |arguments: &[&str]| {
        let login: &[&str] = &["--user", "root:secret"];
        house.etcdctl(&[login, arguments].concat()).await
    };
    as_root(&["role", "add", "hustings"]).await;
    let keys = ["--prefix=true", "hustings", "readwrite", "/hustings/g/"];
    as_root(&[&["role", "grant-permission"][..], &keys].concat()).await;
    as_root(&["user", "grant-role", "guest", "hustings"]).await;
    guest.release().await.unwrap();
    guest.acquire().await.expect("it may now");
}

/// Runs `openssl req`, which creates a key and a certificate of that name in `home`.
fn make_certificate(home: &Scratch, name: &str, arguments: &[&str]) {
    let [key, certificate] = [".key", ".pem"].map(|end| home.join(&format!("{name}{end}")));
    let mut command = Command::new(find_program("openssl", "openssl", Vec::new()));
    command
        .args(["req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"])
        .args(["-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-subj", &format!("/CN={name}")])
        .args([Path::new("-keyout"), &key])
        .args([Path::new("-out"), &certificate])
        .args(arguments);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[tokio::test]
async fn etcd_over_tls_is_trusted_only_by_its_ca() {
    let home = Scratch::new("hustings-authority");
    let path = |name: &str| home.join(name).to_str().unwrap().to_owned();
    make_certificate(&home, "ca", &[]);
    make_certificate(&home, "stranger", &[]);
    let signed = [
        "-CA",
        &path("ca.pem"),
        "-CAkey",
        &path("ca.key"),
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-addext",
        "basicConstraints=critical,CA:FALSE",
    ];
    make_certificate(&home, "server", &signed);
    let clients = format!("https://127.0.0.1:{}", free_port());
    let peer_table = address(free_port());
    let cluster = format!("default={peer_table}");
    let data = home.join("data");
    let mut command = etcd_server("default", &data, &clients, &peer_table, &cluster);
    let keys = ["--cert-file", &path("server.pem"), "--key-file", &path("server.key")];
    command.extend(keys.map(str::to_owned));
    let mut server = Server::start(command, home.join("log"));
    let store = |ca: &str| {
        let config =
            EtcdConfig { endpoints: vec![clients.clone()], login: None, ca: Some(home.join(ca)) };
        Etcd::new(config, &terms("g", "anna", 0)).unwrap()
    };
    let mut trusting = store("ca.pem");
    let started = Instant::now();
    while let Err(denied) = trusting.acquire().await {
        let account = server.account();
        assert!(started.elapsed() < PATIENCE, "{denied:?}:\n{account}");
        pass(ANSWER_WITHIN).await;
    }
    trusting.renew().await.unwrap();
    trusting.release().await.unwrap();
    let denied = store("stranger.pem").acquire().await.unwrap_err();
    assert!(matches!(denied, StoreError::Unavailable(_)), "{denied:?}");
}
