//! L1 to L4: the duration of an election.

use hustings_theory::announce::repeats_until_heard::{
    surplus_announcements, surplus_announcements_for_many,
};
use hustings_theory::announce::{AnnounceModel, MulticastLoss, Variant, Wake, printed};

use super::super::budget::{Budget, Result};
use super::super::evidence::{Evidence, Statement, averages, list, number, numbers, shown};
use super::thesis_fixture::{DELAY, Sweep, held, models};

pub(super) fn l1(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let sizes: &[u64] = budget.choose(&[2, 10, 100], &[2, 10, 100, 500]);
    let runs = budget.choose(400, 4_000);
    let models = models(sizes, MulticastLoss::None);
    let mut measured = Vec::new();
    // LE-A has no random element here and is expensive, because all members announce themselves.
    for (algorithm, name, formula, runs) in
        [(Variant::LeA, "LE-A", "D", 20), (Variant::LeS, "LE-S", "E[t_s] + D", runs)]
    {
        let held = Sweep::hold(budget, runs, algorithm, &models)?;
        measured = held.measured(DELAY);
        evidence
            .stated(format!("N = {}: mean delay of {name}, {formula}", list(sizes)))
            .computed(&held, DELAY);
    }
    let late = AnnounceModel {
        wake: Wake::Exponential { rate: 10.0 },
        ..AnnounceModel::of_the_chapter(50, MulticastLoss::None)
    };
    let held = Sweep::hold(budget, runs, Variant::LeS, &[late])?;
    evidence
        .ours("N = 50, wake-ups mostly late (exponential, rate 10): mean delay of LE-S, E[t_s] + D")
        .computed(&held, DELAY);
    Ok(format!(
        "LE-A {}; LE-S {} at N = {}, on paper 0.6",
        number(models[0].delay),
        averages(&measured),
        list(sizes)
    ))
}

pub(super) fn l2(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let losses = [0.1, 0.4, 0.8];
    let runs = budget.choose(300, 4_000);
    let mut gist = Vec::new();
    for members in budget.choose([2, 50], [2, 100]) {
        let models = losses
            .map(|loss| AnnounceModel::of_the_chapter(members, MulticastLoss::Correlated(loss)));
        for (algorithm, name) in [(Variant::LeA, "LE-A"), (Variant::LeS, "LE-S")] {
            let held = Sweep::hold(budget, runs, algorithm, &models)?;
            evidence
                .stated(format!("N = {members}, loss {}: mean delay of {name}", list(&losses)))
                .computed(&held, DELAY);
            if algorithm == Variant::LeS {
                let measured = shown(&held.measured(DELAY)[1]);
                gist.push(format!("N = {members} {measured}"));
            }
        }
    }
    Ok(format!("LE-S, loss 0.4: {}, on paper 1.2667 for every N", gist.join(", ")))
}

pub(super) fn l3(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let sizes: &[u64] = budget.choose(&[2, 10, 50], &[2, 10, 100, 500]);
    let runs = budget.choose(300, 4_000);
    let loss = 0.4;
    let mut gist = String::new();
    for (algorithm, name, sizes) in
        [(Variant::LeA, "LE-A", &sizes[..2]), (Variant::LeS, "LE-S", sizes)]
    {
        let models = models(sizes, MulticastLoss::Uncorrelated(loss));
        let ns = list(sizes);
        let held = Sweep::hold(budget, runs, algorithm, &models)?;
        let (measured, corrected) = (held.measured(DELAY), held.computed(DELAY));
        let as_printed = held.by(|model| printed::leadership_delay(algorithm, model));
        let (delay, printed) = (shown(&measured[1]), number(as_printed[1]));
        let exactly = number(corrected[1]);
        gist = format!("{name}, N = {}: {delay}; printed {printed}, corrected {exactly}", sizes[1]);
        evidence
            .stated(format!("loss {loss}, N = {ns}: mean delay of {name}, sum as printed"))
            .means(&as_printed, &measured)
            .corrected("the same, T_A times the sum of 1-(1-l^i)^(N-1), i from 1")
            .means(&corrected, &measured);
    }
    let summed = |members| printed::alternating_sum(loss, members);
    let stable = |members| printed::consecutive_lost_uncorrelated(loss, members);
    evidence.ours("the alternating sum term by term in doubles, N = 20: its error").between(
        -1e-6,
        1e-6,
        summed(20) - stable(20),
    );
    evidence.ours("the same, N = 80: no digit is left, the error exceeds the value").between(
        1.0,
        f64::INFINITY,
        (summed(80) / stable(80) - 1.0).abs(),
    );
    Ok(gist)
}

pub(super) fn l4(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let loss = 0.4;
    let surplus =
        |members: u64| surplus_announcements(MulticastLoss::Uncorrelated(loss), members - 1);
    let powers: Vec<u64> = (1..=6).map(|power| 10_u64.pow(power)).collect();
    let growth: Vec<f64> =
        powers.windows(2).map(|pair| surplus(pair[1]) - surplus(pair[0])).collect();
    let per_decade = 10_f64.ln() / (1.0 / loss).ln();
    evidence
        .stated(
            "loss 0.4, on paper: the delay levels off, it grows less from N = 10^5 to 10^6 than \
             half of what it grows from 10 to 100",
        )
        .between(0.0, growth[0] / 2.0, growth[growth.len() - 1])
        .ours(
            "the same: growth in units of T_A for N ten times as large, ln 10/ln(1/l), N from 10^3 \
             upwards",
        )
        .all_near(per_decade, &growth[2..]);
    let many: Vec<f64> = powers[2..]
        .iter()
        .map(|&members| surplus(members) - surplus_announcements_for_many(loss, members - 1))
        .collect();
    evidence
        .ours("the same, N = 10^3 to 10^6: distance from H(N-1)/ln(1/l) - 1/2")
        .all_near(0.0, &many);

    // With hardly any delay few members announce themselves, and large groups are affordable.
    let sizes: &[u64] = budget.choose(&[10, 100, 1_000], &[10, 100, 1_000, 10_000, 100_000]);
    let model = |&members: &u64| AnnounceModel {
        delay: 1e-4,
        ..AnnounceModel::of_the_chapter(members, MulticastLoss::Uncorrelated(loss))
    };
    let models: Vec<AnnounceModel> = sizes.iter().map(model).collect();
    let expected: Vec<f64> = sizes.iter().map(|&members| 1.0 + surplus(members)).collect();
    let mut rounds = Vec::new();
    for model in &models {
        let runs = budget.choose(100, if model.members > 1_000 { 100 } else { 1_000 });
        rounds.push(held(budget, runs, Variant::LeS, model)?.rounds);
    }
    evidence
        .ours(format!(
            "LE-S, D = T_S/10000, N = {}: mean announcements of the leader until all have heard \
             one",
            list(sizes)
        ))
        .means(&expected, &rounds);
    let delays: Vec<f64> = powers.iter().map(|&members| surplus(members)).collect();
    Ok(format!(
        "loss 0.4, N = 10 to 10^6: {} T_A; {} more for every factor of ten, without end",
        numbers(&delays),
        number(per_decade)
    ))
}

impl<'a> Statement<'a> {
    /// Expects all values within 0.02 of `expected`.
    fn all_near(self, expected: f64, values: &[f64]) -> &'a mut Evidence {
        let distance = |value: f64| (value - expected).abs();
        let farther = |one, other| if distance(other) > distance(one) { other } else { one };
        let farthest = values.iter().copied().fold(expected, farther);
        self.between(expected - 0.02, expected + 0.02, farthest)
    }
}
