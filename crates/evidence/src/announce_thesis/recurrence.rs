//! L10: the distribution of the messages of the first round.

use hustings_sim::statistics::Sample;
use hustings_theory::announce::{AnnounceModel, MulticastLoss, Variant, printed, recurrence};

use super::super::budget::{Budget, Result, seed_of, share_of};
use super::super::evidence::{Evidence, averages, list, number, numbers, shown};
use super::thesis_fixture::{FIRST_MESSAGES, Sweep, config, converge, group, time};

const LOSS: f64 = 0.4;

fn without_delay(members: u64) -> AnnounceModel {
    AnnounceModel {
        delay: 0.0,
        ..AnnounceModel::of_the_chapter(members, MulticastLoss::Uncorrelated(LOSS))
    }
}

/// Measures the share of runs with each number of messages in the first round, from 1 to N.
fn shares(budget: &Budget, runs: u64, members: u64) -> Result<Vec<Sample>> {
    let model = without_delay(members);
    let own = budget.reseeded(seed_of(&format!("shares {members}")));
    let counts = own.each(runs, |_, seeds| {
        let mut world = group(config(Variant::LeS, &model), &model, seeds);
        converge(&mut world, time(model.announce_interval));
        world.trace().hearing.first_round_messages
    })?;
    let share = |messages| share_of(counts.iter().map(|&count| count == messages));
    Ok((1..=members).map(share).collect())
}

pub(super) fn l10(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let runs = budget.choose(5_000, 50_000);
    let mut gist = String::new();
    for members in [2, 3, 5] {
        let shares = shares(budget, runs, members)?;
        let as_printed = &printed::law_of_messages(members, LOSS)[1..];
        let corrected = &recurrence::law_of_messages(members, LOSS)[1..];
        evidence
            .stated(format!(
                "loss {LOSS}, D = 0: Q(i, {members}) for i = 1 to {members}, as printed"
            ))
            .means(as_printed, &shares)
            .corrected("the same, given that the members that sent woke early")
            .means(corrected, &shares);
        if members == 3 {
            let [printed, exactly] = [as_printed, corrected].map(numbers);
            gist =
                format!("Q(i, 3): {}; printed {printed}, corrected {exactly}", averages(&shares));
        }
    }
    let sizes: &[u64] = budget.choose(&[10, 100], &[10, 100, 1000]);
    let models: Vec<_> = sizes.iter().map(|&members| without_delay(members)).collect();
    let held = Sweep::hold(budget, budget.choose(300, 2_000), Variant::LeS, &models)?;
    let measured = held.measured(FIRST_MESSAGES);
    let by = |mean: fn(u64, f64) -> f64| held.by(|model| Some(mean(model.members, LOSS)));
    evidence
        .stated(format!("N = {}: mean messages of the first round, as printed", list(sizes)))
        .means(&by(printed::mean_messages), &measured);
    evidence.corrected("the same, corrected").means(&by(recurrence::mean_messages), &measured);
    let many = 10_000;
    let growth = |mean: fn(u64, f64) -> f64| mean(4 * many, LOSS) / mean(many, LOSS);
    evidence
        .ours(format!(
            "N from {many} to four times as many: the printed mean doubles, as a square root does"
        ))
        .between(1.98, 2.02, growth(printed::mean_messages));
    let step = recurrence::mean_messages(4 * many, LOSS) - recurrence::mean_messages(many, LOSS);
    evidence.ours("the same: the corrected mean grows by ln 4/(1 + l ln l/(1-l))").between(
        -1e-3,
        1e-3,
        step - recurrence::growth(LOSS) * 4_f64.ln(),
    );
    Ok(format!(
        "{gist}; mean at N = 100 {}, printed {}, corrected {}",
        shown(&measured[1]),
        number(printed::mean_messages(100, LOSS)),
        number(recurrence::mean_messages(100, LOSS))
    ))
}
