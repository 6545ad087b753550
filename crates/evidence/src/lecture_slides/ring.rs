//! R1 to R4: the ring of Chang and Roberts.

use hustings_protocol::chang_roberts::{ChangRoberts, Config, Initiator};
use hustings_sim::classics::{self, Initiators, Order, Ring};
use hustings_sim::statistics::Kind;
use hustings_sim::{Detection, Seeds, Stream, Verb, Who};
use hustings_theory::rings::{self, chang_roberts, chang_roberts_literal};

use super::super::budget::{Budget, Result, sample_of};
use super::super::evidence::{Evidence, estimated, list, number};
use super::slides_fixture::{HOP, Play, Reports, SlidesFixture, hops, permutations, sent, subset};

pub(super) fn hold(members: u32, initiators: Initiators, order: Order, seeds: Seeds) -> Play {
    let layout = classics::ring(Ring::ChangRoberts, members, initiators, order, seeds);
    SlidesFixture::laid_out(layout.scenario()).play::<ChangRoberts>(Config::paper(), seeds)
}

pub(super) fn r1(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let one = Initiators::Count(1);
    let sizes: &[u32] = budget.choose(&[2, 3, 10, 100], &[2, 3, 10, 100, 1000, 10_000]);
    let played = |order| {
        let play = |&size| hold(size, one, order, Seeds::new(budget.seed, 0));
        sizes.iter().map(play).collect::<Vec<Play>>()
    };
    let bound = || sizes.iter().map(|&n| 3 * u64::from(n) - 1);

    let worst = played(Order::Worst);
    evidence
        .stated(format!("N = {}, the best behind the initiator: messages", list(sizes)))
        .all_equal(bound(), sent(&worst));
    let home = worst.iter().map(|play| hops(play.ended) as u64);
    evidence.stated("message times until the announcement is home").all_equal(bound(), home);
    let (_, most) = extremes(budget, 1)?;
    evidence
        .stated(format!("every order of 2 to {} members: most messages", most.len() + 1))
        .all_equal((2..).map(|n| 3 * n - 1).take(most.len()), most);

    let known = worst.iter().filter_map(|play| play.summary.known_at);
    evidence
        .ours("message times until the last member knows: 3N-2")
        .all_equal(bound().map(|it| it - 1), known.map(|at| hops(at) as u64))
        .ours("the initiator is the best: 2N messages")
        .all_equal(sizes.iter().map(|&n| 2 * u64::from(n)), sent(&played(Order::Best)));
    let members = 100;
    let random = budget.sample(budget.choose(500, 20_000), |seeds| {
        hold(members, one, Order::Random, seeds).messages() as f64
    })?;
    evidence
        .ours(format!("N = {members}, random order: mean messages, (5N-1)/2"))
        .mean(chang_roberts(members.into(), 1, rings::Order::Random).messages, &random);
    let at_100 = &worst[3];
    Ok(format!(
        "N = 100: {} messages at worst, home after {} message times; mean {}",
        at_100.messages(),
        number(hops(at_100.ended)),
        estimated(&random),
    ))
}

/// Returns the fewest and the most messages over all orders of the members, for groups of 2 and
/// more. The first `callers` members of the ring start. Because all orders are tried, the choice of
/// neighbouring initiators makes no difference.
fn extremes(budget: &Budget, callers: u32) -> Result<(Vec<u64>, Vec<u64>)> {
    let largest = budget.choose(6, 8);
    let (mut least, mut most) = (Vec::new(), Vec::new());
    for members in 2..=largest {
        let orders = permutations(members);
        let sent = budget.each(orders.len() as u64, |number, seeds| {
            let starters = Who::Members((0..callers.min(members)).collect());
            let fixture =
                SlidesFixture::of(orders[number as usize].iter().copied()).start(starters);
            fixture.play::<ChangRoberts>(Config::paper(), seeds).messages()
        })?;
        least.extend(sent.iter().min());
        most.extend(sent.iter().max());
    }
    Ok((least, most))
}

