//! What a member must not forget of the fences that it has seen: see [`Seen`].

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use hustings_fence::FenceGuard;
use hustings_fence::slots::{OpenError, SlotFile};
use serde::{Deserialize, Serialize};

use super::Fence;

/// To whom files of what was heard belong.
const TAG: &[u8] = b"heard of stores";

/// Of so many stores it is remembered what was heard: there is one, and perhaps a wrong one. They fit into a slot.
pub(super) const MOST_STORES: usize = 16;

/// What of a store's identity is sent along with a fence that it granted, to tell it from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Mark(pub u32);

impl Mark {
    /// That of the store with this identity. It is never zero, which stands for a store that has not told.
    pub fn of(identity: u64) -> Self {
        let [upper, lower] = [identity >> 32, identity].map(|it| it & u64::from(u32::MAX));
        // Both halves fit.
        Self(u32::try_from(upper ^ lower).unwrap_or(u32::MAX).max(1))
    }
}

/// The fences that a member has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// The highest of its own store.
    pub highest: Option<Fence>,
    /// Which store that is, as it told last.
    pub store: Option<Mark>,
    /// The highest that others were heard to hold by stores that were not known to be its own.
    pub heard: BTreeMap<Mark, Fence>,
}

/// The fences that a member has seen, and how they are kept.
pub struct Memory {
    /// What it has seen so far.
    pub seen: Seen,
    /// Keeps more, on disk if it can: when it returns, it is kept.
    pub remember: Remember,
}

/// How what was seen is kept.
pub type Remember = Box<dyn FnMut(&Seen) -> io::Result<()> + Send>;

impl Memory {
    /// The memory of a member without a disk: a restart forgets all.
    pub fn fleeting() -> Self {
        Self {
            seen: Seen::default(),
            remember: Box::new(|_| Ok(())),
        }
    }

    /// The memory of a member of `group` that has a directory.
    ///
    /// # Errors
    /// If what is there cannot be read, or nothing can be kept there: what, and what to do.
    pub fn on_disk(state: &Path, group: &str) -> Result<Self, String> {
        std::fs::create_dir_all(state).map_err(|error| {
            format!(
                "{}: cannot be made a directory for the highest fence seen: {error}: name one on a disk that can be \
                 written (--state, or state = \"..\"), or none",
                state.display()
            )
        })?;
        let guard = FenceGuard::open(state.join(format!("{group}.fence")));
        let guard = guard.map_err(|error| error.to_string())?;
        let highest = guard.highest().map_err(|error| error.to_string())?;
        let file = StoreFile(state.join(format!("{group}.store")));
        let (store, heard) = file.read()?;
        let seen = Seen {
            highest: Some(highest),
            store,
            heard,
        };
        let mut kept = seen.clone();
        let remember = Box::new(move |seen: &Seen| {
            if let Some(highest) = seen.highest {
                guard.check(highest).map_err(io::Error::other)?;
            }
            if (kept.store, &kept.heard) != (seen.store, &seen.heard) {
                file.write(seen)?;
            }
            kept.clone_from(seen);
            Ok(())
        });
        Ok(Self { seen, remember })
    }
}

/// The file with which store a member has, and what it heard of others'. As with the highest fence, whoever has it open
/// has it for a moment.
struct StoreFile(PathBuf);

impl StoreFile {
    /// What it says. It is made when there is something to say.
    fn read(&self) -> Result<(Option<Mark>, BTreeMap<Mark, Fence>), String> {
        let payload = match SlotFile::open_when_free(&self.0, TAG) {
            Ok((_, payload)) => payload,
            Err(OpenError::Missing { .. }) => return Ok((None, BTreeMap::new())),
            Err(error) => return Err(error.to_string()),
        };
        let (store, heard): (_, BTreeMap<_, u64>) =
            postcard::from_bytes(&payload).map_err(|error| {
                let path = self.0.display();
                format!("{path}: is of another version of Hustings: {error}: move it away")
            })?;
        let heard = heard.into_iter().map(|(of, it)| (of, Fence(it)));
        Ok((store, heard.collect()))
    }

    fn write(&self, seen: &Seen) -> io::Result<()> {
        let heard = seen.heard.iter();
        let heard: BTreeMap<Mark, u64> = heard.map(|(of, it)| (*of, it.0)).collect();
        let payload = postcard::to_allocvec(&(seen.store, heard)).map_err(io::Error::other)?;
        match SlotFile::open_when_free(&self.0, TAG) {
            Ok((mut file, _)) => file.store(&payload),
            Err(OpenError::Missing { .. }) => SlotFile::create(&self.0, TAG, &payload)
                .map(drop)
                .map_err(io::Error::other),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{MOST_STORES, Mark, Memory, Seen};
    use crate::authority::Fence;

    #[test]
    fn where_no_fence_can_be_kept_it_is_said_where_and_what_to_do() {
        // The file system of the kernel lets nobody make anything, root included.
        let refused = Memory::on_disk(Path::new("/sys/hustings/state"), "g").err();
        let refused = refused.expect("nothing can be made there");
        assert!(refused.starts_with("/sys/hustings/state: "), "{refused}");
        assert!(refused.contains("--state"), "{refused}");
    }

    #[test]
    fn what_was_seen_is_there_after_a_restart() {
        let state = std::env::temp_dir().join(format!("hustings-seen-{}", std::process::id()));
        let mut memory = Memory::on_disk(&state, "g").unwrap();
        let nothing = Seen {
            highest: Some(Fence(0)),
            ..Seen::default()
        };
        assert_eq!(memory.seen, nothing);
        let stores = (0..).zip(u32::MAX - u32::try_from(MOST_STORES).unwrap()..u32::MAX);
        let full = Seen {
            highest: Some(Fence(7)),
            store: Some(Mark(u32::MAX)),
            heard: stores
                .map(|(at, it)| (Mark(it), Fence(u64::MAX - at)))
                .collect(),
        };
        assert_eq!(full.heard.len(), MOST_STORES);
        let less = Seen {
            heard: [(Mark(3), Fence(9))].into(),
            ..nothing
        };
        for seen in [less, full] {
            (memory.remember)(&seen).unwrap();
            memory = Memory::on_disk(&state, "g").unwrap();
            assert_eq!(memory.seen, seen);
        }
        std::fs::write(state.join("g.store"), "a shopping list").unwrap();
        let refused = Memory::on_disk(&state, "g").err().expect("not ours");
        assert!(refused.contains("g.store"), "{refused}");
        std::fs::remove_dir_all(state).unwrap();
    }
}
