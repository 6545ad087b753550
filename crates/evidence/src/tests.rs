//! The selection of claims; and assertions for tests that break what a claim is about and expect
//! the claim to fail.

use super::budget::{Budget, Fixture, Result};
use super::evidence::{Evidence, Verdict};
use super::{Selection, claims};

/// The smallest budget that shows the effect.
const GLANCE: Budget = Budget { quick: true, seed: 1, threads: 0 };

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

fn chosen(asked: &[&str]) -> std::result::Result<Vec<&'static str>, String> {
    let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
    Selection::of(&asked)
        .map(|selection| selection.claims.iter().map(|(_, claim)| claim.id).collect())
}

#[test]
fn claims_are_selected_by_id_or_document() {
    let all: Vec<&str> = claims().map(|(_, claim)| claim.id).collect();
    assert_eq!(chosen(&[]), Ok(all.clone()));
    let of_slides = all.iter().copied().filter(|id| id.starts_with('R'));
    assert_eq!(chosen(&["R"]), Ok(of_slides.collect()));
    assert_eq!(chosen(&["R12", "r4", "R4"]), Ok(vec!["R4", "R12"]));
    let refused = chosen(&["R4", "R40"]).unwrap_err();
    assert!(refused.starts_with("there is no claim R40: choose R1 to R12"), "{refused}");
}

#[test]
fn claim_ids_are_unique_and_start_with_the_document_key() {
    let mut ids = Vec::new();
    for (document, claim) in claims() {
        assert!(claim.id.starts_with(document.key), "{}", claim.id);
        assert!(!ids.contains(&claim.id), "{} twice", claim.id);
        ids.push(claim.id);
    }
}