pub(super) fn r2(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let members = budget.choose(100, 1000);
    let n = u64::from(members);
    let runs = budget.choose(300, 5_000);
    let plays = budget.each(runs, |_, seeds| {
        let play = hold(members, Initiators::All, Order::Random, seeds);
        (play.messages(), play.summary.elected_best)
    })?;
    let most = plays.iter().map(|(sent, _)| *sent).max().unwrap_or(0);
    evidence
        .stated(format!("N = {n}, all start at once, random order: complete with the best elected"))
        .all_true(plays.iter().map(|(_, elected)| *elected));
    evidence.stated("the same: most messages").at_most(3 * n - 1, most);

    let all = sample_of(Kind::Number, plays.iter().map(|(sent, _)| *sent as f64));
    let of = |order| hold(members, Initiators::All, order, Seeds::new(budget.seed, 0)).messages();
    evidence
        .ours("the same: mean messages, N H_N + N")
        .mean(chang_roberts(n, n, rings::Order::Random).messages, &all);
    evidence.ours("ids rise along the ring: 3N-1").equal(3 * n - 1, of(Order::Best));
    evidence
        .ours("ids fall along the ring: N(N+1)/2 + N")
        .equal(n * (n + 1) / 2 + n, of(Order::Worst));
    let (least, most_of_all) = extremes(budget, u32::MAX)?;
    let small = 2..least.len() as u64 + 2;
    evidence
        .ours(format!("every order of 2 to {} members: fewest messages", least.len() + 1))
        .all_equal(small.clone().map(|n| 3 * n - 1), least)
        .ours("the same: most messages")
        .all_equal(small.map(|n| n * (n + 1) / 2 + n), most_of_all);
    Ok(format!(
        "N = {n}, all start: {} messages in the mean, {} at worst; 3N-1 is {}",
        estimated(&all),
        of(Order::Worst),
        3 * n - 1
    ))
}

/// Runs all orders of up to `largest` members with all sets of initiators. The best is always
/// member 0: by the symmetry of the ring this leaves no case out.
///
/// Returns for each election whether the best was elected, and whether it declared itself elected
/// once, and no other did.
fn census(budget: &Budget, largest: u32, config: Config) -> Result<[Vec<bool>; 2]> {
    let (mut best_elected, mut declared_once) = (Vec::new(), Vec::new());
    for members in 2..=largest {
        let orders = permutations(members - 1);
        let sets = (1 << members) - 1;
        let played = budget.each(orders.len() as u64 * sets, |number, seeds| {
            let order = &orders[(number / sets) as usize];
            let priorities = std::iter::once(members - 1).chain(order.iter().copied());
            let fixture = SlidesFixture::of(priorities).start(subset(members, number % sets + 1));
            fixture.play_traced::<ChangRoberts, _>(config, seeds, Reports::default())
        })?;
        best_elected.extend(played.iter().map(|(play, _)| play.summary.elected_best));
        declared_once.extend(played.iter().map(|(_, reports)| reports.victories == [0]));
    }
    Ok([best_elected, declared_once])
}

