//! Consistency of the announce family: other forms of the same formula, limits, a million members,
//! and the claims about shapes.

use hustings_theory::announce::delay::{
    airtime_for_loss, last_send, leadership_delay, loss_that_slows_al_to_le_s,
};
use hustings_theory::announce::messages::{first_round_messages, messages_until_heard};
use hustings_theory::announce::repeats_until_heard::{
    listen_multiple, rounds, surplus_announcements, surplus_announcements_for_many,
};
use hustings_theory::announce::{
    AnnounceModel, MulticastLoss, Variant, Wake, printed, recurrence, reestablishment,
};
use hustings_theory::harmonic::harmonic;

fn assert_close(what: &str, got: f64, expected: f64, part: f64) {
    let error = (got - expected).abs();
    assert!(error <= part * expected.abs(), "{what}: {got}, not {expected}");
}

#[test]
fn wake_up_laws() {
    for wake in [Wake::Uniform, Wake::Exponential { rate: 1e-3 }, Wake::Exponential { rate: 10.0 }]
    {
        for i in 0..=20 {
            let chance = f64::from(i) / 20.0;
            let there_and_back = wake.cdf(wake.quantile(chance));
            assert!((there_and_back - chance).abs() < 1e-12, "{wake:?} at {chance}");
        }
        assert_close("the only one is the earliest", wake.mean_of_earliest(1), wake.mean(), 1e-10);
        assert_close("and the latest", wake.mean_of_latest(1), wake.mean(), 1e-10);
    }
    let nearly_uniform = Wake::Exponential { rate: 1e-9 };
    assert_close("no rate, no slope", nearly_uniform.mean_of_earliest(99), 0.01, 1e-8);
}

#[test]
fn l3_the_alternating_sum_fails_in_doubles() {
    for n in [2, 10, 25] {
        let stable = printed::consecutive_lost_uncorrelated(0.4, n);
        assert_close("alternating sum", printed::alternating_sum(0.4, n), stable, 1e-7);
    }
    let stable = printed::consecutive_lost_uncorrelated(0.4, 70);
    assert!((printed::alternating_sum(0.4, 70) - stable).abs() > 1.0);
}

#[test]
fn l4_uncorrelated_loss_grows_like_the_logarithm() {
    for loss in [0.001, 0.1, 0.4, 0.9, 0.99] {
        for receivers in [1, 2, 10, 1_000, 1_000_000] {
            let exact = surplus_announcements(MulticastLoss::Uncorrelated(loss), receivers);
            let grown = surplus_announcements_for_many(loss, receivers);
            let error = (exact - grown).abs();
            assert!(error <= 0.5, "loss {loss}, {receivers} receivers: {exact}, {grown}");
            if loss >= 0.1 && receivers >= 1_000 {
                assert!(error < 0.02, "loss {loss}, {receivers} receivers: {exact}, {grown}");
            }
        }
    }
}

#[test]
fn l8_l9_l11_messages_in_closed_form() {
    for members in [2, 3, 50, 1_000, 1_000_000] {
        for loss in [0.0, 0.4, 0.9] {
            for delay in [0.0, 0.1, 0.5] {
                let model = AnnounceModel {
                    delay,
                    ..AnnounceModel::of_the_chapter(members, MulticastLoss::Correlated(loss))
                };
                let n = members as f64;
                let x = (1.0 - loss) * (1.0 - delay);
                let sup = n * delay - (n * (-x).ln_1p()).exp_m1() / (1.0 - loss);
                let got = first_round_messages(Variant::Sup, &model).unwrap();
                assert_close("SUP", got, sup, 1e-11);
                let races: f64 =
                    (1..=members).map(|k| -(k as f64 * (-x).ln_1p()).exp_m1() / k as f64).sum();
                let got = first_round_messages(Variant::LeS, &model).unwrap();
                assert_close("LE-S", got, n * delay + races / (1.0 - loss), 1e-11);
            }
        }
    }
    for loss in [0.0, 0.4, 0.95] {
        for wake in [Wake::Uniform, Wake::Exponential { rate: 5.0 }] {
            let model = AnnounceModel {
                delay: 0.0,
                wake,
                ..AnnounceModel::of_the_chapter(2, MulticastLoss::Uncorrelated(loss))
            };
            let got = messages_until_heard(Variant::LeS, &model).unwrap();
            assert_close("two members", got, 2.0 / (1.0 - loss) - 0.5, 1e-11);
        }
    }
}

#[test]
fn l10_the_recurrence_and_its_solution() {
    for loss in [0.0_f64, 0.3, 0.8] {
        for n in 1..=16_u64 {
            let mut expected = 0.0;
            let mut term = 1.0;
            for j in 1..=n {
                term *= (n - j + 1) as f64 / j as f64;
                expected += term;
                let next = (j + 1) as f64;
                term *= (1.0 - loss.powf(next)) / (next * (1.0 - loss)) - 1.0;
            }
            let law = recurrence::law_of_messages(n, loss);
            let mean: f64 = law.iter().enumerate().map(|(i, p)| i as f64 * p).sum();
            assert_close("sum of the law", law.iter().sum(), 1.0, 1e-12);
            assert_close("mean of the law", mean, expected, 1e-10);
            assert_close("mean", recurrence::mean_messages(n, loss), expected, 1e-10);
        }
    }
    assert_close("no loss", recurrence::mean_messages(1_000_000, 0.0), harmonic(1_000_000), 1e-11);
}

