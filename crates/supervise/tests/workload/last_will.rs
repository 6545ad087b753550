//! Sending the last will of a dead agent.

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use hustings_protocol::Duration;
use hustings_system::clock;
use hustings_testkit::Process;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::agent::{Agent, LONG, hand_over, program, stop};
use crate::processes::{
    PATIENCE, SHORT, TREE, Voter, assert_gone, eventually, is_running, parent, pid, state,
};

/// A script that prints its own process id, then those of [`TREE`], and waits.
fn tree() -> String {
    format!("echo $$; {TREE}")
}

#[test]
fn last_will_of_a_killed_agent_is_sent_once_its_command_is_gone() {
    // Killing many processes takes a while.
    let daemon = r#"setsid sh -c '(sh -c "echo \$\$; exec sleep 1000" &)' &"#;
    let daemons = format!("{daemon}\n").repeat(40);
    let voter = Voter::listen();
    let mut agent = Agent::holding("exit", LONG, &format!("trap '' TERM; {daemons} {TREE}"));
    agent.deposit(&voter, "stale");
    let pids = agent.pids::<43>();
    assert!(pids.iter().all(|pid| is_running(*pid)));
    agent.deposit(&voter, "farewell");
    voter.hears_nothing(SHORT);
    agent.send(Signal::KILL);
    assert_eq!(voter.hears(), "farewell");
    assert!(!pids.iter().any(|pid| is_running(*pid)));
    assert!(!is_running(agent.pid()));
    assert_eq!([voter.hears(), voter.hears()], ["farewell", "farewell"]);
}

/// Stopping the guardian while it kills the command gains no time, because its warden continues it.
/// (The system continues one that was stopped before the agent died: its process group has become
/// an orphan.)
#[test]
fn last_will_is_sent_although_the_guardian_is_stopped() {
    let daemon = r#"setsid sh -c '(sh -c "echo \$\$; exec sleep 1000" &)' &"#;
    let daemons = format!("{daemon}\n").repeat(40);
    let voter = Voter::listen();
    let script = format!("echo $$; trap '' TERM; {daemons} {TREE}");
    let mut agent = Agent::holding("exit", LONG, &script);
    agent.deposit(&voter, "farewell");
    let pids = agent.pids::<44>();
    let guardian = parent(pids[0]);
    agent.send(Signal::KILL);
    eventually(|| {
        // It may have ended.
        let _ = kill_process(guardian, Signal::STOP);
        (!pids.iter().any(|pid| is_running(*pid))).then_some(())
    });
    assert_eq!(voter.hears(), "farewell");
}

#[test]
fn withdrawn_last_will_is_not_sent() {
    let voter = Voter::listen();
    let mut agent = Agent::holding("exit", LONG, &tree());
    agent.deposit(&voter, "farewell");
    let [command, ..] = agent.pids::<4>();
    let guardian = parent(command);
    agent.tell("words");
    voter.hears_nothing(SHORT);
    agent.send(Signal::KILL);
    assert_gone(&[command, guardian]);
    voter.hears_nothing(SHORT);
}

/// Its command is dead, but the agent might have started another one that its guardian does not
/// know. This holds whether or not that guardian still waits for its end.
#[test]
fn agent_that_dropped_its_command_has_no_last_will() {
    for waits_for_the_guardian in [false, true] {
        let voter = Voter::listen();
        let mut agent = Agent::holding("exit", LONG, &tree());
        agent.deposit(&voter, "farewell");
        let pids = agent.pids::<4>();
        let guardian = parent(pids[0]);
        agent.drop_supervision();
        assert_gone(&pids);
        if waits_for_the_guardian {
            assert_gone(&[guardian]);
        }
        agent.send(Signal::KILL);
        assert_gone(&[guardian]);
        voter.hears_nothing(SHORT);
    }
}

