//! Figures for the choice between LE-A, LE-S and LE-M: messages and delay by group size and by T_S.
//!
//! The guide shows these figures: they are the same with and without `--quick`.

use hustings_theory::announce::messages::messages_until_heard;
use hustings_theory::announce::{Algorithm, Loss, Model};

use super::super::budget::{Budget, ExperimentError};
use super::super::figure::{Axis, Corner, Figure, Scale, Series};
use super::messages::{SCALE_LOSS, at_scale};
use super::thesis_figures::{Measure, series};

const RUNS: u64 = 100;
const SIZES: [u64; 8] = [2, 5, 10, 20, 50, 100, 200, 500];
/// The size of the group whose T_S varies.
const MEMBERS: u64 = 500;
/// The values of T_S, in units of T_A.
const SUPPRESS_INTERVALS: [f64; 7] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0];

const LE_A: (&str, Algorithm) = ("LE-A", Algorithm::LeA);
const LE_S: (&str, Algorithm) = ("LE-S", Algorithm::LeS);
const LE_M: (&str, Algorithm) = ("LE-M", Algorithm::LeM);

fn group(members: u64) -> Model {
    at_scale(members, Loss::Uncorrelated(SCALE_LOSS))
}

fn logarithmic(label: &'static str) -> Axis {
    Axis { label, scale: Scale::Logarithmic }
}

fn by_size(budget: &Budget, measure: Measure) -> Result<Vec<Series>, ExperimentError> {
    let places = SIZES.map(|members| (members as f64, group(members)));
    let curve = |curve| series(budget, measure, curve, &places, |_| RUNS);
    [LE_A, LE_S, LE_M].into_iter().map(curve).collect()
}

pub(super) fn messages(budget: &Budget) -> Result<Figure, ExperimentError> {
    Ok(Figure {
        title: "Messages of LE-A, LE-S and LE-M, loss 0.1",
        x: logarithmic("members N"),
        y: logarithmic("mean messages until all have heard the leader"),
        legend: Corner::UpperLeft,
        series: by_size(budget, Measure::Messages)?,
    })
}

pub(super) fn delay(budget: &Budget) -> Result<Figure, ExperimentError> {
    Ok(Figure {
        title: "Delay of LE-A, LE-S and LE-M, loss 0.1",
        x: logarithmic("members N"),
        y: Measure::Delay.axis(),
        legend: Corner::LowerRight,
        series: by_size(budget, Measure::Delay)?,
    })
}

pub(super) fn interval(budget: &Budget) -> Result<Figure, ExperimentError> {
    let places = SUPPRESS_INTERVALS.map(|suppress_interval| {
        let model = Model { suppress_interval, ..group(MEMBERS) };
        (suppress_interval, model)
    });
    let on_paper =
        |(x, model): &(f64, Model)| Some((*x, messages_until_heard(Algorithm::LeA, model)?));
    let at_once = Series {
        label: "LE-A: no T_S".to_owned(),
        looks_like: None,
        line: places.iter().filter_map(on_paper).collect(),
        points: Vec::new(),
    };
    let curve = |curve| series(budget, Measure::Messages, curve, &places, |_| RUNS);
    Ok(Figure {
        title: "Messages by T_S, N = 500, loss 0.1",
        x: logarithmic("suppress interval T_S, in T_A"),
        y: logarithmic("mean messages until all have heard the leader"),
        legend: Corner::MiddleRight,
        series: vec![at_once, curve(LE_S)?, curve(LE_M)?],
    })
}
