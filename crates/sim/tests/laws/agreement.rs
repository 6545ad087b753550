//! After any faults, agreement: in time, permanently, without going back, and in silence.

use std::collections::BTreeSet;

use hustings_protocol::{MemberId, Simulated};
use hustings_sim::{Halt, Trace, World};

use crate::storm::Storm;
use crate::support::UNIT;
use crate::support::family::Family;

/// Every live member names the best live member, permanently, within the time that the protocol's
/// header states, counted from the moment at which nothing is lost and the views are right.
pub(crate) fn comes_in_time_and_lasts<P: Family>(seed: u64) -> Result<(), String> {
    let storm = Storm::new(seed, P::LAPS);
    let deadline = storm.deadline::<P>();
    let mut world = storm.world::<P>();
    world.run_until(deadline);
    let best = best_up(&world);
    for member in up(&world) {
        let named = world.nominee(member).map(|(id, _)| id);
        if named != Some(best) {
            return Err(format!(
                "at {deadline:?} {member} names {named:?}, not {best}, after\n{storm}"
            ));
        }
    }
    world.run_until(deadline + storm.election_timeout * 10);
    let later = world.into_trace().names.into_iter();
    let wrong =
        later.filter(|(at, _, named)| *at > deadline && *named != Some(best)).collect::<Vec<_>>();
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("agreed on {best}, then {wrong:?} after\n{storm}"))
    }
}

/// Once the faults are over, and earlier questions are answered or given up, no member returns to a
/// leader that it has left for another.
pub(crate) fn no_member_goes_back<P: Family>(seed: u64) -> Result<(), String> {
    let storm = Storm::new(seed, P::LAPS);
    let all_well = storm.all_well() + UNIT * 3;
    let mut world = storm.world::<P>();
    world.run_until(all_well);
    let named: Vec<Option<MemberId>> =
        (0..world.len()).map(|member| world.nominee(member).map(|(id, _)| id)).collect();
    world.run_until(storm.deadline::<P>() + storm.election_timeout * 3);
    let names = world.into_trace().names;
    for (member, first) in (0..).zip(named) {
        let later = names
            .iter()
            .filter(|(at, who, _)| *at > all_well && *who == member)
            .filter_map(|(_, _, named)| *named);
        let mut history: Vec<MemberId> = first.into_iter().chain(later).collect();
        history.dedup();
        if history.iter().collect::<BTreeSet<_>>().len() < history.len() {
            return Err(format!("{member} names {history:?} after\n{storm}"));
        }
    }
    Ok(())
}

/// If patience outlasts an election, messages and timers end.
pub(crate) fn ends_in_silence<P: Family>(seed: u64) -> Result<(), String> {
    let storm = Storm::new(seed, 4);
    let mut world = storm.world::<P>();
    let limit = storm.deadline::<P>() + storm.election_timeout * 3 + UNIT * 100;
    match world.run_until(limit) {
        Halt::Quiet => Ok(()),
        Halt::Limit => Err(format!("no end after\n{storm}")),
    }
}

pub(crate) fn up<P: Simulated, T: Trace<P>>(world: &World<P, T>) -> impl Iterator<Item = u32> {
    (0..world.len()).filter(|&member| world.is_up(member))
}

pub(crate) fn best_up<P: Simulated, T: Trace<P>>(world: &World<P, T>) -> MemberId {
    let best = up(world).map(|member| world.candidate(member)).max();
    best.expect("a member is up").id
}
