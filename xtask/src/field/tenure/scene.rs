//! A group of writers, one a host: their processes, disks and calendars, and what can be done to them.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::TTL_MS;
use super::evidence::numbers;
use super::home::{BLOCK_BYTES, Home};
use super::schedule::Life;
use super::stall::Stall;
use crate::Result;
use crate::field::ground::{KEY, MEMBERS, PORT, name, voters};
use crate::field::hosts::{Family, Hosts, address, run, run_together};
use crate::field::measure::now_ns;

/// How long a process that was asked to stop may take.
const STOPS_WITHIN: Duration = Duration::from_secs(1);

/// How long a process may take until it has logged what it should at its start.
const LOGS_WITHIN: Duration = Duration::from_secs(2);

/// What runs.
#[derive(Clone, Copy)]
pub(super) struct Programs<'a> {
    /// `hustings` itself.
    pub(super) hustings: &'a Path,
    /// Its example `writer`.
    pub(super) writer: &'a Path,
}

pub(super) struct Scene<'a> {
    pub(super) hosts: &'a Hosts,
    programs: Programs<'a>,
    /// Everything that it leaves behind is here.
    home: Home,
    group: String,
    voters: usize,
    /// Who has a calendar of its own.
    unpunctual: usize,
    writers: Vec<Option<Writer>>,
    /// How many processes were started so far.
    started: u32,
}

/// What a member takes for the date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Calendar {
    Right,
    SetBack,
    SetForward,
}

struct Writer {
    process: Child,
    /// What it logs.
    log: PathBuf,
    belief: PathBuf,
}

impl<'a> Scene<'a> {
    /// A new group, of which nobody runs yet.
    pub(super) fn set(hosts: &'a Hosts, programs: Programs<'a>, life: &Life) -> Result<Self> {
        let voters = life.voters;
        let group = format!("tenure-{}", now_ns());
        let mut home = Home::make(&group)?;
        for voter in 0..voters {
            home.mount(&name(voter))?;
        }
        let scene = Self {
            hosts,
            programs,
            home,
            group,
            voters,
            unpunctual: life.unpunctual,
            writers: (0..MEMBERS).map(|_| None).collect(),
            started: 0,
        };
        scene.set_calendar(Calendar::Right)?;
        scene.found()?;
        Ok(scene)
    }

    /// Where everything is.
    pub(super) fn home(&self) -> &Path {
        &self.home.path
    }

    /// How many members vote, from the first on.
    pub(super) fn voters(&self) -> usize {
        self.voters
    }

    /// Who has a calendar of its own.
    pub(super) fn unpunctual(&self) -> usize {
        self.unpunctual
    }

    /// Initialises all voters.
    fn found(&self) -> Result<()> {
        let init = |voter| {
            let mut command = self.init(voter);
            command.arg("--new");
            command
        };
        run_together((0..self.voters).map(init))
    }

    fn init(&self, voter: usize) -> Command {
        let mut command = self.hosts.tied_command(voter);
        command.arg(self.programs.hustings);
        command.args(["voter", "init", "--http", "off"]);
        self.membership(voter, &mut command);
        command
    }

    /// Who a member is, for any program that takes its part.
    fn membership(&self, member: usize, command: &mut Command) {
        let place = format!("{}:{PORT}", address(member));
        command
            .args(["--group", &self.group, "--name", &name(member)])
            .args([
                "--voters",
                &voters(self.voters),
                "--ttl",
                &format!("{TTL_MS}ms"),
            ])
            .args([
                "--key", KEY, "--bind", &place, "--listen", "300ms", "--state",
            ])
            .arg(self.home.disk(&name(member)));
    }

    fn calendar(&self) -> PathBuf {
        self.home.path.join("calendar")
    }

    /// A process of the member with a calendar of its own goes by it, and by no other clock but the machine's.
    fn go_by_calendar(&self, member: usize, command: &mut Command) -> Result<()> {
        if member == self.unpunctual {
            command
                .env("LD_PRELOAD", library()?)
                .env("FAKETIME_TIMESTAMP_FILE", self.calendar())
                .env("FAKETIME_NO_CACHE", "1")
                .env("DONT_FAKE_MONOTONIC", "1");
        }
        Ok(())
    }
}

