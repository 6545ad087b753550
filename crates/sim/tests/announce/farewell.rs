//! Goodbyes: their number, and the time that they save.

use hustings_protocol::announce::{Announce, Config, Listen, Message, Repeat, repetitions};
use hustings_protocol::{Candidate, Duration, Input, MemberId};
use hustings_sim::{LossModel, Network, Seeds, Stream};

use crate::desk::{announcement, seat};
use crate::group::{ANNOUNCE, DELAY, agreed, at, calm, field, is_bye, is_complaint, lossy, world};
use crate::kin::Kin;
use crate::support::desk::Desk;
use crate::support::{below, choose, ranked, script};
use crate::{Verdict, require};

/// The time of an election after the old leader is known to be gone: its wake-up, its question, and
/// a delay each for the goodbye and the announcement.
fn election(config: &Config) -> Duration {
    config.suppress + ANNOUNCE.mul_f64(0.1) + DELAY * 4 + ANNOUNCE.mul_f64(0.1)
}

/// The time from the leader's departure until all agree on another one; `None` if longer than 20
/// T_A.
fn vacancy<P: Kin>(verb: &str, network: Network, config: Config, seed: u64) -> Option<Duration> {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Layout);
    let gone = 10_000 + below(1_000, rng);
    let scenario = script(&format!("at 0s start all\nat {gone}ms {verb} 5"));
    let mut world = world::<P>(&ranked(6), network, config, seed, &scenario);
    for millis in (gone..gone + 20_000).step_by(10) {
        world.run_until(at(millis));
        if agreed(&world, &config).is_ok_and(|leaders| leaders == [4]) {
            return Some(at(millis) - at(gone));
        }
    }
    None
}

/// A leader that says goodbye is replaced within T_S, the patience and a few delays.
pub(crate) fn goodbye_saves_the_listen_interval<P: Kin>(seed: u64) -> Verdict {
    let most = election(&field());
    let took = vacancy::<P>("leave", calm(), field(), seed);
    require(took.is_some_and(|took| took <= most), || {
        format!("{took:?} without a leader, {most} at most")
    })
}

/// A goodbye that is lost, or never sent, costs T_L more and does no harm.
pub(crate) fn lost_goodbye_costs_one_listen_interval<P: Kin>(seed: u64) -> Verdict {
    let config = Config { farewell: Repeat::Times(0), ..field() };
    let listen = ANNOUNCE.mul_f64(2.5);
    let most = listen + election(&config);
    let took = vacancy::<P>("leave", calm(), config, seed);
    // The leader had announced itself up to T_A ago; without loss members listen for 2.5 T_A.
    require(took.is_some_and(|took| took > ANNOUNCE && took <= most), || {
        format!("{took:?} without a leader, {most} at most")
    })
}

/// The permitted probability that a goodbye is missed, by the field's rules.
const MISS: f64 = 1e-3;
/// The best member leads from the start, so that it never measures the loss itself.
const BEST: u32 = 7;

/// A leader that never followed another repeats its goodbye according to the loss: once without
/// loss. (Up to twice more, because the followers' estimates vary; once less, while it tries a
/// smaller number.)
pub(crate) fn leader_learns_its_loss<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Layout);
    let loss = choose(&[0.0, 0.1, 0.2, 0.4], rng);
    let gone = 150_000 + below(200_000, rng);
    let scenario = script(&format!("at 0s start all\nat {gone}ms leave {BEST}"));
    let network = lossy(loss, LossModel::Uncorrelated);
    let mut world = world::<P>(&ranked(BEST + 1), network, field(), seed, &scenario);
    world.run_until(at(gone + 1_000));
    let byes = world.trace().count(at(gone), is_bye) as u32;
    let called_for = match loss {
        0.0 => 1..=1,
        _ => repetitions(loss, MISS) - 1..=repetitions(loss, MISS) + 2,
    };
    require(called_for.contains(&byes), || {
        format!("{byes} goodbyes at a loss of {loss}, not {called_for:?}")
    })
}

/// Few of any number of members that hear a leader badly complain: some dozens until it has
/// learnt, and one in ten T_A later on.
pub(crate) fn few_members_complain<P: Kin>(seed: u64) -> Verdict {
    let members = 1_000;
    let network = lossy(0.4, LossModel::Uncorrelated);
    let scenario = script("at 0s start all");
    let mut world = world::<P>(&ranked(members), network, field(), seed, &scenario);
    let (learnt, end) = (at(60_000), at(300_000));
    world.run_until(end);
    let steady = world.trace().count(learnt, is_complaint);
    let first = world.trace().count(at(0), is_complaint) - steady;
    require(first <= 50 && steady <= 24, || {
        format!("{first} complaints until the leader has learnt, {steady} in 240 T_A after that")
    })
}

/// A member with a fixed number of goodbyes sends that number, and no member complains.
pub(crate) fn fixed_number_of_goodbyes_is_not_disputed<P: Kin>(seed: u64) -> Verdict {
    let times = below(5, &mut Seeds::new(seed, 0).rng(Stream::Layout)) as u32;
    let config = Config { farewell: Repeat::Times(times), ..field() };
    let scenario = script(&format!("at 0s start all\nat 50s leave {BEST}"));
    let network = lossy(0.4, LossModel::Uncorrelated);
    let mut world = world::<P>(&ranked(BEST + 1), network, config, seed, &scenario);
    world.run_until(at(50_100));
    let log = world.trace();
    let (byes, complaints) = (log.count(at(0), is_bye), log.count(at(0), is_complaint));
    require(byes as u32 == times && complaints == 0, || {
        format!("{byes} goodbyes for {times}, {complaints} complaints")
    })
}

