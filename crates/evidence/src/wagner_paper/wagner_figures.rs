//! Figures of the cost of draws and of the effect of cheaters, against theory.

use std::num::NonZeroU32;

use hustings_sim::statistics::{Kind, Sample};
use hustings_sim::wagner::{Aim, Cheat, DrawRun as Run, DrawTrial as Trial};
use hustings_theory::wagner::Compare;
use hustings_theory::wagner::election::{Cost, table};
use hustings_theory::wagner::informal::{Parity, Sees, best_cheater, printed_cheater};
use hustings_theory::wagner::stall::{StallLimit, endless, false_alarm};

use super::super::FigureSpec;
use super::super::budget::{Budget, ExperimentError};
use super::super::figure::{Axis, Corner, Figure, Point, Scale, Series};
use super::faults::share;
use super::wagner_fixture::{WagnerFixture, cheated, honest, informal, limited_to, schemed};

pub(super) const FIGURES: &[FigureSpec] = &[
    FigureSpec {
        name: "W-rounds",
        caption: "What a draw costs against the number of members: lines by dynamic programming, points simulated with 95 % \
                  confidence bands. Each Basic round takes 2 n^2 messages of one bit. The printed, strict, comparison costs \
                  some flips more.",
        draw: rounds,
    },
    FigureSpec {
        name: "W-false-alarm",
        caption: "The price of the limit on equal stages in a row: how often an honest draw ends by it, against the limit. Lines: \
                  theory; points: simulated. It halves with each stage, whatever the size of the ring.",
        draw: false_alarms,
    },
    FigureSpec {
        name: "W-informal",
        caption: "The informal protocol of the introduction: how often one cheater is elected, as a multiple of its part. The best \
                  flips, by dynamic programming, and the printed strategy; points: draws in which a cheater plays the best.",
        draw: gains,
    },
    FigureSpec {
        name: "W-stall",
        caption: "Without a limit on equal stages: how often so many neighbours of eight hold up a draw for ever. Who chooses all \
                  flips at once by those of its neighbours (line: theory), and who shows them one by one and does the best that \
                  can be done (line: twice their part); points: simulated.",
        draw: stalls,
    },
];

fn linear(label: &'static str) -> Axis {
    Axis { label, scale: Scale::Linear }
}

fn logarithmic(label: &'static str) -> Axis {
    Axis { label, scale: Scale::Logarithmic }
}

fn series(label: &str, line: Vec<(f64, f64)>, points: Vec<Point>) -> Series {
    Series { label: label.to_owned(), looks_like: None, line, points }
}

fn rounds(budget: &Budget) -> Result<Figure, ExperimentError> {
    const MOST: usize = 1_000;
    const FEWEST: usize = 4;
    let sizes: &[u32] = budget.choose(&[4, 25], &[4, 8, 16, 32, 64, 128, 256]);
    let mut held = Vec::new();
    for members in sizes {
        let runs = budget.choose(50, 1_000);
        held.push((*members, WagnerFixture::honest(budget).hold(runs, &honest(*members))?));
    }
    let points = |of: fn(&Run) -> u32| {
        let point = |(members, runs): &(u32, Vec<Run>)| {
            let mut sample = Sample::new(Kind::Number);
            runs.iter().for_each(|run| sample.add(of(run).into()));
            Point::of((*members).into(), &sample)
        };
        held.iter().filter_map(point).collect()
    };
    let (strict, non_strict) =
        (table(MOST, Compare::Strict, None), table(MOST, Compare::NonStrict, None));
    let line = |costs: &[Cost], of: fn(&Cost) -> f64| {
        let all = (2_usize..).zip(costs).skip(FEWEST - 2);
        all.map(|(n, cost)| (n as f64, of(cost))).collect()
    };
    Ok(Figure {
        title: "Stages, flips and Basic rounds of a draw",
        x: logarithmic("members"),
        y: linear("expected number"),
        legend: Corner::UpperLeft,
        series: vec![
            series("stages", line(&non_strict, |it| it.stages), points(|run| run.stages)),
            series("flips", line(&non_strict, |it| it.flips), points(|run| run.flips)),
            series(
                "Basic rounds",
                line(&non_strict, |it| it.basic_rounds),
                points(|run| run.stages + run.flips),
            ),
            series(
                "Basic rounds, strict comparison",
                line(&strict, |it| it.basic_rounds),
                Vec::new(),
            ),
        ],
    })
}

