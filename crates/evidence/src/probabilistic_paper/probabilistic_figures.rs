//! Figures 4 and 5, with the report's parameters and number of runs, and the cost of an election in
//! groups of up to a million.

use hustings_protocol::probabilistic::Recall;
use hustings_sim::statistics::Sample;
use hustings_theory::probabilistic::{Model, factors, success};

use super::super::FigureSpec;
use super::super::budget::{Budget, Result};
use super::super::figure::{Axis, Corner, Frame, Panel, Point, Series};
use super::probabilistic_fixture::{Plan, ProbabilisticResults, RULES, group, honest, with_loss};

/// The greatest K of Figure 4.
const GREATEST_K: u32 = 65;

const SUCCESS: Axis = Axis::linear("share of elections (weak: of members)");
const ROUNDS: Axis = Axis::linear("mean rounds");
const MESSAGES: Axis = Axis::linear("mean messages, before the fifth round");
const LOSS: Axis = Axis::linear("loss of unicasts and of multicasts");
const MEMBERS: Axis = Axis::linear("members N");
const VIEW: Axis = Axis::linear("view probability");

/// Panels of figure 5 against one quantity: its names in captions and in titles, its axis, and for
/// each panel its letter, what it shows, the place of the legend and the rest of the caption.
macro_rules! against {
    (
        $what:literal, $by:literal, $x:ident, $draw:ident,
        $($letter:literal $shown:literal $title:literal $y:ident $place:ident $rest:literal),+
    ) => {
        FigureSpec {
            panels: &[$(Panel {
                name: concat!("P-figure-5-", $letter),
                caption: concat!("Figure 5 (", $letter, "): ", $shown, " against ", $what, $rest),
                title: concat!($title, " by ", $by),
                frame: Frame { x: $x, y: $y, legend: Corner::$place },
            }),+],
            draw: $draw,
        }
    };
}

pub(super) const FIGURES: &[FigureSpec] = &[
    FigureSpec {
        panels: &[Panel {
            name: "P-figure-4",
            caption: "Figure 4: the first four factors as printed, and their product with the fifth, for view \
                      0.4, losses and crashes 0.01, N = 10,000. Beside them our corrected bound for any choice \
                      function, and how often simulated rounds succeed, with 95 % confidence bands.",
            title: "Success of a round: as printed, corrected, and simulated",
            frame: Frame {
                x: Axis::linear("K"),
                y: Axis::linear("probability"),
                legend: Corner::LowerRight,
            },
        }],
        draw: |budget| Ok(vec![figure_4(budget)?]),
    },
    FigureSpec {
        panels: &[Panel {
            name: "P-scale",
            caption: "One election by delay in groups of up to a million, losses 0.1, crashes \
                      0.001, view 0.5: the share of elections in which all agree on a live \
                      leader, the rounds and the messages. In larger groups more members miss \
                      every message of the first round, and so a second round is more frequent: \
                      from a hundred to a million members the number of messages doubles.",
            title: "One election in groups of up to a million, loss 0.1",
            frame: Frame {
                x: Axis::logarithmic("members N"),
                y: Axis::logarithmic("mean, of one election"),
                legend: Corner::MiddleRight,
            },
        }],
        draw: |budget| Ok(vec![scale(budget)?]),
    },
    against! {
        "loss", "loss, N = 2000", LOSS, against_loss,
        "a" "success" "Success" SUCCESS LowerLeft ", of unicasts and multicasts alike; N = 2000, crashes \
         0.001, view 0.5. In this and the following figures, points: means of 1000 simulated \
         elections with 95 % confidence bands, another round called by the hash rule of the \
         report's pseudocode, or after a random delay.",
        "b" "rounds" "Rounds" ROUNDS LowerRight ".",
        "c" "messages" "Messages" MESSAGES UpperLeft "."
    },
    against! {
        "the number of members", "group size", MEMBERS, against_members,
        "d" "success" "Success" SUCCESS LowerRight "; losses and crashes 0.001, view \
         0.5.",
        "e" "rounds" "Rounds" ROUNDS LowerRight ".",
        "f" "messages" "Messages" MESSAGES LowerRight "."
    },
    against! {
        "the view probability", "view probability, N = 5000", VIEW, against_view,
        "g" "success" "Success" SUCCESS LowerRight "; N = 5000, losses and crashes \
         0.001.",
        "h" "rounds" "Rounds" ROUNDS LowerRight ".",
        "i" "messages" "Messages" MESSAGES LowerRight "."
    },
];

