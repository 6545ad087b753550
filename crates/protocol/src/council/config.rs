//! The size of a council, the way in which it is elected, and the length of its lease.

use super::{Coin, Estimate};
use crate::config::{ConfigError, require, require_at_least, require_some_time};
use crate::{Duration, MemberId};

/// The greatest number of seats of one class: a heartbeat has one bit for each.
pub const MOST_SEATS: u32 = 64;
/// The greatest number of rounds that a host can be made to remember.
pub const MOST_DEPTH: usize = 4;
/// The number of heartbeats that must fit into a lease: one that is lost, and the answer to the
/// next.
const BEATS_IN_A_LEASE: u64 = 2;

/// The configuration, the same for the centre and all hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The member that hosts accept as the centre. `None`: any caller, which can be any member that
    /// has the group's key.
    pub centre: Option<MemberId>,
    /// True if this centre gives way to any other: it is a guest that elects once. Hosts do not
    /// leave a centre whose seats may still be held for a guest. They return from a guest to their
    /// centre when it sends again.
    pub yields: bool,
    /// The councils, one for each class of hosts; a single one if all hosts are alike. The class of
    /// a host is given when it is created ([`Council::host`](super::Council::host)).
    pub chambers: Vec<Chamber>,
    /// The algorithm that draws representatives.
    pub algorithm: Algorithm,
    /// The centre's knowledge of the number of hosts, in each class.
    pub knowledge: Knowledge,
    /// The search for that number.
    pub search: Search,
    /// The source of the hosts' draws.
    pub coin: Coin,
    /// Time to wait for replies: more than a round trip. Later replies are not counted.
    pub round: Duration,
    /// The lease by which the council is kept after its election. `None`: it is elected once,
    /// without a lease.
    pub lease: Option<Lease>,
}

/// One council.
#[derive(Debug, Clone, PartialEq)]
pub struct Chamber {
    /// `[L..U]`.
    pub seats: Seats,
    /// The least number of seats that are left without recruitment: when a seat falls empty and
    /// fewer are left, others are recruited. From `L` to `U`.
    pub keep: u32,
    /// `c` by the number of hosts already seated: the first for a whole council `[L..U]`, the one
    /// at `s` for the recruitment of `[keep - s .. U - s]` others. Must be less than one more than
    /// the greatest number wanted; otherwise a draw might leave all hosts in for ever, unless
    /// messages get lost ([`Config::check_where_heard`]).
    pub c: Vec<f64>,
}

/// The algorithm that draws representatives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Every host draws anew in each round (section IV).
    Naive,
    /// A host that drew a no stays out; after an undershoot all reply and are counted (section V).
    Basic,
    /// As basic, but after an undershoot the centre sends the number that it knows (section V-A).
    SkipReset,
    /// Every host draws twice, and the centre takes the better draw (section V-B).
    Choice(Pick, Reset),
    /// After an undershoot the hosts draw again that were active before it (section VI).
    History {
        /// The number of rounds that a host remembers, from 1 to [`MOST_DEPTH`]. One is enough
        /// while hosts neither come nor go. If many hosts have gone and several draws find too few,
        /// the centre returns to the round before, and at last to all hosts ([`Search::Guarded`]).
        depth: u8,
    },
    /// The best hosts, by thresholds on their priority (ours).
    Priority,
    /// Nested masks of 16 bits (Bolot, Turletti and Wakeman): the hosts of the first mask with
    /// enough replies are elected, `U` of them at most.
    Bolot,
}

/// The draw that the centre takes if neither gives a council.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// The smaller of those above `U`. The centre starts over only if both are below `L`.
    SmallestOvershoot,
    /// Always the first.
    First,
}

/// The step after an undershoot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    /// All hosts reply and are counted.
    Polled,
    /// The centre sends the number that it knows.
    Skipped,
}

/// The centre's knowledge of the number of hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Knowledge {
    /// The number is configured.
    Told(u32),
    /// Unknown: all hosts reply once, and the centre counts. In a large group that is a storm.
    Polled,
    /// Unknown, and the centre must not ask all: it begins with a high number, and lowers it after
    /// each undershoot.
    Estimated(Estimate),
}

