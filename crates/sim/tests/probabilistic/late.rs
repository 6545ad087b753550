//! Messages that take longer than members wait for them.

use hustings_protocol::probabilistic::Request;

use super::*;

const BOUND: Duration = Duration::from_millis(50);

/// The leader of 300 members that know few of each other just died: the number of rounds
/// until they agree again.
fn rounds(sigma: f64, seed: u64) -> u16 {
    let setup = Setup {
        priorities: vec![Priority(0); 299],
        network: Network {
            unicast_loss: 0.1,
            multicast_loss: 0.1,
            ..Network::perfect(Delay::LogNormal { median: Duration(BOUND.0 / 5), sigma })
        },
        detection: Detection::Never,
        view: 0.1,
    };
    let config = Config::field(seed, BOUND, BOUND).knowing_few(); // the key decides the draw
    let mut world = World::new(setup, config, Seeds::new(seed, 0), |_| Probabilistic::default());
    for member in 0..299 {
        world.request(member, Request::GroupSize(300));
        world.start(member);
    }
    let mut second = 1;
    while agreed(&world).is_none() {
        assert!(second < 60, "sigma {sigma}, seed {seed}: {:?}", named(&world));
        world.run_until(ms(second * 1_000));
        second += 1;
    }
    let all = world.members().iter().map(|it| it.round().number);
    all.max().expect("there are members")
}

/// A member that hears nothing in time, because messages are late or because it began before the
/// others, hears of the result while it hesitates, and calls no other round. Otherwise some 22 of
/// 200 elections would have one, if a tenth of all messages takes longer than the bound.
#[test]
fn late_messages_cost_few_rounds_and_no_agreement() {
    let extra = |sigma| -> u16 { (0..200).map(|seed| rounds(sigma, seed) - 1).sum() };
    let (in_time, late) = (extra(0.2), extra(1.3));
    assert!(in_time <= 12 && late <= 12, "{in_time}, {late} of 200");
}

/// A trace records every delivery; without one the simulator skips duplicates in other words. This
/// must have no visible effect, under any faults.
#[test]
fn skipped_duplicates_have_no_effect() {
    const MEMBERS: u32 = 100;
    for seed in 0..60 {
        let run = |is_recorded: bool| {
            let setup = || Setup {
                priorities: vec![Priority(0); MEMBERS as usize],
                network: Network {
                    unicast_loss: 0.3,
                    multicast_loss: 0.3,
                    ..Network::perfect(Delay::Constant(HOP))
                },
                detection: Detection::Never,
                view: 0.5,
            };
            let config = Config { hesitation: HOP * 10, ..Config::paper(MEMBERS.into(), HOP) };
            let (seeds, make) = (Seeds::new(seed, 0), |_| Probabilistic::default());
            match is_recorded {
                true => {
                    let trace = JsonLines::new(Vec::new());
                    outcome(World::traced(setup(), config, seeds, trace, make), seed)
                }
                false => outcome(World::new(setup(), config, seeds, make), seed),
            }
        };
        assert!(run(true) == run(false), "{seed}");
    }
}

/// Members call, are killed, restarted, paused and cut off.
fn outcome<T: Trace<Probabilistic>>(
    mut world: World<Probabilistic, T>,
    seed: u64,
) -> (u64, [u64; 2], Vec<Probabilistic>) {
    let mut rng = Seeds::new(seed, 1).rng(Stream::Faults);
    for _ in 0..40 {
        let at = Instant(rng.next_u64() % (HOP.0 * 60) / HOP.0 * HOP.0);
        let who = Who::one((rng.next_u64() % 100) as u32);
        let keep_state = false;
        let verb = match rng.next_u64() % 7 {
            0 | 1 => Verb::Start(who),
            2 => Verb::Kill(who),
            3 => Verb::Pause(who),
            4 => Verb::Resume(Who::All),
            5 => Verb::Restart { who, keep_state },
            _ if rng.next_u64().is_multiple_of(2) => Verb::Heal,
            _ => Verb::Cut(vec![who]),
        };
        world.schedule(at, verb);
    }
    world.run_until(Instant::START + HOP * 200);
    let tally = world.tally();
    let sent = [tally.unicasts.iter().sum(), tally.multicasts.iter().sum()];
    (tally.delivered, sent, world.members().to_vec())
}
