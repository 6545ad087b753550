//! A process without a key opens connections and sends nothing, against members with a low limit on
//! open files.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use hustings_testkit::observe::is_running;
use hustings_testkit::{Process, Processes, Scratch, poll, run, this_program};
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
    let mut group = Group::create(context)?;
    group.start(0)?;
    group.start(2)?;
    let first = group.members.next_line(STARTED_WITHIN).ok_or("no member leads at first")?;
    group.start(TARGET)?;
    thread::sleep(TTL);
    let mut stranger = start_idle_client(context)?;
    let (before, after) = group.under_siege(first.place)?;
    ensure!(stranger.try_wait()?.is_none(), "the stranger gave up");
    Ok(format!(
        "elected and started {} ms after the leader's death, gone {} ms before the tenure ended",
        before.as_millis(),
        after.as_millis()
    ))
}

/// Starts the process and waits until it has opened its connections.
fn start_idle_client(context: &FaultContext<'_>) -> Result<Process> {
    let mut command = context.testbed.hosts.tied_command(STRANGER);
    command
        .args(["sh", "-c", "ulimit -n 8192 && exec \"$0\" \"$@\""])
        .arg(this_program())
        .args(["idle-client", "--count", CONNECTIONS])
        .args(["--target", &format!("{}:{PORT}", address(TARGET))]);
    let mut stranger = Process::spawn(command.stdout(Stdio::piped()))?;
    let opened = stranger.lines()?.recv_timeout(STARTED_WITHIN);
    opened.map_err(|error| format!("no connections were opened: {error}"))?;
    Ok(stranger)
}

/// A group of voters.
struct Group<'t> {
    context: &'t FaultContext<'t>,
    name: String,
    /// The members, each of which runs a command while it leads.
    members: Processes,
    /// The directory of the voters' state.
    home: Scratch,
}

impl<'t> Group<'t> {
    fn create(context: &'t FaultContext<'t>) -> Result<Self> {
        let (name, members) = (format!("idle-{}", now_ns()), Processes::new(VOTERS));
        let group = Self { context, name, members, home: Scratch::new("hustings-idle") };
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
    fn start(&mut self, host: usize) -> Result<()> {
        let mut command = self.context.testbed.hosts.tied_command(host);
        command
            .args(["sh", "-c", &format!("ulimit -n {FILES} && exec \"$0\" \"$@\"")])
            .arg(self.context.testbed.program)
            .args(["run", "--at-end", "restart", "--log", "error", "--http", HTTP])
            .args(self.options(host))
            .args(["--", "sh", "-c", "echo $$ $PPID; exec sleep 1000"]);
        Ok(self.members.start(host, command.stdout(Stdio::piped()))?)
    }

    /// Returns how soon after the leader's death the target's command ran, and how long before the
    /// end of its tenure it ended.
    fn under_siege(&mut self, leader: usize) -> Result<(Duration, Duration)> {
        self.answers()?;
        let died = Instant::now();
        self.members.end(leader, Signal::KILL)?;
        let (command, guardian) = self.command_of_target()?;
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

    /// Waits for the target's command to start. Returns the process ids of the command and of its
    /// guardian.
    fn command_of_target(&self) -> Result<(Pid, Pid)> {
        let line = loop {
            let line = self.members.next_line(STARTED_WITHIN).ok_or_else(|| {
                format!("member {TARGET} has not started its command within {STARTED_WITHIN:?}")
            })?;
            if line.place == TARGET {
                break line.text;
            }
        };
        let pids = line.split(' ').filter_map(|it| Pid::from_raw(it.parse().ok()?));
        match pids.collect::<Vec<Pid>>()[..] {
            [command, guardian] => Ok((command, guardian)),
            _ => Err(format!("no process ids: {line}").into()),
        }
    }
}
