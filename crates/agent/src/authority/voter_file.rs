//! What a voter must never forget, on its disk.
//!
//! One small file for each group, beside each other in the agent's state directory. A voter whose file is missing
//! or damaged does not vote until it is initialised on purpose (`hustings voter init`): an empty disk is not
//! a promise of nothing.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use hustings_fence::slots::{OpenError, SlotFile};
use hustings_protocol::tenure::{Durable, Saved};
use serde::{Deserialize, Serialize};

use super::quorum::Disk;

/// What the file says. A promise is its member's own: nobody else may take it over.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Content<'a> {
    member: &'a str,
    /// Among whom it voted: see [`Vote::voters`].
    voters: u64,
    durable: Durable,
}

/// Whose vote it is, in what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vote<'a> {
    /// The group.
    pub group: &'a str,
    /// The voter.
    pub member: &'a str,
    /// What tells the list of all voters from another: see
    /// [`QuorumConfig::voters_id`](crate::config::QuorumConfig::voters_id).
    pub voters: u64,
}

/// Where the voter of `group` keeps its promise.
pub fn path(state: &Path, group: &str) -> PathBuf {
    state.join(format!("{group}.voter"))
}

/// Why a voter does not vote.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VoterError {
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] OpenError),
    /// It is somebody else's.
    #[error(
        "{}: it is what `{found}` promised, not `{member}`: give this member its own file, or its old name", .path.display()
    )]
    Another {
        /// The file.
        path: PathBuf,
        /// Whose it is.
        found: String,
        /// Whose it should be.
        member: String,
    },
    /// It has no vote.
    #[error(
        "`{0}` is none of the voters, or has no directory to keep what it promises: name it among the voters, and a \
         directory on a disk"
    )]
    NoVoter(String),
    /// Somebody goes by what it says, or did.
    #[error(
        "{}: is locked: the agent of `{member}` runs, or is being initialised: stop it first", .path.display()
    )]
    Runs {
        /// The lock.
        path: PathBuf,
        /// The voter.
        member: String,
    },
    /// There is no place to keep it.
    #[error("{}: {source}: name a directory on a disk that this user can write to", .path.display())]
    State {
        /// The directory.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A majority of some is not a majority of others.
    #[error(
        "{}: what was promised among other voters: voters cannot be changed one by one while the group runs, as two \
         lists have two majorities. Put the list back; or stop all members, and begin a new era on all new voters \
         with `hustings voter init --era`", .path.display()
    )]
    OtherVoters {
        /// The file.
        path: PathBuf,
        /// What it says.
        promised: Durable,
    },
    /// It was written by another release, or by nobody.
    #[error(
        "{}: what it says cannot be understood: was it written by a later release? Run that one; or if \
         the file is damaged, move it away, and run `hustings voter init`", .0.display()
    )]
    Unreadable(PathBuf),
}

/// Whoever votes on this host, or is about to initialise a voter, has it. The file itself does not do for that: it may be
/// gone, damaged or replaced while an agent has promised what is nowhere but in its memory.
#[derive(Debug)]
pub struct VoterLock(File);

impl VoterLock {
    /// Takes it, until it is dropped. Makes the directory, if there is none.
    ///
    /// # Errors
    /// If another process has it, or there is no place for it.
    pub fn take(state: &Path, vote: Vote<'_>) -> Result<Self, VoterError> {
        let path = state.join(format!("{}.voter.lock", vote.group));
        let opened = std::fs::create_dir_all(state)
            .and_then(|()| OpenOptions::new().create(true).append(true).open(&path));
        let unusable = |source| VoterError::State {
            path: path.clone(),
            source,
        };
        let file = opened.map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(VoterError::Runs {
                path,
                member: vote.member.to_owned(),
            }),
            Err(TryLockError::Error(error)) => Err(unusable(error)),
        }
    }
}

impl Drop for VoterLock {
    fn drop(&mut self) {
        // A process that is being started has a copy of it for a moment, and with it the lock. If this fails, that
        // moment is all that it costs.
        let _ = self.0.unlock();
    }
}

/// A voter's file, open. Nobody else on this host can open it meanwhile.
#[derive(Debug)]
pub struct VoterFile {
    member: String,
    voters: u64,
    slots: SlotFile,
}

