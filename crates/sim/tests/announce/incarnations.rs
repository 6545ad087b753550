//! Restarts and goodbyes: messages of an earlier incarnation, or from before a goodbye, have no
//! effect.

use hustings_protocol::announce::{Config, Listen, Message, Takeover};
use hustings_protocol::{Candidate, Duration, Input, MemberId};
use hustings_sim::{Seeds, Stream};

use crate::desk::{announcement, seat};
use crate::group::{ANNOUNCE, DELAY, agreed, at, calm, field, world};
use crate::kin::Kin;
use crate::support::desk::Desk;
use crate::support::{below, choose, happens, ranked, script};
use crate::{Verdict, require};

/// A member that the one under test hears.
#[derive(Clone, Copy)]
struct Other {
    id: u64,
    priority: u64,
    incarnation: u32,
    beat: u32,
    led_for: u32,
}

/// A member hears several leaders come, restart and go. Repeated messages that it knows to be stale
/// have no effect: it neither speaks nor changes its nominee, at once or later.
pub(crate) fn stale_messages_change_nothing<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Faults);
    let config = Config {
        takeover: choose(&[Takeover::Never, Takeover::ByTheBetter], rng),
        leaders: choose(&[1, 1, 2], rng),
        listen: Listen::For(ANNOUNCE * 5),
        ..field()
    };
    let me = Candidate::new(9, below(6, rng));
    let mut desk = seat::<P>(me, config, None, seed);
    desk.tell(Input::Start);
    let mut others: Vec<Other> = (0..2)
        .map(|id| Other { id, priority: below(6, rng), incarnation: 1, beat: 0, led_for: 0 })
        .collect();
    let mut past: Vec<(u64, Message)> = Vec::new();
    for _ in 0..60 {
        let at = below(others.len() as u64, rng) as usize;
        let other = &mut others[at];
        match below(8, rng) {
            0 => {
                other.incarnation += 1;
                (other.beat, other.led_for) = (0, 0);
            }
            1 => {
                let incarnation = other.incarnation;
                desk.hear(other.id, Message::Bye { incarnation });
                other.incarnation += 1;
                (other.beat, other.led_for) = (0, 0);
            }
            _ => {}
        }
        other.beat += 1;
        other.led_for += 1;
        let Other { id, priority, .. } = *other;
        let is_established = other.led_for > 2;
        let now = announcement(id, priority, other.incarnation, other.beat, is_established);
        desk.hear(id, now);
        let follows = desk.member.honest().follows();
        let known: Vec<u64> = follows.map(|it| it.id.0).collect();
        let stale = |(from, message): &&(u64, Message)| *from == id && *message != now;
        if known.contains(&id) {
            for &(from, message) in past.iter().filter(stale) {
                replay(&mut desk, from, message)?;
            }
        }
        past.push((id, now));
        desk.wait(Duration::from_millis(below(900, rng)));
        if happens(10, rng) {
            desk.hear(7, Message::Query);
        }
    }
    Ok(())
}

fn replay<P: Kin>(desk: &mut Desk<P>, from: u64, message: Message) -> Verdict {
    let names = desk.names();
    let said = desk.papers.said.len();
    let known = desk.member.honest().clone();
    desk.hear(from, message);
    require(
        desk.names() == names && desk.papers.said.len() == said && *desk.member.honest() == known,
        || format!("{names:?} was named; {message:?} of {from} made a difference"),
    )
}

/// Announcements from before a leader's goodbye do not bring it back.
pub(crate) fn goodbye_is_final<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Faults);
    let config =
        Config { takeover: choose(&[Takeover::Never, Takeover::ByTheBetter], rng), ..field() };
    let mut desk = seat::<P>(Candidate::new(9, 1), config, None, seed);
    desk.tell(Input::Start);
    let incarnation = 1 + below(4, rng) as u32;
    desk.hear(0, announcement(0, 5, incarnation, 7, true));
    require(desk.names() == Some(MemberId(0)), || "a better one leads".to_owned())?;
    // Two more goodbyes, so that the first is not the last.
    for id in [0, 1, 2] {
        let incarnation = if id == 0 { incarnation } else { 1 };
        desk.hear(id, Message::Bye { incarnation });
    }
    for _ in 0..10 {
        let beat = 1 + below(9, rng) as u32;
        let earlier = incarnation - below(u64::from(incarnation), rng) as u32;
        desk.hear(0, announcement(0, 5, earlier, beat, happens(50, rng)));
        require(desk.names() != Some(MemberId(0)), || {
            format!("incarnation {earlier} of 0 is believed after the goodbye of {incarnation}")
        })?;
        desk.wait(Duration::from_millis(below(200, rng)));
    }
    desk.hear(0, announcement(0, 5, incarnation + 1, 1, false));
    require(desk.names() == Some(MemberId(0)), || "the next incarnation is believed".to_owned())
}

