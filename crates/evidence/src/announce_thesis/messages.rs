//! L8, L9, L11 and L18: the cost of an election in messages.

use hustings_theory::announce::messages::{first_round_messages, messages_until_heard};
use hustings_theory::announce::{AnnounceModel, MulticastLoss, Variant, Wake, printed, recurrence};

use super::super::budget::{Budget, Result};
use super::super::evidence::{Evidence, averages, estimated, list, number, numbers, shown};
use super::printed_rounds::PrintedRounds;
use super::thesis_fixture::{FIRST_MESSAGES, MESSAGES, Sweep, TMAX, held, models};

const LE_S: Variant = Variant::LeS;

pub(super) fn l8(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let sizes: &[u64] = budget.choose(&[2, 10, 100], &[2, 10, 100, 500]);
    let runs = budget.choose(300, 3_000);
    let mut gist = String::new();
    for delay in [0.0, 0.1, 0.3] {
        let model = |&members: &u64| AnnounceModel {
            delay,
            ..AnnounceModel::of_the_chapter(members, MulticastLoss::None)
        };
        let models: Vec<AnnounceModel> = sizes.iter().map(model).collect();
        let held = Sweep::hold(budget, runs, LE_S, &models)?;
        if delay == 0.1 {
            gist = format!(
                "D = 0.1, N = {}: {}; the integral gives {}",
                list(sizes),
                averages(&held.measured(FIRST_MESSAGES)),
                numbers(&held.computed(FIRST_MESSAGES))
            );
        }
        evidence
            .stated(format!(
                "D = {delay} T_S, N = {}: mean messages of the first round",
                list(sizes)
            ))
            .computed(&held, FIRST_MESSAGES)
            .ours("the same: mean messages until all have heard the leader")
            .computed(&held, MESSAGES);
    }
    Ok(gist)
}

pub(super) fn l9(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let sizes: &[u64] = budget.choose(&[2, 10, 100], &[2, 10, 100, 500]);
    let runs = budget.choose(300, 3_000);
    let held = Sweep::hold(budget, runs, LE_S, &models(sizes, MulticastLoss::Correlated(0.4)))?;
    let measured = held.measured(FIRST_MESSAGES);
    let as_printed = held.by(printed::first_round_messages_of_le_s);
    let corrected = held.computed(FIRST_MESSAGES);
    let ns = list(sizes);
    evidence
        .stated(format!("loss 0.4, N = {ns}: mean messages of the first round, as printed"))
        .means(&as_printed, &measured)
        .corrected("the same, 1/(1-l) with the integral and not with N P(D)")
        .means(&corrected, &measured)
        .ours("the same: mean messages of all rounds until all have heard the leader")
        .computed(&held, MESSAGES);
    let last = sizes.len() - 1;
    let [printed, exactly] = [as_printed[last], corrected[last]].map(number);
    let (largest, measured) = (sizes[last], estimated(&measured[last]));
    Ok(format!("N = {largest}: {measured}; printed {printed}, corrected {exactly}"))
}

pub(super) fn l11(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let losses = [0.1, 0.4, 0.7];
    let runs = budget.choose(500, 20_000);
    let mut gist = String::new();
    for loss in losses {
        let pair = AnnounceModel {
            delay: 0.0,
            ..AnnounceModel::of_the_chapter(2, MulticastLoss::Uncorrelated(loss))
        };
        let measured = held(budget, runs, LE_S, &pair)?.messages;
        let as_printed = PrintedRounds::new(2, loss).expected_messages();
        evidence
            .stated(format!(
                "N = 2, D = 0, loss {loss}: mean messages until convergence, the final sum"
            ))
            .mean(as_printed, &measured);
        let exact = 2.0 / (1.0 - loss) - 0.5;
        evidence.ours("the same: 2/(1-l) - 1/2").mean(exact, &measured);
        if loss == 0.4 {
            let [exactly, printed] = [exact, as_printed].map(number);
            let measured = shown(&measured);
            gist = format!("N = 2, loss 0.4: {measured}, exactly {exactly}; printed {printed}");
        }
    }
    let rounds = PrintedRounds::new(5, 0.4);
    for round in 1..=3 {
        evidence
            .stated(format!(
                "N = 5, loss 0.4, round {round}: the Q(i, N, r) of a round add up to 1"
            ))
            .between(1.0 - 1e-9, 1.0 + 1e-9, rounds.total(round));
    }
    let of_two = recurrence::law_of_messages(2, 0.4)[2];
    evidence
        .stated("loss 0.4: Q(2, 2) of the recurrence and Q(2, 2, 1) = l are one number")
        .between(of_two - 1e-9, of_two + 1e-9, PrintedRounds::new(2, 0.4).chance(2, 1));
    let alone = PrintedRounds::new(1, 0.4);
    let announced: f64 = (1..=100).map(|round| alone.chance(1, round)).sum();
    evidence
        .ours(
            "one process, Q(1, 1, r) = 1: messages expected of 100 rounds, and no limit to their \
             sum",
        )
        .equal(100.0, announced);
    table(budget, evidence)?;
    Ok(gist)
}

