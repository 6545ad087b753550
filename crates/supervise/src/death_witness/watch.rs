//! The process of the death witness, which mostly waits.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, getpid, set_child_subreaper};
use rustix::thread::set_name;

use super::worker::Worker;
use crate::last_will;
use crate::line_reader::LineReader;
use crate::poller::Poller;
use crate::processes::{Ending, SWEEP_EVERY, Sweep, reap, send};
use crate::workload::signals::meant_for_the_command;
use hustings_authority::LastWill;
use hustings_system::clock;

struct DeathWitness {
    poller: Poller,
    /// The worker's process.
    worker: Pid,
    line_reader: LineReader<UnixStream>,
    last_will: LastWill,
    /// The exit status of the worker, if it has ended.
    ending: Option<Ending>,
}

/// Starts the worker. Returns when the worker has ended, nothing is left of it, and its last will
/// has been sent.
pub(super) fn keep() -> io::Result<Ending> {
    set_child_subreaper(Some(getpid()))?;
    set_name(c"hustings-keeper")?;
    let poller = Poller::begin(meant_for_the_command()?)?;
    let (worker, socket) = Worker::start()?;
    let death_witness = DeathWitness {
        poller,
        worker: Pid::from_child(&worker),
        line_reader: LineReader::new(socket),
        last_will: LastWill::default(),
        ending: None,
    };
    death_witness.watch()
}

impl DeathWitness {
    fn watch(mut self) -> io::Result<Ending> {
        let mut sweep: Option<Sweep> = None;
        while self.reap()? {
            if self.ending.is_some() {
                sweep.get_or_insert_with(Sweep::begin).go();
            }
            self.wait(sweep.is_some())?;
        }
        // No process that could write is left: the received lines are complete.
        self.listen();
        last_will::send(&self.last_will);
        Ok(self.ending.ok_or(io::ErrorKind::NotFound)?)
    }

    /// Reaps children. Returns false if no child is left.
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
        match self.line_reader.has_ended {
            true => self.poller.wait(&[], again_at)?,
            false => self.poller.wait(&[self.line_reader.socket.as_fd()], again_at)?,
        }
        for signal in self.poller.sent() {
            if self.ending.is_none() {
                send(self.worker, signal);
            }
        }
        self.listen();
        Ok(())
    }

    /// Applies the last line that the worker has written. An invalid line withdraws the last will.
    fn listen(&mut self) {
        if let Some(line) = self.line_reader.arrived().last() {
            self.last_will = last_will::from_line(line).unwrap_or_default();
        }
    }
}
