//! The bounds of a search: its members, clocks and faults.

use hustings_protocol::tenure::{Config, Durable};
use hustings_protocol::{Duration, MemberId};

/// The members, their clocks, and the bounds within which the search tries everything.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// The name of the bounds.
    pub name: &'static str,
    /// The number of voters: members 0, 1, ...
    pub voters: u64,
    /// The number of nominees that do not vote: the members after the voters.
    pub nominees: u64,
    /// The number of voters that are nominees too.
    pub standing_voters: u64,
    /// The rate of a voter's clock.
    pub voter_rate: Rate,
    /// The rate of a nominee's clock; it also applies to a member that is both.
    pub nominee_rate: Rate,
    /// The drift that nominees allow for.
    pub drift_ppm: u32,
    /// The ttl that nominees ask for, in units of their clocks.
    pub ttl: u64,
    /// A shorter ttl that a nominee may ask for from some time on.
    pub shorter_ttl: Option<u64>,
    /// The longest ttl that voters grant.
    pub max_ttl: u64,
    /// A lower `max_ttl` for voters that restart.
    pub lower_max_ttl: Option<u64>,
    /// The start time and knowledge of nominees other than the first.
    pub others: Others,
    /// The counter that the first voter has promised before the run begins.
    pub first_promised: u64,
    /// The duration of a run.
    pub ticks: u8,
    /// The highest counter of any ballot.
    pub counters: u64,
    /// The maximum number of ballots of one incarnation, if it has a bound of its own.
    pub ballots: Option<u8>,
    /// The maximum number of proposals of one incarnation.
    pub proposals: u64,
    /// The assumption about clocks.
    pub clocks: Clocks,
    /// The arrival of answers.
    pub answers: Answers,
    /// The maximum number of each fault.
    pub faults: Faults,
    /// If set, the first voter lost its disk before the run began. The others reported this
    /// counter, and all nominees know the counter with which it was initialised. The answers were
    /// recorded, and arrive first if that voter has to ask again.
    pub recorded: Option<u64>,
    /// The initial state of a voter that lost its disk, given the highest counter that a majority
    /// reports and the longest ttl that it may have granted.
    pub replacing: fn(u64, Duration) -> Durable,
}

/// The rate of a clock: `units` in `ticks`. Its reading is rounded down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// The number of units.
    pub units: u64,
    /// The number of ticks.
    pub ticks: u64,
}

impl Rate {
    /// The rate of real time.
    pub const REAL: Self = Self { units: 1, ticks: 1 };
}

/// The start of nominees other than the first. Bounds for wrong versions keep them inactive until
/// they matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Others {
    /// The first tick at which they may be asked to acquire.
    pub from: u8,
    /// The highest counter that the second nominee knows; the third knows one more, and so on.
    pub knowing: u64,
}

impl Others {
    /// They start at the beginning, like the first, and know nothing.
    pub const AT_ONCE: Self = Self { from: 0, knowing: 0 };

    /// They start from this tick on, and the second knows the first counter.
    pub const fn informed_from(tick: u8) -> Self {
        Self { from: tick, knowing: 1 }
    }
}

/// The assumption about clocks, which decides the properties that must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clocks {
    /// As tenure assumes: every promise must hold.
    WithinTheBound,
    /// Two members may hold tenure at once, and a tenure may begin after one with a higher fence.
    /// But no two tenures have the same fence, so a resource can distinguish them.
    BeyondTheBound,
}

/// The arrival of voters' answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// In any order.
    OneByOne,
    /// In any order, but refusals never arrive.
    NoRefusals,
    /// Refusals arrive one by one; other answers arrive when they form a majority. A nominee only
    /// counts an answer that decides nothing, so that answer may as well arrive just before the
    /// deciding one.
    Majorities,
    /// Answers arrive when they form a majority, and refusals never arrive. No nominee can then
    /// distinguish voters: states that differ only in a permutation of voters are one.
    Together,
}

/// The maximum number of each fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Faults {
    /// A voter restarts.
    pub voter_restarts: u8,
    /// A nominee restarts.
    pub nominee_restarts: u8,
    /// A voter loses its disk, is initialised on purpose, and restarts.
    pub lost_disks: u8,
    /// A holder releases.
    pub releases: u8,
    /// A holder hands over.
    pub transfers: u8,
    /// A voter gets a forged request to promise a counter of another era.
    pub forgeries: u8,
}