// What can be done.
impl Scene<'_> {
    /// Starts every writer that does not run.
    pub(super) fn start_all(&mut self) -> Result<()> {
        (0..MEMBERS).try_for_each(|member| self.start(member))
    }

    /// Starts a writer, unless it runs.
    pub(super) fn start(&mut self, member: usize) -> Result<()> {
        if self.writers[member].is_some() {
            return Ok(());
        }
        self.started += 1;
        let log = format!("{}.{}.log", name(member), self.started);
        let log = self.home.path.join(log);
        let mut command = self.hosts.tied_command(member);
        command.arg(self.programs.writer);
        self.membership(member, &mut command);
        command.arg("--to").arg(&self.home.path);
        self.go_by_calendar(member, &mut command)?;
        command.stdout(Stdio::null()).stderr(File::create(&log)?);
        let process = command.spawn()?;
        let belief = format!("belief.{}.{}", name(member), process.id());
        let belief = self.home.path.join(belief);
        self.writers[member] = Some(Writer {
            process,
            log,
            belief,
        });
        Ok(())
    }

    /// SIGKILL.
    pub(super) fn kill(&mut self, member: usize) -> Result<()> {
        if let Some(mut writer) = self.writers[member].take() {
            writer.process.kill()?;
            writer.process.wait()?;
        }
        Ok(())
    }

    /// Sends a signal to a member, if it runs. Returns its process, and when.
    pub(super) fn signal(&self, member: usize, signal: Signal) -> Result<Option<(u32, u64)>> {
        let Some(writer) = &self.writers[member] else {
            return Ok(None);
        };
        let at = now_ns();
        kill_process(Pid::from_child(&writer.process), signal)?;
        Ok(Some((writer.process.id(), at)))
    }

    /// From now on, until what is returned is dropped, a member stands still as soon as it has received one datagram and
    /// would look for the next. None if it does not receive yet, or any more.
    pub(super) fn stall(&self, member: usize) -> Result<Option<Stall>> {
        let Some(writer) = &self.writers[member] else {
            return Ok(None);
        };
        let place = SocketAddr::new(Family::V4.address(member), PORT);
        Stall::begin(self.hosts, member, writer.process.id(), place)
    }

    /// Waits for a member that was asked to stop. One that cannot, as it is stopped in the other sense, is killed.
    pub(super) fn see_out(&mut self, member: usize) -> Result<()> {
        let until = Instant::now() + STOPS_WITHIN;
        while let Some(writer) = &mut self.writers[member] {
            if writer.process.try_wait()?.is_some() {
                self.writers[member] = None;
            } else if Instant::now() >= until {
                self.kill(member)?;
            } else {
                thread::sleep(Duration::from_millis(2));
            }
        }
        Ok(())
    }

    /// Fills the disk of a voter up.
    pub(super) fn fill(&self, voter: usize) -> Result<()> {
        let mut file = File::create(self.home.disk(&name(voter)).join("filler"))?;
        loop {
            match file.write_all(&[0; BLOCK_BYTES]) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(super) fn free(&self, voter: usize) -> Result<()> {
        Ok(fs::remove_file(
            self.home.disk(&name(voter)).join("filler"),
        )?)
    }

    /// Whether a voter's disk can be made to refuse writes.
    pub(super) fn disks_can_refuse(&self) -> bool {
        self.home.disks_can_refuse()
    }

    /// From now on every write to a voter's file fails, also by a process that has it open: that is how ext4 takes
    /// immutable files. A file system cannot be made read-only while one of its files is open for writing.
    pub(super) fn refuse_writes(&self, voter: usize) -> Result<()> {
        run(Command::new("chattr").arg("+i").arg(self.promise(voter)))
    }

    pub(super) fn accept_writes(&self, voter: usize) -> Result<()> {
        run(Command::new("chattr").arg("-i").arg(self.promise(voter)))
    }

    /// Deletes what a voter has promised.
    pub(super) fn forget(&self, voter: usize) -> Result<()> {
        Ok(fs::remove_file(self.promise(voter))?)
    }

    /// Makes a voter one again whose disk was lost, while it does not run.
    pub(super) fn replace(&self, voter: usize) -> Result<()> {
        let mut init = self.init(voter);
        self.go_by_calendar(voter, &mut init)?;
        let output = init.output()?;
        match output.status.success() && self.promise(voter).exists() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into()),
        }
    }

    /// What a voter's file says.
    pub(super) fn promised(&self, voter: usize) -> Result<Vec<u8>> {
        Ok(fs::read(self.promise(voter))?)
    }

    fn promise(&self, voter: usize) -> PathBuf {
        let file = format!("{}.voter", self.group);
        self.home.disk(&name(voter)).join(file)
    }

    /// Sets the calendar of the one that has its own.
    pub(super) fn set_calendar(&self, calendar: Calendar) -> Result<()> {
        let ahead = match calendar {
            Calendar::Right => "+0",
            // More than a day, so that midnight makes no difference.
            Calendar::SetBack => "-3d",
            Calendar::SetForward => "+3d",
        };
        // In one piece: it may be read at any time.
        let new = self.home.path.join("calendar.new");
        fs::write(&new, ahead)?;
        Ok(fs::rename(new, self.calendar())?)
    }
}