#[test]
fn last_will_of_a_stopped_agent_is_not_sent() {
    let voter = Voter::listen();
    let mut agent = Agent::holding("exit", SHORT, TREE);
    agent.deposit(&voter, "farewell");
    let pids = agent.pids::<3>();
    agent.hold(7, SHORT * 15);
    // Time for the agent to send the order to the guardian.
    agent.is_silent(SHORT * 8);
    agent.send(Signal::STOP);
    eventually(|| (state(agent.pid())? == "T").then_some(()));
    assert_gone(&pids);
    voter.hears_nothing(SHORT);
}

/// The descendants of the command still run, and no process has seen their end. Nothing is
/// released, and nothing is started beside them.
#[test]
fn agent_whose_guardian_and_warden_were_killed_releases_nothing() {
    let voter = Voter::listen();
    let mut agent = Agent::holding("restart", LONG, &tree());
    agent.deposit(&voter, "farewell");
    let first = agent.pids::<4>();
    let guardian = parent(first[0]);
    let warden = parent(guardian);
    stop(warden); // otherwise it would kill the rest
    for watcher in [guardian, warden] {
        kill_process(watcher, Signal::KILL).expect("it lives");
    }
    voter.hears_nothing(SHORT);
    for pid in first {
        // The command itself died with its guardian.
        let _ = kill_process(pid, Signal::KILL);
    }
    let (code, said) = agent.end();
    assert_eq!(code, Some(125), "{said}");
    assert!(said.contains("may still run"), "{said}");
}

/// An agent that controls its guardian by a socket, and a process whose life the guardian takes for
/// the agent's.
struct Scene {
    agent: Option<UnixStream>,
    stand_in: Process,
    _guardian: Process,
    command: Vec<Pid>,
}

impl Scene {
    fn set(voter: &Voter) -> Self {
        let stand_in = Process::spawn(Command::new("sleep").arg("1000")).expect("sleep starts");
        let witness = pidfd_open(stand_in.pid(), PidfdFlags::empty());
        let (mut agent, theirs) = UnixStream::pair().expect("sockets can be had");
        let (stdin, witness) = (std::io::stdin(), witness.expect("it lives"));
        hand_over(&agent, &[stdin.as_fd(), witness.as_fd()]);
        let span = Duration::from_secs(3600);
        let until = clock::now() + span;
        let farewell = "6661726577656c6c";
        writeln!(agent, "until {} {}", until.0, span.0).expect("it is open");
        writeln!(agent, "words {} {farewell} .", voter.address()).expect("it is open");
        let mut guardian = Command::new(program());
        guardian
            .args(["__guardian", "3600000", "sh", "-c", TREE])
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped());
        let mut guardian = Process::spawn(&mut guardian).expect("the guardian starts");
        let lines = guardian.lines().expect("it is piped");
        let next = |_| pid(&lines.recv_timeout(PATIENCE).expect("another line"));
        let command = (0..3).map(next).collect();
        Self { agent: Some(agent), stand_in, _guardian: guardian, command }
    }
}

/// A closed socket does not prove the agent's death, and the agent's death does not prove that of
/// the command.
#[test]
fn closed_socket_ends_the_command_but_does_not_prove_death() {
    let voter = Voter::listen();
    let mut scene = Scene::set(&voter);
    scene.agent = None;
    assert_gone(&scene.command);
    voter.hears_nothing(SHORT * 5);
    scene.stand_in.kill().expect("it lives");
    assert_eq!(voter.hears(), "farewell");
}

#[test]
fn open_socket_keeps_the_guardian_from_sending_the_last_will() {
    let voter = Voter::listen();
    let mut scene = Scene::set(&voter);
    scene.stand_in.kill().expect("it lives");
    scene.stand_in.wait().expect("it is our child");
    voter.hears_nothing(SHORT * 2);
    assert!(scene.command.iter().any(|pid| is_running(*pid)));
    scene.agent = None;
    assert_eq!(voter.hears(), "farewell");
    assert!(!scene.command.iter().any(|pid| is_running(*pid)));
}
