//! The network's effect on messages. Tolerances are 4.5 standard deviations of the count.

use hustings_protocol::{Duration, Priority};
use hustings_sim::{Boot, Delay, Detection, LossModel, Network, Reordering, Seeds, Setup, Tally};

use crate::puppet::{Act, Cue, Puppet, Script};
use crate::support::{Experiment, UNIT, group, ranked, script, units};
use crate::{only, play, play_in};

/// The delays of the two paths of a multicast: to all at one time, or to each at its own.
const DELAYS: [Delay; 2] =
    [Delay::Constant(UNIT), Delay::Uniform { from: Duration::ZERO, to: UNIT }];

/// The message counts when member 0 of `members` starts.
fn tally(members: u32, network: Network, acts: Script) -> Tally {
    let experiment = Experiment {
        setup: Setup { network, ..group(ranked(members), Detection::Never) },
        scenario: script("at 0s start 0"),
        limit: units(100),
    };
    let make = |boot: Boot<Puppet>| Puppet(boot.saved);
    experiment.run(acts, Seeds::new(5, 0), make).tally
}

fn assert_near(count: u64, tries: u64, probability: f64) {
    let expected = tries as f64 * probability;
    let deviation = (tries as f64 * probability * (1.0 - probability)).sqrt();
    assert!(
        (count as f64 - expected).abs() <= 4.5 * deviation,
        "{count}, not {expected} +- 4.5 x {deviation}"
    );
}

#[test]
fn multicast_reaches_all_but_its_sender_and_counts_once() {
    for delay in DELAYS {
        let tally = tally(6, Network::perfect(delay), |_, cue| match cue {
            Cue::Start => vec![Act::Multicast(7)],
            _ => vec![],
        });
        assert_eq!((tally.multicasts[0], tally.delivered), (1, 5));
    }
    let lines = play(3, Detection::Never, "at 0s start 1", |_, cue| match cue {
        Cue::Start => vec![Act::Multicast(7)],
        _ => vec![],
    });
    assert_eq!(only("gets", &lines), ["1.000s  0 gets 7 from 1", "1.000s  2 gets 7 from 1"]);
}

#[test]
fn multicasts_are_lost_per_receiver_or_by_all_together() {
    const CASTS: u64 = 3_000;
    for delay in DELAYS {
        let network =
            |loss_model| Network { multicast_loss: 0.3, loss_model, ..Network::perfect(delay) };
        let casts: Script = |_, cue| match cue {
            Cue::Start => vec![Act::Multicast(7); CASTS as usize],
            _ => vec![],
        };
        let alone = tally(51, network(LossModel::Uncorrelated), casts);
        assert_near(alone.delivered, 50 * CASTS, 0.7);
        assert!(!alone.delivered.is_multiple_of(50), "losses are independent");
        let together = tally(51, network(LossModel::Correlated), casts);
        assert!(together.delivered.is_multiple_of(50), "all or none");
        assert_near(together.delivered / 50, CASTS, 0.7);
        assert_eq!(together.multicasts[0], CASTS, "lost ones count");
    }
}

#[test]
fn unicasts_are_lost_and_duplicated_as_stated() {
    const SENT: u64 = 100_000;
    for delay in DELAYS {
        let sends: Script = |_, cue| match cue {
            Cue::Start => vec![Act::Send(1, 7); SENT as usize],
            _ => vec![],
        };
        let lossy = Network { unicast_loss: 0.2, ..Network::perfect(delay) };
        let tallied = tally(2, lossy, sends);
        assert_near(tallied.delivered, SENT, 0.8);
        assert_eq!(tallied.unicasts[0], SENT, "lost ones count");
        let doubling = Network { duplicate: 0.1, ..Network::perfect(delay) };
        let tallied = tally(2, doubling, sends);
        assert_near(tallied.delivered - SENT, SENT, 0.1);
        assert_eq!(tallied.unicasts[0], SENT, "copies do not count");
    }
}

#[test]
fn messages_are_reordered_only_if_held_back() {
    let order = |probability| {
        let by = UNIT * 5;
        let network = Network {
            reordering: Reordering { probability, by },
            ..Network::perfect(Delay::Constant(UNIT))
        };
        let setup = Setup { network, ..group(ranked(2), Detection::Never) };
        let lines = play_in(setup, "at 0s start 0", |_, cue| match cue {
            Cue::Start => (0..1_000).map(|number| Act::Send(1, number)).collect(),
            Cue::Got(number) => vec![Act::Show(number)],
            _ => vec![],
        });
        let rounds = lines.iter().filter_map(|line| line.split_once("round "));
        rounds.map(|(_, number)| number.parse().expect("a round is a number")).collect::<Vec<u32>>()
    };
    assert!(order(0.0).is_sorted());
    let overtaken = order(0.3);
    let in_order = overtaken.windows(2).filter(|pair| pair[0] < pair[1]).count();
    assert!(in_order < 990, "{in_order} of 999 in order");
    assert_eq!(overtaken.len(), 1_000, "late, not lost");
}

#[test]
fn message_to_an_unknown_member_is_lost() {
    let lines = play(2, Detection::Never, "at 0s start 0", |_, cue| match cue {
        Cue::Start => vec![Act::Send(9, 7)],
        _ => vec![],
    });
    assert_eq!(lines[1..], ["0.000s  0 -> 9 7", "0.000s  lost: 0 -> 9"]);
}

#[test]
fn partial_views_hold_the_stated_share_and_are_stable() {
    const MEMBERS: u64 = 400;
    let setup = Setup { view: 0.3, ..group(vec![Priority(0); MEMBERS as usize], Detection::Never) };
    let scenario = "at 0s start all\nat 1s start all";
    let lines = play_in(setup, scenario, |_, cue| match cue {
        Cue::Start => vec![Act::ShowView],
        _ => vec![],
    });
    let rounds = only("stands", &lines);
    let (first, second) = rounds.split_at(MEMBERS as usize);
    let known = |line: &String| -> u64 {
        let (_, round) = line.split_once("round ").expect("it stands in a round");
        round.parse().expect("a round is a number")
    };
    let others: u64 = first.iter().map(|line| known(line) - 1).sum();
    assert_near(others, MEMBERS * (MEMBERS - 1), 0.3);
    assert!(first.iter().map(known).eq(second.iter().map(known)));
}