/// Returns the report's number of runs.
fn count(budget: &Budget) -> u64 {
    budget.choose(50, 1_000)
}

fn figure_4(budget: &Budget) -> Result<Vec<Series>> {
    let model = Model::of_figure_4();
    let line = |formula: fn(&Model, f64) -> f64| {
        (1..=GREATEST_K).map(|k| (k.into(), formula(&model, k.into()))).collect()
    };
    let mut points = Vec::new();
    let ks: &[u32] = budget.choose(&[5, 24, 65], &[2, 5, 8, 12, 16, 24, 32, 40, 48, 56, 65]);
    for &k in ks {
        let held = honest(budget).held(count(budget), &model, Plan::round(k))?;
        points.extend(Point::of(k.into(), &held.strong));
    }
    Ok(vec![
        Series::line("E1", line(factors::e1)),
        Series::line("E2 given E1", line(factors::e2)),
        Series::line("E3 given E1, E2", line(factors::e3)),
        Series::line("E4 given E1 to E3", line(factors::e4)),
        Series::line("their product, and that of E5", line(factors::success_bound)),
        Series::new("corrected; points: simulated", line(success::success_corrected), points),
    ])
}

/// Draws success, rounds and messages of the same elections. Each group has a place on the x axis.
fn by_rule(budget: &Budget, places: &[(f64, Model)]) -> Result<Vec<Vec<Series>>> {
    let (mut success, mut rounds, mut messages) = (Vec::new(), Vec::new(), Vec::new());
    for ((rule, recall), look) in RULES.into_iter().zip([0, 2]) {
        let mut helds = Vec::new();
        for (x, model) in places {
            helds.push((*x, honest(budget).held(count(budget), model, Plan::whole(recall))?));
        }
        success.push(series(&format!("{rule}, strong"), &helds, |it| it.strong));
        success.push(series(&format!("{rule}, weak"), &helds, |it| it.weak));
        // Each rule has the same look in all three figures.
        rounds.push(series(rule, &helds, |it| it.rounds).looking_like(look));
        messages.push(series(rule, &helds, |it| it.messages).looking_like(look));
    }
    Ok(vec![success, rounds, messages])
}

/// Returns points and a line through them.
fn series(
    label: &str,
    helds: &[(f64, ProbabilisticResults)],
    of: fn(&ProbabilisticResults) -> Sample,
) -> Series {
    let points = helds.iter().filter_map(|(x, held)| Point::of(*x, &of(held)));
    Series::through(label, points.collect())
}

fn against_loss(budget: &Budget) -> Result<Vec<Vec<Series>>> {
    let losses: &[f64] = budget
        .choose(&[0.0, 0.25, 0.5], &[0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5]);
    let place = |&loss: &f64| (loss, with_loss(2_000, loss));
    by_rule(budget, &losses.iter().map(place).collect::<Vec<_>>())
}

fn against_members(budget: &Budget) -> Result<Vec<Vec<Series>>> {
    let sizes: &[u32] = budget.choose(
        &[1_000, 3_000, 6_000],
        &[1_000, 1_500, 2_000, 2_500, 3_000, 3_500, 4_000, 4_500, 5_000, 5_500, 6_000],
    );
    let place = |&members: &u32| (members.into(), group(members.into()));
    by_rule(budget, &sizes.iter().map(place).collect::<Vec<_>>())
}

fn against_view(budget: &Budget) -> Result<Vec<Vec<Series>>> {
    let views: &[f64] = budget.choose(&[0.2, 0.35, 0.5], &[0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5]);
    let place = |&view: &f64| (view, Model { view, ..group(5_000) });
    by_rule(budget, &views.iter().map(place).collect::<Vec<_>>())
}

fn scale(budget: &Budget) -> Result<Vec<Series>> {
    let sizes: &[u32] = budget.choose(
        &[100, 1_000, 10_000],
        &[100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000],
    );
    let mut helds = Vec::new();
    for &members in sizes {
        // Larger groups take longer and vary no more.
        let count = (20_000_000 / u64::from(members)).min(count(budget));
        let model = with_loss(members.into(), 0.1);
        let held = honest(budget).held(count, &model, Plan::whole(Recall::Delay))?;
        helds.push((f64::from(members), held));
    }
    Ok(vec![
        series("messages", &helds, |it| it.messages),
        series("rounds", &helds, |it| it.rounds),
        series("strong success", &helds, |it| it.strong),
    ])
}
