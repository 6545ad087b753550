//! The memory of a host during an election, which decides if it takes part in the next draw.
//!
//! The paper's memory is one or two bits ([`Memory`]). It assumes that every feedback arrives. Here
//! one may be lost, so a host also keeps the numbers of the rounds to which its memory belongs. A
//! host that has missed a feedback sits out until a reset. Otherwise all of `n` hosts that missed
//! the draw with `c/n` would draw in the next one, with `c/k`.

use super::coin::Draws;
use super::{Algorithm, Estimate, MOST_DEPTH, Seats, WireBits};

/// The paper's state of a host, packed. The meaning of the bits depends on the algorithm:
///
/// | algorithm | bits | Table I |
/// |---|---|---|
/// | naive | none | |
/// | basic, Skip-Reset | the last draw | 1 |
/// | choice | the two last draws | 3 |
/// | history | the last draw; active before it, for each round of history | 2 |
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory(u8);

impl Memory {
    /// The number of bits that an algorithm needs.
    pub fn width(algorithm: Algorithm) -> u32 {
        match algorithm {
            Algorithm::Naive | Algorithm::Priority | Algorithm::Bolot => 0,
            Algorithm::Basic | Algorithm::SkipReset => 1,
            Algorithm::Choice(_, _) => 2,
            Algorithm::History { depth } => 1 + u32::from(depth),
        }
    }

    /// The bits: below two to the power of [`Memory::width`].
    pub fn bits(self) -> u8 {
        self.0
    }

    fn drew(self, draw: u8) -> bool {
        Draws(self.0).has(draw)
    }

    /// Sets the last draw; with history, the earlier bits stay.
    fn draw(&mut self, algorithm: Algorithm, draws: Draws) {
        self.0 = match algorithm {
            Algorithm::Naive | Algorithm::Priority | Algorithm::Bolot => 0,
            Algorithm::Basic | Algorithm::SkipReset => draws.0 & 1,
            Algorithm::Choice(_, _) => draws.0 & 3,
            Algorithm::History { .. } => self.0 & !1 | draws.0 & 1,
        };
    }

    /// True if the host was active at the latest base.
    fn was_active(self) -> bool {
        self.0 & 2 != 0
    }

    /// Enters a new base; the oldest beyond `depth` is forgotten.
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
    /// The last round whose feedback it received.
    heard: u32,
    /// The base rounds that [`Memory`] has bits for, the latest first.
    bases: [u32; MOST_DEPTH],
    /// The number by which it drew when all hosts did. `None`: it does not know the number of
    /// hosts.
    step: Option<u32>,
}

impl Candidacy {
    /// The last round whose feedback it received; 0 if none.
    #[inline]
    pub fn heard(&self) -> u32 {
        self.heard
    }

    /// The paper's part of the memory.
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// A host that last received round `heard`, and drew by `step` in the last call of all hosts
    /// that it received.
    pub(super) fn after(heard: u32, step: Option<u32>) -> Self {
        Self { heard, step, ..Self::default() }
    }

    /// The number by which it draws in a call of all hosts, if the centre sends `count` in the new
    /// round `round`. A host that has received every call steps down with the centre. A host that
    /// missed one call stays at its number, and one that missed more goes back up: the centre came
    /// down without its replies.
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

    /// Forgets its number: it was out of touch, and no longer knows the number of hosts.
    pub(super) fn forget_step(&mut self) {
        self.step = None;
    }

    /// Handles the feedback of the new round `round`. Returns true if this host draws;
    /// [`Candidacy::draw`] must follow then.
    #[inline]
    pub(super) fn recall(
        &mut self,
        algorithm: Algorithm,
        (round, base): (u32, u32),
        wire_bits: WireBits,
    ) -> bool {
        let heard = std::mem::replace(&mut self.heard, round);
        // The host's draw in the base round, if it received that round.
        let last_drew = heard == base && self.memory.drew(wire_bits.taken);
        let drew_or_reset = if wire_bits.reset { base == 0 } else { last_drew };
        let takes_part = match algorithm {
            Algorithm::Naive | Algorithm::Priority | Algorithm::Bolot => true,
            Algorithm::Basic | Algorithm::SkipReset | Algorithm::Choice(_, _) => drew_or_reset,
            Algorithm::History { depth } => {
                self.recall_base(depth.min(MOST_DEPTH as u8), base, last_drew)
            }
        };
        if !takes_part {
            self.memory.draw(algorithm, Draws(0));
        }
        takes_part
    }

    /// The same with history: goes back to the hosts that were active after the round `base`.
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

    /// Enters the result of the draw.
    #[inline]
    pub(super) fn draw(&mut self, algorithm: Algorithm, draws: Draws) {
        self.memory.draw(algorithm, draws);
    }

