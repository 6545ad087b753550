//! What strikes from outside. What, whom and when follows from the seed alone, not from what members
//! do: every version goes through the same storm.

use super::chance::Chance;
use super::clock::Micros;
use super::season::Season;

/// The kinds of what may strike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A member stops between two steps, and comes back later.
    Crash,
    /// A member stops in the midst of its next step, after the first few of its effects.
    Die,
    /// A voter stops, and what was on its disk is gone: between two steps or amid one.
    LoseDisk,
    /// A process is stopped and goes on later: what arrives meanwhile waits for it.
    Pause,
    /// A machine sleeps: what arrives meanwhile is lost.
    Sleep,
    /// The group is divided.
    Divide,
    /// One member is not heard by another any more.
    CutOneWay,
    /// The weather changes.
    Weather,
    /// A clock goes faster or slower.
    Rate,
    /// A running member's configuration is exchanged.
    Configure,
    /// A timer rings early.
    Ring,
    Acquire,
    Withdraw,
    Release,
    Transfer,
    Sicken,
    Recover,
    Leave,
    /// A member hears something that somebody made up, with a counter that would use up all others.
    Forge,
}

/// How often what strikes, beside all others.
const WEIGHTS: [(Kind, u64); 19] = [
    (Kind::Crash, 8),
    (Kind::Die, 6),
    (Kind::LoseDisk, 3),
    (Kind::Pause, 8),
    (Kind::Sleep, 3),
    (Kind::Divide, 5),
    (Kind::CutOneWay, 6),
    (Kind::Weather, 8),
    (Kind::Rate, 6),
    (Kind::Configure, 5),
    (Kind::Ring, 3),
    (Kind::Acquire, 30),
    (Kind::Withdraw, 3),
    (Kind::Release, 8),
    (Kind::Transfer, 8),
    (Kind::Sicken, 3),
    (Kind::Recover, 6),
    (Kind::Leave, 1),
    (Kind::Forge, 4),
];

/// The same where voters lose their disks.
const OF_LOST_DISKS: [(Kind, u64); 4] = [
    (Kind::LoseDisk, 2),
    (Kind::Acquire, 12),
    (Kind::Release, 6),
    (Kind::Ring, 6),
];

/// How far apart strikes are on the average.
const CALM: [Micros; 4] = [20_000, 60_000, 250_000, 1_500_000];
/// The longest that anything lasts: from much less than a message takes to several tenures.
const LONGEST: [Micros; 4] = [4_000, 40_000, 400_000, 4_000_000];

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strike {
    pub(super) kind: Kind,
    /// Whether it strikes whoever holds, if anyone does.
    pub(super) is_aimed: bool,
    /// Whom it strikes otherwise.
    pub(super) whom: u64,
    pub(super) lasts: Micros,
    /// Whatever else there is to know.
    pub(super) how: u64,
}

/// All that strikes in a storm, one after the other.
#[derive(Debug)]
pub(super) struct Strikes {
    chance: Chance,
    weights: Vec<(Kind, u64)>,
    calm: Micros,
    /// How long each may last, at most.
    longest: &'static [Micros],
}

impl Strikes {
    /// In each storm some kinds are rife and some never strike: what many others would hide is then
    /// seen in some of them.
    pub(super) fn new(season: Season, mut chance: Chance) -> Self {
        let (calm, longest) = match season {
            Season::Any => (&CALM[..], &LONGEST[..]),
            Season::LostDisks => (&CALM[..2], &LONGEST[..1]),
        };
        let calm = chance.choose(calm);
        let weights = match season {
            Season::Any => WEIGHTS.map(|it| Self::rife(it, &mut chance)).to_vec(),
            Season::LostDisks => OF_LOST_DISKS.to_vec(),
        };
        Self {
            chance,
            weights,
            calm,
            longest,
        }
    }

    fn rife((kind, weight): (Kind, u64), chance: &mut Chance) -> (Kind, u64) {
        let much = chance.choose(&[0, 1, 1, 3]);
        // Where nobody is ever nominated, nothing happens.
        (kind, weight * much.max(u64::from(kind == Kind::Acquire)))
    }

    /// For what is drawn when it strikes: the weather.
    pub(super) fn chance(&mut self) -> &mut Chance {
        &mut self.chance
    }

    /// The next, and how long after the one before.
    pub(super) fn next(&mut self) -> (Micros, Strike) {
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
        let strike = Strike {
            kind,
            is_aimed: chance.happens(40),
            whom: chance.number() >> 32,
            lasts: chance.between(1, longest),
            how: chance.number(),
        };
        (after, strike)
    }
}
