//! Members after a partition: a stray member is corrected, sides unite.

use std::collections::BTreeSet;

use hustings_protocol::announce::{Config, Correction, Joining, Takeover};
use hustings_protocol::{Duration, Instant, Priority};
use hustings_sim::{Detection, Seeds, Stream};

use crate::group::{
    ANNOUNCE, DELAY, agreed, at, calm, detecting_world, field, is_announcement, world,
};
use crate::kin::Kin;
use crate::support::{below, choose, ranked, script, shuffle};
use crate::{Verdict, require};

/// The least time between two announcements of a leader that corrects.
const ANSWER_GAP: Duration = Duration::from_millis(100);

/// The time for which a cut-off member that led alone still does so after its first announcement
/// that gets through. `None` if it heard the leader before.
fn stray<P: Kin>(seed: u64, correction: Correction) -> Option<Duration> {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Layout);
    let heal = 20_000 + below(2_000, rng);
    let scenario = format!("at 0s start all\nat 10s cut 0 | 1-4\nat {heal}ms heal");
    let config = Config {
        correction,
        suppress: ANNOUNCE, // so that it may start to lead at any time between two announcements
        ..field()
    };
    let mut world = world::<P>(&ranked(5), calm(), config, seed, &script(&scenario));
    world.run_until(at(heal + 5_000));
    let log = world.into_trace();
    let named = log.named(0, 4, at(heal))?;
    let announced = log.announced(0, at(heal))?;
    (announced < named).then(|| named - announced)
}

/// A leader that hears a worse announcer answers: one delay there, at most a moment, one back.
pub(crate) fn stray_member_is_corrected_at_once<P: Kin>(seed: u64) -> Verdict {
    let most = DELAY * 2 + ANSWER_GAP;
    match stray::<P>(seed, Correction::AtOnce) {
        Some(took) => require(took <= most, || format!("corrected after {took}")),
        None => Ok(()),
    }
}

/// Without corrections a stray member waits for the next announcement: half of T_A on average.
#[test]
fn corrections_make_the_reunion_quick() {
    use hustings_protocol::announce::Announce;
    let mean = |correction| {
        let waits: Vec<Duration> =
            (0..200).filter_map(|seed| stray::<Announce>(seed, correction)).collect();
        assert!(waits.len() > 50, "{} strays", waits.len());
        let sum: f64 = waits.iter().map(|wait| wait.as_secs_f64()).sum();
        sum / waits.len() as f64
    };
    let at_once = mean(Correction::AtOnce);
    let at_next = mean(Correction::AtNextAnnouncement);
    assert!(at_once < 0.03, "{at_once}");
    assert!((0.3..0.7).contains(&at_next), "{at_next}");
}

/// Two sides of a partition elect a leader each. After it heals there is one leader within a round
/// trip and the answer gap of the first announcement, and no member changes more than once.
pub(crate) fn sides_unite<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Layout);
    let members = 4 + below(8, rng);
    let mut priorities: Vec<Priority> = ranked(members as u32);
    shuffle(&mut priorities, rng);
    let split = 1 + below(members - 1, rng);
    let heal = 30_000 + below(2_000, rng);
    let config = Config {
        takeover: choose(&[Takeover::Never, Takeover::ByTheBetter], rng),
        joining: choose(&[Joining::Announce, field().joining], rng),
        ..field()
    };
    let scenario = format!(
        "at 0s start all\nat 10s cut 0-{} | {split}-{}\nat {heal}ms heal",
        split - 1,
        members - 1
    );
    let mut world = world::<P>(&priorities, calm(), config, seed, &script(&scenario));
    world.run_until(at(heal - 1));
    let side = |members: std::ops::Range<u64>| -> BTreeSet<Option<u64>> {
        let named = members.map(|it| world.nominee(it as u32).map(|(id, _)| id.0));
        named.collect()
    };
    let leaders = [side(0..split), side(split..members)];
    require(leaders.iter().all(|named| named.len() == 1), || {
        format!("each side should have a leader: {leaders:?}\n{scenario}")
    })?;
    require(leaders[0] != leaders[1], || format!("two leaders, not {leaders:?}\n{scenario}"))?;
    world.run_until(at(heal) + ANNOUNCE + DELAY * 2 + ANSWER_GAP);
    let leader = agreed(&world, &config)?[0];
    let log = world.into_trace();
    let first = first_announcement(&log.said, at(heal));
    let united = log.names.last().map(|(when, _, _)| *when);
    require(united.is_some_and(|when| when <= first + DELAY * 2 + ANSWER_GAP), || {
        format!("announced at {first:?}, united at {united:?}\n{scenario}")
    })?;
    let best = priorities[leader as usize];
    require(best == Priority(members - 1), || {
        format!("both were established, yet {leader} leads {priorities:?}\n{scenario}")
    })?;
    for member in 0..members as u32 {
        let changes = log.changes(member, at(heal));
        require(changes.len() <= 1, || {
            format!("{member} names {changes:?} after it healed\n{scenario}")
        })?;
    }
    Ok(())
}

/// Two sides of a partition, one larger, each with an established leader: without takeover the
/// larger side's leader stays, even if the other one is better.
pub(crate) fn larger_side_keeps_its_leader<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Layout);
    let members = 3 + 2 * below(4, rng); // odd: no two sides are alike
    let mut priorities: Vec<Priority> = ranked(members as u32);
    shuffle(&mut priorities, rng);
    let split = 1 + below(members - 1, rng);
    let heal = 40_000 + below(2_000, rng);
    let config = Config { takeover: Takeover::Never, ..field() };
    let scenario = format!(
        "at 0s start all\nat 10s cut 0-{} | {split}-{}\nat {heal}ms heal",
        split - 1,
        members - 1
    );
    // The detector is slower than a leader's announcement, after the partition as after its end.
    let detection = Detection::After(ANNOUNCE * 3);
    let script = script(&scenario);
    let mut world = detecting_world::<P>(&priorities, calm(), detection, config, seed, &script);
    world.run_until(at(heal - 1));
    let of_the_larger = if split * 2 > members { 0 } else { split };
    let leader = world.nominee(of_the_larger as u32).map(|(id, _)| id.0);
    world.run_until(at(heal) + ANNOUNCE * 3);
    let named: BTreeSet<Option<u64>> =
        (0..members as u32).map(|it| world.nominee(it).map(|(id, _)| id.0)).collect();
    require(named == BTreeSet::from([leader]) && leader.is_some(), || {
        format!("the larger side had {leader:?}, and all name {named:?}\n{scenario}")
    })
}

fn first_announcement(
    said: &[(Instant, u32, hustings_protocol::announce::Message)],
    since: Instant,
) -> Instant {
    let mut said = said.iter();
    let first = said.find(|(when, _, message)| *when >= since && is_announcement(message));
    first.expect("a leader announces itself").0
}
