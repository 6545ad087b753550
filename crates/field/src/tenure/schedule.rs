//! The faults of a run, drawn from a seed before the run begins. The same seed gives the same
//! faults at the same times.

use super::TTL_MS;
use crate::chance::Chance;
use crate::testbed::MEMBERS;

/// The number of rounds of one group.
const ROUNDS_OF_A_GROUP: usize = 10;

/// One group and its faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GroupPlan {
    /// The number of voters. They are the first members.
    pub(super) voters: usize,
    /// The only member whose calendar can be set. The library that does it costs a fifth of a
    /// processor for each process.
    pub(super) calendar_member: usize,
    pub(super) rounds: Vec<Round>,
}

/// Faults that hit a group at about the same time. After them the group runs without faults until a
/// member holds tenure again.
pub(super) type Round = Vec<ScheduledFault>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScheduledFault {
    pub(super) kind: FaultKind,
    pub(super) target: Target,
    /// Milliseconds after the start of the round.
    pub(super) begins_ms: u64,
    pub(super) ends_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// The member that holds tenure when the fault begins.
    Holder,
    Member(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultKind {
    /// SIGKILL. The member is started again at the end.
    Killed,
    /// SIGSTOP for longer than the ttl.
    Stopped,
    /// SIGTERM. The member is started again at the end.
    Restarted,
    /// The member and `others` more are cut off from the rest.
    Partition { others: usize },
    /// The member receives from no other member, or no other member receives from it.
    OneWay { is_deaf: bool },
    /// Every host loses `percent` of the packets that it should receive.
    Loss { percent: u32 },
    /// A voter's disk is full. The voter is killed and started meanwhile if `restarts`.
    DiskFull { restarts: bool },
    /// A voter's disk refuses writes. The voter is killed and started meanwhile if `restarts`.
    DiskRefuses { restarts: bool },
    /// A voter's file is deleted. It must not vote until it is initialised again, at the end.
    StateLost,
    /// The calendar of the one member that has its own jumps. The member is killed and started
    /// meanwhile if `restarts`.
    Clock { forward: bool, restarts: bool },
    /// All voters except the holder are stopped between two receives for `ms` milliseconds. The
    /// holder keeps running, and its announcements are dropped. When the voters continue, the
    /// holder is cut off until the end.
    Stalled { ms: u64 },
}

/// One fault of each kind. Their parameters are drawn later.
const DECK: [FaultKind; 11] = [
    FaultKind::Killed,
    FaultKind::Stopped,
    FaultKind::Restarted,
    FaultKind::Partition { others: 0 },
    FaultKind::OneWay { is_deaf: true },
    FaultKind::Loss { percent: 0 },
    FaultKind::DiskFull { restarts: true },
    FaultKind::DiskRefuses { restarts: true },
    FaultKind::StateLost,
    FaultKind::Clock { forward: true, restarts: true },
    FaultKind::Stalled { ms: 0 },
];

/// Returns the name of each kind, for the rows of a table.
pub(super) fn names() -> [&'static str; DECK.len()] {
    DECK.map(FaultKind::name)
}

/// The part of a group that a fault hits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Process,
    Network,
    Disk,
}

impl FaultKind {
    /// Returns the name, the sort, the least duration in milliseconds, and the range of the random
    /// addition.
    fn profile(self) -> (&'static str, Sort, u64, usize) {
        match self {
            Self::Killed => ("killed (SIGKILL)", Sort::Process, 0, 500),
            Self::Stopped => ("stopped (SIGSTOP) past the ttl", Sort::Process, 400, 500),
            Self::Restarted => ("restarted (SIGTERM)", Sort::Process, 0, 500),
            Self::Partition { .. } => ("partition", Sort::Network, 200, 600),
            Self::OneWay { .. } => ("one-way cut", Sort::Network, 200, 600),
            Self::Loss { .. } => ("loss", Sort::Network, 300, 500),
            Self::DiskFull { .. } => ("voter's disk full", Sort::Disk, 200, 400),
            Self::DiskRefuses { .. } => ("voter's disk refuses writes", Sort::Disk, 200, 400),
            Self::StateLost => ("voter's state deleted", Sort::Disk, 200, 300),
            Self::Clock { .. } => ("wall clock set", Sort::Process, 200, 400),
            Self::Stalled { .. } => {
                ("voters stalled between two receives", Sort::Network, 700, 100)
            }
        }
    }

    pub(super) fn name(self) -> &'static str {
        self.profile().0
    }

    /// True if both faults can happen in one round. Two faults of the network or of disks would
    /// undo each other, or disable a majority of the disks.
    fn goes_with(self, other: Self) -> bool {
        let ((name, sort, ..), (others_name, others_sort, ..)) = (self.profile(), other.profile());
        name != others_name && (sort != others_sort || sort == Sort::Process)
    }
}

/// Draws `rounds` rounds, divided among several groups.
pub(super) fn draw(seed: u64, rounds: usize) -> Vec<GroupPlan> {
    let mut dealer = Dealer { chance: Chance::from_seed(seed), deck: Vec::new() };
    let mut plans = Vec::new();
    let mut left = rounds;
    while left > 0 {
        let count = left.min(ROUNDS_OF_A_GROUP);
        left -= count;
        // The two sizes alternate, so that a short run has both.
        let voters = [5, 3][plans.len() % 2];
        plans.push(GroupPlan {
            voters,
            calendar_member: dealer.chance.below(MEMBERS),
            rounds: (0..count).map(|index| dealer.round(index == 0)).collect(),
        });
    }
    plans
}

