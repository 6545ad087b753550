//! Figures 5.6 to 5.13, with the chapter's parameters and numbers of runs; the cost of an election
//! in groups of up to a million; and the choice between LE-A, LE-S and LE-M.
//!
//! The guide shows the figures of the choice: they are the same with and without `--quick`.

use hustings_theory::announce::delay::{airtime_for_loss, last_send, loss_that_slows_al_to_le_s};
use hustings_theory::announce::messages::messages_until_heard;
use hustings_theory::announce::{AnnounceModel, MulticastLoss, Variant, printed};

use super::super::FigureSpec;
use super::super::budget::{Budget, Result};
use super::super::figure::{Axis, Corner, Frame, Panel, Point, Series};
use super::comparison::with_collisions;
use super::messages::{SCALE_LOSS, at_scale, runs_at_scale};
use super::thesis_fixture::{DELAY, FIRST_ENDED, MESSAGES, Measure, TMAX, held};

const LOSS: f64 = 0.4;
const CORRELATED: MulticastLoss = MulticastLoss::Correlated(LOSS);
const UNCORRELATED: MulticastLoss = MulticastLoss::Uncorrelated(LOSS);

const MEMBERS: Axis = Axis::linear("members N");
const SIZES: Axis = Axis::logarithmic("members N");
const MEAN_TMAX: Axis = Axis::linear(TMAX.label);
const T_S: Axis = Axis::logarithmic("suppress interval T_S, in T_A");
const FIRST_ROUND: Axis = Axis::linear(FIRST_ENDED.label);
const COST: Axis = Axis::logarithmic("mean messages until all have heard the leader");

