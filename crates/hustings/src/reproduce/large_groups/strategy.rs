//! P7 to P11: the simulations of section 5.

use hustings_protocol::probabilistic::Recall;
use hustings_sim::statistics::Sample;
use hustings_theory::probabilistic::Model;

use super::super::effort::{Effort, ExperimentError};
use super::super::evidence::{Evidence, alike, average, list, mean_between, numbers, share_above};
use super::stage::{Held, Plan, RULES, all_held, each, group, held, with_loss};

/// What "very high" is taken to mean.
const HIGH: f64 = 0.9;
/// Of Figure 5 (a) to (c).
const MEMBERS: u64 = 2_000;

fn losses(effort: &Effort) -> &'static [f64] {
    effort.choose(&[0.0, 0.2, 0.4], &[0.0, 0.1, 0.2, 0.3, 0.4])
}

fn by_loss(effort: &Effort) -> Vec<Model> {
    let losses = losses(effort).iter();
    losses.map(|&loss| with_loss(MEMBERS, loss)).collect()
}

fn averages(samples: &[Sample]) -> String {
    numbers(&samples.iter().map(average).collect::<Vec<_>>())
}

fn strong(held: &[Held]) -> Vec<Sample> {
    each(held, |it| it.strong)
}

fn count(effort: &Effort) -> u64 {
    effort.choose(200, 1_000)
}

pub(super) fn p7(effort: &Effort) -> Result<Evidence, ExperimentError> {
    let (models, losses) = (by_loss(effort), losses(effort));
    let mut evidence = Evidence::default();
    let mut gist = Vec::new();
    for (name, recall) in RULES.into_iter().chain([("all", Recall::All)]) {
        // If all call another round that takes long, and one loss will do.
        let first = match recall {
            Recall::Hash | Recall::Delay => 0,
            Recall::All => models.len() - 1,
        };
        let plan = Plan::whole(recall);
        let held = all_held(effort, count(effort), &models[first..], plan)?;
        for (loss, held) in losses[first..].iter().zip(&held) {
            let what = format!("re-initiated by {name}, loss {loss}: share of strong successes");
            let high = share_above(HIGH, &held.strong);
            match recall {
                Recall::Hash => evidence.stated(what, high),
                Recall::Delay => evidence.corrected(what, high),
                Recall::All => evidence.ours(what, high),
            }
            let at_least = mean_between(average(&held.strong), 1.0, &held.weak);
            evidence.ours("the same: weak success, at least that", at_least);
        }
        gist.push(format!("{} by {name}", averages(&strong(&held))));
    }
    Ok(evidence.sum_up(format!(
        "strong success at loss {}: {}",
        list(losses),
        gist.join("; ")
    )))
}

pub(super) fn p8(effort: &Effort) -> Result<Evidence, ExperimentError> {
    let (models, losses) = (by_loss(effort), losses(effort));
    let mut evidence = Evidence::default();
    let mut gist = Vec::new();
    for (name, recall) in RULES {
        let held = all_held(effort, count(effort), &models, Plan::whole(recall))?;
        for (loss, held) in losses.iter().zip(&held) {
            evidence.stated(
                format!("re-initiated by {name}, loss {loss}: mean rounds, of 5"),
                mean_between(1.0, 2.5, &held.rounds),
            );
            evidence.stated(
                "the same: mean messages, far fewer than the 2000 members",
                mean_between(0.0, MEMBERS as f64 / 4.0, &held.messages),
            );
        }
        gist.push(format!(
            "by {name} {} rounds, {} messages",
            averages(&each(&held, |it| it.rounds)),
            averages(&each(&held, |it| it.messages))
        ));
    }
    Ok(evidence.sum_up(format!("loss {}: {}", list(losses), gist.join("; "))))
}

