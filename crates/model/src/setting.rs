//! How large a world is, and what may befall it.

use hustings_protocol::tenure::{Config, Durable};
use hustings_protocol::{Duration, MemberId};

/// The members, their clocks, and the bounds within which everything is tried.
#[derive(Debug, Clone)]
pub struct Setting {
    /// What it is called.
    pub name: &'static str,
    /// How many vote: members 0, 1, ...
    pub voters: u64,
    /// How many stand and do not vote: the members after the voters.
    pub nominees: u64,
    /// How many of the voters stand too.
    pub standing_voters: u64,
    /// How fast a voter's clock goes.
    pub voter_rate: Rate,
    /// How fast a nominee's clock goes; of a member that is both, this counts.
    pub nominee_rate: Rate,
    /// What nominees make of it.
    pub drift_ppm: u32,
    /// For how long nominees ask, in units of their clocks.
    pub ttl: u64,
    /// If so, a nominee may at some time begin to ask for less.
    pub shorter_ttl: Option<u64>,
    /// The most that voters grant.
    pub max_ttl: u64,
    /// If so, voters that restart find that they may grant less.
    pub lower_max_ttl: Option<u64>,
    /// When nominees but the first begin, and what they know by then.
    pub others: Others,
    /// The counter that the first voter has promised before it all begins.
    pub first_promised: u64,
    /// How long it lasts.
    pub ticks: u8,
    /// The highest counter of any ballot.
    pub counters: u64,
    /// The most ballots of one incarnation, if that has a bound of its own.
    pub ballots: Option<u8>,
    /// The most proposals of one incarnation.
    pub proposals: u64,
    /// What clocks are taken for.
    pub clocks: Clocks,
    /// How answers arrive.
    pub answers: Answers,
    /// What may happen, and how often.
    pub faults: Faults,
    /// If so, the first voter lost its disk before it all begins: the others told it this counter, and all nominees know
    /// with what it was initialised. The answers were recorded, and arrive first if that voter has to ask again.
    pub recorded: Option<u64>,
    /// With what a voter that lost its disk is initialised, given the highest counter that a majority
    /// tells, and the most that it may have granted.
    pub replacing: fn(u64, Duration) -> Durable,
}

/// How far a clock advances: so many units in so many ticks. What it says is rounded down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// So many units.
    pub units: u64,
    /// In so many ticks.
    pub ticks: u64,
}

impl Rate {
    /// That of real time.
    pub const REAL: Self = Self { units: 1, ticks: 1 };
}

/// When nominees but the first begin. Settings for wrong versions keep them out of the way until they
/// matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Others {
    /// The first tick at which they may be asked to acquire.
    pub from: u8,
    /// The highest counter that the second was told of; the third of one more, and so on.
    pub knowing: u64,
}

impl Others {
    /// At the beginning, like the first, and knowing nothing.
    pub const AT_ONCE: Self = Self {
        from: 0,
        knowing: 0,
    };

    /// From this tick on, and the second was told of the first counter.
    pub const fn informed_from(tick: u8) -> Self {
        Self {
            from: tick,
            knowing: 1,
        }
    }
}

/// What must hold depends on clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clocks {
    /// As tenure assumes: everything that it promises must hold.
    WithinTheBound,
    /// Two may hold at once, and a tenure may begin after one with a higher fence; but no two have the
    /// same fence, so that a resource can tell them apart.
    BeyondTheBound,
}

/// How answers of voters arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// As they like.
    OneByOne,
    /// As they like, but for refusals, which never arrive.
    NoRefusals,
    /// Refusals one by one, and of the others those that make a majority together, as of an answer that
    /// decides nothing the nominee keeps no more than that it came: it may as well come just before the
    /// one that decides.
    Majorities,
    /// Those that make a majority together, and no refusals. No nominee then knows one voter from
    /// another: states that differ in which voter is which are one.
    Together,
}

/// How often what may happen.
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
    /// A voter is asked to promise a counter of another era.
    pub forgeries: u8,
}

impl Faults {
    /// Nothing ever happens.
    pub const NONE: Self = Self {
        voter_restarts: 0,
        nominee_restarts: 0,
        lost_disks: 0,
        releases: 0,
        transfers: 0,
        forgeries: 0,
    };
}

impl Setting {
    /// Three voters and two nominees with perfect clocks, and nothing ever happens to them.
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

    /// The same, with clocks half as slow and half as fast again as real time: as far as nominees allow for.
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

    /// Whether it is a nominee other than the first.
    fn is_other(&self, member: MemberId) -> bool {
        self.rank(member).is_some_and(|rank| rank > 0)
    }

    /// Whether it may be asked to acquire.
    pub(crate) fn may_begin(&self, member: MemberId, tick: u8) -> bool {
        self.stands(member) && (tick >= self.others.from || !self.is_other(member))
    }

    /// How many nominees come before it, if it is one.
    fn rank(&self, member: MemberId) -> Option<u64> {
        let mut nominees = self.members().filter(|id| self.stands(*id));
        nominees.position(|id| id == member).map(|rank| rank as u64)
    }

    /// The highest counter that it was told of before it began.
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

    /// The counter that the first voter has promised before it all begins.
    pub(crate) fn first_counter(&self) -> u64 {
        let replaced = |told| (self.replacing)(told, Duration(self.max_ttl)).counter;
        self.recorded.map_or(self.first_promised, replaced)
    }

    pub(crate) fn majority(&self) -> usize {
        self.voters as usize / 2 + 1
    }

    /// Whether it makes no difference which voter is which.
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

/// A setting, and what follows from it.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) setting: Setting,
    /// Of members that ask for the ttl or less, under voters that may grant the most or less.
    configs: [[Config; 2]; 2],
}

impl Stage {
    pub(crate) fn new(setting: Setting) -> Self {
        let config = |ttl, max_ttl| Config {
            voters: (0..setting.voters).map(MemberId).collect(),
            ttl: Duration(ttl),
            max_ttl: Duration(max_ttl),
            drift_ppm: setting.drift_ppm,
            // Timers ring at any time.
            answer_within: Duration(1),
            back_off: Duration::ZERO,
        };
        let ttls = [setting.ttl, setting.shorter_ttl.unwrap_or(setting.ttl)];
        let lower = setting.lower_max_ttl.unwrap_or(setting.max_ttl);
        let configs = ttls.map(|ttl| [config(ttl, setting.max_ttl), config(ttl, lower)]);
        Self { setting, configs }
    }

    pub(crate) fn config(&self, asks_for_less: bool, has_restarted: bool) -> &Config {
        &self.configs[usize::from(asks_for_less)][usize::from(has_restarted)]
    }
}
