//! Newcomers: the time until they know the leader, and the cost of their questions.

use hustings_protocol::Duration;
use hustings_protocol::announce::{Announce, Config, Joining};
use hustings_sim::{Seeds, Stream};

use crate::group::{ANNOUNCE, DELAY, agreed, at, calm, field, is_query, world};
use crate::kin::Kin;
use crate::support::{below, choose, ranked, script};
use crate::{Verdict, require};

const ELECTION_TIMEOUT: Duration = Duration::from_millis(100);
/// The least time between two announcements of a leader that is asked.
const ANSWER_GAP: Duration = Duration::from_millis(100);

/// The time that the worst of five takes to follow the leader when it joins late.
fn newcomer<P: Kin>(seed: u64, joining: Joining) -> Option<Duration> {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Layout);
    let comes = 10_000 + below(1_000, rng);
    let scenario = format!("at 0s start 1-4\nat {comes}ms start 0");
    let config = Config { joining, ..field() };
    let mut world = world::<P>(&ranked(5), calm(), config, seed, &script(&scenario));
    world.run_until(at(comes + 5_000));
    let named = world.into_trace().named(0, 4, at(comes))?;
    Some(named - at(comes))
}

/// A newcomer that asks follows the leader after two delays and the answer gap, and its wake-up if
/// it waits for that first.
pub(crate) fn question_is_answered_at_once<P: Kin>(seed: u64) -> Verdict {
    // Longer than the answer may take, so that a newcomer without an answer fails the test.
    let election_timeout = ELECTION_TIMEOUT * 3;
    let asks = DELAY * 2 + ANSWER_GAP;
    for (joining, most) in [
        (Joining::Query { election_timeout }, asks),
        (Joining::SuppressThenQuery { election_timeout }, field().suppress + asks),
    ] {
        let took = newcomer::<P>(seed, joining);
        require(took.is_some_and(|took| took <= most), || {
            format!("{joining:?} took {took:?}, {most} at most")
        })?;
    }
    Ok(())
}

/// Mean times of a newcomer: asking beats waiting, with and without corrections.
#[test]
fn asking_beats_waiting() {
    let mean = |joining| {
        let runs = 200;
        let took = |seed| newcomer::<Announce>(seed, joining).expect("it follows");
        let sum: f64 = (0..runs).map(|seed| took(seed).as_secs_f64()).sum();
        sum / runs as f64
    };
    let election_timeout = ELECTION_TIMEOUT;
    let (query, then) = (
        mean(Joining::Query { election_timeout }),
        mean(Joining::SuppressThenQuery { election_timeout }),
    );
    let waits = mean(Joining::Announce);
    assert!(query < 0.04, "{query}");
    assert!(query < then && then < 0.3, "{then}");
    assert!(then <= waits + 0.02, "{waits}");
}

/// All join at once. If they ask at once each asks; after suppression only those ask that wake up
/// before the first announcement.
pub(crate) fn few_ask_after_suppression<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Layout);
    let members = choose(&[20, 50, 100], rng);
    let election_timeout = ELECTION_TIMEOUT;
    let asked = |joining| {
        let config = Config { joining, ..field() };
        let scenario = script("at 0s start all");
        let mut world = world::<P>(&ranked(members), calm(), config, seed, &scenario);
        world.run_until(at(5_000));
        let leaders = agreed(&world, &config);
        (leaders, world.into_trace().count(at(0), is_query))
    };
    let (leaders, all) = asked(Joining::Query { election_timeout });
    require(leaders == Ok(vec![members - 1]), || format!("{leaders:?}"))?;
    require(all == members as usize, || format!("{all} of {members} ask"))?;
    let (leaders, some) = asked(Joining::SuppressThenQuery { election_timeout });
    require(leaders == Ok(vec![members - 1]), || format!("{leaders:?}"))?;
    // A share (patience + delay) / T_S of all, and those better than the first announcer.
    require(some <= members as usize * 3 / 4, || {
        format!("{some} of {members} ask after suppression")
    })
}

/// A third of a hundred simultaneous joiners ask after suppression, on average.
#[test]
fn suppression_spares_most_questions() {
    let config = field();
    let queries = |seed| {
        let scenario = script("at 0s start all");
        let mut world = world::<Announce>(&ranked(100), calm(), config, seed, &scenario);
        world.run_until(at(3_000));
        world.tally().multicasts[1] as f64
    };
    let mean = (0..50).map(queries).sum::<f64>() / 50.0;
    assert!((15.0..45.0).contains(&mean), "{mean} of 100 ask");
    assert!(ANNOUNCE > config.suppress);
}
