//! The council election: properties of its costs, and the claims of its paper about their shape.

use hustings_theory::council::estimate::{Estimate, by_pseudocode};
use hustings_theory::council::limit;
use hustings_theory::council::misprints;
use hustings_theory::council::optimum::recover;
use hustings_theory::council::optimum::{
    Goal, best_c, robust_c, rule_of_thumb_for_messages, rule_of_thumb_for_rounds, uncertain,
};
use hustings_theory::council::{Algorithm, Election, Knowledge, Loss, Seats};

const ALGORITHMS: [Algorithm; 5] = [
    Algorithm::Naive,
    Algorithm::Basic,
    Algorithm::SkipReset,
    Algorithm::CHOICE,
    Algorithm::History,
];

const RANGES: [(u64, u64); 6] = [(1, 1), (1, 8), (2, 4), (4, 8), (4, 16), (8, 16)];

const LOSSY: Loss = Loss { reply: 0.1, multicast: 0.05 };

fn seats((least, most): (u64, u64)) -> Seats {
    Seats { least, most }
}

fn election(range: (u64, u64), members: u64, algorithm: Algorithm, c: f64) -> Election {
    Election::new(seats(range), members, algorithm, c)
}

/// From 10 to 100,000 in equal ratios.
fn sizes() -> impl Iterator<Item = u64> {
    (0..=40).map(|index| 10.0_f64.powf(1.0 + f64::from(index) / 10.0).round() as u64)
}

fn assert_near(what: &str, got: f64, expected: f64, part: f64) {
    assert!((got - expected).abs() <= part * expected.abs(), "{what}: {got}, not {expected}");
}

/// Equation (12), and the remark on Skip-Reset below it.
#[test]
fn without_loss_every_round_has_c_replies_on_average() {
    for range in RANGES {
        for members in [20, 500, 10_000] {
            for algorithm in [Algorithm::Naive, Algorithm::SkipReset, Algorithm::History] {
                let c = rule_of_thumb_for_rounds(seats(range));
                let cost = election(range, members, algorithm, c).cost();
                let what = format!("{range:?}, {members}, {algorithm:?}");
                assert_near(&what, cost.messages, c * cost.rounds, 1e-12);
            }
        }
    }
}

#[test]
fn more_memory_needs_fewer_rounds() {
    for range in RANGES {
        for members in [50, 1_000, 100_000] {
            let rounds = |algorithm| {
                let election = election(range, members, algorithm, 1.0);
                best_c(&election, Goal::ROUNDS).cost.rounds
            };
            let [naive, basic, skip, choice, history] = ALGORITHMS.map(rounds);
            assert!(choice < history && history < skip && skip < basic);
            assert!(skip < naive, "{range:?}, {members}");
        }
    }
}

/// Claims C3, C4, C6 and C8.
#[test]
fn claims_on_rounds_and_messages() {
    let at = |range, algorithm, c| election(range, 10_000, algorithm, c).cost();
    let skip = at((4, 8), Algorithm::SkipReset, 5.6);
    assert!(skip.rounds < 1.4);
    assert_near("C3", skip.messages, 7.8, 0.01);
    assert_near("C3", at((4, 8), Algorithm::SkipReset, 6.6).messages, 9.2, 0.02);
    let choice = at((4, 8), Algorithm::CHOICE, 5.6);
    assert_near("C4", choice.rounds, 1.1, 0.01);
    assert_near("C4", choice.messages / skip.messages, 1.55, 0.02);

    let best = |algorithm| {
        let election = election((1, 1), 10_000, algorithm, 1.0);
        best_c(&election, Goal::ROUNDS).cost
    };
    let (skip, choice) = (best(Algorithm::SkipReset), best(Algorithm::CHOICE));
    let history = best(Algorithm::History);
    assert!(choice.rounds < 1.6);
    assert_near("C6", 1.0 - history.rounds / skip.rounds, 0.025, 0.1);
    assert_near("C6", 1.0 - choice.rounds / skip.rounds, 0.37, 0.02);

    assert!(best(Algorithm::Basic).rounds > 2.0, "C8");
    for range in RANGES {
        let basic = election(range, 1_000_000, Algorithm::Basic, 1.0);
        let basic = best_c(&basic, Goal::ROUNDS);
        let among = |members| election(range, members, Algorithm::Basic, basic.c);
        let share = limit::messages_per_member(&among(1_000));
        assert_near("C8", among(1_000_000).cost().messages / 1e6, share, 1e-3);
    }
}

