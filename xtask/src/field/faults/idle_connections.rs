//! A stranger without a key that opens connections and says nothing, against members that may have few files open.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{STRANGER, Trial, require};
use crate::Result;
use crate::field::ground::{KEY, PORT, name, voters};
use crate::field::hosts::{address, run_together, this_program};
use crate::field::measure::now_ns;

/// Three voters, each with a command that runs where its member leads.
const VOTERS: usize = 3;
/// The member that the stranger connects to. It is the best: when the leader is gone, it is elected.
const TARGET: usize = 1;

/// How many connections the stranger holds.
const CONNECTIONS: &str = "2000";
/// How many files a member may have open, by its soft and its hard limit.
const FILES: &str = "1024";

const TTL: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(2);
const HTTP: &str = "127.0.0.1:7480";

/// By then a command has started, or does not start.
const STARTED_WITHIN: Duration = Duration::from_secs(20);
/// By then a member has answered by HTTP, or does not answer.
const ANSWERED_WITHIN: Duration = Duration::from_secs(3);

/// The member is elected, by a ring whose messages come over connections; its command starts; HTTP answers; and the command
/// is killed before its tenure ends though its guardian is stopped.
pub(super) fn held_open(trial: &Trial<'_>) -> Result<String> {
    let group = Group::found(trial)?;
    let others = [group.start(0)?, group.start(2)?];
    let (leader, _follower) = first_to_lead(others)?;
    let target = group.start(TARGET)?;
    thread::sleep(TTL);
    let mut stranger = idle_connections(trial)?;
    let (before, after) = group.under_siege(leader, &target)?;
    let is_held = stranger.0.try_wait()?.is_none();
    require(is_held, || "the stranger gave up".to_owned())?;
    Ok(format!(
        "elected and started {} ms after the leader's death, gone {} ms before the tenure ended",
        before.as_millis(),
        after.as_millis()
    ))
}

/// Waits until one of two members runs its command. Returns the leader, then the follower.
fn first_to_lead([one, two]: [Member; 2]) -> Result<(Member, Member)> {
    let began = Instant::now();
    while began.elapsed() < STARTED_WITHIN {
        if one.lines.recv_timeout(LOOK_EVERY).is_ok() {
            return Ok((one, two));
        }
        if two.lines.try_recv().is_ok() {
            return Ok((two, one));
        }
    }
    Err("no member leads at first".into())
}

/// The stranger, once it has opened its connections.
fn idle_connections(trial: &Trial<'_>) -> Result<Process> {
    let mut command = trial.ground.hosts.tied_command(STRANGER);
    command
        .args(["sh", "-c", "ulimit -n 8192 && exec \"$0\" \"$@\""])
        .arg(this_program())
        .args(["idle-connections", "--count", CONNECTIONS])
        .args(["--target", &format!("{}:{PORT}", address(TARGET))]);
    let stranger = Process(command.stdout(Stdio::piped()).spawn()?);
    let (stranger, lines) = stranger.heard();
    let opened = lines.recv_timeout(STARTED_WITHIN);
    opened.map_err(|error| format!("no connections were opened: {error}"))?;
    Ok(stranger)
}

/// A group of voters, and where they keep what they promise: gone when dropped.
struct Group<'t> {
    trial: &'t Trial<'t>,
    name: String,
    home: PathBuf,
}

/// A process that is killed when dropped.
struct Process(Child);

/// A member that runs a command while it leads.
struct Member {
    process: Process,
    lines: Receiver<String>,
}

impl<'t> Group<'t> {
    fn found(trial: &'t Trial<'t>) -> Result<Self> {
        let name = format!("idle-{}", now_ns());
        let home = std::env::temp_dir().join(&name);
        fs::create_dir(&home)?;
        let group = Self { trial, name, home };
        run_together((0..VOTERS).map(|host| {
            let mut init = trial.ground.command(host);
            init.args(["voter", "init", "--new", "--within", "1s"]);
            init.args(group.options(host));
            init
        }))?;
        Ok(group)
    }

