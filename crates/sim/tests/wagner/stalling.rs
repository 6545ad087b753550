//! Cheaters that stall a draw, and the limit that stops them.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use hustings_protocol::wagner::flips::Places;
use hustings_protocol::wagner::leader::{Leader, Next};
use hustings_protocol::wagner::subset::Compare;
use hustings_sim::wagner::{Cheat, DrawRun, DrawTrial};
use hustings_theory::wagner::stall::{StallLimit, endless, longest};

use super::{assert_share, cheated, runs, share, with_stall_limit};

/// W6, W11: without a limit two or more stall as often as theory says, unnoticed; one alone cannot.
#[test]
fn two_cheaters_can_stall_for_ever_without_a_limit() {
    const RUNS: u64 = 1_000;
    for (members, cheaters) in [(6, 1), (6, 2), (8, 2), (8, 3), (9, 3)] {
        let trial = DrawTrial {
            most_rounds: 150,
            ..with_stall_limit(cheated(members, cheaters, Cheat::StaleMate), None)
        };
        let stalled = share(&trial, RUNS, DrawRun::stalled);
        let expected = endless(members as usize, cheaters as usize);
        assert_share(stalled, expected, RUNS, (members, cheaters));
    }
}

#[test]
fn every_draw_ends_with_a_limit() {
    const LIMIT: u32 = 10;
    for (members, cheaters) in [(6, 2), (8, 3), (9, 3)] {
        let trial = with_stall_limit(cheated(members, cheaters, Cheat::StaleMate), Some(LIMIT));
        let (mut faults, mut elected) = (0, 0);
        for run in runs(&trial, 300) {
            assert!(!run.stalled(), "{run:?}");
            let most = longest(members as usize, StallLimit::new(LIMIT));
            assert!(f64::from(run.stages) <= most, "{run:?}");
            if run.fault_detected() {
                assert_eq!(run.informed, run.honest);
                faults += 1;
            } else {
                elected += 1;
            }
        }
        assert!(faults > 0 && elected > 0, "{faults} {elected}");
    }
}

/// The most stages from here on, for any flips; `None` if there is no end to them.
fn most_stages(
    leader: &Leader,
    members: u32,
    limit: Option<NonZeroU32>,
    known: &mut BTreeMap<(Vec<u32>, u32), Option<u32>>,
) -> Option<u32> {
    let state = (leader.active().iter().collect(), leader.equal_stages());
    if let Some(most) = known.get(&state) {
        return *most;
    }
    known.insert(state.clone(), None); // reaching this state again is a cycle
    let mut most = Some(0);
    for flips in 0..1_u32 << members {
        let mut heads = Places::none(members);
        (0..members).for_each(|place| heads.put(place, flips >> place & 1 == 1));
        let mut after = leader.clone();
        let next = after.take(&heads, Compare::NonStrict, limit);
        let later = match next {
            Next::Stalled | Next::Elected(_) => Some(0),
            Next::Round if after.splits() => most_stages(&after, members, limit, known),
            // Either part may stay: bits that are all heads are above any fraction, all tails
            // below.
            Next::Round => {
                let parts = [Places::none(members), one(members)].map(|coin| {
                    let mut chosen = after.clone();
                    loop {
                        match chosen.take(&coin, Compare::NonStrict, limit) {
                            Next::Elected(_) | Next::Stalled => return Some(0),
                            Next::Round if chosen.splits() => {
                                return most_stages(&chosen, members, limit, known);
                            }
                            Next::Round => {}
                        }
                    }
                });
                parts[0].zip(parts[1]).map(|(one, other)| one.max(other))
            }
        };
        most = most.zip(later).map(|(most, later)| most.max(later + 1));
    }
    known.insert(state, most);
    most
}

fn one(members: u32) -> Places {
    let mut places = Places::none(members);
    places.put(0, true);
    places
}

/// Every strategy, not only those that we thought of: all flips of all members.
#[test]
fn no_choice_of_flips_exceeds_the_limit() {
    for members in 4..=6 {
        for stages in 1..=3 {
            let limit = NonZeroU32::new(stages);
            let found = most_stages(&Leader::new(members), members, limit, &mut BTreeMap::new());
            let expected = longest(members as usize, StallLimit::new(stages));
            assert_eq!(found.map(f64::from), Some(expected), "{members} {stages}");
        }
    }
}

/// Without the limit one stage can be repeated as often as all flip alike, which changes only the
/// count: so the search above, in which that count is part of a state, would not end.
#[test]
fn stages_are_unbounded_without_the_limit() {
    let mut leader = Leader::new(4);
    let active = leader.active().clone();
    for _ in 0..1_000 {
        let next = leader.take(&Places::all(4), Compare::NonStrict, None);
        assert_eq!((next, leader.active()), (Next::Round, &active));
    }
}
