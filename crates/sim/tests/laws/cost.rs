//! Elections as in the source: their cost, and the deaths that they survive.

use hustings_protocol::{Instant, Priority};
use hustings_sim::{Scenario, Seeds, Stream, Summary, Verb, Who};

use crate::support::family::{Family, best_of};
use crate::support::{below, group, run, shuffle, total};

/// One caller: the best is elected with exactly the messages that the theory counts.
pub(crate) fn one_caller<P: Family>(seed: u64) -> Result<(), String> {
    let (priorities, initiators, summary) = election::<P>(seed, 1);
    let exactly = P::messages(&priorities, initiators[0]);
    let messages = total(&summary.tally);
    if summary.elected_best && messages == exactly {
        return Ok(());
    }
    Err(format!(
        "{initiators:?} of {priorities:?} called: {exactly} messages expected, {summary:?}"
    ))
}

/// Any number of callers at once: the best is elected with at most the messages of the worst case.
pub(crate) fn many_callers<P: Family>(seed: u64) -> Result<(), String> {
    let rng = &mut Seeds::new(seed, 1).rng(Stream::Layout);
    let callers = 1 + below(9, rng) as u32;
    let (priorities, initiators, summary) = election::<P>(seed, callers);
    let most = P::most_messages(priorities.len() as u32, initiators.len() as u32);
    let messages = total(&summary.tally);
    if summary.elected_best && messages <= most {
        return Ok(());
    }
    Err(format!(
        "{initiators:?} of {priorities:?} called: at most {most} messages expected, {summary:?}"
    ))
}

/// A member dies during an election, in a way that the source says it survives: the best remaining
/// member is elected all the same.
pub(crate) fn death_is_survived<P: Family>(seed: u64) -> Result<(), String> {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Layout);
    let members = 3 + below(6, rng);
    let mut priorities: Vec<Priority> = (0..members).map(Priority).collect();
    shuffle(&mut priorities, rng);
    let scenario = P::with_a_death(&priorities, rng);
    let setup = group(priorities.clone(), P::DETECTION);
    let summary = run::<P>(setup, scenario.clone(), P::paper(), 1_000);
    if summary.elected_best {
        return Ok(());
    }
    Err(format!("{priorities:?}: {summary:?} after\n{scenario}"))
}

/// A random group of which `callers` members, or all live ones, call an election at once.
fn election<P: Family>(seed: u64, callers: u32) -> (Vec<Priority>, Vec<u32>, Summary) {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Layout);
    let members = 2 + below(8, rng);
    let mut priorities: Vec<Priority> = (0..members).map(Priority).collect();
    shuffle(&mut priorities, rng);
    let mut scenario = Scenario::default();
    let mut live: Vec<u32> = (0..members as u32).collect();
    if P::LEADER_DEAD {
        live.remove(best_of(&priorities) as usize);
        scenario.push(Instant::START, Verb::Kill(Who::Best));
    }
    shuffle(&mut live, rng);
    live.truncate(callers as usize);
    scenario.push(Instant::START, Verb::Start(Who::Members(live.clone())));
    let setup = group(priorities.clone(), P::DETECTION);
    let summary = run::<P>(setup, scenario, P::paper(), 1_000);
    (priorities, live, summary)
}
