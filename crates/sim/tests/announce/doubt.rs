//! Leaders that fall silent: followers ask for them, and keep them until no answer came.

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
/// The patience of [`field`].
const ELECTION_TIMEOUT: Duration = Duration(ANNOUNCE.0 / 10);

/// A member that has heard its leader for a while, and just now.
fn follower<P: Kin>(seed: u64) -> (Desk<P>, Duration) {
    let rng = &mut Seeds::new(seed, 1).rng(Stream::Layout);
    let me = Candidate::new(below(9, rng), 5);
    let config = Config {
        // With one farewell there are no complaints.
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

/// Followers ask for the leader when an announcement is overdue, once per `election_timeout`, and keep it
/// for T_L. After that they do not ask.
pub(crate) fn silent_leader_is_asked_for_and_kept<P: Kin>(seed: u64) -> Verdict {
    let (mut desk, listen) = follower::<P>(seed);
    let heard = desk.papers.now;
    desk.wait(Duration(listen.0 - 1));
    require(desk.names() == Some(MemberId(LEADER)), || {
        format!("names {:?} before T_L is over", desk.names())
    })?;
    let asked = questions(&desk, heard);
    require(asked.len() >= 5, || format!("asked {asked:?}"))?;
    let in_time = asked[0] >= Duration(listen.0 - ANNOUNCE.0)
        && asked[asked.len() - 1] <= Duration(listen.0 - ELECTION_TIMEOUT.0);
    let apart = asked.windows(2).all(|two| two[1].0 - two[0].0 >= ELECTION_TIMEOUT.0);
    require(in_time && apart, || format!("asked {asked:?} of {listen}"))?;
    desk.wait(Duration(1));
    require(desk.names().is_none(), || "keeps its leader after T_L".to_owned())?;
    desk.wait(field().suppress);
    require(desk.member.honest().leads(), || "does not lead".to_owned())?;
    let more = questions(&desk, heard + listen);
    require(more.is_empty(), || format!("asked {more:?} without a leader"))
}

/// A leader that answers is kept, and is not asked for again until it falls silent again.
pub(crate) fn answer_ends_the_suspicion<P: Kin>(seed: u64) -> Verdict {
    let (mut desk, listen) = follower::<P>(seed);
    let heard = desk.papers.now;
    let rng = &mut Seeds::new(seed, 2).rng(Stream::Layout);
    desk.wait(Duration(listen.0 - 1 - below(ELECTION_TIMEOUT.0, rng)));
    desk.hear(LEADER, announcement(LEADER, 9, 1, 1_000, true));
    let answered = desk.papers.now;
    desk.wait(Duration(listen.0 - ANNOUNCE.0));
    let names = desk.names();
    require(names == Some(MemberId(LEADER)), || format!("names {names:?}"))?;
    let (doubts, more) = (questions(&desk, heard), questions(&desk, answered));
    require(!doubts.is_empty() && more.is_empty(), || format!("asked {doubts:?}, then {more:?}"))
}

/// A member that was paused cannot know if the leader was silent: it asks first, and waits as long
/// as usual for answers.
pub(crate) fn paused_member_asks_first<P: Kin>(seed: u64) -> Verdict {
    let (mut desk, listen) = follower::<P>(seed);
    desk.oversleep(listen + ANNOUNCE);
    let woke = desk.papers.now;
    desk.wait(ELECTION_TIMEOUT * 4);
    let (names, asked) = (desk.names(), questions(&desk, woke));
    require(names == Some(MemberId(LEADER)) && asked.len() >= 3, || {
        format!("names {names:?}, asked {asked:?}")
    })?;
    desk.wait(ANNOUNCE);
    require(desk.names() != Some(MemberId(LEADER)), || "waits for ever".to_owned())
}

/// Few of many members that miss a leader ask: the others hear them.
pub(crate) fn few_ask_for_a_silent_leader<P: Kin>(seed: u64) -> Verdict {
    const MEMBERS: u32 = 200;
    let scenario = script(&format!("at 0s start all\nat 10s kill {}", MEMBERS - 1));
    let mut world = world::<P>(&ranked(MEMBERS), calm(), field(), seed, &scenario);
    world.run_until(at(20_000));
    let asked = world.trace().count(at(10_000), is_query);
    // Seven times, the members that the first question does not reach in time: a tenth of all, and
    // some.
    require((7..=7 * 30).contains(&asked), || format!("{asked} ask"))
}
