//! Skipping messages that members ignore changes nothing but the running time.

use hustings_protocol::announce::{Announce, Config, Criterion, Message, Wake};
use hustings_protocol::announce_listen::{self, AnnounceListen};
use hustings_protocol::suppression::{self, Suppression};
use hustings_protocol::{Duration, ElectionOutcome, Instant, Simulated};
use hustings_sim::announcing::priorities;
use hustings_sim::convergence::{Convergence, Expected, Watch};
use hustings_sim::{Boot, Delay, Detection, LossModel, Network, Seeds, Setup, Verb, Who, World};

const SECOND: Duration = Duration::from_secs(1);

/// The metrics of a run, and the number of messages handled.
type Outcome = (Option<Convergence>, u64, u64, u64);

/// Runs for 30 seconds, with or without skipping.
fn run<P: Simulated<Message = Message, Outcome = ElectionOutcome> + 'static>(
    members: u32,
    spare: bool,
    (config, loss, expected): (P::Config, f64, Expected),
    seed: u64,
    make: fn(Boot<P>) -> P,
) -> Outcome {
    let setup = Setup {
        priorities: priorities(members),
        network: Network {
            multicast_loss: loss,
            loss_model: LossModel::Correlated,
            ..Network::perfect(Delay::Constant(Duration::from_millis(100)))
        },
        detection: Detection::Never,
        view: 1.0,
    };
    let watch = Watch::new(members, expected);
    let mut world = World::traced(setup, config, Seeds::new(seed, 0), watch, make);
    if !spare {
        // Any verb but `start` disables skipping.
        world.schedule(Instant::START, Verb::Heal);
    }
    world.schedule(Instant::START, Verb::Start(Who::All));
    world.run_until(Instant::START + SECOND * 30);
    let delivered = world.tally().delivered;
    let hearing = &world.trace().hearing;
    let changes = world.trace().agreement.changes;
    (hearing.convergence, hearing.messages(), changes, delivered)
}

/// Asserts that skipping changes no result, and skips something. A member that no longer takes
/// part, as in suppression, does not count as hearing: then there is no leader that all must hear.
fn assert_alike<P: Simulated<Message = Message, Outcome = ElectionOutcome> + 'static>(
    config: P::Config,
    expected: Option<Expected>,
    make: fn(Boot<P>) -> P,
) where
    P::Config: Copy,
{
    let heard = expected.unwrap_or(Expected::FirstAnnouncer);
    for seed in 0..40 {
        for loss in [0.0, 0.3] {
            let all = run(30, false, (config, loss, heard), seed, make);
            let spared = run(30, true, (config, loss, heard), seed, make);
            assert_eq!((all.1, all.2), (spared.1, spared.2), "seed {seed}");
            if expected.is_some() {
                assert_eq!(all.0, spared.0, "seed {seed}");
            }
            assert!(spared.3 < all.3, "{} of {} deliveries", spared.3, all.3);
        }
    }
}

const ANNOUNCE: fn(Boot<Announce>) -> Announce = |boot| Announce::new(boot.saved);

#[test]
fn elections_are_the_same() {
    let paper = Config::paper(SECOND, SECOND);
    let best = Some(Expected::Member(29));
    assert_alike(paper, best, ANNOUNCE);
    assert_alike(Config::paper(Duration::ZERO, SECOND), best, ANNOUNCE);
    let criterion = Criterion::EarliestWake;
    let earliest = Config { criterion, ..paper };
    assert_alike(earliest, Some(Expected::FirstAnnouncer), ANNOUNCE);
}

#[test]
fn baselines_are_the_same() {
    let sup = suppression::Config { suppress: SECOND, wake: Wake::Uniform };
    assert_alike(sup, None, |_: Boot<Suppression>| Suppression::default());
    let al = announce_listen::Config { announce: SECOND, listen: None };
    assert_alike(al, Some(Expected::Member(29)), |_: Boot<AnnounceListen>| {
        AnnounceListen::default()
    });
}

#[test]
fn work_grows_with_the_members_not_with_their_square() {
    let config = Config::paper(SECOND, SECOND);
    let handled = |members| {
        let (convergence, messages, _, delivered) =
            run(members, true, (config, 0.1, Expected::Member(members - 1)), 1, ANNOUNCE);
        assert!(convergence.is_some());
        (messages, delivered as f64 / f64::from(members))
    };
    let (few_messages, few) = handled(1_000);
    let (many_messages, many) = handled(100_000);
    // The announcements are a tenth of the members, and each member handles the logarithm of them.
    assert!(many_messages > 50 * few_messages);
    assert!(many < 2.5 * few, "{few} and {many} messages a member");
}

#[test]
fn member_state_is_small() {
    // The guide states the memory of a million members.
    assert!(size_of::<Announce>() <= 136, "{}", size_of::<Announce>());
}
