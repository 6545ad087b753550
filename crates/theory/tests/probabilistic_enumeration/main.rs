//! The probabilistic election among a few members: closed forms against an enumeration of all
//! cases.

mod play;

use hustings_theory::probabilistic::Model;
use hustings_theory::probabilistic::factors::e1_exact;
use hustings_theory::probabilistic::relay_agreement::{
    agreement, agreement_bound, connected, passage_probability,
};
use hustings_theory::probabilistic::success::success_corrected;
use play::{End, Order, ends};

const PROBABILITIES: [f64; 5] = [0.0, 0.1, 0.4, 0.75, 1.0];

/// All outcomes of `count` independent events, each with its probability.
fn cases(count: usize, chance: f64) -> impl Iterator<Item = (u32, f64)> {
    (0..1_u32 << count).map(move |case| {
        let happen = case.count_ones() as i32;
        let not = count as i32 - happen;
        (case, chance.powi(happen) * (1.0 - chance).powi(not))
    })
}

fn bit(case: u32, index: usize) -> bool {
    case >> index & 1 == 1
}

/// True if the members are connected, where pair `i` of them, in lexical order, has an edge if
/// `edges` has a bit.
fn is_connected(members: usize, edges: u32) -> bool {
    let mut part: Vec<usize> = (0..members).collect();
    let pairs = (0..members).flat_map(|one| (one + 1..members).map(move |other| (one, other)));
    for (index, (one, other)) in pairs.enumerate() {
        if bit(edges, index) {
            let (old, new) = (part[one], part[other]);
            part.iter_mut().filter(|it| **it == old).for_each(|it| *it = new);
        }
    }
    part.iter().all(|it| *it == part[0])
}

fn assert_close(what: &str, got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-12, "{what}: {got}, not {expected}");
}

#[test]
fn connectedness_agrees_with_enumeration() {
    for members in 1..=6 {
        let pairs = members * (members - 1) / 2;
        for edge in PROBABILITIES {
            let counted: f64 = cases(pairs, edge)
                .filter(|(edges, _)| is_connected(members, *edges))
                .map(|(_, probability)| probability)
                .sum();
            let what = format!("{members} members, edges {edge}");
            assert_close(&what, connected(members as u64, edge), counted);
        }
    }
}

/// All views: bit `i * members + j` for `i` and `j`; a member need not know itself.
fn all_views(members: usize, view: f64) -> impl Iterator<Item = (Vec<Vec<bool>>, f64)> {
    cases(members * (members - 1), view).map(move |(case, probability)| {
        let knows = |one: usize, other: usize| {
            let index = other - usize::from(other > one);
            one != other && bit(case, one * (members - 1) + index)
        };
        let row = |one| (0..members).map(|other| knows(one, other)).collect();
        ((0..members).map(row).collect(), probability)
    })
}

/// Every end of a relay phase in which each knows each other with probability `view`.
fn all_ends(choices: &[usize], view: f64, loss: f64, order: Order) -> Vec<End> {
    let mut all = Vec::new();
    for (knows, probability) in all_views(choices.len(), view) {
        let weighted = ends(choices, knows, loss, order)
            .into_iter()
            .map(|end| End { probability: end.probability * probability, ..end });
        all.extend(weighted);
    }
    all
}

fn agreed(ends: &[End]) -> f64 {
    let agreed = ends.iter().filter(|end| end.agreed);
    agreed.map(|end| end.probability).sum()
}

#[test]
fn p2_without_loss_an_edge_needs_one_side_to_know_the_other() {
    for order in [Order::OldestFirst, Order::NewestFirst] {
        for members in 1..=4 {
            let choices: Vec<usize> = (0..members).collect();
            for view in PROBABILITIES {
                let played = agreed(&all_ends(&choices, view, 0.0, order));
                let what = format!("{members} members, view {view}, {order:?}");
                let bound = agreement_bound(members as u64, view, 0.0);
                assert_close(&what, bound, played);
                let graph = connected(members as u64, passage_probability(view, 0.0));
                assert_close(&what, graph, played);
            }
        }
    }
}

/// At least one member knows the best; the others prefer different candidates.
#[test]
fn agreement_without_loss_agrees_with_enumeration() {
    for members in 1..=4_usize {
        for view in [0.1, 0.4, 0.75, 1.0] {
            let mut played = 0.0;
            let mut known = 0.0;
            for (knowing, probability) in cases(members, view).filter(|(case, _)| *case > 0) {
                let choice = |member| {
                    if bit(knowing, member) { members } else { member }
                };
                let choices: Vec<usize> = (0..members).map(choice).collect();
                let ends = all_ends(&choices, view, 0.0, Order::OldestFirst);
                played += probability * agreed(&ends);
                known += probability;
            }
            let what = format!("{members} members, view {view}");
            assert_close(&what, agreement(members as u64, view, 0.0), played / known);
        }
    }
}

