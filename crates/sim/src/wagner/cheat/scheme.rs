//! The optimal choice of flips by neighbours, by dynamic programming over all that they can know.
//!
//! In a Basic round cheaters have two kinds of moves: to send the next of their own messages to the
//! left, or to the right. A move may show one of their flips, which is fixed from then on. Honest
//! members answer with flips of others, which the cheaters see before they move again. When all of
//! their flips are shown, the rest of the round is determined. So a round is a game against chance.
//! Its states are the numbers of messages sent to either side, the flips shown and the flips seen.
//! A draw is a game whose states are the sets of active members; a stage leaves a smaller set, or
//! the same.
//!
//! Positions are counted clockwise from the first cheater, and a set of them is the bits of a
//! number.

mod sight;

use std::fmt;

use hustings_protocol::wagner::Config;
use hustings_protocol::wagner::fault::Side;
use hustings_protocol::wagner::flips::Flip;
use hustings_protocol::wagner::subset::Selection;
use thiserror::Error;

pub(super) use sight::Sight;
use sight::Sights;

/// The cheaters' aim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// The election of one of them.
    Win,
    /// A draw without end.
    Stall,
}

/// The reason why there is no scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NoScheme {
    /// The table would be too large.
    #[error("the best flips are computed for rings of up to {} members", Scheme::MOST_MEMBERS)]
    TooManyMembers,
    /// The cheaters choose the coin, and win by steering it.
    #[error("{0} cheaters know all flips in time and own the coin")]
    CoinIsTheirs(u32),
}

/// The next message of a segment: its direction and, if it shows a new flip, that flip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) side: Side,
    pub(super) flip: Flip,
}

/// The optimal flips in every situation.
#[derive(PartialEq)]
pub struct Scheme {
    members: u32,
    cheaters: u32,
    /// The probability of the aim, by the number of each set of active members.
    worth: Vec<f64>,
    /// For each set, the visible flips and the moves.
    stages: Vec<StageMoves>,
}

/// The moves of one stage.
#[derive(PartialEq)]
struct StageMoves {
    sights: Sights,
    /// The best move, by the numbers of messages sent to either side and by the flips known then.
    moves: Vec<Move>,
}

/// The value of a situation.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Prospect {
    /// The probability that the stage changes nothing.
    unchanged: f64,
    /// The probability of the aim, by a stage that changes something.
    gains: f64,
}

impl Prospect {
    fn worth(self, unchanged: f64) -> f64 {
        self.unchanged * unchanged + self.gains
    }

    fn mean(all: impl Iterator<Item = Self>) -> Self {
        let (mut sum, mut count) = (Self::default(), 0.0);
        for one in all {
            sum.unchanged += one.unchanged;
            sum.gains += one.gains;
            count += 1.0;
        }
        Self { unchanged: sum.unchanged / count, gains: sum.gains / count }
    }

    /// True if it is the better one, if a stage that changes nothing is worth `unchanged`. Of equal
    /// ones, the one that changes something sooner is better.
    fn is_better_than(self, other: Self, unchanged: f64) -> bool {
        let gain = self.worth(unchanged) - other.worth(unchanged);
        gain > NOTHING || (gain >= -NOTHING && self.unchanged < other.unchanged - NOTHING)
    }
}

/// Smaller differences are due to rounding.
const NOTHING: f64 = 1e-12;

impl Scheme {
    /// On larger rings the table takes longer than the draws.
    pub const MOST_MEMBERS: u32 = 10;