pub(super) const FIGURES: &[FigureSpec] = &[
    FigureSpec {
        panels: &[Panel {
            name: "L-figure-5-6",
            caption: "Figure 5.6: when the last message that is needed is sent, without loss. T_S = T_A = 1, \
                      D = 0.1. In this and the following figures, points: means of simulated elections, \
                      1000 up to N = 100 and 100 beyond, with 95 % confidence bands; lines: our corrected \
                      theory, where there is a formula.",
            title: "LE-S and SUP without loss: tmax",
            frame: Frame { x: MEMBERS, y: MEAN_TMAX, legend: Corner::MiddleRight },
        }],
        draw: |budget| Ok(vec![against_members(budget, TMAX, &WITHOUT_LOSS)?]),
    },
    FigureSpec {
        panels: &[Panel {
            name: "L-figure-5-7",
            caption: "Figure 5.7: messages without loss.",
            title: "LE-S and SUP without loss: messages",
            frame: Frame { x: MEMBERS, y: Axis::linear(MESSAGES.label), legend: Corner::UpperLeft },
        }],
        draw: |budget| Ok(vec![against_members(budget, MESSAGES, &WITHOUT_LOSS)?]),
    },
    FigureSpec {
        panels: &[Panel {
            name: "L-figure-5-8",
            caption: "Figure 5.8: tmax with a loss of 0.4, correlated and uncorrelated. Of LE-S with uncorrelated \
                      loss also what the printed formula gives.",
            title: "LE-S and SUP, loss 0.4: tmax",
            frame: Frame { x: MEMBERS, y: MEAN_TMAX, legend: Corner::MiddleRight },
        }],
        draw: figure_5_8,
    },
    FigureSpec {
        panels: &[Panel {
            name: "L-figure-5-9",
            caption: "Figure 5.9: messages with a loss of 0.4, correlated and uncorrelated.",
            title: "LE-S and SUP, loss 0.4: messages",
            frame: Frame { x: MEMBERS, y: Axis::linear(MESSAGES.label), legend: Corner::UpperLeft },
        }],
        draw: |budget| Ok(vec![against_members(budget, MESSAGES, &WITH_LOSS)?]),
    },
    FigureSpec {
        panels: &[Panel {
            name: "L-figure-5-10",
            caption: "Figure 5.10: tmax of LE-S with correlated loss does not depend on N.",
            title: "LE-S, correlated loss: tmax",
            frame: Frame { x: MEMBERS, y: Axis::roomy(TMAX.label), legend: Corner::UpperRight },
        }],
        draw: |budget| Ok(vec![against_members(budget, TMAX, &BY_LOSS)?]),
    },
    FigureSpec {
        panels: &[Panel {
            name: "L-figure-5-11",
            caption: "Figure 5.11: LE-S and AL with a loss of 0.4. They do not cross. The third line shows what \
                      would make them: AL's messages lasting long enough to collide, so that both are equal at \
                      N = 200.",
            title: "LE-S and AL, uncorrelated loss 0.4: tmax",
            frame: Frame { x: MEMBERS, y: MEAN_TMAX, legend: Corner::LowerRight },
        }],
        draw: figure_5_11,
    },
    FigureSpec {
        panels: &[Panel {
            name: "L-figure-5-12",
            caption: "Figure 5.12: when the last member that announces itself at its wake-up does so, loss 0.4. \
                      LE-M and SUP lie on each other.",
            title: "First round of LE-S, LE-M and SUP, uncorrelated loss 0.4",
            frame: Frame { x: MEMBERS, y: FIRST_ROUND, legend: Corner::MiddleRight },
        }],
        draw: |budget| Ok(vec![against_members(budget, FIRST_ENDED, &BY_CRITERION)?]),
    },
    FigureSpec {
        panels: &[Panel {
            name: "L-figure-5-13",
            caption: "Figure 5.13: tmax by criterion, loss 0.4.",
            title: "LE-S, LE-M and SUP, uncorrelated loss 0.4: tmax",
            frame: Frame { x: MEMBERS, y: MEAN_TMAX, legend: Corner::MiddleRight },
        }],
        draw: |budget| Ok(vec![against_members(budget, TMAX, &BY_CRITERION)?]),
    },
    FigureSpec {
        panels: &[Panel {
            name: "L-scale",
            caption: "Messages of one LE-S election, N from 100 to a million: loss 0.1, T_S = \
                      T_A = 1 s, D = 1 ms. A member that wakes within D of the first cannot have \
                      heard it: that part grows with N, the rest like ln N.",
            title: "Messages of LE-S, loss 0.1, D = T_S/1000",
            frame: Frame { x: SIZES, y: COST, legend: Corner::UpperLeft },
        }],
        draw: |budget| Ok(vec![scale(budget)?]),
    },
    FigureSpec {
        panels: &[Panel {
            name: "L-choice-messages",
            caption: "Which to choose: announcements until all have heard the leader. In this and the following \
                      figures, T_S = T_A = 1 s unless said otherwise, D = 1 ms, uncorrelated loss 0.1, means of \
                      100 elections.",
            title: "Messages of LE-A, LE-S and LE-M, loss 0.1",
            frame: Frame { x: SIZES, y: COST, legend: Corner::UpperLeft },
        }],
        draw: |budget| Ok(vec![choice_by_size(budget, MESSAGES)?]),
    },
    FigureSpec {
        panels: &[Panel {
            name: "L-choice-delay",
            caption: "Which to choose: the time until all have heard the leader.",
            title: "Delay of LE-A, LE-S and LE-M, loss 0.1",
            frame: Frame { x: SIZES, y: Axis::linear(DELAY.label), legend: Corner::LowerRight },
        }],
        draw: |budget| Ok(vec![choice_by_size(budget, DELAY)?]),
    },
    FigureSpec {
        panels: &[Panel {
            name: "L-choice-interval",
            caption: "Which T_S to choose: announcements in a group of 500.",
            title: "Messages by T_S, N = 500, loss 0.1",
            frame: Frame { x: T_S, y: COST, legend: Corner::MiddleRight },
        }],
        draw: |budget| Ok(vec![choice_by_interval(budget)?]),
    },
];

