//! Consistency of the probabilistic election: limits, a billion members, and the claims about
//! shapes.

use hustings_theory::probabilistic::Model;
use hustings_theory::probabilistic::cost::{
    first_unicasts, longest_path, mean_multicasts_bound, mean_unicasts_bound, multicasts_bound,
    unicasts_bound,
};
use hustings_theory::probabilistic::detection::{
    detection_bound, detection_bound_by_hash, detection_bound_printed,
};
use hustings_theory::probabilistic::factors::{
    e1, e1_exact, e2, e3, e4, e5, log10_of_group_limit, log10_of_group_limit_printed, success_bound,
};
use hustings_theory::probabilistic::relay_agreement::{
    agreement, agreement_bound, connected, connected_printed, passage_probability,
};
use hustings_theory::probabilistic::rounds::{
    mean_messages_bound, mean_rounds_bound, reached_bound,
};
use hustings_theory::probabilistic::success::{success_corrected, success_of_best_known};

type Form = fn(&Model, f64) -> f64;

/// All functions that are probabilities.
const CHANCES: [(&str, Form); 12] = [
    ("e1", e1),
    ("e1_exact", e1_exact),
    ("e2", e2),
    ("e3", e3),
    ("e4", e4),
    ("e5", e5),
    ("success_bound", success_bound),
    ("success_corrected", success_corrected),
    ("success_of_best_known", success_of_best_known),
    ("detection_bound", detection_bound),
    ("detection_bound_by_hash", detection_bound_by_hash),
    ("detection_bound_printed", detection_bound_printed),
];

const PERFECT: Model =
    Model { members: 1_000, view: 1.0, crash: 0.0, unicast_loss: 0.0, multicast_loss: 0.0 };

fn assert_close(what: &str, got: f64, expected: f64, part: f64) {
    let error = (got - expected).abs();
    assert!(error <= part * expected.abs(), "{what}: {got}, not {expected}");
}

fn models() -> Vec<Model> {
    let ends = [0.0, 0.3, 1.0];
    let mut models = Vec::new();
    for members in [1, 2, 30] {
        for view in ends {
            for crash in ends {
                for unicast_loss in ends {
                    models.extend(ends.map(|multicast_loss| Model {
                        members,
                        view,
                        crash,
                        unicast_loss,
                        multicast_loss,
                    }));
                }
            }
        }
    }
    models
}

#[test]
fn probabilities_lie_between_0_and_1_for_any_model() {
    for model in models() {
        for k in [1e-3, 1.0, 2.0, 7.5, 30.0] {
            let k = f64::min(k, model.members as f64);
            for (name, form) in CHANCES {
                let chance = form(&model, k);
                assert!((0.0..=1.0).contains(&chance), "{name}: {chance}, {model:?}, K {k}");
            }
        }
    }
}

#[test]
fn probabilities_exist_for_a_billion_members() {
    let model = Model { members: 1_000_000_000, ..Model::of_figure_4() };
    for k in [7.0, 100.0, 10_000.0, 1e6] {
        for (name, form) in CHANCES {
            let chance = form(&model, k);
            assert!((0.0..=1.0).contains(&chance), "{name}: {chance}, K {k}");
        }
        let smaller = Model { members: 100_000_000, ..model };
        if k >= 100.0 {
            let (few, many) = (success_corrected(&smaller, k), success_corrected(&model, k));
            assert_close("P12: no matter how many there are", many, few, 1e-9);
        }
    }
}

#[test]
fn only_an_empty_relay_phase_fails_without_faults() {
    for k in [1.0, 2.0, 7.0, 40.0, 1_000.0] {
        let somebody = 1.0 - (1.0 - k / 1_000.0_f64).powi(1_000);
        assert_close("success", success_corrected(&PERFECT, k), somebody, 1e-12);
        assert_close("success", success_of_best_known(&PERFECT, k), somebody, 1e-12);
        let rest = e3(&PERFECT, k) * e4(&PERFECT, k) * e5(&PERFECT, k);
        assert_eq!(rest, 1.0);
    }
    for k in [7.0, 40.0, 1_000.0] {
        assert_eq!(e2(&PERFECT, k), 1.0);
        assert_eq!(success_bound(&PERFECT, k), e1(&PERFECT, k));
        assert_eq!(detection_bound(&PERFECT, k), e1(&PERFECT, k));
    }
}

