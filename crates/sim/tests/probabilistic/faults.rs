//! Crashes of whoever calls, relays and is elected, at every phase of a round; cuts, pauses, loss.

use super::*;

/// The time of a first round with room before and after it, in the field's group, in milliseconds.
const ROUND: u64 = 1_500;

/// Groups, with how far apart the moments are at which somebody dies, in milliseconds, and how many seeds each has.
const GROUPS: [(u32, u64, u64); 3] = [(12, 10, 4), (60, 20, 2), (300, 50, 1)];
const LOSSES: [f64; 2] = [0.0, 0.2];

/// Somebody dies, at every phase, in groups of several sizes, with and without loss: those who are left agree on one that
/// lives. `victim` is asked every 10 ms until it is time, and its last word counts.
fn is_survived(mut victim: impl FnMut(&World<Probabilistic>, Option<u32>) -> Option<u32>) {
    for ((members, apart, seeds), loss) in GROUPS
        .into_iter()
        .flat_map(|it| LOSSES.map(|loss| (it, loss)))
    {
        for (at, seed) in (0..ROUND / apart)
            .flat_map(|step| (0..seeds).map(move |it| (step * apart, step * seeds + it)))
        {
            let mut world = group(members, 1.0, loss, seed);
            let mut who = None;
            for passed in (0..=at).step_by(10) {
                world.run_until(ms(passed));
                who = victim(&world, who);
            }
            if let Some(who) = who {
                world.schedule(ms(at), Verb::Kill(Who::one(who)));
            }
            world.run_until(ms(at + 30_000));
            assert!(
                agreed(&world).is_some(),
                "{members} members, loss {loss}, seed {seed}, {who:?} dies at {at} ms: {:?}",
                named(&world)
            );
        }
    }
}

#[test]
fn the_death_of_a_relaying_member_is_survived_in_every_phase() {
    is_survived(|world, _| {
        let mut members = (0..).zip(world.members());
        members.find_map(|(index, it)| it.relays().then_some(index))
    });
}

/// The first to know of a round has called it.
#[test]
fn the_death_of_whoever_called_is_survived_in_every_phase() {
    is_survived(|world, caller| {
        let mut members = (0..).zip(world.members());
        caller.or_else(|| {
            members.find_map(|(index, it)| (it.round() != Round::default()).then_some(index))
        })
    });
}

#[test]
fn the_death_of_the_best_is_survived_in_every_phase() {
    is_survived(|world, _| Some(world.len() - 1));
}

/// Whom the first that names anybody names.
#[test]
fn the_death_of_the_leader_is_survived_in_every_phase() {
    is_survived(|world, leader| {
        let mut nominees = (0..world.len()).filter_map(|member| world.nominee(member));
        leader.or_else(|| nominees.next().map(|(id, _)| id.0 as u32))
    });
}

/// The leader's death is told by the failure detector, and one election follows.
#[test]
fn a_leader_that_dies_is_replaced() {
    let config = Config::field(7, HOP, HOP);
    for (config, seed) in (0..100)
        .map(|seed| (config, seed))
        .chain((0..40).map(|seed| (config.by_rumour(), seed)))
    {
        let mut world = group_with(config, 30, 1.0, 0.1, seed);
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
