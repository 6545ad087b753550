//! The contract of agents with any authority, voters or a store, whatever happens to it. Each test
//! records all tenures of the members on one time line and judges at the end: no fence has two
//! holders, fences rise, and no two members hold at once.

use hustings_agent::agent::{TransferError, TransferOutcome};
use hustings_agent::clock;
use hustings_protocol::Duration;

use crate::agents::{Agents, Ground};
use crate::member::{TTL, pass};

/// The longest time between the end of a tenure that was not released and the next one.
const SLACK: Duration = Duration::from_secs(8);

/// Returns the name of a group that no other test, and no other run of this one, uses.
pub(crate) fn named(what: &str, ground: &str) -> String {
    format!("{what}-{ground}-{}", std::process::id())
}

/// Tenure is renewed, released, transferred, and followed when its holder is dead.
pub(crate) async fn in_peace<G: Ground>(name: &str) {
    let group = named("peace", name);
    let ground = G::set_up(&group).await;
    let mut agents = Agents::start(&ground, &group).await;
    let (first, held) = agents.next(None).await;
    pass(TTL * 2).await;
    let (still, renewed) = agents.holder().expect("it is renewed");
    assert_eq!((still, renewed.fence), (first, held.fence));
    assert!(renewed.until > held.until);

    let (_, released) = agents.holder().expect("it is renewed");
    agents.step_down(first).await;
    let given_up_at = clock::now();
    let (second, after) = agents.next(Some(held.fence)).await;
    let took = clock::now() - given_up_at;
    // Nothing but the release shows the others that they need not wait for the end.
    assert!(clock::now() < released.until && second != first, "{second} after {took}");

    let third = 3 - first - second;
    let handed_over = agents.hand_over(second, third).await;
    let (holder, fence) = match G::HANDS_OVER {
        true => {
            assert_eq!(handed_over, Ok(TransferOutcome::Taken));
            let (holder, held) = agents.next(Some(after.fence)).await;
            assert_eq!(holder, third);
            (holder, held.fence)
        }
        false => {
            let is_refused = matches!(handed_over, Err(TransferError::NoVoters { .. }));
            assert!(is_refused, "{handed_over:?}");
            (second, after.fence)
        }
    };

    let (still, held) = agents.holder().expect("nothing was given up beyond that");
    assert_eq!((still, held.fence), (holder, fence));
    agents.die(holder).await;
    agents.refusal_that_names(holder).await;
    let (next, _) = agents.next(Some(fence)).await;
    let now = clock::now();
    assert!(held.until <= now, "two hold: the dead one may have until {held:?}");
    assert!(now - held.until < SLACK, "{} late", now - held.until);
    assert_ne!(next, holder);
    agents.leave().await;
}

/// The authority is killed while a member holds tenure, and comes back after the ttl. Then it is
/// killed and comes back at once.
pub(crate) async fn killed<G: Ground>(name: &str) {
    let group = named("killed", name);
    let mut ground = G::set_up(&group).await;
    let agents = Agents::start(&ground, &group).await;
    let (_, held) = agents.next(None).await;
    ground.kill();
    agents.runs_out(held).await;
    ground.bring_back().await;
    let (_, next) = agents.next(Some(held.fence)).await;
    ground.kill();
    ground.bring_back().await;
    pass(TTL * 2).await; // earlier grants have expired or were renewed
    let (_, last) = agents.next(None).await;
    assert!(last.fence >= next.fence, "{last:?} after {next:?}");
    agents.leave().await;
}

/// The authority is paused beyond the ttl while requests of all members are under way, and resumes.
pub(crate) async fn paused<G: Ground>(name: &str) {
    let group = named("paused", name);
    let mut ground = G::set_up(&group).await;
    let agents = Agents::start(&ground, &group).await;
    let (_, held) = agents.next(None).await;
    ground.pause();
    agents.runs_out(held).await;
    ground.resume();
    agents.next(Some(held.fence)).await;
    pass(TTL * 2).await;
    agents.leave().await;
}
