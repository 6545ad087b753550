//! Elections on a one-way ring: Chang and Roberts, and the modified ring.
//!
//! Source    Chang and Roberts 1979; lecture slides CSE 486/586 (University at Buffalo)
//! Assumes   `n` live members, unit delay for each hop, `k` initiators that start at the same
//!           instant
//! Counts    every hop as one message
//!
//! Both protocols are a contest of `k` tokens that move in step. A token that meets a better one is
//! discarded; the winner's goes all the way round, and the result goes round once more. They differ
//! in what a token stands for:
//!
//! - in the modified ring for its initiator, so only the priorities of the initiators decide the
//!   contest;
//! - in Chang and Roberts for the best member of the arc from its initiator to the next one, and it
//!   must come back to *that member*, which sits some hops behind the initiator: its offset.
//!
//! Hence in each [`Order`]: Chang-Roberts = modified ring + offset of the best.
//!
//! | | contest | offset |
//! |---|---|---|
//! | best | `n + k - 1` | `0` |
//! | random | `n H_k` | `(n-k)/(k+1)` |
//! | worst | `kn - k(k-1)/2` | `n - k` |

use crate::harmonic::harmonic;

/// The arrangement of priorities and initiators on the ring. Positions run from 0 in the direction
/// of travel.
///
/// The layouts named here reach the extreme of the messages and of the delay at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The fewest messages over all arrangements of the priorities and all placements of the
    /// initiators.
    ///
    /// Both protocols: initiators at positions `0..k` with increasing priorities, the best of the
    /// group at `k-1`, all other members lower.
    Best,
    /// The most messages over all arrangements of the priorities and all placements of the
    /// initiators.
    ///
    /// Chang-Roberts: one initiator at position 0, its arc `0..=n-k` with the best of the group at
    /// the end, `n-k`; the others at `n-k+1..n` with decreasing priorities, all above the
    /// non-initiators.
    ///
    /// Modified ring: initiators at `0..k` with decreasing priorities.
    Worst,
    /// The mean over uniformly random arrangements and uniformly random sets of `k` initiators.
    Random,
}

/// The cost of an election on a ring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RingCost {
    /// All messages.
    pub messages: f64,
    /// Messages `election`.
    pub messages_election: f64,
    /// Messages that announce the result: `elected` by Chang and Roberts, `coordinator` on the
    /// modified ring.
    pub messages_announcement: f64,
    /// Hops until the election is over. By Chang and Roberts: until the last member knows the
    /// result. On the modified ring: until the initiator has its `coordinator` message back, signed
    /// by the coordinator; only then is the election a success. (The last other member signs one
    /// hop before.)
    pub delay_hops: f64,
}

impl RingCost {
    fn new(election: f64, announcement: f64, delay_hops: f64) -> Self {
        Self {
            messages: election + announcement,
            messages_election: election,
            messages_announcement: announcement,
            delay_hops,
        }
    }
}

/// Chang and Roberts: contest + offset `election` messages, then `n` messages `elected`.
///
/// | | messages | one initiator | all initiators |
/// |---|---|---|---|
/// | best | `2n + k - 1` | `2n` | `3n - 1` |
/// | random | `n H_k + n + (n-k)/(k+1)` | `(5n-1)/2` | `n H_n + n` |
/// | worst | `2n + kn - k(k+1)/2` | `3n - 1` | `n(n+1)/2 + n` |
///
/// Random: cut the ring at any link. Upstream of it, the gaps to the first initiator, from there to
/// the second, and so on to the `j`-th, are exchangeable; the `j`-th token gets across the link if
/// the best member of those `j` gaps is in its own, so with probability `1/j`: `H_k` for each link,
/// `n H_k` in all. Then the winning token runs on to the best itself; from the best backwards,
/// `(n-k)/(k+1)` non-initiators come on average before the first of `k` initiators among `n`.
///
/// Best, worst: the winning token makes `n` hops and the offset, every other one at least one hop
/// and at most its distance to the best. Distances are distinct and below `n`: together with the
/// offset, itself such a distance, at most `(n-1) + ... + (n-k)`.
///
/// Delay: offset, once round, and `n - 1` more hops to the member before the best: `2n - 1 +
/// offset`.
///
/// # Panics
/// Unless `1 <= k <= n`.
pub fn chang_roberts(n: u64, k: u64, order: Order) -> RingCost {
    assert_initiators(n, k);
    let round = n as f64;
    let offset = offset_of_the_best(n, k, order);
    let election = contest(n, k, order) + offset;
    RingCost::new(election, round, 2.0 * round - 1.0 + offset)
}

