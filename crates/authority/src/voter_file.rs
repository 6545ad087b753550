//! The file that keeps a voter's promises on disk.
//!
//! The agent's state directory has one small file for each group. A voter whose file is missing or
//! damaged does not vote until an operator initialises it (`hustings voter init`): an empty disk
//! does not prove that the voter promised nothing.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use hustings_fence::slots::{OpenError, SlotFile};
use hustings_protocol::tenure::{Durable, Saved};
use serde::{Deserialize, Serialize};

/// The queue of promises to persist, in order. The receiving side reports each result.
pub type Disk = mpsc::Sender<Vec<u8>>;

/// The content of the file. A promise belongs to one member: no other member may take it over.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Content<'a> {
    member: &'a str,
    /// The hash of the list of voters: see [`Vote::voters`].
    voters: u64,
    durable: Durable,
}

/// The voter and the list of voters in which it votes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vote<'a> {
    /// The group.
    pub group: &'a str,
    /// The voter.
    pub member: &'a str,
    /// The hash of the list of all voters: see
    /// [`QuorumConfig::voters_id`](crate::config::QuorumConfig::voters_id).
    pub voters: u64,
}

/// Returns the path of the file in which the voter of `group` keeps its promises.
pub fn path(state: &Path, group: &str) -> PathBuf {
    state.join(format!("{group}.voter"))
}

/// The reason why a voter does not vote.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VoterError {
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] OpenError),
    /// The file belongs to another member.
    #[error(
        "{}: this file has the promises of `{found}`, not of `{member}`: give this member its own file, or its old name", .path.display()
    )]
    Another {
        /// The file.
        path: PathBuf,
        /// The member that the file belongs to.
        found: String,
        /// The member that it should belong to.
        member: String,
    },
    /// The member is not a voter.
    #[error(
        "`{0}` is not one of the voters, or has no directory for its promises: name it among the voters, and name a directory on a disk"
    )]
    NoVoter(String),
    /// Another process uses the file: the voter's agent, or a command that initialises it.
    #[error(
        "{}: is locked: the agent of `{member}` runs, or the voter is being initialised: stop that process first", .path.display()
    )]
    Runs {
        /// The lock file.
        path: PathBuf,
        /// The voter.
        member: String,
    },
    /// The directory cannot be used.
    #[error("{}: {source}: name a directory on a disk that this user can write to", .path.display())]
    State {
        /// The directory.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// The promises were made in another list of voters. A majority of one list is not a majority
    /// of another.
    #[error(
        "{}: its promises belong to another list of voters: voters cannot be changed one by one while the group runs, as two lists have two majorities. Restore the list; or stop all members, and begin a new era on all new voters with `hustings voter init --era`", .path.display()
    )]
    OtherVoters {
        /// The file.
        path: PathBuf,
        /// The promises in the file.
        promised: Durable,
    },
    /// Another release wrote the file, or its content is damaged.
    #[error(
        "{}: cannot decode this voter's file: if a later release wrote it, run that release; if it is damaged, move it away, and run `hustings voter init`", .0.display()
    )]
    Unreadable(PathBuf),
}

/// The lock that a process takes to vote on this host, or to initialise a voter. The voter's file
/// cannot serve as the lock. It may be missing, damaged or replaced while an agent has promises
/// only in memory.
#[derive(Debug)]
pub struct VoterLock(File);

impl VoterLock {
    /// Takes the lock until it is dropped. Creates the directory if it does not exist.
    ///
    /// # Errors
    /// If another process has the lock, or the directory cannot be used.
    pub fn take(state: &Path, vote: Vote<'_>) -> Result<Self, VoterError> {
        let path = state.join(format!("{}.voter.lock", vote.group));
        let opened = std::fs::create_dir_all(state)
            .and_then(|()| OpenOptions::new().create(true).append(true).open(&path));
        let unusable = |source| VoterError::State { path: path.clone(), source };
        let file = opened.map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => {
                Err(VoterError::Runs { path, member: vote.member.to_owned() })
            }
            Err(TryLockError::Error(error)) => Err(unusable(error)),
        }
    }
}

impl Drop for VoterLock {
    fn drop(&mut self) {
        // A child process that is being started inherits the descriptor for a moment, and with it
        // the lock. If unlocking fails, the lock is held for that moment longer.
        let _ = self.0.unlock();
    }
}

/// An open voter's file. No other process on this host can open it at the same time.
#[derive(Debug)]
pub struct VoterFile {
    member: String,
    voters: u64,
    slots: SlotFile,
}

