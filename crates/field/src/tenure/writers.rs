//! A group of writers, one on each host: their processes, disks and calendars, and the faults that
//! can be injected.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use hustings_testkit::{Process, poll, run};
use rustix::process::{Pid, Signal};

use super::TTL_MS;
use super::evidence::numbers;
use super::schedule::GroupPlan;
use super::state_dir::{BLOCK_BYTES, StateDir};
use crate::Result;
use crate::measure::now_ns;
use crate::testbed::{MEMBERS, Testbed, name, voting_member};

/// The time within which a process must end after SIGTERM.
const STOPS_WITHIN: Duration = Duration::from_secs(1);

/// The time within which a process must have logged its state at startup.
const LOGS_WITHIN: Duration = Duration::from_secs(2);

pub(super) struct Writers<'a> {
    pub(super) testbed: Testbed<'a>,
    /// The program of the writers: the example `writer`.
    program: &'a Path,
    /// The processes use the disks, so they end first when this is dropped.
    writers: Vec<Option<Writer>>,
    /// The directory of all files of the group.
    pub(super) state_dir: StateDir,
    group: String,
    /// The number of voters, which are the first members.
    pub(super) voters: usize,
    /// The member with a calendar of its own.
    pub(super) calendar_member: usize,
    /// The number of processes started since the beginning.
    started: u32,
}

/// The dates that the member with a calendar of its own may see: by more than a day, so that
/// midnight makes no difference.
pub(super) const RIGHT: &str = "+0";
pub(super) const BACK: &str = "-3d";
pub(super) const FORWARD: &str = "+3d";

struct Writer {
    process: Process,
    /// The file that the process logs to.
    log: PathBuf,
    belief: PathBuf,
}

impl<'a> Writers<'a> {
    /// Creates a group without running members.
    pub(super) fn create(
        testbed: Testbed<'a>,
        program: &'a Path,
        plan: &GroupPlan,
    ) -> Result<Self> {
        let voters = plan.voters;
        let group = format!("tenure-{}", now_ns());
        let mut state_dir = StateDir::make()?;
        for voter in 0..voters {
            state_dir.mount(&name(voter))?;
        }
        let writers = Self {
            testbed,
            program,
            state_dir,
            group,
            voters,
            calendar_member: plan.calendar_member,
            writers: (0..MEMBERS).map(|_| None).collect(),
            started: 0,
        };
        writers.set_calendar(RIGHT)?;
        testbed.init_voters(voters, |voter| writers.init_options(voter))?;
        Ok(writers)
    }

    /// Returns the options of `voter init`.
    fn init_options(&self, voter: usize) -> Vec<String> {
        let off = ["--http", "off"].map(str::to_owned);
        off.into_iter().chain(self.membership(voter)).collect()
    }

    /// Returns the options that identify a member, for any program that acts for it.
    fn membership(&self, member: usize) -> Vec<String> {
        let (ttl, state) = (Duration::from_millis(TTL_MS), self.state_dir.disk(&name(member)));
        let mut options = voting_member(&self.group, member, self.voters, ttl, &state);
        options.extend(["--listen", "300ms"].map(str::to_owned));
        options
    }

    fn calendar(&self) -> PathBuf {
        self.state_dir.path().join("calendar")
    }

    /// Makes a process of the member with its own calendar use that calendar. Its monotonic clock
    /// stays the machine's.
    fn go_by_calendar(&self, member: usize, command: &mut Command) -> Result<()> {
        if member == self.calendar_member {
            command
                .env("LD_PRELOAD", library()?)
                .env("FAKETIME_TIMESTAMP_FILE", self.calendar())
                .env("FAKETIME_NO_CACHE", "1")
                .env("DONT_FAKE_MONOTONIC", "1");
        }
        Ok(())
    }

