//! Probabilistic elections with tenure: at most one member holds tenure, however elections end, and
//! the cost does not grow with the group.

#[path = "../examples/reign/fenced.rs"]
mod fenced;
#[path = "../examples/reign/lease_soak.rs"]
mod lease_soak;

use hustings_sim::Seeds;
use lease_soak::{Crashes, Voters, lease_soak};

#[test]
fn at_most_one_member_holds_tenure() {
    for voters in [Voters::Best, Voters::Spread] {
        at_most_one_holds(voters);
    }
}

fn at_most_one_holds(voters: Voters) {
    let (elections, mut tenures, mut of_voters) = (150, 0, 0);
    let mut crashes = Crashes::default();
    for seed in 0..4 {
        let run = lease_soak(300, voters, elections, 0.2, Seeds::new(seed, 0));
        tenures += run.tenures;
        of_voters += run.tenures_of_voters;
        crashes = crashes.and(run.crashes);
    }
    // The holders vote, or they do not.
    match voters {
        Voters::Best => assert!(of_voters * 10 > tenures * 9, "{of_voters} of {tenures}"),
        Voters::Spread => assert!(of_voters * 10 < tenures, "{of_voters} of {tenures}"),
    }
    // Most elections end in a tenure; otherwise the test would check nothing.
    assert!(tenures > elections, "{tenures}");
    // Holders, nominees, voters and relays crashed often.
    let Crashes { holders, nominees, voters, relaying, .. } = crashes;
    let fewest = holders.min(nominees / 2).min(voters / 10).min(relaying / 20);
    assert!(fewest > 20, "{crashes:?}");
}

#[test]
fn costs_do_not_grow_with_the_group() {
    let small = lease_soak(500, Voters::Spread, 40, 0.2, Seeds::new(1, 0));
    let large = lease_soak(20_000, Voters::Spread, 40, 0.2, Seeds::new(1, 0));
    assert!(large.election_messages < 1.5 * small.election_messages, "{small:?} {large:?}");
    assert!(large.tenure_messages < 1.5 * small.tenure_messages, "{small:?} {large:?}");
}