/// An algorithm under one loss, with its label.
type Curve = (&'static str, Variant, MulticastLoss);

fn sizes(budget: &Budget) -> &'static [u64] {
    budget.choose(
        &[2, 10, 50, 100],
        &[2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 150, 200, 250, 300, 350, 400, 450, 500],
    )
}

/// Returns the chapter's number of runs.
fn runs(budget: &Budget, members: u64) -> u64 {
    let full = if members <= 100 { 1_000 } else { 100 };
    budget.choose(full / 20, full)
}

/// Returns the curve of an algorithm over several models, each with its place on the x axis.
fn curve(
    budget: &Budget,
    measure: Measure,
    (label, algorithm): (&str, Variant),
    places: &[(f64, AnnounceModel)],
    runs: impl Fn(&AnnounceModel) -> u64,
) -> Result<Series> {
    let mut points = Vec::new();
    for (x, model) in places {
        let held = held(budget, runs(model), algorithm, model)?;
        points.extend(Point::of(*x, &(measure.of)(&held)));
    }
    let on_paper =
        |(x, model): &(f64, AnnounceModel)| Some((*x, (measure.on_paper)(algorithm, model)?));
    // Two members may have a formula where more have none. A line needs a value at every place.
    let line: Option<Vec<(f64, f64)>> = places.iter().map(on_paper).collect();
    Ok(Series::new(label, line.unwrap_or_default(), points))
}

/// Returns the line of a formula alone, where it has a value.
fn line(
    label: &str,
    sizes: &[u64],
    model: impl Fn(u64) -> AnnounceModel,
    formula: impl Fn(&AnnounceModel) -> Option<f64>,
) -> Series {
    let on_paper = |&members: &u64| Some((members as f64, formula(&model(members))?));
    Series::line(label, sizes.iter().filter_map(on_paper).collect())
}

fn with_uncorrelated_loss(members: u64) -> AnnounceModel {
    AnnounceModel::of_the_chapter(members, UNCORRELATED)
}

fn against_members(budget: &Budget, measure: Measure, curves: &[Curve]) -> Result<Vec<Series>> {
    let series = |&(label, algorithm, loss): &Curve| {
        let model = |&members: &u64| (members as f64, AnnounceModel::of_the_chapter(members, loss));
        let places: Vec<(f64, AnnounceModel)> = sizes(budget).iter().map(model).collect();
        let runs = |model: &AnnounceModel| runs(budget, model.members);
        curve(budget, measure, (label, algorithm), &places, runs)
    };
    curves.iter().map(series).collect()
}

const WITHOUT_LOSS: [Curve; 2] =
    [("LE-S", Variant::LeS, MulticastLoss::None), ("SUP", Variant::Sup, MulticastLoss::None)];
const WITH_LOSS: [Curve; 4] = [
    ("LE-S, uncorrelated loss", Variant::LeS, UNCORRELATED),
    ("LE-S, correlated loss", Variant::LeS, CORRELATED),
    ("SUP, uncorrelated loss", Variant::Sup, UNCORRELATED),
    ("SUP, correlated loss", Variant::Sup, CORRELATED),
];
const BY_LOSS: [Curve; 5] = [
    ("loss 0.8", Variant::LeS, MulticastLoss::Correlated(0.8)),
    ("loss 0.6", Variant::LeS, MulticastLoss::Correlated(0.6)),
    ("loss 0.4", Variant::LeS, MulticastLoss::Correlated(0.4)),
    ("loss 0.2", Variant::LeS, MulticastLoss::Correlated(0.2)),
    ("no loss", Variant::LeS, MulticastLoss::None),
];
const WITH_AL: [Curve; 2] =
    [("LE-S", Variant::LeS, UNCORRELATED), ("AL", Variant::Al, UNCORRELATED)];