    /// Notes a round in which this host does not take part, and forgets everything before it.
    pub(super) fn sit_out(&mut self, round: u32) {
        *self = Self { heard: round, step: self.step, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::{Candidacy, Memory};
    use crate::council::coin::Draws;
    use crate::council::{Algorithm, Estimate, Seats, WireBits};

    #[test]
    fn a_host_that_missed_calls_steps_down_by_itself() {
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
            ((4, 52), 3_162), // missed round 3
            ((5, 16), 282),
            ((6, 0), 52),
            ((7, 0), 16),
            ((8, 0), 0),
            ((9, 100_000), 100_000),
            ((10, 3_162), 3_162),
            ((13, 0), 99_987), // missed rounds 11 and 12
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

    /// Handles a feedback of `round` that calls the hosts active after `base`, with the given
    /// draws. Returns true if the host takes part.
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
        let wire_bits =
            WireBits { count: 9, fraction: 0, reset: base + 1 != round || base == 0, taken };
        let takes_part = host.recall(algorithm, (round, base), wire_bits);
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
    fn a_host_that_drew_no_stays_out_until_a_reset() {
        let skip = Algorithm::SkipReset;
        let mut host = Candidacy::default();
        assert!(hear(&mut host, skip, (1, 0), 1));
        assert!(hear(&mut host, skip, (2, 1), 0));
        assert!(!hear(&mut host, skip, (3, 2), 1));
        assert!(!hear(&mut host, skip, (4, 3), 1));
        assert!(hear(&mut host, skip, (5, 0), 1));
    }

    #[test]
    fn a_host_that_missed_a_feedback_sits_out_until_a_reset() {
        let skip = Algorithm::SkipReset;
        let mut host = Candidacy::default();
        assert!(hear(&mut host, skip, (1, 0), 1));
        assert!(!hear(&mut host, skip, (3, 2), 1), "2 was missed");
        assert!(!hear(&mut host, skip, (4, 3), 1));
        assert!(hear(&mut host, skip, (6, 0), 1), "5 was missed, but all draw");
        let mut newcomer = Candidacy::default();
        assert!(!hear(&mut newcomer, skip, (7, 6), 1));
    }

    #[test]
    fn the_taken_one_of_two_draws_counts() {
        for (draws, taken, takes_part) in [(1, 0, true), (1, 1, false), (2, 0, false), (2, 1, true)]
        {
            let mut host = Candidacy::default();
            assert!(hear(&mut host, Algorithm::CHOICE, (1, 0), draws));
            let again = hear_taken(&mut host, Algorithm::CHOICE, (2, 1), taken, 3);
            assert_eq!(again, takes_part, "{draws} {taken}");
        }
    }

    #[test]
    fn with_history_hosts_active_before_the_undershoot_draw_again() {
        let history = Algorithm::HISTORY;
        let mut host = Candidacy::default();
        assert!(hear(&mut host, history, (1, 0), 1));
        assert!(hear(&mut host, history, (2, 1), 0), "overshoot: draws out");
        assert!(hear(&mut host, history, (3, 1), 0), "undershoot: draws again");
        assert!(hear(&mut host, history, (4, 1), 0), "and again");
        assert!(!hear(&mut host, history, (5, 4), 1), "overshoot without it");
        assert!(!hear(&mut host, history, (6, 4), 1), "which it is not part of");
        assert!(hear(&mut host, history, (7, 0), 1), "all");
    }

    #[test]
    fn with_history_a_host_that_missed_the_undershoot_draws_again() {
        let history = Algorithm::HISTORY;
        let mut host = Candidacy::default();
        assert!(hear(&mut host, history, (1, 0), 1));
        assert!(hear(&mut host, history, (3, 1), 0), "2 was missed");
        assert!(hear(&mut host, history, (5, 1), 0), "4 was missed");
        let mut other = Candidacy::default();
        assert!(hear(&mut other, history, (1, 0), 1));
        assert!(!hear(&mut other, history, (3, 2), 1), "2 was missed, and overshot");
        assert!(!hear(&mut other, history, (4, 2), 1));
    }

    #[test]
    fn with_deeper_history_the_centre_can_go_back_further() {
        let deep = Algorithm::History { depth: 3 };
        let mut host = Candidacy::default();
        assert!(hear(&mut host, deep, (1, 0), 1));
        assert!(hear(&mut host, deep, (2, 1), 1));
        assert!(hear(&mut host, deep, (3, 2), 0));
        assert!(!hear(&mut host, deep, (4, 3), 0));
        assert!(!hear(&mut host, deep, (5, 3), 0), "three rounds are remembered");
        assert!(hear(&mut host, deep, (6, 2), 0));
        assert!(hear(&mut host, deep, (7, 1), 0));
        let mut shallow = Candidacy::default();
        for rounds in [(1, 0), (2, 1), (3, 2)] {
            assert!(hear(&mut shallow, Algorithm::HISTORY, rounds, 1));
        }
        assert!(!hear(&mut shallow, Algorithm::HISTORY, (4, 1), 1), "forgotten");
    }
}
