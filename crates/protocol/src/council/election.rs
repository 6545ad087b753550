//! The centre's steps from one count to the next: Figs. 4, 9, 13 and 16, without the messages.

use super::config::Verdict;
use super::estimate::ReplyWeight;
use super::priority_search::{Found, PrioritySearch};
use super::wire_bits::Mask;
use super::{Algorithm, Config, Draws, Knowledge, Pick, Reset, Search, Seats, WireBits};
use crate::Candidate;

/// The number of polls of all hosts that find too few, without an overshoot in between, before a
/// rest. A poll that finds none is followed by a rest at once: replies may be lost or late, and all
/// hosts would be asked again and again. With [`Search::Printed`] they are, as in the paper.
const POLLS: u32 = 4;
/// The number of draws of all hosts whose probabilities are kept for late replies.
const REMEMBERED: usize = 16;
/// The number of undershoots in a row after which the centre drops a number: hosts have gone. In
/// the paper none go.
const UNDERSHOOTS_BEFORE_POLL: u32 = 16;

/// An election in one chamber, and the centre's knowledge of the number of hosts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Election {
    /// `N`. Zero: all are to reply.
    size: f64,
    /// The evidence of this election and the previous one for the number of hosts.
    reply_weight: ReplyWeight,
    /// The last draws of all hosts: a late reply is still evidence for the number of hosts.
    past: Vec<Past>,
    /// The hosts that were called last.
    called: CalledHosts,
    /// True after an overshoot.
    overshot: bool,
    /// Undershoots in a row.
    undershoots: u32,
    /// The number of them that were polls of all hosts.
    polls: u32,
    /// With history: the rounds to which undershoots go back, the latest last.
    bases: Vec<Base>,
    threshold: PrioritySearch,
    mask: Mask,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum CalledHosts {
    /// All, to reply.
    Poll,
    /// All, to draw.
    #[default]
    All,
    /// The active hosts.
    Active,
}

/// A draw of all hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Past {
    round: u32,
    /// `N`, or `c` if all were to reply.
    by: f64,
    c: f64,
    /// True if the evidence contains this draw; false after the evidence was cleared.
    is_weighed: bool,
}

/// A round in which more than `U` hosts replied.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Base {
    round: u32,
    count: u32,
}

/// The centre's next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) wire_bits: WireBits,
    /// The round after which the called hosts were active; 0 for all.
    pub(super) base: u32,
    pub(super) floor: Option<Candidate>,
}

/// The step after a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextStep {
    /// Another round.
    Ask(Ask),
    /// The hosts that said yes in this draw are the council, as many as there is room for.
    Elected(u8),
    /// There are too few hosts. The centre begins anew later.
    Rest,
}

/// The replies of a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoundCount<'a> {
    /// The number of yes, by draw.
    pub(super) yes: [u32; 2],
    /// The sum of the numbers by which the hosts drew, by draw; `c` for hosts that had to reply. A
    /// host that has missed calls draws by a greater number than the centre's, and stands for more
    /// hosts.
    pub(super) numbers: [f64; 2],
    /// The hosts, the best first, if the priority decides.
    pub(super) best_first: &'a [Candidate],
    /// The round.
    pub(super) round: u32,
    /// The number of hosts wanted.
    pub(super) wanted: Seats,
    /// The number of hosts that would make a council if there are no others.
    pub(super) enough: u32,
    pub(super) c: f64,
}

impl Election {
    pub(super) fn new(knowledge: Knowledge) -> Self {
        Self { size: first_size(knowledge), ..Self::default() }
    }

    /// Sets the number of hosts.
    pub(super) fn learn(&mut self, members: u32) {
        self.size = f64::from(members);
    }

    /// The first round of an election; `key` is random. It uses the number that the last election
    /// left, unless that is so small that all hosts would reply: many may have come since then.
    pub(super) fn open(&mut self, config: &Config, (wanted, c): (Seats, f64), key: u16) -> Ask {
        let reply_weight = self.reply_weight.faded(c);
        let left = match config.search {
            Search::Printed => None,
            Search::Guarded => reply_weight.hosts(),
        };
        let size = left.or(self.threshold.foot()).unwrap_or(self.size);
        let is_safe = size > f64::from(wanted.most);
        match config.knowledge {
            Knowledge::Estimated(_) if !is_safe => self.forget(config.knowledge),
            Knowledge::Told(_) => {
                let size = self.size;
                self.forget(config.knowledge);
                self.size = size;
            }
            Knowledge::Polled | Knowledge::Estimated(_) => {
                let past = std::mem::take(&mut self.past);
                *self = Self { size, reply_weight, past, ..Self::new(config.knowledge) };
            }
        }
        self.mask = Mask { key, bits: Mask::WHOLE };
        self.call_all(config)
    }

    /// Clears the knowledge after a rest: much may have changed, and too high a number is the safe
    /// one. Replies to earlier calls may still arrive.
    pub(super) fn forget(&mut self, knowledge: Knowledge) {
        let mut past = std::mem::take(&mut self.past);
        past.iter_mut().for_each(|it| it.is_weighed = false);
        *self = Self { past, ..Self::new(knowledge) };
    }

