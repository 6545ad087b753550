//! The number of goodbyes of a leader: as many as its worst-connected listener needs.
//!
//! A leader does not know how well its messages get through. So its announcements contain the
//! number of goodbyes that it would send, and a listener that needs more, by the loss that it has
//! measured, complains. A complaint waits for a random time, and is dropped if another member makes
//! it meanwhile. A lost complaint is repeated: the next announcement still promises too few. If no
//! member complains, the leader tries one goodbye less from time to time, and so follows a falling
//! loss.

use super::{Announce, Config, MOST_REPETITIONS, Message, Repeat, Timer, Wake, repetitions};
use crate::{Io, MemberId, Priority};

/// The number of announcements without a complaint after which a leader promises one goodbye less.
const UNDISPUTED: u8 = 32;

/// The time of a complaint within T_A: mostly late, so that the first complaint arrives before the
/// others are sent, in a group of any size.
const WAIT: Wake = Wake::Exponential { rate: 10.0 };

/// The goodbyes that listeners need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Farewell {
    /// The number of goodbyes to send, while this member leads.
    byes: u8,
    /// The number of regular announcements since a listener last asked for as many goodbyes.
    undisputed: u8,
    /// True if its own complaint is due: the timer runs.
    complains: bool,
}

impl Farewell {
    /// Starts with `byes` goodbyes.
    fn expect(&mut self, byes: u32) {
        self.byes = byes.min(MOST_REPETITIONS) as u8;
        self.undisputed = 0;
    }

    /// Handles a complaint that asks for `byes` goodbyes.
    fn hear(&mut self, byes: u8) {
        if byes >= self.byes {
            self.expect(byes.into());
        }
    }

    /// Counts a regular announcement.
    fn age(&mut self) {
        self.undisputed += 1;
        if self.undisputed == UNDISPUTED {
            self.expect(u32::from(self.byes).saturating_sub(1).max(1));
        }
    }
}

impl Announce {
    /// The number of goodbyes that it would send now.
    #[inline]
    pub(super) fn byes(&self, config: &Config) -> u32 {
        match config.farewell {
            Repeat::Times(times) => times,
            Repeat::Measured { .. } => self.farewell.byes.into(),
        }
    }

    /// Counts another T_A.
    #[inline]
    pub(super) fn age_goodbyes(&mut self) {
        self.farewell.age();
    }

    /// Starts to lead: until a listener complains, the number of goodbyes follows from the loss
    /// measured of earlier leaders, or assumed.
    pub(super) fn reset_goodbyes(&mut self, config: &Config) {
        if let Repeat::Measured { miss } = config.farewell {
            let loss = self.loss.loss(config.assumed_loss);
            self.farewell.expect(repetitions(loss, miss));
        }
    }

    /// The number of goodbyes needed to reach this member: by the measured loss alone, because an
    /// assumption is no reason to complain. `None` if the loss does not matter.
    #[inline]
    fn needs(&self, config: &Config) -> Option<u8> {
        let miss = config.farewell.miss()?;
        Some(repetitions(self.loss.loss(0.0), miss).min(MOST_REPETITIONS) as u8)
    }

    /// A leader that promises fewer than `needs`, and about which no member has complained.
    #[inline]
    fn underpromising_leader(&self, needs: u8) -> Option<MemberId> {
        let mut leaders = self.leaders.iter();
        let leader = leaders.find(|heard| heard.byes < needs)?;
        Some(leader.claim.candidate.id)
    }

    /// Arms the timer for complaints if there is a reason for one.
    #[inline]
    pub(super) fn consider_complaint(&mut self, io: &mut impl Io<Self>) {
        let Some(needs) = self.needs(io.config()) else {
            return;
        };
        if self.underpromising_leader(needs).is_some() && !self.farewell.complains {
            self.farewell.complains = true;
            let wait = WAIT.draw(io.config().announce, Priority(0), io.rng());
            io.arm(Timer::Complain, wait);
        }
    }

    /// Complains about the leaders that still promise too few goodbyes, and about which no other
    /// member has complained.
    pub(super) fn complain(&mut self, io: &mut impl Io<Self>) {
        self.farewell.complains = false;
        let Some(byes) = self.needs(io.config()) else {
            return; // the configuration has changed
        };
        while let Some(about) = self.underpromising_leader(byes) {
            io.multicast(Message::Complaint { about, byes });
            self.leaders.note_complaint(about, byes);
        }
    }

    pub(super) fn on_complaint(&mut self, about: MemberId, byes: u8, io: &impl Io<Self>) {
        if about != io.me().id {
            self.leaders.note_complaint(about, byes); // no second complaint
        } else if self.leads() {
            self.farewell.hear(byes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Farewell, UNDISPUTED};
    use crate::announce::{MOST_REPETITIONS, Message};

    #[test]
    fn messages_are_at_most_32_bytes() {
        assert!(size_of::<Message>() <= 32, "{}", size_of::<Message>());
    }

    #[test]
    fn goodbyes_follow_complaints_and_fall_by_one_without_them() {
        let mut farewell = Farewell::default();
        farewell.expect(3);
        farewell.hear(2);
        assert_eq!(farewell.byes, 3);
        farewell.hear(8);
        assert_eq!(farewell.byes, 8);
        for left in [7, 6, 5] {
            (1..UNDISPUTED).for_each(|_| farewell.age());
            assert_eq!(farewell.byes, left + 1);
            farewell.age();
            assert_eq!(farewell.byes, left);
        }
        (1..UNDISPUTED).for_each(|_| farewell.age());
        farewell.hear(5);
        (1..UNDISPUTED).for_each(|_| farewell.age());
        assert_eq!(farewell.byes, 5, "a listener insisted");
        (0..10_000).for_each(|_| farewell.age());
        assert_eq!(farewell.byes, 1);
        farewell.hear(u8::MAX);
        assert_eq!(u32::from(farewell.byes), MOST_REPETITIONS);
    }
}
