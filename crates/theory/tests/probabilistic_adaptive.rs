//! The choice of `K` for a wanted success.

use hustings_theory::probabilistic::Model;
use hustings_theory::probabilistic::adaptive::{OutOfReach, smallest_k};
use hustings_theory::probabilistic::relay_agreement::agreement_bound;
use hustings_theory::probabilistic::success::success_corrected;

const PERFECT: Model =
    Model { members: 1_000, view: 1.0, crash: 0.0, unicast_loss: 0.0, multicast_loss: 0.0 };

#[test]
fn smallest_k_is_minimal() {
    for members in [3, 50, 700] {
        for view in [0.02, 0.1, 0.4, 1.0] {
            for (crash, loss) in [(0.0, 0.0), (0.001, 0.01), (0.01, 0.3), (0.05, 0.6)] {
                let model =
                    Model { members, view, crash, unicast_loss: loss, multicast_loss: loss };
                for target in [0.3, 0.9, 0.949, 0.999] {
                    let enough = |k: &u64| {
                        target < 1.0 - crash && success_corrected(&model, *k as f64) >= target
                    };
                    let tried = (1..=members).find(enough);
                    let found = smallest_k(&model, target);
                    assert_eq!(found.ok().map(|found| found.k), tried, "{model:?}: {target}");
                }
            }
        }
    }
}

/// Hardly any member knows another, so that one or two in the relay phase agree best, but do not
/// reach all.
#[test]
fn success_may_rise_and_fall_for_few_relays() {
    let model = Model { members: 10, view: 0.05, multicast_loss: 0.4, ..PERFECT };
    let with: Vec<f64> = (1..=10).map(|k| success_corrected(&model, f64::from(k))).collect();
    assert!(with[4] > with[3] && with[4] > with[7] && with[4] > with[9], "{with:?}");
    let chosen = smallest_k(&model, with[4]).expect("five are enough");
    assert_eq!(chosen.k, 5);
}

#[test]
fn chosen_k_comes_with_its_success() {
    let model = Model { crash: 0.0001, ..Model::of_figure_4() };
    let chosen = smallest_k(&model, 0.999).expect("within reach");
    assert_eq!(chosen.success, success_corrected(&model, chosen.k as f64));
    assert!(success_corrected(&model, chosen.k as f64 - 1.0) < 0.999);
    assert_eq!(chosen.k, 16);
}

/// Each knows a hundred thousand of a billion.
#[test]
fn sparse_views_need_a_large_k() {
    let thin = Model { members: 1_000_000_000, view: 1e-4, crash: 0.0001, ..Model::of_figure_4() };
    let chosen = smallest_k(&thin, 0.999).expect("within reach");
    assert!(chosen.success >= 0.999);
    assert!(success_corrected(&thin, chosen.k as f64 - 1.0) < 0.999);
    assert!(chosen.k > 50_000, "{chosen:?}");
}

#[test]
fn unreachable_target_is_reported() {
    // The leader fails too often.
    let OutOfReach { ceiling, best } =
        smallest_k(&Model::of_figure_4(), 0.99).expect_err("the leader fails");
    assert_eq!(ceiling, 0.99);
    assert!(best.success <= ceiling && best.success > 0.989_999, "{best:?}");
    assert!(smallest_k(&Model::of_figure_4(), 0.9899).is_ok());
    // The group is too small.
    let small = Model { members: 5, view: 0.4, ..PERFECT };
    let OutOfReach { ceiling, best } = smallest_k(&small, 0.99).expect_err("too few members");
    assert_eq!(ceiling, 1.0);
    assert_eq!(best.k, 5);
    let all_together = agreement_bound(5, 0.4, 0.0);
    assert!((best.success - all_together).abs() < 1e-12, "{best:?}");
}
