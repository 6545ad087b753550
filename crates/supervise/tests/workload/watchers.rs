//! Every combination of one or two processes stopped or killed: the agent, the two watchers, the
//! command.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hustings_system::clock;
use rustix::process::{Pid, Signal, kill_process};

use crate::agent::Agent;
use crate::processes::{TREE, is_running, parent, state};

/// The time within which the agent has noticed any fault that keeps the command from working. It
/// pings once a second: a stopped watcher is continued within four seconds, one that hangs is
/// killed within nine, and a stopped command is killed after five. The rest is for a busy host.
const NOTICED_WITHIN: Duration = Duration::from_secs(14);

/// The time that a renewal adds.
const TTL: Duration = Duration::from_secs(6);
const RENEW_EVERY: Duration = Duration::from_millis(500);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The number of cases that run in parallel.
const AT_ONCE: usize = 8;
/// The number of cases that may be repeated.
const MOST_AGAIN: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Agent,
    Warden,
    Guardian,
    Command,
}

const TARGETS: [Target; 4] = [Target::Agent, Target::Warden, Target::Guardian, Target::Command];

type Blow = (Target, Signal);

/// Returns all single faults, and all pairs in both orders.
fn cases() -> Vec<Vec<Blow>> {
    let signals = [Signal::STOP, Signal::KILL];
    let blows = || {
        let with_each = |target| signals.map(|signal| (target, signal));
        TARGETS.into_iter().flat_map(with_each)
    };
    let mut cases: Vec<Vec<Blow>> = blows().map(|blow| vec![blow]).collect();
    for first in blows() {
        let others = blows().filter(|second| second.0 != first.0);
        cases.extend(others.map(|second| vec![first, second]));
    }
    cases
}

struct Scene {
    agent: Agent,
    warden: Pid,
    guardian: Pid,
    /// The command's first process, then its descendants.
    command: Vec<Pid>,
}

impl Scene {
    fn set(is_fenced: bool) -> Self {
        let script = format!("echo $$; trap '' TERM; {TREE}");
        let agent = Agent::watched("exit", is_fenced, TTL, &script);
        let command = agent.pids::<4>().to_vec();
        let guardian = parent(command[0]);
        Self { agent, warden: parent(guardian), guardian, command }
    }

    fn pid(&self, target: Target) -> Pid {
        match target {
            Target::Agent => self.agent.pid(),
            Target::Warden => self.warden,
            Target::Guardian => self.guardian,
            Target::Command => self.command[0],
        }
    }

    fn strike(&self, (target, signal): Blow) {
        let pid = self.pid(target);
        // The previous fault may have ended the process.
        if kill_process(pid, signal).is_ok() && signal == Signal::STOP {
            while state(pid).is_some_and(|state| state != "T" && is_running(pid)) {}
        }
    }

    /// True if all four run.
    fn works(&self) -> bool {
        let runs = |target| {
            let state = state(self.pid(target));
            state.is_some_and(|state| !["T", "Z", "X"].contains(&state.as_str()))
        };
        TARGETS.into_iter().all(runs)
    }

    fn is_over(&self) -> bool {
        !self.command.iter().any(|pid| is_running(*pid))
    }
}

/// Returns the time from these faults to the end of the agent, or zero if it need not end. The
/// error describes a failure.
fn after(blows: &[Blow], is_fenced: bool) -> Result<Duration, String> {
    let mut scene = Scene::set(is_fenced);
    let is_hit = |target| blows.iter().any(|blow| blow.0 == target);
    let mut until = scene.agent.renew(7, TTL).ok_or("no agent")?;
    // The watchers have received the deadline.
    std::thread::sleep(RENEW_EVERY);
    for blow in blows {
        scene.strike(*blow);
    }
    let struck = Instant::now();
    let mut renewed = struck;
    while struck.elapsed() < NOTICED_WITHIN && !scene.is_over() {
        // A stopped or dead agent renews nothing.
        if !is_hit(Target::Agent) && renewed.elapsed() >= RENEW_EVERY {
            renewed = Instant::now();
            until = scene.agent.renew(7, TTL).unwrap_or(until);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    let (now, is_over) = (clock::now(), scene.is_over());
    let said = scene.agent.complaints();
    if is_over && is_fenced && now > until {
        return Err(format!("the command ran {} past its tenure", now - until));
    }
    if is_hit(Target::Agent) {
        return match is_over {
            true => Ok(Duration::ZERO),
            false => Err("the command outlives its agent's tenure".to_owned()),
        };
    }
    if !is_over {
        return match scene.works() {
            true => Ok(Duration::ZERO),
            false => Err(format!("no command works, and the agent does not notice: {said:?}")),
        };
    }
    while is_running(scene.agent.pid()) && struck.elapsed() < NOTICED_WITHIN {
        std::thread::sleep(LOOK_EVERY);
    }
    if is_running(scene.agent.pid()) {
        return Err(format!("the command has ended, and the agent goes on: {said:?}"));
    }
    let took = struck.elapsed();
    let (code, said_last) = scene.agent.end();
    let is_said = !said.is_empty() || !said_last.is_empty();
    match code {
        Some(137 | 125) if is_said => Ok(took),
        _ => Err(format!("ended with {code:?}: {said:?} {said_last}")),
    }
}

/// A case that fails is repeated once, alone: on a busy host processes may not be scheduled for
/// longer than the margin before the end of a tenure.
#[test]
fn stopped_and_killed_processes_are_noticed_in_time() {
    let fenced = cases().into_iter().map(|case| (case, true));
    // Without tenure only a living agent can notice.
    let advisory = cases().into_iter().map(|case| (case, false));
    let advisory = advisory.filter(|(case, _)| case.iter().all(|blow| blow.0 != Target::Agent));
    let cases: Vec<(Vec<Blow>, bool)> = fenced.chain(advisory).collect();
    assert_eq!(cases.len(), 56 + 30);
    let next = AtomicUsize::new(0);
    let (longest, failed) = (Mutex::new(Duration::ZERO), Mutex::new(Vec::new()));
    let try_case = |(case, is_fenced): &(Vec<Blow>, bool)| {
        let took = after(case, *is_fenced).map_err(|error| {
            let mode = if *is_fenced { "fenced" } else { "advisory" };
            format!("{mode} {case:?}: {error}")
        })?;
        let mut longest = longest.lock().expect("no panic");
        *longest = took.max(*longest);
        Ok::<(), String>(())
    };
    std::thread::scope(|threads| {
        for _ in 0..AT_ONCE {
            threads.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = try_case(case) {
                        failed.lock().expect("no panic").push((case, error));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no panic");
    let errors: Vec<&str> = failed.iter().map(|(_, error)| error.as_str()).collect();
    assert!(failed.len() <= MOST_AGAIN, "{}", errors.join("\n"));
    for (case, error) in failed {
        println!("once more: {error}");
        if let Err(error) = try_case(case) {
            panic!("{error}");
        }
    }
    let longest = longest.into_inner().expect("no panic");
    println!("the longest took {longest:?}");
}
