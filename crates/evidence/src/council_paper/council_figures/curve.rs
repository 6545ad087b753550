//! Curves: lines by theory, points by simulation.

use hustings_sim::statistics::Sample;
use hustings_theory::council::estimate::by_pseudocode;
use hustings_theory::council::{Cost, Election, Knowledge};

use super::super::super::budget::{Budget, ExperimentError};
use super::super::super::figure::{Axis, Corner, Figure, Point, Scale, Series};
use super::super::council_fixture::{
    CouncilFixture, CouncilResults, messages_of, rounds_of, sizes,
};

/// The elections of a curve, each with its place on the x axis.
pub(super) struct Curve {
    pub(super) label: String,
    pub(super) look: usize,
    pub(super) line: Vec<(f64, Election)>,
    pub(super) points: Vec<(f64, Election)>,
}

/// Returns the number of points that the budget allows.
pub(super) fn few(budget: &Budget) -> u32 {
    budget.choose(5, 13)
}

pub(super) fn axis(label: &'static str, scale: Scale) -> Axis {
    Axis { label, scale }
}

/// Returns the expected value of the cost that `hustings sim` measures.
fn cost(election: &Election) -> Cost {
    match election.knowledge {
        Knowledge::Estimated(_) => by_pseudocode(election).unwrap_or_else(|| election.cost()),
        Knowledge::Known | Knowledge::Taken(_) => election.cost(),
    }
}

/// Returns a curve over the number of hosts.
pub(super) fn by_size(
    label: &str,
    look: usize,
    budget: &Budget,
    of: impl Fn(u64) -> Election,
) -> Curve {
    let places = |count| {
        let elections = sizes(count).map(|members| (members as f64, of(members)));
        elections.filter(|(_, election)| !election.is_decided_by_the_poll())
    };
    Curve {
        label: label.to_owned(),
        look,
        line: places(61).collect(),
        points: places(few(budget)).collect(),
    }
}

/// Returns a curve over `c`, between two values.
pub(super) fn by_c(
    label: &str,
    look: usize,
    budget: &Budget,
    (from, to): (f64, f64),
    of: &Election,
) -> Curve {
    let places = |count: u32| {
        let step = (to - from) / f64::from(count - 1);
        let cs = (0..count).map(move |index| from + step * f64::from(index));
        cs.map(|c| (c, of.with_c(c))).collect()
    };
    Curve { label: label.to_owned(), look, line: places(61), points: places(few(budget)) }
}

impl Curve {
    fn hold(&self, budget: &Budget) -> Result<Vec<(f64, CouncilResults)>, ExperimentError> {
        let fixture = CouncilFixture::honest(budget);
        let held = |(x, election): &(f64, Election)| Ok((*x, fixture.held(election)?));
        self.points.iter().map(held).collect()
    }

    fn series(
        &self,
        held: &[(f64, CouncilResults)],
        of: fn(&Cost) -> f64,
        measured: fn(&CouncilResults) -> Sample,
    ) -> Series {
        Series {
            label: self.label.clone(),
            looks_like: Some(self.look),
            line: self.line.iter().map(|(x, it)| (*x, of(&cost(it)))).collect(),
            points: points(held, measured),
        }
    }
}

pub(super) fn points(
    held: &[(f64, CouncilResults)],
    measured: fn(&CouncilResults) -> Sample,
) -> Vec<Point> {
    let each = held.iter();
    each.filter_map(|(x, held)| Point::of(*x, &measured(held))).collect()
}

/// The title, axis and legend of a figure of one quantity.
pub(super) struct Panel {
    title: &'static str,
    y: Axis,
    legend: Corner,
}

pub(super) fn panel(
    title: &'static str,
    (label, scale): (&'static str, Scale),
    legend: Corner,
) -> Panel {
    Panel { title, y: axis(label, scale), legend }
}

pub(super) fn alone(
    budget: &Budget,
    curve: &Curve,
    panel: Panel,
    of: fn(&Cost) -> f64,
    measured: fn(&CouncilResults) -> Sample,
) -> Result<Figure, ExperimentError> {
    let held = curve.hold(budget)?;
    Ok(Figure {
        title: panel.title,
        x: axis("c", Scale::Linear),
        y: panel.y,
        legend: panel.legend,
        series: vec![curve.series(&held, of, measured)],
    })
}

/// A quantity of the figure: its value in theory and its measurement.
type Quantity = (fn(&Cost) -> f64, fn(&CouncilResults) -> Sample);

/// Draws rounds and messages of the same elections.
pub(super) fn both(
    budget: &Budget,
    x: impl Fn() -> Axis,
    curves: &[Curve],
    panels: [Panel; 2],
) -> Result<Vec<Figure>, ExperimentError> {
    let held: Vec<_> = curves.iter().map(|curve| curve.hold(budget)).collect::<Result<_, _>>()?;
    let kinds: [Quantity; 2] =
        [(rounds_of, |held| held.rounds), (messages_of, |held| held.messages)];
    let figure = |(panel, (of, measured)): (Panel, Quantity)| {
        let series = curves.iter().zip(&held);
        Figure {
            title: panel.title,
            x: x(),
            y: panel.y,
            legend: panel.legend,
            series: series.map(|(curve, held)| curve.series(held, of, measured)).collect(),
        }
    };
    Ok(panels.into_iter().zip(kinds).map(figure).collect())
}