/// A complaint counts only for the leader that it is about.
pub(crate) fn complaints_count_for_their_subject_only<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Layout);
    let me = below(3, rng);
    let mut desk = seat::<P>(Candidate::new(me, 5), field(), None, seed);
    desk.tell(Input::Start);
    desk.wait(ANNOUNCE * 2);
    let about = MemberId(below(3, rng));
    desk.hear(9, Message::Complaint { about, byes: 12 });
    desk.tell(Input::Leave);
    let said = desk.papers.said.iter();
    let byes = said.filter(|(_, message)| is_bye(message)).count() as u32;
    let expected = if about == MemberId(me) { 12 } else { repetitions(field().assumed_loss, MISS) };
    require(byes == expected, || {
        format!("{me} says {byes} goodbyes after a complaint about {about}, not {expected}")
    })
}

/// With goodbyes repeated according to the loss, hardly a listener misses them all: most groups
/// agree again before they would even miss the old leader. (Not all: the new leader's announcements
/// get lost as well.)
#[test]
fn under_loss_goodbyes_get_through() {
    for loss in [0.1, 0.3] {
        let runs = 100;
        let quick = |seed: &u64| {
            let network = lossy(loss, LossModel::Uncorrelated);
            let took = vacancy::<Announce>("leave", network, field(), *seed);
            took.is_some_and(|took| took < ANNOUNCE * 2)
        };
        let count = (0..runs).filter(quick).count();
        let silent = |seed: &u64| {
            let network = lossy(loss, LossModel::Uncorrelated);
            let took = vacancy::<Announce>("kill", network, field(), *seed);
            took.is_some_and(|took| took < ANNOUNCE * 2)
        };
        let without = (0..runs).filter(silent).count();
        assert!(
            count >= without + runs as usize / 2,
            "loss {loss}: {count} of {runs}, without goodbyes {without}"
        );
    }
}

/// A member that has measured the loss as a follower repeats its goodbye accordingly.
#[test]
fn goodbyes_follow_the_loss_that_was_measured() {
    let byes = |missed: u32, miss: f64| {
        let config = Config { farewell: Repeat::Measured { miss }, ..field() };
        let mut desk = seat::<Announce>(Candidate::new(9, 1), config, None, 0);
        desk.tell(Input::Start);
        for heard in 1..200 {
            desk.hear(0, announcement(0, 5, 1, heard * (missed + 1), true));
        }
        desk.hear(0, Message::Bye { incarnation: 1 });
        desk.wait(ANNOUNCE);
        assert_eq!(desk.names(), Some(MemberId(9)));
        let loss = desk.member.loss(config.assumed_loss);
        desk.tell(Input::Leave);
        let said = desk.papers.said.iter();
        let byes = said.filter(|(_, message)| is_bye(message)).count() as u32;
        assert_eq!(byes, repetitions(loss, miss), "loss {loss}");
        byes
    };
    assert_eq!(byes(0, 1e-3), 2);
    assert_eq!(byes(1, 1e-3), 10);
    assert_eq!(byes(1, 1e-2), 7);
    assert_eq!(byes(3, 1e-3), 21);
}

/// A member that leaves while its complaint is due, and comes back, can complain again.
#[test]
fn a_complaint_cut_short_by_leaving_is_made_after_a_return() {
    let mut desk = seat::<Announce>(Candidate::new(9, 1), field(), None, 0);
    let complaints = |desk: &Desk<Announce>| {
        let said = desk.papers.said.iter();
        said.filter(|(_, message)| is_complaint(message)).count()
    };
    desk.tell(Input::Start);
    // Every second announcement is missed: three goodbyes are too few, and a complaint is due
    // within T_A.
    for heard in 1..10 {
        desk.hear(0, announcement(0, 5, 1, heard * 2, true));
    }
    desk.tell(Input::Leave);
    desk.wait(ANNOUNCE * 2);
    assert_eq!(complaints(&desk), 0, "it left before");
    desk.tell(Input::Start);
    desk.hear(0, announcement(0, 5, 1, 20, true));
    desk.wait(ANNOUNCE);
    assert_eq!(complaints(&desk), 1);
}

#[test]
fn only_leaders_say_goodbye() {
    let scenario = script("at 0s start all\nat 5s leave 0-4\nat 6s leave 5");
    let mut world = world::<Announce>(&ranked(6), calm(), field(), 0, &scenario);
    world.run_until(at(5_999));
    assert_eq!(world.tally().multicasts[2], 0);
    world.run_until(at(7_000));
    assert_eq!(world.tally().multicasts[2], 3, "loss 0.1, miss 0.001");
}

/// A member that left may come back, even without its disk, and even if members never time out.
#[test]
fn a_goodbye_is_forgotten_even_without_a_listen_interval() {
    let config = Config {
        listen: Listen::Never,
        farewell: Repeat::Times(3),
        ..Config::paper(ANNOUNCE, ANNOUNCE)
    };
    let scenario = script("at 0s start all\nat 10s leave 5\nat 12s restart 5 fresh");
    let mut world = world::<Announce>(&ranked(6), calm(), config, 0, &scenario);
    world.run_until(at(11_900));
    assert_eq!(agreed(&world, &config).ok(), Some(vec![4]));
    world.run_until(at(20_000));
    assert_eq!(agreed(&world, &config).ok(), Some(vec![5]));
}