// What can be seen.
impl Scene<'_> {
    /// Waits until a member, if it runs, has logged what it should.
    pub(super) fn require_logged(
        &self,
        member: usize,
        what: &str,
        is_it: impl Fn(&str) -> bool,
    ) -> Result<()> {
        let Some(writer) = &self.writers[member] else {
            return Ok(());
        };
        let until = Instant::now() + LOGS_WITHIN;
        loop {
            let log = fs::read_to_string(&writer.log)?;
            if log.lines().any(&is_it) {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(format!("{} does not log {what}: {log}", name(member)).into());
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Whether the process that a member is now has logged such a line.
    pub(super) fn has_logged(&self, member: usize, is_it: impl Fn(&str) -> bool) -> Result<bool> {
        let Some(writer) = &self.writers[member] else {
            return Ok(false);
        };
        Ok(fs::read_to_string(&writer.log)?.lines().any(is_it))
    }

    /// Fails if somebody has ended without being told to.
    pub(super) fn require_all_up(&mut self) -> Result<()> {
        for (member, place) in self.writers.iter_mut().enumerate() {
            let member = name(member);
            let writer = place.as_mut().ok_or(format!("{member} does not run"))?;
            if let Some(status) = writer.process.try_wait()? {
                let log = fs::read_to_string(&writer.log)?;
                return Err(format!("{member} ended with {status}: {}", log.trim()).into());
            }
        }
        Ok(())
    }

    /// Who believed last to hold tenure, and when it did so.
    pub(super) fn holder(&self) -> Option<(usize, u64)> {
        let last = |(member, writer): (usize, &Option<Writer>)| {
            let [_, asked, _] = numbers(&last_line(&writer.as_ref()?.belief)?)?;
            Some((member, asked))
        };
        let beliefs = self.writers.iter().enumerate().filter_map(last);
        beliefs.max_by_key(|(_, asked)| *asked)
    }

    /// Waits until somebody holds who does so after `since`. Returns when that was.
    pub(super) fn held_after(&self, since: u64, patience: Duration) -> Option<u64> {
        let until = Instant::now() + patience;
        loop {
            match self.holder() {
                Some((_, at)) if at > since => return Some(at),
                _ if Instant::now() >= until => return None,
                _ => thread::sleep(Duration::from_millis(3)),
            }
        }
    }

    /// What they leave behind is not removed.
    pub(super) fn keep(&mut self) {
        self.home.keep();
    }

    /// Ends all.
    pub(super) fn end_all(&mut self) -> Result<()> {
        (0..MEMBERS).try_for_each(|member| self.kill(member))
    }
}

impl Drop for Scene<'_> {
    fn drop(&mut self) {
        // The disks are in use until then. What cannot be killed has ended.
        let _ = self.end_all();
    }
}

/// The last whole line of a file that grows.
fn last_line(path: &Path) -> Option<String> {
    const ENOUGH_BYTES: u64 = 200;
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    let begin = length.saturating_sub(ENOUGH_BYTES);
    file.seek(SeekFrom::Start(begin)).ok()?;
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    let whole = &text[..text.rfind('\n')?];
    Some(whole.lines().last()?.to_owned())
}

/// What sets a process's calendar.
fn library() -> Result<PathBuf> {
    for entry in fs::read_dir("/usr/lib")? {
        let library = entry?.path().join("faketime/libfaketime.so.1");
        if library.exists() {
            return Ok(library);
        }
    }
    Err("there is no libfaketime below /usr/lib: install the package faketime".into())
}