    /// Drops the draws of rounds for which no late reply can arrive.
    pub(super) fn recall_only(&mut self, is_asked_for: impl Fn(u32) -> bool) {
        self.past.retain(|it| is_asked_for(it.round));
    }

    /// Handles a late reply to `round`: the host has no part in the election, but is evidence for
    /// one more host.
    pub(super) fn hear_late(&mut self, (round, draws, number): (u32, Draws, u32), config: &Config) {
        let most = self.most_drawn_by(config);
        let coins = config.algorithm.draws();
        let Some(past) = self.past.iter_mut().find(|it| it.round == round) else {
            return; // a draw of active hosts, or too long ago
        };
        let Past { by, c, .. } = *past;
        if !std::mem::replace(&mut past.is_weighed, true) {
            self.reply_weight.add(0.0, f64::from(coins) * c / by);
        }
        let yes = (0..coins).filter(|draw| draws.has(*draw)).count() as f64;
        let number = f64::from(number).clamp(c, most.max(c));
        self.reply_weight.add(yes * number / by, 0.0);
    }

    /// Handles the count of a round.
    pub(super) fn count(&mut self, count: RoundCount<'_>, config: &Config) -> NextStep {
        match config.algorithm {
            Algorithm::Priority => return self.count_by_priority(count, config),
            Algorithm::Bolot => return self.count_by_mask(count, config),
            Algorithm::Naive
            | Algorithm::Basic
            | Algorithm::SkipReset
            | Algorithm::Choice(_, _)
            | Algorithm::History { .. } => {}
        }
        let taken = take(config.algorithm, count.yes, count.wanted);
        let number = count.yes[usize::from(taken)];
        self.add_evidence(&count, config.algorithm);
        match count.wanted.verdict(number) {
            Verdict::Council => NextStep::Elected(taken),
            Verdict::Overshoot => NextStep::Ask(self.overshoot(number, taken, count, config)),
            Verdict::Undershoot => self.undershoot(number, &count, config),
        }
    }

    /// The greatest number by which an honest host draws.
    pub(super) fn most_drawn_by(&self, config: &Config) -> f64 {
        self.size.max(first_size(config.knowledge))
    }

    /// Adds a draw of all hosts to the evidence, whichever of two draws is taken.
    fn add_evidence(&mut self, count: &RoundCount<'_>, algorithm: Algorithm) {
        let by = match self.called {
            CalledHosts::Active => return,
            CalledHosts::Poll => count.c,
            CalledHosts::All => self.size.max(count.c),
        };
        for numbers in &count.numbers[..usize::from(algorithm.draws())] {
            self.reply_weight.add(*numbers / by, count.c / by);
        }
        if self.past.len() >= REMEMBERED {
            self.past.remove(0);
        }
        self.past.push(Past { round: count.round, by, c: count.c, is_weighed: true });
    }

    /// More than `U`: the hosts that said yes draw again.
    fn overshoot(&mut self, number: u32, taken: u8, count: RoundCount<'_>, config: &Config) -> Ask {
        (self.undershoots, self.polls) = (0, 0);
        self.overshot = true;
        if self.called != CalledHosts::Active {
            self.size = self.size_after(number, count.c, config);
        }
        let round = count.round;
        match config.algorithm {
            Algorithm::Naive => return self.call_all(config),
            Algorithm::History { depth } => {
                let base = Base { round, count: number };
                self.bases.push(base);
                let old = self.bases.len().saturating_sub(usize::from(depth));
                self.bases.drain(..old);
            }
            Algorithm::Basic
            | Algorithm::SkipReset
            | Algorithm::Choice(_, _)
            | Algorithm::Priority
            | Algorithm::Bolot => {}
        }
        self.called = CalledHosts::Active;
        Ask {
            wire_bits: WireBits { count: number, fraction: 0, reset: false, taken },
            base: round,
            floor: None,
        }
    }

    /// `N` after a draw of all hosts that left too many.
    fn size_after(&self, number: u32, c: f64, config: &Config) -> f64 {
        let counted = self.size.max(f64::from(number));
        match (config.knowledge, config.algorithm) {
            (Knowledge::Told(_), _) => self.size,
            (Knowledge::Estimated(_), Algorithm::Naive) if config.search == Search::Guarded => {
                self.reply_weight.hosts().map_or(counted, f64::round)
            }
            // Every host draws anew, so the best guess is used.
            (Knowledge::Estimated(_), Algorithm::Naive) if self.called == CalledHosts::All => {
                self.size.max(c) * f64::from(number) / c
            }
            (Knowledge::Polled | Knowledge::Estimated(_), _) => counted,
        }
    }

