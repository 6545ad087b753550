//! R5 to R9: the modified ring.

use std::collections::BTreeSet;

use hustings_protocol::modified_ring::{Config, Message, ModifiedRing};
use hustings_protocol::{Instant, MemberId};
use hustings_sim::classics::{self, Initiators, Order, Ring};
use hustings_sim::{Detection, Event, Seeds, Trace, Who};
use hustings_theory::rings::{self, Failure, modified_ring, modified_ring_with_failure};

use super::super::budget::{Budget, Result};
use super::super::evidence::{Evidence, estimated, list};
use super::slides_fixture::{HOP, Play, Reports, SlidesFixture, hops, sent};

fn no_chance() -> Seeds {
    Seeds::new(0, 0)
}

/// Lays out N members whose best is `best`. P0 starts the election.
fn opened(members: u32, best: u32) -> SlidesFixture {
    let priorities = (0..members).map(|member| if member == best { members } else { member });
    SlidesFixture::of(priorities).start(Who::one(0))
}

/// Holds an election among members in random order, with random initiators.
pub(super) fn hold(members: u32, initiators: Initiators, seeds: Seeds) -> Play {
    let layout = classics::ring(Ring::Modified, members, initiators, Order::Random, seeds);
    SlidesFixture::laid_out(layout.scenario()).play::<ModifiedRing>(Config::paper(), seeds)
}

fn play(fixture: SlidesFixture) -> Play {
    fixture.play::<ModifiedRing>(Config::paper(), no_chance())
}

pub(super) fn r5(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let sizes: &[u32] = budget.choose(&[3, 5, 10, 100], &[3, 5, 10, 100, 1000]);
    let twice = || sizes.iter().map(|&n| 2 * u64::from(n));
    let plain: Vec<Play> = sizes.iter().map(|&n| play(opened(n, n / 2))).collect();
    evidence
        .stated(format!("N = {}, one initiator: messages", list(sizes)))
        .all_equal(twice(), sent(&plain));
    let members = 50;
    let runs = budget.choose(300, 5_000);
    let always = budget.each(runs, |_, seeds| {
        let play = hold(members, Initiators::Count(1), seeds);
        play.messages() == 2 * u64::from(members) && play.summary.elected_best
    })?;
    evidence
        .stated(format!(
            "N = {members}, any initiator, random order: 2N messages, and the best elected"
        ))
        .all_true(always);

    evidence
        .ours("message times until the initiator knows of the success: 2N")
        .all_equal(twice(), plain.iter().map(|play| hops(play.ended) as u64));
    let mut at_100 = vec![plain[3].messages()];
    for (what, failure) in [
        ("the best dies after it signed: 4N-3", Failure::BestAfterSigning),
        ("the initiator dies after its election message: 3N-2", Failure::InitiatorAfterElection),
        (
            "the initiator dies after its coordinator message: 4N-2",
            Failure::InitiatorAfterCoordinator,
        ),
    ] {
        let plays: Vec<Play> = sizes.iter().map(|&n| play(failing(n, failure))).collect();
        let paper = |&n: &u32| modified_ring_with_failure(n.into(), failure).messages as u64;
        let expected = sizes.iter().map(paper);
        evidence.ours(format!("{what} messages")).all_equal(expected, sent(&plays));
        at_100.push(plays[3].messages());
    }
    Ok(format!(
        "N = 100: {} messages; {} if the best dies, {} or {} if the initiator does",
        at_100[0], at_100[1], at_100[2], at_100[3]
    ))
}

fn failing(members: u32, failure: Failure) -> SlidesFixture {
    let best = members / 2;
    let fixture = opened(members, best);
    match failure {
        Failure::BestAfterSigning => fixture.kill(f64::from(best) + 0.5, best),
        Failure::InitiatorAfterElection => fixture.kill(0.5, 0),
        Failure::InitiatorAfterCoordinator => fixture.kill(f64::from(members) + 0.5, 0),
    }
}

/// The slides' example: P0 to P4, P2 starts, P4 crashes.
fn example(death: f64) -> SlidesFixture {
    SlidesFixture::of(0..5).start(Who::one(2)).kill(death, 4)
}

