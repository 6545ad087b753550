//! The rules of a council with the best `c`.

use hustings_protocol::council::{Algorithm, Config, Knowledge};

use super::optimum::{Goal, best_c, robust_c, uncertain};
use crate::council as theory;

/// The number of hosts to assume if none is given. `c` hardly depends on it.
const A_FLEET: u32 = 100_000;

/// The criterion for `c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The best `c` if all assumptions hold.
    Best,
    /// The best `c` in the worst of several cases: half or twice the number of hosts, and a message
    /// loss of a tenth or none. The best `c` serves seats that become vacant later.
    Robust,
}

/// Returns the rules with the `c` that is best for `goal`, by exact computation: for a whole
/// council, and for each number of seats that may remain of one.
pub fn with_best_c(rules: Config, goal: Goal) -> Config {
    with_c(rules, Choice::Best, goal)
}

/// Returns the rules with the `c` that `choice` selects for `goal`.
pub fn with_c(mut rules: Config, choice: Choice, goal: Goal) -> Config {
    let Some(algorithm) = in_theory(rules.algorithm) else {
        return rules; // thresholds and masks do not use `c`
    };
    let members = match rules.knowledge {
        Knowledge::Told(members) => members,
        Knowledge::Estimated(estimate) => estimate.first,
        Knowledge::Polled => A_FLEET,
    };
    for chamber in &mut rules.chambers {
        let wanted = (0..chamber.keep).map_while(|seated| chamber.wanted(seated));
        let chosen = wanted.enumerate().map(|(seated, wanted)| {
            let seats =
                theory::Seats { least: u64::from(wanted.least), most: u64::from(wanted.most) };
            let members = u64::from(members).max(seats.most + 1);
            let election = theory::Election::new(seats, members, algorithm, 1.0);
            match choice {
                // A centre that refills seats has counted replies before, so the number of hosts is
                // no longer uncertain.
                Choice::Robust if seated == 0 => robust_c(&uncertain(&election), goal),
                Choice::Best | Choice::Robust => best_c(&election, goal).c,
            }
        });
        chamber.c = chosen.collect();
    }
    rules
}

/// Returns the algorithm as the theory models it. Returns `None` for thresholds and masks, for
/// which it has no recurrence.
pub fn in_theory(algorithm: Algorithm) -> Option<theory::Algorithm> {
    Some(match algorithm {
        Algorithm::Naive => theory::Algorithm::Naive,
        Algorithm::Basic => theory::Algorithm::Basic,
        Algorithm::SkipReset => theory::Algorithm::SkipReset,
        Algorithm::Choice(pick, reset) => theory::Algorithm::Choice(pick, reset),
        Algorithm::History { .. } => theory::Algorithm::History,
        Algorithm::Priority | Algorithm::Bolot => return None,
    })
}