    /// Fewer than `L`.
    fn undershoot(&mut self, number: u32, count: &RoundCount<'_>, config: &Config) -> NextStep {
        let wanted = count.wanted;
        let is_guarded = config.search == Search::Guarded;
        self.undershoots += 1;
        if self.called == CalledHosts::Poll {
            if number >= count.enough {
                return NextStep::Elected(0); // all hosts, and they said yes to every draw
            }
            self.polls += 1;
            if is_guarded && (number == 0 || self.polls >= POLLS) {
                return NextStep::Rest;
            }
        }
        let is_tired = is_guarded && self.undershoots.is_multiple_of(UNDERSHOOTS_BEFORE_POLL);
        let goes_back = is_tired && self.bases.pop().is_some();
        if let Some(base) = self.bases.last() {
            return NextStep::Ask(Ask { base: base.round, ..call(f64::from(base.count)) });
        }
        let polls =
            matches!(config.algorithm, Algorithm::Basic | Algorithm::Choice(_, Reset::Polled));
        match config.knowledge {
            Knowledge::Told(_) | Knowledge::Polled if polls => NextStep::Ask(self.poll(number)),
            Knowledge::Estimated(_) if polls && self.overshot => NextStep::Ask(self.poll(number)),
            Knowledge::Estimated(estimate) => {
                self.size = match config.search {
                    Search::Printed => estimate.next(self.size, wanted).unwrap_or(0.0),
                    Search::Guarded => self.reply_weight.next(estimate, self.size, wanted),
                };
                NextStep::Ask(self.call_all(config))
            }
            Knowledge::Told(_) | Knowledge::Polled => {
                // A threshold's number is a guess from few replies.
                if config.algorithm == Algorithm::Priority || is_tired && !goes_back {
                    self.size /= 2.0;
                }
                if self.size < f64::from(wanted.least) {
                    self.size = 0.0;
                }
                NextStep::Ask(self.call_all(config))
            }
        }
    }

    fn count_by_priority(&mut self, count: RoundCount<'_>, config: &Config) -> NextStep {
        let size = match self.called {
            CalledHosts::Poll => 0.0,
            CalledHosts::All | CalledHosts::Active => self.size,
        };
        let RoundCount { best_first, wanted, c, .. } = count;
        match self.threshold.take_in(best_first, size, (wanted, c)) {
            Found::Best => NextStep::Elected(0),
            Found::Size(size) => {
                (self.undershoots, self.polls) = (0, 0);
                self.size = if size <= c { 0.0 } else { size };
                NextStep::Ask(self.call_all(config))
            }
            Found::TooFew => self.undershoot(best_first.len() as u32, &count, config),
        }
    }

    /// Bolot's: one bit less each time, until enough hosts reply.
    fn count_by_mask(&mut self, count: RoundCount<'_>, config: &Config) -> NextStep {
        if count.yes[0] >= count.wanted.least {
            return NextStep::Elected(0);
        }
        // Without any bits all hosts were asked to reply.
        if self.mask.bits == 0 && config.search == Search::Guarded {
            return NextStep::Rest;
        }
        self.mask.bits = self.mask.bits.saturating_sub(1);
        NextStep::Ask(self.call_all(config))
    }

    /// All hosts are to reply; `number` have, which is too few.
    fn poll(&mut self, number: u32) -> Ask {
        self.called = CalledHosts::Poll;
        call(f64::from(number))
    }

    /// All hosts draw, by `N`.
    fn call_all(&mut self, config: &Config) -> Ask {
        if config.algorithm == Algorithm::Bolot {
            return call(f64::from(self.mask.count()));
        }
        let ask = call(match config.search {
            Search::Printed => self.size,
            Search::Guarded => self.size.round(), // the hosts' own steps are whole numbers
        });
        // A number below 1 makes all reply, as 0 does.
        self.called = match ask.wire_bits.count {
            0 => CalledHosts::Poll,
            1.. => CalledHosts::All,
        };
        Ask { floor: self.threshold.floor(), ..ask }
    }
}

fn call(number: f64) -> Ask {
    Ask { wire_bits: WireBits::to_all(number), base: 0, floor: None }
}

fn first_size(knowledge: Knowledge) -> f64 {
    match knowledge {
        Knowledge::Told(members) => f64::from(members),
        Knowledge::Polled => 0.0,
        Knowledge::Estimated(estimate) => f64::from(estimate.first),
    }
}

/// Chooses the draw that counts.
fn take(algorithm: Algorithm, yes: [u32; 2], wanted: Seats) -> u8 {
    let Algorithm::Choice(pick, _) = algorithm else {
        return 0;
    };
    let verdicts = yes.map(|count| wanted.verdict(count));
    let first_is = |it| verdicts[0] == it;
    let second_is = |it| verdicts[1] == it;
    let second = match pick {
        _ if first_is(Verdict::Council) || second_is(Verdict::Council) => {
            // The larger of two councils.
            !first_is(Verdict::Council) || second_is(Verdict::Council) && yes[1] > yes[0]
        }
        Pick::First => false,
        Pick::SmallestOvershoot => {
            second_is(Verdict::Overshoot) && (first_is(Verdict::Undershoot) || yes[1] < yes[0])
        }
    };
    u8::from(second)
}

#[cfg(test)]
mod tests;
