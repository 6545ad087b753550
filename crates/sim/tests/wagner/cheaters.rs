//! Cheaters of every kind, alone and in segments.

use hustings_protocol::wagner::Ring;
use hustings_sim::wagner::{Cheat, DrawTrial, Segment};
use hustings_theory::wagner as theory;
use hustings_theory::wagner::segment;
use serde_json::Value;

use super::{assert_share, cheated, runs, share, with_ring};

const TABLE: &str = include_str!("../../../theory/tests/data/wagner.json");

/// Faults that are always noticed, in the first round.
const NOTICED: [Cheat; 5] = [
    Cheat::InconsistentMessage,
    Cheat::ChangeMessage,
    Cheat::BrokenRing,
    Cheat::FaultMessage,
    Cheat::NoFaultMessage,
];

fn kind(name: &str) -> Option<Cheat> {
    Some(match name {
        "IM" => Cheat::InconsistentMessage,
        "CM" => Cheat::ChangeMessage,
        "BR" => Cheat::BrokenRing,
        "FM" => Cheat::FaultMessage,
        "NF" => Cheat::NoFaultMessage,
        "SP" => Cheat::SimulateProcessor,
        "NONE" => return None,
        other => panic!("unknown type {other}"),
    })
}

#[test]
fn faults_of_the_table_are_reproduced() {
    const RUNS: u64 = 400;
    let points: Value = serde_json::from_str(TABLE).expect("the table is JSON");
    let mut met = 0;
    for point in points["points"].as_array().expect("a list of points") {
        let id = point["id"].as_str().expect("an id");
        if !id.starts_with("fault_") {
            continue;
        }
        let number = |name: &str| point["params"][name].as_u64().expect("a number") as u32;
        let (members, cheaters) = (number("n"), number("f"));
        let name = point["params"]["type"].as_str().expect("a type");
        let expected = point["value"].as_f64().expect("a value");
        let Some(cheat) = kind(name) else {
            // Without cheaters all accept.
            assert_eq!(share(&super::trial(members), 20, |it| it.leader.is_some()), 1.0);
            met += 1;
            continue;
        };
        let trial = cheated(members, cheaters, cheat.clone());
        if cheat == Cheat::SimulateProcessor {
            // For one round; in a whole draw there are more chances to notice.
            let faults = share(&trial, 20 * RUNS, |run| run.fault_round == Some(1));
            assert_share(faults, expected, 20 * RUNS, id);
        } else {
            let informed = share(&trial, RUNS, |run| run.informed == run.honest);
            assert_eq!(informed, expected, "{id}");
        }
        met += 1;
    }
    assert_eq!(met, 53);
}

/// W2, W3: for any position and length of the segment, with two honest members or more.
#[test]
fn every_honest_member_learns_of_a_fault() {
    for ring in [Ring::BothWays, Ring::Clockwise] {
        for cheat in NOTICED {
            for (members, from, to) in [(4, 3, 0), (5, 1, 2), (8, 6, 1), (9, 0, 6), (12, 4, 4)] {
                let cheat = cheat.clone();
                let segment = Segment { cheat, from, to };
                let trial = DrawTrial {
                    cheaters: vec![segment.clone()],
                    ..with_ring(super::trial(members), ring)
                };
                for run in runs(&trial, 100) {
                    assert_eq!(run.informed, run.honest, "{segment:?} {ring:?}: {run:?}");
                    assert_eq!(run.leader, None);
                }
            }
        }
    }
}

/// Segments that know nothing of each other. Adjacent ones may happen to undo each other's lies;
/// with honest members between them, not before these have noticed.
#[test]
fn cheaters_in_several_places_are_noticed_too() {
    let segment = |cheat: &Cheat, from, to| Segment { cheat: cheat.clone(), from, to };
    for one in NOTICED {
        for other in NOTICED {
            let trial = DrawTrial {
                cheaters: vec![segment(&one, 1, 2), segment(&other, 6, 6)],
                ..super::trial(10)
            };
            for run in runs(&trial, 20) {
                assert_eq!(run.honest, 7);
                assert!(run.informed > 0, "{one:?} {other:?}: {run:?}");
                assert_eq!(run.leader, None);
            }
        }
    }
}

/// W1, W5: flips that depend on others' flips gain nothing, as long as one honest flip is not known
/// in time.
#[test]
fn deterministic_flips_do_not_change_who_is_elected() {
    const RUNS: u64 = 3_000;
    for (ring, which) in
        [(Ring::BothWays, theory::Ring::BothWays), (Ring::Clockwise, theory::Ring::Clockwise)]
    {
        for members in [4, 5, 7, 8, 11] {
            let most = segment::largest(members, which) as u32;
            for cheaters in [1, most] {
                let trial = cheated(members as u32, cheaters, Cheat::DeterministicFlip);
                let trial = with_ring(trial, ring);
                let elected = share(&trial, RUNS, |run| run.leader_is_cheater);
                let expected = segment::elected(members, cheaters as usize, which);
                assert_share(elected, expected, RUNS, (members, cheaters, ring));
                assert_eq!(share(&trial, 200, |run| run.leader.is_some()), 1.0);
            }
        }
    }
}

/// W4: one more, and they know every flip before they show the last of their own.
#[test]
fn one_cheater_too_many_controls_the_draw() {
    for (ring, which) in
        [(Ring::BothWays, theory::Ring::BothWays), (Ring::Clockwise, theory::Ring::Clockwise)]
    {
        for members in [5, 6, 8, 9, 12] {
            let cheaters = segment::largest(members, which) as u32 + 1;
            let trial = cheated(members as u32, cheaters, Cheat::DeterministicFlip);
            for run in runs(&with_ring(trial, ring), 200) {
                assert!(run.leader_is_cheater, "{members} {ring:?}: {run:?}");
                assert_eq!(run.informed, 0, "no honest member notices");
            }
        }
    }
}