const BY_CRITERION: [Curve; 3] = [
    ("LE-S", Variant::LeS, UNCORRELATED),
    ("LE-M", Variant::LeM, UNCORRELATED),
    ("SUP", Variant::Sup, UNCORRELATED),
];

fn figure_5_8(budget: &Budget) -> Result<Vec<Vec<Series>>> {
    let mut series = against_members(budget, TMAX, &WITH_LOSS)?;
    let label = "LE-S, uncorrelated loss, as printed";
    series.push(line(label, sizes(budget), with_uncorrelated_loss, |model| {
        Some(printed::leadership_delay(Variant::LeS, model)? - model.delay)
    }));
    Ok(vec![series])
}

fn figure_5_11(budget: &Budget) -> Result<Vec<Vec<Series>>> {
    let mut series = against_members(budget, TMAX, &WITH_AL)?;
    let crossing = with_uncorrelated_loss(200);
    let airtime = airtime_for_loss(&crossing, loss_that_slows_al_to_le_s(&crossing));
    let label = "AL, if its messages collide";
    series.push(line(label, sizes(budget), with_uncorrelated_loss, |model| {
        last_send(Variant::Al, &with_collisions(model, airtime))
    }));
    Ok(vec![series])
}

/// Draws messages of LE-S against N, up to a million.
fn scale(budget: &Budget) -> Result<Vec<Series>> {
    let sizes: &[u64] = budget.choose(&[100, 1_000], &[100, 1_000, 10_000, 100_000, 1_000_000]);
    let mut points = Vec::new();
    for &members in sizes {
        let model = at_scale(members, MulticastLoss::Uncorrelated(SCALE_LOSS));
        let held = held(budget, runs_at_scale(budget, members), Variant::LeS, &model)?;
        points.extend(Point::of(members as f64, &held.messages));
    }
    let correlated = |members| at_scale(members, MulticastLoss::Correlated(SCALE_LOSS));
    let awake = sizes.iter().map(|&members| (members as f64, members as f64 * 1e-3));
    Ok(vec![
        Series::new("uncorrelated loss, simulated", Vec::new(), points),
        line("correlated loss, on paper", sizes, correlated, |model| {
            messages_until_heard(Variant::LeS, model)
        }),
        Series::line("awake within D of the start: N D/T_S", awake.collect()),
    ])
}

/// The number of runs of the figures of the choice.
const RUNS_OF_CHOICE: u64 = 100;
const LE_A: (&str, Variant) = ("LE-A", Variant::LeA);
const LE_S: (&str, Variant) = ("LE-S", Variant::LeS);
const LE_M: (&str, Variant) = ("LE-M", Variant::LeM);

fn choice_by_size(budget: &Budget, measure: Measure) -> Result<Vec<Series>> {
    let places = [2_u64, 5, 10, 20, 50, 100, 200, 500].map(|members| {
        (members as f64, at_scale(members, MulticastLoss::Uncorrelated(SCALE_LOSS)))
    });
    let curve = |label| curve(budget, measure, label, &places, |_| RUNS_OF_CHOICE);
    [LE_A, LE_S, LE_M].into_iter().map(curve).collect()
}

fn choice_by_interval(budget: &Budget) -> Result<Vec<Series>> {
    // Values of T_S, in units of T_A.
    let places = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0].map(|suppress_interval| {
        let group = at_scale(500, MulticastLoss::Uncorrelated(SCALE_LOSS));
        (suppress_interval, AnnounceModel { suppress_interval, ..group })
    });
    let on_paper =
        |(x, model): &(f64, AnnounceModel)| Some((*x, messages_until_heard(Variant::LeA, model)?));
    let curve = |label| curve(budget, MESSAGES, label, &places, |_| RUNS_OF_CHOICE);
    let at_once = Series::line("LE-A: no T_S", places.iter().filter_map(on_paper).collect());
    Ok(vec![at_once, curve(LE_S)?, curve(LE_M)?])
}
