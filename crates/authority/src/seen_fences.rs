//! The durable record of the fences that a member has seen: see [`Seen`].

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use hustings_fence::FenceGuard;
use hustings_fence::slots::{OpenError, SlotFile};
use serde::{Deserialize, Serialize};

use super::Fence;

/// The first bytes of a file that records the own store and the fences of other stores.
const MAGIC: &[u8] = b"heard of stores";

/// The number of other stores whose fences are recorded. Normally there is one, and perhaps one
/// wrong store. The records of 16 stores fit into a slot.
const MOST_STORES: usize = 16;

/// A short hash of a store's identity. Members send it with each fence to distinguish the stores
/// that granted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StoreTag(pub u32);

impl StoreTag {
    /// Returns the tag of the store with this identity. It is never zero, which stands for a store
    /// that has not reported its identity.
    pub fn of(identity: u64) -> Self {
        let [upper, lower] = [identity >> 32, identity].map(|it| it & u64::from(u32::MAX));
        // Both halves fit.
        Self(u32::try_from(upper ^ lower).unwrap_or(u32::MAX).max(1))
    }
}

/// The fences that a member has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// The highest fence of the member's own store.
    pub highest: Option<Fence>,
    /// The member's own store, as it last identified itself.
    pub store: Option<StoreTag>,
    /// The highest fence that other members claimed for each store that was not known to be this
    /// member's own.
    pub heard: BTreeMap<StoreTag, Fence>,
}

impl Seen {
    /// Records a fence of a store that is not known to be the member's own. Returns true if it must
    /// be persisted.
    pub(crate) fn note(&mut self, of: StoreTag, fence: Fence) -> bool {
        if self.heard.get(&of) >= Some(&fence) {
            return false;
        }
        self.heard.insert(of, fence);
        if self.heard.len() <= MOST_STORES {
            return true;
        }
        let lowest = self.heard.iter().min_by_key(|(_, fence)| **fence);
        let lowest = lowest.map(|(of, _)| *of);
        self.heard.retain(|of, _| Some(*of) != lowest);
        lowest != Some(of)
    }
}

/// The fences that a member has seen, and the function that persists them.
pub struct SeenFences {
    /// The fences seen up to now.
    pub high_water: Seen,
    /// Persists an updated record. It has been persisted when this function returns `Ok`.
    pub remember: Remember,
}

/// A function that persists the fences seen.
pub type Remember = Box<dyn FnMut(&Seen) -> io::Result<()> + Send>;

impl SeenFences {
    /// Keeps them in memory only: a restart forgets everything.
    pub fn in_memory() -> Self {
        Self { high_water: Seen::default(), remember: Box::new(|_| Ok(())) }
    }

    /// Opens the log of `group` in the directory `state`.
    ///
    /// # Errors
    /// If the existing files cannot be read, or the directory cannot be written. The text says
    /// what, and the remedy.
    pub fn on_disk(state: &Path, group: &str) -> Result<Self, String> {
        std::fs::create_dir_all(state).map_err(|error| {
            format!(
                "{}: cannot create the directory for the highest fence seen: {error}: name a directory on a writable disk (--state, or state = \"..\"), or none",
                state.display()
            )
        })?;
        let guard = FenceGuard::open(state.join(format!("{group}.fence")));
        let guard = guard.map_err(|error| error.to_string())?;
        let highest = guard.highest().map_err(|error| error.to_string())?;
        let file = StoreFile(state.join(format!("{group}.store")));
        let (store, heard) = file.read()?;
        let high_water = Seen { highest: Some(highest), store, heard };
        let mut kept = high_water.clone();
        let remember = Box::new(move |high_water: &Seen| {
            if let Some(highest) = high_water.highest {
                guard.check(highest).map_err(io::Error::other)?;
            }
            if (kept.store, &kept.heard) != (high_water.store, &high_water.heard) {
                file.write(high_water)?;
            }
            kept.clone_from(high_water);
            Ok(())
        });
        Ok(Self { high_water, remember })
    }
}

