//! Figures 1, 2, 5, 6, 7, 10, 11, 14, 15 and 17: lines by theory, points by simulation.

use hustings_sim::statistics::Sample;
use hustings_theory::bolot::{self, Keys};
use hustings_theory::council::{Algorithm, Cost, Election, Estimate, Knowledge, Seats};

use super::super::FigureSpec;
use super::super::budget::{Budget, Result};
use super::super::figure::{Axis, Corner, Frame, Panel, Point, Series};
use super::council_fixture::{
    CouncilResults, EIGHT_TO_SIXTEEN, FIRST_ESTIMATE, FOUR_TO_EIGHT, ONE, UP_TO_EIGHT, at_best,
    estimated, expected, honest, messages_of, of_section_seven, rounds_of, sizes,
};

const MEAN_ROUNDS: &str = "mean rounds";
const MEAN_MESSAGES: &str = "mean messages";
const C: Axis = Axis::linear("c");
const HOSTS: Axis = Axis::logarithmic("hosts");
const TAKEN: Axis = Axis::logarithmic("what the centre takes n to be, over n");

pub(super) const FIGURES: &[FigureSpec] = &[
    FigureSpec {
        panels: &[Panel {
            name: "C-figure-1",
            caption: "Figure 1: how often the first round of the naive algorithm gives a council of [4..8], against c; n \
                      = 10,000. In this and the following figures, lines: theory; points: means of simulated elections \
                      with 95 % confidence bands.",
            title: "Naive: success of one round, n = 10,000",
            frame: Frame { x: C, y: Axis::linear("probability"), legend: Corner::UpperRight },
        }],
        draw: figure_1,
    },
    FigureSpec {
        panels: &[Panel {
            name: "C-figure-2",
            caption: "Figure 2: rounds of the naive algorithm for one seat, against c; n = 10,000.",
            title: "Naive: rounds for one seat, n = 10,000",
            frame: Frame { x: C, y: Axis::linear(MEAN_ROUNDS), legend: Corner::LowerRight },
        }],
        draw: figure_2,
    },
    FigureSpec {
        panels: &[Panel {
            name: "C-figure-5",
            caption: "Figure 5: rounds of the basic algorithm for [4..8], against c; n = 500.",
            title: "Basic: theory and simulation, n = 500",
            frame: Frame { x: C, y: Axis::linear(MEAN_ROUNDS), legend: Corner::LowerRight },
        }],
        draw: figure_5,
    },
    FigureSpec {
        panels: &[
            Panel {
                name: "C-figure-6-rounds",
                caption: "Figure 6: rounds of the basic algorithm against the number of hosts, each range with the c that is \
                          best for 100,000.",
                title: "Basic: rounds by the number of hosts",
                frame: Frame { x: HOSTS, y: Axis::roomy(MEAN_ROUNDS), legend: Corner::UpperRight },
            },
            Panel {
                name: "C-figure-6-messages",
                caption: "Figure 6: messages of the same. They grow like n in the end.",
                title: "Basic: messages by the number of hosts",
                frame: Frame {
                    x: HOSTS,
                    y: Axis::logarithmic(MEAN_MESSAGES),
                    legend: Corner::UpperLeft,
                },
            },
        ],
        draw: figure_6,
    },
    FigureSpec {
        panels: &[
            Panel {
                name: "C-figure-7-rounds",
                caption: "Figure 7: rounds of the basic algorithm against c; n = 500.",
                title: "Basic: rounds by c, n = 500",
                frame: Frame { x: C, y: Axis::linear(MEAN_ROUNDS), legend: Corner::LowerRight },
            },
            Panel {
                name: "C-figure-7-messages",
                caption: "Figure 7: messages of the same.",
                title: "Basic: messages by c, n = 500",
                frame: Frame { x: C, y: Axis::linear(MEAN_MESSAGES), legend: Corner::UpperRight },
            },
        ],
        draw: figure_7,
    },
    FigureSpec {
        panels: &[
            Panel {
                name: "C-figure-10-rounds",
                caption: "Figure 10: rounds of basic and Skip-Reset for [4..8], each with the best c.",
                title: "Skip-Reset and basic, [4..8]: rounds",
                frame: Frame { x: HOSTS, y: Axis::linear(MEAN_ROUNDS), legend: Corner::LowerRight },
            },
            Panel {
                name: "C-figure-10-messages",
                caption: "Figure 10: messages of the same.",
                title: "Skip-Reset and basic, [4..8]: messages",
                frame: Frame {
                    x: HOSTS,
                    y: Axis::logarithmic(MEAN_MESSAGES),
                    legend: Corner::UpperLeft,
                },
            },
        ],
        draw: figure_10,
    },
    FigureSpec {
        panels: &[
            Panel {
                name: "C-figure-11-rounds",
                caption: "Figure 11: rounds of Skip-Reset and choice for [4..8], c = 5.6.",
                title: "Skip-Reset and choice, [4..8], c = 5.6: rounds",
                frame: Frame { x: HOSTS, y: Axis::linear(MEAN_ROUNDS), legend: Corner::LowerRight },
            },
            Panel {
                name: "C-figure-11-messages",
                caption: "Figure 11: messages of the same.",
                title: "Skip-Reset and choice, [4..8], c = 5.6: messages",
                frame: Frame {
                    x: HOSTS,
                    y: Axis::linear(MEAN_MESSAGES),
                    legend: Corner::LowerRight,
                },
            },
        ],
        draw: figure_11,
    },
    FigureSpec {
        panels: &[
            Panel {
                name: "C-figure-14-rounds",
                caption: "Figure 14: rounds of Skip-Reset, history and choice for one seat, each with the best c.",
                title: "One seat: rounds",
                frame: Frame { x: HOSTS, y: Axis::linear(MEAN_ROUNDS), legend: Corner::LowerRight },
            },
            Panel {
                name: "C-figure-14-messages",
                caption: "Figure 14: messages of the same.",
                title: "One seat: messages",
                frame: Frame {
                    x: HOSTS,
                    y: Axis::linear(MEAN_MESSAGES),
                    legend: Corner::LowerRight,
                },
            },
        ],
        draw: figure_14,
    },
    FigureSpec {
        panels: &[
            Panel {
                name: "C-figure-15-rounds",
                caption: "Figure 15: rounds of Skip-Reset for [1..8], c = 5.6, n = 10,000, \
                          against the centre's estimate of n, over n: an estimate that stays, \
                          and one that is halved after each undershoot.",
                title: "A wrong number of hosts: rounds, n = 10,000",
                frame: Frame { x: TAKEN, y: Axis::linear(MEAN_ROUNDS), legend: Corner::LowerRight },
            },
            Panel {
                name: "C-figure-15-messages",
                caption: "Figure 15: messages of the same.",
                title: "A wrong number of hosts: messages, n = 10,000",
                frame: Frame {
                    x: TAKEN,
                    y: Axis::logarithmic(MEAN_MESSAGES),
                    legend: Corner::UpperRight,
                },
            },
        ],
        draw: figure_15,
    },
    FigureSpec {
        panels: &[
            Panel {
                name: "C-figure-17-rounds",
                caption: "Figure 17: rounds with unknown n, [1..8], c = 5.6, first estimate \
                          100,000; and of Bolot's masks.",
                title: "Nobody knows n, [1..8], c = 5.6: rounds",
                frame: Frame { x: HOSTS, y: Axis::linear(MEAN_ROUNDS), legend: Corner::UpperRight },
            },
            Panel {
                name: "C-figure-17-messages",
                caption: "Figure 17: messages of the same.",
                title: "Nobody knows n, [1..8], c = 5.6: messages",
                frame: Frame {
                    x: HOSTS,
                    y: Axis::linear(MEAN_MESSAGES),
                    legend: Corner::UpperLeft,
                },
            },
        ],
        draw: figure_17,
    },
];

