//! Figures 4 and 5, with the report's parameters and number of runs, and the cost of an election in
//! groups of up to a million.

use hustings_protocol::probabilistic::Recall;
use hustings_sim::statistics::Sample;
use hustings_theory::probabilistic::{Model, factors, success};

use super::super::budget::{Budget, ExperimentError};
use super::super::figure::{Axis, Corner, Figure, Point, Scale, Series};
use super::super::{FigureGroup, FigureSpec};
use super::probabilistic_fixture::{
    Plan, ProbabilisticFixture, ProbabilisticResults, RULES, group, with_loss,
};

/// The greatest K of Figure 4.
const GREATEST_K: u32 = 65;

pub(super) const FIGURES: &[FigureSpec] = &[
    FigureSpec {
        name: "P-figure-4",
        caption: "Figure 4: the first four factors as printed, and their product with the fifth, for view 0.4, losses and \
                  crashes 0.01, N = 10,000. Beside them our corrected bound for any choice function, and how often \
                  simulated rounds succeed, with 95 % confidence bands.",
        draw: figure_4,
    },
    FigureSpec {
        name: "P-scale",
        caption: "One election by delay in groups of up to a million, losses 0.1, crashes 0.001, view 0.5: how often all \
                  agree on a leader that is up, how many rounds it takes, and how many messages. In larger groups more \
                  members miss every word of the first round, and so there is more often a second: from a hundred to a \
                  million members the number of messages doubles.",
        draw: scale,
    },
];

pub(super) const FIGURE_GROUPS: &[FigureGroup] = &[
    FigureGroup {
        panels: &[
            (
                "P-figure-5-a",
                "Figure 5 (a): success against loss, of unicasts and multicasts alike; N = 2000, crashes 0.001, view 0.5. In \
                 this and the following figures, points: means of 1000 simulated elections with 95 % confidence bands, \
                 another round called by the hash rule of the report's pseudocode, or after a random delay.",
            ),
            ("P-figure-5-b", "Figure 5 (b): rounds against loss."),
            ("P-figure-5-c", "Figure 5 (c): messages against loss."),
        ],
        draw: against_loss,
    },
    FigureGroup {
        panels: &[
            (
                "P-figure-5-d",
                "Figure 5 (d): success against the number of members; losses and crashes 0.001, view 0.5.",
            ),
            ("P-figure-5-e", "Figure 5 (e): rounds against the number of members."),
            ("P-figure-5-f", "Figure 5 (f): messages against the number of members."),
        ],
        draw: against_members,
    },
    FigureGroup {
        panels: &[
            (
                "P-figure-5-g",
                "Figure 5 (g): success against the view probability; N = 5000, losses and crashes 0.001.",
            ),
            ("P-figure-5-h", "Figure 5 (h): rounds against the view probability."),
            ("P-figure-5-i", "Figure 5 (i): messages against the view probability."),
        ],
        draw: against_view,
    },
];

/// Returns the report's number of runs.
fn count(budget: &Budget) -> u64 {
    budget.choose(50, 1_000)
}

fn linear(label: &'static str) -> Axis {
    Axis { label, scale: Scale::Linear }
}

fn figure_4(budget: &Budget) -> Result<Figure, ExperimentError> {
    let model = Model::of_figure_4();
    let line = |label: &str, formula: fn(&Model, f64) -> f64| Series {
        label: label.to_owned(),
        looks_like: None,
        line: (1..=GREATEST_K).map(|k| (k.into(), formula(&model, k.into()))).collect(),
        points: Vec::new(),
    };
    let mut points = Vec::new();
    let ks: &[u32] = budget.choose(&[5, 24, 65], &[2, 5, 8, 12, 16, 24, 32, 40, 48, 56, 65]);
    for &k in ks {
        let held =
            ProbabilisticFixture::honest(budget).held(count(budget), &model, Plan::round(k))?;
        points.extend(Point::of(k.into(), &held.strong));
    }
    Ok(Figure {
        title: "Success of a round: as printed, corrected, and simulated",
        x: linear("K"),
        y: linear("probability"),
        legend: Corner::LowerRight,
        series: vec![
            line("E1", factors::e1),
            line("E2 given E1", factors::e2),
            line("E3 given E1, E2", factors::e3),
            line("E4 given E1 to E3", factors::e4),
            line("their product, and that of E5", factors::success_bound),
            Series { points, ..line("corrected; points: simulated", success::success_corrected) },
        ],
    })
}