/// Measures the cost with delay and loss for each receiver, N up to a million. No formula is known.
fn table(budget: &Budget, evidence: &mut Evidence) -> Result<()> {
    let sizes: &[u64] = budget.choose(&[100, 1_000], &[100, 1_000, 10_000, 100_000, 1_000_000]);
    for &members in sizes {
        let model = at_scale(members, MulticastLoss::Uncorrelated(SCALE_LOSS));
        let measured = held(budget, runs_at_scale(budget, members), LE_S, &model)?.messages;
        let shared = at_scale(members, MulticastLoss::Correlated(SCALE_LOSS));
        let least = messages_until_heard(LE_S, &shared).unwrap_or(f64::NAN);
        evidence
            .ours(format!(
                "N = {members}, D = T_S/1000, loss {SCALE_LOSS} for each receiver: mean messages \
                 until all have heard the leader; no fewer than with correlated loss, and not half \
                 as many again"
            ))
            .mean_between(least, 1.5 * least, &measured);
    }
    Ok(())
}

pub(super) const SCALE_LOSS: f64 = 0.1;

/// Returns the model of a group on a fast network: a delay of a millisecond where wake-ups spread
/// over a second.
pub(super) fn at_scale(members: u64, loss: MulticastLoss) -> AnnounceModel {
    AnnounceModel { delay: 1e-3, ..AnnounceModel::of_the_chapter(members, loss) }
}

/// Returns the number of runs. The larger the group, the less its runs vary and the longer they
/// take.
pub(super) fn runs_at_scale(budget: &Budget, members: u64) -> u64 {
    let full = match members {
        0..=1_000 => 1_000,
        1_001..=10_000 => 200,
        10_001..=100_000 => 30,
        _ => 5,
    };
    budget.choose(full / 10, full).max(5)
}

pub(super) fn l18(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let runs = budget.choose(300, 4_000);
    let with = |wake, members: u64| AnnounceModel {
        wake,
        ..AnnounceModel::of_the_chapter(members, MulticastLoss::None)
    };
    let exponential = Wake::Exponential { rate: 10.0 };
    let cheaper = |&members: &u64| {
        let of = |wake| first_round_messages(LE_S, &with(wake, members));
        of(exponential) < of(Wake::Uniform)
    };
    let crossing = (2..=1_000).find(cheaper);
    let sizes: &[u64] = budget.choose(&[10, 200], &[10, 100, 200, 500]);
    let of = |wake| {
        let models = sizes.iter().map(|&members| with(wake, members));
        Sweep::hold(budget, runs, LE_S, &models.collect::<Vec<_>>())
    };
    let (uniform, late) = (of(Wake::Uniform)?, of(exponential)?);
    let (messages, fewer) = (uniform.measured(MESSAGES), late.measured(MESSAGES));
    let ns = list(&sizes[1..]);
    evidence
        .stated(format!(
            "no loss, N = {ns}: mean messages, exponential (rate 10) against uniform wake-up"
        ))
        .all_below(&messages[1..], &fewer[1..]);
    evidence.ours("N = 10: the other way round").all_below(&fewer[..1], &messages[..1]);
    evidence
        .ours("on paper: the least N from which exponential wake-up is cheaper in the first round")
        .between(40.0, 60.0, crossing.map_or(f64::NAN, |members| members as f64));
    for (name, held) in [("uniform", &uniform), ("exponential", &late)] {
        evidence
            .ours(format!("{name} wake-up, N = {}: mean messages, on paper", list(sizes)))
            .computed(held, MESSAGES);
    }
    evidence
        .ours(
            "N = 10 and more: the price is time, mean tmax of uniform against exponential wake-up",
        )
        .less(&uniform, &late, TMAX);
    let both = [late.last(), uniform.last()];
    let [cost, usual_cost] = both.map(|held| shown(&held.messages));
    let [tmax, usual_tmax] = both.map(|held| shown(&held.tmax));
    Ok(format!(
        "N = {}: {cost} messages instead of {usual_cost}, at tmax {tmax} instead of {usual_tmax}; \
         cheaper from N = {} on",
        sizes[sizes.len() - 1],
        crossing.map_or("no".to_owned(), |members| members.to_string())
    ))
}