fn false_alarms(budget: &Budget) -> Result<Figure, ExperimentError> {
    const MOST: u32 = 10;
    let limits: &[u32] = budget.choose(&[1, 3], &[1, 2, 3, 4, 5, 6, 7, 8]);
    let mut all = Vec::new();
    for members in [4, 25] {
        let mut points = Vec::new();
        for limit in limits.iter().copied().filter_map(NonZeroU32::new) {
            let trial = limited_to(honest(members), limit);
            let runs = WagnerFixture::honest(budget).hold(budget.choose(500, 20_000), &trial)?;
            points.extend(Point::of(limit.get().into(), &share(&runs, Run::fault_detected)));
        }
        let alarm = |limit| false_alarm(members as usize, StallLimit::new(limit));
        let line = (1..=MOST).map(|limit| (limit.into(), alarm(limit)));
        all.push(series(&format!("{members} members"), line.collect(), points));
    }
    Ok(Figure {
        title: "False alarms of a limit on equal stages in a row",
        x: linear("equal stages that are a fault"),
        y: logarithmic("probability in an honest draw"),
        legend: Corner::UpperRight,
        series: all,
    })
}

fn gains(budget: &Budget) -> Result<Figure, ExperimentError> {
    const MOST: usize = 30;
    let mut points = Vec::new();
    for members in budget.choose(4..=5, 4..=10) {
        let trial = schemed(&informal(members), 1, Aim::Win)?;
        let runs = WagnerFixture::honest(budget).hold(budget.choose(500, 20_000), &trial)?;
        let mut times_its_part = Sample::new(Kind::Number);
        for run in runs {
            let is_elected = f64::from(u8::from(run.leader_is_cheater));
            times_its_part.add(is_elected * f64::from(members));
        }
        points.extend(Point::of(members.into(), &times_its_part));
    }
    let line = |of: fn(usize) -> f64| (4..=MOST).map(|n| (n as f64, of(n) * n as f64)).collect();
    Ok(Figure {
        title: "What one cheater gets out of the informal protocol",
        x: linear("members"),
        y: linear("probability of being elected, times members"),
        legend: Corner::LowerRight,
        series: vec![
            series(
                "the best, sees both neighbours",
                line(|n| best_cheater(n, Parity::Ring, Sees::Both)),
                points,
            ),
            series(
                "the best, with an agreed direction",
                line(|n| best_cheater(n, Parity::Ring, Sees::Clockwise)),
                Vec::new(),
            ),
            series("the printed strategy", line(|n| printed_cheater(n, Parity::Ring)), Vec::new()),
        ],
    })
}

fn stalls(budget: &Budget) -> Result<Figure, ExperimentError> {
    const MEMBERS: u32 = 8;
    let cheaters = 1..=3_u32;
    let hold = |trial: &Trial| -> Result<Sample, ExperimentError> {
        let runs = WagnerFixture::honest(budget).hold(budget.choose(100, 3_000), trial)?;
        Ok(share(&runs, Run::stalled))
    };
    let (mut at_once, mut best) = (Vec::new(), Vec::new());
    for number in cheaters.clone() {
        let followed = hold(&cheated(MEMBERS, number, Cheat::StaleMate))?;
        at_once.extend(Point::of(number.into(), &followed));
        let schemed = hold(&schemed(&honest(MEMBERS), number, Aim::Stall)?)?;
        best.extend(Point::of(number.into(), &schemed));
    }
    let line = |of: fn(u32) -> f64| cheaters.clone().map(|it| (it.into(), of(it))).collect();
    Ok(Figure {
        title: "Draws among eight that never end",
        x: linear("neighbours that stall"),
        y: linear("share of draws"),
        legend: Corner::UpperLeft,
        series: vec![
            series("all flips at once", line(|it| endless(MEMBERS as usize, it as usize)), at_once),
            series(
                "one by one",
                line(|it| match it {
                    1 => 0.0,
                    _ => f64::from(2 * it) / f64::from(MEMBERS),
                }),
                best,
            ),
        ],
    })
}
