//! L20: extensions that the chapter suggests and leaves open, built and measured.

use hustings_protocol::announce::{
    Announce, Config, Joining, Listen, Message, PriorityScale, Repeat, Wake, repetitions,
};
use hustings_protocol::{Message as _, Priority};
use hustings_sim::announcing::Perturbation;
use hustings_sim::convergence::Watch;
use hustings_sim::statistics::{Kind, Sample};
use hustings_sim::{Seeds, Stream, Verb, Who, World};
use hustings_theory::announce::{AnnounceModel, MulticastLoss, Variant};

use super::super::budget::{Budget, Result, sample_of, seed_of};
use super::super::evidence::{Evidence, averages, shown};
use super::listening::{all_listened, listening};
use super::thesis_fixture::{
    config, converge, group, group_of, held, instant, name_of, reestablished, time,
};

/// The greatest priority; priorities are drawn from 0 up to this value.
const BEST: Priority = Priority((1 << 53) - 1);

pub(super) fn l20(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let gist = [
        priority_drives_the_wake_up(budget, evidence)?,
        byes(budget, evidence)?,
        queries(budget, evidence)?,
        several_leaders(budget, evidence)?,
    ];
    listen_by_measured_loss(budget, evidence)?;
    Ok(gist.join("; "))
}

/// Returns the time after which all have heard the best member, and the cost in messages.
fn elected_by_priority(
    budget: &Budget,
    runs: u64,
    wake: Wake,
    model: &AnnounceModel,
) -> Result<[Sample; 2]> {
    let config = Config { wake, ..config(Variant::LeS, model) };
    let own = budget.reseeded(seed_of(&format!("{wake:?} {model:?}")));
    own.samples(runs, |seeds| {
        let (priorities, best) = drawn_priorities(model.members, seeds);
        let mut world = group_of(priorities, best, config, model, seeds);
        converge(&mut world, config.announce);
        match world.trace().hearing.convergence {
            Some(end) => [end.tmax.as_secs_f64(), end.messages as f64],
            None => [f64::NAN; 2],
        }
    })
}

/// Draws a random priority for each member. Also returns the member with the greatest one.
fn drawn_priorities(members: u64, seeds: Seeds) -> (Vec<Priority>, u32) {
    let layout = seeds.number(Stream::Layout);
    let priority = |member| Priority(Seeds::new(layout, member).number(Stream::Layout) >> 11);
    let priorities: Vec<Priority> = (0..members).map(priority).collect();
    let best = (0..members as u32).max_by_key(|&member| priorities[member as usize]);
    (priorities, best.unwrap_or(0))
}

fn priority_drives_the_wake_up(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let sizes: &[u64] = budget.choose(&[30], &[20, 100, 500]);
    let runs = 1_500;
    let mut gist = String::new();
    for &members in sizes {
        for loss in [MulticastLoss::None, MulticastLoss::Uncorrelated(0.4)] {
            let model = AnnounceModel::of_the_chapter(members, loss);
            let driven = |chance| {
                let scale = PriorityScale { chance, ..PriorityScale::up_to(BEST) };
                elected_by_priority(budget, runs, Wake::ByPriority(scale), &model)
            };
            let [usual_tmax, usual_messages] =
                elected_by_priority(budget, runs, Wake::Uniform, &model)?;
            let [tmax, messages] = driven(0.0)?;
            let [mostly_tmax, mostly_messages] = driven(0.1)?;
            let le_m = held(budget, runs, Variant::LeM, &model)?;
            let at = format!("N = {members}, {}", name_of(loss));
            evidence
                .stated(format!(
                    "{at}: mean tmax if merit drives the wake-up, against LE-S at the same merit"
                ))
                .below(&usual_tmax, &tmax)
                .stated("the same: mean messages")
                .below(&usual_messages, &messages)
                .ours("the same: mean tmax as of LE-M, which elects the first member to wake")
                .alike(&le_m.tmax, &tmax)
                .ours("the same: mean messages as of LE-M")
                .alike(&le_m.messages, &messages)
                .ours("with a tenth of the wake-up left to chance: mean tmax against LE-S")
                .below(&usual_tmax, &mostly_tmax);
            evidence.ours("the same: mean messages").below(&usual_messages, &mostly_messages);
            let [tmax, usual_tmax] = [&tmax, &usual_tmax].map(shown);
            let [cost, usual_cost] = [&messages, &usual_messages].map(shown);
            gist = format!(
                "{at}, by merit: tmax {tmax} for {usual_tmax}, messages {cost} for {usual_cost}"
            );
        }
    }
    Ok(gist)
}

