//! To wait, without a runtime: for signals, for what arrives, for a moment on the boot clock.
//!
//! Those who watch over others do nothing else, for as long as a program lives: they should weigh nothing. They have
//! one thread, since a parent-death signal comes when the thread dies that started the process.
//!
//! The moment is one of a timer of the system's, since the time that a call may wait is counted on a clock that
//! stands still while the machine is asleep. A moment that passed meanwhile ends the wait as soon as the machine
//! is awake.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use hustings_protocol::Instant;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::Signal;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::raw::WithRawSiginfo;

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// The code of a signal that the system itself has sent: INT and QUIT, when they were typed at a terminal.
const SENT_BY_THE_SYSTEM: i32 = 0x80;

/// What a process that watches over others waits for.
#[derive(Debug)]
pub(crate) struct Vigil {
    signals: SignalDelivery<UnixStream, WithRawSiginfo>,
    timer: OwnedFd,
}

impl Vigil {
    /// Listens to the ends of children, and to these signals, which no longer end this process. Processes that it
    /// starts hear them as ever.
    pub(crate) fn begin(kinds: impl IntoIterator<Item = Signal>) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let kinds = kinds.into_iter().chain([Signal::CHILD]);
        let kinds: Vec<i32> = kinds.map(Signal::as_raw).collect();
        Ok(Self {
            signals: SignalDelivery::with_pipe(ours, theirs, WithRawSiginfo, kinds)?,
            timer: timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC)?,
        })
    }

    /// Waits until a signal has come, one of `files` has something to read or has ended, or the boot clock shows
    /// `moment`. Returns now and then for no reason: look at the clock again.
    pub(crate) fn wait(&self, files: &[BorrowedFd<'_>], moment: Option<Instant>) -> io::Result<()> {
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once(moment))?;
        let mut polled = vec![
            PollFd::new(self.signals.get_read(), PollFlags::IN),
            PollFd::new(&self.timer, PollFlags::IN),
        ];
        polled.extend(files.iter().map(|file| PollFd::new(file, PollFlags::IN)));
        match poll(&mut polled, None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The signals for this process that came since this was last asked. What is typed at a terminal is not among
    /// them: all processes there hear it, so nobody has to tell them.
    pub(crate) fn sent(&mut self) -> Vec<Signal> {
        let mut sent = Vec::new();
        for info in self.signals.pending() {
            let is_typed = info.si_code == SENT_BY_THE_SYSTEM;
            match Signal::from_named_raw(info.si_signo) {
                None | Some(Signal::CHILD) => {}
                Some(Signal::INT | Signal::QUIT) if is_typed => {}
                Some(signal) => sent.push(signal),
            }
        }
        sent
    }
}

/// None: never.
fn once(moment: Option<Instant>) -> Itimerspec {
    // Zero turns the timer off.
    let nanos = moment.map_or(0, |moment| moment.0.max(1));
    Itimerspec {
        it_interval: Timespec::default(),
        it_value: Timespec {
            // At most 600 years: neither can be too great.
            tv_sec: (nanos / NANOS_PER_SEC).cast_signed(),
            tv_nsec: (nanos % NANOS_PER_SEC).cast_signed(),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use hustings_protocol::Duration;
    use rustix::process::{getpid, kill_process};

    use super::*;
    use crate::clock;

    #[test]
    fn it_ends_at_its_moment_and_not_before() -> io::Result<()> {
        let vigil = Vigil::begin([])?;
        for moment in [Instant(0), clock::now()] {
            vigil.wait(&[], Some(moment))?;
        }
        let moment = clock::now() + Duration::from_millis(20);
        while clock::now() < moment {
            vigil.wait(&[], Some(moment))?;
        }
        let (mut theirs, ours) = UnixStream::pair()?;
        theirs.write_all(b"word")?;
        vigil.wait(&[ours.as_fd()], None)
    }

    #[test]
    fn it_ends_when_a_signal_was_sent() -> io::Result<()> {
        let mut vigil = Vigil::begin([Signal::USR2])?;
        assert_eq!(vigil.sent(), []);
        kill_process(getpid(), Signal::USR2)?;
        let sent = loop {
            vigil.wait(&[], None)?;
            let sent = vigil.sent();
            if !sent.is_empty() {
                break sent;
            }
        };
        assert_eq!(sent, [Signal::USR2]);
        Ok(())
    }
}
