//! Figures 1, 2, 5, 6, 7, 10, 11, 14, 15 and 17: lines by theory, points by simulation.

mod curve;

use hustings_sim::statistics::Sample;
use hustings_theory::bolot::{self, Keys};
use hustings_theory::council::{Algorithm, Election, Estimate, Knowledge, Seats};

use super::super::budget::{Budget, ExperimentError};
use super::super::figure::{Axis, Corner, Figure, Scale, Series};
use super::super::{FigureGroup, FigureSpec};
use super::council_fixture::{
    CouncilFixture, CouncilResults, EIGHT_TO_SIXTEEN, FIRST_ESTIMATE, FOUR_TO_EIGHT, ONE,
    UP_TO_EIGHT, at_best, estimated, of_section_seven, rounds_of, sizes,
};
use curve::{Curve, alone, axis, both, by_c, by_size, few, panel, points};

pub(super) const FIGURES: &[FigureSpec] = &[
    FigureSpec {
        name: "C-figure-1",
        caption: "Figure 1: how often the first round of the naive algorithm gives a council of [4..8], against c; n = 10,000. In \
                  this and the following figures, lines: theory; points: means of simulated elections with 95 % confidence \
                  bands.",
        draw: figure_1,
    },
    FigureSpec {
        name: "C-figure-2",
        caption: "Figure 2: rounds of the naive algorithm for one seat, against c; n = 10,000.",
        draw: figure_2,
    },
    FigureSpec {
        name: "C-figure-5",
        caption: "Figure 5: rounds of the basic algorithm for [4..8], against c; n = 500.",
        draw: figure_5,
    },
];

pub(super) const FIGURE_GROUPS: &[FigureGroup] = &[
    FigureGroup {
        panels: &[
            (
                "C-figure-6-rounds",
                "Figure 6: rounds of the basic algorithm against the number of hosts, each range with the c that is best for \
                 100,000.",
            ),
            ("C-figure-6-messages", "Figure 6: messages of the same. They grow like n in the end."),
        ],
        draw: figure_6,
    },
    FigureGroup {
        panels: &[
            ("C-figure-7-rounds", "Figure 7: rounds of the basic algorithm against c; n = 500."),
            ("C-figure-7-messages", "Figure 7: messages of the same."),
        ],
        draw: figure_7,
    },
    FigureGroup {
        panels: &[
            (
                "C-figure-10-rounds",
                "Figure 10: rounds of basic and Skip-Reset for [4..8], each with the best c.",
            ),
            ("C-figure-10-messages", "Figure 10: messages of the same."),
        ],
        draw: figure_10,
    },
    FigureGroup {
        panels: &[
            (
                "C-figure-11-rounds",
                "Figure 11: rounds of Skip-Reset and choice for [4..8], c = 5.6.",
            ),
            ("C-figure-11-messages", "Figure 11: messages of the same."),
        ],
        draw: figure_11,
    },
    FigureGroup {
        panels: &[
            (
                "C-figure-14-rounds",
                "Figure 14: rounds of Skip-Reset, history and choice for one seat, each with the best c.",
            ),
            ("C-figure-14-messages", "Figure 14: messages of the same."),
        ],
        draw: figure_14,
    },
    FigureGroup {
        panels: &[
            (
                "C-figure-15-rounds",
                "Figure 15: rounds of Skip-Reset for [1..8], c = 5.6, n = 10,000, against what the centre takes n to be, over \
                 n: a number that stays, and one that is halved after each undershoot.",
            ),
            ("C-figure-15-messages", "Figure 15: messages of the same."),
        ],
        draw: figure_15,
    },
    FigureGroup {
        panels: &[
            (
                "C-figure-17-rounds",
                "Figure 17: rounds where nobody knows n, [1..8], c = 5.6, first estimate 100,000; and of Bolot's masks.",
            ),
            ("C-figure-17-messages", "Figure 17: messages of the same."),
        ],
        draw: figure_17,
    },
];

const MEAN_ROUNDS: &str = "mean rounds";
const MEAN_MESSAGES: &str = "mean messages";

fn by_members() -> Axis {
    axis("hosts", Scale::Logarithmic)
}

fn figure_1(budget: &Budget) -> Result<Figure, ExperimentError> {
    let election = Election::new(FOUR_TO_EIGHT, 10_000, Algorithm::Naive, 1.0);
    let curve = by_c("naive, [4..8]", 0, budget, (1.0, 16.0), &election);
    let panel = panel(
        "Naive: success of one round, n = 10,000",
        ("probability", Scale::Linear),
        Corner::UpperRight,
    );
    alone(budget, &curve, panel, |cost| cost.success_first_round, |held| held.first_round)
}

