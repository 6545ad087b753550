//! Agents that run, or are started, beside `hustings voter init`.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;

use hustings_agent::authority::voter_file::{VoterFile, VoterLock};
use hustings_agent::clock;
use hustings_agent::config::{MULTICAST, QuorumConfig};
use hustings_protocol::Duration;
use hustings_protocol::tenure::Durable;
use socket2::{Domain, Socket, Type};

use crate::process::{self, hustings};
use crate::tenure::{Scene, assert_refused};

/// The log line of an agent that finds its voter locked.
const WAITS: &str = "this voter is being initialised, or its agent runs: waiting 10 s at most";

fn quorum() -> QuorumConfig {
    QuorumConfig {
        voters: ["a", "b", "c"].map(str::to_owned).into(),
        ttl: Duration::from_secs(1),
        state: None, // not needed here
    }
}

/// The lock of voter `a`, as `voter init` holds it while it queries the others.
fn taken_place(scene: &Scene) -> VoterLock {
    let quorum = quorum();
    let vote = quorum.vote(&scene.group, "a");
    VoterLock::take(&scene.home.join("a"), vote).expect("nobody has it")
}

/// A loopback address on which no other process uses this port.
fn own_host(number: u8) -> String {
    let pid = std::process::id();
    let (high, low) = (64 + (pid >> 8) % 128, pid % 256);
    format!("127.{high}.{low}.{number}:27500")
}

/// Records every multicast of any member on this machine within `span`.
fn record(span: Duration) -> Vec<Vec<u8>> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).expect("a socket");
    socket.set_reuse_address(true).expect("as agents do");
    socket.bind(&MULTICAST.into()).expect("as agents do");
    let socket = UdpSocket::from(socket);
    let SocketAddr::V4(group) = MULTICAST else { panic!("an IPv4 address") };
    let joined = socket.join_multicast_v4(group.ip(), &Ipv4Addr::LOCALHOST);
    joined.expect("as agents do");
    let pause = std::time::Duration::from_millis(100);
    socket.set_read_timeout(Some(pause)).expect("a timeout");
    let (mut frames, until) = (Vec::new(), clock::now() + span);
    while clock::now() < until {
        let mut frame = vec![0; 2_048];
        if let Ok(length) = socket.recv(&mut frame) {
            frame.truncate(length);
            frames.push(frame);
        }
    }
    frames
}

/// Sends the frames to `to` repeatedly while `act` runs.
fn replaying<T>(frames: &[Vec<u8>], to: &str, act: impl FnOnce() -> T) -> T {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let pause = std::time::Duration::from_millis(20);
    socket.set_read_timeout(Some(pause)).expect("a timeout");
    thread::scope(|scope| {
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || {
            while let Err(std::sync::mpsc::TryRecvError::Empty) = is_done.try_recv() {
                for frame in frames {
                    let _ = socket.send_to(frame, to); // the receiver may not be there yet
                }
                let _ = socket.recv(&mut [0]); // waits for the time-out
            }
        });
        let outcome = act();
        drop(done);
        outcome
    })
}

#[test]
fn agent_that_waits_for_its_voter_ends_on_a_signal() {
    let scene = Scene::founded("told-to-end");
    let _place = taken_place(&scene);
    let mut agent = process::start(&format!("agent --events --http off {}", scene.options("a")));
    agent.until_said_containing(WAITS);
    assert_eq!(agent.stop(), Some(0));
    assert!(agent.printed().is_empty(), "it came up first");
}

/// `voter init` queries from the port of the agent. An agent that had taken the port before would
/// end here, and one that starts during the query would block it.
#[test]
fn agent_waits_for_its_voter_before_it_binds_its_port() {
    let scene = Scene::founded("place-then-port");
    let place = taken_place(&scene);
    let address = own_host(1);
    let port = UdpSocket::bind(&address).expect("this port is free");
    let options = scene.options("a").replace("127.0.0.1:0", &address);
    let mut agent = process::start(&format!("agent --events --http off {options}"));
    agent.until_said_containing(WAITS);
    drop(port);
    drop(place);
    let up = agent.until("up", |line| line["up"] == true);
    assert_eq!(up["address"], address.as_str());
    assert_eq!(agent.stop(), Some(0));
}

