//! Figures of the cost of draws and of the effect of cheaters, against theory.

use std::num::NonZeroU32;

use hustings_sim::statistics::Kind;
use hustings_sim::wagner::{Aim, Cheat, DrawRun, DrawTrial};
use hustings_theory::wagner::Compare;
use hustings_theory::wagner::election::{DrawCost, table};
use hustings_theory::wagner::informal::{Parity, Sees, best_cheater, printed_cheater};
use hustings_theory::wagner::stall::{StallLimit, endless, false_alarm};

use super::super::FigureSpec;
use super::super::budget::{Budget, Result, sample_of};
use super::super::figure::{Axis, Corner, Frame, Panel, Point, Series};
use super::faults::share;
use super::wagner_fixture::{cheated, honest, informal, limited_to, obedient, schemed};

pub(super) const FIGURES: &[FigureSpec] = &[
    FigureSpec {
        panels: &[Panel {
            name: "W-rounds",
            caption: "What a draw costs against the number of members: lines by dynamic programming, points simulated with \
                      95 % confidence bands. Each Basic round takes 2 n^2 messages of one bit. The printed, strict, \
                      comparison costs some flips more.",
            title: "Stages, flips and Basic rounds of a draw",
            frame: Frame {
                x: Axis::logarithmic("members"),
                y: Axis::linear("expected number"),
                legend: Corner::UpperLeft,
            },
        }],
        draw: |budget| Ok(vec![rounds(budget)?]),
    },
    FigureSpec {
        panels: &[Panel {
            name: "W-false-alarm",
            caption: "The price of the limit on equal stages in a row: the probability that it \
                      ends an honest draw, against the limit. Lines: theory; points: simulated. \
                      It halves with each stage, whatever the size of the ring.",
            title: "False alarms of a limit on equal stages in a row",
            frame: Frame {
                x: Axis::linear("equal stages that are a fault"),
                y: Axis::logarithmic("probability in an honest draw"),
                legend: Corner::UpperRight,
            },
        }],
        draw: |budget| Ok(vec![false_alarms(budget)?]),
    },
    FigureSpec {
        panels: &[Panel {
            name: "W-informal",
            caption: "The informal protocol of the introduction: the probability that one \
                      cheater is elected, as a multiple of its fair share. The best flips, by \
                      dynamic programming, and the printed strategy; points: draws in which a \
                      cheater plays the best.",
            title: "What one cheater gets out of the informal protocol",
            frame: Frame {
                x: Axis::linear("members"),
                y: Axis::linear("probability of being elected, times members"),
                legend: Corner::LowerRight,
            },
        }],
        draw: |budget| Ok(vec![gains(budget)?]),
    },
    FigureSpec {
        panels: &[Panel {
            name: "W-stall",
            caption: "Without a limit on equal stages: the probability that neighbouring \
                      cheaters among eight members stall a draw for ever, by their number. \
                      Cheaters that choose all flips at once by those of their neighbours (line: \
                      theory), and cheaters that show them one by one in the best possible way \
                      (line: twice their fair share); points: simulated.",
            title: "Draws among eight that never end",
            frame: Frame {
                x: Axis::linear("neighbours that stall"),
                y: Axis::linear("share of draws"),
                legend: Corner::UpperLeft,
            },
        }],
        draw: |budget| Ok(vec![stalls(budget)?]),
    },
];

