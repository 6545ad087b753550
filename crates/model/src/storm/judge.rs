//! Who holds what, in real time, and whether that breaks a promise.
//!
//! Tenure begins and is prolonged only when its holder does something, but ends by itself, also where
//! the holder is stopped and asks nobody. So what is kept of each tenure is the moment of real
//! time at which its holder's clock will end it. Two hold at one instant if, and only if, one
//! begins before the end of the other: no instant is missed between two events.

use std::collections::BTreeMap;
use std::fmt;

use hustings_protocol::tenure::Held;
use hustings_protocol::{Fence, Instant};

use super::clock::{Clock, Micros};

/// One life of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// The member's number.
    pub member: usize,
    /// Which of its lives, counted from 1.
    pub life: u32,
}

/// A broken promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// Two lives had one fence.
    FenceTwice {
        /// Which.
        fence: Fence,
        /// Who had it first.
        first: Holder,
        /// Who has it too.
        second: Holder,
    },
    /// A later tenure has no higher fence than an earlier one.
    FenceFell {
        /// Of the earlier.
        highest: Fence,
        /// Of the later.
        fence: Fence,
        /// Who has it.
        holder: Holder,
    },
    /// Two hold at one instant of real time.
    TwoHold {
        /// Who held before.
        first: Holder,
        /// When that one's clock ends it, in microseconds.
        until: u64,
        /// Who holds too.
        second: Holder,
    },
    /// A tenure began before that of a member that crashed or left had run out: what the member
    /// guarded may run on without it.
    Overtaken {
        /// Who is gone.
        first: Holder,
        /// When that one's clock would have ended it, in microseconds.
        until: u64,
        /// Who holds now.
        second: Holder,
    },
    /// A voter has promised a counter of another era, which nobody has begun: so one message could use up all counters.
    LeftEra {
        /// The voter.
        voter: usize,
        /// The counter.
        counter: u64,
    },
}

/// A tenure that has not ended.
#[derive(Debug, Clone, Copy)]
struct Holding {
    holder: Holder,
    fence: Fence,
    began: Micros,
    /// The first reading of the holder's clock at which it does not hold.
    end: Instant,
    /// When that will be.
    ends: Micros,
    is_gone: bool,
}

/// What became of a member's tenure in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Began { ends: Micros },
    Renewed { ends: Micros },
    Ended { lasted: Micros },
}

#[derive(Debug, Default)]
pub(super) struct Judge {
    holdings: Vec<Holding>,
    begun: BTreeMap<Fence, Holder>,
}

impl Judge {
    /// Who holds now, and is not gone.
    pub(super) fn holder(&self, now: Micros) -> Option<Holder> {
        let mut present = self.holdings.iter().filter(|it| !it.is_gone);
        present.find(|it| it.ends > now).map(|it| it.holder)
    }

    /// Looks at what a member holds after a step that changed it.
    pub(super) fn look(
        &mut self,
        now: Micros,
        holder: Holder,
        clock: &Clock,
        holds: impl Fn(Instant) -> Option<Held>,
    ) -> Result<Option<Change>, Broken> {
        let before = self.holdings.iter().position(|it| it.holder == holder);
        let Some(held) = holds(clock.shows(now)) else {
            let ended = before.map(|at| self.holdings.swap_remove(at));
            return Ok(ended.map(|it| Change::Ended {
                lasted: now.min(it.ends) - it.began,
            }));
        };
        // The subject itself is asked where its tenure ends: it may be wrong about its deadline.
        let mut end = held.until;
        while holds(end).is_some() {
            end.0 += 1;
        }
        let ends = clock.when(end);
        let others = self.holdings.iter().filter(|it| it.holder != holder);
        if let Some(other) = others.into_iter().find(|it| it.ends > now) {
            return Err(other.broken_by(holder));
        }
        let goes_on = |it: &&mut Holding| it.fence == held.fence && it.ends > now;
        let before = before.map(|at| &mut self.holdings[at]);
        if let Some(holding) = before.filter(goes_on) {
            (holding.end, holding.ends) = (end, ends);
            return Ok(Some(Change::Renewed { ends }));
        }
        self.begin(held.fence, holder)?;
        // Nobody else holds, and what this one held has ended.
        self.holdings.clear();
        self.holdings.push(Holding {
            holder,
            fence: held.fence,
            began: now,
            end,
            ends,
            is_gone: false,
        });
        Ok(Some(Change::Began { ends }))
    }

    fn begin(&mut self, fence: Fence, holder: Holder) -> Result<(), Broken> {
        let highest = self.begun.last_key_value().map(|(fence, _)| *fence);
        match (self.begun.get(&fence), highest) {
            (Some(first), _) if *first != holder => Err(Broken::FenceTwice {
                fence,
                first: *first,
                second: holder,
            }),
            (_, Some(highest)) if fence <= highest => Err(Broken::FenceFell {
                highest,
                fence,
                holder,
            }),
            (Some(_) | None, _) => {
                self.begun.insert(fence, holder);
                Ok(())
            }
        }
    }

