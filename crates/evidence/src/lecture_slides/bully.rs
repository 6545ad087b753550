//! R10 to R12: the bully algorithm.

use std::collections::BTreeSet;

use hustings_protocol::bully::{Bully, Config};
use hustings_protocol::{Duration, Instant};
use hustings_sim::classics::{self, Best, BullyInitiator};
use hustings_sim::{Delay, Detection, Seeds, Stream, Verb};
use hustings_theory::bully as paper;

use super::super::budget::{Budget, Result};
use super::super::evidence::{Evidence, average, list, number};
use super::slides_fixture::{HOP, Play, Reports, SlidesFixture, hops, sent, subset};

/// Lays out a group whose best member is dead. The other members have not detected it.
pub(super) fn bereft(members: u32, initiator: BullyInitiator, seeds: Seeds) -> SlidesFixture {
    let layout = classics::bully(members, initiator, Best::Down, seeds);
    SlidesFixture::laid_out(layout).detection(Detection::Never)
}

pub(super) fn hold(fixture: SlidesFixture, seeds: Seeds) -> Play {
    fixture.play::<Bully>(Config::paper(HOP), seeds)
}

pub(super) fn r10(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let sizes: &[u32] = budget.choose(&[3, 5, 10, 100], &[3, 5, 10, 100, 1000]);
    let seeds = Seeds::new(budget.seed, 0);
    let second = BullyInitiator::SecondHighest;
    let held = |detection| {
        let hold = |&n| hold(bereft(n, second, seeds).detection(detection), seeds);
        sizes.iter().map(hold).collect::<Vec<Play>>()
    };
    let known_at = |play: &Play| play.summary.known_at.map_or(f64::NAN, hops);
    let less = |by: u32| sizes.iter().map(move |&n| u64::from(n - by));
    let knowing = held(Detection::Oracle);
    let asking = held(Detection::Never);
    evidence
        .stated(format!("N = {}, the second best starts, knowing: messages", list(sizes)))
        .all_equal(less(2), sent(&knowing))
        .stated("the same: message times until all know")
        .all_equal(sizes.iter().map(|_| 1.0), knowing.iter().map(known_at));
    let elected = knowing.iter().map(|play| play.summary.elected_best);
    evidence.stated("the same: it is elected").all_true(elected);
    evidence.ours("it asks the dead member first: messages, N-1").all_equal(less(1), sent(&asking));
    let time_out = Config::paper(HOP).answer_within;
    let waited = 1.0 + hops(Instant::START + time_out);
    evidence
        .ours(format!(
            "the same: message times until all know, with a time-out of {}",
            waited - 1.0
        ))
        .all_equal(sizes.iter().map(|_| waited), asking.iter().map(known_at));
    Ok(format!(
        "N = 100: {} messages in {} message time; {} in {} if it asks the dead member",
        knowing[3].messages(),
        known_at(&knowing[3]),
        asking[3].messages(),
        known_at(&asking[3]),
    ))
}

pub(super) fn r11(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let sizes: &[u32] = budget.choose(&[16, 32, 64, 128], &[16, 32, 64, 128, 256, 512, 1024]);
    let seeds = Seeds::new(budget.seed, 0);
    let (mut sent, mut unanswered, mut callers) = (Vec::new(), Vec::new(), Vec::new());
    for &n in sizes {
        let fixture = bereft(n, BullyInitiator::Lowest, seeds);
        let (play, reports) = trace(fixture, Config::paper(HOP), seeds);
        sent.push(play.messages());
        unanswered.push(play.messages() - play.of_kind(1));
        callers.push(reports.calls.iter().collect::<BTreeSet<_>>().len() as u64);
    }
    let (most, most_unanswered) = (sent[sent.len() - 1], unanswered[unanswered.len() - 1]);
    let expected = |of: fn(u64) -> u64| sizes.iter().map(move |&n| of(n.into()));

    evidence
        .stated(format!(
            "N = {}, the lowest starts: members that begin elections, N-1",
            list(sizes)
        ))
        .all_equal(expected(|n| n - 1), callers);
    let exponent = growth(sizes, &sent);
    evidence
        .stated("the same: messages grow as this power of N (least squares)")
        .between(1.95, 2.05, exponent);
    evidence.ours("the same: messages, N^2-N-1").all_equal(expected(|n| n * n - n - 1), sent);
    evidence
        .ours("the same: messages without the answers, N(N-1)/2 + N-2")
        .all_equal(expected(|n| n * (n - 1) / 2 + n - 2), unanswered);
    let random = budget.sample(budget.choose(500, 20_000), |seeds| {
        hold(bereft(40, BullyInitiator::Random, seeds), seeds).messages() as f64
    })?;
    let expected = paper::bully(40, BullyInitiator::Random, Best::Down).messages;
    evidence
        .ours("N = 40, any live member starts: mean messages, N(2N-1)/6 + N-2")
        .mean(expected, &random);
    let bounded = budget.each(budget.choose(100, 2_000), |_, seeds| {
        let fixture = bereft(40, BullyInitiator::Lowest, seeds).delay(up_to_a_hop());
        hold(fixture, seeds).messages() == 40 * 40 - 40 - 1
    })?;
    evidence
        .ours("N = 40, the lowest starts, delays vary below their bound: N^2-N-1 messages")
        .all_true(bounded);
    Ok(format!(
        "N = {}: {most} messages, {most_unanswered} without answers; they grow as N^{exponent:.3}",
        sizes[sizes.len() - 1],
    ))
}

