//! Figures 5.6 to 5.13, with the chapter's parameters and numbers of runs, and the cost of an
//! election in groups of up to a million.

use hustings_sim::statistics::Sample;
use hustings_theory::announce::delay::{
    airtime_for_loss, last_send, last_send_of_first_round, leadership_delay,
    loss_that_slows_al_to_le_s,
};
use hustings_theory::announce::messages::messages_until_heard;
use hustings_theory::announce::{Algorithm, Loss, Model, printed};

use super::super::budget::{Budget, ExperimentError};
use super::super::figure::{Axis, Corner, Figure, Point, Scale, Series};
use super::comparison::with_collisions;
use super::messages::{SCALE_LOSS, at_scale, runs_at_scale};
use super::thesis_fixture::{AnnounceResults, held};

const LOSS: f64 = 0.4;
const CORRELATED: Loss = Loss::Correlated(LOSS);
const UNCORRELATED: Loss = Loss::Uncorrelated(LOSS);

/// The measure on the y axis.
#[derive(Clone, Copy)]
pub(super) enum Measure {
    Tmax,
    Delay,
    Messages,
    FirstRoundEnd,
}

impl Measure {
    fn of(self, held: &AnnounceResults) -> Sample {
        match self {
            Self::Tmax => held.tmax,
            Self::Delay => held.delay,
            Self::Messages => held.messages,
            Self::FirstRoundEnd => held.first_ended,
        }
    }

    fn on_paper(self, algorithm: Algorithm, model: &Model) -> Option<f64> {
        match self {
            Self::Tmax => last_send(algorithm, model),
            Self::Delay => leadership_delay(algorithm, model),
            Self::Messages => messages_until_heard(algorithm, model),
            Self::FirstRoundEnd => last_send_of_first_round(algorithm, model),
        }
    }

    pub(super) fn axis(self) -> Axis {
        let label = match self {
            Self::Tmax => "mean tmax, in T_S",
            Self::Delay => "mean time until all have heard the leader, in T_A",
            Self::Messages => "mean messages",
            Self::FirstRoundEnd => "mean time of the last first-round message, in T_S",
        };
        Axis { label, scale: Scale::Linear }
    }
}

