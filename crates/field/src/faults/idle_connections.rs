//! A process without a key opens connections and sends nothing, against members with a low limit on
//! open files.

use std::process::{Command, Stdio};
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use hustings_testkit::observe::is_running;
use hustings_testkit::{Process, Scratch, poll, run, this_program};
use rustix::process::{Pid, Signal, kill_process};

use super::{FaultContext, STRANGER};
use crate::Result;
use crate::hosts::address;
use crate::measure::now_ns;
use crate::testbed::{PORT, name, voting_member};

/// Three voters, each with a command that runs where its member leads.
const VOTERS: usize = 3;
/// The member that the process connects to. It has the highest priority, so it is elected when the
/// leader is gone.
const TARGET: usize = 1;

/// The number of connections that the process holds open.
const CONNECTIONS: &str = "2000";
/// The soft and hard limit on the open files of a member.
const FILES: &str = "1024";

const TTL: Duration = Duration::from_secs(2);
const HTTP: &str = "127.0.0.1:7480";

/// The time within which a command must start.
const STARTED_WITHIN: Duration = Duration::from_secs(20);
/// The time within which a member must answer over HTTP.
const ANSWERED_WITHIN: &str = "3s";

/// The target must still be elected, by a ring protocol whose messages use connections. Its command
/// must start, HTTP must answer, and the command must be killed before its tenure ends although its
/// guardian is stopped.
pub(super) fn held_open(context: &FaultContext<'_>) -> Result<String> {
    let group = Group::create(context)?;
    let others = [group.start(0)?, group.start(2)?];
    let (leader, _follower) = first_to_lead(others)?;
    let target = group.start(TARGET)?;
    thread::sleep(TTL);
    let mut stranger = start_idle_client(context)?;
    let (before, after) = group.under_siege(leader, &target)?;
    ensure!(stranger.try_wait()?.is_none(), "the stranger gave up");
    Ok(format!(
        "elected and started {} ms after the leader's death, gone {} ms before the tenure ended",
        before.as_millis(),
        after.as_millis()
    ))
}

/// Waits until one of two members runs its command. Returns the leader, then the follower.
fn first_to_lead([one, two]: [Member; 2]) -> Result<(Member, Member)> {
    let has_begun = |member: &Member| member.lines.try_recv().is_ok();
    let first = poll(STARTED_WITHIN, || {
        if has_begun(&one) { Some(true) } else { has_begun(&two).then_some(false) }
    });
    let leads = first.ok_or("no member leads at first")?;
    Ok(if leads { (one, two) } else { (two, one) })
}

/// Starts the process and waits until it has opened its connections.
fn start_idle_client(context: &FaultContext<'_>) -> Result<Process> {
    let mut command = context.testbed.hosts.tied_command(STRANGER);
    command
        .args(["sh", "-c", "ulimit -n 8192 && exec \"$0\" \"$@\""])
        .arg(this_program())
        .args(["idle-client", "--count", CONNECTIONS])
        .args(["--target", &format!("{}:{PORT}", address(TARGET))]);
    let (stranger, lines) = start(&mut command)?;
    let opened = lines.recv_timeout(STARTED_WITHIN);
    opened.map_err(|error| format!("no connections were opened: {error}"))?;
    Ok(stranger)
}

/// A group of voters.
struct Group<'t> {
    context: &'t FaultContext<'t>,
    name: String,
    /// The directory of the voters' state.
    home: Scratch,
}

/// A member that runs a command while it leads.
struct Member {
    process: Process,
    lines: Receiver<String>,
}

impl<'t> Group<'t> {
    fn create(context: &'t FaultContext<'t>) -> Result<Self> {
        let name = format!("idle-{}", now_ns());
        let group = Self { context, name, home: Scratch::new("hustings-idle") };
        context.testbed.init_voters(VOTERS, |host| group.options(host))?;
        Ok(group)
    }

    fn options(&self, host: usize) -> Vec<String> {
        let state = self.home.join(&name(host));
        let mut options = voting_member(&self.name, host, VOTERS, TTL, &state);
        let more = [
            ["--interface", &address(host)],
            ["--protocol", "chang-roberts"],
            ["--priority", if host == TARGET { "1" } else { "0" }],
        ];
        options.extend(more.concat().into_iter().map(str::to_owned));
        options
    }

    /// Starts a member. Its command prints its own process id and that of its guardian.
    fn start(&self, host: usize) -> Result<Member> {
        let mut command = self.context.testbed.hosts.tied_command(host);
        command
            .args(["sh", "-c", &format!("ulimit -n {FILES} && exec \"$0\" \"$@\"")])
            .arg(self.context.testbed.program)
            .args(["run", "--at-end", "restart", "--log", "error", "--http", HTTP])
            .args(self.options(host))
            .args(["--", "sh", "-c", "echo $$ $PPID; exec sleep 1000"]);
        let (process, lines) = start(&mut command)?;
        Ok(Member { process, lines })
    }

    /// Returns how soon after the leader's death the target's command ran, and how long before the
    /// end of its tenure it ended.
    fn under_siege(&self, leader: Member, target: &Member) -> Result<(Duration, Duration)> {
        self.answers()?;
        let died = Instant::now();
        drop(leader);
        let (command, guardian) = target.command(STARTED_WITHIN)?;
        let started = died.elapsed();
        self.answers()?;
        kill_process(guardian, Signal::STOP)?;
        // No renewal arrives from now on, so the tenure ends within one ttl.
        let cut = Instant::now();
        let others: Vec<usize> = (0..VOTERS).filter(|host| *host != TARGET).collect();
        self.context.testbed.hosts.block(TARGET, &others)?;
        let ends = cut.elapsed() + TTL;
        poll(ends * 5, || (!is_running(command)).then_some(()));
        let took = cut.elapsed();
        ensure!(took < ends, "its command ran {:?} past its tenure", took - ends);
        self.answers()?;
        Ok((started, ends - took))
    }

    /// Fails unless the target answers over HTTP.
    fn answers(&self) -> Result<()> {
        let mut status = self.context.testbed.hosts.command(TARGET, "timeout");
        status
            .arg(ANSWERED_WITHIN)
            .arg(self.context.testbed.program)
            .args(["status", "--http", HTTP]);
        run(&mut status).map_err(|error| format!("HTTP is dead: {error}"))?;
        Ok(())
    }
}

/// Starts a process and a reader of its output.
fn start(command: &mut Command) -> Result<(Process, Receiver<String>)> {
    let mut process = Process::spawn(command.stdout(Stdio::piped()))?;
    let lines = process.lines()?;
    Ok((process, lines))
}

impl Member {
    /// Waits for the command to start. Returns the process ids of the command and of its guardian.
    fn command(&self, within: Duration) -> Result<(Pid, Pid)> {
        let line = self.lines.recv_timeout(within).map_err(|error| {
            let pid = self.process.id();
            format!("process {pid} has not started its command within {within:?}: {error}")
        })?;
        let mut pids = line.split(' ').map(|it| it.parse().ok().and_then(Pid::from_raw));
        match (pids.next().flatten(), pids.next().flatten()) {
            (Some(command), Some(guardian)) => Ok((command, guardian)),
            _ => Err(format!("no process ids: {line}").into()),
        }
    }
}
