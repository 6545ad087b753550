//! W5 to W11: theorems 2 and 3.

use std::num::NonZeroU32;

use hustings_sim::statistics::Kind;
use hustings_sim::wagner::{Aim, Cheat, DrawRun};
use hustings_theory::wagner::election::{cost, printed_bound, stages_exceed};
use hustings_theory::wagner::informal::{Parity, Sees, best_cheater, printed_cheater};
use hustings_theory::wagner::stall::{StallLimit, endless, false_alarm};
use hustings_theory::wagner::subset::{flips_to_decide, rounds};
use hustings_theory::wagner::{Compare, Ring, segment};

use super::super::budget::{Result, sample_of};
use super::super::evidence::{Evidence, average, number, numbers};
use super::faults::share;
use super::wagner_fixture::{
    WagnerFixture, cheated, honest, informal, limited, limited_to, schemed,
};

pub(super) fn w5(fixture: &WagnerFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let runs = fixture.choose(1_500, 15_000);
    let mut held = 0;
    for members in [4_u32, 7, 8, 25] {
        let fair = 1.0 / f64::from(members);
        let most = segment::largest(members as usize, Ring::BothWays) as u32;
        let far = most + (members - most) / 2;
        for (who, trial) in [
            ("all honest", honest(members)),
            ("the largest segment cheats", cheated(members, most, Cheat::DeterministicFlip)),
        ] {
            let draws = fixture.hold(runs, &trial)?;
            held += draws.len();
            for place in [most, far] {
                let wins = share(&draws, |run| {
                    run.leader.is_some_and(|leader| leader.0 == u64::from(place))
                });
                evidence
                    .stated(format!(
                        "n = {members}, {who}: share of draws that member {place} wins"
                    ))
                    .share(fair, &wins);
            }
        }
    }
    for (members, cheaters) in [(4, 1), (6, 2), (8, 3)] {
        let trial = schemed(&honest(members), cheaters, Aim::Win)?;
        let draws = fixture.hold(runs, &trial)?;
        held += draws.len();
        let part = f64::from(cheaters) / f64::from(members);
        evidence
            .stated(format!(
                "n = {members}, {cheaters} choose the best possible flips: share of draws that \
                 they win"
            ))
            .share(part, &share(&draws, |run| run.leader_is_cheater));
    }
    Ok(format!("1/n for each member looked at, in {held} draws"))
}

/// Checks how many draws end although cheaters try to stall. Each case is a number of members and a
/// number of cheaters.
fn stalling(
    fixture: &WagnerFixture<'_>,
    evidence: &mut Evidence,
    cases: &[(u32, u32)],
) -> Result<Vec<f64>> {
    let runs = fixture.choose(300, 3_000);
    let mut stalled = Vec::new();
    for &(members, cheaters) in cases {
        let trial = cheated(members, cheaters, Cheat::StaleMate);
        let draws = fixture.hold(runs, &trial)?;
        evidence
            .stated(format!("n = {members}, {cheaters} try to stall: draws that end"))
            .all_are(&draws, |run| !run.stalled());
        let share = share(&draws, DrawRun::stalled);
        let expected = endless(members as usize, cheaters as usize);
        evidence
            .ours(format!("n = {members}, {cheaters} try to stall: share of draws that do not end"))
            .share(expected, &share);
        stalled.push(average(&share));
        let draws = fixture.hold(runs, &limited(trial))?;
        evidence
            .corrected(format!(
                "n = {members}, {cheaters} try to stall, 40 equal stages are a fault: draws with a \
                 leader, or a fault that all know"
            ))
            .all_are(&draws, |run| run.leader.is_some() || run.informed == run.honest);
    }
    Ok(stalled)
}

pub(super) fn w6(fixture: &WagnerFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let stalled = stalling(fixture, evidence, &[(6, 1), (6, 2), (8, 3), (12, 5)])?;
    let runs = fixture.choose(300, 3_000);
    for (members, cheaters) in [(6_u32, 2_u32), (8, 3)] {
        let trial = schemed(&honest(members), cheaters, Aim::Stall)?;
        let endless = share(&fixture.hold(runs, &trial)?, DrawRun::stalled);
        let twice_their_part = f64::from(2 * cheaters) / f64::from(members);
        evidence
            .ours(format!(
                "n = {members}, {cheaters} choose the best possible flips: share of draws that do \
                 not end"
            ))
            .share(twice_their_part, &endless);
        let draws = fixture.hold(runs, &limited(trial))?;
        evidence
            .corrected(format!(
                "n = {members}, {cheaters} choose the best possible flips, 40 equal stages are a \
                 fault: draws that end"
            ))
            .all_are(&draws, |run| !run.stalled());
    }
    for limit in [2, 4, 6].into_iter().filter_map(NonZeroU32::new) {
        let draws = fixture.hold(10 * runs, &limited_to(honest(8), limit))?;
        let expected = false_alarm(8, StallLimit::new(limit.get()));
        evidence
            .ours(format!(
                "n = 8, all honest, {limit} equal stages are a fault: share of false alarms"
            ))
            .share(expected, &share(&draws, DrawRun::fault_detected));
    }
    Ok(format!(
        "1 of 6, 2 of 6, 3 of 8, 5 of 12 hold up {} of draws for ever; none with a limit",
        numbers(&stalled)
    ))
}