/// Claim C5: the numbers hold, the derivation does not.
#[test]
fn bound_on_history() {
    assert_near("(15)", misprints::chernoff_bound(1.1, 5.0), 0.00179, 0.01);
    assert_near("(16)", misprints::rounds_bound(1.1, 5.0), 2.467, 3e-4);
    for members in sizes() {
        let rounds = election((1, 1), members, Algorithm::History, 1.1).cost().rounds;
        assert!(rounds < misprints::rounds_bound(1.1, 5.0), "{members}");
    }
    let literal = |algorithm| election((1, 1), 1_000, algorithm, 1.1);
    let as_printed = misprints::literal_history(&literal(Algorithm::History));
    assert!(as_printed.messages > 50.0 * literal(Algorithm::History).cost().messages);
}

/// Claim C7.
#[test]
fn rules_of_thumb() {
    for range in RANGES {
        for members in [100, 10_000] {
            let basic = election(range, members, Algorithm::Basic, 1.0);
            let rounds = |c: f64| basic.with_c(c).cost().rounds;
            let thumb = rounds(rule_of_thumb_for_rounds(seats(range)));
            let best = rounds(best_c(&basic, Goal::ROUNDS).c);
            assert!(best <= thumb && thumb < 1.08 * best, "{range:?}: {thumb}, {best}");
        }
    }
    let many = election((4, 8), 10_000, Algorithm::Basic, 1.0);
    let thumb = rule_of_thumb_for_messages(seats((4, 8)), 10_000);
    let best = best_c(&many, Goal::MESSAGES).cost.messages;
    assert!(many.with_c(thumb).cost().messages > 1.1 * best);
}

/// Claim C9.
#[test]
fn wrong_estimate_costs_about_a_round() {
    let taken = |ratio: f64| {
        Election {
            knowledge: Knowledge::Taken(ratio * 10_000.0),
            ..election((1, 8), 10_000, Algorithm::SkipReset, 5.6)
        }
        .cost()
    };
    let right = taken(1.0);
    assert_near("too high", taken(10.0).rounds - right.rounds, 1.21, 0.01);
    assert_near("too low", taken(0.1).rounds - right.rounds, 1.0, 0.02);
    assert_near("too low", taken(0.1).messages / right.messages, 10.0, 0.02);
}

/// `f(n) = n`: a centre that never changes its assumption, unless more hosts reply than it assumes.
#[test]
fn estimate_may_stay_constant() {
    for (members, first) in [(10, 1e5), (1_000, 5_000.0), (1_000, 400.0)] {
        let estimated = |algorithm| Election {
            knowledge: Knowledge::Estimated(Estimate { alpha: 1.0, beta: 1.0, first }),
            ..election((1, 8), members, algorithm, 5.6)
        };
        let taken = |algorithm| {
            Election { knowledge: Knowledge::Taken(first), ..estimated(algorithm) }.cost()
        };
        let run = by_pseudocode(&estimated(Algorithm::SkipReset)).expect("resets");
        assert_near("rounds", run.rounds, taken(Algorithm::SkipReset).rounds, 1e-9);
        // By the equations the centre knows better once it has heard more than U.
        let known = estimated(Algorithm::SkipReset).cost();
        assert_near("rounds", known.rounds, run.rounds, 1e-3);
    }
}

/// Claim C11.
#[test]
fn equation_21_is_exact_for_the_first_draw_only() {
    let lossy = Election {
        loss: Loss { reply: 0.3, multicast: 0.0 },
        ..election((4, 8), 1_000, Algorithm::SkipReset, 5.6)
    };
    let (exact, printed) = (lossy.cost(), misprints::with_loss(&lossy));
    let (first, as_printed) = (exact.success_first_round, printed.success_first_round);
    assert_near("first draw", first, as_printed, 1e-12);
    assert_near("all", exact.rounds, printed.rounds, 0.01);
    assert!((exact.rounds - printed.rounds).abs() > 1e-3);
}

#[test]
fn among_many_hosts_counts_are_poisson() {
    let one = limit::cost(&election((1, 1), 10, Algorithm::Naive, 1.0));
    assert_near("1/e", one.success_first_round, (-1.0_f64).exp(), 1e-12);
    for algorithm in ALGORITHMS {
        for loss in [Loss::NONE, LOSSY] {
            let among = |members| Election { loss, ..election((4, 8), members, algorithm, 5.6) };
            let (many, all) = (among(1_000_000).cost(), limit::cost(&among(10)));
            assert_near("rounds", many.rounds, all.rounds, 1e-4);
            assert_eq!(all.messages.is_infinite(), algorithm == Algorithm::Basic);
        }
    }
}

