//! What a host remembers of an election, and whether it takes part in the next draw.
//!
//! The paper's memory is a bit or two ([`Memory`]). It takes every feedback to be heard; here one may be lost, so a host also
//! keeps the numbers that tell it whether its memory is of the round that the centre speaks of. Whoever has missed one
//! sits out until a reset: else of `n` hosts that missed the draw with `c/n` all would draw in the next, with `c/k`.

use super::coin::Draws;
use super::{Algorithm, Content, Estimate, MOST_DEPTH, Seats};

/// The paper's state of a host, packed. Which bits mean what depends on the algorithm:
///
/// | algorithm | bits | Table I |
/// |---|---|---|
/// | naive | none | |
/// | basic, Skip-Reset | the last draw | 1 |
/// | choice | the two last draws | 3 |
/// | history | the last draw, and who was active before it, for each round of history | 2 |
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory(u8);

impl Memory {
    /// How many bits an algorithm needs.
    pub fn width(algorithm: Algorithm) -> u32 {
        match algorithm {
            Algorithm::Naive | Algorithm::Merit | Algorithm::Bolot => 0,
            Algorithm::Basic | Algorithm::SkipReset => 1,
            Algorithm::Choice(_, _) => 2,
            Algorithm::History { depth } => 1 + u32::from(depth),
        }
    }

    /// The bits themselves: below two to the power of [`Memory::width`].
    pub fn bits(self) -> u8 {
        self.0
    }

    fn drew(self, draw: u8) -> bool {
        Draws(self.0).has(draw)
    }

    /// Sets the last draw; with history, what was before stays.
    fn draw(&mut self, algorithm: Algorithm, draws: Draws) {
        self.0 = match algorithm {
            Algorithm::Naive | Algorithm::Merit | Algorithm::Bolot => 0,
            Algorithm::Basic | Algorithm::SkipReset => draws.0 & 1,
            Algorithm::Choice(_, _) => draws.0 & 3,
            Algorithm::History { .. } => self.0 & !1 | draws.0 & 1,
        };
    }

    /// Whether it was active at the latest base.
    fn was_active(self) -> bool {
        self.0 & 2 != 0
    }

    /// A new base; the oldest beyond `depth` is forgotten.
    fn push(&mut self, depth: u8, active: bool) {
        let bases = self.0 >> 1 << 1 | u8::from(active);
        let mask = (1 << depth) - 1;
        self.0 = (bases & mask) << 1 | self.0 & 1;
    }

    /// Forgets the `count` latest bases.
    fn pop(&mut self, count: usize) {
        self.0 = self.0 >> 1 >> count << 1 | self.0 & 1;
    }
}

/// A host's part in an election.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Candidacy {
    memory: Memory,
    /// The last round that it heard of.
    heard: u32,
    /// After which rounds those were active that [`Memory`] tells of, the latest first.
    bases: [u32; MOST_DEPTH],
    /// By which number it drew when all did. None: it knows nothing of how many there are.
    step: Option<u32>,
}

impl Candidacy {
    /// The last round that it heard of; 0 if none.
    #[inline]
    pub fn heard(&self) -> u32 {
        self.heard
    }

    /// The paper's part of it.
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// A host that heard `heard` last, and drew by `step` when it last heard a call of all hosts.
    pub(super) fn after(heard: u32, step: Option<u32>) -> Self {
        Self {
            heard,
            step,
            ..Self::default()
        }
    }

    /// By which number it draws where all do, if the centre says `count` in `round`, which is new. Who has heard every call
    /// goes down with the centre; who has missed one stays where it was, who has missed more goes back up: the centre has come down
    /// without its replies.
    pub(super) fn step(
        &mut self,
        (round, count): (u32, u32),
        steps: Estimate,
        wanted: Seats,
    ) -> u32 {
        let missed = round.saturating_sub(self.heard.saturating_add(1));
        let lowest = match (self.step, missed) {
            (None, _) => steps.first,
            (Some(step), 0) => steps.step_down(step, wanted),
            (Some(step), 1..) => steps.step_up(step, missed - 1, wanted),
        };
        *self.step.insert(count.max(lowest))
    }

    /// It was out of touch, so that it knows nothing of how many there are.
    pub(super) fn forget_step(&mut self) {
        self.step = None;
    }

