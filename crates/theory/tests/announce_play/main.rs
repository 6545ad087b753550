//! The formulas of the announce family against an event-by-event simulation too simple to share
//! their mistakes, and against enumerations, at parameters that no table has.

mod play;

use hustings_theory::announce::delay::{last_send, last_send_of_first_round};
use hustings_theory::announce::messages::{
    first_round_messages, messages_of_le_s_until_sent, messages_until_heard,
};
use hustings_theory::announce::reestablishment::{inconsistent_fraction, leader_departure};
use hustings_theory::announce::{AnnounceModel, MulticastLoss, Variant, Wake, recurrence};
use play::{Chance, Outcome, play};

const RUNS: u32 = 20_000;
/// The permitted deviation of a mean in standard errors: about one in two million exceeds it.
const ERRORS: f64 = 5.0;
const ALGORITHMS: [Variant; 5] =
    [Variant::LeA, Variant::LeS, Variant::LeM, Variant::Sup, Variant::Al];

#[test]
fn elections_cost_what_the_formulas_say() {
    let mut compared = 0;
    for (case, model) in models().iter().enumerate() {
        for algorithm in ALGORITHMS {
            compared += compare(algorithm, model, case as u64);
        }
    }
    assert_eq!(compared, 560, "number of compared formulas");
}

/// Delays short and long, announcements far apart and closer together than the wake-ups.
fn models() -> Vec<AnnounceModel> {
    let mut models = Vec::new();
    let networks = [
        (2, MulticastLoss::Uncorrelated(0.3)),
        (5, MulticastLoss::None),
        (4, MulticastLoss::Correlated(0.4)),
        (4, MulticastLoss::Uncorrelated(0.4)),
    ];
    let timings = [(1.3, 2.0, 0.2), (2.0, 0.7, 0.15), (1.0, 0.6, 0.8), (1.0, 1.5, 0.0)];
    for (members, loss) in networks {
        for (suppress_interval, announce_interval, delay) in timings {
            for wake in [Wake::Uniform, Wake::Exponential { rate: 3.0 }] {
                models.push(AnnounceModel {
                    members,
                    suppress_interval,
                    announce_interval,
                    delay,
                    loss,
                    wake,
                });
            }
        }
    }
    models
}

/// The name of a metric, its formula if there is one, and its measurement.
type Metric = (&'static str, Option<f64>, fn(&Outcome) -> f64);

/// Compares every metric that has a formula; returns their number.
fn compare(algorithm: Variant, model: &AnnounceModel, seed: u64) -> usize {
    let until_sent = match algorithm {
        Variant::LeS => messages_of_le_s_until_sent(model),
        _ => None,
    };
    let metrics: [Metric; 5] = [
        ("last send", last_send(algorithm, model), |o| o.last_send),
        ("last send of the first round", last_send_of_first_round(algorithm, model), |o| {
            o.last_send_of_first_round
        }),
        ("first-round messages", first_round_messages(algorithm, model), |o| {
            o.first_round_messages
        }),
        ("messages until heard", messages_until_heard(algorithm, model), |o| {
            o.messages_until_heard
        }),
        ("messages until sent", until_sent, |o| o.messages_until_sent),
    ];
    let mut chance = Chance(seed);
    let outcomes: Vec<Outcome> = (0..RUNS).map(|_| play(algorithm, model, &mut chance)).collect();
    let mut compared = 0;
    for (name, formula, metric) in metrics {
        let Some(expected) = formula else { continue };
        let what = format!("{name} of {algorithm:?}, {model:?}");
        assert_mean(&what, expected, outcomes.iter().map(metric));
        compared += 1;
    }
    compared
}

fn assert_mean(what: &str, expected: f64, samples: impl Iterator<Item = f64>) {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for sample in samples {
        count += 1.0;
        sum += sample;
        squares += sample * sample;
    }
    let mean: f64 = sum / count;
    let variance = (squares / count - mean * mean).max(0.0);
    let allowed = ERRORS * (variance / count).sqrt() + 1e-9;
    assert!(
        (mean - expected).abs() <= allowed,
        "{what}: measured {mean} +- {allowed}, formula {expected}"
    );
}

#[test]
fn first_round_by_enumeration() {
    for n in 1..=5 {
        for loss in [0.0, 0.2, 0.7] {
            let expected = enumerated_law(n, loss);
            let law = recurrence::law_of_messages(n as u64, loss);
            assert_eq!(law.len(), expected.len());
            for (i, (got, expected)) in law.iter().zip(&expected).enumerate() {
                let error = (got - expected).abs();
                assert!(error < 1e-13, "Q({i},{n}) = {got}, not {expected}; loss {loss}");
            }
        }
    }
}

/// Every order of wake-ups, and for each process that wakes, heard or not heard.
fn enumerated_law(n: usize, loss: f64) -> Vec<f64> {
    let mut law = vec![0.0; n + 1];
    let orders = orders(n);
    let share = 1.0 / orders.len() as f64;
    for order in orders {
        follow(&order, &mut Vec::new(), loss, share, &mut law);
    }
    law
}

fn follow(order: &[usize], senders: &mut Vec<usize>, loss: f64, chance: f64, law: &mut [f64]) {
    let Some((awake, rest)) = order.split_first() else {
        law[senders.len()] += chance;
        return;
    };
    let better = senders.iter().filter(|sender| *sender < awake).count();
    let missed_all = loss.powi(better as i32);
    follow(rest, senders, loss, chance * (1.0 - missed_all), law);
    senders.push(*awake);
    follow(rest, senders, loss, chance * missed_all, law);
    senders.pop();
}

fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for order in orders(n - 1) {
        for at in 0..n {
            let mut longer = order.clone();
            longer.insert(at, n - 1);
            all.push(longer);
        }
    }
    all
}