pub(super) fn r6(_: &Budget, evidence: &mut Evidence) -> Result<String> {
    // P4 signs after 2 message times. From 6 message times on, the coordinator message is on its
    // way to P4.
    let deaths = [2.5, 3.5, 4.5, 5.5];
    let end = |death: f64| play(example(death)).ending();
    evidence
        .stated(format!("P4 dies after {} message times: the election", list(&deaths)))
        .all_equal(["elects P3"; 4], deaths.map(end));
    let plays = deaths.map(|death| play(example(death)));
    let rounds = plays.iter().map(|play| play.summary.tally.rounds);
    evidence.stated("the same: attempts").all_equal([2; 4], rounds);
    evidence.ours("the same: messages, 4N-3").all_equal([17; 4], sent(&plays));
    evidence
        .ours(
            "P4 dies before the election reaches its predecessor, so that it is stepped over: the \
             election",
        )
        .equal("elects P3", end(0.5))
        .ours(
            "P4 dies while either message is on its way to it, and the message is lost: the \
             election",
        )
        .all_equal(["ends in silence"; 2], [1.5, 6.5].map(end));
    Ok(format!("P3 elected in the second attempt, after {} messages", plays[0].messages()))
}

/// The reports, and the contents of the lists that go round the ring.
#[derive(Default)]
struct Lists {
    reports: Reports,
    /// The members whose coordinator messages went round.
    announcers: BTreeSet<MemberId>,
    /// The first member that found its own signature on a list of another initiator, and the time.
    found_itself: Option<(u32, Instant)>,
}

impl Trace<ModifiedRing> for Lists {
    const ON: bool = true;

    fn record(&mut self, at: Instant, event: Event<'_, ModifiedRing>) {
        if let Event::Delivered { to, message, .. } = &event {
            let me = MemberId(u64::from(*to));
            let (call, is_signed) = match message {
                Message::Election { call, ids } => (call, ids.iter().any(|it| it.id == me)),
                Message::Coordinator { call, ids, .. } => {
                    self.announcers.insert(call.initiator.id);
                    (call, ids.contains(&me))
                }
            };
            if is_signed && call.initiator.id != me {
                self.found_itself.get_or_insert((*to, at));
            }
        }
        Trace::<ModifiedRing>::record(&mut self.reports, at, event);
    }
}

fn trace(fixture: SlidesFixture, seeds: Seeds) -> (Play, Lists) {
    fixture.play_traced::<ModifiedRing, _>(Config::paper(), seeds, Lists::default())
}

pub(super) fn r7(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let sizes: &[u32] = budget.choose(&[3, 4, 5, 10, 50], &[3, 4, 5, 10, 50, 200]);
    let mut noticed_at = Vec::new();
    // The initiator dies just after it has sent the message of this lap.
    for (round, laps) in [("election", 1), ("coordinator", 2)] {
        let (mut new_elections, mut own_ids, mut best_elected) = (vec![], vec![], vec![]);
        for (members, best) in sizes.iter().flat_map(|&n| (1..n).map(move |best| (n, best))) {
            let death = f64::from(members * (laps - 1)) + 0.5;
            let fixture = opened(members, best).kill(death, 0);
            let (play, lists) = trace(fixture, no_chance());
            new_elections.push(lists.reports.calls == [0, 1]);
            let went_round = f64::from(members * laps);
            let is_as_read = |(member, at)| member == 1 && hops(at) == went_round;
            own_ids.push(lists.found_itself.is_some_and(is_as_read));
            best_elected.push(play.summary.elected_best);
            if members == 50 && best == 1 {
                noticed_at.extend(lists.found_itself.map(|(_, at)| hops(at)));
            }
        }
        evidence
            .stated(format!(
                "N = {}, any best, the initiator dies after its {round} message: its successor, \
                 and no other member, starts anew",
                list(sizes)
            ))
            .all_true(new_elections)
            .ours(format!(
                "the same: it had found its own id in the list, after {laps}N message times"
            ))
            .all_true(own_ids);
        evidence.ours("the same: the best elected").all_true(best_elected);
    }
    Ok(format!(
        "the successor finds its own id in a list not its own; N = 50: after {} message times",
        noticed_at.iter().map(f64::to_string).collect::<Vec<_>>().join(" or ")
    ))
}