/// The search for the number of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// As in Fig. 16: a lower number after each undershoot, whatever was received before, and every
    /// host draws by the centre's number. The centre never doubts a configured or counted number. A
    /// poll of all that finds too few is repeated at once. For the simulator, where the result
    /// follows the distribution of the theory.
    Printed,
    /// A search that avoids storms:
    ///
    /// - The centre uses the replies of all draws together, and never goes down by more than a step
    ///   of the [`Estimate`].
    /// - It begins anew after a rest if no host replies to a poll, or too few reply to several.
    /// - It drops a number that draw after draw contradicts.
    /// - A host that has missed calls steps down by itself from its last number, or from the first
    ///   estimate if it has not received the centre for a lease.
    ///
    /// Unsuited for algorithms that have all reply after an undershoot: they are storms by
    /// themselves.
    Guarded,
}

/// The way in which a council is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The interval of the centre's heartbeats. Seated hosts answer.
    pub beat: Duration,
    /// The length of a lease. A host that was silent for longer has lost its seat; a host that has
    /// not received the centre for longer gives its seat up.
    pub lasts: Duration,
    /// The action if too few hosts are left.
    pub refill: Refill,
}

/// The action if too few hosts are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refill {
    /// Seated hosts stay, and the missing ones are drawn from the others.
    TopUp,
    /// A new council is elected, as in the paper.
    Restart,
}

impl Chamber {
    /// Councils of `seats`, topped up when one more loss would make them too small, with `c` at two
    /// thirds of the way from the least to the most (section V). A known optimum can replace that
    /// `c`.
    pub fn new(seats: Seats) -> Self {
        let keep = seats.least.saturating_add(1).min(seats.most);
        let mut chamber = Self { seats, keep, c: Vec::new() };
        let wanted = (0..keep).map_while(|seated| chamber.wanted(seated));
        chamber.c = wanted.map(two_thirds).collect();
        chamber
    }

    /// The number of hosts to draw if `seated` are seated already; `None` if they are enough.
    pub fn wanted(&self, seated: u32) -> Option<Seats> {
        let least = match seated {
            0 => self.seats.least,
            1.. => self.keep.checked_sub(seated)?,
        };
        let most = self.seats.most.checked_sub(seated)?;
        (least >= 1 && least <= most).then_some(Seats { least, most })
    }

    /// The average number of hosts that a draw is to leave if `seated` are seated: as configured,
    /// or by the two-thirds rule.
    pub fn c(&self, seated: u32) -> f64 {
        let given = self.c.get(seated as usize).copied();
        given.or_else(|| self.wanted(seated).map(two_thirds)).unwrap_or(1.0)
    }

    fn check(&self, algorithm: Algorithm, heard: f64) -> Result<(), ConfigError> {
        let Seats { least, most } = self.seats;
        let is_range = 1 <= least && least <= most && most <= MOST_SEATS;
        require(is_range, "seats", "from 1 to 64, the first not above the second")?;
        require(self.seats.contain(self.keep), "keep", "from the least to the most seats")?;
        let range = if heard < 1.0 {
            "above 0, and c times the share of arriving replies less than the most seats wanted plus 1"
        } else {
            "above 0 and less than the most seats wanted plus 1"
        };
        for (seated, c) in (0..).zip(&self.c) {
            let Some(wanted) = self.wanted(seated) else {
                let range = "one for each number of seats below keep";
                return Err(ConfigError::OutOfRange { field: "list of c", range });
            };
            let ends = match algorithm {
                Algorithm::Naive | Algorithm::Priority | Algorithm::Bolot => c.is_finite(),
                Algorithm::Basic
                | Algorithm::SkipReset
                | Algorithm::Choice(_, _)
                | Algorithm::History { .. } => *c < (f64::from(wanted.most) + 1.0) / heard,
            };
            require(*c > 0.0 && ends, "c", range)?;
        }
        Ok(())
    }
}

/// Too few cost two more rounds, too many cost one.
fn two_thirds(wanted: Seats) -> f64 {
    let (least, most) = (f64::from(wanted.least), f64::from(wanted.most));
    least + 2.0 * (most - least) / 3.0
}