impl VoterFile {
    /// Opens a voter's file. Returns it with the promises it contains.
    ///
    /// # Errors
    /// If the file is missing, is damaged, or belongs to another member or list of voters.
    pub fn open(state: &Path, vote: Vote<'_>) -> Result<(Self, Durable), VoterError> {
        let Vote { group, member, voters } = vote;
        let path = path(state, group);
        let (slots, bytes) = SlotFile::open(&path, &tag(group))?;
        let Ok(content) = postcard::from_bytes::<Content<'_>>(&bytes) else {
            return Err(VoterError::Unreadable(path));
        };
        if content.member != member {
            return Err(VoterError::Another {
                path,
                found: content.member.to_owned(),
                member: member.to_owned(),
            });
        }
        let durable = content.durable;
        if content.voters != voters {
            return Err(VoterError::OtherVoters { path, promised: durable });
        }
        Ok((Self { member: member.to_owned(), voters, slots }, durable))
    }

    /// Creates a voter's file where none exists.
    ///
    /// # Errors
    /// If the file exists or cannot be written.
    pub fn create(state: &Path, vote: Vote<'_>, durable: Durable) -> Result<(), VoterError> {
        let bytes = encode(vote.member, vote.voters, durable);
        SlotFile::create(&path(state, vote.group), &tag(vote.group), &bytes)?;
        Ok(())
    }

    /// Initialises a voter's file, whatever it contained before.
    ///
    /// # Errors
    /// If the file is in use or cannot be written.
    pub fn reset(state: &Path, vote: Vote<'_>, durable: Durable) -> Result<(), VoterError> {
        let bytes = encode(vote.member, vote.voters, durable);
        SlotFile::reset(&path(state, vote.group), &tag(vote.group), &bytes)?;
        Ok(())
    }

    /// Starts a thread that persists each promise sent to the returned queue and reports each
    /// result to `done`.
    pub fn serve(mut self, mut done: impl FnMut(Result<(), String>) + Send + 'static) -> Disk {
        let (disk, given) = mpsc::channel::<Vec<u8>>();
        let serving = move || {
            for bytes in given {
                done(self.keep(&bytes));
            }
        };
        // Without a thread no promise is ever persisted, and the voter never answers.
        let started = thread::Builder::new().name("voter's disk".to_owned()).spawn(serving);
        if let Err(error) = started {
            tracing::error!(
                "a voter cannot vote: cannot start the thread that writes its file: {error}"
            );
        }
        disk
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), String> {
        let Ok(durable) = postcard::from_bytes(bytes) else {
            return Err("a voter's promise cannot be encoded".to_owned());
        };
        let bytes = encode(&self.member, self.voters, durable);
        self.slots.store(&bytes).map_err(|error| match error.kind() {
            ErrorKind::NotFound => format!(
                "{error}, so this voter does not vote: stop this agent, move the file away, and run `hustings voter init`"
            ),
            _ => error.to_string(),
        })
    }
}

/// Returns the voter's saved state: its promises, or that they are missing.
pub fn found(opened: &Result<(VoterFile, Durable), VoterError>) -> Saved {
    match opened {
        Ok((_, durable)) => Saved::Initialised(*durable),
        Err(_) => Saved::Missing,
    }
}

fn tag(group: &str) -> Vec<u8> {
    format!("voter of {group}").into_bytes()
}

fn encode(member: &str, voters: u64, durable: Durable) -> Vec<u8> {
    // Serialising our own plain types into memory cannot fail.
    postcard::to_allocvec(&Content { member, voters, durable }).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The agent continues with promises that are only in memory. They are lost when it ends, so it
    /// must not promise any more.
    #[test]
    fn voter_with_deleted_file_persists_nothing_and_names_the_remedy() {
        let state = std::env::temp_dir().join(format!("hustings-voter-{}", std::process::id()));
        let vote = Vote { group: "g", member: "a", voters: 7 };
        std::fs::create_dir_all(&state).unwrap();
        VoterFile::reset(&state, vote, Durable::FOUNDING).unwrap();
        let (mut file, durable) = VoterFile::open(&state, vote).unwrap();
        let bytes = postcard::to_allocvec(&durable).unwrap();
        assert_eq!(file.keep(&bytes), Ok(()));
        std::fs::remove_file(path(&state, "g")).unwrap();
        let error = file.keep(&bytes).unwrap_err();
        assert!(error.contains("g.voter: was deleted"), "{error}");
        assert!(error.ends_with("and run `hustings voter init`"), "{error}");
        std::fs::remove_dir_all(&state).unwrap();
    }
}
