//! For tests that get wrong what a claim is about, and want to see it fall.

use super::effort::{Effort, Extent};
use super::evidence::{Evidence, Verdict};

/// Enough to see it.
pub(super) const GLANCE: Effort = Effort {
    extent: Extent::Quick,
    seed: 1,
    threads: 0,
};

/// The verdict falls.
#[track_caller]
pub(super) fn assert_falls(evidence: &Evidence) {
    assert_eq!(evidence.verdict(), Verdict::DoesNotHold, "{evidence:#?}");
}

/// The verdict may be what it was, but something that we add to the claim is not so.
#[track_caller]
pub(super) fn assert_ours_falls(evidence: &Evidence) {
    let fails = evidence.first_of_ours_that_fails();
    assert!(fails.is_some(), "{evidence:#?}");
}

/// What tests of mutants need beside their `Stage`: `evaluate` has a claim evaluated where all is conducted as the mutant does, and
/// with `assert_falls` its verdict falls.
macro_rules! mutants {
    ($mutant:ty) => {
        type Evaluation = fn(
            &Stage<'_>,
        ) -> Result<
            $crate::reproduce::evidence::Evidence,
            $crate::reproduce::effort::ExperimentError,
        >;

        fn evaluate(claim: Evaluation, conduct: $mutant) -> $crate::reproduce::evidence::Evidence {
            let effort = &$crate::reproduce::fall::GLANCE;
            claim(&Stage { effort, conduct }).expect("the experiment can be run")
        }

        #[track_caller]
        fn assert_falls(claim: Evaluation, conduct: $mutant) {
            $crate::reproduce::fall::assert_falls(&evaluate(claim, conduct));
        }
    };
}

pub(super) use mutants;