#[test]
fn l10_the_printed_recurrence_grows_like_a_root() {
    for n in [1, 2] {
        let right = recurrence::law_of_messages(n, 0.4);
        for (got, expected) in printed::law_of_messages(n, 0.4).iter().zip(right) {
            assert!((got - expected).abs() < 1e-15);
        }
    }
    for n in [10_000, 40_000] {
        let root = (2.0 * n as f64 / 0.6).sqrt();
        assert_close("printed", printed::mean_messages(n, 0.4), root, 0.03);
        assert!(recurrence::mean_messages(n, 0.4) < 30.0);
    }
}

#[test]
fn l9_the_printed_factor_is_misplaced() {
    let model = AnnounceModel::of_the_chapter(10, MulticastLoss::Correlated(0.4));
    let printed = printed::first_round_messages_of_le_s(&model).unwrap();
    let corrected = first_round_messages(Variant::LeS, &model).unwrap();
    assert_close("N P(D) / (1-l) + ...", printed, 1.0 / 0.6 + 0.6 * (corrected - 1.0), 1e-12);
    let lossless = AnnounceModel { loss: MulticastLoss::None, ..model };
    assert_close(
        "right without loss",
        printed::first_round_messages_of_le_s(&lossless).unwrap(),
        first_round_messages(Variant::LeS, &lossless).unwrap(),
        1e-12,
    );
}

#[test]
fn l6_printed_fractions_go_negative() {
    let model = AnnounceModel::of_the_chapter(10, MulticastLoss::Correlated(0.2));
    assert!(printed::inconsistent_fraction(&model, 3.0) < 0.0);
    assert!(printed::false_departure(&model, 3.0) < 0.0);
    let any = AnnounceModel { loss: MulticastLoss::Uncorrelated(0.2), ..model };
    assert_close(
        "any of nine",
        reestablishment::inconsistent_fraction_of_any(&any, 3.0),
        1.0 - 0.992_f64.powi(9),
        1e-12,
    );
}

#[test]
fn l5_departure_of_the_leader_is_not_the_same_for_every_loss() {
    let delay = |loss| {
        let model = AnnounceModel::of_the_chapter(30, loss);
        reestablishment::leader_departure(Variant::LeS, &model, 10.0, 0.5).unwrap()
    };
    assert_close("none", delay(MulticastLoss::None), 10.2, 1e-12);
    assert_close("correlated", delay(MulticastLoss::Correlated(0.4)), 10.2, 1e-12);
    assert_close("uncorrelated, no loss", delay(MulticastLoss::Uncorrelated(0.0)), 10.2, 1e-12);
    assert!(delay(MulticastLoss::Uncorrelated(0.4)) > 13.0);
}

#[test]
fn l15_al_is_ahead_by_the_mean_wake_up() {
    for members in [2, 200, 100_000] {
        let model = AnnounceModel::of_the_chapter(members, MulticastLoss::Uncorrelated(0.4));
        let lag =
            last_send(Variant::LeS, &model).unwrap() - last_send(Variant::Al, &model).unwrap();
        assert_close("lag", lag, 0.5, 1e-12);
        let slow = loss_that_slows_al_to_le_s(&model);
        let slowed = AnnounceModel { loss: MulticastLoss::Uncorrelated(slow), ..model };
        assert_close(
            "crossing",
            last_send(Variant::Al, &slowed).unwrap(),
            last_send(Variant::LeS, &model).unwrap(),
            1e-9,
        );
        let airtime = airtime_for_loss(&model, slow);
        let survives = 0.6 * (1.0 - 2.0 * airtime).powi(members as i32 - 1);
        assert_close("collisions", survives, 1.0 - slow, 1e-6);
    }
}

/// For uniform wake-ups the last message of SUP has a closed form, in polynomials of degree `N +
/// 1`.
#[test]
fn l16_last_message_of_suppression() {
    for members in [2, 3, 10, 1_000, 1_000_000] {
        for loss in [0.0, 0.4, 0.9] {
            for delay in [0.0, 0.1, 0.6] {
                let model = AnnounceModel {
                    delay,
                    ..AnnounceModel::of_the_chapter(members, MulticastLoss::Correlated(loss))
                };
                let got = last_send(Variant::Sup, &model).unwrap();
                let expected = last_of_uniform_suppression(members as f64, loss, delay);
                assert_close(&format!("{model:?}"), got, expected, 1e-9);
            }
        }
    }
}

