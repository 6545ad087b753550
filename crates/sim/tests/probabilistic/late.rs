//! Messages that take longer than members wait for them.

use hustings_protocol::probabilistic::Request;

use super::*;

const BOUND: Duration = Duration::from_millis(50);

/// Of 299 members that know few of each other, the leader of 300 just died: rounds until they agree again.
fn rounds(sigma: f64, seed: u64) -> u16 {
    let setup = Setup {
        merits: vec![Merit(0); 299],
        network: Network {
            unicast_loss: 0.1,
            multicast_loss: 0.1,
            ..Network::perfect(Delay::LogNormal {
                median: Duration(BOUND.0 / 5),
                sigma,
            })
        },
        detection: Detection::Never,
        view: 0.1,
    };
    let config = Config {
        introduction: Introduction::Multicast,
        ..Config::field(seed, BOUND, BOUND) // the key decides who is drawn
    };
    let mut world = World::new(setup, config, Seeds::new(seed, 0), |_| Probabilistic::new());
    for member in 0..299 {
        world.request(member, Request::GroupSize(300));
        world.start(member);
    }
    let mut second = 1;
    while agreed(&world).is_none() {
        assert!(
            second < 60,
            "sigma {sigma}, seed {seed}: {:?}",
            named(&world)
        );
        world.run_until(ms(second * 1_000));
        second += 1;
    }
    let all = world.members().iter().map(|it| it.round().number);
    all.max().expect("there are members")
}

/// Whoever hears nothing in time, as messages are late or as it began before the others, hears of it while it hesitates, and
/// calls no other round: of 200 elections some 22 would have one where a tenth of all messages takes longer than the bound.
#[test]
fn late_messages_cost_few_rounds_and_no_agreement() {
    let extra = |sigma| -> u16 { (0..200).map(|seed| rounds(sigma, seed) - 1).sum() };
    let (in_time, late) = (extra(0.2), extra(1.3));
    assert!(in_time <= 12 && late <= 12, "{in_time}, {late} of 200");
}
