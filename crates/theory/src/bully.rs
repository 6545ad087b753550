//! The bully: a member that misses the leader asks every better member, and yields to any that
//! answers.
//!
//! Source    lecture slides CSE 486/586 (University at Buffalo)
//! Assumes   `n` members, the best included even when it is down; constant message delay `d`; an
//!           answer time-out `a > 2d`; no member in office at the start; messages that arrive at
//!           the same instant are handled in the order in which they were sent, and members that
//!           act at the same instant act in order of priority, the lowest first
//! Counts    every message sent, those to dead members included
//!
//! The rules. A member that stands sends Election to every better member and waits `a` for an
//! answer; if it has no better member, or no answer came, it wins and sends Coordinator to every
//! worse member. A member that receives an Election answers it, and stands, unless it is standing
//! already or waiting for the Coordinator. A leader in office answers, and sends Coordinator to the
//! sender once more.
//!
//! The order of events within an instant matters only while the best is up. As assumed, a
//! Coordinator comes after the Elections of its instant, while their receivers still stand. If it
//! were handled first, its receiver would be asked again and stand again: messages would grow as
//! `n^3/3` instead of `n^2`. With the best down, the last Election arrives before the time-out that
//! makes the first Coordinator, and the order does not matter.

/// The initiator. Several initiators start at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initiator {
    /// The member of least priority.
    Lowest,
    /// The second best: with the best down, it will win.
    SecondHighest,
    /// One live member, each with the same probability: the mean over them.
    Random,
    /// Every live member.
    All,
}

/// The state of the member of greatest priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Best {
    /// It is alive, and wins.
    Up,
    /// It is dead, and the others do not know; the second best wins.
    Down,
}

/// The cost of an election by the bully.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BullyCost {
    /// All messages.
    pub messages: f64,
    /// Messages Election, to dead and live members.
    pub messages_election: f64,
    /// Messages Answer.
    pub messages_answer: f64,
    /// Messages Coordinator.
    pub messages_coordinator: f64,
    /// The number of Election messages that went to the dead best.
    pub messages_to_dead: f64,
    /// The time from the start until the last live member knows the result.
    pub delay: Delay,
}

impl BullyCost {
    /// The cost in Elections, Answers and Coordinators.
    fn new(messages: [f64; 3], messages_to_dead: f64, delay: Delay) -> Self {
        let [messages_election, messages_answer, messages_coordinator] = messages;
        Self {
            messages: messages_election + messages_answer + messages_coordinator,
            messages_election,
            messages_answer,
            messages_coordinator,
            messages_to_dead,
            delay,
        }
    }
}

/// A delay in message times and answer time-outs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delay {
    /// Message delays in a row.
    pub hops: f64,
    /// Answer time-outs in a row.
    pub timeouts: f64,
}

impl Delay {
    /// The delay in the unit of its arguments: `hops * d + timeouts * a`, for a message delay `d`
    /// and an answer time-out `a`.
    pub fn at(self, d: f64, a: f64) -> f64 {
        self.hops * d + self.timeouts * a
    }
}

