//! Figures of the slides' claims.

use hustings_sim::Seeds;
use hustings_sim::classics::{Best, BullyInitiator, Initiators, Order};
use hustings_theory::{bully as paper, rings};

use super::super::FigureSpec;
use super::super::budget::{Budget, Result};
use super::super::figure::{Axis, Corner, Frame, Panel, Point, Series};
use super::bully::{self, bereft, goes_wrong};
use super::slides_fixture::Play;
use super::{modified_ring, ring};

pub(super) const FIGURES: &[FigureSpec] = &[
    FigureSpec {
        panels: &[Panel {
            name: "R-messages",
            caption: "Messages of one election. Points: means of simulated elections, with their 95 % \
                      confidence intervals (mostly smaller than the points); lines: closed forms. The \
                      bully's best member is dead.",
            title: "Messages of one election",
            frame: Frame {
                x: Axis::logarithmic("members N"),
                y: Axis::logarithmic("messages"),
                legend: Corner::UpperLeft,
            },
        }],
        draw: |budget| Ok(vec![messages(budget)?]),
    },
    FigureSpec {
        panels: &[Panel {
            name: "R-time-outs",
            caption: "Bully, exponential delays, the best member dead and the lowest calling: the share of \
                      elections that do not end with everyone naming the best live member, against the \
                      time waited for an answer. Bands: 95 % confidence.",
            title: "Bully without a bound on delays",
            frame: Frame {
                x: Axis::linear("time waited for an answer, in mean delays"),
                y: Axis::linear("share of elections that go wrong"),
                legend: Corner::UpperRight,
            },
        }],
        draw: |budget| Ok(vec![time_outs(budget)?]),
    },
];

/// An election with its cost by theory and in the simulator.
struct Election {
    label: &'static str,
    on_paper: fn(u64) -> f64,
    hold: fn(u32, Seeds) -> Play,
}

const ELECTIONS: [Election; 5] = [
    Election {
        label: "bully, the lowest calls: N² − N − 1",
        on_paper: |n| paper::bully(n, BullyInitiator::Lowest, Best::Down).messages,
        hold: |n, seeds| bully::hold(bereft(n, BullyInitiator::Lowest, seeds), seeds),
    },
    Election {
        label: "bully, any calls: N(2N − 1)/6 + N − 2",
        on_paper: |n| paper::bully(n, BullyInitiator::Random, Best::Down).messages,
        hold: |n, seeds| bully::hold(bereft(n, BullyInitiator::Random, seeds), seeds),
    },
    Election {
        label: "ring, all call: N H(N) + N",
        on_paper: |n| rings::chang_roberts(n, n, rings::Order::Random).messages,
        hold: |n, seeds| ring::hold(n, Initiators::All, Order::Random, seeds),
    },
    Election {
        label: "ring, one calls: (5N − 1)/2",
        on_paper: |n| rings::chang_roberts(n, 1, rings::Order::Random).messages,
        hold: |n, seeds| ring::hold(n, Initiators::Count(1), Order::Random, seeds),
    },
    Election {
        label: "modified ring, one calls: 2N",
        on_paper: |n| rings::modified_ring(n, 1, rings::Order::Random).messages,
        hold: |n, seeds| modified_ring::hold(n, Initiators::Count(1), seeds),
    },
];

/// Draws messages against N: the simulator beside the closed forms.
fn messages(budget: &Budget) -> Result<Vec<Series>> {
    let sizes: &[u32] =
        budget.choose(&[4, 8, 16, 32, 64, 128], &[4, 8, 16, 32, 64, 128, 256, 512, 1024]);
    // An upper bound of messages for one point. Otherwise the bully's points would take longer than
    // all others together.
    let most = budget.choose(400_000.0, 40_000_000.0);
    let mut series = Vec::new();
    for election in &ELECTIONS {
        let mut points = Vec::new();
        for &size in sizes {
            let cost = (election.on_paper)(size.into());
            let runs = (most / cost).clamp(20.0, budget.choose(200.0, 2_000.0)) as u64;
            let own = budget.reseeded(size.into()); // independent errors for each point
            let sample =
                own.sample(runs, |seeds| (election.hold)(size, seeds).messages() as f64)?;
            points.extend(Point::of(size.into(), &sample));
        }
        let on_paper = |&size: &u32| (f64::from(size), (election.on_paper)(size.into()));
        series.push(Series::new(election.label, sizes.iter().map(on_paper).collect(), points));
    }
    Ok(series)
}

/// Draws the bully's failures with time-outs that do not bound the round trip.
fn time_outs(budget: &Budget) -> Result<Vec<Series>> {
    let time_outs: &[f64] = budget.choose(
        &[1.0, 2.0, 4.0, 6.0, 9.0, 12.0],
        &[0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0],
    );
    let runs = budget.choose(200, 5_000);
    let mut series = Vec::new();
    for members in [20, 10, 5] {
        let mut points = Vec::new();
        for &time_out in time_outs {
            let own = budget.reseeded(time_out.to_bits());
            let share = own.share(runs, |seeds| goes_wrong(members, time_out, seeds))?;
            points.extend(Point::of(time_out, &share));
        }
        series.push(Series::through(format!("{members} members"), points));
    }
    Ok(series)
}
