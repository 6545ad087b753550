//! The keeper's own work: to wait.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, getpid, set_child_subreaper};
use rustix::thread::set_name;

use super::worker::Worker;
use crate::authority::last_words::LastWords;
use crate::inbox::Inbox;
use crate::processes::{Ending, SWEEP_EVERY, Sweep, reap, send};
use crate::vigil::Vigil;
use crate::workload::signals::meant_for_the_command;
use crate::{clock, obituary};

struct Keeper {
    vigil: Vigil,
    /// The worker's process.
    worker: Pid,
    inbox: Inbox<UnixStream>,
    last_words: LastWords,
    /// How the worker ended, if it has.
    ending: Option<Ending>,
}

/// Starts the worker, and returns when it has ended, nothing is left of it, and its last words have been sent.
pub(super) fn keep() -> io::Result<Ending> {
    set_child_subreaper(Some(getpid()))?;
    set_name(c"hustings-keeper")?;
    let vigil = Vigil::begin(meant_for_the_command()?)?;
    let (worker, socket) = Worker::start()?;
    let keeper = Keeper {
        vigil,
        worker: Pid::from_child(&worker),
        inbox: Inbox::new(socket),
        last_words: LastWords::default(),
        ending: None,
    };
    keeper.watch()
}

impl Keeper {
    fn watch(mut self) -> io::Result<Ending> {
        let mut sweep: Option<Sweep> = None;
        while self.reap()? {
            if self.ending.is_some() {
                sweep.get_or_insert_with(Sweep::begin).go();
            }
            self.wait(sweep.is_some())?;
        }
        // Nobody is left who could write: this is all that the worker has said.
        self.listen();
        obituary::send(&self.last_words);
        Ok(self.ending.ok_or(io::ErrorKind::NotFound)?)
    }

    /// Takes note of who has ended. False if nobody is left.
    fn reap(&mut self) -> io::Result<bool> {
        let reaped = reap()?;
        let mut ended = reaped.ended.iter();
        if let Some((_, status)) = ended.find(|(pid, _)| *pid == self.worker) {
            self.ending = Ending::of(*status);
        }
        Ok(reaped.others)
    }

    fn wait(&mut self, sweeping: bool) -> io::Result<()> {
        let again_at = sweeping.then(|| clock::now() + SWEEP_EVERY);
        match self.inbox.has_ended {
            true => self.vigil.wait(&[], again_at)?,
            false => self.vigil.wait(&[self.inbox.socket.as_fd()], again_at)?,
        }
        for signal in self.vigil.sent() {
            if self.ending.is_none() {
                send(self.worker, signal);
            }
        }
        self.listen();
        Ok(())
    }

    /// The last that the worker has said counts. What it cannot have said takes back all.
    fn listen(&mut self) {
        if let Some(line) = self.inbox.arrived().last() {
            self.last_words = obituary::from_line(line).unwrap_or_default();
        }
    }
}
