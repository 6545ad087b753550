//! How often a leader says goodbye: as often as those call for who hear it worst.
//!
//! A leader does not hear how its own words come through. So its announcements tell how many goodbyes
//! it would say, and whoever needs more, by the loss that it has measured, complains. A complaint waits
//! for a random time, and is dropped if somebody else makes it meanwhile. One that is lost is made
//! again: the next announcement still promises too few. Where nobody complains, the leader tries with
//! one goodbye less from time to time, and so follows a loss that falls.

use super::{Announce, Config, MOST_REPETITIONS, Message, Repeat, Timer, Wake, repetitions};
use crate::{Io, MemberId, Merit};

/// After so many announcements without a complaint a leader promises one goodbye less.
const UNDISPUTED: u8 = 32;

/// When within T_A a complaint is made: mostly late, so that the first is heard before the others,
/// however many there are.
const WAIT: Wake = Wake::Exponential { rate: 10.0 };

/// What a member knows of the goodbyes that are called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Farewell {
    /// How many are called for, while it leads.
    byes: u8,
    /// How many announcements it has made since somebody called for as many, answers not counted.
    undisputed: u8,
    /// Whether its own complaint is due: the timer runs.
    complains: bool,
}

impl Farewell {
    /// Begins with so many.
    fn expect(&mut self, byes: u32) {
        self.byes = byes.min(MOST_REPETITIONS) as u8;
        self.undisputed = 0;
    }

    /// Somebody calls for so many.
    fn hear(&mut self, byes: u8) {
        if byes >= self.byes {
            self.expect(byes.into());
        }
    }

    /// An announcement was made when it was due.
    fn age(&mut self) {
        self.undisputed += 1;
        if self.undisputed == UNDISPUTED {
            self.expect(u32::from(self.byes).saturating_sub(1).max(1));
        }
    }
}

impl Announce {
    /// How often it would say goodbye now.
    #[inline]
    pub(super) fn byes(&self, config: &Config) -> u32 {
        match config.farewell {
            Repeat::Times(times) => times,
            Repeat::Measured { .. } => self.farewell.byes.into(),
        }
    }

    /// Another T_A has passed.
    #[inline]
    pub(super) fn reconsider_byes(&mut self) {
        self.farewell.age();
    }

    /// Begins to lead: until anybody complains it goes by what it measured of those who led before it, or
    /// assumes.
    pub(super) fn expect_to_be_heard(&mut self, config: &Config) {
        if let Repeat::Measured { miss } = config.farewell {
            let loss = self.loss.loss(config.assumed_loss);
            self.farewell.expect(repetitions(loss, miss));
        }
    }

    /// How many goodbyes it takes to reach this member: by what it measured alone, since an assumption
    /// gives nobody reason to complain. None where the loss does not matter.
    #[inline]
    fn needs(&self, config: &Config) -> Option<u8> {
        let miss = config.farewell.miss()?;
        Some(repetitions(self.loss.loss(0.0), miss).min(MOST_REPETITIONS) as u8)
    }

    /// A leader that promises fewer than `needs`, and that nobody has told.
    #[inline]
    fn faint(&self, needs: u8) -> Option<MemberId> {
        let mut leaders = self.leaders.iter();
        let faint = leaders.find(|heard| heard.byes < needs)?;
        Some(faint.claim.candidate.id)
    }

    /// Has the timer for complaints run if there is reason for one.
    #[inline]
    pub(super) fn weigh(&mut self, io: &mut impl Io<Self>) {
        let Some(needs) = self.needs(io.config()) else {
            return;
        };
        if self.faint(needs).is_some() && !self.farewell.complains {
            self.farewell.complains = true;
            let wait = WAIT.draw(io.config().announce, Merit(0), io.rng());
            io.arm(Timer::Complain, wait);
        }
    }

    /// Complains of the leaders that still promise too few goodbyes, and that nobody else has told.
    pub(super) fn complain(&mut self, io: &mut impl Io<Self>) {
        self.farewell.complains = false;
        let Some(byes) = self.needs(io.config()) else {
            return; // configured anew
        };
        while let Some(about) = self.faint(byes) {
            io.multicast(Message::Complaint { about, byes });
            self.leaders.told(about, byes);
        }
    }

    pub(super) fn on_complaint(&mut self, about: MemberId, byes: u8, io: &impl Io<Self>) {
        if about != io.me().id {
            self.leaders.told(about, byes); // need not be said twice
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
    fn a_promise_takes_no_room() {
        assert!(size_of::<Message>() <= 32, "{}", size_of::<Message>());
    }

    #[test]
    fn as_many_as_are_called_for_and_one_less_after_a_while_without_complaints() {
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
        assert_eq!(farewell.byes, 5, "somebody insisted");
        (0..10_000).for_each(|_| farewell.age());
        assert_eq!(farewell.byes, 1);
        farewell.hear(u8::MAX);
        assert_eq!(u32::from(farewell.byes), MOST_REPETITIONS);
    }
}