/// No other `c` of a fine grid is better.
#[test]
fn best_c_is_optimal() {
    let sum = Goal { rounds: 1.0, messages: 0.2 };
    for range in [(1, 8), (3, 3)] {
        for algorithm in
            [Algorithm::Naive, Algorithm::Basic, Algorithm::SkipReset, Algorithm::History]
        {
            for loss in [Loss::NONE, LOSSY] {
                for goal in [Goal::ROUNDS, Goal::MESSAGES, sum] {
                    let election = Election { loss, ..election(range, 300, algorithm, 1.0) };
                    let best = best_c(&election, goal);
                    let least = goal.of(&best.cost);
                    let (from, to) = (range.0 as f64 / 10.0, range.1 as f64 + 1.0);
                    for index in 0..25 {
                        let c = from + (to - from) * f64::from(index) / 25.0;
                        let other = goal.of(&election.with_c(c).cost());
                        assert!(
                            least <= other * (1.0 + 1e-9),
                            "{election:?}, {goal:?}: {best:?}, but {other} at {c}"
                        );
                    }
                }
            }
        }
    }
}

/// With an estimated number of hosts the best differs from that with a known number: the search
/// uses the estimate.
#[test]
fn best_c_is_optimal_with_an_estimate() {
    for estimate in [Estimate::conservative(1e5), Estimate::aggressive(1e5)] {
        for algorithm in ALGORITHMS {
            for members in [40, 3_000] {
                for goal in [Goal::ROUNDS, Goal::MESSAGES] {
                    let known = election((4, 8), members, algorithm, 1.0);
                    let election = Election { knowledge: Knowledge::Estimated(estimate), ..known };
                    let best = best_c(&election, goal);
                    let least = goal.of(&best.cost);
                    let grid = (0..25).map(|index| 0.4 + 8.6 * f64::from(index) / 25.0);
                    for c in grid.chain([best_c(&known, goal).c]) {
                        let other = goal.of(&election.with_c(c).cost());
                        assert!(
                            least <= other * (1.0 + 1e-9),
                            "{election:?}, {goal:?}: {best:?}, but {other} at {c}"
                        );
                    }
                }
            }
        }
    }
}

/// The given loss is one of the cases, and so is none.
#[test]
fn uncertain_cases_include_the_given_one() {
    let given = Election { loss: LOSSY, ..election((4, 8), 1_000, Algorithm::SkipReset, 1.0) };
    let cases = uncertain(&given);
    let of = |members, loss| {
        let is_such = |it: &&Election| it.members == members && it.loss == loss;
        cases.iter().filter(is_such).count()
    };
    for members in [500, 2_000] {
        assert_eq!((of(members, LOSSY), of(members, Loss::NONE)), (1, 1));
    }
    assert_eq!(cases.len(), 4);
    // The assumed number itself is never the worst case.
    let right = |loss| Election { knowledge: Knowledge::Taken(1_000.0), loss, ..given };
    let all = [&cases[..], &[right(Loss::NONE), right(LOSSY)]].concat();
    let (one, other) = (robust_c(&cases, Goal::ROUNDS), robust_c(&all, Goal::ROUNDS));
    assert_near("c", one, other, 1e-4);
    assert!(cases.iter().all(|it| it.knowledge == Knowledge::Taken(1_000.0)));
}

/// A centre that assumes 1,000 hosts, where there are half as many, or twice, and losses. The
/// choice treats loss as a smaller `c`; by exact costs no other `c` is better by more than a
/// twentieth in the worst case.
#[test]
fn robust_c_is_good_in_every_case() {
    for (algorithm, range, reply, multicast) in [
        (Algorithm::SkipReset, (4, 8), 0.3, 0.0),
        (Algorithm::SkipReset, (4, 8), 0.1, 0.1),
        (Algorithm::SkipReset, (1, 1), 0.1, 0.1),
        (Algorithm::Basic, (1, 8), 0.1, 0.1),
        (Algorithm::History, (4, 8), 0.1, 0.1),
        (Algorithm::CHOICE, (2, 4), 0.1, 0.1),
    ] {
        let cases = uncertain(&Election {
            loss: Loss { reply, multicast },
            ..election(range, 1_000, algorithm, 1.0)
        });
        let bests = cases.map(|case| best_c(&case, Goal::ROUNDS).cost.rounds);
        let worst = |c: f64| {
            let each = cases.iter().zip(bests);
            let ratios = each.map(|(case, best)| case.with_c(c).cost().rounds / best);
            ratios.fold(0.0, f64::max)
        };
        let robust = robust_c(&cases, Goal::ROUNDS);
        let chosen = worst(robust);
        let coarse = (1..40).map(|it| f64::from(it) * 0.05);
        let factors = coarse.chain((96..105).map(|it| f64::from(it) * 0.01));
        let others = factors.map(|factor| factor * robust);
        let others = others.filter(|c| *c < range.1 as f64 + 1.0);
        let least = others.map(&worst).fold(f64::INFINITY, f64::min);
        assert!(
            chosen < 1.05 * least,
            "{algorithm:?}, {range:?}: {chosen} with {robust}, {least} with another"
        );
        let alone = robust_c(&cases[..1], Goal::ROUNDS);
        assert_near("alone", alone, best_c(&cases[0], Goal::ROUNDS).c, 1e-5);
    }
}

