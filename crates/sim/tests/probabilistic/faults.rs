//! Crashes of callers, relays and leaders at every phase of a round; partitions, pauses, loss.

use hustings_protocol::probabilistic::Request;

use super::*;

/// A group, and the times of a death in it.
struct Sweep {
    members: u32,
    /// The part of all members that a member knows.
    view: f64,
    config: Config,
    /// The time of a first round with a margin before and after it, in milliseconds.
    round: u64,
    /// The distance between the moments of death, in milliseconds.
    apart: u64,
    /// The number of seeds per moment.
    seeds: u64,
}

const LOSSES: [f64; 2] = [0.0, 0.2];

/// Groups of several sizes whose members know all, know a part, and relay multicasts to each other.
fn sweeps() -> Vec<Sweep> {
    let field = Config::field(7, HOP, HOP);
    let knowing_few = field.knowing_few();
    let rumour = field.by_rumour();
    let groups = [
        (12, 1.0, field, 1_500, 10, 4),
        (60, 1.0, field, 1_500, 20, 2),
        (300, 1.0, field, 1_500, 50, 1),
        (12, 0.7, knowing_few, 1_500, 10, 4),
        (60, 0.4, knowing_few, 1_500, 20, 2),
        (300, 0.1, knowing_few, 1_500, 50, 1),
        (12, 1.0, rumour, 3_000, 20, 4),
        (60, 1.0, rumour, 3_000, 40, 2),
        (60, 0.4, knowing_few.by_rumour(), 3_000, 40, 2),
    ];
    let sweep = |(members, view, config, round, apart, seeds)| Sweep {
        members,
        view,
        config,
        round,
        apart,
        seeds,
    };
    groups.map(sweep).into()
}

/// A member dies, at every phase, in groups of several kinds, with and without loss: the remaining
/// members agree on a live one. `victim` is called every 10 ms until the time of death, and its
/// last result counts. In each sweep at least `least` percent of the cases must have had a victim.
fn is_survived(
    least: u64,
    mut victim: impl FnMut(&World<Probabilistic>, Option<u32>) -> Option<u32>,
) {
    for (sweep, loss) in sweeps().iter().flat_map(|it| LOSSES.map(|loss| (it, loss))) {
        let (cases, deaths) = sweep.go(loss, &mut victim);
        let Sweep { members, view, .. } = sweep;
        assert!(
            deaths * 100 >= cases * least,
            "{members} members, view {view}, loss {loss}: {deaths} deaths in {cases} cases"
        );
    }
}

impl Sweep {
    /// Returns the number of cases, and the number of cases with a death.
    fn go(
        &self,
        loss: f64,
        victim: &mut impl FnMut(&World<Probabilistic>, Option<u32>) -> Option<u32>,
    ) -> (u64, u64) {
        let &Self { members, view, .. } = self;
        let (mut cases, mut deaths) = (0, 0);
        for at in (0..self.round).step_by(self.apart as usize) {
            for _ in 0..self.seeds {
                let seed = cases;
                let mut world = group_with(self.config, members, view, loss, seed);
                if view < 1.0 {
                    told(&mut world);
                }
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
                    "{members} members, view {view}, loss {loss}, seed {seed}, {who:?} dies at {at} ms: {:?}",
                    named(&world)
                );
                cases += 1;
                deaths += u64::from(who.is_some_and(|who| !world.is_up(who)));
            }
        }
        (cases, deaths)
    }
}

/// Passes the group's size to members that do not know all, as a census would.
fn told(world: &mut World<Probabilistic>) {
    for member in 0..world.len() {
        world.request(member, Request::GroupSize(u64::from(world.len())));
    }
}

#[test]
fn death_of_a_relay_is_survived_in_every_phase() {
    is_survived(5, |world, _| {
        let mut members = (0..).zip(world.members());
        members.find_map(|(index, it)| it.relays().then_some(index))
    });
}

/// The first member that knows of a round has called it.
#[test]
fn death_of_the_caller_is_survived_in_every_phase() {
    is_survived(80, |world, caller| {
        let mut members = (0..).zip(world.members());
        caller.or_else(|| {
            members.find_map(|(index, it)| (it.round() != RoundId::default()).then_some(index))
        })
    });
}

#[test]
fn death_of_the_best_is_survived_in_every_phase() {
    is_survived(100, |world, _| Some(world.len() - 1));
}

/// The nominee of the first member that has one.
#[test]
fn death_of_the_leader_is_survived_in_every_phase() {
    is_survived(60, |world, leader| {
        let mut nominees = (0..world.len()).filter_map(|member| world.nominee(member));
        leader.or_else(|| nominees.next().map(|(id, _)| id.0 as u32))
    });
}

/// The failure detector reports the leader's death, and one election follows.
#[test]
fn dead_leader_is_replaced() {
    let config = Config::field(7, HOP, HOP);
    for (config, seed) in
        (0..100).map(|seed| (config, seed)).chain((0..40).map(|seed| (config.by_rumour(), seed)))
    {
        let mut world = group_with(config, 30, 1.0, 0.1, seed);
        world.run_until(ms(10_000));
        let leader = agreed(&world).unwrap_or_else(|| panic!("{seed}: {:?}", named(&world)));
        world.schedule(ms(10_000), Verb::Kill(Who::one(leader.0 as u32)));
        world.run_until(ms(30_000));
        let next = agreed(&world);
        assert!(next.is_some() && next != Some(leader), "{seed}: {:?}", named(&world));
    }
}

/// Storms of crashes, restarts, pauses, partitions and loss; then calm.
#[test]
fn group_agrees_again_after_any_faults() {
    for seed in 0..200 {
        let mut world = group(10, 1.0, 0.0, seed);
        let mut rng = Seeds::new(seed, 1).rng(Stream::Faults);
        for _ in 0..15 {
            let at = Instant(rng.next_u64() % Duration::from_secs(4).0);
            let who = Who::one((rng.next_u64() % 10) as u32);
            let verb = match rng.next_u64() % 5 {
                0 => Verb::Kill(who),
                1 => Verb::Pause(who),
                2 => Verb::Cut(vec![Who::Members((0..rng.next_u64() as u32 % 10).collect())]),
                3 => Verb::Restart { who, keep_state: true },
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