fn rounds(budget: &Budget) -> Result<Vec<Series>> {
    const MOST: usize = 1_000;
    const FEWEST: usize = 4;
    let sizes: &[u32] = budget.choose(&[4, 25], &[4, 8, 16, 32, 64, 128, 256]);
    let mut held = Vec::new();
    for members in sizes {
        let runs = budget.choose(50, 1_000);
        held.push((*members, obedient(budget).hold(runs, &honest(*members))?));
    }
    let points = |of: fn(&DrawRun) -> u32| {
        let point = |(members, runs): &(u32, Vec<DrawRun>)| {
            let sample = sample_of(Kind::Number, runs.iter().map(|run| of(run).into()));
            Point::of((*members).into(), &sample)
        };
        held.iter().filter_map(point).collect()
    };
    let (strict, non_strict) =
        (table(MOST, Compare::Strict, None), table(MOST, Compare::NonStrict, None));
    let line = |costs: &[DrawCost], of: fn(&DrawCost) -> f64| {
        let all = (2_usize..).zip(costs).skip(FEWEST - 2);
        all.map(|(n, cost)| (n as f64, of(cost))).collect()
    };
    let basic_rounds = line(&non_strict, |it| it.basic_rounds);
    let strict = line(&strict, |it| it.basic_rounds);
    Ok(vec![
        Series::new("stages", line(&non_strict, |it| it.stages), points(|run| run.stages)),
        Series::new("flips", line(&non_strict, |it| it.flips), points(|run| run.flips)),
        Series::new("Basic rounds", basic_rounds, points(|run| run.stages + run.flips)),
        Series::line("Basic rounds, strict comparison", strict),
    ])
}

fn false_alarms(budget: &Budget) -> Result<Vec<Series>> {
    const MOST: u32 = 10;
    let limits: &[u32] = budget.choose(&[1, 3], &[1, 2, 3, 4, 5, 6, 7, 8]);
    let mut all = Vec::new();
    for members in [4, 25] {
        let mut points = Vec::new();
        for limit in limits.iter().copied().filter_map(NonZeroU32::new) {
            let trial = limited_to(honest(members), limit);
            let runs = obedient(budget).hold(budget.choose(500, 20_000), &trial)?;
            points.extend(Point::of(limit.get().into(), &share(&runs, DrawRun::fault_detected)));
        }
        let alarm = |limit| false_alarm(members as usize, StallLimit::new(limit));
        let line = (1..=MOST).map(|limit| (limit.into(), alarm(limit)));
        all.push(Series::new(format!("{members} members"), line.collect(), points));
    }
    Ok(all)
}

fn gains(budget: &Budget) -> Result<Vec<Series>> {
    const MOST: usize = 30;
    let mut points = Vec::new();
    for members in budget.choose(4..=5, 4..=10) {
        let trial = schemed(&informal(members), 1, Aim::Win)?;
        let runs = obedient(budget).hold(budget.choose(500, 20_000), &trial)?;
        let gain = |run: &DrawRun| if run.leader_is_cheater { f64::from(members) } else { 0.0 };
        let times_its_part = sample_of(Kind::Number, runs.iter().map(gain));
        points.extend(Point::of(members.into(), &times_its_part));
    }
    let line = |of: fn(usize) -> f64| (4..=MOST).map(|n| (n as f64, of(n) * n as f64)).collect();
    let both = line(|n| best_cheater(n, Parity::Ring, Sees::Both));
    let clockwise = line(|n| best_cheater(n, Parity::Ring, Sees::Clockwise));
    Ok(vec![
        Series::new("the best, sees both neighbours", both, points),
        Series::line("the best, with an agreed direction", clockwise),
        Series::line("the printed strategy", line(|n| printed_cheater(n, Parity::Ring))),
    ])
}

fn stalls(budget: &Budget) -> Result<Vec<Series>> {
    const MEMBERS: u32 = 8;
    let cheaters = 1..=3_u32;
    let hold = |number: u32, trial: &DrawTrial| -> Result<Option<Point>> {
        let runs = obedient(budget).hold(budget.choose(100, 3_000), trial)?;
        Ok(Point::of(number.into(), &share(&runs, DrawRun::stalled)))
    };
    let (mut at_once, mut best) = (Vec::new(), Vec::new());
    for number in cheaters.clone() {
        at_once.extend(hold(number, &cheated(MEMBERS, number, Cheat::StaleMate))?);
        best.extend(hold(number, &schemed(&honest(MEMBERS), number, Aim::Stall)?)?);
    }
    let line = |of: fn(u32) -> f64| cheaters.clone().map(|it| (it.into(), of(it))).collect();
    let of_best = |it| if it == 1 { 0.0 } else { f64::from(2 * it) / f64::from(MEMBERS) };
    Ok(vec![
        Series::new(
            "all flips at once",
            line(|it| endless(MEMBERS as usize, it as usize)),
            at_once,
        ),
        Series::new("one by one", line(of_best), best),
    ])
}
