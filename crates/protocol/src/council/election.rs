//! How the centre goes on from one count to the next: Figs. 4, 9, 13 and 16, without the messages.

use super::climb::{Climb, Found};
use super::content::Mask;
use super::evidence::Evidence;
use super::seats::Verdict;
use super::{Algorithm, Config, Content, Draws, Knowledge, Pick, Reset, Search, Seats};
use crate::Candidate;

/// So many polls of all that find too few hosts, without an overshoot in between, are followed by a rest. One that finds nobody is:
/// replies may be lost on their way or come late, and all would be asked again and again. As in the paper they are with
/// [`Search::Printed`].
const POLLS: u32 = 4;
/// Of so many draws of all it knows with what probability hosts replied, for replies that come late.
const REMEMBERED: usize = 16;
/// After so many undershoots in a row from the same number the centre no longer believes it: hosts have gone. In the paper none go.
const PATIENCE: u32 = 16;

/// An election in one chamber, and what the centre has learnt of the number of hosts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Election {
    /// `N`. Nothing: all are to reply.
    size: f64,
    /// What the replies of this election and the one before tell of the number of hosts.
    evidence: Evidence,
    /// The last draws of all: a reply that comes late still tells of the number of hosts.
    past: Vec<Past>,
    /// Who was called last.
    called: Called,
    /// Whether there was an overshoot.
    overshot: bool,
    /// Undershoots in a row.
    undershoots: u32,
    /// Of which all had replied.
    polls: u32,
    /// With history: where an undershoot goes back to, the latest last.
    bases: Vec<Base>,
    climb: Climb,
    mask: Mask,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Called {
    /// All, to reply.
    Poll,
    /// All, to draw.
    All,
    /// Those who were active.
    Active,
}

/// A draw of all.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Past {
    round: u32,
    /// `N`, or `c` where all were to reply.
    by: f64,
    c: f64,
    /// Whether the evidence has it: not if it was begun anew since.
    is_weighed: bool,
}

/// More than `U` have replied.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Base {
    round: u32,
    count: u32,
}

/// What the centre says next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) content: Content,
    /// Those draw who were active after this round; 0: all.
    pub(super) base: u32,
    pub(super) floor: Option<Candidate>,
}

/// What follows a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Another round.
    Ask(Ask),
    /// Those who said yes in this draw are the council, as many as there is room for.
    Elected(u8),
    /// There are too few hosts. It begins anew later.
    Rest,
}

/// What has come in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Count<'a> {
    /// By draw.
    pub(super) yes: [u32; 2],
    /// By draw, the numbers by which they drew in sum, `c` for those who had to reply: who has missed calls draws by a greater
    /// one than the centre's, and stands for more.
    pub(super) numbers: [f64; 2],
    /// Who, if merit counts: the best first.
    pub(super) best_first: &'a [Candidate],
    /// In which round.
    pub(super) round: u32,
    /// How many are wanted.
    pub(super) wanted: Seats,
    /// With so many there would be a council, if there are no more hosts.
    pub(super) enough: u32,
    pub(super) c: f64,
}

impl Election {
    pub(super) fn new(knowledge: Knowledge) -> Self {
        Self {
            size: first_size(knowledge),
            evidence: Evidence::default(),
            past: Vec::new(),
            called: Called::All,
            overshot: false,
            undershoots: 0,
            polls: 0,
            bases: Vec::new(),
            climb: Climb::default(),
            mask: Mask { key: 0, bits: 0 },
        }
    }

    /// There are so many hosts.
    pub(super) fn learn(&mut self, members: u32) {
        self.size = f64::from(members);
    }