    /// Takes in the feedback of `round`, which is new. Whether this host draws; if so, [`Candidacy::draw`] must follow.
    #[inline]
    pub(super) fn recall(
        &mut self,
        algorithm: Algorithm,
        (round, base): (u32, u32),
        content: Content,
    ) -> bool {
        let heard = std::mem::replace(&mut self.heard, round);
        // After the round that the centre speaks of: what it last drew, if it has heard that round.
        let last_drew = heard == base && self.memory.drew(content.taken);
        let takes_part = match algorithm {
            Algorithm::Naive | Algorithm::Merit | Algorithm::Bolot => true,
            Algorithm::Basic | Algorithm::SkipReset | Algorithm::Choice(_, _) => {
                match content.reset {
                    true => base == 0,
                    false => last_drew,
                }
            }
            Algorithm::History { depth } => {
                self.recall_base(depth.min(MOST_DEPTH as u8), base, last_drew)
            }
        };
        if !takes_part {
            self.memory.draw(algorithm, Draws(0));
        }
        takes_part
    }

    /// The same with history: goes back to those who were active after the round `base`.
    fn recall_base(&mut self, depth: u8, base: u32, last_drew: bool) -> bool {
        if base == 0 {
            self.memory = Memory::default();
            self.begin_at(depth, 0, true);
            return true;
        }
        let known = &self.bases[..usize::from(depth)];
        match known.iter().position(|it| *it == base) {
            Some(place) => {
                self.memory.pop(place);
                self.bases.rotate_left(place);
                self.bases[MOST_DEPTH - place..].fill(0);
            }
            None => self.begin_at(depth, base, last_drew),
        }
        self.memory.was_active()
    }

    fn begin_at(&mut self, depth: u8, base: u32, active: bool) {
        if base == 0 {
            self.bases = [0; MOST_DEPTH];
        } else {
            self.bases.rotate_right(1);
            self.bases[0] = base;
        }
        self.memory.push(depth, active);
    }

    /// What came of the draw.
    #[inline]
    pub(super) fn draw(&mut self, algorithm: Algorithm, draws: Draws) {
        self.memory.draw(algorithm, draws);
    }

