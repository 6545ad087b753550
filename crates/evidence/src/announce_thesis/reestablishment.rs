//! L5 and L7: the time to agree again after the leader has left and after a late join.

use hustings_protocol::announce::{Config, Listen};
use hustings_sim::announcing::Perturbation;
use hustings_sim::statistics::Sample;
use hustings_theory::announce::reestablishment::{greater_joiner, leader_departure, lesser_joiner};
use hustings_theory::announce::{AnnounceModel, MulticastLoss, Variant, printed};

use super::super::budget::{Budget, Result};
use super::super::evidence::{Evidence, number, shown};
use super::thesis_fixture::{config, name_of, reestablished, time};

const LOSS: f64 = 0.4;
/// Far longer than a leader is ever silent: one timer in 10^8 expires under a leader that is up.
const LISTEN: f64 = 20.0;
/// The time by which all have heard a new leader.
const ELECTION_TIMEOUT: f64 = 40.0;

pub(super) fn l5(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let sizes: &[u64] = budget.choose(&[10], &[10, 50]);
    let runs = budget.choose(200, 4_000);
    let mut gist = Vec::new();
    for &members in sizes {
        for loss in [
            MulticastLoss::None,
            MulticastLoss::Correlated(LOSS),
            MulticastLoss::Uncorrelated(LOSS),
        ] {
            let name = name_of(loss);
            let model = AnnounceModel::of_the_chapter(members, loss);
            let listening =
                Config { listen: Listen::For(time(LISTEN)), ..config(Variant::LeS, &model) };
            let dies = Perturbation::LeaderDies;
            let election_timeout = LISTEN + ELECTION_TIMEOUT;
            let measured = reestablished(budget, runs, dies, listening, &model, election_timeout)?;
            // The leader leaves at a uniformly random time of an interval.
            let departed = model.announce_interval / 2.0;
            let as_printed = printed::leader_departure(&model, LISTEN, departed);
            evidence
                .stated(format!(
                    "N = {members}, T_L = {LISTEN}, {name}: T_L + 2D + E[t_s] - E[t_d]"
                ))
                .mean(as_printed, &measured);
            let corrected = leader_departure(Variant::LeS, &model, LISTEN, departed);
            evidence
                .corrected(format!("N = {members}, {name}: the same, longer for uncorrelated loss"))
                .mean(corrected.unwrap_or(f64::NAN), &measured);
            if members == sizes[0] {
                gist.push(format!("{name} {}", shown(&measured)));
            }
        }
    }
    let first = AnnounceModel::of_the_chapter(sizes[0], MulticastLoss::None);
    let printed = number(printed::leader_departure(&first, LISTEN, 0.5));
    Ok(format!("N = {}, printed {printed} for all: {}", sizes[0], gist.join(", ")))
}

pub(super) fn l7(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let members = 20;
    let runs = budget.choose(200, 4_000);
    let joined = |algorithm, loss, perturbation| -> Result<(AnnounceModel, Sample)> {
        let model = AnnounceModel::of_the_chapter(members, loss);
        let config = config(algorithm, &model);
        let sample = reestablished(budget, runs, perturbation, config, &model, ELECTION_TIMEOUT)?;
        Ok((model, sample))
    };
    for (algorithm, le) in [(Variant::LeA, "LE-A"), (Variant::LeS, "LE-S")] {
        for loss in [MulticastLoss::None, MulticastLoss::Correlated(LOSS)] {
            let name = name_of(loss);
            let (model, greater) = joined(algorithm, loss, Perturbation::GreaterJoins)?;
            evidence
                .stated(format!(
                    "{le}, N = {members} with the joiner, {name}: a greater one, as at the start"
                ))
                .mean(greater_joiner(algorithm, &model).unwrap_or(f64::NAN), &greater);
            let (model, lesser) = joined(algorithm, loss, Perturbation::LesserJoins)?;
            evidence
                .stated(format!(
                    "{le}, {name}: a lesser one, T_A/2 and T_A for each announcement lost"
                ))
                .mean(lesser_joiner(&model), &lesser);
        }
    }
    let loss = MulticastLoss::Uncorrelated(LOSS);
    let (model, greater) = joined(Variant::LeS, loss, Perturbation::GreaterJoins)?;
    let (_, lesser) = joined(Variant::LeS, loss, Perturbation::LesserJoins)?;
    let corrected = greater_joiner(Variant::LeS, &model).unwrap_or(f64::NAN);
    evidence
        .stated("LE-S, uncorrelated loss 0.4: a greater one, as printed")
        .mean(printed::greater_joiner(&model), &greater)
        .corrected("the same, one T_A less: the sum counts attempts, not losses")
        .mean(corrected, &greater)
        .stated("LE-S, uncorrelated loss 0.4: a lesser one, as printed")
        .mean(printed::lesser_joiner(&model), &lesser)
        .corrected("the same for the one receiver that must hear it: T_A/2 + T_A l/(1-l)")
        .mean(lesser_joiner(&model), &lesser);
    let [took, took_lesser] = [&greater, &lesser].map(shown);
    let [printed, printed_lesser] =
        [printed::greater_joiner(&model), printed::lesser_joiner(&model)].map(number);
    Ok(format!(
        "uncorrelated, N = {members}: greater {took} (printed {printed}), lesser {took_lesser} \
         (printed {printed_lesser}); the rest as printed"
    ))
}
