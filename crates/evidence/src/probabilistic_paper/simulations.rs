//! P7 to P11: the simulations of section 5.

use hustings_protocol::probabilistic::Recall;
use hustings_sim::statistics::Sample;
use hustings_theory::probabilistic::rounds::{mean_messages_bound, mean_rounds_bound};
use hustings_theory::probabilistic::success::success_of_best_known;
use hustings_theory::probabilistic::{Model, factors};

use super::super::budget::Result;
use super::super::evidence::{Evidence, average, averages, list};
use super::probabilistic_fixture::{
    Plan, ProbabilisticFixture, ProbabilisticResults, RULES, each, group, with_loss,
};

/// Our meaning of "very high". The report has no number; the verdicts are the same with any value
/// from 0.4 to 0.94.
const HIGH: f64 = 0.9;
/// Our meaning of "one expected round": the nearest whole number is one.
const ABOUT_ONE: f64 = 1.5;
/// The number of rounds whose messages count. The fifth round may be one of all members.
const ROUNDS_COUNTED: usize = 4;
/// The group size of Figure 5 (a) to (c).
const MEMBERS: u64 = 2_000;

fn losses(fixture: &ProbabilisticFixture<'_>) -> &'static [f64] {
    fixture.choose(&[0.0, 0.2, 0.4], &[0.0, 0.1, 0.2, 0.3, 0.4])
}

fn by_loss(losses: &[f64]) -> Vec<Model> {
    losses.iter().map(|&loss| with_loss(MEMBERS, loss)).collect()
}

fn strong(held: &[ProbabilisticResults]) -> Vec<Sample> {
    each(held, |it| it.strong)
}

/// Runs elections by this plan in each of the groups.
fn hold(
    fixture: &ProbabilisticFixture<'_>,
    models: &[Model],
    plan: Plan,
) -> Result<Vec<ProbabilisticResults>> {
    fixture.all_held(fixture.choose(200, 1_000), models, plan)
}

pub(super) fn p7(fixture: &ProbabilisticFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let losses = losses(fixture);
    let models = by_loss(losses);
    let mut gist = Vec::new();
    for (name, recall) in RULES.into_iter().chain([("all", Recall::All)]) {
        // With the rule "all" a further round takes long, and one loss suffices.
        let first = match recall {
            Recall::Hash | Recall::Delay => 0,
            Recall::All => models.len() - 1,
        };
        let plan = Plan::whole(recall);
        let held = hold(fixture, &models[first..], plan)?;
        for (loss, held) in losses[first..].iter().zip(&held) {
            let what = format!("re-initiated by {name}, loss {loss}: share of strong successes");
            let statement = match recall {
                Recall::Hash => evidence.stated(what),
                Recall::Delay => evidence.corrected(what),
                Recall::All => evidence.ours(what),
            };
            statement.share_above(HIGH, &held.strong);
            evidence.ours("the same: weak success, at least strong success").mean_between(
                average(&held.strong),
                1.0,
                &held.weak,
            );
        }
        gist.push(format!("{} by {name}", averages(&strong(&held))));
    }
    Ok(format!("strong success at loss {}: {}", list(losses), gist.join("; ")))
}

/// Returns a bound of the mean number of rounds, if K grows as section 3.2 requires. Only a failed
/// round causes another, and section 4 says how rarely a round with greater K fails.
fn most_rounds(model: &Model, plan: Plan) -> f64 {
    mean_rounds_bound(model, &plan.ks(model.members))
}

/// Returns a bound of the mean number of messages before the fifth round, by Theorem 4.
fn most_messages(model: &Model, plan: Plan) -> f64 {
    let ks = plan.ks(model.members);
    mean_messages_bound(model, &ks[..ks.len().min(ROUNDS_COUNTED)])
}

/// Checks that an election takes few rounds and few messages.
///
/// Section 1 says that other elections take a number of messages "at least linear in the group
/// size". We read "few" as fewer than one for each member. Theorem 4 allows more; that bound is a
/// check of our own.
fn few(
    evidence: &mut Evidence,
    what: &str,
    (model, plan): (&Model, Plan),
    held: &ProbabilisticResults,
) {
    evidence
        .stated(format!("{what}: mean rounds, of 5, at most as many as a growing K needs"))
        .mean_between(1.0, most_rounds(model, plan), &held.rounds)
        .stated("the same: mean messages, fewer than members")
        .mean_below(model.members as f64, &held.messages)
        .ours("the same: mean messages, at most the limit of Theorem 4 for this number of rounds")
        .mean_between(0.0, most_messages(model, plan), &held.messages);
}

/// Formats success, rounds and messages on one line.
fn gist_of(held: &[ProbabilisticResults]) -> String {
    format!(
        "{} succeed, {} rounds, {} messages",
        averages(&strong(held)),
        averages(&each(held, |it| it.rounds)),
        averages(&each(held, |it| it.messages))
    )
}

pub(super) fn p8(fixture: &ProbabilisticFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let losses = losses(fixture);
    let models = by_loss(losses);
    let mut gist = Vec::new();
    for (name, recall) in RULES {
        let plan = Plan::whole(recall);
        let held = hold(fixture, &models, plan)?;
        for ((loss, model), held) in losses.iter().zip(&models).zip(&held) {
            let what = format!("re-initiated by {name}, loss {loss}");
            few(evidence, &what, (model, plan), held);
        }
        gist.push(format!("by {name} {}", gist_of(&held)));
    }
    Ok(format!("loss {}: {}", list(losses), gist.join("; ")))
}

pub(super) fn p9(fixture: &ProbabilisticFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let sizes: &[u64] = fixture.choose(&[1_000, 6_000], &[1_000, 2_000, 4_000, 6_000]);
    let models: Vec<Model> = sizes.iter().map(|&members| group(members)).collect();
    let mut gist = Vec::new();
    for (name, recall) in RULES {
        let plan = Plan::whole(recall);
        let held = hold(fixture, &models, plan)?;
        for (model, held) in models.iter().zip(&held) {
            evidence
                .stated(format!(
                    "re-initiated by {name}, N = {}: share of strong successes",
                    model.members
                ))
                .share_above(HIGH, &held.strong)
                .stated("the same: mean rounds, one to the nearest whole number")
                .mean_below(ABOUT_ONE, &held.rounds)
                .ours("the same: mean rounds, at most as many as a growing K needs")
                .mean_between(1.0, most_rounds(model, plan), &held.rounds);
        }
        // A number that grew as slowly as ln N would be a quarter greater at N = 6000. The sample
        // would show it.
        for (members, larger) in sizes.iter().zip(&held).skip(1) {
            evidence
                .stated(format!("the same: mean messages for N = {} and {members}", sizes[0]))
                .alike(&held[0].messages, &larger.messages);
        }
        let (many, few_runs) = fixture.choose((50_000, 20), (1_000_000, 20));
        let beyond = fixture.held(few_runs, &group(many), plan)?;
        evidence
            .ours(format!("the same: mean messages for N = {} and {many}", sizes[0]))
            .alike(&held[0].messages, &beyond.messages);
        gist.push(format!("by {name} {}", gist_of(&held)));
    }
    Ok(format!("N = {}: {}", list(sizes), gist.join("; ")))
}

pub(super) fn p10(fixture: &ProbabilisticFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let views: &[f64] = fixture.choose(&[0.2, 0.5], &[0.2, 0.3, 0.4, 0.5]);
    let model = |&view: &f64| Model { view, ..group(5_000) };
    let models: Vec<Model> = views.iter().map(model).collect();
    let mut gist = Vec::new();
    for (name, recall) in RULES {
        let plan = Plan::whole(recall);
        let held = hold(fixture, &models, plan)?;
        for (model, held) in models.iter().zip(&held) {
            evidence
                .stated(format!(
                    "N = 5000, re-initiated by {name}, view {}: share of strong successes",
                    model.view
                ))
                .share_above(HIGH, &held.strong);
            few(evidence, "the same", (model, plan), held);
        }
        gist.push(format!("by {name} {}", gist_of(&held)));
    }
    Ok(format!("view {}: {}", list(views), gist.join("; ")))
}

/// Returns a bound of the mean number of rounds if members crash. A further round follows only if a
/// round fails although its leader is up.
fn most_rounds_noticed(model: &Model, plan: Plan) -> f64 {
    let ks = plan.ks(model.members);
    let (mut rounds, mut reached) = (0.0, 1.0);
    for k in ks.into_iter().map(f64::from) {
        rounds += reached;
        reached *= 1.0 - success_of_best_known(model, k) / factors::e5(model, k);
    }
    rounds
}

pub(super) fn p11(fixture: &ProbabilisticFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let rates: &[f64] = fixture.choose(&[0.2, 0.4], &[0.1, 0.2, 0.3, 0.4]);
    let plan = Plan::whole(Recall::Delay);
    let with_crashes = |&crash: &f64| Model { crash, ..group(MEMBERS) };
    let models: Vec<Model> = rates.iter().map(with_crashes).collect();
    let losing = by_loss(rates);
    let crashing = hold(fixture, &models, plan)?;
    let calm = &hold(fixture, &[group(MEMBERS)], plan)?[0];
    let losing = hold(fixture, &losing, plan)?;
    for ((model, held), other) in models.iter().zip(&crashing).zip(&losing) {
        let crash = model.crash;
        evidence
            .stated(format!(
                "N = 2000, crashes {crash} a round: share of strong successes, as with the same \
                 loss"
            ))
            .alike(&other.strong, &held.strong);
        evidence.stated("the same: mean rounds").alike(&other.rounds, &held.rounds);
        evidence.stated("the same: mean messages").alike(&other.messages, &held.messages);
        // The leader that a round elects is up with probability 1 - p_fail. No member detects its
        // crash.
        evidence
            .ours(format!(
                "crashes {crash}: share of strong successes, from that of the first round to 1 - \
                 p_fail"
            ))
            .mean_between(
                success_of_best_known(model, plan.k.into()),
                factors::e5(model, plan.k.into()),
                &held.strong,
            )
            .ours("the same: mean rounds, at most the rounds that are needed although leaders live")
            .mean_between(1.0, most_rounds_noticed(model, plan), &held.rounds);
        // The curve must be nearer to the one than to the other of two curves. For the lower bound,
        // suppose that the members that crash in a round had never taken part. Then this fraction
        // of relay members and this fraction of their pairs would be left.
        let (left, pairs) = (1.0 - crash, (1.0 - crash).powi(2));
        let least = average(&calm.unicasts) * pairs + average(&calm.multicasts) * left;
        let messages = (average(&calm.messages) + average(&other.messages)) / 2.0;
        evidence
            .ours(
                "the same: mean messages, nearer to those with crashes 0.001 than to those with \
                 the same loss, and at least those of live members",
            )
            .mean_between(least, messages, &held.messages);
    }
    if let (Some(crashing), Some(losing)) = (crashing.last(), losing.last()) {
        evidence
            .ours("the same: mean rounds and mean messages, fewer than with the same loss")
            .all_below(&[losing.rounds, losing.messages], &[crashing.rounds, crashing.messages]);
    }
    Ok(format!(
        "crashes {} a round: {}; losses as high: {}",
        list(rates),
        gist_of(&crashing),
        gist_of(&losing)
    ))
}