    /// Takes note of a round in which this host does not take part, and of nothing before it.
    pub(super) fn sit_out(&mut self, round: u32) {
        *self = Self {
            heard: round,
            step: self.step,
            ..Self::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::{Candidacy, Memory};
    use crate::council::coin::Draws;
    use crate::council::{Algorithm, Content, Estimate, Seats};

    #[test]
    fn who_has_missed_calls_goes_down_by_itself() {
        let steps = Estimate::aggressive(100_000);
        let mut host = Candidacy::default();
        let mut number = |rounds| {
            let number = host.step(rounds, steps, Seats::new(4, 8));
            host.sit_out(rounds.0);
            number
        };
        for (rounds, by) in [
            ((1, 100_000), 100_000),
            ((2, 3_162), 3_162),
            ((4, 52), 3_162), // the third was missed
            ((5, 16), 282),
            ((6, 0), 52),
            ((7, 0), 16),
            ((8, 0), 0),
            ((9, 100_000), 100_000),
            ((10, 3_162), 3_162),
            ((13, 0), 99_987), // two were missed
            ((14, 0), 3_162),
            ((15, 40_000), 40_000),
        ] {
            assert_eq!(number(rounds), by, "{rounds:?}");
        }
        host.forget_step();
        assert_eq!(host.step((16, 0), steps, Seats::new(4, 8)), 100_000);
        let mut late = Candidacy::default();
        assert_eq!(late.step((77, 0), steps, Seats::new(4, 8)), 100_000);
    }

    /// A feedback of `round` that has those draw who were active after `base`, and what the host draws if it does.
    fn hear(host: &mut Candidacy, algorithm: Algorithm, rounds: (u32, u32), draws: u8) -> bool {
        hear_taken(host, algorithm, rounds, 0, draws)
    }

    fn hear_taken(
        host: &mut Candidacy,
        algorithm: Algorithm,
        (round, base): (u32, u32),
        taken: u8,
        draws: u8,
    ) -> bool {
        let content = Content {
            count: 9,
            fraction: 0,
            reset: base + 1 != round || base == 0,
            taken,
        };
        let takes_part = host.recall(algorithm, (round, base), content);
        if takes_part {
            host.draw(algorithm, Draws(draws));
        }
        let width = Memory::width(algorithm);
        assert!(u32::from(host.memory().bits()) < 1 << width, "{host:?}");
        takes_part
    }

    #[test]
    fn c12_no_host_needs_more_bits_than_table_i_has() {
        assert_eq!(Memory::width(Algorithm::Basic), 1);
        assert_eq!(Memory::width(Algorithm::SkipReset), 1);
        assert!(Memory::width(Algorithm::CHOICE) <= 3);
        assert_eq!(Memory::width(Algorithm::HISTORY), 2);
        assert_eq!(size_of::<Memory>(), 1);
    }

    #[test]
    fn who_drew_out_stays_out_until_a_reset() {
        let skip = Algorithm::SkipReset;
        let mut host = Candidacy::default();
        assert!(hear(&mut host, skip, (1, 0), 1));
        assert!(hear(&mut host, skip, (2, 1), 0));
        assert!(!hear(&mut host, skip, (3, 2), 1));
        assert!(!hear(&mut host, skip, (4, 3), 1));
        assert!(hear(&mut host, skip, (5, 0), 1));
    }

    #[test]
    fn who_missed_a_feedback_sits_out_until_a_reset() {
        let skip = Algorithm::SkipReset;
        let mut host = Candidacy::default();
        assert!(hear(&mut host, skip, (1, 0), 1));
        assert!(!hear(&mut host, skip, (3, 2), 1), "2 was missed");
        assert!(!hear(&mut host, skip, (4, 3), 1));
        assert!(
            hear(&mut host, skip, (6, 0), 1),
            "5 was missed, but all draw"
        );
        let mut newcomer = Candidacy::default();
        assert!(!hear(&mut newcomer, skip, (7, 6), 1));
    }

    #[test]
    fn of_two_draws_the_one_that_was_taken_counts() {
        for (draws, taken, takes_part) in [(1, 0, true), (1, 1, false), (2, 0, false), (2, 1, true)]
        {
            let mut host = Candidacy::default();
            assert!(hear(&mut host, Algorithm::CHOICE, (1, 0), draws));
            let again = hear_taken(&mut host, Algorithm::CHOICE, (2, 1), taken, 3);
            assert_eq!(again, takes_part, "{draws} {taken}");
        }
    }

    #[test]
    fn with_history_those_come_back_who_were_active_before_the_undershoot() {
        let history = Algorithm::HISTORY;
        let mut host = Candidacy::default();
        assert!(hear(&mut host, history, (1, 0), 1));
        assert!(hear(&mut host, history, (2, 1), 0), "overshoot: draws out");
        assert!(
            hear(&mut host, history, (3, 1), 0),
            "undershoot: draws again"
        );
        assert!(hear(&mut host, history, (4, 1), 0), "and again");
        assert!(!hear(&mut host, history, (5, 4), 1), "overshoot without it");
        assert!(
            !hear(&mut host, history, (6, 4), 1),
            "which it is not part of"
        );
        assert!(hear(&mut host, history, (7, 0), 1), "all");
    }

    #[test]
    fn with_history_who_missed_the_round_that_undershot_comes_back_too() {
        let history = Algorithm::HISTORY;
        let mut host = Candidacy::default();
        assert!(hear(&mut host, history, (1, 0), 1));
        assert!(hear(&mut host, history, (3, 1), 0), "2 was missed");
        assert!(hear(&mut host, history, (5, 1), 0), "4 was missed");
        let mut other = Candidacy::default();
        assert!(hear(&mut other, history, (1, 0), 1));
        assert!(
            !hear(&mut other, history, (3, 2), 1),
            "2 was missed, and overshot"
        );
        assert!(!hear(&mut other, history, (4, 2), 1));
    }

    #[test]
    fn with_more_history_the_centre_can_go_back_further() {
        let deep = Algorithm::History { depth: 3 };
        let mut host = Candidacy::default();
        assert!(hear(&mut host, deep, (1, 0), 1));
        assert!(hear(&mut host, deep, (2, 1), 1));
        assert!(hear(&mut host, deep, (3, 2), 0));
        assert!(!hear(&mut host, deep, (4, 3), 0));
        assert!(
            !hear(&mut host, deep, (5, 3), 0),
            "three rounds are remembered"
        );
        assert!(hear(&mut host, deep, (6, 2), 0));
        assert!(hear(&mut host, deep, (7, 1), 0));
        let mut shallow = Candidacy::default();
        for rounds in [(1, 0), (2, 1), (3, 2)] {
            assert!(hear(&mut shallow, Algorithm::HISTORY, rounds, 1));
        }
        assert!(
            !hear(&mut shallow, Algorithm::HISTORY, (4, 1), 1),
            "forgotten"
        );
    }
}
