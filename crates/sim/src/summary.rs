//! The state of a world at the end of a run.

use std::collections::BTreeMap;

use hustings_protocol::{Candidate, Instant, MemberId, Simulated};

use crate::{Halt, Tally, Trace, World};

/// The result of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// The message counts.
    pub tally: Tally,
    /// The ending of the run.
    pub ending: Ending,
    /// The time at which the last live member reached its present nominee, if all live members have
    /// a nominee.
    pub known_at: Option<Instant>,
    /// True if all live members have the same nominee, and that nominee is up.
    pub strong_success: bool,
    /// The largest fraction of the live members that have the same live nominee.
    pub weak_success: f64,
    /// True if strong success chose the best live member.
    pub elected_best: bool,
}

/// The ending of a run, in the terms of the papers' examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All live members have this nominee, and it is up.
    Elected(MemberId),
    /// All live members that have a nominee have this one, and it is down.
    ElectedDead(MemberId),
    /// Messages or timers are pending, and there is no agreement.
    Livelock,
    /// No event is pending, and there is no agreement.
    SilentDeadlock,
}

impl Summary {
    /// Summarises `world` after it stopped for the reason `halt`.
    pub fn of<P: Simulated, T: Trace<P>>(world: &World<P, T>, halt: Halt) -> Self {
        let up = || (0..world.len()).filter(|&member| world.is_up(member));
        let mut votes = Votes::default();
        for member in up() {
            votes.count(world.nominee(member));
        }
        let best_up: Option<Candidate> = up().map(|member| world.candidate(member)).max();
        let is_up = |id: MemberId| id.0 < u64::from(world.len()) && world.is_up(id.0 as u32);
        let strongest = votes.strongest(is_up);
        let unanimous = votes.unanimous();
        let strong_success = unanimous.is_some_and(is_up);
        Self {
            tally: *world.tally(),
            ending: match unanimous {
                Some(leader) if is_up(leader) => Ending::Elected(leader),
                Some(leader) => Ending::ElectedDead(leader),
                None if halt == Halt::Limit => Ending::Livelock,
                None => Ending::SilentDeadlock,
            },
            known_at: (votes.undecided == 0 && votes.members > 0).then_some(votes.last),
            strong_success,
            weak_success: strongest as f64 / votes.members.max(1) as f64,
            elected_best: strong_success && unanimous == best_up.map(|best| best.id),
        }
    }
}

/// The nominees of the live members.
#[derive(Default)]
struct Votes {
    members: usize,
    undecided: usize,
    last: Instant,
    counts: BTreeMap<MemberId, usize>,
}

impl Votes {
    fn count(&mut self, named: Option<(MemberId, Instant)>) {
        self.members += 1;
        let Some((nominee, since)) = named else {
            self.undecided += 1;
            return;
        };
        self.last = self.last.max(since);
        *self.counts.entry(nominee).or_default() += 1;
    }

    fn unanimous(&self) -> Option<MemberId> {
        let (nominee, &count) = self.counts.first_key_value()?;
        (count == self.members).then_some(*nominee)
    }

    fn strongest(&self, is_up: impl Fn(MemberId) -> bool) -> usize {
        let live = self.counts.iter().filter(|(nominee, _)| is_up(**nominee));
        live.map(|(_, &count)| count).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::Votes;
    use hustings_protocol::{Instant, MemberId};

    #[test]
    fn votes_for_a_dead_member_do_not_count_as_success() {
        let mut votes = Votes::default();
        for nominee in [4, 4, 4, 2, 2] {
            votes.count(Some((MemberId(nominee), Instant(7))));
        }
        votes.count(None);
        assert_eq!(votes.strongest(|_| true), 3);
        assert_eq!(votes.strongest(|id| id != MemberId(4)), 2);
        assert_eq!(votes.unanimous(), None);
    }
}