/// Deals kinds from a deck that is shuffled when it is used up. Ten rounds contain every kind,
/// because the first round deals two.
struct Dealer {
    chance: Chance,
    deck: Vec<FaultKind>,
}

impl Dealer {
    fn round(&mut self, is_first: bool) -> Round {
        let first = self.fault(|_| true);
        let mut round = vec![first];
        if self.chance.below(2) == 0 || is_first {
            round.push(self.fault(|kind| kind.goes_with(first.kind)));
        }
        round
    }

    fn fault(&mut self, fits: impl Fn(FaultKind) -> bool) -> ScheduledFault {
        let kind = self.kind(fits);
        let begins_ms = self.chance.below(150) as u64;
        let (_, _, least, more) = kind.profile();
        let ends_ms = begins_ms + least + self.chance.below(more) as u64;
        let target = match self.chance.below(2) {
            0 => Target::Holder,
            _ => Target::Member(self.chance.below(MEMBERS)),
        };
        ScheduledFault { kind, target, begins_ms, ends_ms }
    }

    fn kind(&mut self, fits: impl Fn(FaultKind) -> bool) -> FaultKind {
        let at = loop {
            match self.deck.iter().rposition(|&kind| fits(kind)) {
                Some(at) => break at,
                None => self.shuffle(),
            }
        };
        let mut flip = || self.chance.below(2) == 0;
        match self.deck.remove(at) {
            FaultKind::Partition { .. } => {
                FaultKind::Partition { others: self.chance.below(MEMBERS / 2) }
            }
            FaultKind::OneWay { .. } => FaultKind::OneWay { is_deaf: flip() },
            FaultKind::Loss { .. } => {
                FaultKind::Loss { percent: 10 + self.chance.below(50) as u32 }
            }
            FaultKind::DiskFull { .. } => FaultKind::DiskFull { restarts: flip() },
            FaultKind::DiskRefuses { .. } => FaultKind::DiskRefuses { restarts: flip() },
            FaultKind::Clock { .. } => FaultKind::Clock { forward: flip(), restarts: flip() },
            FaultKind::Stalled { .. } => FaultKind::Stalled {
                ms: TTL_MS / 3 + self.chance.below(TTL_MS as usize / 4) as u64,
            },
            plain => plain,
        }
    }

    /// Puts a new deck below the rest of the old one.
    fn shuffle(&mut self) {
        let mut fresh = DECK.to_vec();
        for last in (1..fresh.len()).rev() {
            fresh.swap(last, self.chance.below(last + 1));
        }
        self.deck.splice(0..0, fresh);
    }
}

#[cfg(test)]
mod tests {
    use super::{FaultKind, ScheduledFault, TTL_MS, draw, names};

    fn faults(seed: u64, rounds: usize) -> Vec<ScheduledFault> {
        let plans = draw(seed, rounds);
        plans.into_iter().flat_map(|it| it.rounds).flatten().collect()
    }

    #[test]
    fn same_seed_draws_the_same_faults() {
        assert_eq!(draw(7, 25), draw(7, 25));
        assert_ne!(draw(7, 25), draw(8, 25));
        let plans = draw(7, 25);
        let lengths: Vec<(usize, usize)> =
            plans.iter().map(|it| (it.voters, it.rounds.len())).collect();
        assert_eq!(lengths, [(5, 10), (3, 10), (5, 5)]);
    }

    #[test]
    fn ten_rounds_contain_every_kind() {
        // About one schedule in a thousand has ten rounds of one fault each.
        for seed in 0..10_000 {
            let drawn = faults(seed, 10);
            for name in names() {
                assert!(drawn.iter().any(|it| it.kind.name() == name), "{name}");
            }
        }
    }

    #[test]
    fn faults_of_one_round_do_not_undo_each_other() {
        for round in (0..100).flat_map(|seed| draw(seed, 10)).flat_map(|it| it.rounds) {
            if let [first, second] = round[..] {
                assert!(first.kind.goes_with(second.kind), "{round:?}");
            }
        }
        let (loss, cut) = (FaultKind::Loss { percent: 10 }, FaultKind::Partition { others: 1 });
        assert!(!loss.goes_with(cut));
        assert!(!FaultKind::StateLost.goes_with(FaultKind::StateLost));
        assert!(FaultKind::StateLost.goes_with(loss));
        let refuses = FaultKind::DiskRefuses { restarts: false };
        // Two of three voters could not vote, or a file that cannot be written would have to be
        // deleted.
        assert!(!FaultKind::StateLost.goes_with(refuses));
        assert!(!refuses.goes_with(FaultKind::DiskFull { restarts: false }));
        assert!(refuses.goes_with(FaultKind::Killed));
        // Either fault would end the other's network cut.
        assert!(!FaultKind::Stalled { ms: 0 }.goes_with(loss));
    }

    #[test]
    fn stopped_member_is_stopped_for_longer_than_the_ttl() {
        let drawn = faults(1, 200);
        let mut stops = drawn.iter().filter(|it| it.kind == FaultKind::Stopped);
        assert!(stops.all(|it| it.ends_ms - it.begins_ms > TTL_MS));
    }

    #[test]
    fn stalled_voters_continue_before_the_holder_loses_tenure() {
        for fault in faults(1, 200) {
            let FaultKind::Stalled { ms } = fault.kind else {
                continue;
            };
            // The renewal was due after a third of the ttl, and the voters had just received the
            // request.
            assert!(ms < TTL_MS * 2 / 3, "{fault:?}");
            assert!(fault.ends_ms - fault.begins_ms > ms + TTL_MS, "{fault:?}");
        }
    }
}
