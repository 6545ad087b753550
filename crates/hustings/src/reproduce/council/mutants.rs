//! What each claim is about, done wrong: the verdict must fall. A claim is as good as the mutants that turn it.

use hustings_theory::council::{Algorithm, Election, Knowledge, Loss};

use super::super::fall::{assert_ours_falls, mutants};
use super::stage::Stage;
use super::{estimates, rounds, tables};

/// The same, wrong in one thing.
type Mutant = fn(Election) -> Election;

mutants!(Mutant);

/// Fewer reply than should.
fn with_less_c(election: Election) -> Election {
    election.with_c(0.7 * election.c)
}

/// Nobody polls all, and nobody takes the better of two draws.
fn by_skip_reset(election: Election) -> Election {
    Election {
        algorithm: Algorithm::SkipReset,
        ..election
    }
}

/// An undershoot makes all reply.
fn by_basic(election: Election) -> Election {
    Election {
        algorithm: Algorithm::Basic,
        ..election
    }
}

/// A reply in five is lost, and nobody said so.
fn with_loss(election: Election) -> Election {
    Election {
        loss: Loss {
            reply: 0.2,
            multicast: 0.0,
        },
        ..election
    }
}

/// Estimates never fall.
fn with_estimates_that_stay(election: Election) -> Election {
    let knowledge = match election.knowledge {
        Knowledge::Estimated(estimate) => Knowledge::Taken(estimate.first),
        as_it_is @ (Knowledge::Known | Knowledge::Taken(_)) => as_it_is,
    };
    Election {
        knowledge,
        ..election
    }
}

#[test]
fn c1_falls_with_another_c() {
    assert_falls(rounds::c1, with_less_c);
}

#[test]
fn c2_falls_if_the_poll_is_skipped() {
    assert_falls(rounds::c2, by_skip_reset);
}

#[test]
fn c3_falls_if_an_undershoot_makes_all_reply() {
    assert_falls(rounds::c3, by_basic);
}

#[test]
fn c4_falls_if_hosts_draw_once() {
    assert_falls(rounds::c4, by_skip_reset);
}

#[test]
fn c5_falls_without_history() {
    assert_falls(rounds::c5, by_basic);
}

#[test]
fn c6_falls_if_replies_are_lost() {
    assert_falls(rounds::c6, with_loss);
}

/// The rules of thumb are checked by theory: what we say of the simulation falls.
#[test]
fn c7_is_not_as_we_say_with_another_c() {
    assert_ours_falls(&evaluate(rounds::c7, with_less_c));
}

#[test]
fn c8_falls_if_replies_are_lost() {
    assert_falls(rounds::c8, |election| Election {
        loss: Loss {
            reply: 0.6,
            multicast: 0.0,
        },
        ..election
    });
}

#[test]
fn c9_falls_if_estimates_stay() {
    assert_falls(estimates::c9, with_estimates_that_stay);
}

#[test]
fn c10_falls_if_replies_are_lost() {
    assert_falls(estimates::c10, with_loss);
}

#[test]
fn c11_falls_if_more_is_lost() {
    assert_falls(estimates::c11, with_loss);
}

/// Hosts draw twice, and the centre says which draw it took.
fn by_choice(election: Election) -> Election {
    Election {
        algorithm: Algorithm::CHOICE,
        ..election
    }
}

/// Both halves of the table fall: a bit more in memory, and one more on the wire.
#[test]
fn c12_falls_if_hosts_draw_twice() {
    let evidence = evaluate(tables::c12, by_choice);
    super::super::fall::assert_falls(&evidence);
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
fn c13_is_not_as_we_say_if_an_undershoot_makes_all_reply() {
    assert_ours_falls(&evaluate(tables::c13, by_basic));
}
