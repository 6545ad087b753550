//! A member's transcript: all that it did in a draw, in order, each entry hashed with those before.
//!
//! One line of JSON an entry, in a file that nobody else can read while the draw lasts: it has the member's flips. The file is
//! made when the draw begins, and never over another one: who has a transcript of a draw has taken part in it.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use hustings_protocol::wagner;
use hustings_protocol::wagner::fault::Side;
use serde::{Deserialize, Serialize};
use sha2::Digest as _;

use super::bytes::{Bytes, Digest};
use super::mark;
use super::moment::{Calendar, Moment};
use super::presence::Presence;
use super::said::{Said, Statement};
use crate::driver::encode;

/// The layout that this program writes.
pub(super) const VERSION: u32 = 3;

/// The oldest that it reads: the same, without times.
pub(super) const OLDEST_VERSION: u32 = 2;

/// One thing that a member did or that happened to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// The first: what this is a transcript of.
    Transcript(Header),
    /// The second: all members were there, by everybody's word, in the order of their places. It tells the sitting.
    Gathered(Vec<Presence>),
    /// The draw began.
    Began,
    /// The member drew chance from the operating system.
    Drew {
        /// What it drew.
        word: Bytes<8>,
        /// More of it, which means nothing: so that nobody who is shown the hash can guess the word.
        salt: Bytes<16>,
    },
    /// The member said something.
    Sent {
        /// To which side.
        side: Side,
        /// What.
        message: wagner::Message,
    },
    /// A neighbour said something.
    Heard {
        /// From which side.
        side: Side,
        /// What, with its signature.
        said: Said,
    },
    /// The link to a neighbour is no more.
    Broken {
        /// On which side.
        side: Side,
        /// As far as this member can tell.
        why: String,
    },
    /// For as long as an answer may take there was none.
    Silence,
    /// The member was stopped.
    Withdrew,
    /// What some member has come to. This one's own, once more, closes the transcript.
    Statement(Statement),
    /// What happened next happened at this time, by the member's clock. Its own word: but whatever it said to others after that
    /// has it under the signature, so that it cannot think of another time later.
    Clock(Moment),
}

impl Entry {
    /// The one line that says it, without its end. Whatever says the same in another way was not written by a member.
    pub(super) fn line(&self) -> Vec<u8> {
        // Plain data: nothing in it that JSON cannot say.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// What a transcript is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The layout.
    pub version: u32,
    /// What was drawn for.
    pub draw: String,
    /// Which draw for that it was.
    pub number: u64,
    /// The ring's digest.
    pub ring: Digest,
    /// Whose transcript it is.
    pub member: String,
}

/// The hash of a row of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chain {
    head: Digest,
    entries: u64,
}

impl Chain {
    pub(super) fn new() -> Self {
        Self {
            head: Bytes([0; 32]),
            entries: 0,
        }
    }

    /// Takes in the next entry. Returns its number and the hash up to and with it.
    pub(super) fn take(&mut self, entry: &Entry) -> (u64, Digest) {
        let mut hash = sha2::Sha256::new();
        hash.update(self.head.0);
        hash.update(encode(entry));
        self.head = Bytes(hash.finalize().into());
        self.entries += 1;
        (self.entries - 1, self.head)
    }

    /// How many entries there were, and their hash.
    pub(super) fn state(&self) -> (u64, Digest) {
        (self.entries, self.head)
    }
}

/// A transcript in the making.
#[derive(Debug)]
pub(super) struct Transcript {
    chain: Chain,
    /// None if there is no place for it.
    file: Option<BufWriter<File>>,
    calendar: Calendar,
    /// The last time that stands in it.
    told: Option<Moment>,
}

/// Why there is no transcript.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoTranscript {
    /// There is one: the member has taken part in this draw, or in one of which the transcript has the same name.
    #[error(
        "{} exists: this member has taken part in that draw, or in another that gives the file the same name. If in that one: a draw that is held again until somebody likes the result is none; agree with the others on a new number and say why. If in another: --transcript takes another file", .0.display()
    )]
    Exists(PathBuf),
    /// The disk refuses.
    #[error("cannot write the transcript {}: {error}: without it there is no result", path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

impl Transcript {
    /// Whether one can be begun at `path`, as far as can be told without doing so.
    pub(super) fn check(path: &Path) -> Result<(), NoTranscript> {
        if mark::is_taken(path) {
            return Err(NoTranscript::Exists(path.to_owned()));
        }
        mark::probe(mark::parent(path)).map_err(|error| NoTranscript::Write {
            path: path.to_owned(),
            error,
        })
    }

    /// Begins a new file.
    pub(super) fn create(path: &Path) -> Result<Self, NoTranscript> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let refuse = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => NoTranscript::Exists(path.to_owned()),
            _ => NoTranscript::Write {
                path: path.to_owned(),
                error,
            },
        };
        let file = options.open(path).map_err(refuse)?;
        mark::sync_name(path).map_err(refuse)?;
        Ok(Self::of(Some(BufWriter::new(file))))
    }

    /// Of a member that can write none, and has only last words to sign.
    pub(super) fn lost() -> Self {
        Self::of(None)
    }

    fn of(file: Option<BufWriter<File>>) -> Self {
        Self {
            chain: Chain::new(),
            file,
            calendar: Calendar::new(),
            told: None,
        }
    }

    fn file(&mut self) -> io::Result<&mut BufWriter<File>> {
        self.file.as_mut().ok_or(io::ErrorKind::NotFound.into())
    }

    /// Adds an entry. Returns its number and the hash up to and with it.
    ///
    /// The hash goes on where the disk does not: there are last words to be signed.
    pub(super) fn add(&mut self, entry: &Entry) -> io::Result<(u64, Digest)> {
        let mut line = entry.line();
        line.push(b'\n');
        let hashed = self.chain.take(entry);
        self.file()?.write_all(&line)?;
        Ok(hashed)
    }

    /// Adds what time it is, for what happens next; unless it is the same as before.
    pub(super) fn tell_time(&mut self) -> io::Result<()> {
        let now = self.calendar.now();
        if self.told.replace(now) != Some(now) {
            self.add(&Entry::Clock(now))?;
        }
        Ok(())
    }

    /// Adds something that happens to the member just now.
    pub(super) fn note(&mut self, entry: &Entry) -> io::Result<()> {
        self.tell_time()?;
        self.add(entry)?;
        Ok(())
    }

    /// How many entries there are, and their hash.
    pub(super) fn state(&self) -> (u64, Digest) {
        self.chain.state()
    }

    /// From now on there is no room on the disk.
    #[cfg(test)]
    pub(super) fn fill_disk(&mut self) {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        self.file = Some(BufWriter::new(full));
    }

    /// Makes it last.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let file = self.file()?;
        file.flush()?;
        file.get_ref().sync_all()
    }
}