    /// The first round of an election; `key` is random. It goes by the number that the last one has left, unless that is so
    /// small that all would reply: since then many may have come.
    pub(super) fn open(&mut self, config: &Config, (wanted, c): (Seats, f64), key: u16) -> Ask {
        let evidence = self.evidence.faded(c);
        let left = match config.search {
            Search::Printed => None,
            Search::Guarded => evidence.hosts(),
        };
        let size = left.or(self.climb.foot()).unwrap_or(self.size);
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
                *self = Self {
                    size,
                    evidence,
                    past,
                    ..Self::new(config.knowledge)
                };
            }
        }
        self.mask = Mask {
            key,
            bits: Mask::WHOLE,
        };
        self.call_all(config)
    }

    /// After a rest, much may have changed: too high a number is the safe one. Replies to what was asked before may come yet.
    pub(super) fn forget(&mut self, knowledge: Knowledge) {
        let mut past = std::mem::take(&mut self.past);
        past.iter_mut().for_each(|it| it.is_weighed = false);
        *self = Self {
            past,
            ..Self::new(knowledge)
        };
    }

    /// No reply comes late but to these rounds: the draws of others need not be remembered.
    pub(super) fn recall_only(&mut self, is_asked_for: impl Fn(u32) -> bool) {
        self.past.retain(|it| is_asked_for(it.round));
    }

    /// A reply to `round` came when that was over: whoever gave it has no part in what follows, but there is one more host than
    /// was thought.
    pub(super) fn hear_late(&mut self, (round, draws, number): (u32, Draws, u32), config: &Config) {
        let most = self.most_drawn_by(config);
        let coins = config.algorithm.draws();
        let Some(past) = self.past.iter_mut().find(|it| it.round == round) else {
            return; // of those who were active, or too long ago
        };
        let Past { by, c, .. } = *past;
        if !std::mem::replace(&mut past.is_weighed, true) {
            self.evidence.add(0.0, f64::from(coins) * c / by);
        }
        let yes = (0..coins).filter(|draw| draws.has(*draw)).count() as f64;
        let number = f64::from(number).clamp(c, most.max(c));
        self.evidence.add(yes * number / by, 0.0);
    }

    /// Takes in the count of a round.
    pub(super) fn count(&mut self, count: Count<'_>, config: &Config) -> Next {
        match config.algorithm {
            Algorithm::Merit => return self.count_by_merit(count, config),
            Algorithm::Bolot => return self.count_by_mask(count, config),
            Algorithm::Naive
            | Algorithm::Basic
            | Algorithm::SkipReset
            | Algorithm::Choice(_, _)
            | Algorithm::History { .. } => {}
        }
        let taken = take(config.algorithm, count.yes, count.wanted);
        let number = count.yes[usize::from(taken)];
        self.weigh(&count, config.algorithm);
        match count.wanted.verdict(number) {
            Verdict::Council => Next::Elected(taken),
            Verdict::Overshoot => Next::Ask(self.overshoot(number, taken, count, config)),
            Verdict::Undershoot => self.undershoot(number, &count, config),
        }
    }

    /// No host draws by a greater number, whatever it says.
    pub(super) fn most_drawn_by(&self, config: &Config) -> f64 {
        self.size.max(first_size(config.knowledge))
    }

    /// What a draw of all tells of their number, whichever of two draws is taken.
    fn weigh(&mut self, count: &Count<'_>, algorithm: Algorithm) {
        let by = match self.called {
            Called::Active => return,
            Called::Poll => count.c,
            Called::All => self.size.max(count.c),
        };
        for numbers in &count.numbers[..usize::from(algorithm.draws())] {
            self.evidence.add(*numbers / by, count.c / by);
        }
        if self.past.len() >= REMEMBERED {
            self.past.remove(0);
        }
        self.past.push(Past {
            round: count.round,
            by,
            c: count.c,
            is_weighed: true,
        });
    }

    /// More than `U`: those who said yes draw again.
    fn overshoot(&mut self, number: u32, taken: u8, count: Count<'_>, config: &Config) -> Ask {
        (self.undershoots, self.polls) = (0, 0);
        self.overshot = true;
        if self.called != Called::Active {
            self.size = self.size_after(number, count.c, config);
        }
        let round = count.round;
        match config.algorithm {
            Algorithm::Naive => return self.call_all(config),
            Algorithm::History { depth } => {
                let base = Base {
                    round,
                    count: number,
                };
                self.bases.push(base);
                let old = self.bases.len().saturating_sub(usize::from(depth));
                self.bases.drain(..old);
            }
            Algorithm::Basic
            | Algorithm::SkipReset
            | Algorithm::Choice(_, _)
            | Algorithm::Merit
            | Algorithm::Bolot => {}
        }
        self.called = Called::Active;
        Ask {
            content: Content {
                count: number,
                fraction: 0,
                reset: false,
                taken,
            },
            base: round,
            floor: None,
        }
    }

    /// `N` after a draw of all that left too many.
    fn size_after(&self, number: u32, c: f64, config: &Config) -> f64 {
        let counted = self.size.max(f64::from(number));
        match (config.knowledge, config.algorithm) {
            (Knowledge::Told(_), _) => self.size,
            (Knowledge::Estimated(_), Algorithm::Naive) if config.search == Search::Guarded => {
                self.evidence.hosts().map_or(counted, f64::round)
            }
            // Everyone draws anew, so it takes the best guess.
            (Knowledge::Estimated(_), Algorithm::Naive) if self.called == Called::All => {
                self.size.max(c) * f64::from(number) / c
            }
            (Knowledge::Polled | Knowledge::Estimated(_), _) => counted,
        }
    }

    /// Fewer than `L`.
    fn undershoot(&mut self, number: u32, count: &Count<'_>, config: &Config) -> Next {
        let wanted = count.wanted;
        let is_guarded = config.search == Search::Guarded;
        self.undershoots += 1;
        if self.called == Called::Poll {
            if number >= count.enough {
                return Next::Elected(0); // all that there are, and they have said yes to every draw
            }
            self.polls += 1;
            if is_guarded && (number == 0 || self.polls >= POLLS) {
                return Next::Rest;
            }
        }
        let is_tired = is_guarded && self.undershoots.is_multiple_of(PATIENCE);
        let goes_back = is_tired && self.bases.pop().is_some();
        if let Some(base) = self.bases.last() {
            return Next::Ask(Ask {
                base: base.round,
                ..call(f64::from(base.count))
            });
        }
        let polls = match config.algorithm {
            Algorithm::Basic | Algorithm::Choice(_, Reset::Polled) => true,
            Algorithm::Naive
            | Algorithm::SkipReset
            | Algorithm::Choice(_, Reset::Skipped)
            | Algorithm::History { .. }
            | Algorithm::Merit
            | Algorithm::Bolot => false,
        };
        match config.knowledge {
            Knowledge::Told(_) | Knowledge::Polled if polls => Next::Ask(self.poll(number)),
            Knowledge::Estimated(_) if polls && self.overshot => Next::Ask(self.poll(number)),
            Knowledge::Estimated(estimate) => {
                self.size = match config.search {
                    Search::Printed => estimate.next(self.size, wanted).unwrap_or(0.0),
                    Search::Guarded => self.evidence.next(estimate, self.size, wanted),
                };
                Next::Ask(self.call_all(config))
            }
            Knowledge::Told(_) | Knowledge::Polled => {
                // A threshold's number is a guess from few replies.
                if config.algorithm == Algorithm::Merit || is_tired && !goes_back {
                    self.size /= 2.0;
                }
                if self.size < f64::from(wanted.least) {
                    self.size = 0.0;
                }
                Next::Ask(self.call_all(config))
            }
        }
    }

    fn count_by_merit(&mut self, count: Count<'_>, config: &Config) -> Next {
        let size = match self.called {
            Called::Poll => 0.0,
            Called::All | Called::Active => self.size,
        };
        let Count {
            best_first,
            wanted,
            c,
            ..
        } = count;
        match self.climb.take_in(best_first, size, (wanted, c)) {
            Found::Best => Next::Elected(0),
            Found::Size(size) => {
                (self.undershoots, self.polls) = (0, 0);
                self.size = if size <= c { 0.0 } else { size };
                Next::Ask(self.call_all(config))
            }
            Found::TooFew => self.undershoot(best_first.len() as u32, &count, config),
        }
    }

    /// Bolot's: one bit less each time, until somebody replies.
    fn count_by_mask(&mut self, count: Count<'_>, config: &Config) -> Next {
        if count.yes[0] >= count.wanted.least {
            return Next::Elected(0);
        }
        // When none counts all have been asked to reply.
        if self.mask.bits == 0 && config.search == Search::Guarded {
            return Next::Rest;
        }
        self.mask.bits = self.mask.bits.saturating_sub(1);
        Next::Ask(self.call_all(config))
    }

    /// All are to reply; `number` have, which is too few.
    fn poll(&mut self, number: u32) -> Ask {
        self.called = Called::Poll;
        call(f64::from(number))
    }

    /// All draw, as `N` says.
    fn call_all(&mut self, config: &Config) -> Ask {
        if config.algorithm == Algorithm::Bolot {
            return call(f64::from(self.mask.count()));
        }
        let ask = call(match config.search {
            Search::Printed => self.size,
            Search::Guarded => self.size.round(), // hosts go down by whole numbers themselves
        });
        // A number below 1 has all reply, as 0 has.
        self.called = match ask.content.count {
            0 => Called::Poll,
            1.. => Called::All,
        };
        Ask {
            floor: self.climb.floor(),
            ..ask
        }
    }
}

fn call(number: f64) -> Ask {
    Ask {
        content: Content::to_all(number),
        base: 0,
        floor: None,
    }
}

fn first_size(knowledge: Knowledge) -> f64 {
    match knowledge {
        Knowledge::Told(members) => f64::from(members),
        Knowledge::Polled => 0.0,
        Knowledge::Estimated(estimate) => f64::from(estimate.first),
    }
}

/// Which draw counts.
fn take(algorithm: Algorithm, yes: [u32; 2], wanted: Seats) -> u8 {
    let Algorithm::Choice(pick, _) = algorithm else {
        return 0;
    };
    let verdicts = yes.map(|count| wanted.verdict(count));
    let first_is = |it| verdicts[0] == it;
    let second_is = |it| verdicts[1] == it;
    let second = match pick {
        _ if first_is(Verdict::Council) || second_is(Verdict::Council) => {
            // Of two councils the larger.
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
