//! Faults from outside. Their kind, target and time follow from the seed alone, not from the
//! members' steps: every version experiences the same storm.

use super::chance::Chance;
use super::clock::Micros;

/// The profile of a storm. Most storms have all kinds of faults. But a defect that needs one
/// particular order of a few messages is seldom seen if other faults interfere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Profile {
    /// Any fault may hit any member.
    Any,
    /// A few nominees come and go, voters lose their disks while promises are in flight, and there
    /// are no other faults.
    LostDisks,
}

impl Profile {
    pub(super) fn of(seed: u64) -> Self {
        match seed % 5 {
            0 => Self::LostDisks,
            _ => Self::Any,
        }
    }
}

/// Defines the kinds of faults and requests, each with its relative frequency.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $weight:literal),* $(,)?) => {
        /// The kinds of faults and requests.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Kind {
            $($(#[$doc])* $kind),*
        }

        const WEIGHTS: &[(Kind, u64)] = &[$((Kind::$kind, $weight)),*];
    };
}

kinds! {
    /// A member stops between two steps, and comes back later.
    Crash 8,
    /// A member stops within its next step, after the first few of its effects.
    Die 6,
    /// A voter stops, between two steps or within one, and its disk is lost.
    LoseDisk 3,
    /// A process is stopped and continues later: messages wait for it meanwhile.
    Pause 8,
    /// A machine sleeps: messages are lost meanwhile.
    Sleep 3,
    /// The group is partitioned.
    Divide 5,
    /// One member no longer hears another.
    CutOneWay 6,
    /// The network faults change.
    NetworkFaults 8,
    /// A clock changes its rate.
    Rate 6,
    /// A running member gets another configuration.
    Configure 5,
    /// A timer expires early.
    Ring 3,
    Acquire 30,
    Withdraw 3,
    Release 8,
    Transfer 8,
    Sicken 3,
    Recover 6,
    Leave 1,
    /// A member gets a forged message with a counter that would exhaust the counter space.
    Forge 4,
}

/// The relative frequencies in the profile of lost disks.
const OF_LOST_DISKS: [(Kind, u64); 4] =
    [(Kind::LoseDisk, 2), (Kind::Acquire, 12), (Kind::Release, 6), (Kind::Ring, 6)];

/// The mean intervals between faults.
const CALM: [Micros; 4] = [20_000, 60_000, 250_000, 1_500_000];
/// The maximum durations of a fault: from much less than a message takes to several tenures.
const LONGEST: [Micros; 4] = [4_000, 40_000, 400_000, 4_000_000];

/// One fault.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    /// True if it hits the present holder, if there is one.
    pub(super) is_aimed: bool,
    /// The target otherwise.
    pub(super) whom: u64,
    pub(super) lasts: Micros,
    /// A random number for further choices.
    pub(super) how: u64,
}

/// The faults of a storm, one after the other.
#[derive(Debug)]
pub(super) struct FaultSchedule {
    chance: Chance,
    weights: Vec<(Kind, u64)>,
    calm: Micros,
    /// The choices for the maximum duration of a fault.
    longest: &'static [Micros],
}

impl FaultSchedule {
    /// Draws the profile of a storm. In each storm some kinds are frequent and some are absent, so
    /// that effects become visible that other faults would hide.
    pub(super) fn new(profile: Profile, mut chance: Chance) -> Self {
        let (calm, longest) = match profile {
            Profile::Any => (&CALM[..], &LONGEST[..]),
            Profile::LostDisks => (&CALM[..2], &LONGEST[..1]),
        };
        let calm = chance.choose(calm);
        let weights = match profile {
            Profile::Any => WEIGHTS.iter().map(|it| Self::rife(*it, &mut chance)).collect(),
            Profile::LostDisks => OF_LOST_DISKS.to_vec(),
        };
        Self { chance, weights, calm, longest }
    }

    fn rife((kind, weight): (Kind, u64), chance: &mut Chance) -> (Kind, u64) {
        let much = chance.choose(&[0, 1, 1, 3]);
        // Without nominations nothing happens.
        (kind, weight * much.max(u64::from(kind == Kind::Acquire)))
    }

    /// The generator for draws at the time of a fault: the network faults.
    pub(super) fn chance(&mut self) -> &mut Chance {
        &mut self.chance
    }

    /// The next fault, and its time after the previous one.
    pub(super) fn next(&mut self) -> (Micros, Fault) {
        let chance = &mut self.chance;
        let total = self.weights.iter().map(|(_, weight)| weight).sum();
        let mut left = chance.below(total);
        let mut kind = Kind::Acquire;
        for &(candidate, weight) in &self.weights {
            if left < weight {
                kind = candidate;
                break;
            }
            left -= weight;
        }
        let after = chance.between(1, 2 * self.calm);
        let longest = chance.choose(self.longest);
        let fault = Fault {
            kind,
            is_aimed: chance.happens(40),
            whom: chance.number() >> 32,
            lasts: chance.between(1, longest),
            how: chance.number(),
        };
        (after, fault)
    }
}
