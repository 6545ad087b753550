//! Who speaks for a dead agent, and when.

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use hustings_agent::clock;
use hustings_protocol::Duration;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::agent::{Agent, LONG, hand_over, program, stop};
use crate::processes::{
    PATIENCE, SHORT, TREE, Voter, assert_gone, eventually, lines_of, lives, parent, pid, state,
};

/// What prints its own process id first, then those of [`TREE`], and waits.
fn tree() -> String {
    format!("echo $$; {TREE}")
}

#[test]
fn an_agent_that_is_killed_is_spoken_for_when_nothing_of_its_command_is_left() {
    // Whoever kills so many needs a while.
    let daemon = r#"setsid sh -c '(sh -c "echo \$\$; exec sleep 1000" &)' &"#;
    let daemons = format!("{daemon}\n").repeat(40);
    let voter = Voter::listen();
    let mut agent = Agent::holding("exit", LONG, &format!("trap '' TERM; {daemons} {TREE}"));
    agent.entrust(&voter, "stale");
    let pids = agent.pids::<43>();
    assert!(pids.iter().all(|pid| lives(*pid)));
    agent.entrust(&voter, "farewell");
    voter.hears_nothing(SHORT);
    agent.send(Signal::KILL);
    assert_eq!(voter.hears(), "farewell");
    assert!(!pids.iter().any(|pid| lives(*pid)));
    assert!(!lives(agent.pid()));
    assert_eq!([voter.hears(), voter.hears()], ["farewell", "farewell"]);
}

/// Whoever stops it while it kills the command does not gain time: its warden continues it. (One that was stopped before
/// the agent died is continued by the system: its process group has become an orphan.)
#[test]
fn an_agent_that_is_killed_is_spoken_for_though_its_guardian_is_stopped() {
    let daemon = r#"setsid sh -c '(sh -c "echo \$\$; exec sleep 1000" &)' &"#;
    let daemons = format!("{daemon}\n").repeat(40);
    let voter = Voter::listen();
    let script = format!("echo $$; trap '' TERM; {daemons} {TREE}");
    let mut agent = Agent::holding("exit", LONG, &script);
    agent.entrust(&voter, "farewell");
    let pids = agent.pids::<44>();
    let guardian = parent(pids[0]);
    agent.send(Signal::KILL);
    eventually(|| {
        // It may have ended.
        let _ = kill_process(guardian, Signal::STOP);
        (!pids.iter().any(|pid| lives(*pid))).then_some(())
    });
    assert_eq!(voter.hears(), "farewell");
}

#[test]
fn what_an_agent_has_taken_back_is_not_said() {
    let voter = Voter::listen();
    let mut agent = Agent::holding("exit", LONG, &tree());
    agent.entrust(&voter, "farewell");
    let [command, ..] = agent.pids::<4>();
    let guardian = parent(command);
    agent.tell("words");
    voter.hears_nothing(SHORT);
    agent.send(Signal::KILL);
    assert_gone(&[command, guardian]);
    voter.hears_nothing(SHORT);
}

/// Its command is dead, but it might have gone on to run another, which its guardian would know nothing of. Whether or
/// not that one still waits for its end.
#[test]
fn an_agent_that_has_dropped_its_command_is_not_spoken_for_when_it_dies() {
    for waits_for_the_guardian in [false, true] {
        let voter = Voter::listen();
        let mut agent = Agent::holding("exit", LONG, &tree());
        agent.entrust(&voter, "farewell");
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
fn an_agent_that_is_stopped_is_not_spoken_for() {
    let voter = Voter::listen();
    let mut agent = Agent::holding("exit", SHORT, TREE);
    agent.entrust(&voter, "farewell");
    let pids = agent.pids::<3>();
    agent.hold(7, SHORT * 15);
    // It has a while to tell the guardian.
    agent.is_silent(SHORT * 8);
    agent.send(Signal::STOP);
    eventually(|| (state(agent.pid())? == "T").then_some(()));
    assert_gone(&pids);
    voter.hears_nothing(SHORT);
}

/// What the command had started lives on, and nobody has seen it end: nothing is given up, and nothing is started beside
/// it.
#[test]
fn an_agent_whose_guardian_and_warden_were_killed_gives_nothing_up() {
    let voter = Voter::listen();
    let mut agent = Agent::holding("restart", LONG, &tree());
    agent.entrust(&voter, "farewell");
    let first = agent.pids::<4>();
    let guardian = parent(first[0]);
    let warden = parent(guardian);
    stop(warden); // or it would kill the rest
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

/// An agent that talks to its guardian by a socket, and somebody whose life the guardian takes for the agent's.
struct Scene {
    agent: Option<UnixStream>,
    stand_in: Child,
    guardian: Child,
    command: Vec<Pid>,
}

impl Scene {
    fn set(voter: &Voter) -> Self {
        let stand_in = Command::new("sleep").arg("1000").spawn();
        let stand_in = stand_in.expect("sleep starts");
        let witness = pidfd_open(Pid::from_child(&stand_in), PidfdFlags::empty());
        let (mut agent, theirs) = UnixStream::pair().expect("sockets can be had");
        let (stdin, witness) = (std::io::stdin(), witness.expect("it lives"));
        hand_over(&agent, &[stdin.as_fd(), witness.as_fd()]);
        let span = Duration::from_secs(3600);
        let until = clock::now() + span;
        let farewell = "6661726577656c6c";
        writeln!(agent, "until {} {}", until.0, span.0).expect("it is open");
        writeln!(agent, "words {} {farewell} .", voter.address()).expect("it is open");
        let mut guardian = Command::new(program())
            .args(["__guardian", "3600000", "sh", "-c", TREE])
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .spawn()
            .expect("the guardian starts");
        let lines = lines_of(guardian.stdout.take().expect("it is piped"));
        let next = |_| pid(&lines.recv_timeout(PATIENCE).expect("another line"));
        let command = (0..3).map(next).collect();
        Self {
            agent: Some(agent),
            stand_in,
            guardian,
            command,
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // What has ended already is what the test wanted.
        for process in [&mut self.stand_in, &mut self.guardian] {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Neither is an agent proved dead whose socket has ended, nor a command by its agent's death.
#[test]
fn a_broken_socket_ends_the_command_but_only_the_agents_death_is_spoken_of() {
    let voter = Voter::listen();
    let mut scene = Scene::set(&voter);
    scene.agent = None;
    assert_gone(&scene.command);
    voter.hears_nothing(SHORT * 5);
    scene.stand_in.kill().expect("it lives");
    assert_eq!(voter.hears(), "farewell");
}

#[test]
fn a_socket_that_holds_keeps_the_guardian_silent_whoever_has_died() {
    let voter = Voter::listen();
    let mut scene = Scene::set(&voter);
    scene.stand_in.kill().expect("it lives");
    scene.stand_in.wait().expect("it is our child");
    voter.hears_nothing(SHORT * 2);
    assert!(scene.command.iter().any(|pid| lives(*pid)));
    scene.agent = None;
    assert_eq!(voter.hears(), "farewell");
    assert!(!scene.command.iter().any(|pid| lives(*pid)));
}