pub(super) fn r8(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let members: u32 = budget.choose(40, 200);
    let n = u64::from(members);
    let runs = budget.choose(500, 10_000);
    let hold = |callers: u32, seeds: Seeds| {
        let callers = Initiators::Count(callers);
        let layout = classics::ring(Ring::Modified, members, callers, Order::Random, seeds);
        let priorities = layout.priorities.clone();
        let starters = match &layout.starters {
            Who::Members(starters) => starters.clone(),
            Who::All | Who::Best => (0..members).collect(),
        };
        let best = starters.into_iter().max_by_key(|&member| priorities[member as usize]);
        let fixture = SlidesFixture::laid_out(layout.scenario());
        let (play, lists) = trace(fixture, seeds);
        let announcers: Vec<u64> = lists.announcers.iter().map(|id| id.0).collect();
        let is_higher = best.is_some_and(|best| announcers == [u64::from(best)]);
        (play, is_higher)
    };
    let two = budget.each(runs, |_, seeds| hold(2, seeds))?;
    let higher = two.iter().filter(|(_, is_higher)| *is_higher).count();
    evidence
        .stated(format!(
            "N = {n}, two initiators, random order: only the higher one's election goes on"
        ))
        .all_of(two.len(), higher);
    let is_single = |(play, _): &(Play, bool)| play.of_kind(1) == n && play.summary.elected_best;
    evidence
        .stated("the same: N coordinator messages, and the best elected")
        .all_true(two.iter().map(is_single));
    let mut gist = String::new();
    for k in [2, 3, members / 4, members] {
        let sample = budget.sample(runs, |seeds| hold(k, seeds).0.messages() as f64)?;
        let expected = modified_ring(n, k.into(), rings::Order::Random).messages;
        evidence.ours(format!("{k} initiators: mean messages, N H_k + N")).mean(expected, &sample);
        if k == 2 {
            gist = estimated(&sample);
        }
    }
    let count = two.len();
    Ok(format!("N = {n}, k = 2: the lower discarded in {higher} of {count}; mean {gist} messages"))
}

pub(super) fn r9(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let members = budget.choose(10, 50);
    let bests = || 1..members;
    let signed = |best: u32| f64::from(members + best) + 0.5;
    let dying = |best: u32| opened(members, best).kill(signed(best), best);
    let named = bests().filter(|&best| {
        let play = play(dying(best));
        play.ending() == format!("elects dead P{best}") && play.summary.tally.rounds == 1
    });
    let dead = named.count();
    evidence
        .stated(format!(
            "N = {members}, any best dies after its second signature: the election is a success, \
             and all name the dead"
        ))
        .all_of(bests().count(), dead);
    let recovers = |best: u32, detected: u64| {
        let config = Config::field(HOP * u64::from(6 * members));
        let fixture = dying(best).detection(Detection::After(HOP * detected));
        let play = fixture.play::<ModifiedRing>(config, no_chance());
        let second = if best == members - 1 { best - 1 } else { members - 1 };
        play.ending() == format!("elects P{second}")
    };
    let delays = [1, 5, u64::from(3 * members)];
    let cases = || bests().flat_map(|best| delays.map(|detected| (best, detected)));
    let recovered = cases().filter(|&(best, detected)| recovers(best, detected)).count();
    evidence
        .stated(format!(
            "the same, the death detected after {} message times: a new election, the second best \
             elected",
            list(&delays)
        ))
        .all_of(cases().count(), recovered)
        .ours("the same without a detector: messages, 2N")
        .equal(2 * u64::from(members), play(dying(members / 2)).messages());
    Ok(format!(
        "elected dead in {dead} of {} cases; with a detector the second best follows in \
         {recovered} of {}",
        bests().count(),
        cases().count()
    ))
}
