//! The closed forms of the rings against all cases: every arrangement of priorities, every set of
//! initiators, each played message by message on a ring too simple to share the mistakes of a
//! formula.

mod play;

use hustings_theory::harmonic::harmonic;
use hustings_theory::rings::{
    Failure, Order, RingCost, chang_roberts, chang_roberts_literal, modified_ring,
    modified_ring_with_failure,
};
use play::{Played, Start, play_chang_roberts, play_modified_ring};

const LARGEST_RING: usize = 7;

/// All arrangements of the priorities `0..n`.
fn arrangements(n: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for priority in 0..n {
        all = all
            .iter()
            .flat_map(|shorter: &Vec<usize>| {
                (0..=priority).map(move |at| {
                    let mut longer = shorter.clone();
                    longer.insert(at, priority);
                    longer
                })
            })
            .collect();
    }
    all
}

/// Fewest, most and mean over all cases with `k` initiators, each number separately.
struct Extremes {
    least: Played,
    most: Played,
    mean: [f64; 3],
}

fn enumerate(n: usize, k: usize, play: impl Fn(&[usize], u32) -> Played) -> Extremes {
    let sets: Vec<u32> = (0..1 << n).filter(|set: &u32| set.count_ones() as usize == k).collect();
    let (mut least, mut most) = (None::<Played>, Played::default());
    let (mut sum, mut cases) = ([0; 3], 0);
    for priorities in arrangements(n) {
        for set in &sets {
            let played = play(&priorities, *set);
            let fewest = least.get_or_insert(played);
            fewest.election = fewest.election.min(played.election);
            fewest.result = fewest.result.min(played.result);
            fewest.delay = fewest.delay.min(played.delay);
            most.election = most.election.max(played.election);
            most.result = most.result.max(played.result);
            most.delay = most.delay.max(played.delay);
            sum[0] += played.election;
            sum[1] += played.result;
            sum[2] += played.delay;
            cases += 1;
        }
    }
    Extremes {
        least: least.expect("one case or more"),
        most,
        mean: sum.map(|sum| sum as f64 / f64::from(cases)),
    }
}

fn numbers(played: Played) -> [f64; 3] {
    [played.election, played.result, played.delay].map(|count| count as f64)
}

fn cost_numbers(cost: RingCost) -> [f64; 3] {
    assert_eq!(cost.messages, cost.messages_election + cost.messages_announcement);
    [cost.messages_election, cost.messages_announcement, cost.delay_hops]
}

fn assert_close(got: [f64; 3], expected: [f64; 3], case: &str) {
    for (got, expected) in got.into_iter().zip(expected) {
        assert!((got - expected).abs() < 1e-9, "{case}: {got}, not {expected}");
    }
}

fn every_ring() -> impl Iterator<Item = (usize, usize)> {
    (1..=LARGEST_RING).flat_map(|n| (1..=n).map(move |k| (n, k)))
}

#[test]
fn chang_roberts_by_enumeration() {
    for (n, k) in every_ring() {
        let all = enumerate(n, k, |priorities, set| {
            play_chang_roberts(priorities, set, Start::Participates)
        });
        let cost = |order| cost_numbers(chang_roberts(n as u64, k as u64, order));
        assert_eq!(cost(Order::Best), numbers(all.least), "best n={n} k={k}");
        assert_eq!(cost(Order::Worst), numbers(all.most), "worst n={n} k={k}");
        assert_close(cost(Order::Random), all.mean, &format!("n={n} k={k}"));
    }
}

#[test]
fn modified_ring_by_enumeration() {
    for (n, k) in every_ring() {
        let all = enumerate(n, k, |priorities, set| play_modified_ring(priorities, set, None));
        let cost = |order| cost_numbers(modified_ring(n as u64, k as u64, order));
        assert_eq!(cost(Order::Best), numbers(all.least), "best n={n} k={k}");
        assert_eq!(cost(Order::Worst), numbers(all.most), "worst n={n} k={k}");
        assert_close(cost(Order::Random), all.mean, &format!("n={n} k={k}"));
    }
}

#[test]
fn literal_slide_by_enumeration() {
    for n in 2..=LARGEST_RING {
        let all =
            enumerate(n, n, |priorities, set| play_chang_roberts(priorities, set, Start::Literal));
        let cost = cost_numbers(chang_roberts_literal(n as u64));
        assert_close(cost, all.mean, &format!("n={n}"));
    }
}

/// Priorities from a ranking: positions from the least to the greatest.
fn ranked(positions: impl Iterator<Item = usize>) -> Vec<usize> {
    let positions: Vec<usize> = positions.collect();
    let mut priorities = vec![0; positions.len()];
    for (priority, position) in positions.into_iter().enumerate() {
        priorities[position] = priority;
    }
    priorities
}