/// Neither voter has ever voted: the only known fact is that the lists differ.
#[test]
fn mistyped_voter_list_is_not_taken_for_an_established_group() {
    let scene = Scene::new("mistyped");
    let _blank = process::member(&format!("--http off {}", scene.options("b")));
    let mistyped = scene.options("a").replace("a,b,c", "a,b,d");
    let init = hustings(&format!("voter init --new {mistyped}"));
    let says = "`b` runs with another list of voters: all members of group";
    assert_refused(&init, says);
    assert_refused(&init, "Compare its voters with the voters given here (a, b, d)");
    assert!(!init.said.contains("not new"), "{}", init.said);
    assert!(!scene.file("a").exists());
    let said = hustings(&format!("voter init --new {}", scene.options("a"))).text();
    assert!(said.ends_with(" begins at counter 0\n"), "{said}");
}

#[test]
fn invalid_duration_is_reported_as_such_not_as_unknown_option() {
    for arguments in [
        "voter init --within -3s",
        "run --grace -1s -- true",
        "run --settle -1s -- true",
        "agent --ttl -1s",
        "step-down --for -1s",
    ] {
        let outcome = hustings(arguments);
        assert_eq!(outcome.code, Some(2), "{arguments}");
        let said = outcome.said;
        assert!(said.contains("not a duration: write a number and a unit"), "{said}");
    }
    let both = "agent --group g --bind 127.0.0.1:0 --voters a --etcd http://127.0.0.1:1";
    let said = hustings(both).said;
    assert!(said.contains("one authority grants tenure; choose one of them"), "{said}");
}

/// The third voter was away when the others began an era.
#[test]
fn voter_that_was_left_behind_catches_up_with_the_others() {
    let scene = Scene::founded("left-behind");
    for (name, era) in [("a", 2), ("b", 2), ("c", 1)] {
        scene.init(name, &format!("--era {era}")).text();
    }
    let mut agents = ["a", "b"].map(|name| scene.agent(name));
    let led = agents[0].until("somebody leads with a fence", |it| it["fence"].is_u64());
    let leader = usize::from(led["leader"] != "a");
    let mut left_behind = scene.agent("c");
    agents[leader].until_said_containing("voter `c` was left behind, and does not vote");
    assert_eq!(left_behind.stop(), Some(0));

    let said = scene.init("c", "").text();
    let (_, counter) = said.trim().rsplit_once(' ').expect("words");
    let counter: u64 = counter.parse().expect("a number");
    assert_eq!(counter >> 48, 2, "{said}");
    assert_refused(&scene.init("c", ""), "there is nothing to do");
}

/// In earlier versions one message could use up all counters.
#[test]
fn suggested_era_is_never_one_that_would_be_refused() {
    let scene = Scene::founded("no-era-left");
    for (promised, era, says) in [
        (u64::MAX, 32767, "no era is left above that"),
        (i64::MAX as u64, 32767, "no era is left above that"),
        ((5 << 48) + 7, 3, "of era 5: choose 6 for all voters"),
    ] {
        let quorum = quorum();
        let vote = quorum.vote(&scene.group, "a");
        let promised = Durable { counter: promised, ..Durable::FOUNDING };
        VoterFile::reset(&scene.home.join("a"), vote, promised).expect("files can be written");
        assert_refused(&scene.init("a", &format!("--era {era}")), says);
    }
    // The documented way out.
    std::fs::remove_file(scene.file("a")).expect("it is there");
    let said = scene.init("a", "--era 3").text();
    assert!(said.ends_with(" begins at counter 844424930131968\n"), "{said}");
}

/// The leader's answers are lost, or it is dead and its frames are replayed: in both cases it does
/// not prove that it runs.
#[test]
fn voter_is_not_initialised_while_an_unproven_member_claims_tenure() {
    let scene = Scene::founded("unproven-holder");
    let mut agents = ["a", "b"].map(|name| scene.agent(name));
    let led = agents[0].until("somebody leads with a fence", |it| it["fence"].is_u64());
    let recorded = record(Duration::from_millis(2_500));
    for agent in &mut agents {
        agent.kill();
    }
    std::fs::remove_file(scene.file("c")).expect("it is there");
    let address = own_host(2);
    let options = scene.options("c").replace("127.0.0.1:0", &address);
    for how in ["--new", "--era 9"] {
        let init =
            replaying(&recorded, &address, || hustings(&format!("voter init {options} {how}")));
        let (leader, fence) = (led["leader"].as_str().expect("a name"), &led["fence"]);
        assert_refused(&init, &format!("`{leader}` of group `{}` sends from", scene.group));
        assert_refused(&init, &format!("it holds tenure with fence {fence}, but it has not"));
        assert_refused(&init, "an old recording of it is being replayed: stop");
        assert!(!scene.file("c").exists());
    }
    // A recording can keep a voter from beginning, and can do nothing else.
    let said = hustings(&format!("voter init {options} --era 9")).text();
    assert!(said.contains(" begins at counter "), "{said}");
}
