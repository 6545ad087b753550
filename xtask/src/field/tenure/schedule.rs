//! What befalls a group, drawn from a seed before anything happens: the same seed, the same faults at the same times.

use super::TTL_MS;
use crate::field::chance::Chance;
use crate::field::ground::MEMBERS;

/// How many rounds one group lives through.
const ROUNDS_OF_A_GROUP: usize = 10;

/// One group, and what befalls it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Life {
    /// Members 0 to this vote.
    pub(super) voters: usize,
    /// The one member whose calendar can be set: that costs a process a fifth of a processor.
    pub(super) unpunctual: usize,
    pub(super) rounds: Vec<Round>,
}

/// Faults that befall a group at about the same time, before it is left alone until somebody holds tenure again.
pub(super) type Round = Vec<Fault>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    pub(super) whom: Whom,
    /// After the round began.
    pub(super) begins_ms: u64,
    pub(super) ends_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whom {
    /// Whoever holds tenure then.
    Holder,
    Member(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// SIGKILL, and started again at the end.
    Killed,
    /// SIGSTOP for longer than tenure lasts.
    Stopped,
    /// SIGTERM, and started again at the end.
    Restarted,
    /// It and so many others against the rest.
    Partition { others: usize },
    /// It hears nobody, or nobody hears it.
    OneWay { is_deaf: bool },
    /// Every host loses so much of what it should receive.
    Loss { percent: u32 },
    /// A voter's disk is full; perhaps it is killed and started meanwhile.
    DiskFull { restarts: bool },
    /// A voter's disk refuses to be written; perhaps it is killed and started meanwhile.
    DiskRefuses { restarts: bool },
    /// A voter's file is deleted. It must not vote until it is initialised once more, at the end.
    StateLost,
    /// The calendar of the one member that has its own jumps; perhaps it is killed and started meanwhile.
    Clock { forward: bool, restarts: bool },
    /// All voters but the holder stand still between two receives for so long, while it holds on and nobody hears it
    /// announce itself. When they go on it is cut off until the end.
    Stalled { ms: u64 },
}

/// One of each kind; what they say besides is drawn.
const DECK: [Kind; 11] = [
    Kind::Killed,
    Kind::Stopped,
    Kind::Restarted,
    Kind::Partition { others: 0 },
    Kind::OneWay { is_deaf: true },
    Kind::Loss { percent: 0 },
    Kind::DiskFull { restarts: true },
    Kind::DiskRefuses { restarts: true },
    Kind::StateLost,
    Kind::Clock {
        forward: true,
        restarts: true,
    },
    Kind::Stalled { ms: 0 },
];

/// The name of each kind, for rows of a table.
pub(super) fn names() -> [&'static str; DECK.len()] {
    DECK.map(Kind::name)
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Killed => "killed (SIGKILL)",
            Self::Stopped => "stopped (SIGSTOP) past the ttl",
            Self::Restarted => "restarted (SIGTERM)",
            Self::Partition { .. } => "partition",
            Self::OneWay { .. } => "one-way cut",
            Self::Loss { .. } => "loss",
            Self::DiskFull { .. } => "voter's disk full",
            Self::DiskRefuses { .. } => "voter's disk refuses writes",
            Self::StateLost => "voter's state deleted",
            Self::Clock { .. } => "wall clock set",
            Self::Stalled { .. } => "voters stalled between two receives",
        }
    }

    /// Two of the same sort would undo each other, or take a majority of the disks.
    fn goes_with(self, other: Self) -> bool {
        let both_are = |of_a_sort: fn(Self) -> bool| of_a_sort(self) && of_a_sort(other);
        !both_are(Self::is_of_network) && !both_are(Self::is_of_disk) && self.name() != other.name()
    }

    fn is_of_disk(self) -> bool {
        matches!(
            self,
            Self::DiskFull { .. } | Self::DiskRefuses { .. } | Self::StateLost
        )
    }

    fn is_of_network(self) -> bool {
        matches!(
            self,
            Self::Partition { .. } | Self::OneWay { .. } | Self::Loss { .. } | Self::Stalled { .. }
        )
    }

    /// How long it lasts, in milliseconds: from, and up to so much more.
    fn lasts_ms(self) -> (u64, usize) {
        match self {
            Self::Killed | Self::Restarted => (0, 500),
            Self::Stopped => (400, 500),
            Self::Partition { .. } | Self::OneWay { .. } => (200, 600),
            Self::Loss { .. } => (300, 500),
            Self::DiskFull { .. } | Self::DiskRefuses { .. } | Self::Clock { .. } => (200, 400),
            Self::StateLost => (200, 300),
            Self::Stalled { .. } => (700, 100),
        }
    }
}

/// `rounds` rounds, spread over groups.
pub(super) fn draw(seed: u64, rounds: usize) -> Vec<Life> {
    let mut dealer = Dealer {
        chance: Chance::from_seed(seed),
        deck: Vec::new(),
    };
    let mut lives = Vec::new();
    let mut left = rounds;
    while left > 0 {
        let count = left.min(ROUNDS_OF_A_GROUP);
        left -= count;
        // In turn, so that a short run has both.
        let voters = [5, 3][lives.len() % 2];
        lives.push(Life {
            voters,
            unpunctual: dealer.chance.below(MEMBERS),
            rounds: (0..count).map(|index| dealer.round(index == 0)).collect(),
        });
    }
    lives
}

