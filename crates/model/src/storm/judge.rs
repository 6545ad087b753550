//! The judge: the holders in real time, and the check of the promises.
//!
//! A tenure begins and is renewed only in a step of its holder, but ends by itself, even if the
//! holder is stopped. Therefore the judge keeps, for each tenure, the moment of real time at which
//! its holder's clock will end it. Two members hold at one instant if and only if one begins before
//! the end of the other. So no instant between two events is missed.

use std::collections::BTreeMap;
use std::fmt;

use hustings_protocol::tenure::Held;
use hustings_protocol::{Fence, Instant};
use thiserror::Error;

use super::clock::{Clock, Micros};

/// One incarnation of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// The member's number.
    pub member: usize,
    /// The incarnation, counted from 1.
    pub incarnation: u32,
}

/// A broken promise. Times are in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Broken {
    /// Two incarnations had the same fence.
    #[error("fence {fence} has two holders: {first}, and now {second}")]
    FenceTwice { fence: Fence, first: Holder, second: Holder },
    /// A later tenure does not have a higher fence than the `highest` of earlier ones.
    #[error("{holder} begins a tenure with fence {fence}, not above the earlier fence {highest}")]
    FenceFell { highest: Fence, fence: Fence, holder: Holder },
    /// Two members hold tenure at one instant of real time. The first holder's clock ends its
    /// tenure at `until`.
    #[error("two hold: {first} until {:.6} s, and {second} already", seconds(*.until))]
    TwoHold { first: Holder, until: Micros, second: Holder },
    /// A tenure began before the tenure of a crashed or departed member had expired. The work that
    /// this member guarded may still be running. Its clock would have ended its tenure at `until`.
    #[error(
        "{second} holds, but the tenure of {first}, which is gone, lasts until {:.6} s",
        seconds(*.until)
    )]
    Overtaken { first: Holder, until: Micros, second: Holder },
    /// A voter has promised a counter of an era that has not begun: one message could exhaust all
    /// counters.
    #[error("voter {voter} has promised counter {counter}, of an era that has not begun")]
    LeftEra { voter: usize, counter: u64 },
}

fn seconds(micros: Micros) -> f64 {
    micros as f64 / 1e6
}

/// A tenure that has not ended.
#[derive(Debug, Clone, Copy)]
struct Holding {
    holder: Holder,
    fence: Fence,
    began: Micros,
    /// The first reading of the holder's clock at which it does not hold.
    end: Instant,
    /// The moment of that reading.
    ends: Micros,
    is_gone: bool,
}

/// The change of a member's tenure in a step.
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
    /// The present holder, if it is not gone.
    pub(super) fn holder(&self, now: Micros) -> Option<Holder> {
        let mut present = self.holdings.iter().filter(|it| !it.is_gone);
        present.find(|it| it.ends > now).map(|it| it.holder)
    }

    /// Examines a member's tenure after a step that changed it.
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
            return Ok(ended.map(|it| Change::Ended { lasted: now.min(it.ends) - it.began }));
        };
        // The subject itself determines where its tenure ends: its deadline may be wrong.
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
        // No other member holds tenure, and the previous tenure of this one has ended.
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
            (Some(first), _) if *first != holder => {
                Err(Broken::FenceTwice { fence, first: *first, second: holder })
            }
            (_, Some(highest)) if fence <= highest => {
                Err(Broken::FenceFell { highest, fence, holder })
            }
            (Some(_) | None, _) => {
                self.begun.insert(fence, holder);
                Ok(())
            }
        }
    }

    /// Records that a member crashed or left: its tenure will expire.
    pub(super) fn lose(&mut self, holder: Holder) {
        let mut holdings = self.holdings.iter_mut();
        if let Some(holding) = holdings.find(|it| it.holder == holder) {
            holding.is_gone = true;
        }
    }

    /// Recomputes the end of a member's tenure after its clock changed its rate.
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
        if self.is_gone {
            Broken::Overtaken { first, until, second }
        } else {
            Broken::TwoHold { first, until, second }
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "member {} (incarnation {})", self.member, self.incarnation)
    }
}

#[cfg(test)]
mod tests {
    use super::{Broken, Change, Holder, Judge};
    use crate::storm::clock::{Clock, Micros};
    use hustings_protocol::tenure::Held;
    use hustings_protocol::{Fence, Instant};

    const A: Holder = Holder { member: 0, incarnation: 1 };
    const B: Holder = Holder { member: 1, incarnation: 1 };

    /// A step of a member at `now`, after which it holds until `until`; its clock is exact.
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
    fn tenure_may_begin_at_the_end_of_the_last_and_not_before() {
        for (now, is_lawful) in [(99, false), (100, true)] {
            let mut judge = Judge::default();
            let began = Ok(Some(Change::Began { ends: 100 }));
            assert_eq!(hold(&mut judge, 10, A, 1, 100), began);
            let second = hold(&mut judge, now, B, 2, 200);
            assert_eq!(second.is_ok(), is_lawful, "{second:?}");
        }
    }

    #[test]
    fn renewal_keeps_a_tenure_and_a_lapse_ends_it() {
        let mut judge = Judge::default();
        hold(&mut judge, 10, A, 1, 100).unwrap();
        let renewed = Ok(Some(Change::Renewed { ends: 150 }));
        assert_eq!(hold(&mut judge, 50, A, 1, 150), renewed);
        let again = hold(&mut judge, 150, A, 1, 250);
        let fell = Broken::FenceFell { highest: Fence(1), fence: Fence(1), holder: A };
        assert_eq!(again, Err(fell));
    }

    #[test]
    fn two_incarnations_with_one_fence_are_reported() {
        let mut judge = Judge::default();
        hold(&mut judge, 10, A, 1, 100).unwrap();
        let second = Holder { incarnation: 2, ..A };
        let twice = Broken::FenceTwice { fence: Fence(1), first: A, second };
        assert_eq!(hold(&mut judge, 200, second, 1, 300), Err(twice));
    }

    #[test]
    fn tenure_of_a_crashed_member_expires_by_its_own_clock() {
        let mut judge = Judge::default();
        hold(&mut judge, 0, A, 1, 100).unwrap();
        judge.lose(A);
        assert_eq!(judge.holder(10), None);
        let mut clock = Clock::new(1, 0);
        clock.change_rate(50, 500_000);
        judge.reckon(50, A.member, &clock);
        let overtaken = Broken::Overtaken { first: A, until: 150, second: B };
        assert_eq!(hold(&mut judge, 149, B, 2, 300), Err(overtaken));
    }

    #[test]
    fn inclusive_deadline_is_detected() {
        let mut judge = Judge::default();
        let (fence, until) = (Fence(1), Instant(100));
        let holds = |shown| (shown <= until).then_some(Held { fence, until });
        let change = judge.look(0, A, &Clock::new(1, 0), holds);
        assert_eq!(change, Ok(Some(Change::Began { ends: 101 })));
    }
}