/// The accepted probability that a listener misses the departure of its leader.
const MISS: f64 = 0.01;
/// The loss that a leader assumes without a measurement.
const ASSUMED_LOSS: f64 = 0.1;
/// The time by which a leader has received reports of the loss that its followers measure.
const TOLD: u64 = 120;

/// Checks goodbyes: a leader that leaves announces it. The followers with the greatest loss decide
/// how often.
fn byes(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let runs = budget.choose(300, 3_000);
    let measured = Repeat::Measured { miss: MISS };
    let mut gist = String::new();
    for (loss, listen) in [(MulticastLoss::None, 3.0), (MulticastLoss::Uncorrelated(0.4), 20.0)] {
        let model = AnnounceModel::of_the_chapter(10, loss);
        let after = |perturbation, farewell| {
            let config = Config { farewell, ..listening(listen, &model) };
            reestablished(budget, runs, perturbation, config, &model, listen + 40.0)
        };
        let missed = after(Perturbation::LeaderDies, Repeat::Times(0))?;
        let told = after(Perturbation::LeaderLeaves, measured)?;
        evidence
            .stated(format!(
                "N = 10, {}, T_L = {listen}: mean time until all agree again, byes by the loss \
                 measured against none",
                name_of(loss)
            ))
            .below(&missed, &told);
        if loss == MulticastLoss::None {
            evidence.ours("the same: E[t_s] + 2D").mean(0.7, &told);
            gist = format!("bye: {} for {}", shown(&told), shown(&missed));
        }
    }
    let fixed = repetitions(ASSUMED_LOSS, MISS);
    for loss in [ASSUMED_LOSS, 0.2, 0.4, 0.6] {
        let model = AnnounceModel::of_the_chapter(10, MulticastLoss::Uncorrelated(loss));
        let [missed, byes] = parting(budget, runs, measured, &model)?;
        evidence
            .ours(format!(
                "N = 10, uncorrelated loss {loss}: fraction of listeners that miss all byes, {} of \
                 them on average",
                shown(&byes)
            ))
            .mean_between(0.0, MISS, &missed);
        if loss > ASSUMED_LOSS {
            let [missed, _] = parting(budget, runs, Repeat::Times(fixed), &model)?;
            evidence
                .ours(format!("the same with {fixed} byes, enough for a loss of {ASSUMED_LOSS}"))
                .share_above(MISS, &missed);
        }
    }
    Ok(gist)
}

/// Returns the fraction of listeners that miss every goodbye of a leader that led from the start,
/// and the number of goodbyes.
fn parting(
    budget: &Budget,
    runs: u64,
    farewell: Repeat,
    model: &AnnounceModel,
) -> Result<[Sample; 2]> {
    let config = Config { farewell, assumed_loss: ASSUMED_LOSS, ..config(Variant::LeS, model) };
    let own = budget.reseeded(seed_of(&format!("{farewell:?} {model:?}")));
    let bye = Message::Bye { incarnation: 1 }.kind();
    own.samples(runs, |seeds| {
        let mut world = group(config, model, seeds);
        let leader = world.len() - 1;
        let at = (TOLD + seeds.number(Stream::Faults) % TOLD) as f64;
        world.schedule(instant(at), Verb::Leave(Who::one(leader)));
        world.run_until(instant(at + 1.5 * model.delay));
        let listeners = &world.members()[..leader as usize];
        let follows = |it: &&Announce| it.follows().any(|whom| whom.id.0 == u64::from(leader));
        let misled = listeners.iter().filter(follows).count();
        [misled as f64 / listeners.len() as f64, world.tally().multicasts[bye] as f64]
    })
}

/// Checks queries: a member that joins asks for the leader.
fn queries(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let runs = budget.choose(300, 3_000);
    let election_timeout = time(0.3);
    // Queries pay where announcements are rare.
    let model = AnnounceModel {
        announce_interval: 10.0,
        ..AnnounceModel::of_the_chapter(50, MulticastLoss::None)
    };
    let ways = [
        Joining::Announce,
        Joining::SuppressThenQuery { election_timeout },
        Joining::Query { election_timeout },
    ];
    let with = |joining| Config { joining, ..config(Variant::LeS, &model) };
    let lesser = |joining| {
        let joins = Perturbation::LesserJoins;
        reestablished(budget, runs, joins, with(joining), &model, 40.0)
    };
    let [waited, suppressed, asked] = ways.map(lesser);
    let (waited, suppressed, asked) = (waited?, suppressed?, asked?);
    evidence
        .stated(
            "N = 50, T_A = 10, no loss, a lesser joiner: mean time until it knows, query against \
             announcement",
        )
        .below(&waited, &asked)
        .stated("the same: suppress-then-query against announcement")
        .below(&waited, &suppressed);
    let started = |joining| simultaneous_start(budget, runs / 3, with(joining), &model);
    let [announced, second, first] = ways.map(started);
    let (announced, second, first) = (announced?, second?, first?);
    evidence
        .stated("all start at once: mean messages, suppress-then-query against query")
        .below(&first[0], &second[0])
        .stated("the same: mean delay, query against suppress-then-query")
        .below(&second[1], &first[1])
        .ours("the same: mean messages, no query at all against suppress-then-query")
        .below(&second[0], &announced[0]);
    let [waited, suppressed, asked] = [&waited, &suppressed, &asked].map(shown);
    Ok(format!(
        "lesser joiner {waited}, by suppress-then-query {suppressed}, by query {asked}, at a \
         common start for {} messages",
        averages(&[announced[0], second[0], first[0]])
    ))
}

