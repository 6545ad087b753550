//! P1, P2, P3 and P12: the five factors of section 4.

use hustings_protocol::probabilistic::ReplyRule;
use hustings_theory::probabilistic::factors::{
    self, e1_exact, log10_of_group_limit, log10_of_group_limit_printed, success_bound,
};
use hustings_theory::probabilistic::relay_agreement::{agreement, connected, connected_printed};
use hustings_theory::probabilistic::{Model, success};

use super::super::budget::{Result, share_of};
use super::super::evidence::{Evidence, average, averages, estimated, list, number, numbers};
use super::probabilistic_fixture::{Plan, ProbabilisticFixture, each};

/// The greatest K of Figure 4.
const GREATEST_K: u32 = 65;
/// The K at which the first two factors have converged, by the report.
const CONVERGED: f64 = 40.0;

pub(super) fn p1(fixture: &ProbabilisticFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let model = Model::of_figure_4();
    let count = fixture.choose(100, 500);
    let (mut peak, mut at) = (0.0, 0);
    for k in 1..=GREATEST_K {
        let bound = success_bound(&model, k.into());
        if bound > peak {
            (peak, at) = (bound, k);
        }
    }
    evidence
        .stated(
            "Figure 4: the greatest product of the five, for K up to 65, 0.6 to the nearest tenth \
             as printed",
        )
        .between(0.55, 0.65, peak);
    for (name, factor) in [("E1", factors::e1 as fn(&Model, f64) -> f64), ("E2", factors::e2)] {
        evidence.stated(format!("the same: the bound of {name} is near 1 at K = 40")).between(
            0.99,
            1.0,
            factor(&model, CONVERGED),
        );
    }
    let mut measured = Vec::new();
    for k in [7, 24, 40, GREATEST_K] {
        let strong = fixture.held(count, &model, Plan::round(k))?.strong;
        evidence
            .stated(format!(
                "the same, K = {k}: share of simulated rounds that succeed, at least the product"
            ))
            .mean_between(success_bound(&model, k.into()), 1.0, &strong)
            .ours("the same, at least the value if all prefer the best member that they know")
            .mean_between(success::success_of_best_known(&model, k.into()), 1.0, &strong);
        measured.push(average(&strong));
    }
    // The factors are approximations, not bounds.
    let is_below = |k: u32| factors::e1(&model, k.into()) < e1_exact(&model, k.into());
    let is_above = |k: u32| factors::e1(&model, k.into()) > e1_exact(&model, k.into());
    let is_too_great =
        |m: u32| connected_printed(m.into(), model.view) > connected(m.into(), model.view);
    evidence
        .ours("K = 5 to 65: E1 as printed lies below its true value")
        .all_true((5..=GREATEST_K).map(is_below))
        .ours("K = 100 to 150: above")
        .all_true((100..=150).map(is_above))
        .ours(
            "4 to 30 relay members: P_m as printed lies above the probability of a connected graph",
        )
        .all_true((4..=30).map(is_too_great));
    Ok(format!(
        "the product peaks at {} for K = {at}, where 0.6 is printed; simulated rounds with K = 7, \
         24, 40, 65 succeed in {} of cases",
        number(peak),
        numbers(&measured)
    ))
}

pub(super) fn p2(fixture: &ProbabilisticFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let count = fixture.choose(5_000, 40_000);
    let mut gist = Vec::new();
    for view in [0.4, 0.5] {
        let model =
            Model { members: 500, view, crash: 0.0, unicast_loss: 0.0, multicast_loss: 0.0 };
        let plan = Plan { reply: ReplyRule::Worse, ..Plan::round(2) };
        let of_two = fixture.runs(count, &model, plan)?;
        let of_two = of_two.iter().filter(|run| run.relay_members == 2);
        let apart = share_of(of_two.map(|run| !run.strong_success));
        // The best member that either of the two knows: the probability that not both know it.
        let prefer_others = 1.0 - view * view / (1.0 - (1.0 - view).powi(2));
        evidence
            .stated(format!(
                "view {view}, two relay members: share that elect two leaders, if joined with \
                 view_prob"
            ))
            .mean((1.0 - view) * prefer_others, &apart)
            .corrected("the same, if joined with 1-(1-v)^2")
            .mean(1.0 - agreement(2, view, 0.0), &apart);
        gist.push(format!("{} at view {view}", estimated(&apart)));
    }
    Ok(format!("two relay members elect two leaders: {}", list(&gist)))
}

pub(super) fn p3(_: &ProbabilisticFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let model = Model::of_figure_4();
    let printed = log10_of_group_limit_printed(&model, CONVERGED);
    evidence.stated("Figure 4, K = 40: log10 of p^(-3K_2/2)").between(106.5, 107.5, printed);
    // A group of 10^39 is too large to count here. At smaller K the limit is small enough.
    for k in [8.0, 12.0, 16.0] {
        let members = 10f64.powf(log10_of_group_limit(&model, k)).round() as u64;
        let told = factors::e4(&Model { members, ..model }, k);
        evidence
            .corrected(format!("K = {k}: E4 in a group of p^(-K_2/2), e^-0.99"))
            .between(0.365, 0.378, told);
    }
    let derived = log10_of_group_limit(&model, CONVERGED);
    evidence
        .corrected("K = 40: log10 of p^(-K_2/2), beyond any group all the same")
        .between(15.0, 107.0, derived);
    Ok(format!(
        "10^{} by the printed formula, 10^{} by E4; the report says 10^107",
        number(printed),
        number(derived)
    ))
}

pub(super) fn p12(fixture: &ProbabilisticFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let k = 24;
    let of = |members| Model { members, ..Model::of_figure_4() };
    let bounds =
        [1_000, 1_000_000, 1_000_000_000].map(|members| success_bound(&of(members), k.into()));
    let shown = bounds.map(|bound| format!("{bound:.6}"));
    evidence
        .stated("Figure 4, K = 24, N = 10^3, 10^6, 10^9: the bound, to six decimals")
        .all_equal([&shown[0]; 3], &shown);
    let sizes: &[u64] = fixture.choose(&[500, 5_000], &[1_000, 10_000, 100_000]);
    // Larger groups take longer and vary no more.
    let count = |members: u64| (20_000_000 / members).min(fixture.choose(400, 1_000));
    let held = |&members: &u64| fixture.held(count(members), &of(members), Plan::round(k));
    let held = sizes.iter().map(held).collect::<Result<Vec<_>>>()?;
    for (members, larger) in sizes.iter().zip(&held).skip(1) {
        evidence
            .stated(format!(
                "the same: share of simulated rounds that succeed, N = {} and {members}",
                sizes[0]
            ))
            .alike(&held[0].strong, &larger.strong);
    }
    Ok(format!(
        "bound {} for N = 10^3 to 10^9; simulated {} at N = {}",
        number(bounds[0]),
        averages(&each(&held, |it| it.strong)),
        list(sizes)
    ))
}