    /// The optimal flips of `cheaters` neighbours on a ring of `members`. The limit on equal stages
    /// is ignored.
    ///
    /// # Errors
    /// If there are too many of either.
    ///
    /// # Panics
    /// Unless there are cheaters, and others.
    pub fn find(members: u32, cheaters: u32, config: &Config, aim: Aim) -> Result<Self, NoScheme> {
        assert!((1..members).contains(&cheaters), "{cheaters} cheaters of {members}");
        if members > Self::MOST_MEMBERS {
            return Err(NoScheme::TooManyMembers);
        }
        let coin = Sights::new(members, cheaters, config.ring, None);
        if config.selection == Selection::Proportional && coin.shows_all_in_time() {
            return Err(NoScheme::CoinIsTheirs(cheaters));
        }
        let mut scheme = Self { members, cheaters, worth: Vec::new(), stages: Vec::new() };
        // Every part of a set has a smaller number.
        for active in 0..1_u32 << members {
            let pair = match config.selection {
                Selection::Proportional => neighbours(active, members),
                Selection::Parity => None,
            };
            let sights = Sights::new(members, cheaters, config.ring, pair);
            let (worth, moves) = match (active.count_ones(), aim) {
                (0, _) | (1, Aim::Stall) => (0.0, Vec::new()),
                (1, Aim::Win) => (f64::from(u8::from(active < 1 << cheaters)), Vec::new()),
                _ => scheme.stage(active, &sights, config.selection, aim),
            };
            scheme.worth.push(worth);
            scheme.stages.push(StageMoves { sights, moves });
        }
        Ok(scheme)
    }

    /// The probability of the aim, from the start on.
    pub fn worth(&self) -> f64 {
        self.worth.last().copied().unwrap_or_default()
    }

    /// The visible flips when the cheaters have sent `left` and `right` messages to either side,
    /// and `active` are the active positions.
    pub(super) fn sight(&self, active: u32, left: u32, right: u32) -> Sight {
        self.stages[active as usize].sights.of(left, right)
    }

    /// The next move, when the positions in `heads` are known to have flipped heads.
    pub(super) fn next(&self, active: u32, left: u32, right: u32, heads: u32) -> Move {
        self.stages[active as usize].moves[self.situation(left, right, heads)]
    }

    fn situation(&self, left: u32, right: u32, heads: u32) -> usize {
        (((left * (self.cheaters + 1) + right) << self.members) | heads) as usize
    }

    /// The value of a stage among the `active` positions, and the best moves. Iterates over better
    /// moves until the value no longer grows.
    fn stage(
        &self,
        active: u32,
        sights: &Sights,
        selection: Selection,
        aim: Aim,
    ) -> (f64, Vec<Move>) {
        let ends: Vec<Prospect> =
            (0..1 << self.members).map(|heads| self.end(active, heads, selection)).collect();
        let (mut worth, for_ever) = match aim {
            Aim::Win => (0.0, 0.0),
            Aim::Stall => (1.0, 1.0),
        };
        loop {
            let (start, moves) = Game::new(self, sights, &ends, worth).play();
            let repeated = if start.unchanged > 1.0 - NOTHING {
                for_ever
            } else {
                start.gains / (1.0 - start.unchanged)
            };
            if (repeated - worth).abs() <= NOTHING {
                return (repeated, moves);
            }
            worth = repeated;
        }
    }

    /// The value at the end of a stage in which the positions in `heads` flip heads.
    fn end(&self, active: u32, heads: u32, selection: Selection) -> Prospect {
        let (one, other) = (active & heads, active & !heads);
        if one == 0 || other == 0 {
            return Prospect { unchanged: 1.0, gains: 0.0 };
        }
        let part = match selection {
            Selection::Proportional => f64::from(one.count_ones()) / f64::from(active.count_ones()),
            Selection::Parity => f64::from(heads.count_ones() % 2),
        };
        let worth = |set: u32| self.worth[set as usize];
        Prospect { unchanged: 0.0, gains: part * worth(one) + (1.0 - part) * worth(other) }
    }
}

/// The game of one Basic round, where a stage that changes nothing is worth `unchanged`.
struct Game<'a> {
    scheme: &'a Scheme,
    sights: &'a Sights,
    /// The value at the end of the stage, by the set that flips heads.
    ends: &'a [Prospect],
    unchanged: f64,
    /// The value of each situation, and the best move in it.
    prospects: Vec<Prospect>,
    moves: Vec<Move>,
}