/// Returns the messages of all kinds until all have heard the leader, and the time at
/// which they have.
fn simultaneous_start(
    budget: &Budget,
    runs: u64,
    config: Config,
    model: &AnnounceModel,
) -> Result<[Sample; 2]> {
    budget.samples(runs, |seeds| {
        let mut world = group(config, model, seeds);
        // Short steps, so that later messages are not counted.
        converge(&mut world, time(model.delay));
        let end = world.trace().hearing.convergence;
        let messages: u64 = world.tally().multicasts.iter().sum();
        [messages as f64, end.map_or(f64::NAN, |end| end.delay.as_secs_f64())]
    })
}

/// Checks elections of several leaders at once.
fn several_leaders(budget: &Budget, evidence: &mut Evidence) -> Result<String> {
    let runs = budget.choose(100, 1_000);
    let model = AnnounceModel::of_the_chapter(20, MulticastLoss::Uncorrelated(0.4));
    let mut costs = Vec::new();
    for leaders in [1, 2, 3] {
        let config = Config { leaders, ..config(Variant::LeS, &model) };
        let results = budget.each(runs, |_, seeds| {
            let mut world = group(config, &model, seeds);
            let agreed = (0..1_000).any(|_| {
                world.run_until(world.now() + time(model.delay));
                all_know_the_best(&world, leaders)
            });
            let messages: u64 = world.tally().multicasts.iter().sum();
            let settled = world.now() + config.announce * 20;
            world.run_until(settled);
            let after: u64 = world.tally().multicasts.iter().sum();
            let stays =
                after - messages == 20 * u64::from(leaders) && all_know_the_best(&world, leaders);
            (agreed && stays, messages as f64)
        })?;
        let (agreed, messages): (Vec<bool>, Vec<f64>) = results.into_iter().unzip();
        evidence
            .stated(format!(
                "N = 20, loss 0.4, number of leaders {leaders}: all learn exactly that number of \
                 best members, which alone continue, one announcement each in T_A"
            ))
            .all_true(agreed);
        costs.push(sample_of(Kind::Number, messages));
    }
    evidence
        .ours("the same: mean messages until then, 2 leaders against 1, 3 against 2")
        .all_below(&costs[1..], &costs[..2]);
    Ok(format!("1, 2, 3 leaders: {} messages", averages(&costs)))
}

fn all_know_the_best(world: &World<Announce, Watch>, leaders: u32) -> bool {
    let members = u64::from(world.len());
    let best = members - u64::from(leaders)..members;
    (0..).zip(world.members()).all(|(me, member): (u64, &Announce)| {
        let own = member.leads().then_some(me);
        let mut known: Vec<u64> = member.follows().map(|it| it.id.0).chain(own).collect();
        known.sort_unstable();
        known.into_iter().eq(best.clone())
    })
}

/// Checks T_L = k T_A, with k from the loss that listeners measure.
fn listen_by_measured_loss(budget: &Budget, evidence: &mut Evidence) -> Result<()> {
    let runs = budget.choose(50, 500);
    for loss in [0.1, 0.3] {
        let model = AnnounceModel::of_the_chapter(10, MulticastLoss::Uncorrelated(loss));
        let fixed = listening(2.0, &model);
        let measured = Config { listen: Listen::Measured { miss: 1e-3 }, ..fixed };
        let astray = |config| all_listened(budget, runs, config, &model, 200.0);
        evidence
            .stated(format!(
                "N = 10, uncorrelated loss {loss}: fraction of time in which any member misses its \
                 leader, k by the loss measured against k = 2"
            ))
            .all_below(&[astray(fixed)?.0], &[astray(measured)?.0]);
    }
    Ok(())
}
