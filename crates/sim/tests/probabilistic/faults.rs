//! Crashes of whoever calls, relays and is elected, at every phase of a round; cuts, pauses, loss.

use super::*;

/// The time of a first round with room before and after it, in the field's group of twelve.
const ROUND: u64 = 1_500;

/// Whoever dies, and whenever: those who are left agree on one that lives.
fn survives(victim: impl Fn(&World<Probabilistic>) -> Option<u32>, at: Instant, seed: u64) {
    let mut world = group(12, 1.0, 0.0, seed);
    world.run_until(at);
    if let Some(victim) = victim(&world) {
        world.schedule(at, Verb::Kill(Who::one(victim)));
    }
    world.run_until(at + Duration::from_secs(20));
    assert!(
        agreed(&world).is_some(),
        "seed {seed}, at {at:?}: {:?}",
        named(&world)
    );
}

#[test]
fn the_death_of_a_relaying_member_is_survived_in_every_phase() {
    let relaying = |world: &World<Probabilistic>| {
        let mut members = (0..).zip(world.members());
        members.find_map(|(index, it)| it.relays().then_some(index))
    };
    for step in 0..ROUND / 10 {
        survives(relaying, ms(step * 10), step);
    }
}

#[test]
fn the_death_of_whoever_called_is_survived_in_every_phase() {
    // The first to know of a round has called it.
    for step in 0..ROUND / 10 {
        let seed = step % 7;
        let mut world = group(12, 1.0, 0.0, seed);
        let mut caller = None;
        for at in 0..step * 10 {
            world.run_until(ms(at));
            let mut members = (0..).zip(world.members());
            caller = caller.or_else(|| {
                members.find_map(|(index, it)| (it.round() != Round::default()).then_some(index))
            });
        }
        survives(|_| caller, ms(step * 10), seed);
    }
}

#[test]
fn the_death_of_the_best_is_survived_in_every_phase() {
    for step in 0..ROUND / 10 {
        survives(|_| Some(11), ms(step * 10), step % 11);
    }
}

/// The leader's death is told by the failure detector, and one election follows.
#[test]
fn a_leader_that_dies_is_replaced() {
    for seed in 0..100 {
        let mut world = group(30, 1.0, 0.1, seed);
        world.run_until(ms(10_000));
        let leader = agreed(&world).unwrap_or_else(|| panic!("{seed}: {:?}", named(&world)));
        world.schedule(ms(10_000), Verb::Kill(Who::one(leader.0 as u32)));
        world.run_until(ms(30_000));
        let next = agreed(&world);
        assert!(
            next.is_some() && next != Some(leader),
            "{seed}: {:?}",
            named(&world)
        );
    }
}

/// Storms of crashes, restarts, pauses, cuts and loss; then calm.
#[test]
fn after_any_faults_a_group_agrees_again() {
    for seed in 0..200 {
        let mut world = group(10, 1.0, 0.0, seed);
        let mut rng = Seeds::new(seed, 1).rng(Stream::Faults);
        for _ in 0..15 {
            let at = Instant(rng.next_u64() % Duration::from_secs(4).0);
            let who = Who::one((rng.next_u64() % 10) as u32);
            let verb = match rng.next_u64() % 5 {
                0 => Verb::Kill(who),
                1 => Verb::Pause(who),
                2 => Verb::Cut(vec![Who::Members(
                    (0..rng.next_u64() as u32 % 10).collect(),
                )]),
                3 => Verb::Restart {
                    who,
                    keep_state: true,
                },
                _ => Verb::Heal,
            };
            world.schedule(at, verb);
        }
        world.schedule(ms(4_000), Verb::Heal);
        world.schedule(ms(4_000), Verb::Resume(Who::All));
        for member in 0..10 {
            let (who, keep_state) = (Who::one(member), true);
            world.schedule(ms(4_100), Verb::Restart { who, keep_state });
        }
        world.run_until(ms(40_000));
        assert!(agreed(&world).is_some(), "{seed}: {:?}", named(&world));
    }
}
