//! L6, L12 and L19: listeners that lose a leader although it is up.

use hustings_protocol::Instant;
use hustings_protocol::announce::{Config, Heartbeat, Listen};
use hustings_sim::Seeds;
use hustings_sim::statistics::{Kind, Sample};
use hustings_theory::announce::reestablishment::{
    false_departure, inconsistent_fraction, inconsistent_fraction_of_any,
};
use hustings_theory::announce::repeats_until_heard::{listen_multiple, surplus_announcements};
use hustings_theory::announce::{AnnounceModel, MulticastLoss, Variant, printed};

use super::super::budget::{Budget, Result, sample_of, seed_of};
use super::super::evidence::{Evidence, average, estimated, list, number, shown};
use super::thesis_fixture::{MESSAGES, Sweep, config, converge, group, instant, time};

/// The time at which a group counts as settled. Measurements start then.
const SETTLED: f64 = 50.0;
/// The time after the measurement by which an expired timer is set again.
const AFTERMATH: f64 = 100.0;

/// Observes the listeners under a leader that never left, during `span`. Returns the fraction of
/// the time in which not all followed it, and the length of each interval of disagreement.
fn listened(config: Config, model: &AnnounceModel, span: f64, seeds: Seeds) -> (f64, Vec<f64>) {
    let (from, to) = (instant(SETTLED), instant(SETTLED + span));
    let mut world = group(config, model, seeds);
    world.run_until(to + time(AFTERMATH));
    let agreement = &world.trace().agreement;
    let within = |(begin, _): &&(Instant, Instant)| (from..to).contains(begin);
    let spells = agreement.disagreements.iter().filter(within);
    let spells = spells.map(|&(begin, end)| (end - begin).as_secs_f64());
    (agreement.disagreed(from, to).as_secs_f64() / span, spells.collect())
}

pub(super) fn listening(listen: f64, model: &AnnounceModel) -> Config {
    Config { listen: Listen::For(time(listen)), ..config(Variant::LeS, model) }
}

/// Returns the fraction of time astray and the length of each interval, over all runs.
pub(super) fn all_listened(
    budget: &Budget,
    runs: u64,
    config: Config,
    model: &AnnounceModel,
    span: f64,
) -> Result<(Sample, Sample)> {
    let own = budget.reseeded(seed_of(&format!("{config:?} {model:?}")));
    let watched = own.each(runs, |_, seeds| listened(config, model, span, seeds))?;
    Ok((
        sample_of(Kind::Fraction, watched.iter().map(|(astray, _)| *astray)),
        sample_of(Kind::Number, watched.into_iter().flat_map(|(_, spells)| spells)),
    ))
}

pub(super) fn l6(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let runs = budget.choose(100, 1_000);
    let span = 400.0;
    let lossless = AnnounceModel::of_the_chapter(2, MulticastLoss::None);
    let (astray, spells) = all_listened(budget, runs, listening(0.6, &lossless), &lossless, span)?;
    evidence
        .stated("no loss, T_L = 0.6 T_A: time astray after a false departure, T_A - T_L")
        .mean(printed::false_departure(&lossless, 0.6), &spells)
        .stated("the same: fraction of time astray, 1 - T_L/T_A")
        .mean(printed::inconsistent_fraction(&lossless, 0.6), &astray);

    let lossy = AnnounceModel::of_the_chapter(2, MulticastLoss::Correlated(0.4));
    let mut gist = String::new();
    for listen in [2.0, 2.5, 3.0] {
        let (astray, spells) = all_listened(budget, runs, listening(listen, &lossy), &lossy, span)?;
        let delay = printed::false_departure(&lossy, listen);
        let fraction = printed::inconsistent_fraction(&lossy, listen);
        evidence
            .stated(format!("loss 0.4, T_L = {listen} T_A: time astray, T_A/(1-l) - T_L"))
            .mean(delay, &spells);
        evidence.stated("the same: fraction of time astray").mean(fraction, &astray);
        evidence
            .corrected(format!("T_L = {listen} T_A: time astray given that the timer expired"))
            .mean(false_departure(&lossy, listen), &spells)
            .corrected("the same: fraction of time astray, l^k for T_L = k T_A")
            .mean(inconsistent_fraction(&lossy, listen), &astray);
        if gist.is_empty() {
            let [spell, share] = [&spells, &astray].map(shown);
            let [delay, fraction] = [delay, fraction].map(number);
            gist = format!(
                "loss 0.4, T_L = 2 T_A: astray for {spell} at a time (printed {delay}), {share} of \
                 all time (printed {fraction})"
            );
        }
    }
    let group = AnnounceModel::of_the_chapter(10, MulticastLoss::Uncorrelated(0.4));
    let (any, _) = all_listened(budget, runs, listening(4.0, &group), &group, span)?;
    evidence
        .ours(
            "N = 10, uncorrelated loss 0.4, T_L = 4 T_A: time in which any is astray, \
             1-(1-l^k)^(N-1)",
        )
        .mean(inconsistent_fraction_of_any(&group, 4.0), &any);
    Ok(gist)
}