/// An algorithm under one loss, with its label.
type Curve = (&'static str, Algorithm, Loss);

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
pub(super) fn series(
    budget: &Budget,
    measure: Measure,
    (label, algorithm): (&str, Algorithm),
    places: &[(f64, Model)],
    runs: impl Fn(&Model) -> u64,
) -> Result<Series, ExperimentError> {
    let mut points = Vec::new();
    for (x, model) in places {
        let held = held(budget, runs(model), algorithm, model)?;
        points.extend(Point::of(*x, &measure.of(&held)));
    }
    let on_paper = |(x, model): &(f64, Model)| Some((*x, measure.on_paper(algorithm, model)?));
    // Two members may have a formula where more have none. A line needs a value at every place.
    let line: Option<Vec<(f64, f64)>> = places.iter().map(on_paper).collect();
    Ok(Series { label: label.to_owned(), looks_like: None, line: line.unwrap_or_default(), points })
}

/// Returns the line of a formula alone, under uncorrelated loss.
fn line(budget: &Budget, label: &str, formula: impl Fn(&Model) -> Option<f64>) -> Series {
    let on_paper = |&members: &u64| {
        let model = Model::of_the_chapter(members, UNCORRELATED);
        Some((members as f64, formula(&model)?))
    };
    Series {
        label: label.to_owned(),
        looks_like: None,
        line: sizes(budget).iter().filter_map(on_paper).collect(),
        points: Vec::new(),
    }
}

fn against_members(
    budget: &Budget,
    title: &'static str,
    measure: Measure,
    legend: Corner,
    curves: &[Curve],
) -> Result<Figure, ExperimentError> {
    let series = |&(label, algorithm, loss): &Curve| {
        let model = |&members: &u64| (members as f64, Model::of_the_chapter(members, loss));
        let places: Vec<(f64, Model)> = sizes(budget).iter().map(model).collect();
        let runs = |model: &Model| runs(budget, model.members);
        series(budget, measure, (label, algorithm), &places, runs)
    };
    Ok(Figure {
        title,
        x: Axis { label: "members N", scale: Scale::Linear },
        y: measure.axis(),
        legend,
        series: curves.iter().map(series).collect::<Result<_, _>>()?,
    })
}

const WITHOUT_LOSS: [Curve; 2] =
    [("LE-S", Algorithm::LeS, Loss::None), ("SUP", Algorithm::Sup, Loss::None)];
const WITH_LOSS: [Curve; 4] = [
    ("LE-S, uncorrelated loss", Algorithm::LeS, UNCORRELATED),
    ("LE-S, correlated loss", Algorithm::LeS, CORRELATED),
    ("SUP, uncorrelated loss", Algorithm::Sup, UNCORRELATED),
    ("SUP, correlated loss", Algorithm::Sup, CORRELATED),
];
const BY_CRITERION: [Curve; 3] = [
    ("LE-S", Algorithm::LeS, UNCORRELATED),
    ("LE-M", Algorithm::LeM, UNCORRELATED),
    ("SUP", Algorithm::Sup, UNCORRELATED),
];

pub(super) fn figure_5_6(budget: &Budget) -> Result<Figure, ExperimentError> {
    let title = "LE-S and SUP without loss: tmax";
    against_members(budget, title, Measure::Tmax, Corner::MiddleRight, &WITHOUT_LOSS)
}

pub(super) fn figure_5_7(budget: &Budget) -> Result<Figure, ExperimentError> {
    let title = "LE-S and SUP without loss: messages";
    against_members(budget, title, Measure::Messages, Corner::UpperLeft, &WITHOUT_LOSS)
}

pub(super) fn figure_5_8(budget: &Budget) -> Result<Figure, ExperimentError> {
    let title = "LE-S and SUP, loss 0.4: tmax";
    let mut figure =
        against_members(budget, title, Measure::Tmax, Corner::MiddleRight, &WITH_LOSS)?;
    figure.series.push(line(budget, "LE-S, uncorrelated loss, as printed", |model| {
        Some(printed::leadership_delay(Algorithm::LeS, model)? - model.delay)
    }));
    Ok(figure)
}

pub(super) fn figure_5_9(budget: &Budget) -> Result<Figure, ExperimentError> {
    let title = "LE-S and SUP, loss 0.4: messages";
    against_members(budget, title, Measure::Messages, Corner::UpperLeft, &WITH_LOSS)
}

pub(super) fn figure_5_10(budget: &Budget) -> Result<Figure, ExperimentError> {
    let title = "LE-S, correlated loss: tmax";
    let curves = [
        ("loss 0.8", Algorithm::LeS, Loss::Correlated(0.8)),
        ("loss 0.6", Algorithm::LeS, Loss::Correlated(0.6)),
        ("loss 0.4", Algorithm::LeS, Loss::Correlated(0.4)),
        ("loss 0.2", Algorithm::LeS, Loss::Correlated(0.2)),
        ("no loss", Algorithm::LeS, Loss::None),
    ];
    let mut figure = against_members(budget, title, Measure::Tmax, Corner::UpperRight, &curves)?;
    figure.y.scale = Scale::Roomy;
    Ok(figure)
}

pub(super) fn figure_5_11(budget: &Budget) -> Result<Figure, ExperimentError> {
    let title = "LE-S and AL, uncorrelated loss 0.4: tmax";
    let curves = [("LE-S", Algorithm::LeS, UNCORRELATED), ("AL", Algorithm::Al, UNCORRELATED)];
    let mut figure = against_members(budget, title, Measure::Tmax, Corner::LowerRight, &curves)?;
    let crossing = Model::of_the_chapter(200, UNCORRELATED);
    let airtime = airtime_for_loss(&crossing, loss_that_slows_al_to_le_s(&crossing));
    figure.series.push(line(budget, "AL, if its messages collide", |model| {
        last_send(Algorithm::Al, &with_collisions(model, airtime))
    }));
    Ok(figure)
}

pub(super) fn figure_5_12(budget: &Budget) -> Result<Figure, ExperimentError> {
    let title = "First round of LE-S, LE-M and SUP, uncorrelated loss 0.4";
    let measure = Measure::FirstRoundEnd;
    against_members(budget, title, measure, Corner::MiddleRight, &BY_CRITERION)
}

pub(super) fn figure_5_13(budget: &Budget) -> Result<Figure, ExperimentError> {
    let title = "LE-S, LE-M and SUP, uncorrelated loss 0.4: tmax";
    against_members(budget, title, Measure::Tmax, Corner::MiddleRight, &BY_CRITERION)
}

/// Draws messages of LE-S against N, up to a million.
pub(super) fn scale(budget: &Budget) -> Result<Figure, ExperimentError> {
    let sizes: &[u64] = budget.choose(&[100, 1_000], &[100, 1_000, 10_000, 100_000, 1_000_000]);
    let mut points = Vec::new();
    for &members in sizes {
        let model = at_scale(members, Loss::Uncorrelated(SCALE_LOSS));
        let runs = runs_at_scale(budget, members);
        let held = held(budget, runs, Algorithm::LeS, &model)?;
        points.extend(Point::of(members as f64, &held.messages));
    }
    let uncorrelated = Series {
        label: "uncorrelated loss, simulated".to_owned(),
        looks_like: None,
        line: Vec::new(),
        points,
    };
    let on_paper = |&members: &u64| {
        let model = at_scale(members, Loss::Correlated(SCALE_LOSS));
        Some((members as f64, messages_until_heard(Algorithm::LeS, &model)?))
    };
    let correlated = Series {
        label: "correlated loss, on paper".to_owned(),
        looks_like: None,
        line: sizes.iter().filter_map(on_paper).collect(),
        points: Vec::new(),
    };
    let linear = sizes.iter().map(|&members| (members as f64, members as f64 * 1e-3));
    let awake = Series {
        label: "awake within D of the start: N D/T_S".to_owned(),
        looks_like: None,
        line: linear.collect(),
        points: Vec::new(),
    };
    Ok(Figure {
        title: "Messages of LE-S, loss 0.1, D = T_S/1000",
        x: Axis { label: "members N", scale: Scale::Logarithmic },
        y: Axis {
            label: "mean messages until all have heard the leader",
            scale: Scale::Logarithmic,
        },
        legend: Corner::UpperLeft,
        series: vec![uncorrelated, correlated, awake],
    })
}
