//! Agents that run, or are started, beside `hustings voter init`.

use std::net::UdpSocket;

use hustings_agent::authority::voter_file::VoterLock;
use hustings_agent::config::QuorumConfig;
use hustings_protocol::Duration;

use crate::process::{Program, hustings};
use crate::tenure::{Scene, assert_refused};

/// What an agent says when it finds its voter's place taken.
const WAITS: &str = "this voter is being initialised, or its agent runs: waiting 10 s at most";

/// The place of voter `a`, as `voter init` has it while it asks the others.
fn taken_place(scene: &Scene) -> VoterLock {
    let quorum = QuorumConfig {
        voters: ["a", "b", "c"].map(str::to_owned).into(),
        ttl: Duration::from_secs(1),
        state: None, // it is not asked for
    };
    let vote = quorum.vote(&scene.group, "a");
    VoterLock::take(&scene.home.join("a"), vote).expect("nobody has it")
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
    // A host of its own: nobody takes this port while nobody has it.
    let pid = std::process::id();
    let address = format!("127.{}.{}.1:27500", 64 + (pid >> 8) % 128, pid % 256);
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