#[test]
fn success_is_zero_if_nothing_arrives_or_all_fail() {
    for (name, model) in [
        ("multicasts", Model { multicast_loss: 1.0, ..PERFECT }),
        ("crashes", Model { crash: 1.0, ..PERFECT }),
    ] {
        let success = success_corrected(&model, 40.0);
        assert_eq!(success.to_bits(), 0.0_f64.to_bits(), "{name}: {success}");
        assert_eq!(success_bound(&model, 40.0), 0.0, "{name}");
    }
    // Without views, or without unicasts, a member that is alone in the relay phase decides.
    let alone = 1_000.0 * 0.002 * 0.998_f64.powi(999);
    for model in [Model { view: 0.0, ..PERFECT }, Model { unicast_loss: 1.0, ..PERFECT }] {
        assert_close("alone", success_corrected(&model, 2.0), alone, 1e-12);
    }
}

#[test]
fn p1_product_has_a_peak_and_corrected_success_has_none() {
    let model = Model::of_figure_4();
    let products: Vec<f64> = (5..=65).map(|k| success_bound(&model, f64::from(k))).collect();
    let peak = products.iter().copied().fold(0.0, f64::max);
    assert_eq!(products[24 - 5], peak);
    assert_close("the peak", peak, 0.639, 1e-3);
    let mut before = 0.0;
    for k in 5..=65 {
        let corrected = success_corrected(&model, f64::from(k));
        assert!(corrected > before, "K {k}: {corrected} after {before}");
        assert!(corrected <= success_of_best_known(&model, f64::from(k)), "K {k}");
        assert!(corrected > success_bound(&model, f64::from(k)), "K {k}");
        before = corrected;
    }
    assert_close("in the end only the leader fails", before, 0.99, 1e-12);
}

#[test]
fn p1_factors_are_not_bounds() {
    let model = Model::of_figure_4();
    let above = |k: &u32| e1(&model, f64::from(*k)) > e1_exact(&model, f64::from(*k));
    // At the end of the figure it still is one; the binomial distribution is skewed, and has more
    // beyond 3K/2.
    assert_eq!((5..=65).filter(above).count(), 0);
    assert_eq!((100..=150).filter(above).count(), 51);
    // The paper says that it rises with the number of members.
    assert!(connected_printed(2.0, 0.4) < connected_printed(1.0, 0.4));
    let above = |m: &u32| connected_printed(f64::from(*m), 0.4) > connected(u64::from(*m), 0.4);
    let wrong: Vec<u32> = (1..=20).filter(above).collect();
    assert_eq!(wrong, Vec::from_iter(4..=20));
}

#[test]
fn connectedness_agrees_with_its_limit() {
    // As the number of members grows, with so many edges that two are isolated on average.
    for members in [3_000_u64, 100_000, 1_000_000_000] {
        let n = members as f64;
        let edge = -((2.0 / n).ln() / (n - 1.0)).exp_m1();
        let limit = (-2.0_f64).exp();
        assert_close("limit", connected(members, edge), limit, 10.0 / n.sqrt());
        assert_close("printed", connected_printed(n, edge), limit, 1e-6);
    }
    // Sparse graphs, which are trees by Cayley's formula, n^(n-2) of them, for which a recurrence
    // with differences has no correct digit.
    assert_close("trees of three", connected(3, 1e-8), 3e-16, 1e-7);
    let (trees, nothing_else) = (0.01_f64.powi(98) * 1e-4, (1.0_f64 - 1e-4).powi(4_950 - 99));
    let connected_thinly = connected(100, 1e-4);
    assert!(connected_thinly < trees && connected_thinly > trees * nothing_else);
    assert_eq!(connected(1_000_000, 1e-9), 0.0);
}

#[test]
fn more_knowledge_and_fewer_losses_help() {
    for members in [2, 3, 10, 40] {
        let mut before = [-1.0; 3];
        for step in 0..=20 {
            let part = f64::from(step) / 20.0;
            let now = [
                agreement_bound(members, part, 0.1),
                agreement_bound(members, 0.4, 1.0 - part),
                agreement(members, part.max(0.05), 0.1),
            ];
            for (now, before) in now.iter().zip(before) {
                assert!(*now >= before - 1e-15, "{members} members, {part}: {now}");
            }
            assert!(agreement_bound(members, part, 0.1) <= agreement(members, part, 0.1) + 1e-15);
            before = now;
        }
        assert_eq!(agreement_bound(members, 1.0, 0.0), 1.0);
        assert_eq!(agreement(members, 0.0, 0.0), 0.0);
    }
    assert_close("edge", passage_probability(0.4, 0.0), 0.64, 1e-15);
}