impl VoterFile {
    /// Opens a voter's file, and tells what it promised.
    ///
    /// # Errors
    /// If there is none, or it is not what it should be.
    pub fn open(state: &Path, vote: Vote<'_>) -> Result<(Self, Durable), VoterError> {
        let Vote {
            group,
            member,
            voters,
        } = vote;
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
        if content.voters != voters {
            let promised = content.durable;
            return Err(VoterError::OtherVoters { path, promised });
        }
        let durable = content.durable;
        let member = member.to_owned();
        let file = Self {
            member,
            voters,
            slots,
        };
        Ok((file, durable))
    }

    /// Initialises it, where there is none.
    ///
    /// # Errors
    /// If there is one, or it cannot be written.
    pub fn create(state: &Path, vote: Vote<'_>, durable: Durable) -> Result<(), VoterError> {
        let bytes = encode(vote.member, vote.voters, durable);
        SlotFile::create(&path(state, vote.group), &tag(vote.group), &bytes)?;
        Ok(())
    }

    /// Initialises it, whatever it said before.
    ///
    /// # Errors
    /// If it is in use, or cannot be written.
    pub fn reset(state: &Path, vote: Vote<'_>, durable: Durable) -> Result<(), VoterError> {
        let bytes = encode(vote.member, vote.voters, durable);
        SlotFile::reset(&path(state, vote.group), &tag(vote.group), &bytes)?;
        Ok(())
    }

    /// From now on keeps what it is given, in a thread of its own, and says so each time.
    pub(crate) fn serve(
        mut self,
        mut done: impl FnMut(Result<(), String>) + Send + 'static,
    ) -> Disk {
        let (disk, given) = mpsc::channel::<Vec<u8>>();
        let serving = move || {
            for bytes in given {
                done(self.keep(&bytes));
            }
        };
        // Without a thread nothing is ever kept, and the voter never answers.
        let started = thread::Builder::new()
            .name("voter's disk".to_owned())
            .spawn(serving);
        if let Err(error) = started {
            tracing::error!("a voter cannot work: no thread for its disk: {error}");
        }
        disk
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), String> {
        let Ok(durable) = postcard::from_bytes(bytes) else {
            return Err("a voter's promise cannot be written down".to_owned());
        };
        let bytes = encode(&self.member, self.voters, durable);
        self.slots.store(&bytes).map_err(|error| match error.kind() {
            ErrorKind::NotFound => format!(
                "{error}, so this voter does not vote: stop this agent, move away what is there now, and run `hustings voter init`"
            ),
            _ => error.to_string(),
        })
    }
}

/// What is found where a voter's file should be.
pub(crate) fn found(opened: &Result<(VoterFile, Durable), VoterError>) -> Saved {
    match opened {
        Ok((_, durable)) => Saved::Initialised(*durable),
        Err(_) => Saved::Missing,
    }
}

fn tag(group: &str) -> Vec<u8> {
    format!("voter of {group}").into_bytes()
}

fn encode(member: &str, voters: u64, durable: Durable) -> Vec<u8> {
    crate::driver::encode(&Content {
        member,
        voters,
        durable,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It runs on with what it has in memory, which is gone when it ends: so it must not promise any more.
    #[test]
    fn a_voter_whose_file_was_deleted_keeps_nothing_and_says_what_to_do() {
        let state = std::env::temp_dir().join(format!("hustings-voter-{}", std::process::id()));
        let vote = Vote {
            group: "g",
            member: "a",
            voters: 7,
        };
        std::fs::create_dir_all(&state).unwrap();
        VoterFile::reset(&state, vote, Durable::FOUNDING).unwrap();
        let (mut file, durable) = VoterFile::open(&state, vote).unwrap();
        let bytes = crate::driver::encode(&durable);
        assert_eq!(file.keep(&bytes), Ok(()));
        std::fs::remove_file(path(&state, "g")).unwrap();
        let error = file.keep(&bytes).unwrap_err();
        assert!(error.contains("g.voter: was deleted"), "{error}");
        assert!(error.ends_with("and run `hustings voter init`"), "{error}");
        std::fs::remove_dir_all(&state).unwrap();
    }
}