/// A row of Figure 5; its columns show three measures.
struct Row {
    x: &'static str,
    titles: [&'static str; 3],
    legends: [Corner; 3],
    /// The groups, each with its place on the x axis.
    places: Vec<(f64, Model)>,
}

impl Row {
    /// Draws success, rounds and messages of the same elections.
    fn draw(self, budget: &Budget) -> Result<Vec<Figure>, ExperimentError> {
        let fixture = ProbabilisticFixture::honest(budget);
        let (mut success, mut rounds, mut messages) = (Vec::new(), Vec::new(), Vec::new());
        for ((rule, recall), look) in RULES.into_iter().zip([0, 2]) {
            let mut helds = Vec::new();
            for (x, model) in &self.places {
                let held = fixture.held(count(budget), model, Plan::whole(recall))?;
                helds.push((*x, held));
            }
            // Each rule has the same look in all three figures.
            let alike = |series: Series| Series { looks_like: Some(look), ..series };
            success.push(series(format!("{rule}, strong"), &helds, |it| it.strong));
            success.push(series(format!("{rule}, weak"), &helds, |it| it.weak));
            rounds.push(alike(series(rule.to_owned(), &helds, |it| it.rounds)));
            messages.push(alike(series(rule.to_owned(), &helds, |it| it.messages)));
        }
        let labels = [
            "share of elections (weak: of members)",
            "mean rounds",
            "mean messages, before the fifth round",
        ];
        let columns = [success, rounds, messages].into_iter().zip(labels);
        let panels = self.titles.into_iter().zip(self.legends).zip(columns);
        Ok(panels
            .map(|((title, legend), (series, label))| Figure {
                title,
                x: linear(self.x),
                y: linear(label),
                legend,
                series,
            })
            .collect())
    }
}

/// Returns points and a line through them.
fn series(
    label: String,
    helds: &[(f64, ProbabilisticResults)],
    of: fn(&ProbabilisticResults) -> Sample,
) -> Series {
    let points: Vec<Point> =
        helds.iter().filter_map(|(x, held)| Point::of(*x, &of(held))).collect();
    Series {
        label,
        looks_like: None,
        line: points.iter().map(|point| (point.x, point.mean)).collect(),
        points,
    }
}

fn against_loss(budget: &Budget) -> Result<Vec<Figure>, ExperimentError> {
    let losses: &[f64] = budget
        .choose(&[0.0, 0.25, 0.5], &[0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5]);
    let row = Row {
        x: "loss of unicasts and of multicasts",
        titles: [
            "Success by loss, N = 2000",
            "Rounds by loss, N = 2000",
            "Messages by loss, N = 2000",
        ],
        legends: [Corner::LowerLeft, Corner::LowerRight, Corner::UpperLeft],
        places: losses.iter().map(|&loss| (loss, with_loss(2_000, loss))).collect(),
    };
    row.draw(budget)
}

fn against_members(budget: &Budget) -> Result<Vec<Figure>, ExperimentError> {
    let sizes: &[u32] = budget.choose(
        &[1_000, 3_000, 6_000],
        &[1_000, 1_500, 2_000, 2_500, 3_000, 3_500, 4_000, 4_500, 5_000, 5_500, 6_000],
    );
    let row = Row {
        x: "members N",
        titles: ["Success by group size", "Rounds by group size", "Messages by group size"],
        legends: [Corner::LowerRight; 3],
        places: sizes.iter().map(|&members| (members.into(), group(members.into()))).collect(),
    };
    row.draw(budget)
}

fn against_view(budget: &Budget) -> Result<Vec<Figure>, ExperimentError> {
    let views: &[f64] = budget.choose(&[0.2, 0.35, 0.5], &[0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5]);
    let model = |&view: &f64| {
        let model = Model { view, ..group(5_000) };
        (view, model)
    };
    let row = Row {
        x: "view probability",
        titles: [
            "Success by view probability, N = 5000",
            "Rounds by view probability, N = 5000",
            "Messages by view probability, N = 5000",
        ],
        legends: [Corner::LowerRight; 3],
        places: views.iter().map(model).collect(),
    };
    row.draw(budget)
}

fn scale(budget: &Budget) -> Result<Figure, ExperimentError> {
    let sizes: &[u32] = budget.choose(
        &[100, 1_000, 10_000],
        &[100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000],
    );
    let fixture = ProbabilisticFixture::honest(budget);
    let mut helds = Vec::new();
    for &members in sizes {
        // Larger groups take longer and vary no more.
        let count = (20_000_000 / u64::from(members)).min(count(budget));
        let model = with_loss(members.into(), 0.1);
        let held = fixture.held(count, &model, Plan::whole(Recall::Delay))?;
        helds.push((f64::from(members), held));
    }
    let logarithmic = |label| Axis { label, scale: Scale::Logarithmic };
    Ok(Figure {
        title: "One election in groups of up to a million, loss 0.1",
        x: logarithmic("members N"),
        y: logarithmic("mean, of one election"),
        legend: Corner::MiddleRight,
        series: vec![
            series("messages".to_owned(), &helds, |it| it.messages),
            series("rounds".to_owned(), &helds, |it| it.rounds),
            series("strong success".to_owned(), &helds, |it| it.strong),
        ],
    })
}
