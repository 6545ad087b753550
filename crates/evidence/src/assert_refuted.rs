//! Assertions for tests that break what a claim is about and expect the claim to fail.

use super::budget::{Budget, Extent};
use super::evidence::{Evidence, Verdict};

/// The smallest budget that shows the effect.
pub(super) const GLANCE: Budget = Budget { extent: Extent::Quick, seed: 1, threads: 0 };

/// Asserts that the verdict is "does not hold".
#[track_caller]
pub(super) fn assert_refuted(evidence: &Evidence) {
    assert_eq!(evidence.verdict(), Verdict::DoesNotHold, "{evidence:#?}");
}

/// Asserts that at least one of our own checks fails. The verdict itself may not change.
#[track_caller]
pub(super) fn assert_own_check_fails(evidence: &Evidence) {
    let fails = evidence.first_of_ours_that_fails();
    assert!(fails.is_some(), "{evidence:#?}");
}

/// Defines the functions that tests of mutants need beside their fixture.
///
/// `evaluate` evaluates a claim under the mutant. `assert_refuted` also asserts that the claim then
/// does not hold.
macro_rules! mutants {
    ($fixture:ident, $mutant:ty) => {
        type Evaluation = fn(
            &$fixture<'_>,
        )
            -> Result<$crate::evidence::Evidence, $crate::budget::ExperimentError>;

        fn evaluate(claim: Evaluation, conduct: $mutant) -> $crate::evidence::Evidence {
            let budget = &$crate::assert_refuted::GLANCE;
            claim(&$fixture { budget, conduct }).expect("the experiment can be run")
        }

        #[track_caller]
        fn assert_refuted(claim: Evaluation, conduct: $mutant) {
            $crate::assert_refuted::assert_refuted(&evaluate(claim, conduct));
        }
    };
}

pub(super) use mutants;