/// Messages and delay of one election among `n` members, the best included.
///
/// Best down:
///
/// | initiator | Election | Answer | Coordinator | messages | delay, `n > 2` |
/// |---|---|---|---|---|---|
/// | lowest | `n(n-1)/2` | `(n-1)(n-2)/2` | `n-2` | `n^2 - n - 1` | `2d + a` |
/// | second highest | `1` | `0` | `n-2` | `n - 1` | `d + a` |
/// | random | `n(n+1)/6` | `n(n-2)/6` | `n-2` | `n(2n-1)/6 + n-2` | `d + a + d(n-2)/(n-1)` |
/// | all | as lowest | | | `n^2 - n - 1` | `d + a` |
///
/// The `s` live members from the initiator upwards stand, each once. Each asks those above it:
/// `s(s+1)/2` Elections, of which `s` go to the dead and the others are answered. The best but one
/// gets no answer, and wins `a` after it stood: at the start, or one hop later. Random: mean over
/// `s = 1..n-1`.
///
/// Best up:
///
/// | initiator | Election | Answer | Coordinator | messages | delay |
/// |---|---|---|---|---|---|
/// | lowest | `n(n-1)/2` | `n(n-1)/2` | `2n-3` | `n^2 + n - 3` | `2d` |
/// | second highest | `1` | `1` | `n-1` | `n + 1` | `2d` |
/// | random | `(n^2-1)/6` | `(n^2-1)/6` | `n-1 + (n-1)(n-2)/2n` | their sum | `d(2n-1)/n` |
/// | all | `n(n-1)/2` | `n(n-1)/2` | `2n-2` | `n^2 + n - 2` | `d` |
///
/// The `m` members from the initiator up to the best stand, each once: `m(m-1)/2` Elections, all
/// answered. The best wins at the first it hears and tells `n-1` members; each later Election finds
/// it in office and costs one Coordinator more: `m-2`, or `n-1` if all start and it wins at once.
/// Random: mean over `m = 1..n`; the best itself (`m = 1`) needs one hop, the others two.
///
/// # Panics
/// If `n < 2`: there is no best but one.
pub fn bully(n: u64, initiator: Initiator, best: Best) -> BullyCost {
    assert_two_members(n);
    match best {
        Best::Up => with_best_up(n, initiator),
        Best::Down => with_best_down(n, initiator),
    }
}

/// The best case of the slides: the second best starts and knows that the best is dead, so it asks
/// no other member: `n-2` messages Coordinator, one message time.
///
/// # Panics
/// If `n < 2`: there is no second best.
pub fn bully_if_best_known_dead(n: u64) -> BullyCost {
    assert_two_members(n);
    let delay = Delay { hops: hop_to_others(n), timeouts: 0.0 };
    BullyCost::new([0.0, 0.0, (n - 2) as f64], 0.0, delay)
}

fn with_best_down(n: u64, initiator: Initiator) -> BullyCost {
    let members = n as f64;
    let live = members - 1.0;
    let all = (members * live / 2.0, live * (live - 1.0) / 2.0, live);
    let random = (members * (members + 1.0) / 6.0, members * (members - 2.0) / 6.0, members / 2.0);
    let ((election, answer, to_dead), hops_until_winner_stands) = match initiator {
        Initiator::Lowest => (all, hop_to_others(n)),
        Initiator::All => (all, 0.0),
        Initiator::SecondHighest => ((1.0, 0.0, 1.0), 0.0),
        Initiator::Random => (random, (live - 1.0) / live),
    };
    let delay = Delay { hops: hops_until_winner_stands + hop_to_others(n), timeouts: 1.0 };
    BullyCost::new([election, answer, live - 1.0], to_dead, delay)
}

fn with_best_up(n: u64, initiator: Initiator) -> BullyCost {
    let members = n as f64;
    let others = members - 1.0;
    let all = members * others / 2.0;
    let of_random = (
        (members * members - 1.0) / 6.0,
        others * (members - 2.0) / (2.0 * members),
        (2.0 * members - 1.0) / members,
    );
    let (election, repeated_coordinator, hops) = match initiator {
        Initiator::Lowest => (all, members - 2.0, 2.0),
        Initiator::SecondHighest => (1.0, 0.0, 2.0),
        Initiator::Random => of_random,
        Initiator::All => (all, others, 1.0),
    };
    let coordinator = others + repeated_coordinator;
    BullyCost::new([election, election, coordinator], 0.0, Delay { hops, timeouts: 0.0 })
}

/// One hop, or none if the second best is the only live member.
fn hop_to_others(n: u64) -> f64 {
    if n > 2 { 1.0 } else { 0.0 }
}

fn assert_two_members(n: u64) {
    assert!(n >= 2, "bully among {n} members: need two or more");
}
