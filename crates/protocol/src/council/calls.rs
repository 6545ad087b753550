//! The calls of one class in a session, and the replies that a host can give to them.
//!
//! Purpose   tells a reply that a host can have given from one that no honest host gives. The
//!           centre refuses the latter, and an audit of a record finds it: both use this module
//! Inputs    each call, in order
//! Invariant no host that follows the rules is ever found at fault, whichever calls it has missed.
//!           One exception: a host that receives a call of some hosts after it has missed [`KEPT`]
//!           calls; its reply counts as lost

use std::collections::VecDeque;

use super::audit::{Cause, Voice};
use super::call::ValidCall;
use super::candidacy::Candidacy;
use super::coin::{Draws, Toss};
use super::{Coin, Config, Estimate, Feedback};
use crate::MemberId;

/// The number of calls that are kept. A host that has missed more begins with the first estimate
/// again.
const KEPT: u32 = Estimate::MANY + 2;

/// The greatest number of numbers that are listed. With more, every number between the least and
/// the greatest counts as possible. Such small steps are of no use in practice.
const MOST_NUMBERS: usize = 1_024;

/// The last calls of one class, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls {
    kept: VecDeque<Called>,
    /// The number by which a host that has received every call drew in the last call of all hosts.
    step_of_all: Option<u32>,
}

#[derive(Debug, Clone)]
struct Called {
    feedback: Feedback,
    call: ValidCall,
    /// The number by which a host draws that has received every call.
    number: u32,
    /// The numbers by which a host may have drawn in the last call of all hosts that it received,
    /// if this is the last call that it received; ascending. `None`: more than [`MOST_NUMBERS`].
    steps: Option<Vec<u32>>,
}

impl Calls {
    /// Adds the next call. Returns true if a host would answer it.
    pub(super) fn push(&mut self, feedback: &Feedback, config: &Config) -> bool {
        let Some(call) = ValidCall::of(feedback, config) else {
            return false;
        };
        let round = feedback.round;
        self.kept.retain(|it| it.feedback.round.saturating_add(KEPT) >= round);
        let steps = config.steps();
        let (number, steps) = match steps.filter(|_| call.is_to_all) {
            Some(steps) => {
                let mut before = Candidacy::after(round.saturating_sub(1), self.step_of_all);
                let number = call.number(&mut before, round, Some(steps));
                self.step_of_all = Some(number);
                (number, self.steps_after(&call, round, steps))
            }
            None => (call.wire_bits.count, self.steps_before()),
        };
        self.kept.push_back(Called { feedback: *feedback, call, number, steps });
        true
    }

    /// The numbers by which hosts may draw in a call of all hosts.
    fn steps_after(&self, call: &ValidCall, round: u32, steps: Estimate) -> Option<Vec<u32>> {
        let number = |heard, step| {
            let mut candidacy = Candidacy::after(heard, step);
            call.number(&mut candidacy, round, Some(steps))
        };
        let highest = number(0, None);
        let mut numbers = vec![highest];
        for before in &self.kept {
            let heard = before.feedback.round;
            for step in before.steps.as_ref()? {
                let number = number(heard, Some(*step));
                numbers.push(number);
                let has_missed_some = heard.saturating_add(2) < round;
                if has_missed_some && number == highest {
                    break; // greater ones lead to the same number
                }
            }
        }
        bounded(numbers)
    }

    /// The numbers of hosts that receive a call of some hosts: those that they had before.
    fn steps_before(&self) -> Option<Vec<u32>> {
        let mut numbers = Vec::new();
        for before in &self.kept {
            numbers.extend(before.steps.as_ref()?);
        }
        bounded(numbers)
    }

    fn get(&self, round: u32) -> Option<&Called> {
        let mut kept = self.kept.iter().rev();
        kept.find(|it| it.feedback.round == round)
    }

    /// The number by which a host that has received every call draws in this round.
    pub(super) fn number(&self, round: u32) -> Option<u32> {
        self.get(round).map(|it| it.number)
    }