impl Faults {
    /// No faults.
    pub const NONE: Self = Self {
        voter_restarts: 0,
        nominee_restarts: 0,
        lost_disks: 0,
        releases: 0,
        transfers: 0,
        forgeries: 0,
    };
}

impl Bounds {
    /// Three voters and two nominees with perfect clocks and no faults.
    pub const fn small() -> Self {
        Self {
            name: "small",
            voters: 3,
            nominees: 2,
            standing_voters: 0,
            voter_rate: Rate::REAL,
            nominee_rate: Rate::REAL,
            drift_ppm: 0,
            ttl: 1,
            shorter_ttl: None,
            max_ttl: 1,
            lower_max_ttl: None,
            others: Others::AT_ONCE,
            first_promised: 0,
            ticks: 2,
            counters: 2,
            ballots: None,
            proposals: 1,
            clocks: Clocks::WithinTheBound,
            answers: Answers::Together,
            faults: Faults::NONE,
            recorded: None,
            replacing: Durable::replacing,
        }
    }

    /// As `small`, with clocks at 1/2 and 3/2 of real time: the limits that nominees allow for.
    pub const fn drifting() -> Self {
        Self {
            ttl: 3,
            max_ttl: 3,
            voter_rate: Rate { units: 3, ticks: 2 },
            nominee_rate: Rate { units: 1, ticks: 2 },
            drift_ppm: 500_000,
            ticks: 3,
            ..Self::small()
        }
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = MemberId> + Clone + use<> {
        (0..self.voters + self.nominees).map(MemberId)
    }

    /// True for a nominee other than the first.
    fn is_other(&self, member: MemberId) -> bool {
        self.rank(member).is_some_and(|rank| rank > 0)
    }

    /// True if the member may be asked to acquire.
    pub(crate) fn may_begin(&self, member: MemberId, tick: u8) -> bool {
        self.stands(member) && (tick >= self.others.from || !self.is_other(member))
    }

    /// The number of nominees before it, if it is one.
    fn rank(&self, member: MemberId) -> Option<u64> {
        let mut nominees = self.members().filter(|id| self.stands(*id));
        nominees.position(|id| id == member).map(|rank| rank as u64)
    }

    /// The highest counter that it knows before it begins.
    pub(crate) fn knows(&self, member: MemberId) -> u64 {
        let Some(rank) = self.rank(member) else {
            return 0;
        };
        let told = match (rank, self.others.knowing) {
            (0, _) | (_, 0) => 0,
            (rank, knowing) => knowing + rank - 1,
        };
        told.max(self.recorded.map_or(0, |_| self.first_counter()))
    }

    /// The counter that the first voter has promised before the run begins.
    pub(crate) fn first_counter(&self) -> u64 {
        let replaced = |told| (self.replacing)(told, Duration(self.max_ttl)).counter;
        self.recorded.map_or(self.first_promised, replaced)
    }

    pub(crate) fn majority(&self) -> usize {
        self.voters as usize / 2 + 1
    }

    /// True if a permutation of voters makes no difference.
    pub(crate) fn is_symmetric(&self) -> bool {
        self.answers == Answers::Together && self.standing_voters == 0
    }

    pub(crate) fn votes(&self, member: MemberId) -> bool {
        member.0 < self.voters
    }

    pub(crate) fn stands(&self, member: MemberId) -> bool {
        member.0 < self.standing_voters || !self.votes(member)
    }
}

/// The bounds and the configurations derived from them.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) bounds: Bounds,
    /// Indexed by the shorter ttl and the lower `max_ttl`.
    configs: [[Config; 2]; 2],
}

impl Scope {
    pub(crate) fn new(bounds: Bounds) -> Self {
        let config = |ttl, max_ttl| Config {
            voters: (0..bounds.voters).map(MemberId).collect(),
            ttl: Duration(ttl),
            max_ttl: Duration(max_ttl),
            drift_ppm: bounds.drift_ppm,
            // Timers expire at any time.
            answer_within: Duration(1),
            back_off: Duration::ZERO,
        };
        let ttls = [bounds.ttl, bounds.shorter_ttl.unwrap_or(bounds.ttl)];
        let lower = bounds.lower_max_ttl.unwrap_or(bounds.max_ttl);
        let configs = ttls.map(|ttl| [config(ttl, bounds.max_ttl), config(ttl, lower)]);
        Self { bounds, configs }
    }

    pub(crate) fn config(&self, asks_for_less: bool, has_restarted: bool) -> &Config {
        &self.configs[usize::from(asks_for_less)][usize::from(has_restarted)]
    }
}