/// The number of places of a line.
const PLACES: u32 = 61;

/// Returns the number of points that the budget allows.
fn few(budget: &Budget) -> u32 {
    budget.choose(5, 13)
}

/// The elections of a curve, each with its place on the x axis.
struct Curve {
    label: &'static str,
    look: usize,
    line: Vec<(f64, Election)>,
    points: Vec<(f64, Election)>,
}

impl Curve {
    /// Returns a curve whose places `of` computes from their number.
    fn new<P: Iterator<Item = (f64, Election)>>(
        (label, look): (&'static str, usize),
        budget: &Budget,
        places: impl Fn(u32) -> P,
    ) -> Self {
        let (line, points) = (places(PLACES).collect(), places(few(budget)).collect());
        Self { label, look, line, points }
    }

    /// Returns a curve over the number of hosts.
    fn by_size(look: (&'static str, usize), budget: &Budget, of: impl Fn(u64) -> Election) -> Self {
        Self::new(look, budget, |count| {
            let elections = sizes(count).map(|members| (members as f64, of(members)));
            elections.filter(|(_, election)| !election.is_decided_by_the_poll())
        })
    }

    /// Returns a curve over `c`, between two values.
    fn by_c(
        look: (&'static str, usize),
        budget: &Budget,
        (from, to): (f64, f64),
        of: &Election,
    ) -> Self {
        Self::new(look, budget, |count| {
            let step = (to - from) / f64::from(count - 1);
            let cs = (0..count).map(move |index| from + step * f64::from(index));
            cs.map(|c| (c, of.with_c(c)))
        })
    }

    fn hold(&self, budget: &Budget) -> Result<Vec<(f64, CouncilResults)>> {
        let held = |(x, election): &(f64, Election)| Ok((*x, honest(budget).held(election)?));
        self.points.iter().map(held).collect()
    }

    fn series(&self, held: &[(f64, CouncilResults)], (of, measured): Quantity) -> Series {
        let line = self.line.iter().map(|(x, election)| (*x, of(&expected(election))));
        let series = Series::new(self.label, line.collect(), points(held, measured));
        series.looking_like(self.look)
    }
}

fn points(held: &[(f64, CouncilResults)], measured: fn(&CouncilResults) -> Sample) -> Vec<Point> {
    held.iter().filter_map(|(x, held)| Point::of(*x, &measured(held))).collect()
}

/// A quantity of the figure: its value in theory and its measurement.
type Quantity = (fn(&Cost) -> f64, fn(&CouncilResults) -> Sample);

const ROUNDS: Quantity = (rounds_of, |held| held.rounds);
const MESSAGES: Quantity = (messages_of, |held| held.messages);

/// Draws one figure for each quantity, all of the same elections.
fn panels(budget: &Budget, curves: &[Curve], quantities: &[Quantity]) -> Result<Vec<Vec<Series>>> {
    let held: Vec<_> = curves.iter().map(|curve| curve.hold(budget)).collect::<Result<_>>()?;
    let panel = |&quantity: &Quantity| {
        curves.iter().zip(&held).map(|(curve, held)| curve.series(held, quantity)).collect()
    };
    Ok(quantities.iter().map(panel).collect())
}

fn figure_1(budget: &Budget) -> Result<Vec<Vec<Series>>> {
    let election = Election::new(FOUR_TO_EIGHT, 10_000, Algorithm::Naive, 1.0);
    let curve = Curve::by_c(("naive, [4..8]", 0), budget, (1.0, 16.0), &election);
    panels(budget, &[curve], &[(|cost| cost.success_first_round, |held| held.first_round)])
}

fn figure_2(budget: &Budget) -> Result<Vec<Vec<Series>>> {
    let election = Election::new(ONE, 10_000, Algorithm::Naive, 1.0);
    let curve = Curve::by_c(("naive, [1..1]", 0), budget, (0.2, 4.0), &election);
    panels(budget, &[curve], &[ROUNDS])
}

fn figure_5(budget: &Budget) -> Result<Vec<Vec<Series>>> {
    let election = Election::new(FOUR_TO_EIGHT, 500, Algorithm::Basic, 1.0);
    let curve = Curve::by_c(("basic, [4..8]", 2), budget, (3.0, 8.0), &election);
    panels(budget, &[curve], &[ROUNDS])
}

const RANGES: [((&str, usize), Seats); 4] = [
    (("[1..1]", 0), ONE),
    (("[1..8]", 1), UP_TO_EIGHT),
    (("[4..8]", 2), FOUR_TO_EIGHT),
    (("[8..16]", 3), EIGHT_TO_SIXTEEN),
];

fn figure_6(budget: &Budget) -> Result<Vec<Vec<Series>>> {
    let curves = RANGES.map(|(look, seats)| {
        let c = at_best(seats, 100_000, Algorithm::Basic).c;
        Curve::by_size(look, budget, |members| Election::new(seats, members, Algorithm::Basic, c))
    });
    panels(budget, &curves, &[ROUNDS, MESSAGES])
}

fn figure_7(budget: &Budget) -> Result<Vec<Vec<Series>>> {
    let kinds =
        [(("[1..8]", 1), UP_TO_EIGHT, (1.0, 8.5)), (("[4..8]", 2), FOUR_TO_EIGHT, (3.0, 8.5))];
    let curves = kinds.map(|(look, seats, range)| {
        Curve::by_c(look, budget, range, &Election::new(seats, 500, Algorithm::Basic, 1.0))
    });
    panels(budget, &curves, &[ROUNDS, MESSAGES])
}

fn figure_10(budget: &Budget) -> Result<Vec<Vec<Series>>> {
    let kinds = [(("basic", 2), Algorithm::Basic), (("Skip-Reset", 0), Algorithm::SkipReset)];
    let curves = kinds.map(|(look, algorithm)| {
        Curve::by_size(look, budget, |members| at_best(FOUR_TO_EIGHT, members, algorithm))
    });
    panels(budget, &curves, &[ROUNDS, MESSAGES])
}

fn figure_11(budget: &Budget) -> Result<Vec<Vec<Series>>> {
    let kinds = [(("Skip-Reset", 0), Algorithm::SkipReset), (("choice", 4), Algorithm::CHOICE)];
    let curves = kinds.map(|(look, algorithm)| {
        let election = |members| Election::new(FOUR_TO_EIGHT, members, algorithm, 5.6);
        Curve::by_size(look, budget, election)
    });
    panels(budget, &curves, &[ROUNDS, MESSAGES])
}

fn figure_14(budget: &Budget) -> Result<Vec<Vec<Series>>> {
    let kinds = [
        (("Skip-Reset", 0), Algorithm::SkipReset),
        (("history", 3), Algorithm::History),
        (("choice", 4), Algorithm::CHOICE),
    ];
    let curves = kinds.map(|(look, algorithm)| {
        Curve::by_size(look, budget, |members| at_best(ONE, members, algorithm))
    });
    panels(budget, &curves, &[ROUNDS, MESSAGES])
}

fn figure_15(budget: &Budget) -> Result<Vec<Vec<Series>>> {
    const MEMBERS: u64 = 10_000;
    let curve = |look, of: fn(f64) -> Knowledge| {
        Curve::new(look, budget, |count| {
            (0..count).map(move |index| {
                let factor = 10f64.powf(-1.0 + 2.0 * f64::from(index) / f64::from(count - 1));
                let knowledge = of(factor * MEMBERS as f64);
                (factor, Election { knowledge, ..of_section_seven(MEMBERS) })
            })
        })
    };
    let curves = [
        curve(("stays", 5), Knowledge::Taken),
        curve(("halved after an undershoot", 2), |first| {
            Knowledge::Estimated(Estimate::conservative(first))
        }),
    ];
    panels(budget, &curves, &[ROUNDS, MESSAGES])
}

fn figure_17(budget: &Budget) -> Result<Vec<Vec<Series>>> {
    let kinds = [
        (("conservative", 2), Estimate::conservative(FIRST_ESTIMATE)),
        (("aggressive", 0), Estimate::aggressive(FIRST_ESTIMATE)),
    ];
    let curves = kinds.map(|(look, estimate)| {
        Curve::by_size(look, budget, |members| estimated(of_section_seven(members), estimate))
    });
    let mut panels = panels(budget, &curves, &[ROUNDS, MESSAGES])?;
    let polled = |members| Ok((members as f64, honest(budget).polled(members)?));
    let held = sizes(few(budget)).map(polled).collect::<Result<Vec<_>>>()?;
    let masks = |of: fn(&bolot::PollCost) -> f64, measured| {
        let on_paper = |members| (members as f64, of(&bolot::cost(members, Keys::Nested)));
        let line = sizes(PLACES).map(on_paper).collect();
        Series::new("Bolot's masks", line, points(&held, measured)).looking_like(5)
    };
    panels[0].push(masks(|cost| cost.rounds, ROUNDS.1));
    panels[1].push(masks(|cost| cost.messages, MESSAGES.1));
    Ok(panels)
}
