//! The signals that are forwarded to the command.

use std::fs;
use std::future::poll_fn;
use std::io;
use std::task::Poll;

use rustix::process::Signal;
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

/// The signals that are forwarded to the command.
const MEANT_FOR_THE_COMMAND: [Signal; 6] =
    [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2];

/// Receives the signals for the command, which no longer end this process.
#[derive(Debug)]
pub(super) struct Signals {
    streams: Vec<(Signal, Stream)>,
}

impl Signals {
    /// Receives signals from now on until the process ends. Signals that this process was started
    /// to ignore, for example by nohup, stay ignored, also by the command.
    pub(super) fn listen() -> io::Result<Self> {
        let heard = meant_for_the_command()?.into_iter();
        let stream = |kind: Signal| Ok((kind, signal(SignalKind::from_raw(kind.as_raw()))?));
        let streams = heard.map(stream).collect::<io::Result<_>>()?;
        Ok(Self { streams })
    }

    /// The next signal.
    pub(super) async fn next(&mut self) -> Signal {
        poll_fn(|context| {
            for (signal, stream) in &mut self.streams {
                if stream.poll_recv(context).is_ready() {
                    return Poll::Ready(*signal);
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// Returns the signals for the command, except those that this process was started to ignore.
pub(crate) fn meant_for_the_command() -> io::Result<Vec<Signal>> {
    let ignored = ignored(&fs::read_to_string("/proc/self/status")?);
    let mut heard = MEANT_FOR_THE_COMMAND.to_vec();
    heard.retain(|signal| ignored & bit(*signal) == 0);
    Ok(heard)
}

/// Returns the set of ignored signals from `/proc/PID/status`.
fn ignored(status: &str) -> u64 {
    let mut lines = status.lines();
    let set = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
}

fn bit(signal: Signal) -> u64 {
    1 << (signal.as_raw() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        let status = "Name:\thustings\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\n";
        assert_eq!(ignored(status), bit(Signal::HUP) | bit(Signal::PIPE));
        assert_eq!(ignored("Name:\thustings\n"), 0);
    }
}
