//! Members that were reported dead, by incarnation.
//!
//! Purpose     keeps dead members out of the view while other members still send entries of them
//! Inputs      reports of deaths, and messages of later incarnations
//! Outputs     whether a member is dead in an incarnation
//! Owns        one tombstone for each dead member
//! Invariants  at most [`MOST`] tombstones; a tombstone covers its incarnation and all earlier ones

use std::collections::BTreeMap;

use hustings_protocol::{Duration, Instant, MemberId};

use crate::identity::Incarnation;

/// The number of tombstones: more than die while entries of them circulate, except in a
/// catastrophe.
const MOST: usize = 1_024;

/// The age after which no member sends entries of a dead member any more.
const REMEMBERED_FOR: Duration = Duration::from_secs(3_600);

/// The members that were reported dead.
#[derive(Debug, Default)]
pub(super) struct Tombstones(BTreeMap<MemberId, Tombstone>);

#[derive(Debug)]
struct Tombstone {
    incarnation: Incarnation,
    since: Instant,
}

impl Tombstones {
    /// True if the member is dead in this incarnation.
    pub(super) fn holds(&self, id: MemberId, incarnation: Incarnation) -> bool {
        self.0.get(&id).is_some_and(|it| incarnation <= it.incarnation)
    }

    /// True if the member is dead in any incarnation.
    pub(super) fn has(&self, id: MemberId) -> bool {
        self.0.contains_key(&id)
    }

    /// Adds a tombstone. Returns false if there was one that covers this incarnation.
    pub(super) fn dig(&mut self, id: MemberId, incarnation: Incarnation, now: Instant) -> bool {
        if self.holds(id, incarnation) {
            return false;
        }
        self.0.retain(|_, it| now - it.since < REMEMBERED_FOR);
        if self.0.len() >= MOST {
            let oldest = self.0.iter().min_by_key(|(_, it)| it.since);
            let oldest = oldest.map(|(id, _)| *id);
            oldest.map(|id| self.0.remove(&id));
        }
        self.0.insert(id, Tombstone { incarnation, since: now });
        true
    }

    /// Removes the tombstone of a member that is alive in a later incarnation. Returns true if
    /// there was one.
    pub(super) fn open(&mut self, id: MemberId, incarnation: Incarnation) -> bool {
        let is_later = self.0.get(&id).is_some_and(|it| incarnation > it.incarnation);
        is_later && self.0.remove(&id).is_some()
    }
}