pub(super) fn w11(fixture: &WagnerFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let stalled = stalling(fixture, evidence, &[(4, 1), (8, 1), (8, 2)])?;
    Ok(format!(
        "one of 4 and one of 8 hold up {} and {} of draws, two of 8 {}",
        number(stalled[0]),
        number(stalled[1]),
        number(stalled[2])
    ))
}

pub(super) fn w7(fixture: &WagnerFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let runs = fixture.choose(300, 2_000);
    let sizes = [8_usize, 25, 64, 250, 1_000];
    let per_doubling = sizes.map(|n| {
        let expected = cost(n, Compare::NonStrict, None);
        expected.basic_rounds / (n as f64).log2()
    });
    for (n, ratio) in sizes.iter().zip(per_doubling) {
        evidence.stated(format!("n = {n}: expected rounds over log2 n")).between(2.5, 3.5, ratio);
    }
    for members in [8_u32, 25] {
        let draws = fixture.hold(runs, &honest(members))?;
        let of = |run: &DrawRun| u64::from(run.stages + run.flips);
        let square = 2 * u64::from(members * members);
        evidence
            .stated(format!("n = {members}: draws with 2 n^2 messages of one bit a round"))
            .all_are(&draws, |run| run.bits() == square * of(run));
        let taken = sample_of(Kind::Number, draws.iter().map(|run| of(run) as f64));
        let expected = cost(members as usize, Compare::NonStrict, None).basic_rounds;
        evidence.ours(format!("n = {members}: mean rounds")).mean(expected, &taken);
    }
    Ok(format!("rounds over log2 n for n = 8, 25, 64, 250, 1000: {}", numbers(&per_doubling)))
}

pub(super) fn w8(fixture: &WagnerFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let runs = fixture.choose(300, 2_000);
    let mut exceeding = Vec::new();
    for members in [4_u32, 8, 25] {
        let bound = printed_bound(members as usize);
        let draws = fixture.hold(runs, &honest(members))?;
        evidence
            .stated(format!("n = {members}: draws of at most {bound} subsets"))
            .all_are(&draws, |run| run.stages <= bound);
        let stages = sample_of(Kind::Number, draws.iter().map(|run| run.stages.into()));
        evidence
            .corrected(format!("n = {members}: mean subsets"))
            .mean_below(bound.into(), &stages);
        let more = share(&draws, |run| run.stages > bound);
        let expected = stages_exceed(members as usize, bound);
        evidence.ours(format!("n = {members}: share of draws with more")).share(expected, &more);
        exceeding.push(average(&more));
    }
    Ok(format!(
        "more than ceil(log2 n) + 2 subsets for n = 4, 8, 25 in {} of draws",
        numbers(&exceeding)
    ))
}

pub(super) fn w9(fixture: &WagnerFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    // For larger sizes a floating-point number cannot hold the difference from three.
    const MOST: usize = 50;
    let within = |compare| (2..=MOST).map(move |m| rounds(m, compare) < 3.0);
    evidence
        .stated("as printed, strictly: sizes from 2 to 50 with less than three rounds a subset")
        .all_true(within(Compare::Strict));
    evidence.corrected("with >=: the same").all_true(within(Compare::NonStrict));
    let half = [Compare::Strict, Compare::NonStrict].map(|it| flips_to_decide(1, 2, it));
    evidence.stated("as printed, strictly: expected flips for one half").between(0.0, 2.0, half[0]);
    evidence.corrected("with >=: the same").between(0.0, 2.0, half[1]);
    for members in [4_u32, 8] {
        let draws = fixture.hold(fixture.choose(1_000, 10_000), &honest(members))?;
        let flips = sample_of(Kind::Number, draws.iter().map(|run| run.flips.into()));
        let expected = cost(members as usize, Compare::NonStrict, None).flips;
        evidence
            .corrected(format!("n = {members}, with >=: mean flips of a draw"))
            .mean(expected, &flips);
    }
    Ok(format!(
        "one half takes {} flips as printed, and {} with >=; a third takes 2 by either",
        half[0], half[1]
    ))
}

pub(super) fn w10(fixture: &WagnerFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let gain = |n: usize| best_cheater(n, Parity::Ring, Sees::Both) * n as f64;
    for n in [4, 8, 100] {
        evidence.stated(format!("n = {n}: the share of the best cheater, times n")).between(
            1.0,
            1.1,
            gain(n),
        );
    }
    evidence.corrected("n = 4: the same, by half").between(1.5 - 1e-9, 1.5 + 1e-9, gain(4));
    for n in [25, 100, 300] {
        evidence.corrected(format!("n = {n}: the same, in a large ring")).between(
            1.0,
            1.1,
            gain(n),
        );
    }
    for members in [4_u32, 6, 8] {
        let trial = schemed(&informal(members), 1, Aim::Win)?;
        let draws = fixture.hold(fixture.choose(2_000, 20_000), &trial)?;
        let expected = best_cheater(members as usize, Parity::Ring, Sees::Both);
        evidence
            .corrected(format!("n = {members}: share of draws that the best cheater wins"))
            .share(expected, &share(&draws, |run| run.leader_is_cheater));
    }
    for n in [4, 8, 25] {
        let printed = printed_cheater(n, Parity::Ring) * n as f64;
        evidence
            .ours(format!("n = {n}: the share of the printed strategy, times n, below the best"))
            .between(0.0, gain(n) - 1e-9, printed);
    }
    Ok(format!(
        "the best cheater of 4, 8, 25, 100 gets {} times its fair share",
        numbers(&[4, 8, 25, 100].map(gain))
    ))
}
