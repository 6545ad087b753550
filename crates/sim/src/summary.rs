//! What is known at the end of a run.

use std::collections::BTreeMap;

use hustings_protocol::{Candidate, Instant, MemberId, Protocol};

use crate::{Halt, Tally, Trace, World};

/// What is known at the end of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// What was sent.
    pub tally: Tally,
    /// How it ended.
    pub ending: Ending,
    /// When the last member that is up came to its present nominee, if all of them have one.
    pub known_at: Option<Instant>,
    /// Whether all members that are up name the same leader, and that leader is up.
    pub strong_success: bool,
    /// The largest fraction of the members that are up that name the same live leader.
    pub weak_success: f64,
    /// Whether strong success chose the best member that is up.
    pub elected_best: bool,
}

/// How a run ended, in the words of the papers' examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All that are up name this leader, and it is up.
    Elected(MemberId),
    /// All that are up and name anyone name this leader, and it is down.
    ElectedDead(MemberId),
    /// Messages or timers go on, and there is no agreement.
    Livelock,
    /// Nothing goes on, and there is no agreement.
    SilentDeadlock,
}

impl Summary {
    /// Looks at `world` after it stopped for the reason `halt`.
    pub fn of<P: Protocol, T: Trace<P>>(world: &World<P, T>, halt: Halt) -> Self {
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

/// The nominees of the members that are up.
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
    fn votes_for_the_dead_make_nobody_strong() {
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
