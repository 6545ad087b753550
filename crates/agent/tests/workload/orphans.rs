//! The command and all that it started end with those who watch over them, even if these are killed.

use rustix::process::{Pid, Signal, kill_process};

use crate::agent::{Agent, LONG, stop};
use crate::processes::{TREE, assert_gone, lives, parent};

/// A command that does not end when asked, its descendants, and those who watch over it.
struct Scene {
    agent: Agent,
    /// The command first.
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
        let scene = Self {
            agent,
            command,
            guardian,
            warden,
        };
        assert!(scene.command.iter().all(|pid| lives(*pid)));
        scene
    }
}

fn kill(pid: Pid) {
    kill_process(pid, Signal::KILL).expect("it lives");
}

#[test]
fn nothing_survives_an_agent_that_is_killed() {
    let scene = Scene::set("exit");
    kill(scene.agent.pid());
    assert_gone(&scene.command);
    assert_gone(&[scene.guardian, scene.warden]);
}

#[test]
fn nothing_survives_a_guardian_that_is_killed() {
    let scene = Scene::set("exit");
    kill(scene.guardian);
    assert_eq!(
        scene.agent.code(),
        Some(137),
        "as if the command had been killed"
    );
    assert_gone(&scene.command);
    assert_gone(&[scene.warden]);
}

#[test]
fn a_command_whose_guardian_was_killed_is_started_again_if_so_wished() {
    let scene = Scene::set("restart");
    kill(scene.guardian);
    let again = scene.agent.pids::<4>();
    assert!(!scene.command.iter().any(|pid| lives(*pid)));
    kill(scene.agent.pid());
    assert_gone(&again);
}

/// Else whoever killed the guardian later would leave behind what the command has started.
#[test]
fn nothing_survives_a_warden_that_is_killed() {
    let scene = Scene::set("exit");
    kill(scene.warden);
    assert_gone(&scene.command);
    assert_gone(&[scene.guardian, scene.warden]);
    assert_eq!(
        scene.agent.code(),
        Some(137),
        "as if the command had been killed"
    );
}

#[test]
fn a_command_whose_warden_was_killed_is_started_again_with_two_watchers_if_so_wished() {
    let scene = Scene::set("restart");
    kill(scene.warden);
    let again = scene.agent.pids::<4>();
    assert!(!scene.command.iter().any(|pid| lives(*pid)));
    let guardian = parent(again[0]);
    assert_eq!(parent(parent(guardian)), scene.agent.pid());
    kill(guardian);
    assert_gone(&again);
}

/// What the command has started is then beyond reach.
#[test]
fn a_command_dies_when_warden_and_guardian_are_killed_at_one_moment() {
    let scene = Scene::set("exit");
    // In the other order the system would continue a guardian that was stopped: it has become an orphan.
    stop(scene.warden);
    kill(scene.guardian);
    kill(scene.warden);
    assert_gone(&scene.command[..1]);
    for pid in &scene.command[1..] {
        // The command's own process id is there twice.
        let _ = kill_process(*pid, Signal::KILL);
    }
    assert_eq!(scene.agent.code(), Some(137));
}

/// The guardian has been told to stop the command, and waits.
#[test]
fn nothing_survives_an_agent_that_is_killed_while_the_command_is_stopping() {
    let mut scene = Scene::set("exit");
    scene.agent.tell("follow");
    kill(scene.agent.pid());
    assert_gone(&scene.command);
    assert_gone(&[scene.guardian, scene.warden]);
}
