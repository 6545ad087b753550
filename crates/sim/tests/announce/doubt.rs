//! Leaders that fall silent: they are asked for, and named until nobody has answered.

use hustings_protocol::announce::{Config, Repeat};
use hustings_protocol::{Candidate, Duration, Input, Instant, MemberId};
use hustings_sim::{Seeds, Stream};

use crate::desk::{announcement, seat};
use crate::group::{ANNOUNCE, at, calm, field, is_query, world};
use crate::kin::Kin;
use crate::support::desk::Desk;
use crate::support::{below, ranked, script};
use crate::{Verdict, require};

const LEADER: u64 = 9;
/// That of [`field`].
const PATIENCE: Duration = Duration(ANNOUNCE.0 / 10);

/// A member that has heard its leader for a while, and just now.
fn follower<P: Kin>(seed: u64) -> (Desk<P>, Duration) {
    let rng = &mut Seeds::new(seed, 1).rng(Stream::Layout);
    let me = Candidate::new(below(9, rng), 5);
    let config = Config {
        // What nobody calls for is not said.
        farewell: Repeat::Times(1),
        ..field()
    };
    let mut desk = seat::<P>(me, config, None, seed);
    desk.tell(Input::Start);
    for beat in 1..=1 + below(20, rng) as u32 {
        desk.wait(ANNOUNCE);
        desk.hear(LEADER, announcement(LEADER, 9, 1, beat, true));
    }
    let listen = desk.member.honest().listen_interval(&config);
    (desk, listen.expect("the field listens"))
}

fn questions<P: Kin>(desk: &Desk<P>, since: Instant) -> Vec<Duration> {
    let said = desk.papers.said.iter();
    said.filter(|(when, message)| *when >= since && is_query(message))
        .map(|(when, _)| *when - since)
        .collect()
}

/// It is asked for when an announcement is overdue, one time each `patience`, and named for T_L; then nobody is left
/// to ask.
pub(crate) fn a_silent_leader_is_asked_for_and_named<P: Kin>(seed: u64) -> Verdict {
    let (mut desk, listen) = follower::<P>(seed);
    let heard = desk.papers.now;
    desk.wait(Duration(listen.0 - 1));
    require(desk.names() == Some(MemberId(LEADER)), || {
        format!("names {:?} before T_L is over", desk.names())
    })?;
    let asked = questions(&desk, heard);
    require(asked.len() >= 5, || format!("asked {asked:?}"))?;
    let in_time = asked[0] >= Duration(listen.0 - ANNOUNCE.0)
        && asked[asked.len() - 1] <= Duration(listen.0 - PATIENCE.0);
    let apart = asked
        .windows(2)
        .all(|two| two[1].0 - two[0].0 >= PATIENCE.0);
    require(in_time && apart, || format!("asked {asked:?} of {listen}"))?;
    desk.wait(Duration(1));
    require(desk.names().is_none(), || "misses nobody".to_owned())?;
    desk.wait(field().suppress);
    require(desk.member.honest().leads(), || "does not lead".to_owned())?;
    let more = questions(&desk, heard + listen);
    require(more.is_empty(), || format!("asked {more:?} nobody"))
}

/// One that answers is not missed, and is not asked for again until it falls silent again.
pub(crate) fn an_answer_ends_the_doubt<P: Kin>(seed: u64) -> Verdict {
    let (mut desk, listen) = follower::<P>(seed);
    let heard = desk.papers.now;
    let rng = &mut Seeds::new(seed, 2).rng(Stream::Layout);
    desk.wait(Duration(listen.0 - 1 - below(PATIENCE.0, rng)));
    desk.hear(LEADER, announcement(LEADER, 9, 1, 1_000, true));
    let answered = desk.papers.now;
    desk.wait(Duration(listen.0 - ANNOUNCE.0));
    let names = desk.names();
    require(names == Some(MemberId(LEADER)), || {
        format!("names {names:?}")
    })?;
    let (doubts, more) = (questions(&desk, heard), questions(&desk, answered));
    require(!doubts.is_empty() && more.is_empty(), || {
        format!("asked {doubts:?}, then {more:?}")
    })
}

/// Who did not run cannot know whether anybody was silent: it asks first, and waits as long as ever for answers.
pub(crate) fn one_that_overslept_asks_first<P: Kin>(seed: u64) -> Verdict {
    let (mut desk, listen) = follower::<P>(seed);
    desk.oversleep(listen + ANNOUNCE);
    let woke = desk.papers.now;
    desk.wait(PATIENCE * 4);
    let (names, asked) = (desk.names(), questions(&desk, woke));
    require(names == Some(MemberId(LEADER)) && asked.len() >= 3, || {
        format!("names {names:?}, asked {asked:?}")
    })?;
    desk.wait(ANNOUNCE);
    require(desk.names() != Some(MemberId(LEADER)), || {
        "waits for ever".to_owned()
    })
}

/// Of many who miss a leader few ask: the others hear them.
pub(crate) fn few_ask_for_a_silent_leader<P: Kin>(seed: u64) -> Verdict {
    const MEMBERS: u32 = 200;
    let scenario = script(&format!("at 0s start all\nat 10s kill {}", MEMBERS - 1));
    let mut world = world::<P>(&ranked(MEMBERS), calm(), field(), seed, &scenario);
    world.run_until(at(20_000));
    let asked = world.trace().count(at(10_000), is_query);
    // Each of seven times, who is not reached in time by the first to ask: a tenth of all, and some.
    require((7..=7 * 30).contains(&asked), || format!("{asked} ask"))
}
