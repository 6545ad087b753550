//! The `c` that is best for a council's rules.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "how long a choice takes is tested"
)]

use std::time::Instant;

use hustings_protocol::Duration;
use hustings_protocol::council::{Algorithm, Config, Seats};
use hustings_theory::council as theory;
use hustings_theory::council::optimum::Goal;
use hustings_theory::council::rules::{Choice, with_best_c, with_c};

#[test]
fn the_best_c_fits_every_council_and_every_algorithm() {
    let (choice, history) = (Algorithm::CHOICE, Algorithm::HISTORY);
    for algorithm in [
        Algorithm::Naive,
        Algorithm::Basic,
        Algorithm::SkipReset,
        choice,
        history,
        Algorithm::Priority,
        Algorithm::Bolot,
    ] {
        for (least, most) in [(1, 1), (1, 8), (4, 8), (5, 5), (60, 64)] {
            let seats = Seats::new(least, most);
            let rules =
                Config { algorithm, ..Config::field(seats, 100_000, Duration::from_millis(250)) };
            let rules = with_best_c(rules, Goal::ROUNDS);
            assert_eq!(rules.check(), Ok(()), "{algorithm:?} {least}..{most}");
            assert_eq!(rules.chambers[0].c.len(), rules.chambers[0].keep as usize);
        }
    }
}

#[test]
fn a_robust_c_fits_and_is_another() {
    for (least, most) in [(1, 1), (1, 8), (4, 8)] {
        let rules = Config::field(Seats::new(least, most), 100_000, Duration::from_millis(250));
        let robust = with_c(rules.clone(), Choice::Robust, Goal::ROUNDS);
        assert_eq!(robust.check(), Ok(()), "{least}..{most}");
        let best = with_best_c(rules, Goal::ROUNDS);
        let (robust, best) = (&robust.chambers[0].c, &best.chambers[0].c);
        assert_ne!(robust[0], best[0], "{least}..{most}");
        assert_eq!(robust[1..], best[1..], "{least}..{most}: seats filled later");
    }
}

/// A centre calls no host before it has its `c`: a robust one must not keep it waiting. It takes
/// about twice as long as the best; by exact elections with loss, for each number of seats, three hundred times.
#[test]
fn a_robust_c_takes_not_much_longer_than_the_best() {
    for algorithm in [Algorithm::SkipReset, Algorithm::CHOICE] {
        let rules = Config {
            algorithm,
            ..Config::field(Seats::new(16, 32), 100_000, Duration::from_millis(250))
        };
        let takes = |choice| {
            let start = Instant::now();
            let chosen = with_c(rules.clone(), choice, Goal::ROUNDS);
            assert_eq!(chosen.check(), Ok(()), "{algorithm:?}");
            start.elapsed()
        };
        let (best, robust) = (takes(Choice::Best), takes(Choice::Robust));
        assert!(robust < 30 * best, "{algorithm:?}: {robust:?}, the best {best:?}");
    }
}

/// What the guide's table says of either, as a centre chooses it, where it searches as agents do.
#[test]
fn the_guide_tells_what_the_best_and_the_robust_c_cost() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/council.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let rules = Config::field(Seats::new(4, 8), 100_000, Duration::from_millis(250));
    let [best, robust] = [Choice::Best, Choice::Robust]
        .map(|choice| with_c(rules.clone(), choice, Goal::ROUNDS).chambers[0].c[0]);
    let sentence = format!("For [4..8] it is {robust:.2} instead of {best:.2}");
    let mut told = vec![sentence];
    for (members, shown) in
        [(50, "50"), (300, "300"), (2_000, "2,000"), (20_000, "20,000"), (80_000, "80,000")]
    {
        for reply in [0.0, 0.1] {
            let of = |c: f64| {
                let seats = theory::Seats { least: 4, most: 8 };
                let election = theory::Election {
                    loss: theory::Loss { reply, multicast: 0.0 },
                    knowledge: theory::Knowledge::Estimated(theory::Estimate::aggressive(1e5)),
                    ..theory::Election::new(seats, members, theory::Algorithm::SkipReset, c)
                };
                let cost = theory::by_evidence(&election).unwrap();
                format!("{:.2}, {:.1}", cost.rounds, cost.messages)
            };
            let (best, robust) = (of(best), of(robust));
            told.push(format!("| {shown} | {reply} | {best} | {robust} |"));
        }
    }
    told.retain(|it| !guide.contains(it));
    assert!(told.is_empty(), "docs/src/council.md has not: {told:#?}");
}