/// Chang and Roberts literally as on the slide, where starting an election does not make the
/// initiator a participant. All `n` members start at once; mean over the arrangements of the
/// priorities.
///
/// Messages: `2n H_n + n + 1`, about twice those of [`chang_roberts`], and the best is elected
/// twice.
///
/// Ids travel `n H_n` hops in the mean, as with participants. After one hop every member hears its
/// predecessor, and one that is better than its predecessor sends its own id once more: a second
/// copy, which goes as far as the first. Second copies of all ids would make `n H_n` hops; missing
/// are those of ids below their predecessor's, which go `j` hops or more with probability `1/j -
/// 1/(j+1)`, `j < n`: `n (1 - 1/n)` hops. So `2n H_n - (n-1)` election messages, and `2n` elected.
///
/// Delay: as with participants, `2n - 1`; the second result arrives one hop later and changes
/// nothing.
///
/// # Panics
/// If `n < 2`: alone, a member has no predecessor.
pub fn chang_roberts_literal(n: u64) -> RingCost {
    assert!(n >= 2, "ring of {n} members: the literal reading needs two or more");
    let round = n as f64;
    let election = 2.0 * round * harmonic(n) - (round - 1.0);
    RingCost::new(election, 2.0 * round, 2.0 * round - 1.0)
}

/// Modified ring without failures: contest, then `n` messages `coordinator`.
///
/// | | messages | one initiator | all initiators |
/// |---|---|---|---|
/// | best | `2n + k - 1` | `2n` | `3n - 1` |
/// | random | `n H_k + n` | `2n` | `n H_n + n` |
/// | worst | `n + kn - k(k-1)/2` | `2n` | `n(n+1)/2 + n` |
///
/// Random: the token of the `j`-th initiator upstream of a link gets across it if this initiator is
/// the best of those `j`, so with probability `1/j`: `H_k` for each link, `n H_k` in all.
///
/// Best, worst: the winning token makes `n` hops, every other one at least one and at most its
/// distance to the best initiator; these are distinct and below `n`: at most `(n-1) + ... +
/// (n-k+1)`.
///
/// Delay: once round for the election, once for the coordinator, `2n`, in any order.
///
/// # Panics
/// Unless `1 <= k <= n`.
pub fn modified_ring(n: u64, k: u64, order: Order) -> RingCost {
    assert_initiators(n, k);
    let round = n as f64;
    RingCost::new(contest(n, k, order), round, 2.0 * round)
}

/// The failure in a modified ring election with one initiator, which is not the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The best, just after it has signed the `election` message and passed it on.
    BestAfterSigning,
    /// The initiator, just after it has sent its `election` message.
    InitiatorAfterElection,
    /// The initiator, just after it has sent its `coordinator` message.
    InitiatorAfterCoordinator,
}

/// Modified ring, one initiator, `n` members of which one dies; a hop over the dead one is free.
///
/// | | election | coordinator | messages |
/// |---|---|---|---|
/// | best after signing | `n + (n-1)` | `(n-1) + (n-1)` | `4n - 3` |
/// | initiator after election | `n + (n-1)` | `n-1` | `3n - 2` |
/// | initiator after coordinator | `n + (n-1)` | `n + (n-1)` | `4n - 2` |
///
/// The best: its name is missing from the `coordinator` message, which comes back after `n-1` hops,
/// and the initiator starts anew among `n-1`. The initiator: its successor, after `n` hops of the
/// orphan, finds its own name in the list, and starts anew among `n-1`.
///
/// Delay: there is at most one message in flight, so there are as many hops as messages.
///
/// # Panics
/// If `n < 2`: the initiator and the best are two.
pub fn modified_ring_with_failure(n: u64, failure: Failure) -> RingCost {
    assert!(n >= 2, "ring of {n} members: the initiator and the best are two");
    let before = n as f64;
    let after = before - 1.0;
    let election = before + after;
    let coordinator = match failure {
        Failure::BestAfterSigning => after + after,
        Failure::InitiatorAfterElection => after,
        Failure::InitiatorAfterCoordinator => before + after,
    };
    RingCost::new(election, coordinator, election + coordinator)
}

/// Hops of `k` tokens until the winner's has been round once and the others are discarded.
fn contest(n: u64, k: u64, order: Order) -> f64 {
    let (round, tokens) = (n as f64, k as f64);
    match order {
        Order::Best => round + tokens - 1.0,
        Order::Worst => round * tokens - tokens * (tokens - 1.0) / 2.0,
        Order::Random => round * harmonic(k),
    }
}

/// Hops from the nearest initiator upstream of the best to the best.
fn offset_of_the_best(n: u64, k: u64, order: Order) -> f64 {
    let (round, tokens) = (n as f64, k as f64);
    match order {
        Order::Best => 0.0,
        Order::Worst => round - tokens,
        Order::Random => (round - tokens) / (tokens + 1.0),
    }
}

fn assert_initiators(n: u64, k: u64) {
    assert!(1 <= k && k <= n, "{k} initiators in a ring of {n} members: need 1 to n");
}