pub(super) fn p9(effort: &Effort) -> Result<Evidence, ExperimentError> {
    let sizes: &[u64] = effort.choose(&[1_000, 6_000], &[1_000, 2_000, 4_000, 6_000]);
    let models: Vec<Model> = sizes.iter().map(|&members| group(members)).collect();
    let mut evidence = Evidence::default();
    let mut gist = Vec::new();
    for (name, recall) in RULES {
        let plan = Plan::whole(recall);
        let held = all_held(effort, count(effort), &models, plan)?;
        for (members, held) in sizes.iter().zip(&held) {
            evidence.stated(
                format!("re-initiated by {name}, N = {members}: share of strong successes"),
                share_above(HIGH, &held.strong),
            );
            evidence.stated(
                "the same: mean rounds, about one",
                mean_between(1.0, 1.05, &held.rounds),
            );
        }
        for (members, larger) in sizes.iter().zip(&held).skip(1) {
            evidence.stated(
                format!("the same: mean messages for N = {} and {members}", sizes[0]),
                alike(&held[0].messages, &larger.messages),
            );
        }
        let (many, few_runs) = effort.choose((50_000, 20), (1_000_000, 20));
        let beyond = self::held(effort, few_runs, &group(many), plan)?;
        evidence.ours(
            format!("the same: mean messages for N = {} and {many}", sizes[0]),
            alike(&held[0].messages, &beyond.messages),
        );
        gist.push(format!(
            "by {name} {} succeed, {} rounds, {} messages",
            averages(&strong(&held)),
            averages(&each(&held, |it| it.rounds)),
            averages(&each(&held, |it| it.messages))
        ));
    }
    Ok(evidence.sum_up(format!("N = {}: {}", list(sizes), gist.join("; "))))
}

pub(super) fn p10(effort: &Effort) -> Result<Evidence, ExperimentError> {
    let views: &[f64] = effort.choose(&[0.2, 0.5], &[0.2, 0.3, 0.4, 0.5]);
    let model = |&view: &f64| Model {
        view,
        ..group(5_000)
    };
    let models: Vec<Model> = views.iter().map(model).collect();
    let mut evidence = Evidence::default();
    let mut gist = Vec::new();
    for (name, recall) in RULES {
        let held = all_held(effort, count(effort), &models, Plan::whole(recall))?;
        for (view, held) in views.iter().zip(&held) {
            evidence.stated(
                format!("N = 5000, re-initiated by {name}, view {view}: share of strong successes"),
                share_above(HIGH, &held.strong),
            );
            evidence.stated(
                "the same: mean rounds, of 5",
                mean_between(1.0, 2.0, &held.rounds),
            );
            evidence.stated(
                "the same: mean messages, far fewer than members",
                mean_between(0.0, 500.0, &held.messages),
            );
        }
        gist.push(format!(
            "by {name} {} succeed, {} rounds, {} messages",
            averages(&strong(&held)),
            averages(&each(&held, |it| it.rounds)),
            averages(&each(&held, |it| it.messages))
        ));
    }
    Ok(evidence.sum_up(format!("view {}: {}", list(views), gist.join("; "))))
}

pub(super) fn p11(effort: &Effort) -> Result<Evidence, ExperimentError> {
    let crashes: &[f64] = effort.choose(&[0.2, 0.4], &[0.1, 0.2, 0.3, 0.4]);
    let model = |&crash: &f64| Model {
        crash,
        ..group(MEMBERS)
    };
    let models: Vec<Model> = crashes.iter().map(model).collect();
    let plan = Plan::whole(Recall::Delay);
    let held = all_held(effort, count(effort), &models, plan)?;
    let few = self::held(effort, count(effort), &group(MEMBERS), plan)?;
    let mut evidence = Evidence::default();
    for (crash, held) in crashes.iter().zip(&held) {
        evidence.stated(
            format!(
                "N = 2000, crashes {crash} a round: share of strong successes, as high as with loss"
            ),
            share_above(HIGH, &held.strong),
        );
        evidence.corrected(
            "the same: as often as the leader does not crash, or little less",
            mean_between(0.9 * (1.0 - crash), 1.0 - crash, &held.strong),
        );
        evidence.corrected(
            "the same: mean rounds, of 5",
            mean_between(1.0, 1.5, &held.rounds),
        );
        let usual = average(&few.messages);
        evidence.corrected(
            "the same: mean messages, nearly as with few crashes",
            mean_between(0.8 * usual, 1.2 * usual, &held.messages),
        );
    }
    Ok(evidence.sum_up(format!(
        "crashes {} a round: {} succeed, {} rounds, {} messages",
        list(crashes),
        averages(&strong(&held)),
        averages(&each(&held, |it| it.rounds)),
        averages(&each(&held, |it| it.messages))
    )))
}