impl<'a> Game<'a> {
    fn new(scheme: &'a Scheme, sights: &'a Sights, ends: &'a [Prospect], unchanged: f64) -> Self {
        let most = scheme.cheaters;
        let count = scheme.situation(most, most, all(scheme.members)) + 1;
        let none = Move { side: Side::Right, flip: Flip::Tails };
        Self {
            scheme,
            sights,
            ends,
            unchanged,
            prospects: vec![Prospect::default(); count],
            moves: vec![none; count],
        }
    }

    /// The value of the round from the start on, and the best moves.
    fn play(mut self) -> (Prospect, Vec<Move>) {
        let most = self.scheme.cheaters;
        // From the end: a situation is later if more messages have been sent.
        for sent in (0..=2 * most).rev() {
            for left in sent.saturating_sub(most)..=sent.min(most) {
                self.weigh(left, sent - left);
            }
        }
        let start = self.mean(0, 0, 0, self.sights.of(0, 0).seen);
        (start, self.moves)
    }

    /// Evaluates all situations in which `left` and `right` messages have been sent to either side.
    fn weigh(&mut self, left: u32, right: u32) {
        let now = self.sights.of(left, right);
        let known = now.shown | now.seen;
        for heads in subsets(known) {
            let at = self.scheme.situation(left, right, heads);
            match self.best(left, right, heads) {
                Some((prospect, best)) => {
                    self.prospects[at] = prospect;
                    self.moves[at] = best;
                }
                // All flips are shown: the rest is chance.
                None => {
                    let unknown = subsets(all(self.scheme.members) & !known);
                    let ends = unknown.map(|it| self.ends[(heads | it) as usize]);
                    self.prospects[at] = Prospect::mean(ends);
                }
            }
        }
    }

    /// The best move, if not all flips of theirs are shown.
    fn best(&self, left: u32, right: u32, heads: u32) -> Option<(Prospect, Move)> {
        let now = self.sights.of(left, right);
        if now.shown == all(self.scheme.cheaters) {
            return None;
        }
        let mut best: Option<(Prospect, Move)> = None;
        for (side, left, right) in [(Side::Left, left + 1, right), (Side::Right, left, right + 1)] {
            if left.max(right) > self.scheme.cheaters {
                continue;
            }
            let next = self.sights.of(left, right);
            for flips in subsets(next.shown & !now.shown) {
                let prospect = self.mean(left, right, heads | flips, next.seen & !now.seen);
                if best.is_none_or(|(it, _)| prospect.is_better_than(it, self.unchanged)) {
                    let flip = Flip::heads_if(flips != 0);
                    best = Some((prospect, Move { side, flip }));
                }
            }
        }
        best
    }

    /// The value of a situation before the flips of the `new` positions are seen.
    fn mean(&self, left: u32, right: u32, heads: u32, new: u32) -> Prospect {
        let at = |seen| self.scheme.situation(left, right, heads | seen);
        Prospect::mean(subsets(new).map(|seen| self.prospects[at(seen)]))
    }
}

/// Omits the tables.
impl fmt::Debug for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheme")
            .field("members", &self.members)
            .field("cheaters", &self.cheaters)
            .field("worth", &self.worth())
            .finish_non_exhaustive()
    }
}

/// The set of all positions below `count`.
fn all(count: u32) -> u32 {
    (1 << count) - 1
}

/// All subsets of `set`.
fn subsets(set: u32) -> impl Iterator<Item = u32> {
    let next = move |it: &u32| (*it != set).then(|| it.wrapping_sub(set) & set);
    std::iter::successors(Some(0), next)
}

/// The position of the first of two active neighbours, if only these are active.
fn neighbours(active: u32, members: u32) -> Option<u32> {
    let next = |place: u32| (place + 1) % members;
    (0..members).find(|place| active == 1 << place | 1 << next(*place))
}