pub(super) fn l12(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let model = AnnounceModel::of_the_chapter(10, MulticastLoss::None);
    let runs = budget.choose(50, 1_000);
    let (listen, span) = (2.5, 60.0);
    let with = |heartbeat| Config { heartbeat, ..listening(listen, &model) };
    let none_missed = |heartbeat| {
        budget.each(runs, |_, seeds| listened(with(heartbeat), &model, span, seeds).1.is_empty())
    };
    let to_the_letter = none_missed(Heartbeat::Ignored)?;
    let restarted = none_missed(Heartbeat::Restarts)?;
    evidence
        .stated(format!(
            "N = 10, no loss, T_L = {listen} T_A, line 6 as printed: runs in which no member \
             misses a live leader, over {span} T_A"
        ))
        .all_true(to_the_letter.iter().copied())
        .corrected("the same, if the leader's heartbeats restart the timer too: >= for >")
        .all_true(restarted.iter().copied());
    let (astray, spells) = all_listened(budget, runs, with(Heartbeat::Ignored), &model, span)?;
    // A timer set at one heartbeat expires after 2.5 T_A. The heartbeat at 3 T_A counts as a new
    // leader's.
    evidence
        .ours("line 6 as printed: time astray until the next heartbeat, 3 T_A - T_L")
        .mean(3.0 - listen, &spells)
        .ours("the same: fraction of time astray, once in 3 T_A")
        .mean((3.0 - listen) / 3.0, &astray);
    let missed = |runs: &[bool]| runs.iter().filter(|&&none_missed| !none_missed).count();
    Ok(format!(
        "as printed {} of {runs} groups miss a healthy leader, and are astray for {} of the time; \
         corrected {}",
        missed(&to_the_letter),
        estimated(&astray),
        missed(&restarted)
    ))
}

pub(super) fn l19(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let repeating = announce_interval(budget, evidence)?;
    let astray = listen_interval(budget, evidence)?;
    Ok(format!(
        "T_A = 1 < T_S + D: {} of elections repeat themselves; loss 0.4, T_L = T_A: astray for {} \
         of the time",
        number(repeating),
        number(astray)
    ))
}

/// T_A >= T_S + D: measures how often a member announces itself twice before it can have heard the
/// leader.
fn announce_interval(budget: &Budget, evidence: &mut Evidence) -> Result<f64> {
    let runs = budget.choose(400, 10_000);
    let members = 50;
    let with = |announce_interval| AnnounceModel {
        announce_interval,
        ..AnnounceModel::of_the_chapter(members, MulticastLoss::None)
    };
    let repeats = |model: &AnnounceModel| {
        budget.share(runs, |seeds| {
            let mut world = group(config(Variant::LeS, model), model, seeds);
            converge(&mut world, time(model.announce_interval));
            let hearing = &world.trace().hearing;
            let until_heard = hearing.convergence.map(|end| end.messages);
            until_heard.is_none_or(|messages| messages > hearing.first_round_messages)
        })
    };
    let long_enough = repeats(&with(1.1))?;
    evidence
        .stated(format!(
            "N = {members}, no loss, T_A = T_S + D: share of elections in which a member announces \
             itself twice"
        ))
        .equal(0.0, average(&long_enough));
    let paper = repeats(&with(1.0))?;
    evidence.stated("the same, T_A = T_S as in the chapter's own figures").share_above(0.0, &paper);
    let intervals = [0.25, 0.5, 1.0, 1.1, 2.0];
    let models = intervals.map(with);
    let held = Sweep::hold(budget, runs / 4, Variant::LeS, &models)?;
    let what = format!("the same, T_A = {}: mean messages", list(&intervals));
    evidence.ours(what).computed(&held, MESSAGES);
    Ok(average(&paper))
}

/// T_L = k T_A: measures which k suffices.
fn listen_interval(budget: &Budget, evidence: &mut Evidence) -> Result<f64> {
    let runs = budget.choose(100, 1_000);
    let span = 400.0;
    let loss = MulticastLoss::Uncorrelated(0.4);
    let pair = AnnounceModel::of_the_chapter(2, loss);
    let lost = surplus_announcements(loss, 1);
    let mut on_threshold = f64::NAN;
    for multiple in [1.0, 2.0, 4.0] {
        let config = listening(multiple, &pair);
        let (astray, _) = all_listened(budget, runs, config, &pair, span)?;
        if multiple > lost && on_threshold.is_nan() {
            on_threshold = average(&astray);
            evidence
                .stated(format!(
                    "one listener, loss 0.4, T_L = {multiple} T_A, above the {} T_A that are lost \
                     on average: fraction of time astray",
                    number(lost)
                ))
                .mean(0.0, &astray);
        }
        evidence
            .corrected(format!(
                "one listener, loss 0.4, T_L = {multiple} T_A: fraction of time astray, l^k"
            ))
            .mean(inconsistent_fraction(&pair, multiple), &astray);
    }
    let group = AnnounceModel::of_the_chapter(10, loss);
    let chance = 0.01;
    let multiple = f64::from(listen_multiple(loss, group.receivers(), chance));
    let (astray, _) = all_listened(budget, runs, listening(multiple, &group), &group, span)?;
    evidence
        .corrected(format!(
            "N = 10, loss 0.4, k = {multiple}, the least with 1-(1-l^k)^(N-1) <= {chance}: \
             fraction of time in which any member is astray"
        ))
        .mean(inconsistent_fraction_of_any(&group, multiple), &astray);
    evidence.ours("the same: at most the chance wanted").mean_between(0.0, chance, &astray);
    Ok(on_threshold)
}