    fn options(&self, host: usize) -> Vec<String> {
        let state = self.home.join(name(host)).display().to_string();
        let bind = format!("{}:{PORT}", address(host));
        let (name, voters) = (name(host), voters(VOTERS));
        let ttl = format!("{}s", TTL.as_secs());
        let options = [
            ["--group", &self.name],
            ["--key", KEY],
            ["--name", &name],
            ["--bind", &bind],
            ["--interface", &address(host)],
            ["--voters", &voters],
            ["--ttl", &ttl],
            ["--state", &state],
            ["--protocol", "chang-roberts"],
            ["--priority", if host == TARGET { "1" } else { "0" }],
        ];
        options.concat().into_iter().map(str::to_owned).collect()
    }

    /// Starts a member. Its command prints its own process and its guardian's.
    fn start(&self, host: usize) -> Result<Member> {
        let mut command = self.trial.ground.hosts.tied_command(host);
        command
            .args([
                "sh",
                "-c",
                &format!("ulimit -n {FILES} && exec \"$0\" \"$@\""),
            ])
            .arg(self.trial.ground.program)
            .args([
                "run", "--at-end", "restart", "--log", "error", "--http", HTTP,
            ])
            .args(self.options(host))
            .args(["--", "sh", "-c", "echo $$ $PPID; exec sleep 1000"])
            .stdout(Stdio::piped());
        let (process, lines) = Process(command.spawn()?).heard();
        Ok(Member { process, lines })
    }

    /// How soon after the leader's death the target's command runs, and how long before the end of its tenure it has ended.
    fn under_siege(&self, leader: Member, target: &Member) -> Result<(Duration, Duration)> {
        self.answers()?;
        let died = Instant::now();
        drop(leader);
        let (command, guardian) = target.command(STARTED_WITHIN)?;
        let started = died.elapsed();
        self.answers()?;
        kill_process(guardian, Signal::STOP)?;
        // No renewal comes any more: what it holds ends a ttl from now at the latest.
        let cut = Instant::now();
        let others: Vec<usize> = (0..VOTERS).filter(|host| *host != TARGET).collect();
        self.trial.ground.hosts.block(TARGET, &others)?;
        let ends = cut.elapsed() + TTL;
        while lives(command) && cut.elapsed() < ends * 5 {
            thread::sleep(LOOK_EVERY);
        }
        let took = cut.elapsed();
        require(took < ends, || {
            format!("its command ran {:?} past its tenure", took - ends)
        })?;
        self.answers()?;
        Ok((started, ends - took))
    }

    /// The target answers by HTTP.
    fn answers(&self) -> Result<()> {
        let mut status = self.trial.ground.hosts.command(TARGET, "timeout");
        status
            .arg(ANSWERED_WITHIN.as_secs().to_string())
            .arg(self.trial.ground.program)
            .args(["status", "--http", HTTP]);
        let output = status.output()?;
        require(output.status.success(), || {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            format!("HTTP is dead ({}): {said}", output.status)
        })
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        // A directory that cannot be removed stays.
        let _ = fs::remove_dir_all(&self.home);
    }
}

impl Process {
    /// The lines that it prints, as they come.
    fn heard(mut self) -> (Self, Receiver<String>) {
        let (line, lines) = mpsc::channel();
        if let Some(output) = self.0.stdout.take() {
            thread::spawn(move || {
                for read in BufReader::new(output)
                    .lines()
                    .map_while(std::io::Result::ok)
                {
                    if line.send(read).is_err() {
                        return;
                    }
                }
            });
        }
        (self, lines)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Member {
    /// The processes of its command and of the command's guardian, when it has started.
    fn command(&self, within: Duration) -> Result<(Pid, Pid)> {
        let line = self.lines.recv_timeout(within).map_err(|error| {
            let pid = self.process.0.id();
            format!("process {pid} has not started its command within {within:?}: {error}")
        })?;
        let mut pids = line
            .split(' ')
            .map(|it| it.parse().ok().and_then(Pid::from_raw));
        match (pids.next().flatten(), pids.next().flatten()) {
            (Some(command), Some(guardian)) => Ok((command, guardian)),
            _ => Err(format!("no process ids: {line}").into()),
        }
    }
}

/// Whether a process lives. One that has ended but whose parent has not asked yet does not.
fn lives(pid: Pid) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    let state = stat.ok().and_then(|stat| {
        let (_, rest) = stat.rsplit_once(") ")?;
        rest.chars().next()
    });
    state.is_some_and(|state| state != 'Z' && state != 'X')
}
