//! Honest rings.

use hustings_protocol::wagner::subset::{Compare, Selection};
use hustings_protocol::wagner::{Config, Ring};
use hustings_sim::wagner::{Cheat, DrawRun, DrawTrial, FastDraws, draw, draw_traced};
use hustings_sim::{JsonLines, Scratch, Seeds};
use hustings_theory::wagner as theory;
use hustings_theory::wagner::election::{DrawCost, cost};
use hustings_theory::wagner::stall::{StallLimit, false_alarm};
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::{
    HOP, assert_mean, assert_share, runs, share, trial, with_compare, with_ring, with_stall_limit,
};

const RINGS: [Ring; 2] = [Ring::BothWays, Ring::Clockwise];

#[test]
fn every_draw_elects_one_member_that_all_name() {
    for ring in RINGS {
        for members in [ring.fewest(), 4, 5, 6, 9, 25, 64, 65, 130] {
            for run in runs(&with_ring(trial(members), ring), 30) {
                assert!(run.leader.is_some(), "{members} {ring:?}: {run:?}");
                assert_eq!((run.informed, run.honest), (0, members));
            }
        }
    }
}

#[test]
fn too_small_ring_has_no_draw() {
    for ring in RINGS {
        let members = ring.fewest() - 1;
        for run in runs(&with_ring(trial(members), ring), 3) {
            assert_eq!((run.leader, run.messages()), (None, 0));
        }
    }
}

/// W5 among honest members: chi-square over all positions. Without messages, which change nothing,
/// as another test shows.
#[test]
fn all_members_are_elected_equally_often() {
    const A_PLACE: u64 = 200;
    /// One fair draw in a thousand looks less fair.
    const SIGNIFICANCE: f64 = 0.001;
    for (members, ring) in [
        (3, Ring::Clockwise),
        (4, Ring::BothWays),
        (5, Ring::BothWays),
        (8, Ring::Clockwise),
        (25, Ring::BothWays),
        (64, Ring::BothWays),
        (64, Ring::Clockwise),
    ] {
        let fast_draws = FastDraws::of(&with_ring(trial(members), ring)).expect("all are honest");
        let mut elected = vec![0_u32; members as usize];
        for number in 0..A_PLACE * u64::from(members) {
            let run = fast_draws.draw(Seeds::new(1, number)).expect("it ends");
            let leader = run.leader.expect("an honest ring elects");
            elected[leader.0 as usize] += 1;
        }
        let expected = A_PLACE as f64;
        let squares = elected.iter().map(|it| (f64::from(*it) - expected).powi(2));
        let statistic = squares.sum::<f64>() / expected;
        let law = ChiSquared::new(f64::from(members - 1)).expect("one degree of freedom or more");
        let chance = law.sf(statistic);
        assert!(chance > SIGNIFICANCE, "{members} {ring:?}: {elected:?}: {chance}");
    }
}

fn expected(members: u32, compare: Compare) -> DrawCost {
    let compare = match compare {
        Compare::Strict => theory::Compare::Strict,
        Compare::NonStrict => theory::Compare::NonStrict,
    };
    cost(members as usize, compare, None)
}

/// W7 and W9.
#[test]
fn draw_costs_what_theory_says() {
    for compare in [Compare::Strict, Compare::NonStrict] {
        for (members, count) in [(4, 4_000), (7, 3_000), (16, 1_000), (25, 500)] {
            let trial = with_compare(trial(members), compare);
            let (mut stages, mut flips) = (Vec::new(), Vec::new());
            for run in runs(&trial, count) {
                stages.push(f64::from(run.stages));
                flips.push(f64::from(run.flips));
            }
            let expected = expected(members, compare);
            assert_mean(&stages, expected.stages, ("stages", members, compare));
            assert_mean(&flips, expected.flips, ("flips", members, compare));
        }
    }
}