fn figure_2(budget: &Budget) -> Result<Figure, ExperimentError> {
    let election = Election::new(ONE, 10_000, Algorithm::Naive, 1.0);
    let curve = by_c("naive, [1..1]", 0, budget, (0.2, 4.0), &election);
    let panel = panel(
        "Naive: rounds for one seat, n = 10,000",
        (MEAN_ROUNDS, Scale::Linear),
        Corner::LowerRight,
    );
    alone(budget, &curve, panel, rounds_of, |held| held.rounds)
}

fn figure_5(budget: &Budget) -> Result<Figure, ExperimentError> {
    let election = Election::new(FOUR_TO_EIGHT, 500, Algorithm::Basic, 1.0);
    let curve = by_c("basic, [4..8]", 2, budget, (3.0, 8.0), &election);
    let panel = panel(
        "Basic: theory and simulation, n = 500",
        (MEAN_ROUNDS, Scale::Linear),
        Corner::LowerRight,
    );
    alone(budget, &curve, panel, rounds_of, |held| held.rounds)
}

const RANGES: [(&str, Seats); 4] = [
    ("[1..1]", ONE),
    ("[1..8]", UP_TO_EIGHT),
    ("[4..8]", FOUR_TO_EIGHT),
    ("[8..16]", EIGHT_TO_SIXTEEN),
];

fn figure_6(budget: &Budget) -> Result<Vec<Figure>, ExperimentError> {
    let curves = RANGES.iter().enumerate().map(|(look, (label, seats))| {
        let c = at_best(*seats, 100_000, Algorithm::Basic).c;
        by_size(label, look, budget, |members| Election::new(*seats, members, Algorithm::Basic, c))
    });
    let panels = [
        panel(
            "Basic: rounds by the number of hosts",
            (MEAN_ROUNDS, Scale::Roomy),
            Corner::UpperRight,
        ),
        panel(
            "Basic: messages by the number of hosts",
            (MEAN_MESSAGES, Scale::Logarithmic),
            Corner::UpperLeft,
        ),
    ];
    both(budget, by_members, &curves.collect::<Vec<_>>(), panels)
}

fn figure_7(budget: &Budget) -> Result<Vec<Figure>, ExperimentError> {
    let curves = [("[1..8]", 1, UP_TO_EIGHT, (1.0, 8.5)), ("[4..8]", 2, FOUR_TO_EIGHT, (3.0, 8.5))]
        .map(|(label, look, seats, range)| {
            let election = Election::new(seats, 500, Algorithm::Basic, 1.0);
            by_c(label, look, budget, range, &election)
        });
    let panels = [
        panel("Basic: rounds by c, n = 500", (MEAN_ROUNDS, Scale::Linear), Corner::LowerRight),
        panel("Basic: messages by c, n = 500", (MEAN_MESSAGES, Scale::Linear), Corner::UpperRight),
    ];
    both(budget, || axis("c", Scale::Linear), &curves, panels)
}

fn figure_10(budget: &Budget) -> Result<Vec<Figure>, ExperimentError> {
    let curves = [("basic", 2, Algorithm::Basic), ("Skip-Reset", 0, Algorithm::SkipReset)].map(
        |(label, look, algorithm)| {
            by_size(label, look, budget, |members| at_best(FOUR_TO_EIGHT, members, algorithm))
        },
    );
    let panels = [
        panel(
            "Skip-Reset and basic, [4..8]: rounds",
            (MEAN_ROUNDS, Scale::Linear),
            Corner::LowerRight,
        ),
        panel(
            "Skip-Reset and basic, [4..8]: messages",
            (MEAN_MESSAGES, Scale::Logarithmic),
            Corner::UpperLeft,
        ),
    ];
    both(budget, by_members, &curves, panels)
}

fn figure_11(budget: &Budget) -> Result<Vec<Figure>, ExperimentError> {
    let curves = [("Skip-Reset", 0, Algorithm::SkipReset), ("choice", 4, Algorithm::CHOICE)].map(
        |(label, look, algorithm)| {
            by_size(label, look, budget, |members| {
                Election::new(FOUR_TO_EIGHT, members, algorithm, 5.6)
            })
        },
    );
    let panels = [
        panel(
            "Skip-Reset and choice, [4..8], c = 5.6: rounds",
            (MEAN_ROUNDS, Scale::Linear),
            Corner::LowerRight,
        ),
        panel(
            "Skip-Reset and choice, [4..8], c = 5.6: messages",
            (MEAN_MESSAGES, Scale::Linear),
            Corner::LowerRight,
        ),
    ];
    both(budget, by_members, &curves, panels)
}

