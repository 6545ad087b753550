//! A member's transcript: everything that it did in a draw, in order, as a hash chain.
//!
//! The file has one line of JSON for each entry. Only its owner can read it, because it contains
//! the member's flips while the draw is under way. The file is created when the draw begins and
//! never overwrites another: a transcript of a draw shows that the member has taken part in it.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use hustings_protocol::wagner;
use hustings_protocol::wagner::fault::Side;
use serde::{Deserialize, Serialize};
use sha2::Digest as _;

use super::attestation::Attestation;
use super::bytes::{Bytes, Digest, encode};
use super::once_marker;
use super::signed::{SignedMessage, Statement};
use super::timestamp::{Calendar, Timestamp};

/// The version of the layout that this program writes.
pub(super) const VERSION: u32 = 3;

/// The oldest version that this program reads: the same layout without times.
pub(super) const OLDEST_VERSION: u32 = 2;

/// An action of a member, or an event that it observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    /// The first entry: the draw and the member.
    Transcript(Header),
    /// The second entry: the attestations of all members by place. They identify the session.
    #[serde(rename = "gathered")]
    Met(Vec<Attestation>),
    /// The draw began.
    Began,
    /// The member drew a random word from the operating system.
    Drew {
        /// The random word.
        word: Bytes<8>,
        /// Further random bytes, so that a reader of the hash cannot guess the word.
        salt: Bytes<16>,
    },
    /// The member sent a message.
    Sent {
        /// The side to which it was sent.
        side: Side,
        /// The message.
        message: wagner::Message,
    },
    /// The member received a message from a neighbour.
    Heard {
        /// The side from which it came.
        side: Side,
        /// The message with its signature.
        #[serde(rename = "said")]
        signed: SignedMessage,
    },
    /// The link to a neighbour ended.
    Broken {
        /// The side of the link.
        side: Side,
        /// The reason, as far as this member knows it.
        why: String,
    },
    /// No answer came within the time allowed.
    Silence,
    /// The member was stopped.
    Withdrew,
    /// The conclusion of a member. The holder's own conclusion, repeated, closes the transcript.
    Statement(Statement),
    /// The time of the next entry by the member's clock. It is the member's claim, but all messages
    /// sent later cover it with their signature, so that the member cannot change it afterwards.
    Clock(Timestamp),
}

impl Entry {
    /// The JSON line of this entry, without its line end. A line that encodes the same entry
    /// differently was not written by this program.
    pub(super) fn line(&self) -> Vec<u8> {
        // Plain data always serializes to JSON.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// The draw and the member that a transcript belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    /// The version of the layout.
    pub(super) version: u32,
    /// The name of the draw.
    pub(super) draw: String,
    /// The number of the draw.
    pub(super) number: u64,
    /// The digest of the ring.
    pub(super) ring: Digest,
    /// The member that holds the transcript.
    pub(super) member: String,
}

/// A hash chain over entries.
#[derive(Debug, Default)]
pub(super) struct Chain {
    head: Digest,
    entries: u64,
}

impl Chain {
    /// Adds the next entry. Returns its index and the hash up to and including it.
    pub(super) fn take(&mut self, entry: &Entry) -> (u64, Digest) {
        let mut hash = sha2::Sha256::new();
        hash.update(self.head.0);
        hash.update(encode(entry));
        self.head = Bytes(hash.finalize().into());
        self.entries += 1;
        (self.entries - 1, self.head)
    }

    /// The number of entries and their hash.
    pub(super) fn state(&self) -> (u64, Digest) {
        (self.entries, self.head)
    }
}

/// A transcript that is being written.
#[derive(Debug)]
pub(super) struct Transcript {
    chain: Chain,
    /// `None` if the file could not be created.
    file: Option<BufWriter<File>>,
    calendar: Calendar,
    /// The last time stamp in it.
    last_time: Option<Timestamp>,
}

/// The reason for which there is no transcript.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoTranscript {
    /// The file exists: the member has taken part in this draw, or in one whose transcript has the
    /// same name.
    #[error(
        "{} exists: this member has taken part in this draw, or in another whose file has the \
         same name. If in this draw: a draw that is repeated until a member likes the result is \
         worthless; agree with the others on a new number, and give them the reason. If in \
         another draw: choose another file with --transcript", .0.display()
    )]
    Exists(PathBuf),
    /// The file cannot be written.
    #[error("cannot write the transcript {}: {error}: without a transcript there is no result", path.display())]
    Write {
        /// The path of the transcript.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
}

impl Transcript {
    /// Checks that a transcript can be created at `path`, without creating it.
    pub(super) fn check(path: &Path) -> Result<(), NoTranscript> {
        if once_marker::is_taken(path) {
            return Err(NoTranscript::Exists(path.to_owned()));
        }
        once_marker::probe(once_marker::parent(path))
            .map_err(|error| NoTranscript::Write { path: path.to_owned(), error })
    }

    /// Creates a new file.
    pub(super) fn create(path: &Path) -> Result<Self, NoTranscript> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let refuse = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => NoTranscript::Exists(path.to_owned()),
            _ => NoTranscript::Write { path: path.to_owned(), error },
        };
        let file = options.open(path).map_err(refuse)?;
        once_marker::sync_name(path).map_err(refuse)?;
        Ok(Self { file: Some(BufWriter::new(file)), ..Self::lost() })
    }

    /// Creates a transcript without a file, for a member that can only sign its withdrawal.
    pub(super) fn lost() -> Self {
        Self { chain: Chain::default(), file: None, calendar: Calendar::new(), last_time: None }
    }

    fn file(&mut self) -> io::Result<&mut BufWriter<File>> {
        self.file.as_mut().ok_or(io::ErrorKind::NotFound.into())
    }

    /// Adds an entry. Returns its index and the hash up to and including it.
    ///
    /// The hash chain advances even if writing fails, because the member still signs its
    /// withdrawal.
    pub(super) fn add(&mut self, entry: &Entry) -> io::Result<(u64, Digest)> {
        let mut line = entry.line();
        line.push(b'\n');
        let hashed = self.chain.take(entry);
        self.file()?.write_all(&line)?;
        Ok(hashed)
    }

    /// Adds a time stamp for the next entry, unless the time is the same as before.
    pub(super) fn add_time(&mut self) -> io::Result<()> {
        let now = self.calendar.now();
        if self.last_time.replace(now) != Some(now) {
            self.add(&Entry::Clock(now))?;
        }
        Ok(())
    }

    /// Adds an event with its time stamp.
    pub(super) fn note(&mut self, entry: &Entry) -> io::Result<()> {
        self.add_time()?;
        self.add(entry)?;
        Ok(())
    }

    /// The number of entries and their hash.
    pub(super) fn state(&self) -> (u64, Digest) {
        self.chain.state()
    }

    /// Simulates a full disk from now on.
    #[cfg(test)]
    pub(super) fn fill_disk(&mut self) {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        self.file = Some(BufWriter::new(full));
    }

    /// Flushes and syncs the file to disk.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let file = self.file()?;
        file.flush()?;
        file.get_ref().sync_all()
    }
}
