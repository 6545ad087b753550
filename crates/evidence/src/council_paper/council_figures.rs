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

const MEAN_ROUNDS: Axis = Axis::linear("mean rounds");
const MEAN_MESSAGES: Axis = Axis::linear("mean messages");
const MANY_MESSAGES: Axis = Axis::logarithmic("mean messages");
const C: Axis = Axis::linear("c");
const HOSTS: Axis = Axis::logarithmic("hosts");
const TAKEN: Axis = Axis::logarithmic("what the centre takes n to be, over n");

/// A figure with a panel of rounds and one of messages: its number, the titles without and after
/// the quantity, what the caption of the messages adds, what follows `rounds` in the other caption,
/// the axes and the places of the legends.
macro_rules! rounds_and_messages {
    (
        $number:literal, $title:literal, $after:literal, $more:literal, $caption:literal,
        $x:ident, [$rounds:expr, $place:ident], [$messages:expr, $other:ident], $draw:ident
    ) => {
        FigureSpec {
            panels: &[
                Panel {
                    name: concat!("C-figure-", $number, "-rounds"),
                    caption: concat!("Figure ", $number, ": rounds ", $caption),
                    title: concat!($title, ": rounds", $after),
                    frame: Frame { x: $x, y: $rounds, legend: Corner::$place },
                },
                Panel {
                    name: concat!("C-figure-", $number, "-messages"),
                    caption: concat!("Figure ", $number, ": messages of the same.", $more),
                    title: concat!($title, ": messages", $after),
                    frame: Frame { x: $x, y: $messages, legend: Corner::$other },
                },
            ],
            draw: $draw,
        }
    };
}

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
            frame: Frame { x: C, y: MEAN_ROUNDS, legend: Corner::LowerRight },
        }],
        draw: figure_2,
    },
    FigureSpec {
        panels: &[Panel {
            name: "C-figure-5",
            caption: "Figure 5: rounds of the basic algorithm for [4..8], against c; n = 500.",
            title: "Basic: theory and simulation, n = 500",
            frame: Frame { x: C, y: MEAN_ROUNDS, legend: Corner::LowerRight },
        }],
        draw: figure_5,
    },
    rounds_and_messages! {
        6, "Basic", " by the number of hosts", " They grow like n in the end.",
        "of the basic algorithm against the number of hosts, each range with the c that is \
         best for 100,000.",
        HOSTS, [Axis::roomy("mean rounds"), UpperRight], [MANY_MESSAGES, UpperLeft], figure_6
    },
    rounds_and_messages! {
        7, "Basic", " by c, n = 500", "",
        "of the basic algorithm against c; n = 500.",
        C, [MEAN_ROUNDS, LowerRight], [MEAN_MESSAGES, UpperRight], figure_7
    },
    rounds_and_messages! {
        10, "Skip-Reset and basic, [4..8]", "", "",
        "of basic and Skip-Reset for [4..8], each with the best c.",
        HOSTS, [MEAN_ROUNDS, LowerRight], [MANY_MESSAGES, UpperLeft], figure_10
    },
    rounds_and_messages! {
        11, "Skip-Reset and choice, [4..8], c = 5.6", "", "",
        "of Skip-Reset and choice for [4..8], c = 5.6.",
        HOSTS, [MEAN_ROUNDS, LowerRight], [MEAN_MESSAGES, LowerRight], figure_11
    },
    rounds_and_messages! {
        14, "One seat", "", "",
        "of Skip-Reset, history and choice for one seat, each with the best c.",
        HOSTS, [MEAN_ROUNDS, LowerRight], [MEAN_MESSAGES, LowerRight], figure_14
    },
    rounds_and_messages! {
        15, "A wrong number of hosts", ", n = 10,000", "",
        "of Skip-Reset for [1..8], c = 5.6, n = 10,000, \
         against the centre's estimate of n, over n: an estimate that stays, \
         and one that is halved after each undershoot.",
        TAKEN, [MEAN_ROUNDS, LowerRight], [MANY_MESSAGES, UpperRight], figure_15
    },
    rounds_and_messages! {
        17, "Nobody knows n, [1..8], c = 5.6", "", "",
        "with unknown n, [1..8], c = 5.6, first estimate \
         100,000; and of Bolot's masks.",
        HOSTS, [MEAN_ROUNDS, UpperRight], [MEAN_MESSAGES, UpperLeft], figure_17
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