    // Starting and stopping members, and injecting faults.

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
        let log = self.state_dir.path().join(log);
        let mut command = self.testbed.hosts.tied_command(member);
        command.arg(self.program).args(self.membership(member));
        command.arg("--to").arg(self.state_dir.path());
        self.go_by_calendar(member, &mut command)?;
        command.stdout(Stdio::null()).stderr(File::create(&log)?);
        let process = Process::spawn(&mut command)?;
        let belief = format!("belief.{}.{}", name(member), process.id());
        let belief = self.state_dir.path().join(belief);
        self.writers[member] = Some(Writer { process, log, belief });
        Ok(())
    }

    /// Kills a member if it runs.
    pub(super) fn kill(&mut self, member: usize) {
        self.writers[member] = None;
    }

    /// Sends a signal to a member if it runs. Returns the process id and the time.
    pub(super) fn signal(&self, member: usize, signal: Signal) -> Result<Option<(u32, u64)>> {
        let Some(writer) = &self.writers[member] else {
            return Ok(None);
        };
        let at = now_ns();
        writer.process.signal(signal)?;
        Ok(Some((writer.process.id(), at)))
    }

    /// Returns the process id of a member if it runs.
    pub(super) fn pid(&self, member: usize) -> Option<Pid> {
        Some(self.writers[member].as_ref()?.process.pid())
    }

    /// Waits for a member that received SIGTERM. A member that cannot end, because SIGSTOP has
    /// stopped it, is killed.
    pub(super) fn see_out(&mut self, member: usize) -> Result<()> {
        if let Some(writer) = &mut self.writers[member] {
            poll(STOPS_WITHIN, || writer.process.try_wait().transpose()).transpose()?;
        }
        self.kill(member);
        Ok(())
    }

    /// Fills a voter's disk.
    pub(super) fn fill(&self, voter: usize) -> Result<()> {
        let mut file = File::create(self.state_dir.disk(&name(voter)).join("filler"))?;
        let full = loop {
            if let Err(error) = file.write_all(&[0; BLOCK_BYTES]) {
                break error;
            }
        };
        ensure!(full.kind() == ErrorKind::StorageFull, "{full}");
        Ok(())
    }

    pub(super) fn free(&self, voter: usize) -> Result<()> {
        Ok(fs::remove_file(self.state_dir.disk(&name(voter)).join("filler"))?)
    }

    /// Makes every write to a voter's file fail, also by a process that has it open. ext4 does that
    /// for immutable files. Remounting read-only is not possible while a file is open for writing.
    pub(super) fn refuse_writes(&self, voter: usize, refused: bool) -> Result<()> {
        let change = if refused { "+i" } else { "-i" };
        run(Command::new("chattr").arg(change).arg(self.promise(voter)))?;
        Ok(())
    }

    /// Deletes a voter's file.
    pub(super) fn forget(&self, voter: usize) -> Result<()> {
        Ok(fs::remove_file(self.promise(voter))?)
    }

    /// Initialises a voter that lost its file. The voter must not run.
    pub(super) fn replace(&self, voter: usize) -> Result<()> {
        let mut init = self.testbed.hosts.tied_command(voter);
        init.arg(self.testbed.program).args(["voter", "init"]).args(self.init_options(voter));
        self.go_by_calendar(voter, &mut init)?;
        run(&mut init)?;
        ensure!(self.promise(voter).exists(), "`voter init` succeeds without a file");
        Ok(())
    }

    /// Returns the content of a voter's file.
    pub(super) fn promised(&self, voter: usize) -> Result<Vec<u8>> {
        Ok(fs::read(self.promise(voter))?)
    }

    fn promise(&self, voter: usize) -> PathBuf {
        let file = format!("{}.voter", self.group);
        self.state_dir.disk(&name(voter)).join(file)
    }

    /// Sets the calendar of the one member that has its own.
    pub(super) fn set_calendar(&self, ahead: &str) -> Result<()> {
        // The rename is atomic, because a process may read the file at any time.
        let new = self.state_dir.path().join("calendar.new");
        fs::write(&new, ahead)?;
        Ok(fs::rename(new, self.calendar())?)
    }

    // Observing the members.

    /// Waits until a member, if it runs, has logged a line for which `is_it` holds.
    pub(super) fn require_logged(
        &self,
        member: usize,
        what: &str,
        is_it: impl Fn(&str) -> bool,
    ) -> Result<()> {
        let Some(writer) = &self.writers[member] else {
            return Ok(());
        };
        let read = || fs::read_to_string(&writer.log).unwrap_or_default();
        let logged = poll(LOGS_WITHIN, || read().lines().any(&is_it).then_some(()));
        ensure!(logged.is_some(), "{} does not log {what}: {}", name(member), read());
        Ok(())
    }

    /// True if the member's current process has logged a line for which `is_it` holds.
    pub(super) fn has_logged(&self, member: usize, is_it: impl Fn(&str) -> bool) -> Result<bool> {
        let Some(writer) = &self.writers[member] else {
            return Ok(false);
        };
        Ok(fs::read_to_string(&writer.log)?.lines().any(is_it))
    }

    /// Fails if a member has ended unexpectedly.
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

    /// Returns the member that last believed that it holds tenure, and when.
    pub(super) fn holder(&self) -> Option<(usize, u64)> {
        let last = |(member, writer): (usize, &Option<Writer>)| {
            let [_, asked, _] = numbers(&last_line(&writer.as_ref()?.belief)?)?;
            Some((member, asked))
        };
        let beliefs = self.writers.iter().enumerate().filter_map(last);
        beliefs.max_by_key(|(_, asked)| *asked)
    }

    /// Waits until a member holds tenure later than `since`. Returns the member and that time.
    pub(super) fn held_after(&self, since: u64, patience: Duration) -> Option<(usize, u64)> {
        poll(patience, || self.holder().filter(|(_, at)| *at > since))
    }

    /// Ends all members.
    pub(super) fn end_all(&mut self) {
        self.writers.iter_mut().for_each(|writer| *writer = None);
    }
}

/// Returns the last complete line of a growing file.
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

/// Returns the path of the library that sets a process's calendar.
fn library() -> Result<PathBuf> {
    let directories = fs::read_dir("/usr/lib")?.flatten();
    let mut libraries = directories.map(|it| it.path().join("faketime/libfaketime.so.1"));
    let missing = "there is no libfaketime below /usr/lib: install the package faketime";
    Ok(libraries.find(|it| it.exists()).ok_or(missing)?)
}
