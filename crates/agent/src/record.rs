//! What a member does, recorded in the format of [`hustings_protocol::trace`].
//!
//! Whoever drives a protocol hands over lines and goes on: a thread of its own writes them, so that a slow disk
//! never holds up an election, and a full one costs the record alone.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::time::Duration;

use hustings_protocol::MemberId;
use hustings_protocol::trace::Line;
use serde::Serialize;
use tokio::sync::oneshot;

/// How many lines may wait for the disk: minutes of a quiet group, a few megabytes.
const MOST_WAITING: usize = 16_384;

/// As much as is written at once.
const MOST_AT_ONCE: usize = 65_536;

/// How long the last lines may take.
const FINISH_WITHIN: Duration = Duration::from_secs(1);

/// To have lines of one member recorded. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Recorder {
    member: MemberId,
    lines: SyncSender<Vec<u8>>,
    target: Arc<Target>,
}

/// Where the lines go.
#[derive(Debug)]
struct Target {
    path: PathBuf,
    /// Whether nothing is recorded any more.
    stopped: AtomicBool,
}

/// A file that is being written.
#[derive(Debug)]
pub struct Recording {
    /// Told when all is written.
    ended: oneshot::Receiver<()>,
}

impl Recorder {
    /// Records what `member` does at the end of the file at `path`, which is created unless it is there: a
    /// member that comes up again goes on where it ended.
    ///
    /// # Errors
    /// If the file can be neither opened nor created.
    pub fn open(path: &Path, member: MemberId) -> io::Result<(Self, Recording)> {
        let file = open_for_lines(path)?;
        let (recorder, lines) = Self::queueing(path, member);
        let (end, ended) = oneshot::channel();
        let target = Arc::clone(&recorder.target);
        std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || {
                if let Err(error) = write_lines(file, &lines) {
                    target.stop(&error.to_string());
                }
                drop(end);
            })?;
        Ok((recorder, Recording { ended }))
    }

    /// The recorder of `member`, and where its lines come out, to be written to `path`.
    pub(crate) fn queueing(path: &Path, member: MemberId) -> (Self, Receiver<Vec<u8>>) {
        let (lines, queue) = mpsc::sync_channel(MOST_WAITING);
        let target = Arc::new(Target {
            path: path.to_owned(),
            stopped: AtomicBool::new(false),
        });
        let recorder = Self {
            member,
            lines,
            target,
        };
        (recorder, queue)
    }

    /// Whose lines they are.
    pub fn member(&self) -> MemberId {
        self.member
    }

    /// Takes a line. Never waits.
    pub fn record(&self, line: &Line<impl Serialize>) {
        if self.target.stopped.load(Ordering::Relaxed) {
            return;
        }
        // Plain data: nothing in it that JSON cannot say.
        let mut text = serde_json::to_vec(line).unwrap_or_default();
        text.push(b'\n');
        match self.lines.try_send(text) {
            // A record with a gap in it would tell another story.
            Err(TrySendError::Full(_)) => self.target.stop("the disk does not keep up"),
            // Nobody writes any more; why, has been said.
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
        }
    }
}

impl Recording {
    /// Waits until everything is written, but not for ever. Every [`Recorder`] of it must be gone by then.
    pub async fn finish(self) {
        // Too late or done: either way there is nothing left to wait for.
        let _ = tokio::time::timeout(FINISH_WITHIN, self.ended).await;
    }
}

impl Target {
    /// Records nothing any more, and says so the first time.
    fn stop(&self, why: &str) {
        if !self.stopped.swap(true, Ordering::Relaxed) {
            let path = self.path.display();
            tracing::error!("trace {path}: {why}: recording stops, the agent goes on");
        }
    }
}

/// Opens a file to write whole lines at its end.
fn open_for_lines(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let mut file = options.read(true).append(true).create(true).open(path)?;
    // A process that was killed may have left its last line unfinished: the next must not be part of it.
    if file.metadata()?.is_file() && file.seek(SeekFrom::End(0))? > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    Ok(file)
}

/// Writes lines as they come, until no more can come.
fn write_lines(mut file: File, lines: &Receiver<Vec<u8>>) -> io::Result<()> {
    while let Ok(mut text) = lines.recv() {
        while text.len() < MOST_AT_ONCE
            && let Ok(next) = lines.try_recv()
        {
            text.extend(next);
        }
        file.write_all(&text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{MOST_WAITING, Recorder};
    use hustings_protocol::bully::Message;
    use hustings_protocol::trace::Line;
    use hustings_protocol::{Instant, MemberId};
    use std::path::{Path, PathBuf};

    fn start(member: u64) -> Line<&'static Message> {
        Line::start(Instant(2_000_000_000), MemberId(member))
    }

    fn file(name: &str) -> PathBuf {
        let name = format!("hustings-record-{}-{name}", std::process::id());
        std::env::temp_dir().join(name)
    }

    fn block_on(work: impl Future<Output = ()>) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().unwrap().block_on(work);
    }

    #[test]
    fn lines_are_added_to_what_is_there_each_on_a_line_of_its_own() {
        let path = file("added");
        std::fs::write(&path, "{\"time\":1.0,\"ki").unwrap();
        for member in [7, u64::MAX] {
            let (recorder, recording) = Recorder::open(&path, MemberId(member)).unwrap();
            recorder.record(&start(member));
            drop(recorder);
            block_on(recording.finish());
        }
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "{\"time\":1.0,\"ki",
                "{\"time\":2.0,\"kind\":\"start\",\"member\":\"7\"}",
                "{\"time\":2.0,\"kind\":\"start\",\"member\":\"18446744073709551615\"}",
            ]
        );
    }

    #[test]
    fn a_file_that_cannot_be_created_is_an_error() {
        assert!(Recorder::open(Path::new("/nowhere/at/all.jsonl"), MemberId(1)).is_err());
    }

    #[test]
    fn a_full_disk_stops_the_record_and_nothing_else() {
        let (recorder, recording) = Recorder::open(Path::new("/dev/full"), MemberId(1)).unwrap();
        recorder.record(&start(1));
        let target = recorder.target.clone();
        block_on(async { drop(recording.ended.await) });
        assert!(target.stopped.load(std::sync::atomic::Ordering::Relaxed));
        recorder.record(&start(1));
    }

    #[test]
    fn a_disk_that_does_not_keep_up_stops_the_record_rather_than_leaving_gaps() {
        let (recorder, queue) = Recorder::queueing(Path::new("slow"), MemberId(1));
        for _ in 0..=MOST_WAITING {
            recorder.record(&start(1));
        }
        assert_eq!(queue.try_iter().count(), MOST_WAITING);
        recorder.record(&start(1));
        assert_eq!(queue.try_iter().count(), 0, "nothing after the gap");
    }
}