#[test]
fn departure_of_the_leader() {
    for (members, loss, suppress_interval) in [
        (2, MulticastLoss::Correlated(0.3), 1.0),
        (3, MulticastLoss::Uncorrelated(0.3), 1.0),
        (6, MulticastLoss::Uncorrelated(0.6), 1.0),
        (6, MulticastLoss::Uncorrelated(0.5), 2.7),
    ] {
        let model =
            AnnounceModel { suppress_interval, ..AnnounceModel::of_the_chapter(members, loss) };
        for algorithm in [Variant::LeA, Variant::LeS] {
            let expected = leader_departure(algorithm, &model, 40.0, 0.5).unwrap();
            let mut chance = Chance(members);
            let samples = (0..RUNS).map(|_| play_departure(algorithm, &model, 40.0, &mut chance));
            assert_mean(&format!("departure, {algorithm:?}, {model:?}"), expected, samples);
        }
    }
}

/// The old leader's last announcement is at 0; it leaves at a uniform time before the next.
fn play_departure(
    algorithm: Variant,
    model: &AnnounceModel,
    listen: f64,
    chance: &mut Chance,
) -> f64 {
    let loss = model.loss.probability();
    let departed = model.announce_interval * chance.draw();
    let together = missed(loss, chance);
    let expiries: Vec<f64> = (0..model.members)
        .map(|_| match model.loss {
            MulticastLoss::Uncorrelated(_) => missed(loss, chance),
            MulticastLoss::None | MulticastLoss::Correlated(_) => together,
        })
        .map(|missed| model.delay + listen - missed * model.announce_interval)
        .collect();
    let slept = match algorithm {
        Variant::LeA => 0.0,
        _ => model.suppress_interval * model.wake.quantile(chance.draw()),
    };
    let mut followed = vec![false; expiries.len()];
    followed[0] = true;
    let mut arrival = expiries[0] + slept + model.delay;
    loop {
        let lost_by_all = chance.draw() < loss;
        for (process, expiry) in expiries.iter().enumerate() {
            let lost = match model.loss {
                MulticastLoss::Uncorrelated(_) => chance.draw() < loss,
                MulticastLoss::None | MulticastLoss::Correlated(_) => lost_by_all,
            };
            followed[process] |= *expiry <= arrival && !lost;
        }
        if followed.iter().all(|f| *f) {
            return arrival - departed;
        }
        arrival += model.announce_interval;
    }
}

fn missed(loss: f64, chance: &mut Chance) -> f64 {
    let mut missed = 0.0;
    while chance.draw() < loss {
        missed += 1.0;
    }
    missed
}

#[test]
fn time_in_false_departures() {
    for (loss, listen) in [(0.0, 0.6), (0.3, 0.6), (0.5, 2.4), (0.4, 3.0)] {
        let model = AnnounceModel::of_the_chapter(2, MulticastLoss::Correlated(loss));
        let mut chance = Chance(3);
        let (mut astray, mut all) = (0.0, 0.0);
        for _ in 0..400_000 {
            let gap = 1.0 + missed(loss, &mut chance);
            astray += (gap - listen).max(0.0);
            all += gap;
        }
        let measured = astray / all;
        let expected = inconsistent_fraction(&model, listen);
        assert!(
            (measured - expected).abs() < 4e-3,
            "loss {loss}, listen interval {listen}: {measured}, formula {expected}"
        );
    }
}