    /// The reason why no honest host gives this reply to this round. `None`: it may have given it,
    /// or the round is too long ago.
    pub(super) fn fault_of(&self, round: u32, voice: Voice, config: &Config) -> Option<Cause> {
        if !voice.draws.any() {
            return Some(Cause::Silent);
        }
        let called = self.get(round)?;
        if !called.has_number(voice.number, config) {
            return Some(Cause::Beyond);
        }
        let Coin::Public { seed } = config.coin else {
            return None;
        };
        let Voice { host, number, .. } = voice;
        let draws = called.draws(seed, host, number, config);
        let is_due = draws == voice.draws && self.calls_on(called, seed, host, config);
        (!is_due).then_some(Cause::Favoured)
    }

    /// True if a call may be meant for this host: it calls all, or the host may have said yes in
    /// the round that it builds on.
    fn calls_on(&self, called: &Called, seed: u128, host: MemberId, config: &Config) -> bool {
        let mut called = called;
        loop {
            let taken = called.call.wire_bits.taken;
            let base = match called.feedback.base {
                0 => return true,
                base => base,
            };
            let Some(before) = self.get(base) else {
                return true; // too long ago
            };
            let draws = before.draws(seed, host, before.least_number(config), config);
            if !draws.has(taken) {
                return false;
            }
            called = before; // its round is lower, so the loop ends
        }
    }
}

impl Called {
    /// The numbers by which hosts may draw in this call, if they step down by themselves. Inner
    /// `None`: too many to list.
    fn steps(&self, config: &Config) -> Option<Option<&[u32]>> {
        let goes_by_steps = self.call.is_to_all && config.steps().is_some();
        goes_by_steps.then_some(self.steps.as_deref())
    }

    fn has_number(&self, number: u32, config: &Config) -> bool {
        let count = self.call.wire_bits.count;
        match self.steps(config) {
            None => number == count,
            Some(Some(numbers)) => numbers.binary_search(&number).is_ok(),
            Some(None) => {
                let first = config.steps().map_or(count, |it| it.first);
                (count..=first.max(count)).contains(&number)
            }
        }
    }

    /// The number with the highest probability of a reply.
    fn least_number(&self, config: &Config) -> u32 {
        let least = self.steps(config).flatten().and_then(|it| it.first());
        *least.unwrap_or(&self.call.wire_bits.count)
    }

    fn draws(&self, seed: u128, host: MemberId, number: u32, config: &Config) -> Draws {
        let toss = Toss::new(seed, &self.feedback);
        let (draws, chance) = (config.algorithm.draws(), self.call.chance(number));
        Draws::new(draws, chance, |draw| toss.number(host, draw))
    }
}

