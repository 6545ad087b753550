//! The command and all its descendants end with their watchers, even if these are killed.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Command;

use hustings_testkit::observe::children;
use rustix::process::{Pid, Signal, kill_process};

use crate::agent::{Agent, LONG, hand_over, program, scratch, stop};
use crate::processes::{TREE, assert_gone, is_running, parent};

/// A command that ignores TERM, its descendants, and its watchers.
struct Scene {
    agent: Agent,
    /// The command, then its descendants.
    command: Vec<Pid>,
    guardian: Pid,
    warden: Pid,
}

impl Scene {
    fn set(at_end: &str) -> Self {
        let agent = Agent::leading(at_end, LONG, &format!("echo $$; trap '' TERM; {TREE}"));
        let command = agent.pids::<4>().to_vec();
        let guardian = parent(command[0]);
        let warden = parent(guardian);
        assert_eq!(parent(warden), agent.pid());
        let scene = Self { agent, command, guardian, warden };
        assert!(scene.command.iter().all(|pid| is_running(*pid)));
        scene
    }
}

fn kill(pid: Pid) {
    kill_process(pid, Signal::KILL).expect("it lives");
}

#[test]
fn no_process_survives_a_killed_agent() {
    let scene = Scene::set("exit");
    kill(scene.agent.pid());
    assert_gone(&scene.command);
    assert_gone(&[scene.guardian, scene.warden]);
}

#[test]
fn no_process_survives_a_killed_guardian() {
    let scene = Scene::set("exit");
    kill(scene.guardian);
    assert_eq!(scene.agent.code(), Some(137), "as if the command had been killed");
    assert_gone(&scene.command);
    assert_gone(&[scene.warden]);
}

#[test]
fn command_whose_guardian_was_killed_is_restarted_on_request() {
    let scene = Scene::set("restart");
    kill(scene.guardian);
    let again = scene.agent.pids::<4>();
    assert!(!scene.command.iter().any(|pid| is_running(*pid)));
    kill(scene.agent.pid());
    assert_gone(&again);
}

/// Otherwise a later kill of the guardian would leave the descendants of the command behind.
#[test]
fn no_process_survives_a_killed_warden() {
    let scene = Scene::set("exit");
    kill(scene.warden);
    assert_gone(&scene.command);
    assert_gone(&[scene.guardian, scene.warden]);
    assert_eq!(scene.agent.code(), Some(137), "as if the command had been killed");
}

#[test]
fn command_whose_warden_was_killed_is_restarted_with_two_watchers() {
    let scene = Scene::set("restart");
    kill(scene.warden);
    let again = scene.agent.pids::<4>();
    assert!(!scene.command.iter().any(|pid| is_running(*pid)));
    let guardian = parent(again[0]);
    assert_eq!(parent(parent(guardian)), scene.agent.pid());
    kill(guardian);
    assert_gone(&again);
}

/// The watcher that outlives the other one is reaped before the command is started again.
/// The log names the cause.
#[test]
fn agent_reaps_lost_watchers_and_logs_why_the_command_has_ended() {
    type Strike = fn([Pid; 3]);
    let cases: [(Strike, &str); 6] = [
        (|[_, guardian, _]| kill(guardian), "its guardian was killed"),
        (|[.., warden]| kill(warden), "its warden was killed"),
        (|[command, ..]| stop(command), "it was stopped (STOP) for too long"),
        (
            |[_, guardian, warden]| {
                stop(guardian);
                kill(warden);
            },
            "its warden was killed",
        ),
        (
            |[_, guardian, warden]| {
                stop(warden);
                kill(guardian);
            },
            "its guardian was killed",
        ),
        (
            |[_, guardian, warden]| {
                stop(warden);
                kill(guardian);
                kill(warden);
            },
            "its guardian was killed",
        ),
    ];
    let check = |(strike, cause): (Strike, &str)| {
        let agent = Agent::watched("restart", false, LONG, "echo $$; exec sleep 1000");
        let watchers = || {
            let [command] = agent.pids::<1>();
            let guardian = parent(command);
            [command, guardian, parent(guardian)]
        };
        let first = watchers();
        agent.logs_the_start();
        strike(first);
        let [.., warden] = watchers();
        assert_eq!(children(agent.pid()), [warden], "{cause}");
        kill(agent.pid());
        let (_, log) = agent.end();
        let expected = format!("the command has ended: it was killed, because {cause} code=137");
        assert!(log.contains(&expected), "{log}");
    };
    std::thread::scope(|threads| {
        for case in cases {
            threads.spawn(move || check(case));
        }
    });
}

#[test]
fn log_tells_a_command_that_ended_by_itself_from_one_that_a_signal_killed() {
    for (script, end) in
        [("exit 3", "by itself code=3"), ("kill -KILL $$", "it was killed by signal 9 code=137")]
    {
        let (_, log) = Agent::watched("exit", false, LONG, script).end();
        assert!(log.contains(&format!("the command has ended: {end}")), "{log}");
    }
}

/// The descendants of the command are then out of reach.
#[test]
fn command_dies_when_warden_and_guardian_are_killed_together() {
    let scene = Scene::set("exit");
    // In the other order the system would continue a stopped guardian, because it has become an
    // orphan.
    stop(scene.warden);
    kill(scene.guardian);
    kill(scene.warden);
    assert_gone(&scene.command[..1]);
    for pid in &scene.command[1..] {
        // The list contains the command's own process id twice.
        let _ = kill_process(*pid, Signal::KILL);
    }
    assert_eq!(scene.agent.code(), Some(137));
}

/// Otherwise it would start the command after the guardian's death, without a process to end it.
#[test]
fn command_starts_only_under_its_own_guardian() {
    let own = std::process::id();
    for (guardian, starts) in [(1, false), (own, true)] {
        let note = scratch("not-its-guardian");
        let (agent, theirs) = UnixStream::pair().expect("sockets can be had");
        hand_over(&agent, &[io::stdin().as_fd()]);
        let status = Command::new(program())
            .args(["__exec", &guardian.to_string(), "touch"])
            .arg(&note)
            .stdin(OwnedFd::from(theirs))
            .status()
            .expect("it starts");
        assert_eq!(status.success(), starts);
        assert_eq!(note.exists(), starts);
    }
}

/// The guardian has been told to stop the command, and waits.
#[test]
fn no_process_survives_an_agent_killed_while_stopping_its_command() {
    let mut scene = Scene::set("exit");
    scene.agent.tell("follow");
    kill(scene.agent.pid());
    assert_gone(&scene.command);
    assert_gone(&[scene.guardian, scene.warden]);
}
