//! From the first draw to a council.

use hustings_theory::council::{Algorithm, Election, Knowledge, Loss, Pick, Reset};
use rand_core::Rng;

use super::{Run, binomial};
use crate::{Seeds, Stream};

/// Elects a council, or gives up after so many rounds.
///
/// # Panics
/// If it is no election, as [`Election::cost`] says.
pub fn elect(election: &Election, most_rounds: u64, seeds: Seeds) -> Run {
    let mut run = Run::default();
    if election.is_decided_by_the_poll() {
        run.seats = Some(election.members);
        return run;
    }
    let mut course = Course {
        election,
        rng: seeds.rng(Stream::Members),
    };
    let mut circle = Circle::first(election);
    while run.rounds < most_rounds {
        let draw = course.draw(&circle);
        run.count(draw.replies);
        if election.seats.contain(draw.count) {
            run.seats = Some(draw.count);
            break;
        }
        circle = if draw.count > election.seats.most {
            circle.narrowed(election, &draw)
        } else {
            circle.undershot(election)
        };
    }
    run
}

/// Who draws next, and what the centre tells them.
#[derive(Debug, Clone, Copy)]
struct Circle {
    /// How many hosts draw if they hear the centre.
    hosts: u64,
    /// They stay active with `c` over this.
    number: f64,
    /// What the centre takes all hosts to be, after what it heard since the last reset.
    known: f64,
    standing: Standing,
}

/// Since when these draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// All do.
    All,
    /// Those do who were active when the centre heard too many.
    Active,
}

/// What came of a draw.
struct Draw {
    replies: u64,
    /// How many are active, heard or not.
    active: u64,
    /// How many were heard.
    count: u64,
}

struct Course<'a, R> {
    election: &'a Election,
    rng: R,
}

impl<R: Rng> Course<'_, R> {
    fn draw(&mut self, circle: &Circle) -> Draw {
        let chance = (self.election.c / circle.number).min(1.0);
        match self.election.algorithm {
            Algorithm::Choice(pick, _) => self.draw_twice(circle.hosts, chance, pick),
            Algorithm::Naive | Algorithm::Basic | Algorithm::SkipReset | Algorithm::History => {
                self.draw_once(circle.hosts, chance)
            }
        }
    }

    fn draw_once(&mut self, hosts: u64, chance: f64) -> Draw {
        let Loss { reply, multicast } = self.election.loss;
        let active = binomial(hosts, chance * (1.0 - multicast), &mut self.rng);
        Draw {
            replies: active,
            active,
            count: binomial(active, 1.0 - reply, &mut self.rng),
        }
    }

    /// A reply tells both draws, so who is lost is lost to both: first those who get through and those who would not, then what
    /// they draw.
    fn draw_twice(&mut self, hosts: u64, chance: f64, pick: Pick) -> Draw {
        let Loss { reply, multicast } = self.election.loss;
        let hearing = binomial(hosts, 1.0 - multicast, &mut self.rng);
        let through = binomial(hearing, 1.0 - reply, &mut self.rng);
        let heard = self.two_draws(through, chance);
        let lost = self.two_draws(hearing - through, chance);
        let taken = self.taken(heard.counts, pick);
        Draw {
            replies: heard.either + lost.either,
            active: heard.counts[taken] + lost.counts[taken],
            count: heard.counts[taken],
        }
    }

    fn two_draws(&mut self, hosts: u64, chance: f64) -> TwoDraws {
        let either = binomial(hosts, chance * (2.0 - chance), &mut self.rng);
        let both = binomial(either, chance / (2.0 - chance), &mut self.rng);
        let first_only = binomial(either - both, 0.5, &mut self.rng);
        TwoDraws {
            either,
            counts: [both + first_only, either - first_only],
        }
    }

    /// Which draw the centre takes: a council, of two the larger; else the smaller of those above `U`; the first if both are
    /// below `L`.
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

/// What hosts drew that drew twice.
struct TwoDraws {
    /// Active in one draw or the other.
    either: u64,
    /// Active in the first, and in the second.
    counts: [u64; 2],
}

impl Circle {
    fn first(election: &Election) -> Self {
        let number = match election.knowledge {
            Knowledge::Known => election.members as f64,
            Knowledge::Taken(number) => number,
            Knowledge::Estimated(estimate) => estimate.first,
        };
        Self::all(election, number)
    }

    fn all(election: &Election, number: f64) -> Self {
        Self {
            hosts: election.members,
            number,
            known: number,
            standing: Standing::All,
        }
    }

    /// Too many were heard.
    fn narrowed(self, election: &Election, draw: &Draw) -> Self {
        let count = draw.count as f64;
        if election.algorithm == Algorithm::Naive {
            return match election.knowledge {
                Knowledge::Known | Knowledge::Taken(_) => self,
                // Everyone draws anew, so the centre takes its best guess; or all have replied.
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

    /// Too few were heard.
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

    /// All reply, to be counted, and to be asked again if too few are heard.
    fn poll(election: &Election) -> Self {
        Self {
            standing: Standing::Active,
            ..Self::all(election, 0.0)
        }
    }
}
