//! Rivals: members that announce themselves while another is followed.

use hustings_protocol::announce::{Config, Joining, Listen, Message, Repeat, Takeover};
use hustings_protocol::{Candidate, Duration, Input, MemberId};
use hustings_sim::{Seeds, Stream};

use crate::desk::{announcement, seat};
use crate::group::{ANNOUNCE, DELAY, agreed, at, calm, field, is_query, world};
use crate::kin::Kin;
use crate::support::desk::Desk;
use crate::support::{below, choose, happens, ranked, script};
use crate::{Verdict, require};

const LEADER: u64 = 9;
const RIVAL: u64 = 8;
/// Several round trips.
const ELECTION_TIMEOUT: Duration = Duration(ANNOUNCE.0 / 20);
/// T_L without loss.
const SHORTEST: Duration = Duration(ANNOUNCE.0 / 2 * 5);

/// Field rules with intervals as agents have them: elections take little of T_A, and a member that
/// has measured little listens longer than others.
fn config(seed: u64) -> Config {
    let rng = &mut Seeds::new(seed, 1).rng(Stream::Layout);
    Config {
        suppress: ELECTION_TIMEOUT,
        listen: Listen::Measured { miss: 1e-6 },
        joining: Joining::SuppressThenQuery { election_timeout: ELECTION_TIMEOUT },
        takeover: choose(&[Takeover::Never, Takeover::ByTheBetter], rng),
        farewell: Repeat::Times(1),
        ..field()
    }
}

/// A member that has just restarted follows the next leader when the others do, although it would
/// listen longer by its assumption about the loss.
pub(crate) fn restarted_follower_is_as_quick_as_the_others<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Layout);
    let restarts = below(4, rng);
    let lost = 62_000 + below(10_000, rng);
    let scenario = format!("at 0s start all\nat 60s restart {restarts}\nat {lost}ms kill 4");
    let config = config(seed);
    let mut world = world::<P>(&ranked(5), calm(), config, seed, &script(&scenario));
    world.run_until(at(lost - 1));
    let before = agreed(&world, &config)?;
    // The first member wakes up, and a better one after it; the last question is answered, if at
    // all.
    let most = SHORTEST + config.suppress * 2 + ELECTION_TIMEOUT + DELAY * 4;
    world.run_until(at(lost) + most);
    let after = agreed(&world, &config).map_err(|what| format!("{what} after\n{scenario}"))?;
    require(before == [4] && after != [4], || {
        format!("{before:?} led, then {after:?}, after\n{scenario}")
    })
}

/// A member that has heard its leader at most `most` times, without loss, and just now.
fn follower<P: Kin>(most: u64, seed: u64) -> Desk<P> {
    let rng = &mut Seeds::new(seed, 2).rng(Stream::Layout);
    let me = Candidate::new(below(8, rng), below(9, rng));
    let mut desk = seat::<P>(me, config(seed), None, seed);
    desk.tell(Input::Start);
    for beat in 1..=1 + below(most, rng) as u32 {
        desk.wait(ANNOUNCE);
        desk.hear(LEADER, announcement(LEADER, 9, 1, beat, true));
    }
    desk
}

/// The rival announces itself for the `beat`th time; it is worse than the leader.
fn rival<P: Kin>(desk: &mut Desk<P>, beat: u32) {
    desk.hear(RIVAL, announcement(RIVAL, 8, 1, beat, false));
}

/// A leader that members hear is kept, regardless of other announcements and questions: now and
/// then one announcement is lost.
pub(crate) fn leader_that_is_heard_is_kept_beside_rivals<P: Kin>(seed: u64) -> Verdict {
    let mut desk = follower::<P>(40, seed);
    let rng = &mut Seeds::new(seed, 3).rng(Stream::Layout);
    let (mut beat, mut is_lost) = (100, false);
    for moment in 1..200 {
        desk.wait(Duration(ANNOUNCE.0 / 10));
        if moment % 10 == 0 {
            beat += 1;
            is_lost = !is_lost && happens(20, rng);
            if !is_lost {
                desk.hear(LEADER, announcement(LEADER, 9, 1, beat, true));
            }
        }
        match below(4, rng) {
            0 => rival(&mut desk, moment),
            1 => desk.hear(RIVAL, Message::Query),
            _ => {}
        }
        let names = desk.names();
        require(names == Some(MemberId(LEADER)), || format!("names {names:?} at {moment}"))?;
    }
    Ok(())
}

/// A leader that is overdue when a rival appears, and for which no member has asked, is asked for.
/// If it answers it is kept, and if not it is given up before T_L is over.
pub(crate) fn overdue_leader_is_asked_for_beside_a_rival<P: Kin>(seed: u64) -> Verdict {
    for answers in [true, false] {
        // So few announcements that by its assumption about the loss it would not ask yet.
        let mut desk = follower::<P>(15, seed);
        desk.wait(SHORTEST);
        let appears = desk.papers.now;
        rival(&mut desk, 1);
        require(desk.names() == Some(MemberId(LEADER)), || {
            format!("names {:?} unasked", desk.names())
        })?;
        desk.wait(ELECTION_TIMEOUT);
        let said = desk.papers.said.iter();
        let asked = said.filter(|(when, it)| *when >= appears && is_query(it));
        require(asked.count() == 1, || "does not ask".to_owned())?;
        if answers {
            desk.hear(LEADER, announcement(LEADER, 9, 1, 1_000, true));
        }
        desk.wait(ELECTION_TIMEOUT * 8);
        let names = desk.names();
        require((names == Some(MemberId(LEADER))) == answers, || {
            format!("names {names:?}, answered {answers}")
        })?;
    }
    Ok(())
}