    /// A member crashed or left: what it held runs out.
    pub(super) fn lose(&mut self, holder: Holder) {
        let mut holdings = self.holdings.iter_mut();
        if let Some(holding) = holdings.find(|it| it.holder == holder) {
            holding.is_gone = true;
        }
    }

    /// A member's clock goes at another rate from now on, and ends at another time what it held.
    pub(super) fn reckon(&mut self, now: Micros, member: usize, clock: &Clock) {
        for holding in &mut self.holdings {
            if holding.holder.member == member && holding.ends > now {
                holding.ends = clock.when(holding.end);
            }
        }
    }
}

impl Holding {
    fn broken_by(&self, second: Holder) -> Broken {
        let (first, until) = (self.holder, self.ends);
        match self.is_gone {
            true => Broken::Overtaken {
                first,
                until,
                second,
            },
            false => Broken::TwoHold {
                first,
                until,
                second,
            },
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "member {} (life {})", self.member, self.life)
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |micros: u64| micros as f64 / 1e6;
        match *self {
            Self::FenceTwice {
                fence,
                first,
                second,
            } => write!(
                f,
                "fence {fence} has two holders: {first}, and now {second}"
            ),
            Self::FenceFell {
                highest,
                fence,
                holder,
            } => write!(
                f,
                "{holder} begins a tenure with fence {fence}, but fence {highest} was before"
            ),
            Self::TwoHold {
                first,
                until,
                second,
            } => write!(
                f,
                "two hold: {first} until {:.6} s, and {second} already",
                seconds(until)
            ),
            Self::Overtaken {
                first,
                until,
                second,
            } => write!(
                f,
                "{second} holds, but what {first} held when it went runs until {:.6} s",
                seconds(until)
            ),
            Self::LeftEra { voter, counter } => write!(
                f,
                "voter {voter} has promised counter {counter}, of an era that nobody has begun"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Broken, Change, Holder, Judge};
    use crate::storm::clock::{Clock, Micros};
    use hustings_protocol::tenure::Held;
    use hustings_protocol::{Fence, Instant};

    const A: Holder = Holder { member: 0, life: 1 };
    const B: Holder = Holder { member: 1, life: 1 };

    /// A member does something at `now`, after which it holds; its clock is right.
    fn hold(
        judge: &mut Judge,
        now: Micros,
        holder: Holder,
        fence: u64,
        until: u64,
    ) -> Result<Option<Change>, Broken> {
        let (fence, until) = (Fence(fence), Instant(until));
        judge.look(now, holder, &Clock::new(1, 0), |shown| {
            (shown < until).then_some(Held { fence, until })
        })
    }

    #[test]
    fn a_tenure_that_begins_when_the_last_has_run_out_is_lawful_and_a_moment_earlier_is_not() {
        for (now, is_lawful) in [(99, false), (100, true)] {
            let mut judge = Judge::default();
            let began = Ok(Some(Change::Began { ends: 100 }));
            assert_eq!(hold(&mut judge, 10, A, 1, 100), began);
            let second = hold(&mut judge, now, B, 2, 200);
            assert_eq!(second.is_ok(), is_lawful, "{second:?}");
        }
    }

    #[test]
    fn what_is_prolonged_is_the_same_tenure_and_what_has_lapsed_is_not() {
        let mut judge = Judge::default();
        hold(&mut judge, 10, A, 1, 100).unwrap();
        let renewed = Ok(Some(Change::Renewed { ends: 150 }));
        assert_eq!(hold(&mut judge, 50, A, 1, 150), renewed);
        let again = hold(&mut judge, 150, A, 1, 250);
        let fell = Broken::FenceFell {
            highest: Fence(1),
            fence: Fence(1),
            holder: A,
        };
        assert_eq!(again, Err(fell));
    }

    #[test]
    fn one_fence_is_not_for_two_lives() {
        let mut judge = Judge::default();
        hold(&mut judge, 10, A, 1, 100).unwrap();
        let second = Holder { life: 2, ..A };
        let twice = Broken::FenceTwice {
            fence: Fence(1),
            first: A,
            second,
        };
        assert_eq!(hold(&mut judge, 200, second, 1, 300), Err(twice));
    }

    #[test]
    fn what_a_crashed_member_held_runs_out_by_its_clock_also_when_that_is_slower_then() {
        let mut judge = Judge::default();
        hold(&mut judge, 0, A, 1, 100).unwrap();
        judge.lose(A);
        assert_eq!(judge.holder(10), None);
        let mut clock = Clock::new(1, 0);
        clock.change_rate(50, 500_000);
        judge.reckon(50, A.member, &clock);
        let overtaken = Broken::Overtaken {
            first: A,
            until: 150,
            second: B,
        };
        assert_eq!(hold(&mut judge, 149, B, 2, 300), Err(overtaken));
    }

    #[test]
    fn a_deadline_that_is_included_is_seen() {
        let mut judge = Judge::default();
        let (fence, until) = (Fence(1), Instant(100));
        let holds = |shown| (shown <= until).then_some(Held { fence, until });
        let change = judge.look(0, A, &Clock::new(1, 0), holds);
        assert_eq!(change, Ok(Some(Change::Began { ends: 101 })));
    }
}