/// A leader that comes back without its disk, and so with an earlier incarnation than the group
/// remembers, is followed again after T_L, T_S and T_A, regardless of how it left.
pub(crate) fn leader_without_its_disk_is_followed_again<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Faults);
    let config = field();
    let goes = choose(&["kill", "leave"], rng);
    let back = 20_100 + below(3_000, rng);
    let scenario = format!(
        "at 0s start all\nat 5s restart 4\nat 10s restart 4\nat 20s {goes} 4\nat {back}ms restart 4 fresh"
    );
    let mut world = world::<P>(&ranked(5), calm(), config, seed, &script(&scenario));
    let listen = ANNOUNCE.mul_f64(2.5);
    world.run_until(at(back) + listen + config.suppress + ANNOUNCE + DELAY * 4);
    let leaders = agreed(&world, &config).map_err(|what| format!("{what} after\n{scenario}"))?;
    require(leaders == [4], || format!("{leaders:?} lead after\n{scenario}"))
}

/// A member that restarts again and again makes the others change their leader once each time it is
/// the best and takes over; without takeover, not at all.
pub(crate) fn flapping_is_bounded<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Faults);
    let takeover = choose(&[Takeover::Never, Takeover::ByTheBetter], rng);
    let config = Config { takeover, ..field() };
    let restarts = 4 + below(6, rng);
    // Gone for long enough that another member leads, and is established.
    let mut scenario = "at 0s start all\nat 10s kill 4\n".to_owned();
    let mut millis = 20_000;
    for _ in 0..restarts {
        let stays = 300 + below(4_000, rng);
        scenario += &format!("at {millis}ms restart 4\nat {}ms kill 4\n", millis + stays);
        millis += stays + choose(&[300, 1_000, 8_000], rng);
    }
    let mut world = world::<P>(&ranked(5), calm(), config, seed, &script(&scenario));
    world.run_until(at(millis + 10_000));
    let log = world.into_trace();
    for member in 0..4 {
        let changes = log.changes(member, at(19_999));
        let to_it = changes.iter().filter(|it| **it == Some(MemberId(4)));
        let most = match takeover {
            Takeover::Never => 0,
            Takeover::ByTheBetter => restarts as usize,
        };
        require(to_it.count() <= most, || {
            format!("{restarts} restarts, {member} names {changes:?} after\n{scenario}")
        })?;
        require(takeover == Takeover::ByTheBetter || changes.is_empty(), || {
            format!("{member} names {changes:?} after\n{scenario}")
        })?;
    }
    Ok(())
}

/// A late announcement of a dead member is believed for T_L, and no longer.
#[test]
fn dead_member_is_followed_for_one_listen_interval() {
    use hustings_protocol::announce::Announce;
    let listen = Listen::For(ANNOUNCE * 3);
    let config = Config { listen, ..field() };
    let mut desk = seat::<Announce>(Candidate::new(9, 1), config, None, 0);
    desk.tell(Input::Start);
    desk.wait(ANNOUNCE);
    assert_eq!(desk.names(), Some(MemberId(9)));
    desk.hear(0, announcement(0, 5, 1, 1, true));
    assert_eq!(desk.names(), Some(MemberId(0)));
    desk.wait(Duration(ANNOUNCE.0 * 3 - 1));
    assert_eq!(desk.names(), Some(MemberId(0)));
    desk.wait(Duration(1));
    assert_eq!(desk.names(), None);
    desk.wait(ANNOUNCE);
    assert_eq!(desk.names(), Some(MemberId(9)));
}

/// A goodbye ends its incarnation and earlier ones; a late goodbye of an earlier incarnation has no
/// effect.
#[test]
fn goodbye_ends_its_incarnation_and_earlier_ones() {
    use hustings_protocol::announce::Announce;
    for (incarnation, left) in [(1, Some(MemberId(0))), (2, None), (3, None)] {
        let mut desk = seat::<Announce>(Candidate::new(9, 1), field(), None, 0);
        desk.tell(Input::Start);
        desk.hear(0, announcement(0, 5, 2, 1, true));
        desk.hear(0, Message::Bye { incarnation });
        assert_eq!(desk.names(), left, "goodbye of incarnation {incarnation}");
    }
}

/// Each restart with a disk is a new incarnation, and announced as such; without it, the first
/// again.
#[test]
fn incarnations_are_counted() {
    use hustings_protocol::announce::Announce;
    let scenario = "at 0s start all\nat 5s restart 1\nat 10s restart 1\nat 15s restart 1 fresh";
    let mut world = world::<Announce>(&ranked(2), calm(), field(), 0, &script(scenario));
    world.run_until(at(20_000));
    let said = world.into_trace().said.into_iter();
    let mut incarnations: Vec<u32> = said
        .filter_map(|(_, from, message)| match message {
            Message::Announcement { claim, .. } if from == 1 => Some(claim.incarnation),
            Message::Announcement { .. } | Message::Query => None,
            Message::Bye { .. } | Message::Complaint { .. } => None,
        })
        .collect();
    incarnations.dedup();
    assert_eq!(incarnations, [1, 2, 3, 1]);
}