impl Algorithm {
    /// Choice as in the paper's Fig. 11.
    pub const CHOICE: Self = Self::Choice(Pick::SmallestOvershoot, Reset::Skipped);
    /// History as in the paper.
    pub const HISTORY: Self = Self::History { depth: 1 };

    /// The number of coins that a host draws in a round.
    pub(super) fn draws(self) -> u8 {
        if matches!(self, Self::Choice(_, _)) { 2 } else { 1 }
    }
}

impl Config {
    /// One council, elected once.
    pub fn once(seats: Seats, algorithm: Algorithm, knowledge: Knowledge, round: Duration) -> Self {
        Self {
            centre: None,
            yields: false,
            chambers: vec![Chamber::new(seats)],
            algorithm,
            knowledge,
            search: Search::Printed,
            coin: Coin::Private,
            round,
            lease: None,
        }
    }

    /// One council that is kept, out of up to `hosts`, on a network where a round trip takes less
    /// than `round`.
    pub fn field(seats: Seats, hosts: u32, round: Duration) -> Self {
        let knowledge = Knowledge::Estimated(Estimate::aggressive(hosts));
        Self {
            search: Search::Guarded,
            lease: Some(Lease { beat: round * 5, lasts: round * 15, refill: Refill::TopUp }),
            ..Self::once(seats, Algorithm::SkipReset, knowledge, round)
        }
    }

    /// Checks that this configuration can work, whatever messages are lost.
    ///
    /// # Errors
    /// Names the first option that cannot work.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_where_heard(1.0)
    }

    /// Checks that this configuration can work if `heard` is the probability that a host receives
    /// the centre and the centre receives its reply. The fewer replies arrive, the greater `c` may
    /// be, and is best.
    ///
    /// # Errors
    /// Names the first option that cannot work.
    pub fn check_where_heard(&self, heard: f64) -> Result<(), ConfigError> {
        let is_number = (1..=usize::from(u16::MAX)).contains(&self.chambers.len());
        require(is_number, "number of classes", "from 1 to 65535")?;
        for chamber in &self.chambers {
            chamber.check(self.algorithm, heard)?;
            if let Knowledge::Estimated(estimate) = self.knowledge {
                estimate.check(chamber.seats)?;
            }
        }
        if let Algorithm::History { depth } = self.algorithm {
            let is_depth = (1..=MOST_DEPTH).contains(&usize::from(depth));
            require(is_depth, "depth of history", "from 1 to 4")?;
        }
        require(self.knowledge != Knowledge::Told(0), "number of hosts", "1 or more")?;
        require_some_time("round", Some(self.round))?;
        self.lease.map_or(Ok(()), |lease| lease.check(self.round))
    }

    /// The steps by which a host goes down by itself. `None`: it draws by the centre's number.
    pub fn steps(&self) -> Option<Estimate> {
        let is_to = match (self.search, self.algorithm) {
            (Search::Printed, _) => false,
            (Search::Guarded, Algorithm::Basic | Algorithm::Choice(_, Reset::Polled)) => false,
            (Search::Guarded, Algorithm::Bolot) => false, // its numbers are masks
            (
                Search::Guarded,
                Algorithm::Naive
                | Algorithm::SkipReset
                | Algorithm::Choice(_, Reset::Skipped)
                | Algorithm::History { .. }
                | Algorithm::Priority,
            ) => true,
        };
        let steps = match self.knowledge {
            Knowledge::Polled => None,
            Knowledge::Told(hosts) => Some(Estimate::conservative(hosts)),
            Knowledge::Estimated(estimate) => Some(estimate),
        };
        let fits = |it: &Estimate| self.chambers.iter().all(|chamber| it.is_above(chamber.seats));
        steps.filter(|it| is_to && fits(it))
    }

    /// The council of a class.
    pub(super) fn chamber(&self, class: u16) -> Option<&Chamber> {
        self.chambers.get(usize::from(class))
    }
}

impl Lease {
    fn check(&self, round: Duration) -> Result<(), ConfigError> {
        require_some_time("beat", Some(self.beat))?;
        let least = self.beat * BEATS_IN_A_LEASE + round;
        require_at_least("lease", self.lasts, ("2 x beat and a round", least))
    }
}

/// `[L..U]`: the allowed number of seats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seats {
    /// `L`: the least number of seats. At least 1.
    pub least: u32,
    /// `U`: the greatest number of seats.
    pub most: u32,
}

