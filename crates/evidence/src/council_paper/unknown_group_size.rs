//! C9 to C11: the number of hosts is uncertain, and messages are lost.

use hustings_theory::bolot::{self, Keys};
use hustings_theory::council::estimate::by_pseudocode;
use hustings_theory::council::{Algorithm, Cost, Election, Estimate, Knowledge, Loss, misprints};

use super::super::budget::Result;
use super::super::evidence::{Evidence, average, number, numbers, shown};
use super::council_fixture::{
    CouncilFixture, FIRST_ESTIMATE, FOUR_TO_EIGHT, estimated, expected, greatest, of_section_seven,
};

/// Returns the cost of the paper's pseudocode.
fn by_figure_16(election: &Election) -> Cost {
    by_pseudocode(election).expect("Skip-Reset has a pseudocode")
}

/// Sets an estimate that is wrong by this factor and never changes.
fn taken(election: Election, factor: f64) -> Election {
    Election { knowledge: Knowledge::Taken(election.members as f64 * factor), ..election }
}

/// Sets the same first estimate, halved after each undershoot.
fn halved(election: Election, factor: f64) -> Election {
    let first = election.members as f64 * factor;
    estimated(election, Estimate::conservative(first))
}

pub(super) fn c9(fixture: &CouncilFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let mut gist = Vec::new();
    for members in [1_000, 10_000] {
        let right = of_section_seven(members);
        let usual = right.cost();
        let (fixed, falling) = (taken(right, 10.0), halved(right, 10.0));
        let (held, held_falling) = (fixture.held(&fixed)?, fixture.held(&falling)?);
        let case = |what: &str| format!("n = {members}, {what}");
        let most = usual.rounds + 1.0;
        evidence.stated(case("ten times too high, for ever: additional rounds")).mean_between(
            usual.rounds,
            most,
            &held.rounds,
        );
        let low = halved(right, 0.1);
        let held_low = fixture.held(&low)?;
        let times = average(&held_low.messages) / usual.messages;
        for hold in [Evidence::stated, Evidence::corrected] {
            hold(evidence, case("ten times too low: additional rounds")).mean_between(
                usual.rounds,
                most,
                &held_low.rounds,
            );
            hold(evidence, case("ten times too low: replies, times those of the right number"))
                .between(9.0, 11.0, times);
            hold(evidence, case("ten times too high, halved: fewer replies than the right number"))
                .between(0.0, usual.messages, average(&held_falling.messages));
        }
        evidence
            .corrected(case("ten times too high, halved after each undershoot: additional rounds"))
            .mean_between(usual.rounds, most, &held_falling.rounds);
        for (what, election, held) in [
            ("high, for ever", fixed, &held),
            ("high, halved", falling, &held_falling),
            ("low", low, &held_low),
        ] {
            let cost = expected(&election);
            evidence
                .corrected(case(&format!("ten times too {what}: mean rounds")))
                .mean(cost.rounds, &held.rounds);
        }
        let [fixed, halved] =
            [&held, &held_falling].map(|it| number(average(&it.rounds) - usual.rounds));
        gist.push(format!("{fixed} rounds more, {halved} if halved"));
    }
    Ok(format!("ten times too high: n = 1000 {}; n = 10,000 {}", gist[0], gist[1]))
}

pub(super) fn c10(fixture: &CouncilFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let aggressive =
        |members| estimated(of_section_seven(members), Estimate::aggressive(FIRST_ESTIMATE));
    let conservative =
        |members| estimated(of_section_seven(members), Estimate::conservative(FIRST_ESTIMATE));
    let rounds = greatest(121, |members| aggressive(members).cost().rounds);
    let messages = greatest(121, |members| aggressive(members).cost().messages);
    let pseudocode = greatest(121, |members| by_figure_16(&aggressive(members)).messages);
    evidence.stated("aggressive, n = 10 to 100,000: the greatest T").between(1.0, 4.0, rounds);
    evidence
        .corrected("aggressive, n = 10 to 100,000: the greatest T is 4.05, to two digits")
        .between(4.045, 4.055, rounds);
    let ten = fixture.held(&conservative(10))?;
    let masks = fixture.polled(10)?;
    for hold in [Evidence::stated, Evidence::corrected] {
        hold(evidence, "aggressive, n = 10 to 100,000: the greatest N, by (19)")
            .between(0.0, 15.0, messages);
        hold(evidence, "conservative, n = 10: mean rounds").mean_between(9.5, 10.5, &ten.rounds);
        hold(evidence, "Bolot's masks, n = 10: mean rounds").mean_above(13.0, &masks.rounds);
    }
    // The field implementation follows the centre of Figure 16. The paper makes the same statement
    // of it.
    evidence
        .stated("aggressive, n = 10 to 100,000: the greatest N, by Figure 16")
        .between(0.0, 15.0, pseudocode)
        .ours("Bolot's masks, n = 10: mean rounds")
        .mean(bolot::cost(10, Keys::Nested).rounds, &masks.rounds);
    for members in [10, 1_000, 15_000] {
        for (name, election) in
            [("aggressive", aggressive(members)), ("conservative", conservative(members))]
        {
            let (cost, held) = (by_figure_16(&election), fixture.held(&election)?);
            let case = |what| format!("{name}, n = {members}: mean {what}, by Figure 16");
            evidence.corrected(case("rounds")).mean(cost.rounds, &held.rounds);
            evidence.corrected(case("replies")).mean(cost.messages, &held.messages);
        }
    }
    let [rounds, messages, pseudocode] = [rounds, messages, pseudocode].map(number);
    let [conservative, masks] = [&ten.rounds, &masks.rounds].map(shown);
    Ok(format!(
        "aggressive at most {rounds} rounds and {messages} messages by the equations, {pseudocode} \
         by the pseudocode; n = 10: conservative {conservative} rounds, masks {masks}"
    ))
}

pub(super) fn c11(fixture: &CouncilFixture<'_>, evidence: &mut Evidence) -> Result<String> {
    let of = |reply, multicast| Election {
        loss: Loss { reply, multicast },
        ..Election::new(FOUR_TO_EIGHT, 1_000, Algorithm::SkipReset, 5.6)
    };
    let without = of(0.0, 0.0).cost().rounds;
    let (mut exactly, mut by_21) = (Vec::new(), Vec::new());
    for (reply, multicast) in [(0.1, 0.0), (0.3, 0.0), (0.5, 0.0), (0.0, 0.3)] {
        let election = of(reply, multicast);
        let (cost, held) = (election.cost(), fixture.held(&election)?);
        let printed = misprints::with_loss(&election);
        let case = |what: &str| {
            format!("n = 1000, loss of replies {reply}, of multicasts {multicast}: {what}")
        };
        let (least, most) = (0.999 * printed.rounds, 1.001 * printed.rounds);
        evidence.stated(case("T, by (21)")).between(least, most, cost.rounds);
        evidence
            .corrected(case("share that end in the first round, by (21)"))
            .share(printed.success_first_round, &held.first_round);
        evidence.corrected(case("mean rounds, exactly")).mean(cost.rounds, &held.rounds);
        evidence.corrected(case("mean replies, exactly")).mean(cost.messages, &held.messages);
        if reply.max(multicast) <= 0.3 {
            let more = cost.rounds - without;
            evidence.corrected(case("rounds more than without")).between(0.0, 1.0, more);
        }
        exactly.push(cost.rounds);
        by_21.push(printed.rounds);
    }
    Ok(format!(
        "losses of replies 0.1, 0.3, 0.5, of multicasts 0.3: T = {}, by (21) {}",
        numbers(&exactly),
        numbers(&by_21)
    ))
}
