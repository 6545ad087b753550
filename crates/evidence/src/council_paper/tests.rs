//! Mutants of the paper's elections. Each breaks what a claim is about, and the claim must then
//! fail: a claim is as good as the mutants that refute it.

use hustings_theory::council::{Algorithm, Election, Knowledge, Loss};

use super::super::tests::{assert_own_check_fails, assert_refuted};
use super::{known_group_size, tables, unknown_group_size};

/// Fewer hosts reply than should.
fn with_less_c(election: Election) -> Election {
    election.with_c(0.7 * election.c)
}

/// The centre does not poll all hosts and does not take the better of two draws.
fn by_skip_reset(election: Election) -> Election {
    Election { algorithm: Algorithm::SkipReset, ..election }
}

/// All hosts reply after an undershoot.
fn by_basic(election: Election) -> Election {
    Election { algorithm: Algorithm::Basic, ..election }
}

/// One reply in five is lost, although the claim assumes no loss.
fn with_loss(election: Election) -> Election {
    Election { loss: Loss { reply: 0.2, multicast: 0.0 }, ..election }
}

/// Estimates never decrease.
fn with_estimates_that_stay(election: Election) -> Election {
    let knowledge = match election.knowledge {
        Knowledge::Estimated(estimate) => Knowledge::Taken(estimate.first),
        as_it_is @ (Knowledge::Known | Knowledge::Taken(_)) => as_it_is,
    };
    Election { knowledge, ..election }
}

#[test]
fn c1_is_refuted_with_another_c() {
    assert_refuted(known_group_size::c1, with_less_c);
}

#[test]
fn c2_is_refuted_if_the_poll_is_skipped() {
    assert_refuted(known_group_size::c2, by_skip_reset);
}

#[test]
fn c3_is_refuted_if_an_undershoot_makes_all_reply() {
    assert_refuted(known_group_size::c3, by_basic);
}

#[test]
fn c4_is_refuted_if_hosts_draw_once() {
    assert_refuted(known_group_size::c4, by_skip_reset);
}

#[test]
fn c5_is_refuted_without_history() {
    assert_refuted(known_group_size::c5, by_basic);
}

#[test]
fn c6_is_refuted_if_replies_are_lost() {
    assert_refuted(known_group_size::c6, with_loss);
}

/// Theory checks the rules of thumb. Our own statement on the simulation must fail.
#[test]
fn c7_our_check_fails_with_another_c() {
    assert_own_check_fails(known_group_size::c7, with_less_c);
}

#[test]
fn c8_is_refuted_if_replies_are_lost() {
    assert_refuted(known_group_size::c8, |election| Election {
        loss: Loss { reply: 0.6, multicast: 0.0 },
        ..election
    });
}

#[test]
fn c9_is_refuted_if_estimates_never_decrease() {
    assert_refuted(unknown_group_size::c9, with_estimates_that_stay);
}

#[test]
fn c10_is_refuted_if_replies_are_lost() {
    assert_refuted(unknown_group_size::c10, with_loss);
}

#[test]
fn c11_is_refuted_if_more_messages_are_lost() {
    assert_refuted(unknown_group_size::c11, with_loss);
}

/// Hosts draw twice, and the centre announces which draw it took.
fn by_choice(election: Election) -> Election {
    Election { algorithm: Algorithm::CHOICE, ..election }
}

/// Both halves of the table must fail: one bit more in memory, and one more on the wire.
#[test]
fn c12_is_refuted_if_hosts_draw_twice() {
    let evidence = assert_refuted(tables::c12, by_choice);
    for what in [
        "Skip-Reset: bits that a host remembers",
        "Skip-Reset: bits of the paper's feedback in the first call",
    ] {
        let mut checks = evidence.checks.iter();
        let check = checks.find(|it| it.what.starts_with(what));
        assert!(check.is_some_and(|it| !it.agrees), "{what}: {check:?}");
    }
}

#[test]
fn c13_our_check_fails_if_an_undershoot_makes_all_reply() {
    assert_own_check_fails(tables::c13, by_basic);
}
