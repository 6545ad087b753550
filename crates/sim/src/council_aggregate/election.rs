//! The rounds from the first draw to a council.

use hustings_theory::council::{Algorithm, Election, Knowledge, Loss, Pick, Reset};
use rand_core::Rng;

use super::{PollRun, binomial};
use crate::{Seeds, Stream};

/// Elects a council, or stops after `most_rounds` rounds.
///
/// # Panics
/// If the election is invalid, as in [`Election::cost`].
pub fn elect(election: &Election, most_rounds: u64, seeds: Seeds) -> PollRun {
    let mut run = PollRun::default();
    if election.is_decided_by_the_poll() {
        run.seats = Some(election.members);
        return run;
    }
    let mut sampler = RoundSampler { election, rng: seeds.rng(Stream::Members) };
    let mut state = DrawState::first(election);
    while run.rounds < most_rounds {
        let draw = sampler.draw(&state);
        run.count(draw.replies);
        if election.seats.contain(draw.count) {
            run.seats = Some(draw.count);
            break;
        }
        state = if draw.count > election.seats.most {
            state.narrowed(election, &draw)
        } else {
            state.undershot(election)
        };
    }
    run
}

/// The hosts that draw next, and the centre's feedback to them.
#[derive(Debug, Clone, Copy)]
struct DrawState {
    /// The number of hosts that draw if they hear the centre.
    hosts: u64,
    /// Each host stays active with probability `c` over this number.
    number: f64,
    /// The centre's estimate of the number of all hosts since the last reset.
    known: f64,
    standing: Standing,
}

/// The set of hosts that draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// All hosts draw.
    All,
    /// Only the hosts draw that were active when the centre heard too many.
    Active,
}

/// The result of a draw.
struct Draw {
    replies: u64,
    /// Active hosts, heard or not.
    active: u64,
    /// Replies that the centre heard.
    count: u64,
}

struct RoundSampler<'a, R> {
    election: &'a Election,
    rng: R,
}

impl<R: Rng> RoundSampler<'_, R> {
    fn draw(&mut self, state: &DrawState) -> Draw {
        let chance = (self.election.c / state.number).min(1.0);
        match self.election.algorithm {
            Algorithm::Choice(pick, _) => self.draw_twice(state.hosts, chance, pick),
            Algorithm::Naive | Algorithm::Basic | Algorithm::SkipReset | Algorithm::History => {
                self.draw_once(state.hosts, chance)
            }
        }
    }

    fn draw_once(&mut self, hosts: u64, chance: f64) -> Draw {
        let Loss { reply, multicast } = self.election.loss;
        let active = binomial(hosts, chance * (1.0 - multicast), &mut self.rng);
        Draw { replies: active, active, count: binomial(active, 1.0 - reply, &mut self.rng) }
    }

    /// A reply carries both draws, so a lost reply is lost for both. First separates the hosts
    /// whose replies get through from the others, then draws for each.
    fn draw_twice(&mut self, hosts: u64, chance: f64, pick: Pick) -> Draw {
        let Loss { reply, multicast } = self.election.loss;
        let hearing = binomial(hosts, 1.0 - multicast, &mut self.rng);
        let through = binomial(hearing, 1.0 - reply, &mut self.rng);
        let (heard, heard_in) = self.two_draws(through, chance);
        let (lost, lost_in) = self.two_draws(hearing - through, chance);
        let taken = self.taken(heard_in, pick);
        let active = heard_in[taken] + lost_in[taken];
        Draw { replies: heard + lost, active, count: heard_in[taken] }
    }

    /// Draws twice. Returns the number of hosts that are active in at least one draw, and the
    /// numbers in the first and in the second.
    fn two_draws(&mut self, hosts: u64, chance: f64) -> (u64, [u64; 2]) {
        let either = binomial(hosts, chance * (2.0 - chance), &mut self.rng);
        let both = binomial(either, chance / (2.0 - chance), &mut self.rng);
        let first_only = binomial(either - both, 0.5, &mut self.rng);
        (either, [both + first_only, either - first_only])
    }

    /// The draw that the centre takes: a council, of two the larger; else the smaller of those
    /// above `U`; the first if both are below `L`.
    fn taken(&self, [first, second]: [u64; 2], pick: Pick) -> usize {
        let seats = self.election.seats;
        let take_second = match pick {
            _ if seats.contain(first) => seats.contain(second) && second > first,
            _ if seats.contain(second) => true,
            Pick::First => false,
            Pick::SmallestOvershoot => {
                second > seats.most && (first < seats.least || second < first)
            }
        };
        usize::from(take_second)
    }
}

impl DrawState {
    fn first(election: &Election) -> Self {
        let number = match election.knowledge {
            Knowledge::Known => election.members as f64,
            Knowledge::Taken(number) => number,
            Knowledge::Estimated(estimate) => estimate.first,
        };
        Self::all(election, number)
    }

    fn all(election: &Election, number: f64) -> Self {
        Self { hosts: election.members, number, known: number, standing: Standing::All }
    }

    /// The next state if too many were heard.
    fn narrowed(self, election: &Election, draw: &Draw) -> Self {
        let count = draw.count as f64;
        if election.algorithm == Algorithm::Naive {
            return match election.knowledge {
                Knowledge::Known | Knowledge::Taken(_) => self,
                // Every host draws anew, so the centre takes its best guess; or all have replied.
                Knowledge::Estimated(_) => {
                    Self::all(election, (self.number * count / election.c).max(count))
                }
            };
        }
        Self {
            hosts: draw.active,
            number: count,
            known: match self.standing {
                Standing::All => self.known.max(count),
                Standing::Active => self.known,
            },
            standing: Standing::Active,
        }
    }

    /// The next state if too few were heard.
    fn undershot(self, election: &Election) -> Self {
        let is_estimating = match election.algorithm {
            Algorithm::Naive | Algorithm::SkipReset | Algorithm::Choice(_, Reset::Skipped) => true,
            Algorithm::Basic | Algorithm::History | Algorithm::Choice(_, Reset::Polled) => {
                self.standing == Standing::All
            }
        };
        match (election.knowledge, election.algorithm) {
            (Knowledge::Estimated(estimate), _) if is_estimating => {
                let next = estimate.next(self.known, election.seats);
                Self::all(election, next.unwrap_or(0.0))
            }
            (_, Algorithm::Naive | Algorithm::History) => self,
            (_, Algorithm::Basic | Algorithm::Choice(_, Reset::Polled)) => Self::poll(election),
            (_, Algorithm::SkipReset | Algorithm::Choice(_, Reset::Skipped)) => {
                Self::first(election)
            }
        }
    }

    /// All hosts reply, to be counted, and are asked again if too few are heard.
    fn poll(election: &Election) -> Self {
        Self { standing: Standing::Active, ..Self::all(election, 0.0) }
    }
}