/// The centre's verdict on a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Fewer than `L`.
    Undershoot,
    /// From `L` to `U`.
    Council,
    /// More than `U`.
    Overshoot,
}

impl Seats {
    /// From `least` to `most`.
    pub const fn new(least: u32, most: u32) -> Self {
        Self { least, most }
    }

    /// True if `number` seats are a council.
    pub fn contain(self, number: u32) -> bool {
        (self.least..=self.most).contains(&number)
    }

    pub(super) fn verdict(self, count: u32) -> Verdict {
        if count < self.least {
            Verdict::Undershoot
        } else if count <= self.most {
            Verdict::Council
        } else {
            Verdict::Overshoot
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Algorithm, Chamber, Config, Knowledge};
    use crate::Duration;
    use crate::council::Seats;

    fn good() -> Config {
        Config::field(Seats::new(4, 8), 100_000, Duration::from_secs(1))
    }

    #[test]
    fn a_council_is_topped_up_before_it_becomes_too_small() {
        let chamber = Chamber::new(Seats::new(4, 8));
        assert_eq!(chamber.keep, 5);
        assert_eq!(chamber.wanted(0), Some(Seats::new(4, 8)));
        assert_eq!(chamber.wanted(3), Some(Seats::new(2, 5)));
        assert_eq!(chamber.wanted(4), Some(Seats::new(1, 4)));
        assert_eq!(chamber.wanted(5), None);
        assert_eq!(chamber.c.len(), 5);
        assert!((chamber.c(0) - 20.0 / 3.0).abs() < 1e-12);
        assert!((chamber.c(3) - 4.0).abs() < 1e-12);
        let single = Chamber::new(Seats::new(1, 1));
        assert_eq!((single.keep, single.c.as_slice()), (1, &[1.0][..]));
    }

    #[test]
    fn an_invalid_option_is_refused_by_name() {
        let check = |change: fn(&mut Config), error: &str| {
            let mut config = good();
            change(&mut config);
            assert_eq!(config.check().unwrap_err().to_string(), error);
        };
        assert_eq!(good().check(), Ok(()));
        let seats = "seats is out of range: choose from 1 to 64, the first not above the second";
        check(|it| it.chambers[0].seats = Seats::new(0, 8), seats);
        check(|it| it.chambers[0].seats = Seats::new(9, 8), seats);
        check(|it| it.chambers[0].seats = Seats::new(9, 65), seats);
        check(
            |it| it.chambers[0].keep = 9,
            "keep is out of range: choose from the least to the most seats",
        );
        let c = "c is out of range: choose above 0 and less than the most seats wanted plus 1";
        check(|it| it.chambers[0].c[0] = 9.0, c);
        check(|it| it.chambers[0].c[0] = f64::NAN, c);
        check(|it| it.chambers[0].c[4] = 5.0, c);
        let heard = |c: f64, heard: f64| {
            let mut config = good();
            config.chambers[0].c[0] = c;
            config.check_where_heard(heard)
        };
        assert_eq!(heard(9.0, 0.9), Ok(()));
        assert_eq!(heard(1e9, 0.0), Ok(()));
        for (c, share) in
            [(9.0, 1.0), (10.0, 0.9), (0.0, 0.5), (f64::NAN, 0.0), (f64::INFINITY, 0.0)]
        {
            assert!(heard(c, share).is_err(), "{c} {share}");
        }
        check(
            |it| it.chambers[0].c.push(1.0),
            "list of c is out of range: choose one for each number of seats below keep",
        );
        check(
            |it| it.chambers.clear(),
            "number of classes is out of range: choose from 1 to 65535",
        );
        check(
            |it| it.algorithm = Algorithm::History { depth: 5 },
            "depth of history is out of range: choose from 1 to 4",
        );
        check(
            |it| it.knowledge = Knowledge::Told(0),
            "number of hosts is out of range: choose 1 or more",
        );
        check(|it| it.round = Duration::ZERO, "round is 0s: raise round");
        check(
            |it| it.lease.as_mut().unwrap().lasts = Duration::from_secs(10),
            "lease 10s is below 2 x beat and a round 11s: raise lease",
        );
    }
}