/// The file that records the member's own store and the fences claimed for other stores. It is open
/// only for the duration of one read or write, like the file with the highest fence.
struct StoreFile(PathBuf);

impl StoreFile {
    /// Reads the file. It does not exist before the first write.
    fn read(&self) -> Result<(Option<StoreTag>, BTreeMap<StoreTag, Fence>), String> {
        let payload = match SlotFile::open_when_free(&self.0, MAGIC) {
            Ok((_, payload)) => payload,
            Err(OpenError::Missing { .. }) => return Ok((None, BTreeMap::new())),
            Err(error) => return Err(error.to_string()),
        };
        postcard::from_bytes(&payload).map_err(|error| {
            let path = self.0.display();
            format!("{path}: another version of Hustings wrote this file: {error}: move it away")
        })
    }

    fn write(&self, high_water: &Seen) -> io::Result<()> {
        let payload = postcard::to_allocvec(&(high_water.store, &high_water.heard));
        let payload = payload.map_err(io::Error::other)?;
        match SlotFile::open_when_free(&self.0, MAGIC) {
            Ok((mut file, _)) => file.store(&payload),
            Err(OpenError::Missing { .. }) => {
                SlotFile::create(&self.0, MAGIC, &payload).map(drop).map_err(io::Error::other)
            }
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{MOST_STORES, Seen, SeenFences, StoreTag};
    use crate::Fence;

    #[test]
    fn unwritable_state_directory_is_named_with_a_remedy() {
        // The kernel's file system lets no process create anything, root included.
        let refused = SeenFences::on_disk(Path::new("/sys/hustings/state"), "g").err();
        let refused = refused.expect("nothing can be made there");
        assert!(refused.starts_with("/sys/hustings/state: "), "{refused}");
        assert!(refused.contains("--state"), "{refused}");
    }

    #[test]
    fn highest_fences_are_kept_when_there_are_too_many_stores() {
        let mut seen = Seen::default();
        let many = u32::try_from(MOST_STORES).unwrap();
        for it in 1..=many {
            assert!(seen.note(StoreTag(it), Fence(u64::from(it) + 10)));
        }
        assert!(!seen.note(StoreTag(99), Fence(10)), "lower than all");
        assert!(seen.note(StoreTag(99), Fence(12)), "in place of the lowest");
        assert!(!seen.note(StoreTag(99), Fence(11)));
        assert_eq!(seen.heard.len(), MOST_STORES);
        assert_eq!(seen.heard.get(&StoreTag(1)), None);
        assert_eq!(seen.heard.get(&StoreTag(99)), Some(&Fence(12)));
    }

    #[test]
    fn fences_seen_survive_a_restart() {
        let state = std::env::temp_dir().join(format!("hustings-seen-{}", std::process::id()));
        let mut seen_fences = SeenFences::on_disk(&state, "g").unwrap();
        let nothing = Seen { highest: Some(Fence(0)), ..Seen::default() };
        assert_eq!(seen_fences.high_water, nothing);
        let stores = (0..).zip(u32::MAX - u32::try_from(MOST_STORES).unwrap()..u32::MAX);
        let full = Seen {
            highest: Some(Fence(7)),
            store: Some(StoreTag(u32::MAX)),
            heard: stores.map(|(at, it)| (StoreTag(it), Fence(u64::MAX - at))).collect(),
        };
        assert_eq!(full.heard.len(), MOST_STORES);
        let less = Seen { heard: [(StoreTag(3), Fence(9))].into(), ..nothing };
        for high_water in [less, full] {
            (seen_fences.remember)(&high_water).unwrap();
            seen_fences = SeenFences::on_disk(&state, "g").unwrap();
            assert_eq!(seen_fences.high_water, high_water);
        }
        std::fs::write(state.join("g.store"), "a shopping list").unwrap();
        let refused = SeenFences::on_disk(&state, "g").err().expect("not ours");
        assert!(refused.contains("g.store"), "{refused}");
        std::fs::remove_dir_all(state).unwrap();
    }
}
