//! Waits without a runtime for signals, for readable files, and for an instant on the boot clock.
//!
//! Supervising processes only wait, as long as a program runs, so they should be light. They have
//! one thread, because a parent-death signal is sent when the thread that started the child dies.
//!
//! The instant is set on a system timer, because the timeout of `poll` counts on a clock that stops
//! while the machine is suspended. If the instant passes during a suspend, the wait ends as soon as
//! the machine is awake.

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

/// The code of a signal that the kernel sent: INT and QUIT, if they were typed at a terminal.
const SENT_BY_THE_SYSTEM: i32 = 0x80;

/// The event sources of a supervising process.
#[derive(Debug)]
pub(crate) struct Poller {
    signals: SignalDelivery<UnixStream, WithRawSiginfo>,
    timer: OwnedFd,
}

impl Poller {
    /// Handles the ends of children and these signals, which no longer end this process. Processes
    /// that it starts receive them as usual.
    pub(crate) fn begin(kinds: impl IntoIterator<Item = Signal>) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let kinds = kinds.into_iter().chain([Signal::CHILD]);
        let kinds: Vec<i32> = kinds.map(Signal::as_raw).collect();
        Ok(Self {
            signals: SignalDelivery::with_pipe(ours, theirs, WithRawSiginfo, kinds)?,
            timer: timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC)?,
        })
    }

    /// Waits until a signal arrives, one of `files` becomes readable or ends, or the boot clock
    /// reaches `moment`. May return early: the caller must read the clock again.
    ///
    /// Returns the signals sent to this process since the last call, without those typed at a
    /// terminal: all processes of the terminal receive these themselves.
    pub(crate) fn wait(
        &mut self,
        files: &[BorrowedFd<'_>],
        moment: Option<Instant>,
    ) -> io::Result<Vec<Signal>> {
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once(moment))?;
        let mut polled = vec![
            PollFd::new(self.signals.get_read(), PollFlags::IN),
            PollFd::new(&self.timer, PollFlags::IN),
        ];
        polled.extend(files.iter().map(|file| PollFd::new(file, PollFlags::IN)));
        match poll(&mut polled, None) {
            Ok(_) | Err(Errno::INTR) => Ok(self.sent()),
            Err(error) => Err(error.into()),
        }
    }

    fn sent(&mut self) -> Vec<Signal> {
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

/// Returns the setting of a timer that fires once, or never for `None`.
fn once(moment: Option<Instant>) -> Itimerspec {
    // Zero would disarm the timer.
    let nanos = moment.map_or(0, |moment| moment.0.max(1));
    Itimerspec {
        it_interval: Timespec::default(),
        it_value: Timespec {
            // At most 600 years, so neither conversion overflows.
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
    use hustings_system::clock;

    #[test]
    fn wait_ends_at_its_instant_and_not_before() -> io::Result<()> {
        let mut poller = Poller::begin([])?;
        for moment in [Instant(0), clock::now()] {
            poller.wait(&[], Some(moment))?;
        }
        let moment = clock::now() + Duration::from_millis(20);
        while clock::now() < moment {
            poller.wait(&[], Some(moment))?;
        }
        let (mut theirs, ours) = UnixStream::pair()?;
        theirs.write_all(b"word")?;
        poller.wait(&[ours.as_fd()], None)?;
        Ok(())
    }

    #[test]
    fn wait_ends_when_a_signal_was_sent() -> io::Result<()> {
        let mut poller = Poller::begin([Signal::USR2])?;
        assert_eq!(poller.sent(), []);
        kill_process(getpid(), Signal::USR2)?;
        let sent = loop {
            let sent = poller.wait(&[], None)?;
            if !sent.is_empty() {
                break sent;
            }
        };
        assert_eq!(sent, [Signal::USR2]);
        Ok(())
    }
}