/// Claim C13: filling the missing seats is faster than starting over, with fewer messages, for any
/// number of missing seats.
#[test]
fn topping_up_beats_starting_over() {
    for algorithm in ALGORITHMS {
        for range in [(4, 8), (8, 16)] {
            let council = election(range, 10_000, algorithm, 1.0);
            let mut before = f64::INFINITY;
            for seated in 1..range.0 {
                let recovery = recover(&council, seated, range.0, Goal::ROUNDS);
                let (top_up, restart) = (recovery.top_up.cost, recovery.restart.cost);
                let what = format!("{algorithm:?}, {range:?}, {seated}");
                assert!(top_up.rounds < restart.rounds, "{what}");
                assert!(top_up.messages < restart.messages, "{what}");
                assert!(top_up.rounds < before, "{what}: fewer missing seats are filled faster");
                before = top_up.rounds;
            }
        }
    }
    // One seat of 4..8 is empty: any one to five of 9,997 hosts.
    let council = election((4, 8), 10_000, Algorithm::SkipReset, 1.0);
    let recovery = recover(&council, 3, 4, Goal::ROUNDS);
    assert_eq!(recovery.missing, seats((1, 5)));
    let others = election((1, 5), 9_997, Algorithm::SkipReset, recovery.top_up.c);
    assert_eq!(recovery.top_up.cost, others.cost());
    // Filling up before it must: one seat more than the least.
    let recovery = recover(&council, 4, 5, Goal::ROUNDS);
    assert_eq!(recovery.missing, seats((1, 4)));
}

/// Curves of all algorithms, known and unknown `n`: finite, and of one or more rounds.
#[test]
fn curves_from_ten_to_a_hundred_thousand_hosts() {
    for members in sizes() {
        for algorithm in ALGORITHMS {
            for knowledge in [
                Knowledge::Known,
                Knowledge::Estimated(Estimate::conservative(1e5)),
                Knowledge::Estimated(Estimate::aggressive(1e5)),
            ] {
                let election = Election { knowledge, ..election((4, 8), members, algorithm, 5.6) };
                let cost = election.cost();
                assert!((1.0..20.0).contains(&cost.rounds), "{election:?}: {cost:?}");
                assert!(cost.messages >= 4.0 && cost.messages.is_finite());
            }
        }
    }
}

#[test]
#[should_panic(expected = "c 9: need above 0, below 9")]
fn too_large_c_is_refused() {
    let _ = election((4, 8), 100, Algorithm::SkipReset, 9.0).cost();
}

#[test]
#[should_panic(expected = "4 seats at least, and 3 hosts")]
fn fewer_hosts_than_seats_are_refused() {
    let _ = election((4, 8), 3, Algorithm::SkipReset, 5.0).cost();
}

#[test]
fn council_of_all_hosts_needs_no_draw() {
    let cost = election((4, 8), 8, Algorithm::SkipReset, 5.0).cost();
    assert_eq!((cost.rounds, cost.messages), (0.0, 0.0));
}

/// If next to no draw gives a council the sums are full of rounding errors, which must not be
/// mistaken for a cost.
#[test]
fn impossible_council_has_a_huge_cost() {
    for algorithm in ALGORITHMS {
        let hopeless = election((990, 1_000), 1_000_000, algorithm, 99.0).cost();
        assert!(hopeless.rounds > 1e9, "{algorithm:?}: {hopeless:?}");
        let best = best_c(&election((990, 1_000), 1_000_000, algorithm, 1.0), Goal::ROUNDS);
        assert!((990.0..1_000.0).contains(&best.c), "{algorithm:?}: {best:?}");
        assert!((1.0..10.0).contains(&best.cost.rounds), "{algorithm:?}: {best:?}");
    }
    let never = election((4, 8), 10_000, Algorithm::Naive, 5_000.0).cost();
    assert_eq!(never.rounds, f64::INFINITY);
}
