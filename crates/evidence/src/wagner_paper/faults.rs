//! W1 to W4 and W12: theorem 1, and the veto.

use hustings_protocol::wagner::Config;
use hustings_sim::statistics::Sample;
use hustings_sim::wagner::{Cheat, DrawRun, DrawTrial};
use hustings_theory::wagner::{Ring, segment};

use super::super::budget::{Result, share_of};
use super::super::evidence::{Evidence, Statement, list, shown};
use super::wagner_fixture::{WagnerFixture, cheated, honest};

/// Returns the share of runs for which `what` is true.
pub(super) fn share(runs: &[DrawRun], what: impl Fn(&DrawRun) -> bool) -> Sample {
    share_of(runs.iter().map(what))
}

impl<'a> Statement<'a> {
    /// Expects `what` to be true for all runs.
    pub(super) fn all_are(
        self,
        runs: &[DrawRun],
        what: impl Fn(&DrawRun) -> bool,
    ) -> &'a mut Evidence {
        self.all_true(runs.iter().map(what))
    }
}

fn largest(members: u32) -> u32 {
    segment::largest(members as usize, Ring::BothWays) as u32
}

pub(super) fn w1(fixture: &WagnerFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let runs = fixture.choose(1_000, 10_000);
    let mut owned = Vec::new();
    for members in [4, 7, 8, 9, 12] {
        let part = |cheaters: u32| f64::from(cheaters) / f64::from(members);
        let by_the_text = members - (members / 2 + 1);
        let trial = cheated(members, by_the_text, Cheat::DeterministicFlip);
        let wins = share(&fixture.hold(runs, &trial)?, |run| run.leader_is_cheater);
        evidence
            .stated(format!(
                "n = {members}, {by_the_text} cheat, by the text: share of draws that they win"
            ))
            .share(part(by_the_text), &wins);
        owned.push(shown(&wins));
        let most = largest(members);
        let trial = cheated(members, most, Cheat::DeterministicFlip);
        let wins = share(&fixture.hold(runs, &trial)?, |run| run.leader_is_cheater);
        evidence
            .corrected(format!("n = {members}, {most} cheat, by the abstract"))
            .share(part(most), &wins);
    }
    Ok(format!("n = 4, 7, 8, 9, 12 with floor(n/2) + 1 honest: cheaters win {}", list(&owned)))
}

pub(super) fn w2(fixture: &WagnerFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let runs = fixture.choose(100, 1_000);
    let mut held = 0;
    for (name, cheat) in [
        ("inconsistent messages", Cheat::InconsistentMessage),
        ("changed messages", Cheat::ChangeMessage),
        ("fault messages without a fault", Cheat::FaultMessage),
        ("no fault messages", Cheat::NoFaultMessage),
    ] {
        let (mut within, mut beyond) = (Vec::new(), Vec::new());
        for members in [4, 5, 8, 12] {
            for cheaters in [1, largest(members)] {
                within.extend(fixture.hold(runs, &cheated(members, cheaters, cheat.clone()))?);
            }
            beyond.extend(fixture.hold(runs, &cheated(members, members - 2, cheat.clone()))?);
        }
        held += within.len() + beyond.len();
        let all_know = |run: &DrawRun| run.informed == run.honest;
        evidence
            .stated(format!("{name}: draws in which all honest members know of a fault"))
            .all_are(&within, all_know)
            .ours(format!("{name}, by all but two members: the same"))
            .all_are(&beyond, all_know);
    }
    Ok(format!("all honest members knew in each of {held} draws"))
}

pub(super) fn w3(fixture: &WagnerFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let runs = fixture.choose(500, 5_000);
    let (members, cheaters) = (8, 3);
    let pretended = cheated(members, cheaters, Cheat::SimulateProcessor);
    let noticed = share(&fixture.hold(runs, &pretended)?, DrawRun::fault_detected);
    evidence
        .stated("n = 8, three pretend to be four: share of draws in which it is noticed")
        .share_above(0.98, &noticed);
    let broken = cheated(members, cheaters, Cheat::BrokenRing);
    let limited = fixture.hold(runs, &broken)?;
    evidence
        .stated("n = 8, three are silent: draws with a limit in which all honest members know")
        .all_are(&limited, |run| run.informed == run.honest);
    let patient = DrawTrial { config: Config { respond_within: None, ..broken.config }, ..broken };
    let endless = fixture.hold(runs, &patient)?;
    evidence
        .stated("the same without a limit: draws that never end")
        .all_are(&endless, DrawRun::stalled);
    Ok(format!("pretenders noticed in {} of draws; silence always, given a limit", shown(&noticed)))
}

pub(super) fn w4(fixture: &WagnerFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let runs = fixture.choose(100, 1_000);
    let mut held = 0;
    for members in [5, 6, 9, 12, 25] {
        let cheaters = largest(members) + 1;
        let trial = cheated(members, cheaters, Cheat::DeterministicFlip);
        let draws = fixture.hold(runs, &trial)?;
        held += draws.len();
        evidence
            .stated(format!("n = {members}, {cheaters} cheat: draws that they win, unnoticed"))
            .all_are(&draws, |run| run.leader_is_cheater && run.informed == 0);
    }
    Ok(format!("with one cheater too many, the cheaters won each of {held} draws"))
}

pub(super) fn w12(fixture: &WagnerFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    const TRIES: usize = 5;
    let (members, runs) = (5, fixture.choose(1_000, 10_000));
    let vetoed = fixture.hold(runs, &cheated(members, 1, Cheat::FaultMessage))?;
    evidence
        .stated(
            "n = 5, one reports a fault: draws in which all honest members know it, and name no \
             leader",
        )
        .all_are(&vetoed, |run| run.informed == run.honest && run.leader.is_none());
    let draws = fixture.hold(runs * TRIES as u64, &honest(members))?;
    let is_elected = |run: &DrawRun| run.leader.is_some_and(|leader| leader.0 == 0);
    let wins = share_of(draws.chunks(TRIES).map(|tries| tries.iter().any(is_elected)));
    let chosen = 1.0 - (1.0 - 1.0 / f64::from(members)).powi(TRIES as i32);
    evidence
        .ours("n = 5, five draws of which one member vetoes all that it loses: share that it wins")
        .share(chosen, &wins);
    Ok(format!(
        "all know of every veto; with five tries it would win {} of draws, not 0.2",
        shown(&wins)
    ))
}
