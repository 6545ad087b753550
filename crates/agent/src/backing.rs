//! Who backs a leader: the members that say that they follow it.
//!
//! Where a network was cut in two and grows together again, both sides may have a leader that works. The
//! one with more members behind it should stay, so a leader has to know how many they are. Followers of
//! an announcer are silent by nature: here each tells its leader now and then that it follows, and a
//! leader that hears from too many asks them to do so more rarely.

use std::collections::BTreeMap;

use hustings_protocol::{Candidate, Duration, Instant, MemberId, ViewChange};

/// How often a follower speaks up, in intervals of announcement.
const SPEAK_EVERY: f64 = 1.5;
/// After how many of those a silent follower is one no longer.
const FORGET_AFTER: f64 = 2.2;
/// A leader hears about so many a second at most.
const MOST_A_SECOND: u64 = 200;

/// A leader's followers.
#[derive(Debug)]
pub(crate) struct Backing {
    announce: Duration,
    followers: BTreeMap<MemberId, Instant>,
}

impl Backing {
    /// For a group where leaders announce themselves every `announce`.
    pub(crate) fn new(announce: Duration) -> Self {
        Self {
            announce,
            followers: BTreeMap::new(),
        }
    }

    /// How often a follower speaks up unless asked otherwise.
    pub(crate) fn usual_pause(&self) -> Duration {
        self.announce.mul_f64(SPEAK_EVERY)
    }

    /// How often each of the present followers should speak up.
    pub(crate) fn wanted_pause(&self) -> Duration {
        let fair = Duration(self.followers.len() as u64 * 1_000_000_000 / MOST_A_SECOND);
        fair.max(self.usual_pause())
    }

    /// Somebody follows. Tells if that is news.
    pub(crate) fn hear(&mut self, follower: Candidate, now: Instant) -> Option<ViewChange> {
        let known = self.followers.insert(follower.id, now);
        known.is_none().then_some(ViewChange::Joined(follower))
    }

    /// Forgets those who have not spoken up for too long.
    pub(crate) fn forget_silent(&mut self, now: Instant) -> Vec<ViewChange> {
        let patience = self.patience();
        let silent = self
            .followers
            .extract_if(.., |_, heard| now - *heard > patience);
        silent.map(|(id, _)| ViewChange::Left(id)).collect()
    }

    /// Forgets all: this member leads no more.
    pub(crate) fn forget_all(&mut self) -> Vec<ViewChange> {
        let all = std::mem::take(&mut self.followers);
        all.into_keys().map(ViewChange::Left).collect()
    }

    /// When the first of them will have been silent for too long.
    pub(crate) fn due(&self) -> Option<Instant> {
        let first = self.followers.values().min()?;
        Some(*first + self.patience() + Duration(1))
    }

    fn patience(&self) -> Duration {
        self.wanted_pause().mul_f64(FORGET_AFTER)
    }
}

#[cfg(test)]
mod tests {
    use super::Backing;
    use hustings_protocol::{Candidate, Duration, Instant, MemberId, ViewChange};

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    #[test]
    fn the_silent_are_forgotten_and_the_others_are_not() {
        let mut backing = Backing::new(Duration::from_millis(100));
        let follower = |id| Candidate::new(id, 0);
        assert_eq!(
            backing.hear(follower(1), at(0)),
            Some(ViewChange::Joined(follower(1)))
        );
        backing.hear(follower(2), at(0));
        assert_eq!(backing.hear(follower(2), at(300)), None);
        assert_eq!(backing.due(), Some(at(330) + Duration(1)));
        assert_eq!(
            backing.forget_silent(at(331)),
            [ViewChange::Left(MemberId(1))]
        );
        assert_eq!(backing.forget_all(), [ViewChange::Left(MemberId(2))]);
        assert_eq!(backing.due(), None);
    }

    #[test]
    fn many_followers_are_asked_to_speak_up_rarely() {
        let mut backing = Backing::new(Duration::from_millis(100));
        assert_eq!(backing.wanted_pause(), Duration::from_millis(150));
        for id in 0..2_000 {
            backing.hear(Candidate::new(id, 0), at(0));
        }
        assert_eq!(backing.wanted_pause(), Duration::from_secs(10));
    }
}
