//! Assertions for tests that break what a claim is about and expect the claim to fail.

use super::budget::{Budget, Extent, Fixture, Result};
use super::evidence::{Evidence, Verdict};

/// The smallest budget that shows the effect.
const GLANCE: Budget = Budget { extent: Extent::Quick, seed: 1, threads: 0 };

type Evaluation<C> = fn(&Fixture<'_, C>, &mut Evidence) -> Result<String>;

/// Evaluates a claim under a mutant.
fn evaluate<C>(claim: Evaluation<C>, conduct: C) -> Evidence {
    let mut evidence = Evidence::default();
    let claimed = claim(&Fixture { budget: &GLANCE, conduct }, &mut evidence);
    claimed.expect("the experiment can be run");
    evidence
}

/// Asserts that the claim does not hold under the mutant. Returns the evidence.
#[track_caller]
pub(super) fn assert_refuted<C>(claim: Evaluation<C>, conduct: C) -> Evidence {
    let evidence = evaluate(claim, conduct);
    assert_eq!(evidence.verdict(), Verdict::DoesNotHold, "{evidence:#?}");
    evidence
}

/// Asserts that at least one of our own checks fails under the mutant. The verdict may stay.
#[track_caller]
pub(super) fn assert_own_check_fails<C>(claim: Evaluation<C>, conduct: C) {
    let evidence = evaluate(claim, conduct);
    assert!(evidence.first_of_ours_that_fails().is_some(), "{evidence:#?}");
}
