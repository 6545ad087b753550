//! P7 to P11: the simulations of section 5.

use hustings_protocol::probabilistic::Recall;
use hustings_sim::statistics::Sample;
use hustings_theory::probabilistic::rounds::{mean_messages_bound, mean_rounds_bound};
use hustings_theory::probabilistic::success::success_of_best_known;
use hustings_theory::probabilistic::{Model, factors};

use super::super::effort::ExperimentError;
use super::super::evidence::{
    Evidence, alike, all_below, average, list, mean_below, mean_between, numbers, share_above,
};
use super::stage::{Held, Plan, RULES, Stage, each, group, with_loss};

/// What "very high" is taken to mean. The report has no number; the verdicts are the same with any from 0.4 to 0.94.
const HIGH: f64 = 0.9;
/// What "one expected round" is taken to mean: one is the nearest whole number.
const ABOUT_ONE: f64 = 1.5;
/// The fifth may be one of all members.
const ROUNDS_COUNTED: usize = 4;
/// Of Figure 5 (a) to (c).
const MEMBERS: u64 = 2_000;

fn losses(stage: &Stage<'_>) -> &'static [f64] {
    stage.choose(&[0.0, 0.2, 0.4], &[0.0, 0.1, 0.2, 0.3, 0.4])
}

fn by_loss(stage: &Stage<'_>) -> Vec<Model> {
    let losses = losses(stage).iter();
    losses.map(|&loss| with_loss(MEMBERS, loss)).collect()
}

fn averages(samples: &[Sample]) -> String {
    numbers(&samples.iter().map(average).collect::<Vec<_>>())
}

fn strong(held: &[Held]) -> Vec<Sample> {
    each(held, |it| it.strong)
}

fn count(stage: &Stage<'_>) -> u64 {
    stage.choose(200, 1_000)
}

pub(super) fn p7(stage: &Stage<'_>) -> Result<Evidence, ExperimentError> {
    let (models, losses) = (by_loss(stage), losses(stage));
    let mut evidence = Evidence::default();
    let mut gist = Vec::new();
    for (name, recall) in RULES.into_iter().chain([("all", Recall::All)]) {
        // If all call another round that takes long, and one loss will do.
        let first = match recall {
            Recall::Hash | Recall::Delay => 0,
            Recall::All => models.len() - 1,
        };
        let plan = Plan::whole(recall);
        let held = stage.all_held(count(stage), &models[first..], plan)?;
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

/// At most so many rounds on average, if K grows as section 3.2 wants it to: a failed round is the only reason for another,
/// and section 4 says how rarely a round with greater K fails.
fn most_rounds(model: &Model, plan: Plan) -> f64 {
    mean_rounds_bound(model, &plan.ks(model.members))
}

/// At most so many messages on average before the fifth round, by Theorem 4.
fn most_messages(model: &Model, plan: Plan) -> f64 {
    let ks = plan.ks(model.members);
    mean_messages_bound(model, &ks[..ks.len().min(ROUNDS_COUNTED)])
}

/// Holds the report to few rounds and few messages. Other elections take a number of messages "at least linear in the
/// group size", says section 1: few are fewer than one a member. What Theorem 4 allows is more, and binds us.
fn few(evidence: &mut Evidence, what: &str, (model, plan): (&Model, Plan), held: &Held) {
    evidence.stated(
        format!("{what}: mean rounds, of 5, at most as many as a growing K needs"),
        mean_between(1.0, most_rounds(model, plan), &held.rounds),
    );
    evidence.stated(
        "the same: mean messages, fewer than members",
        mean_below(model.members as f64, &held.messages),
    );
    evidence.ours(
        "the same: mean messages, at most what Theorem 4 allows in so many rounds",
        mean_between(0.0, most_messages(model, plan), &held.messages),
    );
}

/// Success, rounds and messages, on one line.
fn gist_of(held: &[Held]) -> String {
    format!(
        "{} succeed, {} rounds, {} messages",
        averages(&strong(held)),
        averages(&each(held, |it| it.rounds)),
        averages(&each(held, |it| it.messages))
    )
}

pub(super) fn p8(stage: &Stage<'_>) -> Result<Evidence, ExperimentError> {
    let (models, losses) = (by_loss(stage), losses(stage));
    let mut evidence = Evidence::default();
    let mut gist = Vec::new();
    for (name, recall) in RULES {
        let plan = Plan::whole(recall);
        let held = stage.all_held(count(stage), &models, plan)?;
        for ((loss, model), held) in losses.iter().zip(&models).zip(&held) {
            let what = format!("re-initiated by {name}, loss {loss}");
            few(&mut evidence, &what, (model, plan), held);
        }
        gist.push(format!("by {name} {}", gist_of(&held)));
    }
    Ok(evidence.sum_up(format!("loss {}: {}", list(losses), gist.join("; "))))
}

pub(super) fn p9(stage: &Stage<'_>) -> Result<Evidence, ExperimentError> {
    let sizes: &[u64] = stage.choose(&[1_000, 6_000], &[1_000, 2_000, 4_000, 6_000]);
    let models: Vec<Model> = sizes.iter().map(|&members| group(members)).collect();
    let mut evidence = Evidence::default();
    let mut gist = Vec::new();
    for (name, recall) in RULES {
        let plan = Plan::whole(recall);
        let held = stage.all_held(count(stage), &models, plan)?;
        for (model, held) in models.iter().zip(&held) {
            evidence.stated(
                format!(
                    "re-initiated by {name}, N = {}: share of strong successes",
                    model.members
                ),
                share_above(HIGH, &held.strong),
            );
            evidence.stated(
                "the same: mean rounds, one to the nearest whole number",
                mean_below(ABOUT_ONE, &held.rounds),
            );
            evidence.ours(
                "the same: mean rounds, at most as many as a growing K needs",
                mean_between(1.0, most_rounds(model, plan), &held.rounds),
            );
        }
        // A number that grew as slowly as ln N would be a quarter greater at N = 6000, and seen.
        for (members, larger) in sizes.iter().zip(&held).skip(1) {
            evidence.stated(
                format!("the same: mean messages for N = {} and {members}", sizes[0]),
                alike(&held[0].messages, &larger.messages),
            );
        }
        let (many, few_runs) = stage.choose((50_000, 20), (1_000_000, 20));
        let beyond = stage.held(few_runs, &group(many), plan)?;
        evidence.ours(
            format!("the same: mean messages for N = {} and {many}", sizes[0]),
            alike(&held[0].messages, &beyond.messages),
        );
        gist.push(format!("by {name} {}", gist_of(&held)));
    }
    Ok(evidence.sum_up(format!("N = {}: {}", list(sizes), gist.join("; "))))
}

pub(super) fn p10(stage: &Stage<'_>) -> Result<Evidence, ExperimentError> {
    let views: &[f64] = stage.choose(&[0.2, 0.5], &[0.2, 0.3, 0.4, 0.5]);
    let model = |&view: &f64| Model {
        view,
        ..group(5_000)
    };
    let models: Vec<Model> = views.iter().map(model).collect();
    let mut evidence = Evidence::default();
    let mut gist = Vec::new();
    for (name, recall) in RULES {
        let plan = Plan::whole(recall);
        let held = stage.all_held(count(stage), &models, plan)?;
        for (model, held) in models.iter().zip(&held) {
            evidence.stated(
                format!(
                    "N = 5000, re-initiated by {name}, view {}: share of strong successes",
                    model.view
                ),
                share_above(HIGH, &held.strong),
            );
            few(&mut evidence, "the same", (model, plan), held);
        }
        gist.push(format!("by {name} {}", gist_of(&held)));
    }
    Ok(evidence.sum_up(format!("view {}: {}", list(views), gist.join("; "))))
}

/// How often an election succeeds at least if members crash: as often as its first round does.
fn least_success(model: &Model, plan: Plan) -> f64 {
    success_of_best_known(model, plan.k.into())
}

/// At most so many rounds on average if members crash: there is another if one fails though its leader lives.
fn most_rounds_noticed(model: &Model, plan: Plan) -> f64 {
    let ks = plan.ks(model.members);
    let failures = ks.iter().map(|&k| {
        let k = f64::from(k);
        1.0 - success_of_best_known(model, k) / factors::e5(model, k)
    });
    let reached = failures.scan(1.0, |so_far, fails| {
        let reached = *so_far;
        *so_far *= fails;
        Some(reached)
    });
    reached.sum()
}

pub(super) fn p11(stage: &Stage<'_>) -> Result<Evidence, ExperimentError> {
    let rates: &[f64] = stage.choose(&[0.2, 0.4], &[0.1, 0.2, 0.3, 0.4]);
    let plan = Plan::whole(Recall::Delay);
    let with_crashes = |&crash: &f64| Model {
        crash,
        ..group(MEMBERS)
    };
    let models: Vec<Model> = rates.iter().map(with_crashes).collect();
    let losing: Vec<Model> = rates.iter().map(|&it| with_loss(MEMBERS, it)).collect();
    let crashing = stage.all_held(count(stage), &models, plan)?;
    let calm = stage.held(count(stage), &group(MEMBERS), plan)?;
    let losing = stage.all_held(count(stage), &losing, plan)?;
    let mut evidence = Evidence::default();
    for ((model, held), other) in models.iter().zip(&crashing).zip(&losing) {
        let crash = model.crash;
        evidence.stated(
            format!(
                "N = 2000, crashes {crash} a round: share of strong successes, as with so much loss"
            ),
            alike(&other.strong, &held.strong),
        );
        evidence.stated("the same: mean rounds", alike(&other.rounds, &held.rounds));
        evidence.stated(
            "the same: mean messages",
            alike(&other.messages, &held.messages),
        );
        // Whom a round names lives with 1 - p_fail, and nobody notices if not.
        evidence.ours(
            format!("crashes {crash}: share of strong successes, from that of the first round to 1 - p_fail"),
            mean_between(least_success(model, plan), factors::e5(model, plan.k.into()), &held.strong),
        );
        evidence.ours(
            "the same: mean rounds, at most as many as are needed though leaders live",
            mean_between(1.0, most_rounds_noticed(model, plan), &held.rounds),
        );
        // Of two graphs a third is like the one that it is nearer to. From below: had whoever crashes in a round never taken
        // part, so many of those who relay would be left, and so many pairs of them.
        let (left, pairs) = (1.0 - crash, (1.0 - crash).powi(2));
        let least = average(&calm.unicasts) * pairs + average(&calm.multicasts) * left;
        let messages = (average(&calm.messages) + average(&other.messages)) / 2.0;
        evidence.ours(
            "the same: mean messages, nearer to those with crashes 0.001 than to those with so much loss, and at least those \
             of members that live",
            mean_between(least, messages, &held.messages),
        );
    }
    if let (Some(crashing), Some(losing)) = (crashing.last(), losing.last()) {
        evidence.ours(
            "the same: mean rounds and mean messages, fewer than with so much loss",
            all_below(
                &[losing.rounds, losing.messages],
                &[crashing.rounds, crashing.messages],
            ),
        );
    }
    Ok(evidence.sum_up(format!(
        "crashes {} a round: {}; losses as high: {}",
        list(rates),
        gist_of(&crashing),
        gist_of(&losing)
    )))
}