fn figure_14(budget: &Budget) -> Result<Vec<Figure>, ExperimentError> {
    let curves = [
        ("Skip-Reset", 0, Algorithm::SkipReset),
        ("history", 3, Algorithm::History),
        ("choice", 4, Algorithm::CHOICE),
    ]
    .map(|(label, look, algorithm)| {
        by_size(label, look, budget, |members| at_best(ONE, members, algorithm))
    });
    let panels = [
        panel("One seat: rounds", (MEAN_ROUNDS, Scale::Linear), Corner::LowerRight),
        panel("One seat: messages", (MEAN_MESSAGES, Scale::Linear), Corner::LowerRight),
    ];
    both(budget, by_members, &curves, panels)
}

/// Maps a number of hosts to the knowledge of the centre.
type Taking = fn(f64) -> Knowledge;

fn figure_15(budget: &Budget) -> Result<Vec<Figure>, ExperimentError> {
    const MEMBERS: u64 = 10_000;
    let places = |count: u32, of: Taking| {
        let factors = (0..count)
            .map(move |index| 10f64.powf(-1.0 + 2.0 * f64::from(index) / f64::from(count - 1)));
        let election = of_section_seven(MEMBERS);
        factors.map(move |factor| {
            let knowledge = of(factor * MEMBERS as f64);
            (factor, Election { knowledge, ..election })
        })
    };
    let kinds: [(&str, usize, Taking); 2] = [
        ("stays", 5, Knowledge::Taken),
        ("halved after an undershoot", 2, |first| {
            Knowledge::Estimated(Estimate::conservative(first))
        }),
    ];
    let curves = kinds.map(|(label, look, of)| Curve {
        label: label.to_owned(),
        look,
        line: places(61, of).collect(),
        points: places(few(budget), of).collect(),
    });
    let panels = [
        panel(
            "A wrong number of hosts: rounds, n = 10,000",
            (MEAN_ROUNDS, Scale::Linear),
            Corner::LowerRight,
        ),
        panel(
            "A wrong number of hosts: messages, n = 10,000",
            (MEAN_MESSAGES, Scale::Logarithmic),
            Corner::UpperRight,
        ),
    ];
    let x = || axis("what the centre takes n to be, over n", Scale::Logarithmic);
    both(budget, x, &curves, panels)
}

fn figure_17(budget: &Budget) -> Result<Vec<Figure>, ExperimentError> {
    let curves = [
        ("conservative", 2, Estimate::conservative(FIRST_ESTIMATE)),
        ("aggressive", 0, Estimate::aggressive(FIRST_ESTIMATE)),
    ]
    .map(|(label, look, estimate)| {
        by_size(label, look, budget, |members| estimated(of_section_seven(members), estimate))
    });
    let panels = [
        panel(
            "Nobody knows n, [1..8], c = 5.6: rounds",
            (MEAN_ROUNDS, Scale::Linear),
            Corner::UpperRight,
        ),
        panel(
            "Nobody knows n, [1..8], c = 5.6: messages",
            (MEAN_MESSAGES, Scale::Linear),
            Corner::UpperLeft,
        ),
    ];
    let mut figures = both(budget, by_members, &curves, panels)?;
    let fixture = CouncilFixture::honest(budget);
    let held: Vec<_> = sizes(few(budget))
        .map(|members| Ok((members as f64, fixture.polled(members)?)))
        .collect::<Result<_, ExperimentError>>()?;
    let masks = |of: fn(&bolot::Cost) -> f64, measured: fn(&CouncilResults) -> Sample| Series {
        label: "Bolot's masks".to_owned(),
        looks_like: Some(5),
        line: sizes(61)
            .map(|members| (members as f64, of(&bolot::cost(members, Keys::Nested))))
            .collect(),
        points: points(&held, measured),
    };
    let series = [
        masks(|cost| cost.rounds, |held| held.rounds),
        masks(|cost| cost.messages, |held| held.messages),
    ];
    for (figure, series) in figures.iter_mut().zip(series) {
        figure.series.push(series);
    }
    Ok(figures)
}
