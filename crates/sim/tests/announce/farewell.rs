//! Goodbyes: how often they are said, and what they save.

use hustings_protocol::announce::{Announce, Config, Listen, Message, Repeat, repetitions};
use hustings_protocol::{Candidate, Duration, Input, MemberId};
use hustings_sim::{LossModel, Network, Seeds, Stream};

use crate::desk::{Desk, announcement};
use crate::group::{ANNOUNCE, DELAY, agreed, at, calm, field, is_bye, lossy, world};
use crate::kin::Kin;
use crate::support::{below, ranked, script};
use crate::{Verdict, require};

/// What a new leader needs once the old one is known to be gone: its wake-up, its question, and a
/// delay each for the goodbye and the announcement.
fn election(config: &Config) -> Duration {
    config.suppress + ANNOUNCE.mul_f64(0.1) + DELAY * 4 + ANNOUNCE.mul_f64(0.1)
}

/// How long after the leader went all agree on another one; none if longer than 20 T_A.
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
pub(crate) fn a_goodbye_spares_the_listen_interval<P: Kin>(seed: u64) -> Verdict {
    let most = election(&field());
    let took = vacancy::<P>("leave", calm(), field(), seed);
    require(took.is_some_and(|took| took <= most), || {
        format!("{took:?} without a leader, {most} at most")
    })
}

/// A goodbye that is lost, or never said, costs T_L more and no harm.
pub(crate) fn a_lost_goodbye_is_healed_by_listening<P: Kin>(seed: u64) -> Verdict {
    let config = Config {
        farewell: Repeat::Times(0),
        ..field()
    };
    let listen = ANNOUNCE.mul_f64(3.5);
    let most = listen + election(&config);
    let took = vacancy::<P>("leave", calm(), config, seed);
    // The leader had announced itself up to T_A ago; without loss members listen for 2.5 T_A.
    require(
        took.is_some_and(|took| took > ANNOUNCE && took <= most),
        || format!("{took:?} without a leader, {most} at most"),
    )
}

/// With goodbyes repeated as the loss calls for, hardly a listener misses them all: most groups agree
/// again before the old leader would even be missed. (Not all: the new one's announcements get lost
/// as well.)
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

/// A member that has measured the loss as a follower says goodbye as often as that calls for.
#[test]
fn goodbyes_follow_the_loss_that_was_measured() {
    let byes = |missed: u32, miss: f64| {
        let config = Config {
            farewell: Repeat::Measured { miss },
            ..field()
        };
        let mut desk = Desk::<Announce>::new(Candidate::new(9, 1), config, None, 0);
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

#[test]
fn only_leaders_say_goodbye() {
    let scenario = script("at 0s start all\nat 5s leave 0-4\nat 6s leave 5");
    let mut world = world::<Announce>(&ranked(6), calm(), field(), 0, &scenario);
    world.run_until(at(5_999));
    assert_eq!(world.tally().multicasts[2], 0);
    world.run_until(at(7_000));
    assert_eq!(world.tally().multicasts[2], 3, "loss 0.1, miss 0.001");
}

/// Who left may come back, and without its disk: also where nobody is ever missed.
#[test]
fn a_goodbye_is_forgotten_even_without_a_listen_interval() {
    let config = Config {
        listen: Listen::Never,
        farewell: Repeat::Times(3),
        ..Config::chapter(ANNOUNCE, ANNOUNCE)
    };
    let scenario = script("at 0s start all\nat 10s leave 5\nat 12s restart 5 fresh");
    let mut world = world::<Announce>(&ranked(6), calm(), config, 0, &scenario);
    world.run_until(at(11_900));
    assert_eq!(agreed(&world, &config).ok(), Some(vec![4]));
    world.run_until(at(20_000));
    assert_eq!(agreed(&world, &config).ok(), Some(vec![5]));
}