#[test]
fn every_round_takes_two_n_squared_messages() {
    for ring in RINGS {
        for members in [4, 5, 11] {
            for run in runs(&with_ring(trial(members), ring), 200) {
                let rounds = u64::from(run.stages + run.flips);
                let n = u64::from(members);
                assert_eq!(run.messages(), 2 * n * n * rounds);
                assert_eq!((run.bits(), run.fault_messages), (run.messages(), 0));
                let hops = match ring {
                    Ring::BothWays => n,
                    Ring::Clockwise => 2 * n,
                };
                assert_eq!(run.delay, HOP * (hops * rounds), "{members} {ring:?}");
            }
        }
    }
}

/// The price of the repair of W6.
#[test]
fn stall_limit_ends_as_many_honest_draws_as_theory_says() {
    const RUNS: u64 = 3_000;
    for (members, limit) in [(4, 1), (4, 3), (6, 2), (12, 4)] {
        let trial = with_stall_limit(trial(members), Some(limit));
        let alarms = share(&trial, RUNS, DrawRun::fault_detected);
        let expected = false_alarm(members as usize, StallLimit::new(limit));
        assert_share(alarms, expected, RUNS, (members, limit));
        for run in runs(&trial, RUNS).filter(DrawRun::fault_detected) {
            assert_eq!(run.informed, run.honest, "{run:?}");
        }
    }
}

#[test]
fn same_seed_gives_the_same_draw_traced_or_not() {
    let trial = trial(7);
    for number in 0..20 {
        let seeds = Seeds::new(3, number);
        let (plain, _) = draw(&trial, seeds, Scratch::default());
        let trace = JsonLines::new(Vec::new());
        let (recorded, trace, _) = draw_traced(&trial, seeds, Scratch::default(), trace, || true);
        assert_eq!(plain, recorded);
        let lines = trace.finish().expect("a vector takes all");
        let lines = String::from_utf8(lines).expect("JSON is text");
        let sent = lines.matches("\"kind\":\"send\"").count();
        assert_eq!(sent as u64, plain.messages());
    }
}

/// Without messages it is the same draw, to the last flip, under any rules.
#[test]
fn fast_draw_equals_the_simulated_draw() {
    let rules = [
        (Compare::NonStrict, Selection::Proportional),
        (Compare::Strict, Selection::Proportional),
        (Compare::NonStrict, Selection::Parity),
    ];
    for (ring, (compare, selection)) in RINGS.into_iter().flat_map(|it| rules.map(|of| (it, of))) {
        for members in [ring.fewest(), 4, 5, 8, 17, 64] {
            for limit in [Some(2), Some(40), None] {
                let mut trial = with_stall_limit(with_ring(trial(members), ring), limit);
                trial.config.compare = compare;
                trial.config.selection = selection;
                let fast_draws = FastDraws::of(&trial).expect("nothing can go wrong");
                for number in 0..20 {
                    let seeds = Seeds::new(5, number);
                    let (held, _) = draw(&trial, seeds, Scratch::default());
                    let what = (members, ring, compare, selection);
                    assert_eq!(fast_draws.draw(seeds), Some(held), "{what:?}");
                }
            }
        }
    }
}

#[test]
fn fast_draws_exclude_possible_faults() {
    let honest = trial(8);
    let hasty = Config { respond_within: Some(HOP), ..honest.config };
    for trial in [
        trial(3),
        super::cheated(8, 1, Cheat::FaultMessage),
        DrawTrial { loss: 0.1, ..honest.clone() },
        DrawTrial { config: hasty, ..honest.clone() },
    ] {
        assert!(FastDraws::of(&trial).is_none(), "{trial:?}");
    }
    let short = DrawTrial { most_rounds: 1, ..honest };
    let fast_draws = FastDraws::of(&short).expect("nothing can go wrong");
    assert_eq!(fast_draws.draw(Seeds::new(1, 1)), None);
}

/// Losses are not among the paper's faults, but look like a broken ring.
#[test]
fn lost_message_is_a_fault_that_all_learn_of() {
    let trial = DrawTrial { loss: 0.001, ..trial(9) };
    let mut faults = 0;
    for run in runs(&trial, 300) {
        match run.leader {
            // A fault message may be lost too: then a member is left waiting, and notices.
            Some(_) => assert_eq!(run.informed, 0),
            None => {
                faults += 1;
                assert_eq!(run.informed, run.honest, "{run:?}");
            }
        }
    }
    assert!(faults > 100, "{faults}");
}