/// `s` is the first wake-up of a message that gets through, `a(s) = 1 - (1-l) s`; the cases that
/// all are lost or that `s + D` is beyond 1 are separate.
fn last_of_uniform_suppression(n: f64, loss: f64, delay: f64) -> f64 {
    let through = 1.0 - loss;
    let more = n + 1.0;
    let turn = 1.0 - delay;
    let a = |s: f64| 1.0 - through * s;
    let all_lost = loss.powf(n) * (n / more - 1.0);
    let first = (1.0 - loss.powf(more)) / (through * more);
    let early = delay * (1.0 - a(turn).powf(n)) - (1.0 - a(turn).powf(more)) / more
        + (turn.powf(more) - (a(turn) - delay).powf(more)) / more;
    let late = delay * a(turn).powf(n)
        - (a(turn).powf(more) - loss.powf(more)) * (1.0 / through + 1.0) / more
        + through * loss.powf(n) * (1.0 - turn.powf(more)) / more;
    all_lost + first + early + late
}

#[test]
fn l16_l17_earliest_wake_up_against_suppression() {
    for members in [2, 10, 1_000] {
        let model = AnnounceModel::of_the_chapter(members, MulticastLoss::Correlated(0.4));
        let le_s = leadership_delay(Variant::LeS, &model).unwrap();
        let le_m = leadership_delay(Variant::LeM, &model).unwrap();
        assert!(le_m < le_s, "{members} members: {le_m}, {le_s}");
        let of = |algorithm| messages_until_heard(algorithm, &model).unwrap();
        assert!(of(Variant::Sup) < of(Variant::LeM) && of(Variant::LeM) < of(Variant::LeS));
    }
}

#[test]
fn l18_exponential_wake_up_pays_in_large_groups_only() {
    let messages = |members, wake| {
        let model =
            AnnounceModel { wake, ..AnnounceModel::of_the_chapter(members, MulticastLoss::None) };
        first_round_messages(Variant::LeS, &model).unwrap()
    };
    let exponential = Wake::Exponential { rate: 10.0 };
    assert!(messages(40, exponential) > messages(40, Wake::Uniform));
    assert!(messages(60, exponential) < messages(60, Wake::Uniform));
}

#[test]
fn l19_least_multiple_of_the_announce_interval() {
    let table = [
        (MulticastLoss::None, 10, 1),
        (MulticastLoss::Correlated(0.0), 10, 1),
        (MulticastLoss::Correlated(0.1), 10, 3),
        (MulticastLoss::Correlated(0.5), 10, 10),
        (MulticastLoss::Uncorrelated(0.1), 1, 3),
        (MulticastLoss::Uncorrelated(0.1), 10, 4),
        (MulticastLoss::Uncorrelated(0.1), 1_000_000, 9),
    ];
    for (loss, receivers, expected) in table {
        assert_eq!(listen_multiple(loss, receivers, 1e-3), expected, "{loss:?}, {receivers}");
    }
}

#[test]
fn a_million_members() {
    for loss in
        [MulticastLoss::None, MulticastLoss::Correlated(0.1), MulticastLoss::Uncorrelated(0.1)]
    {
        let model = AnnounceModel { delay: 0.0, ..AnnounceModel::of_the_chapter(1_000_000, loss) };
        for algorithm in [Variant::LeS, Variant::LeM, Variant::Sup] {
            let messages = first_round_messages(algorithm, &model).unwrap();
            assert!((0.999..25.0).contains(&messages), "{algorithm:?}, {loss:?}: {messages}");
        }
        assert!((1.0..8.0).contains(&rounds(&model)), "{loss:?}");
    }
}

#[test]
#[should_panic(expected = "loss 1: need 0 or more, below 1")]
fn network_that_loses_everything_is_invalid() {
    let _ = rounds(&AnnounceModel::of_the_chapter(2, MulticastLoss::Correlated(1.0)));
}

#[test]
fn infeasible_values_are_none() {
    let with = |members, loss| AnnounceModel {
        delay: 0.0,
        ..AnnounceModel::of_the_chapter(members, MulticastLoss::Uncorrelated(loss))
    };
    let first = |algorithm, members, loss| first_round_messages(algorithm, &with(members, loss));
    assert!(first(Variant::LeS, 2_048, 0.999_999).is_some_and(|it| it <= 2_048.0));
    assert!(first(Variant::LeS, 1_000_000, 0.95).is_some());
    assert_eq!(first(Variant::LeS, 1_000_000, 0.96), None);
    assert_eq!(first(Variant::LeM, 1_000_000, 0.999_999), None);
    let gone =
        |loss| reestablishment::leader_departure(Variant::LeA, &with(1_000_000, loss), 3.0, 0.5);
    assert!(gone(0.5).is_some());
    assert_eq!(gone(0.99), None);
    // This one is always computed.
    let sent = messages_until_heard(Variant::LeA, &with(100_000, 0.999_999));
    assert!(sent.is_some_and(|it| it > 100_000.0));
}