#[test]
fn bounds_with_loss_hold() {
    for order in [Order::OldestFirst, Order::NewestFirst] {
        for loss in [0.01, 0.2, 0.5] {
            for view in [0.2, 0.5, 1.0] {
                for members in 2..=3_usize {
                    let choices: Vec<usize> = (0..members).collect();
                    let played = agreed(&all_ends(&choices, view, loss, order));
                    let bound = agreement_bound(members as u64, view, loss);
                    let case = format!("{members} members, view {view}, loss {loss}, {order:?}");
                    assert!(bound <= played + 1e-12, "{case}: {bound}, not {played}");
                    assert!(played - bound < 0.25, "{case}: {bound} is far from {played}");
                }
            }
        }
    }
}

/// If no unicast can repair the loss of another, the bound is exact: one member knows the other,
/// and answers are the second.
#[test]
fn passage_takes_one_unicast_or_two() {
    for loss in [0.0, 0.1, 0.5, 1.0] {
        // The worse member does not hear of the better one, and the better one hears of it: one
        // unicast each.
        let knows = |better: bool, worse: bool| vec![vec![false, worse], vec![better, false]];
        let passes = |knows| agreed(&ends(&[0, 1], knows, loss, Order::OldestFirst));
        let (told, asked) = (passes(knows(true, false)), passes(knows(false, true)));
        assert_close("told", told, 1.0 - loss);
        assert_close("asked", asked, (1.0 - loss).powi(2));
        let view = 0.3;
        let bound = view * told + (1.0 - view) * view * asked;
        assert_close("passage", passage_probability(view, loss), bound);
    }
}

#[test]
fn p6_new_choices_cost_below_half_a_cube_without_answers() {
    let mut most = [0; 5];
    for order in [Order::OldestFirst, Order::NewestFirst] {
        for (members, loss) in [(2, 0.5), (3, 0.5), (4, 0.0)] {
            let choices: Vec<usize> = (0..members).collect();
            let told_at_most = members * (members * members - 1) / 2;
            for end in all_ends(&choices, 1.0, loss, order) {
                assert!(end.told <= told_at_most, "{members} members: {end:?}");
                most[members] = most[members].max(end.told + end.answered);
            }
        }
    }
    // Of two the paper's m^3/2 = 4 is a bound; of three it is 13, of four 32.
    assert_eq!(most[2..], [4, 18, 48]);
}

#[test]
fn success_of_a_round_agrees_with_enumeration() {
    for members in [1, 2, 3_usize] {
        for (view, crash, unicast_loss, multicast_loss) in
            [(1.0, 0.0, 0.0, 0.0), (0.4, 0.1, 0.2, 0.3), (0.0, 0.2, 0.0, 0.5), (0.7, 0.0, 0.5, 0.1)]
        {
            let model =
                Model { members: members as u64, view, crash, unicast_loss, multicast_loss };
            for k in 1..=members {
                let what = format!("{model:?}, K {k}");
                let got = success_corrected(&model, k as f64);
                assert_close(&what, got, counted_success(&model, members, k));
            }
        }
    }
}

/// All cases of final senders, passages of news, failures, and receptions of multicasts.
fn counted_success(model: &Model, members: usize, k: usize) -> f64 {
    let filter = k as f64 / members as f64;
    let sends = filter * (1.0 - model.multicast_loss) * (1.0 - model.crash);
    let passage = passage_probability(model.view, model.unicast_loss);
    let mut success = 0.0;
    for (sending, probability) in cases(members, sends) {
        let senders = sending.count_ones() as usize;
        if senders == 0 {
            continue;
        }
        let agreed: f64 = cases(senders * (senders - 1) / 2, passage)
            .filter(|(edges, _)| is_connected(senders, *edges))
            .map(|(_, probability)| probability)
            .sum();
        let mut told = 0.0;
        for (failing, fails) in cases(members, model.crash) {
            for (received, receives) in cases(members * senders, 1.0 - model.multicast_loss) {
                let of = |member: usize| received >> (member * senders) & ((1 << senders) - 1);
                if (0..members).all(|member| bit(failing, member) || of(member) > 0) {
                    told += fails * receives;
                }
            }
        }
        success += probability * agreed * told;
    }
    (1.0 - model.crash) * success
}

#[test]
fn p1_first_factor_agrees_with_enumeration() {
    let model = Model { members: 9, view: 1.0, crash: 0.2, unicast_loss: 0.0, multicast_loss: 0.1 };
    for k in [1.0, 4.0, 6.5, 9.0] {
        let (entering, finishing) = (0.9 * k, 0.72 * k);
        let is_near = |number: u32, mean: f64| {
            mean / 2.0 <= f64::from(number) && f64::from(number) <= 1.5 * mean
        };
        let mut counted = 0.0;
        for (entered, enters) in cases(9, entering / 9.0) {
            for (living, incarnations) in cases(9, 0.8) {
                let finished = (entered & living).count_ones();
                if is_near(entered.count_ones(), entering) && is_near(finished, finishing) {
                    counted += enters * incarnations;
                }
            }
        }
        assert_close(&format!("K {k}"), e1_exact(&model, k), counted);
    }
}
