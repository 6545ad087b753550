//! Who is dead, in which life, as somebody said: others may not have heard, and still tell of it.

use std::collections::BTreeMap;

use hustings_protocol::{Duration, Instant, MemberId};

use crate::identity::Life;

/// More than die while anybody tells of them, unless it is a catastrophe.
const MOST: usize = 1_024;

/// Nobody tells any longer of who died so long ago.
const REMEMBERED_FOR: Duration = Duration::from_secs(3_600);

/// Who is dead.
#[derive(Debug, Default)]
pub(super) struct Graves(BTreeMap<MemberId, Grave>);

#[derive(Debug)]
struct Grave {
    life: Life,
    since: Instant,
}

impl Graves {
    /// Whether it is dead in this life.
    pub(super) fn holds(&self, id: MemberId, life: Life) -> bool {
        self.0.get(&id).is_some_and(|it| life <= it.life)
    }

    /// Whether it is dead in any life.
    pub(super) fn has(&self, id: MemberId) -> bool {
        self.0.contains_key(&id)
    }

    /// Returns whether that is news.
    pub(super) fn dig(&mut self, id: MemberId, life: Life, now: Instant) -> bool {
        if self.holds(id, life) {
            return false;
        }
        self.0.retain(|_, it| now - it.since < REMEMBERED_FOR);
        if self.0.len() >= MOST {
            let oldest = self.0.iter().min_by_key(|(_, it)| it.since);
            let oldest = oldest.map(|(id, _)| *id);
            oldest.map(|id| self.0.remove(&id));
        }
        self.0.insert(id, Grave { life, since: now });
        true
    }

    /// It lives, in a later life. Returns whether it was dead in an earlier one.
    pub(super) fn open(&mut self, id: MemberId, life: Life) -> bool {
        let is_later = self.0.get(&id).is_some_and(|it| life > it.life);
        is_later && self.0.remove(&id).is_some()
    }
}