pub(super) fn r3(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let to_the_letter = Config { initiator: Initiator::Literal, ..Config::paper() };
    let largest = budget.choose(5, 7);
    let [literal_elected, literal_once] = census(budget, largest, to_the_letter)?;
    let [elected, once] = census(budget, largest, Config::paper())?;
    let every = format!("every order of 2 to {largest} members, every set of initiators");
    evidence
        .stated(format!("{every}, to the letter: the best elected"))
        .all_true(literal_elected)
        .stated("the same: and declared elected once")
        .all_true(literal_once.iter().copied())
        .corrected(format!("{every}, initiators participate: the best elected"))
        .all_true(elected)
        .corrected("the same: and declared elected once")
        .all_true(once.iter().copied());

    let members = budget.choose(30, 100);
    let runs = budget.choose(300, 5_000);
    let staggered = budget.each(runs, |_, seeds| {
        let order = shuffled(members, seeds);
        let turns = shuffled(members, Seeds::new(seeds.number(Stream::Faults), 0));
        let calls = turns.into_iter().zip(0..);
        let fixture = calls.fold(SlidesFixture::of(order), |fixture, (turn, member)| {
            fixture.at(3.0 * f64::from(turn), Verb::Start(Who::one(member)))
        });
        let play = fixture.play::<ChangRoberts>(Config::paper(), seeds);
        play.summary.elected_best
    })?;
    evidence
        .corrected(format!(
            "N = {members}, all start at different times within 3N: the best elected"
        ))
        .all_true(staggered);
    let doubled = budget.sample(budget.choose(1_000, 20_000), |seeds| {
        let layout = classics::ring(Ring::ChangRoberts, 3, Initiators::All, Order::Random, seeds);
        let fixture = SlidesFixture::laid_out(layout.scenario());
        fixture.play::<ChangRoberts>(to_the_letter, seeds).messages() as f64
    })?;
    evidence
        .ours("N = 3, all start, to the letter: mean messages, 2N H_N + N + 1")
        .mean(chang_roberts_literal(3).messages, &doubled);
    let count = |declared: &[bool]| declared.iter().filter(|&&it| it).count();
    Ok(format!(
        "{} elections: declared once in {} to the letter, in {} corrected; the best elected in all",
        once.len(),
        count(&literal_once),
        count(&once)
    ))
}

/// Returns `0..members` in random order.
fn shuffled(members: u32, seeds: Seeds) -> Vec<u32> {
    let one = Initiators::Count(1);
    let layout = classics::ring(Ring::ChangRoberts, members, one, Order::Random, seeds);
    layout.priorities.iter().map(|priority| priority.0 as u32).collect()
}

/// The slides' example: P0 to P4, P2 starts, P4 crashes. (P5, the old leader, has left the ring.)
fn example(config: Config, detection: Detection, death: f64, limit: f64) -> Play {
    SlidesFixture::of(0..5)
        .start(Who::one(2))
        .kill(death, 4)
        .detection(detection)
        .until(limit)
        .play::<ChangRoberts>(config, Seeds::new(0, 0))
}

pub(super) fn r4(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let long = budget.choose(1_000.0, 100_000.0);
    let paper = |death, limit| example(Config::paper(), Detection::Oracle, death, limit);
    let ending = |death: f64| paper(death, long).ending();
    evidence
        .stated(format!(
            "P4 dies while its id circulates: the election, within {long} message times"
        ))
        .equal("goes on for ever", ending(2.5));
    let laps = paper(2.5, long).of_kind(0);
    evidence.stated("the same: a message is sent in each of them").equal(long as u64 + 1, laps);

    evidence
        .ours("P4 dies after it sent `elected`: the election")
        .equal("elects dead P4 for ever", ending(7.5));
    let fixture = SlidesFixture::of(0..5).start(Who::one(2)).kill(2.5, 0);
    let holder_dies = fixture.play::<ChangRoberts>(Config::paper(), Seeds::new(0, 0));
    evidence
        .ours("P0 dies with P4's id on its way to it: the election")
        .equal("ends in silence", holder_dies.ending());
    let deaths = || (0..13).map(|hop| f64::from(hop) + 0.5);
    let mut endings = vec!["elects P3", "ends in silence"];
    endings.extend(["goes on for ever"; 4]);
    endings.push("ends in silence");
    endings.extend(["elects dead P4 for ever"; 4]);
    endings.extend(["elects dead P4"; 2]);
    evidence
        .ours("P4 dies after 0.5, 1.5, ... 12.5 message times: the election")
        .all_equal(endings, deaths().map(ending));
    let survives = |death: f64| {
        let patient = Config::field(HOP * 20);
        let detected = Detection::After(HOP * 2);
        example(patient, detected, death, 1_000.0).ending() == "elects P3"
    };
    evidence
        .ours(
            "the same with a detector, a time-out and checked hearsay (our field preset): elects \
             P3",
        )
        .all_true(deaths().map(survives));
    let stuck = deaths().filter(|&death| ending(death) != "elects P3").count();
    Ok(format!(
        "P4's id still circulates after {laps} messages; {stuck} of {} times of death elect no \
         live member",
        deaths().count()
    ))
}
