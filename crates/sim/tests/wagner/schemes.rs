//! The optimal flips of cheaters, found by dynamic programming, against theory and against draws.

use std::sync::Arc;

use hustings_protocol::wagner::subset::Selection;
use hustings_protocol::wagner::{Config, Ring};
use hustings_sim::wagner::{Aim, Cheat, DrawRun, DrawTrial, NoScheme, Scheme};
use hustings_theory::wagner as theory;
use hustings_theory::wagner::informal::{Parity, Sees, best_cheater};
use hustings_theory::wagner::segment;
use hustings_theory::wagner::stall::endless;

use super::{assert_share, cheated, runs, share, trial, with_stall_limit};

const RINGS: [(Ring, theory::Ring, Sees); 2] = [
    (Ring::BothWays, theory::Ring::BothWays, Sees::Both),
    (Ring::Clockwise, theory::Ring::Clockwise, Sees::Clockwise),
];

fn config(ring: Ring, selection: Selection) -> Config {
    Config { ring, selection, ..trial(4).config }
}

fn find(members: u32, cheaters: u32, config: &Config, aim: Aim) -> Scheme {
    Scheme::find(members, cheaters, config, aim).expect("few members, and a fair coin")
}

/// Draws in which the first `cheaters` follow a scheme.
fn schemed(members: u32, cheaters: u32, config: Config, scheme: Scheme) -> DrawTrial {
    DrawTrial {
        config: Config { respond_within: trial(members).config.respond_within, ..config },
        ..cheated(members, cheaters, Cheat::Best(Arc::new(scheme)))
    }
}

/// W10: against the informal protocol it equals the cheater of theory, which knows nothing of
/// messages.
#[test]
fn best_informal_cheater_wins_as_often_as_theory_says() {
    const RUNS: u64 = 4_000;
    for (ring, _, sees) in RINGS {
        for members in 4..=8 {
            let config = config(ring, Selection::Parity);
            let scheme = find(members, 1, &config, Aim::Win);
            let best = best_cheater(members as usize, Parity::Ring, sees);
            assert!(
                (scheme.worth() - best).abs() < 1e-9,
                "{members} {ring:?}: {}, not {best}",
                scheme.worth()
            );
            if members <= 6 {
                let trial = schemed(members, 1, config, scheme);
                let wins = share(&trial, RUNS, |run| run.leader_is_cheater);
                assert_share(wins, best, RUNS, (members, ring));
                assert_eq!(share(&trial, 100, DrawRun::fault_detected), 0.0);
            }
        }
    }
}

/// From the informal protocol a longer segment gains more.
#[test]
fn cooperating_cheaters_gain_more_in_the_informal_protocol() {
    let config = config(Ring::BothWays, Selection::Parity);
    let times_its_part = |cheaters: u32| {
        let scheme = find(6, cheaters, &config, Aim::Win);
        scheme.worth() * 6.0 / f64::from(cheaters)
    };
    assert!(1.0 < times_its_part(1) && times_its_part(1) < times_its_part(2));
    assert!((find(6, 3, &config, Aim::Win).worth() - 1.0).abs() < 1e-9);
}

/// W5, Theorem 2: of all flips that a segment can choose by all that it can see, none gains it more
/// than its share.
#[test]
fn no_choice_of_flips_gains_anything_in_the_draw() {
    const RUNS: u64 = 2_000;
    for (ring, which, _) in RINGS {
        for members in ring.fewest()..=8 {
            for cheaters in 1..=segment::largest(members as usize, which) as u32 {
                let config = config(ring, Selection::Proportional);
                let scheme = find(members, cheaters, &config, Aim::Win);
                let part = segment::elected(members as usize, cheaters as usize, which);
                let best = scheme.worth();
                assert!((best - part).abs() < 1e-9, "{members} {cheaters}: {best}");
                if members <= 6 {
                    let trial = schemed(members, cheaters, config, scheme);
                    let wins = share(&trial, RUNS, |run| run.leader_is_cheater);
                    assert_share(wins, part, RUNS, (members, cheaters, ring));
                    assert_eq!(share(&trial, 100, |run| run.leader.is_some()), 1.0);
                }
            }
        }
    }
}

/// W6: cheaters that show irrelevant flips first, to see more of others' flips, stall more often
/// than those that show all at once.
#[test]
fn optimal_stalling_needs_two_and_reaches_twice_their_share() {
    for (ring, which, _) in RINGS {
        for members in ring.fewest()..=8 {
            for cheaters in 1..=segment::largest(members as usize, which) as u32 {
                let config = config(ring, Selection::Proportional);
                let best = find(members, cheaters, &config, Aim::Stall).worth();
                let twice_their_part = match cheaters {
                    1 => 0.0,
                    _ => f64::from(2 * cheaters) / f64::from(members),
                };
                assert!(
                    (best - twice_their_part).abs() < 1e-9,
                    "{members} {cheaters} {ring:?}: {best}"
                );
                assert!(best > endless(members as usize, cheaters as usize) - 1e-9);
            }
        }
    }
}

#[test]
fn optimal_stalling_matches_its_scheme_unless_limited() {
    const RUNS: u64 = 1_000;
    for (ring, members, cheaters) in [
        (Ring::BothWays, 5, 1),
        (Ring::BothWays, 6, 2),
        (Ring::BothWays, 8, 3),
        (Ring::Clockwise, 5, 2),
        (Ring::Clockwise, 7, 3),
    ] {
        let config = config(ring, Selection::Proportional);
        let scheme = find(members, cheaters, &config, Aim::Stall);
        let best = scheme.worth();
        let trial = DrawTrial {
            most_rounds: 200,
            ..with_stall_limit(schemed(members, cheaters, config, scheme), None)
        };
        let stalled = share(&trial, RUNS, DrawRun::stalled);
        assert_share(stalled, best, RUNS, (members, cheaters, ring));
        let limited = with_stall_limit(trial, Some(10));
        for run in runs(&limited, 200) {
            assert!(run.leader.is_some() || run.informed == run.honest, "{run:?}");
        }
    }
}

#[test]
fn no_scheme_for_large_rings_or_a_controlled_coin() {
    let config = config(Ring::BothWays, Selection::Proportional);
    let find = |members, cheaters| Scheme::find(members, cheaters, &config, Aim::Win);
    assert_eq!(find(11, 1), Err(NoScheme::TooManyMembers));
    assert_eq!(find(8, 4), Err(NoScheme::CoinIsTheirs(4)));
    assert_eq!(find(7, 3), Err(NoScheme::CoinIsTheirs(3)));
    assert!(find(8, 3).is_ok() && find(7, 2).is_ok());
}