/// Deals kinds from a deck that is shuffled when it is used up. Ten rounds see every one: the first deals two.
struct Dealer {
    chance: Chance,
    deck: Vec<Kind>,
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

    fn fault(&mut self, fits: impl Fn(Kind) -> bool) -> Fault {
        let kind = self.kind(fits);
        let begins_ms = self.chance.below(150) as u64;
        let (least, more) = kind.lasts_ms();
        let ends_ms = begins_ms + least + self.chance.below(more) as u64;
        let whom = match self.chance.below(2) {
            0 => Whom::Holder,
            _ => Whom::Member(self.chance.below(MEMBERS)),
        };
        Fault {
            kind,
            whom,
            begins_ms,
            ends_ms,
        }
    }

    fn kind(&mut self, fits: impl Fn(Kind) -> bool) -> Kind {
        let at = loop {
            let chosen = self.deck.iter().rposition(|&kind| fits(kind));
            match chosen {
                Some(at) => break at,
                None => self.shuffle(),
            }
        };
        let mut flip = || self.chance.below(2) == 0;
        match self.deck.remove(at) {
            Kind::Partition { .. } => Kind::Partition {
                others: self.chance.below(MEMBERS / 2),
            },
            Kind::OneWay { .. } => Kind::OneWay { is_deaf: flip() },
            Kind::Loss { .. } => Kind::Loss {
                percent: 10 + self.chance.below(50) as u32,
            },
            Kind::DiskFull { .. } => Kind::DiskFull { restarts: flip() },
            Kind::DiskRefuses { .. } => Kind::DiskRefuses { restarts: flip() },
            Kind::Clock { .. } => Kind::Clock {
                forward: flip(),
                restarts: flip(),
            },
            Kind::Stalled { .. } => Kind::Stalled {
                ms: TTL_MS / 3 + self.chance.below(TTL_MS as usize / 4) as u64,
            },
            plain @ (Kind::Killed | Kind::Stopped | Kind::Restarted | Kind::StateLost) => plain,
        }
    }

    /// Puts a new deck below what is left of the old one.
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
    use super::{Fault, Kind, TTL_MS, draw, names};

    fn faults(seed: u64, rounds: usize) -> Vec<Fault> {
        let lives = draw(seed, rounds);
        lives
            .into_iter()
            .flat_map(|it| it.rounds)
            .flatten()
            .collect()
    }

    #[test]
    fn the_same_seed_draws_the_same_faults() {
        assert_eq!(draw(7, 25), draw(7, 25));
        assert_ne!(draw(7, 25), draw(8, 25));
        let lives = draw(7, 25);
        let lengths: Vec<(usize, usize)> = lives
            .iter()
            .map(|it| (it.voters, it.rounds.len()))
            .collect();
        assert_eq!(lengths, [(5, 10), (3, 10), (5, 5)]);
    }

    #[test]
    fn ten_rounds_see_every_kind() {
        // Ten rounds of one fault each are drawn once in a thousand times.
        for seed in 0..10_000 {
            let drawn = faults(seed, 10);
            for name in names() {
                assert!(drawn.iter().any(|it| it.kind.name() == name), "{name}");
            }
        }
    }

    #[test]
    fn what_comes_together_can_be_told_apart() {
        for round in (0..100)
            .flat_map(|seed| draw(seed, 10))
            .flat_map(|it| it.rounds)
        {
            if let [first, second] = round[..] {
                assert!(first.kind.goes_with(second.kind), "{round:?}");
            }
        }
        let (loss, cut) = (Kind::Loss { percent: 10 }, Kind::Partition { others: 1 });
        assert!(!loss.goes_with(cut));
        assert!(!Kind::StateLost.goes_with(Kind::StateLost));
        assert!(Kind::StateLost.goes_with(loss));
        let refuses = Kind::DiskRefuses { restarts: false };
        // Two of three voters would be without a vote, or a file that cannot be written be deleted.
        assert!(!Kind::StateLost.goes_with(refuses));
        assert!(!refuses.goes_with(Kind::DiskFull { restarts: false }));
        assert!(refuses.goes_with(Kind::Killed));
        // Either would end the other's cut.
        assert!(!Kind::Stalled { ms: 0 }.goes_with(loss));
    }

    #[test]
    fn a_member_is_stopped_for_longer_than_the_ttl() {
        let drawn = faults(1, 200);
        let mut stops = drawn.iter().filter(|it| it.kind == Kind::Stopped);
        assert!(stops.all(|it| it.ends_ms - it.begins_ms > TTL_MS));
    }

    #[test]
    fn voters_go_on_before_the_holder_has_lost_its_tenure_and_it_is_cut_off_until_it_has() {
        for fault in faults(1, 200) {
            let Kind::Stalled { ms } = fault.kind else {
                continue;
            };
            // It was to be renewed when a third of the ttl was over, and they had just heard so.
            assert!(ms < TTL_MS * 2 / 3, "{fault:?}");
            assert!(fault.ends_ms - fault.begins_ms > ms + TTL_MS, "{fault:?}");
        }
    }
}