#[test]
fn documented_layouts_are_the_extremes() {
    for n in 1..=12 {
        for k in 1..=n {
            let first_k = (1 << k) - 1;
            let (members, initiators) = (n as u64, k as u64);
            let ring = |order| cost_numbers(chang_roberts(members, initiators, order));
            let modified = |order| cost_numbers(modified_ring(members, initiators, order));

            let increasing = ranked((k..n).chain(0..k));
            let played = play_chang_roberts(&increasing, first_k, Start::Participates);
            assert_eq!(numbers(played), ring(Order::Best), "n={n} k={k}");
            let played = play_modified_ring(&increasing, first_k, None);
            assert_eq!(numbers(played), modified(Order::Best), "n={n} k={k}");

            let decreasing = ranked((k..n).chain((0..k).rev()));
            let played = play_modified_ring(&decreasing, first_k, None);
            assert_eq!(numbers(played), modified(Order::Worst), "n={n} k={k}");

            let end = n - k;
            let worst = ranked((0..end).chain((end + 1..n).rev()).chain([end]));
            let set = (end + 1..n).fold(1, |set: u32, position| set | 1 << position);
            let played = play_chang_roberts(&worst, set, Start::Participates);
            assert_eq!(numbers(played), ring(Order::Worst), "n={n} k={k}");
        }
    }
}

#[test]
fn modified_ring_with_each_failure() {
    for n in 2..=6 {
        for failure in [
            Failure::BestAfterSigning,
            Failure::InitiatorAfterElection,
            Failure::InitiatorAfterCoordinator,
        ] {
            let cost = modified_ring_with_failure(n as u64, failure);
            for priorities in arrangements(n) {
                if priorities[0] == n - 1 {
                    continue; // the initiator is not the best
                }
                let played = play_modified_ring(&priorities, 1, Some(failure));
                let case = format!("{failure:?} {priorities:?}");
                assert_eq!(numbers(played), cost_numbers(cost), "{case}");
            }
        }
    }
}

/// A second derivation of the mean, arc by arc. An arc has `l` members with probability `P(l) =
/// C(n-l-1, k-2) / C(n-1, k-1)`; its token makes `l` hops to the next initiator, survives `j` more
/// members with probability `l/(l+j)`, and, if it holds the best, runs on for its offset.
#[test]
fn mean_of_chang_roberts_is_its_sum_over_the_arcs() {
    for n in [2_u64, 3, 10, 1_000, 100_000] {
        for k in [1, 2, 3, 7, n / 10, n / 2, n - 1, n] {
            if k == 0 || k > n {
                continue;
            }
            let (members, tokens) = (n as f64, k as f64);
            let arc = |l: f64, h_l: f64| l * (harmonic(n) - h_l) + l * (l - 1.0) / (2.0 * members);
            let mean_arc = if k == 1 {
                arc(members, harmonic(n))
            } else {
                let (mut probability, mut h_l, mut mean) =
                    ((tokens - 1.0) / (members - 1.0), 0.0, 0.0);
                for l in 1..=n - k + 1 {
                    let l = l as f64;
                    h_l += 1.0 / l;
                    mean += probability * arc(l, h_l);
                    if l < members - 1.0 {
                        probability *= (members - l - tokens + 1.0) / (members - l - 1.0);
                    }
                }
                mean
            };
            let expected = 2.0 * members + tokens * mean_arc;
            let got = chang_roberts(n, k, Order::Random).messages;
            assert!((got / expected - 1.0).abs() < 1e-10, "n={n} k={k}: {got}, not {expected}");
        }
    }
}

#[test]
fn billion_members_are_computed() {
    let n = 1_000_000_000;
    let cost = chang_roberts(n, n, Order::Random);
    assert!((cost.messages / 22.300_481_502_347_944e9 - 1.0).abs() < 1e-14);
    assert_eq!(chang_roberts(n, 1, Order::Random).messages, 2_499_999_999.5);
    assert_eq!(chang_roberts(n, 1, Order::Worst).messages, 2_999_999_999.0);
}

#[test]
#[should_panic(expected = "5 initiators in a ring of 4 members")]
fn more_initiators_than_members_panics() {
    let _ = chang_roberts(4, 5, Order::Best);
}

#[test]
#[should_panic(expected = "0 initiators in a ring of 4 members")]
fn election_without_initiators_panics() {
    let _ = modified_ring(4, 0, Order::Best);
}

#[test]
fn enumeration_reaches_every_arrangement_once() {
    let mut all = arrangements(5);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 120);
    assert!(all.iter().all(|priorities| priorities.len() == 5));
}

#[test]
fn ring_of_three_by_hand() {
    // 1 -> 2 -> 0 -> and round again; the initiator holds 1, and 2 takes over at its first hop.
    let played = play_chang_roberts(&[1, 2, 0], 1, Start::Participates);
    assert_eq!((played.election, played.result, played.delay), (4, 3, 6));
}
