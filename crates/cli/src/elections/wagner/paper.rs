//! Closed forms of a draw.

use hustings_theory::wagner::election::{
    DrawCost, adjacent_pair, cost, printed_bound, probability_elected, stages_exceed,
};
use hustings_theory::wagner::informal::{Parity, Sees, best_cheater};
use hustings_theory::wagner::stall::{StallLimit, longest};
use hustings_theory::wagner::{Ring, segment};

use super::{Selection, Wagner};
use crate::elections::{ClosedForm, named};
use crate::failure::Failure;
use crate::options::{Conditions, ConditionsExt, no_closed_form};

/// The smallest ring on which a member has two different neighbours.
const FEWEST_WITH_TWO_NEIGHBOURS: usize = 3;

/// Evaluates a draw among honest members, and the effect that cheaters could have.
///
/// # Errors
/// If there is no closed form under these conditions.
pub(super) fn draw(draw: &Wagner, conditions: &Conditions) -> Result<ClosedForm, Failure> {
    conditions.require_no_faults()?;
    conditions.require_constant_delay()?;
    if !draw.cheaters.is_empty() {
        return Err(no_closed_form("with --cheat"));
    }
    if draw.selection == Selection::Parity {
        return Err(no_closed_form("with --selection parity"));
    }
    let (n, ring) = (draw.members as usize, draw.theory_of_ring());
    let limit = draw.limit.0.map(|limit| StallLimit::new(limit.get()));
    let expected = cost(n, draw.theory_of_compare(), limit);
    let hop = conditions.mean_delay().as_secs_f64();
    let mut values = named([
        ("stages", expected.stages),
        ("flips", expected.flips),
        ("basic_rounds", expected.basic_rounds),
        ("messages", expected.messages),
        ("bits", expected.bits),
        ("delay", delay(&expected, n, ring, hop)),
        ("probability_elected", probability_elected(n, limit)),
        ("false_alarm", expected.false_alarm),
    ]);
    if let Some(limit) = limit {
        values.extend(named([("stages_longest", longest(n, limit))]));
    }
    values.extend(named([
        ("stages_bound_printed", printed_bound(n).into()),
        ("stages_exceed", stages_exceed(n, printed_bound(n))),
        ("segment_largest", segment::largest(n, ring) as f64),
    ]));
    if n >= FEWEST_WITH_TWO_NEIGHBOURS {
        let informal = best_cheater(n, Parity::Ring, sees(ring));
        values.extend(named([
            ("adjacent_pair", adjacent_pair(n)),
            ("informal_best_cheater", informal),
        ]));
    }
    Ok(ClosedForm { values, missing: Vec::new() })
}

/// Returns the delay: in every round each flip makes `n` hops. With an agreed direction the two
/// ways take turns.
fn delay(expected: &DrawCost, n: usize, ring: Ring, hop: f64) -> f64 {
    let hops = match ring {
        Ring::BothWays => n,
        Ring::Clockwise => 2 * n,
    };
    expected.basic_rounds * hops as f64 * hop
}

fn sees(ring: Ring) -> Sees {
    match ring {
        Ring::BothWays => Sees::Both,
        Ring::Clockwise => Sees::Clockwise,
    }
}