fn trace(fixture: SlidesFixture, config: Config, seeds: Seeds) -> (Play, Reports) {
    fixture.play_traced::<Bully, _>(config, seeds, Reports::default())
}

fn up_to_a_hop() -> Delay {
    Delay::Uniform { from: Duration::ZERO, to: HOP }
}

/// Returns the exponent of growth: the slope of a straight line through the logarithms of both.
fn growth(sizes: &[u32], counts: &[u64]) -> f64 {
    let x: Vec<f64> = sizes.iter().map(|&n| f64::from(n).ln()).collect();
    let y: Vec<f64> = counts.iter().map(|&count| (count as f64).ln()).collect();
    let average = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (centre_x, centre_y) = (average(&x), average(&y));
    let together = x.iter().zip(&y).map(|(x, y)| (x - centre_x) * (y - centre_y));
    let alone = x.iter().map(|x| (x - centre_x).powi(2));
    together.sum::<f64>() / alone.sum::<f64>()
}

/// Runs an election among ten members, of which up to three of the best are dead. Any of the others
/// start it, and the best live member crashes during it. Returns whether the best of the others is
/// elected. `None` if the crashed member had declared itself: its crash is then a new failure.
fn best_elected_after_crash(seeds: Seeds) -> Option<bool> {
    const MEMBERS: u32 = 10;
    let chance = seeds.number(Stream::Faults);
    let draw = |bits: u32, below: u64| (chance >> bits) % below;
    let dead = draw(0, 4) as u32;
    let doomed = MEMBERS - 1 - dead;
    let death = draw(8, 7_000) as f64 / 1_000.0;
    // Another member must start too: an election that only the crashed member knew of is none.
    let others = draw(24, (1 << doomed) - 1) + 1;
    let callers = others | draw(40, 2) << doomed;
    let mut fixture = SlidesFixture::of(0..MEMBERS);
    for member in doomed + 1..MEMBERS {
        fixture = fixture.kill(0.0, member);
    }
    let fixture = fixture
        .at(0.0, Verb::Start(subset(MEMBERS, callers)))
        .kill(death, doomed)
        .detection(Detection::Never)
        .delay(up_to_a_hop());
    let (play, reports) = trace(fixture, Config::paper(HOP), seeds);
    (!reports.victories.contains(&doomed)).then_some(play.summary.elected_best)
}

/// True if an election among `members`, of which the best is dead, does not elect the best live
/// member. Delays have a mean of one hop and no bound. Members wait `election_timeout` hops for
/// answers.
pub(super) fn goes_wrong(members: u32, election_timeout: f64, seeds: Seeds) -> bool {
    !unbounded(members, election_timeout, seeds).0.summary.elected_best
}

fn unbounded(members: u32, election_timeout: f64, seeds: Seeds) -> (Play, Reports) {
    let answer_within = HOP.mul_f64(election_timeout);
    let config =
        Config { answer_within, victory_within: answer_within + HOP * 2, ..Config::paper(HOP) };
    let fixture = bereft(members, BullyInitiator::Lowest, seeds)
        .delay(Delay::Exponential { mean: HOP })
        .until(20.0 * (election_timeout + 3.0));
    trace(fixture, config, seeds)
}

pub(super) fn r12(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let runs = budget.choose(500, 20_000);
    let steady = budget.each(runs, |_, seeds| {
        let fixture = bereft(20, BullyInitiator::Random, seeds).delay(up_to_a_hop());
        hold(fixture, seeds).summary.elected_best
    })?;
    evidence
        .stated("N = 20, the best dead, any starts, delays bounded: the best live member elected")
        .all_true(steady.iter().copied());
    let crashed = budget.each(runs, |_, seeds| best_elected_after_crash(seeds))?;
    let crashed: Vec<bool> = crashed.into_iter().flatten().collect();
    evidence
        .stated(
            "N = 10, up to 3 dead, any start, the best live one dies before it declares itself: \
             the next elected",
        )
        .all_true(crashed.iter().copied());

    let hasty = Config { answer_within: HOP.mul_f64(1.5), ..Config::paper(HOP) };
    let seeds = Seeds::new(budget.seed, 0);
    let fixture = bereft(10, BullyInitiator::Lowest, seeds);
    let (_, reports) = trace(fixture, hasty, seeds);
    let declared: BTreeSet<u32> = reports.victories.into_iter().collect();
    evidence
        .ours(
            "N = 10, the best dead; a round trip takes 2 message times, and members wait 1.5 for \
             answers: members that declare themselves, for a while, N-1",
        )
        .equal(9, declared.len());
    let mut rates = Vec::new();
    for election_timeout in [1.0, 2.5, 5.0] {
        let share = budget.share(runs, |seeds| goes_wrong(5, election_timeout, seeds))?;
        evidence
            .ours(format!(
                "N = 5, exponential delays, members wait {election_timeout} mean delays for \
                 answers: share of elections that go wrong"
            ))
            .share_above(0.0, &share);
        rates.push(format!("{} % at {election_timeout}", number(100.0 * average(&share))));
    }
    let split = budget.share(runs, |seeds| {
        let (_, reports) = unbounded(5, 2.5, seeds);
        reports.victories.iter().any(|&it| it != reports.victories[0])
    })?;
    evidence
        .ours("the same, 2.5 mean delays: share in which two members or more declare themselves")
        .share_above(0.0, &split);
    Ok(format!(
        "bounded delays: right in {} of {}; exponential, by time-out in mean delays: wrong in {}",
        crashed.iter().chain(&steady).filter(|&&it| it).count(),
        crashed.len() + steady.len(),
        list(&rates)
    ))
}
