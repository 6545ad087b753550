//! Records the events of a member in the format of [`hustings_protocol::trace`].
//!
//! Purpose     passes lines to a writer without waiting for the disk
//! Inputs      trace lines of the drivers
//! Outputs     encoded lines on a bounded queue, which a thread of the agent writes
//! Owns        the queue, and the flag that ends the record
//! Invariants  recording never blocks; a record has no gaps, it stops instead

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};

use hustings_protocol::MemberId;
use hustings_protocol::trace::Line;
use serde::Serialize;

/// The number of lines that may wait for the disk: minutes of a quiet group, a few megabytes.
const MOST_WAITING: usize = 16_384;

/// A handle that records lines of one member. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Recorder {
    member: MemberId,
    lines: SyncSender<Vec<u8>>,
    target: Arc<Target>,
}

/// The file of a record.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    /// True if recording has stopped.
    stopped: AtomicBool,
}

impl Recorder {
    /// A recorder of `member`, and the queue of its lines, which the caller writes to `path`.
    pub fn queueing(path: &Path, member: MemberId) -> (Self, Receiver<Vec<u8>>) {
        let (lines, queue) = mpsc::sync_channel(MOST_WAITING);
        let target = Arc::new(Target { path: path.to_owned(), stopped: AtomicBool::new(false) });
        let recorder = Self { member, lines, target };
        (recorder, queue)
    }

    /// The file of the record.
    pub fn target(&self) -> Arc<Target> {
        Arc::clone(&self.target)
    }

    /// The member whose lines are recorded.
    pub fn member(&self) -> MemberId {
        self.member
    }

    /// Records a line. Never waits.
    pub fn record(&self, line: &Line<impl Serialize, impl Serialize>) {
        if self.target.is_stopped() {
            return;
        }
        // Plain data, all of which JSON can represent.
        let mut text = serde_json::to_vec(line).unwrap_or_default();
        text.push(b'\n');
        match self.lines.try_send(text) {
            // A record with a gap would be misleading.
            Err(TrySendError::Full(_)) => self.target.stop("the disk does not keep up"),
            // The writer has stopped, and has logged the reason.
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
        }
    }
}

impl Target {
    /// True if recording has stopped.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Stops recording, and logs the reason the first time.
    pub fn stop(&self, why: &str) {
        if !self.stopped.swap(true, Ordering::Relaxed) {
            let path = self.path.display();
            tracing::error!("trace {path}: {why}: recording stops, the agent goes on");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_WAITING, Recorder};
    use hustings_protocol::bully::Message;
    use hustings_protocol::trace::Line;
    use hustings_protocol::{Instant, MemberId};
    use std::path::Path;

    fn start(member: u64) -> Line<&'static Message> {
        Line::start(Instant(2_000_000_000), MemberId(member))
    }

    #[test]
    fn record_stops_if_the_disk_does_not_keep_up() {
        let (recorder, queue) = Recorder::queueing(Path::new("slow"), MemberId(1));
        for _ in 0..=MOST_WAITING {
            recorder.record(&start(1));
        }
        assert_eq!(queue.try_iter().count(), MOST_WAITING);
        recorder.record(&start(1));
        assert_eq!(queue.try_iter().count(), 0, "nothing after the gap");
    }
}
