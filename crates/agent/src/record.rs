//! Writes the trace of a member to a file, in the format of [`hustings_protocol::trace`].
//!
//! The driver of a protocol queues lines and continues. A separate thread writes them. A slow disk
//! therefore never delays an election, and a full disk costs only the trace.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use hustings_node::record::Recorder;
use hustings_protocol::MemberId;
use tokio::sync::oneshot;

/// The number of bytes from which a batch of lines is written.
const MOST_AT_ONCE: usize = 65_536;

/// The time that [`Recording::finish`] waits for the last lines.
const FINISH_WITHIN: Duration = Duration::from_secs(1);

/// A trace file that is being written.
#[derive(Debug)]
pub struct Recording {
    /// Closes when the writer has written every line.
    ended: oneshot::Receiver<()>,
}

/// Appends what `member` does to the file at `path`, and creates the file if it is missing. A
/// member that restarts continues its old file.
///
/// # Errors
/// If the file can be neither opened nor created.
pub fn open(path: &Path, member: MemberId) -> io::Result<(Recorder, Recording)> {
    let file = open_for_lines(path)?;
    let (recorder, lines) = Recorder::queueing(path, member);
    let (end, ended) = oneshot::channel();
    let target = recorder.target();
    std::thread::Builder::new().name("recorder".to_owned()).spawn(move || {
        if let Err(error) = write_lines(file, &lines) {
            target.stop(&error.to_string());
        }
        drop(end);
    })?;
    Ok((recorder, Recording { ended }))
}

impl Recording {
    /// Waits until everything is written, at most one second. Every [`Recorder`] of this
    /// file must be dropped before.
    pub async fn finish(self) {
        // Too late or done: in both cases nothing is left to wait for.
        let _ = tokio::time::timeout(FINISH_WITHIN, self.ended).await;
    }
}

/// Opens a file to append whole lines.
fn open_for_lines(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let mut file = options.read(true).append(true).create(true).open(path)?;
    // A killed process may have left its last line unfinished. The next line must not continue it.
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

/// Writes lines as they arrive, until every sender is gone.
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
    use super::open;
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
    fn records_are_appended_each_on_its_own_line() {
        let path = file("added");
        std::fs::write(&path, "{\"time\":1.0,\"ki").unwrap();
        for member in [7, u64::MAX] {
            let (recorder, recording) = open(&path, MemberId(member)).unwrap();
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
    fn trace_file_that_cannot_be_created_is_an_error() {
        assert!(open(Path::new("/nowhere/at/all.jsonl"), MemberId(1)).is_err());
    }

    #[test]
    fn full_disk_stops_only_the_trace() {
        let (recorder, recording) = open(Path::new("/dev/full"), MemberId(1)).unwrap();
        recorder.record(&start(1));
        let target = recorder.target();
        block_on(async { drop(recording.ended.await) });
        assert!(target.is_stopped());
        recorder.record(&start(1));
    }
}