fn bounded(mut numbers: Vec<u32>) -> Option<Vec<u32>> {
    numbers.sort_unstable();
    numbers.dedup();
    (numbers.len() <= MOST_NUMBERS).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::Calls;
    use crate::council::audit::{Cause, Voice};
    use crate::council::{Coin, Config, Draws, Feedback, Seats, WireBits};
    use crate::{Duration, MemberId};

    fn config() -> Config {
        Config::field(Seats::new(4, 8), 100_000, Duration::from_secs(1))
    }

    /// A call of all hosts by this number, or of those that said yes in the round before.
    fn call(round: u32, number: u32, base: u32) -> Feedback {
        let config = config();
        let wire_bits = WireBits { count: number, fraction: 0, reset: base == 0, taken: 0 };
        Feedback {
            session: 1,
            class: 0,
            round,
            base,
            seated: 0,
            word: wire_bits.encode(config.algorithm),
            floor: None,
        }
    }

    fn calls(of: &[(u32, u32, u32)]) -> Calls {
        let mut calls = Calls::default();
        for (round, number, base) in of {
            assert!(calls.push(&call(*round, *number, *base), &config()));
        }
        calls
    }

    fn may_draw_by(calls: &Calls, round: u32) -> Vec<u32> {
        let voice = |number| Voice { host: MemberId(7), draws: Draws(1), number };
        let is_possible = |number: &u32| {
            let fault = calls.fault_of(round, voice(*number), &config());
            assert!(matches!(fault, None | Some(Cause::Beyond)), "{number}: {fault:?}");
            fault.is_none()
        };
        (0..=100_001).filter(is_possible).collect()
    }

    #[test]
    fn a_host_draws_by_a_step_number_whichever_calls_it_missed() {
        let first = calls(&[(1, 100_000, 0)]);
        assert_eq!(may_draw_by(&first, 1), [100_000]);
        let two = calls(&[(1, 100_000, 0), (2, 3_162, 0)]);
        assert_eq!(may_draw_by(&two, 2), [3_162, 100_000]);
        assert_eq!(two.number(2), Some(3_162));
        // 285 is impossible: from 3,162 a step leads to 282, and one missed call leaves the number
        // as it was.
        let three = calls(&[(1, 100_000, 0), (2, 3_162, 0), (3, 282, 0)]);
        assert_eq!(may_draw_by(&three, 3), [282, 3_162, 100_000]);
        assert_eq!(may_draw_by(&three, 2), [3_162, 100_000]);
        // A host that has missed two calls goes back up by one step: from 3,162 to 100,000, up to
        // rounding.
        let five = calls(&[(1, 100_000, 0), (2, 3_162, 0), (3, 282, 0), (4, 52, 0), (5, 16, 0)]);
        let at_last = may_draw_by(&five, 5);
        assert_eq!(at_last, [16, 52, 282, 3_162, 99_987, 100_000]);
        assert_eq!(five.number(5), Some(16));
    }

    #[test]
    fn a_call_of_some_hosts_does_not_change_the_step_of_all_hosts() {
        let mut rounds = calls(&[(1, 100_000, 0), (2, 3_162, 0), (3, 20, 2)]);
        assert_eq!(may_draw_by(&rounds, 3), [20]);
        assert_eq!(rounds.number(3), Some(20));
        assert!(rounds.push(&call(4, 10, 0), &config()));
        assert_eq!(rounds.number(4), Some(282));
        assert_eq!(may_draw_by(&rounds, 4), [282, 3_162, 100_000]);
    }

    #[test]
    fn a_reply_without_a_yes_in_the_base_round_is_refused() {
        let config = Config { coin: Coin::Public { seed: 4_711 }, ..config() };
        let mut calls = Calls::default();
        assert!(calls.push(&call(1, 100_000, 0), &config));
        assert!(calls.push(&call(2, 3_162, 0), &config));
        assert!(calls.push(&call(3, 20, 2), &config));
        let fault = |round, host, number| {
            let voice = Voice { host: MemberId(host), draws: Draws(1), number };
            calls.fault_of(round, voice, &config)
        };
        let hosts = 1..20_000;
        let said_yes: Vec<u64> =
            hosts.clone().filter(|it| fault(2, *it, 3_162).is_none()).collect();
        assert!((20..80).contains(&said_yes.len()), "{}", said_yes.len());
        let goes_on: Vec<u64> = hosts.filter(|it| fault(3, *it, 20).is_none()).collect();
        assert!(goes_on.iter().all(|it| said_yes.contains(it)));
        assert!((3..40).contains(&goes_on.len()), "{}", goes_on.len());
        let silent = Voice { host: MemberId(said_yes[0]), draws: Draws(0), number: 3_162 };
        assert_eq!(calls.fault_of(2, silent, &config), Some(Cause::Silent));
    }

    #[test]
    fn beyond_the_list_limit_any_number_in_range_is_possible() {
        let mut config = config();
        config.knowledge = crate::council::Knowledge::Estimated(crate::council::Estimate {
            alpha: 1.0,
            beta: 1.01,
            first: 100_000,
        });
        let mut calls = Calls::default();
        for round in 1..400_u32 {
            let number = 100 + round.wrapping_mul(2_654_435_761) % 90_000;
            assert!(calls.push(&call(round, number, 0), &config));
            let most = super::MOST_NUMBERS;
            let is_bounded =
                |it: &super::Called| it.steps.as_ref().is_none_or(|it| it.len() <= most);
            assert!(calls.kept.len() <= super::KEPT as usize + 1);
            assert!(calls.kept.iter().all(is_bounded));
        }
        assert!(calls.kept.back().is_some_and(|it| it.steps.is_none()));
        let voice = |number| Voice { host: MemberId(7), draws: Draws(1), number };
        let last = calls.kept.back().map_or(0, |it| it.call.wire_bits.count);
        assert_eq!(calls.fault_of(399, voice(99_999), &config), None);
        assert_eq!(calls.fault_of(399, voice(last - 1), &config), Some(Cause::Beyond));
    }
}
