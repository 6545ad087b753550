//! Small parts of large groups: the remaining members believe that the group is as large as it was.

use hustings_protocol::probabilistic::Request;

use super::*;

/// A group of `members` whose members believe that there are `size`.
fn part(members: u32, size: u64, loss: f64, seed: u64) -> World<Probabilistic> {
    let mut world = group_with(counted(7), members, 1.0, loss, seed);
    for member in 0..members {
        world.request(member, Request::GroupSize(size));
    }
    world
}

/// The greatest K of any member's round.
fn greatest_k(world: &World<Probabilistic>) -> u32 {
    let ks = world.members().iter().map(Probabilistic::k);
    ks.max().expect("there are members")
}

/// By the document's strategy they would all relay in the fifth round, and wait for 3N/2 messages:
/// five minutes for 20,000.
#[test]
fn small_part_of_a_large_group_has_a_leader_soon() {
    for (members, size, seconds) in [(1, 20_000, 8), (20, 20_000, 6), (20, 1_000_000, 9)] {
        for (loss, seed) in
            [0.0, 0.2].into_iter().flat_map(|loss| (0..20).map(move |it| (loss, it)))
        {
            let mut world = part(members, size, loss, seed);
            world.run_until(ms(seconds * 1_000));
            assert!(
                agreed(&world).is_some(),
                "{members} of {size}, loss {loss}, seed {seed}: {:?}",
                named(&world)
            );
        }
    }
}

#[test]
fn survivors_of_most_of_a_group_have_a_leader_soon() {
    for seed in 0..5 {
        let mut world = part(1_000, 1_000, 0.1, seed);
        world.run_until(ms(5_000));
        assert_eq!(agreed(&world), Some(MemberId(999)), "{seed}");
        world.schedule(ms(5_000), Verb::Kill(Who::Members((10..1_000).collect())));
        world.run_until(ms(11_000));
        assert!(agreed(&world).is_some(), "{seed}: {:?}", named(&world));
    }
}

/// If half of all messages are lost, rounds fail, and there are many; but never do all members
/// relay, and send to all.
#[test]
fn group_that_hears_itself_never_relays_as_a_whole() {
    for seed in 0..3 {
        let mut world = part(1_000, 1_000, 0.5, seed);
        for second in 1..=20 {
            world.run_until(ms(second * 1_000));
            assert!(greatest_k(&world) <= 56, "{seed}: {}", greatest_k(&world));
        }
    }
}
