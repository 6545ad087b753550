//! Agents that run, or are started, beside `hustings voter init`.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;

use hustings_agent::authority::voter_file::{VoterFile, VoterLock};
use hustings_agent::clock;
use hustings_agent::config::{MULTICAST, QuorumConfig};
use hustings_protocol::Duration;
use hustings_protocol::tenure::Durable;
use socket2::{Domain, Socket, Type};

use crate::process::{Program, hustings};
use crate::tenure::{Scene, assert_refused};

/// What an agent says when it finds its voter's place taken.
const WAITS: &str = "this voter is being initialised, or its agent runs: waiting 10 s at most";

fn quorum() -> QuorumConfig {
    QuorumConfig {
        voters: ["a", "b", "c"].map(str::to_owned).into(),
        ttl: Duration::from_secs(1),
        state: None, // it is not asked for
    }
}

/// The place of voter `a`, as `voter init` has it while it asks the others.
fn taken_place(scene: &Scene) -> VoterLock {
    let quorum = quorum();
    let vote = quorum.vote(&scene.group, "a");
    VoterLock::take(&scene.home.join("a"), vote).expect("nobody has it")
}

/// An address on a host of its own: no other process takes this port.
fn own_host(number: u8) -> String {
    let pid = std::process::id();
    let (high, low) = (64 + (pid >> 8) % 128, pid % 256);
    format!("127.{high}.{low}.{number}:27500")
}

/// Everything that any member on this machine says to all within `span`.
fn record(span: Duration) -> Vec<Vec<u8>> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).expect("a socket");
    socket.set_reuse_address(true).expect("as agents do");
    socket.bind(&MULTICAST.into()).expect("as agents do");
    let socket = UdpSocket::from(socket);
    let SocketAddr::V4(group) = MULTICAST else {
        panic!("an IPv4 address")
    };
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

/// Sends the frames to `to` again and again while `act` goes on.
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
                let _ = socket.recv(&mut [0]); // for the pause
            }
        });
        let outcome = act();
        drop(done);
        outcome
    })
}

#[test]
fn who_waits_for_its_voter_to_be_initialised_ends_when_it_is_told_to() {
    let scene = Scene::founded("told-to-end");
    let _place = taken_place(&scene);
    let mut agent = Program::start(&format!("agent --events --http off {}", scene.options("a")));
    agent.until_said_containing(WAITS);
    assert_eq!(agent.stop(), Some(0));
    assert!(agent.printed().is_empty(), "it came up first");
}

/// `voter init` asks from the port of the agent. One that had taken the port before would end here, and one that is
/// started while it asks would keep it from asking.
#[test]
fn an_agent_waits_for_its_voter_before_it_takes_its_port() {
    let scene = Scene::founded("place-then-port");
    let place = taken_place(&scene);
    let address = own_host(1);
    let port = UdpSocket::bind(&address).expect("this port is free");
    let options = scene.options("a").replace("127.0.0.1:0", &address);
    let mut agent = Program::start(&format!("agent --events --http off {options}"));
    agent.until_said_containing(WAITS);
    drop(port);
    drop(place);
    let up = agent.until("up", |line| line["up"] == true);
    assert_eq!(up["address"], address.as_str());
    assert_eq!(agent.stop(), Some(0));
}

/// Neither has ever voted: that the lists differ is all that is known.
#[test]
fn a_mistyped_list_is_not_taken_for_the_list_of_a_group_that_is_not_new() {
    let scene = Scene::new("mistyped");
    let _blank = Program::member(&format!("--http off {}", scene.options("b")));
    let mistyped = scene.options("a").replace("a,b,c", "a,b,d");
    let init = hustings(&format!("voter init --new {mistyped}"));
    let says = "`b`, which goes by another list of voters, runs: all members of group";
    assert_refused(&init, says);
    assert_refused(&init, "Compare its voters with those given here (a, b, d)");
    assert!(!init.said.contains("not new"), "{}", init.said);
    assert!(!scene.file("a").exists());
    let said = hustings(&format!("voter init --new {}", scene.options("a"))).text();
    assert!(said.ends_with(" begins at counter 0\n"), "{said}");
}

#[test]
fn what_is_no_time_is_told_as_that_and_not_as_an_unknown_option() {
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
        assert!(
            said.contains("not a duration: write a number and a unit"),
            "{said}"
        );
    }
    let both = "agent --group g --bind 127.0.0.1:0 --voters a --etcd http://127.0.0.1:1";
    let said = hustings(both).said;
    assert!(
        said.contains("one authority grants tenure; choose one of them"),
        "{said}"
    );
}

/// The third voter was away when the others began an era.
#[test]
fn voter_that_was_left_behind_goes_on_where_the_others_are() {
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

/// One message could use up all counters once.
#[test]
fn no_era_is_asked_for_that_would_be_refused() {
    let scene = Scene::founded("no-era-left");
    for (promised, era, says) in [
        (u64::MAX, 32767, "no era is left above that"),
        (i64::MAX as u64, 32767, "no era is left above that"),
        ((5 << 48) + 7, 3, "of era 5: choose 6 for all voters"),
    ] {
        let quorum = quorum();
        let vote = quorum.vote(&scene.group, "a");
        let promised = Durable {
            counter: promised,
            ..Durable::FOUNDING
        };
        VoterFile::reset(&scene.home.join("a"), vote, promised).expect("files can be written");
        assert_refused(&scene.init("a", &format!("--era {era}")), says);
    }
    // The way out.
    std::fs::remove_file(scene.file("a")).expect("it is there");
    let said = scene.init("a", "--era 3").text();
    assert!(
        said.ends_with(" begins at counter 844424930131968\n"),
        "{said}"
    );
}

/// The leader's answers are lost, or it is dead and was recorded: in both cases it does not prove that it runs.
#[test]
fn voter_is_not_begun_while_an_unproven_member_says_that_it_holds() {
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
        let init = replaying(&recorded, &address, || {
            hustings(&format!("voter init {options} {how}"))
        });
        let (leader, fence) = (led["leader"].as_str().expect("a name"), &led["fence"]);
        assert_refused(
            &init,
            &format!("`{leader}` of group `{}` is heard", scene.group),
        );
        assert_refused(
            &init,
            &format!("it holds tenure with fence {fence}, but it has not"),
        );
        assert_refused(&init, "an old recording of it is being replayed: stop");
        assert!(!scene.file("c").exists());
    }
    // A recording can keep a voter from beginning, and cannot do more.
    let said = hustings(&format!("voter init {options} --era 9")).text();
    assert!(said.contains(" begins at counter "), "{said}");
}