#[test]
fn p3_group_size_limit_of_the_fourth_factor() {
    let model = Model::of_figure_4();
    let limit = log10_of_group_limit(&model, 40.0);
    assert_close("derived", limit, 39.204, 1e-9);
    let printed = log10_of_group_limit_printed(&model, 40.0);
    assert_close("printed", printed, 117.612, 1e-9);
    // With K = 8 the limit is in reach: one tenth of it, and ten times it.
    let limit = 10_f64.powf(log10_of_group_limit(&model, 8.0));
    let with = |part: f64| {
        let members = (part * limit) as u64;
        e4(&Model { members, ..model }, 8.0)
    };
    assert_close("well below", with(0.1), (-0.1 * 0.99_f64).exp(), 1e-6);
    assert_close("well above", with(10.0), (-10.0 * 0.99_f64).exp(), 1e-6);
}

#[test]
fn p5_detection_goes_to_1_with_the_group_only_as_derived() {
    let of = |members| Model { members, multicast_loss: 0.2, ..Model::of_figure_4() };
    let (some, many) = (of(100), of(1_000_000_000));
    let k = 14.0;
    let noticed = e1(&many, k);
    assert!(detection_bound(&some, k) < 0.999 * noticed);
    assert_close("derived", detection_bound(&many, k), noticed, 1e-12);
    let huge = of(1_000_000_000_000_000);
    assert_eq!(detection_bound_printed(&huge, k), 0.0);
    // By the hash no more members are to act in a greater group.
    let sees = 0.99 * 0.8_f64.powf(1.5 * many.final_senders(k));
    let limit = noticed * -(-k * sees).exp_m1();
    assert_close("hash", detection_bound_by_hash(&many, k), limit, 1e-6);
    assert!(limit < 0.3);
}

#[test]
fn p6_costs_do_not_depend_on_the_group() {
    let model = Model::of_figure_4();
    let many = Model { members: 1_000_000_000, ..model };
    for k in [7.0, 40.0, 1_000.0] {
        assert_close("unicasts", unicasts_bound(&model, k), (1.485 * k).powi(3) / 2.0, 1e-12);
        assert_eq!(unicasts_bound(&model, k), unicasts_bound(&many, k));
        assert_close("multicasts", multicasts_bound(&many, k), 1.0 + 1.485 * k, 1e-12);
        let mean = 0.99 * k;
        let poisson = (mean.powi(3) + 3.0 * mean * mean + mean) / 2.0;
        assert_close("mean unicasts", mean_unicasts_bound(&many, k), poisson, 1e-6);
        assert_close("mean multicasts", mean_multicasts_bound(&many, k), 1.0 + mean, 1e-12);
        assert_close("first unicasts", first_unicasts(&many, k), 0.4 * mean * k, 1e-6);
        assert!(first_unicasts(&model, k) < mean_unicasts_bound(&model, k));
    }
    assert_eq!((longest_path(7.0), longest_path(8.0)), (11, 12));
    // All of four members enter: 4^3/2 unicasts, of any four.
    let all = Model { members: 4, ..PERFECT };
    assert_close("of all", mean_unicasts_bound(&all, 4.0), 32.0, 1e-12);
}

/// Claim P8: without failures there is one round; if everything fails there are all.
#[test]
fn number_of_rounds_follows_the_failures() {
    let ks = [7, 14, 28, 56, 1_000];
    let lossy = Model { view: 0.5, multicast_loss: 0.4, unicast_loss: 0.4, ..PERFECT };
    let reached = reached_bound(&lossy, &ks);
    assert_eq!((reached.len(), reached[0]), (ks.len(), 1.0));
    assert!(reached.is_sorted_by(|one, next| one >= next), "{reached:?}");
    // Without crashes a round is followed by another as often as it fails.
    let failing = |k| 1.0 - success_of_best_known(&lossy, k);
    let expected = failing(7.0) * failing(14.0) * failing(28.0);
    assert_close("three failures", reached[3], expected, 1e-12);
    assert_eq!(mean_rounds_bound(&lossy, &ks), reached.iter().sum::<f64>());
    assert!((1.0..1.01).contains(&mean_rounds_bound(&PERFECT, &ks)));
    let deaf = Model { multicast_loss: 1.0, ..PERFECT };
    assert_eq!(mean_rounds_bound(&deaf, &ks), 5.0);
    assert_eq!(mean_rounds_bound(&lossy, &[]), 0.0);
    // A crash of the leader is no reason for another round, because no member knows.
    let mortal = Model { crash: 0.3, ..PERFECT };
    assert!(mean_rounds_bound(&mortal, &ks) < 1.02);
    let one = mean_messages_bound(&lossy, &ks[..1]);
    let theorem_4 = mean_unicasts_bound(&lossy, 7.0) + mean_multicasts_bound(&lossy, 7.0);
    assert_eq!(one, theorem_4);
    assert!(mean_messages_bound(&lossy, &ks) > one);
}
