//! Council elections, host by host: one centre, and any number of hosts. Measures the cost until
//! the council is complete, or the cost of keeping it while hosts come and go.

mod council_log;

use std::collections::BTreeSet;

use hustings_protocol::config::ConfigError;
use hustings_protocol::council::{Algorithm, Centre, Config, Council, Knowledge, Refill};
use hustings_protocol::{Duration, Instant, Priority};
use rand_core::Rng;
use rand_distr::{Distribution, Exp};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{
    Boot, Detection, Network, Scratch, Seeds, Setup, Silent, Stream, Trace, Verb, Who, World,
};
use council_log::CouncilLog;

/// The centre; hosts have the following numbers.
pub const CENTRE: u32 = 0;
/// Nearly every election that ends at all ends within this number of rounds.
pub const MOST_ROUNDS: u64 = 100_000;

/// The parameters of one run.
#[derive(Debug, Clone)]
pub struct CouncilTrial {
    /// The number of hosts. Classes take turns: the first host is of the first class, and so on.
    pub hosts: u32,
    /// The election's configuration. Every message takes a quarter of a round.
    pub config: Config,
    /// The probability that a reply, or any other unicast, is lost.
    pub reply_loss: f64,
    /// The probability that a given host misses a multicast.
    pub multicast_loss: f64,
    /// Maximum number of rounds of an election. Does not apply to a council that is kept.
    pub most_rounds: u64,
}

impl CouncilTrial {
    /// Parameters without loss, where nearly every election ends.
    pub fn new(hosts: u32, config: Config) -> Self {
        Self { hosts, config, reply_loss: 0.0, multicast_loss: 0.0, most_rounds: MOST_ROUNDS }
    }

    /// Checks that the configuration works at this loss.
    ///
    /// # Errors
    /// Names the first option that does not.
    pub fn check(&self) -> Result<(), ConfigError> {
        let heard = (1.0 - self.multicast_loss) * (1.0 - self.reply_loss);
        self.config.check_where_heard(heard)
    }
}

/// The cost of electing a council, of all classes together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CouncilRun {
    /// Rounds, without the poll in which the centre counts the hosts. (The naive algorithm's poll
    /// counts.)
    pub rounds: u64,
    /// Replies sent in these rounds, lost ones included.
    pub messages: u64,
    /// Feedback messages, the poll's included.
    pub feedbacks: u64,
    /// The number of seated hosts; 0 if the election did not end.
    pub seats: u32,
    /// True if one round per class was enough.
    pub success_first_round: bool,
    /// The maximum number of replies to one feedback message, the poll's included.
    pub peak_replies: u64,
}

/// Executes one run.
///
/// # Panics
/// If it does not pass [`CouncilTrial::check`], there are no hosts, or a probability is out of
/// range.
pub fn elect(
    trial: &CouncilTrial,
    seeds: Seeds,
    scratch: Scratch<Council>,
) -> (CouncilRun, Scratch<Council>) {
    let (run, Silent, scratch) = elect_traced(trial, seeds, scratch, Silent, || true);
    (run, scratch)
}

/// Executes one run and records it. `goes_on` is called each round; if it returns false, the run
/// stops.
///
/// # Panics
/// As [`elect`].
pub fn elect_traced<T: Trace<Council>>(
    trial: &CouncilTrial,
    seeds: Seeds,
    scratch: Scratch<Council>,
    trace: T,
    goes_on: impl Fn() -> bool,
) -> (CouncilRun, T, Scratch<Council>) {
    let mut world = world(trial, seeds, scratch, trace);
    world.start(CENTRE);
    let is_polled =
        trial.config.knowledge == Knowledge::Polled && trial.config.algorithm != Algorithm::Naive;
    let most_rounds = trial.most_rounds + u64::from(is_polled);
    let limit = Instant::START + trial.config.round * most_rounds;
    while !centre(&world).is_settled() && world.now() < limit && goes_on() {
        let end = world.now() + trial.config.round;
        world.run_until(end);
    }
    let classes = trial.config.chambers.len();
    let polls = usize::from(is_polled) * classes;
    let seats = if centre(&world).is_settled() { centre(&world).seats().count() as u32 } else { 0 };
    let (mut council_log, scratch) = world.retire();
    // An election that is stopped has just begun another round.
    council_log.replies.truncate(most_rounds as usize * classes);
    let counted = council_log.replies.get(polls..).unwrap_or_default();
    let run = CouncilRun {
        rounds: counted.len() as u64,
        messages: counted.iter().sum(),
        feedbacks: council_log.replies.len() as u64,
        seats,
        success_first_round: seats > 0 && counted.len() <= classes,
        peak_replies: counted.iter().copied().max().unwrap_or(0),
    };
    (run, council_log.inner, scratch)
}

/// The contents of hosts' memories during an election, as the paper's bits: the memory of every
/// host after the feedback and replies of each round.
///
/// # Panics
/// As [`elect`].
pub fn remembered(trial: &CouncilTrial, seeds: Seeds) -> BTreeSet<u8> {
    let mut world = world(trial, seeds, Scratch::default(), Silent);
    world.start(CENTRE);
    let limit = Instant::START + trial.config.round * trial.most_rounds;
    let mut memories = BTreeSet::new();
    while !centre(&world).is_settled() && world.now() < limit {
        let end = world.now() + Duration(trial.config.round.0 / 2);
        world.run_until(end);
        let hosts = world.members().iter().filter_map(Council::as_host);
        memories.extend(hosts.map(|host| host.candidacy().memory().bits()));
    }
    memories
}

/// Crashes and returns of hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostChurn {
    /// Mean time between a host's crashes.
    pub crash_every: Duration,
    /// Mean time until a crashed host returns. It returns without state.
    pub gone_for: Duration,
}

/// A council that is kept for some time.
#[derive(Debug, Clone)]
pub struct Stay {
    /// The election, with a [`Config::lease`].
    pub trial: CouncilTrial,
    /// The duration.
    pub lasts: Duration,
    /// Crashes and returns of hosts.
    pub churn: Option<HostChurn>,
    /// The time at which the centre crashes and comes up again at once, if it does.
    pub centre_restarts: Option<Instant>,
    /// The start and duration of a partition between the centre and the hosts, if there is one.
    pub centre_cut_off: Option<(Instant, Duration)>,
}

impl Stay {
    /// 200 hosts that come and go, each gone one minute in eleven, at a message loss of one tenth.
    /// One of eight seats falls empty about every 100 seconds.
    ///
    /// # Panics
    /// If `config` has no lease.
    pub fn restless(mut config: Config, refill: Refill) -> Self {
        let lease = config.lease.as_mut();
        lease.expect("a council that is kept has leases").refill = refill;
        Self {
            trial: CouncilTrial {
                reply_loss: 0.1,
                multicast_loss: 0.1,
                ..CouncilTrial::new(200, config)
            },
            lasts: Duration::from_secs(2_000),
            churn: Some(HostChurn {
                crash_every: Duration::from_secs(600),
                gone_for: Duration::from_secs(60),
            }),
            centre_restarts: None,
            centre_cut_off: None,
        }
    }
}

/// The cost of keeping the council.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Upkeep {
    /// Replies sent.
    pub messages: u64,
    /// Feedback messages.
    pub feedbacks: u64,
    /// Heartbeats and their answers, seats and farewells.
    pub others: u64,
    /// The maximum number of replies to one feedback message.
    pub peak_replies: u64,
    /// The maximum number of seats that the centre reported.
    pub most_seats: u32,
    /// The maximum number of hosts that considered themselves seated at one time.
    pub most_seated: u32,
    /// The number of changes of the council.
    pub changes: u64,
    /// The fraction of the time, after the first election, in which the council was too small.
    pub short: f64,
}

/// Executes one run.
///
/// # Panics
/// As [`elect`]; or if a mean time is zero.
pub fn keep(stay: &Stay, seeds: Seeds, scratch: Scratch<Council>) -> (Upkeep, Scratch<Council>) {
    let mut world = world(&stay.trial, seeds, scratch, Silent);
    let end = Instant::START + stay.lasts;
    if let Some(churn) = stay.churn {
        schedule_churn(&mut world, churn, end, seeds);
    }
    if let Some(at) = stay.centre_restarts {
        let (who, keep_state) = (Who::one(CENTRE), true);
        world.schedule(at, Verb::Kill(who.clone()));
        world.schedule(at, Verb::Restart { who, keep_state });
    }
    if let Some((at, lasts)) = stay.centre_cut_off {
        let hosts = Who::Members((CENTRE + 1..world.len()).collect());
        world.schedule(at, Verb::Cut(vec![Who::one(CENTRE), hosts]));
        world.schedule(at + lasts, Verb::Heal);
    }
    world.start(CENTRE);
    world.run_until(end);
    let tally = *world.tally();
    let (council_log, scratch) = world.retire();
    let messages: u64 = council_log.replies.iter().sum();
    let feedbacks = council_log.replies.len() as u64;
    let upkeep = Upkeep {
        messages,
        feedbacks,
        others: tally.sent() - messages - feedbacks,
        peak_replies: council_log.replies.iter().copied().max().unwrap_or(0),
        most_seats: council_log.most_seats,
        most_seated: council_log.most_seated,
        changes: council_log.changes,
        short: council_log.short_until(end),
    };
    (upkeep, scratch)
}

fn world<T: Trace<Council>>(
    trial: &CouncilTrial,
    seeds: Seeds,
    scratch: Scratch<Council>,
    trace: T,
) -> World<Council, CouncilLog<T>> {
    let config = trial.config.clone();
    assert_eq!(trial.check(), Ok(()), "the configuration must be possible");
    assert!(trial.hosts > 0, "a council of no hosts");
    let classes = config.chambers.len() as u64;
    let delay = Duration((config.round.0 / 4).max(1));
    let setup = Setup {
        priorities: priorities(trial, seeds),
        network: Network::lossy(delay, trial.reply_loss, trial.multicast_loss),
        detection: Detection::Never,
        view: 1.0,
    };
    let council_log = CouncilLog::new(trial.hosts + 1, trace);
    World::within(scratch, setup, config, seeds, council_log, move |boot| make(boot, classes))
}

fn make(Boot { me, saved }: Boot<Council>, classes: u64) -> Council {
    if me.id.0 == u64::from(CENTRE) {
        return Council::centre(1, saved);
    }
    Council::host(((me.id.0 - 1) % classes) as u16)
}

/// Random priorities, if the algorithm uses them.
fn priorities(trial: &CouncilTrial, seeds: Seeds) -> Vec<Priority> {
    let members = trial.hosts as usize + 1;
    let mut rng = seeds.rng(Stream::Layout);
    if trial.config.algorithm == Algorithm::Priority {
        (0..members).map(|_| Priority(rng.next_u64())).collect()
    } else {
        vec![Priority(0); members]
    }
}

fn centre<T: Trace<Council>>(world: &World<Council, T>) -> &Centre {
    let centre = world.members()[CENTRE as usize].as_centre();
    centre.expect("the first member is made a centre")
}

/// Schedules every crash and return of each host.
fn schedule_churn<T: Trace<Council>>(
    world: &mut World<Council, T>,
    churn: HostChurn,
    end: Instant,
    seeds: Seeds,
) {
    let mut rng = seeds.rng(Stream::Faults);
    for host in CENTRE + 1..world.len() {
        let mut at = Instant::START;
        loop {
            at = at + span(churn.crash_every, &mut rng);
            if at >= end {
                break;
            }
            world.schedule(at, Verb::Kill(Who::one(host)));
            at = at + span(churn.gone_for, &mut rng);
            let (who, keep_state) = (Who::one(host), false);
            world.schedule(at, Verb::Restart { who, keep_state });
        }
    }
}

/// An exponential time with this mean.
fn span(mean: Duration, rng: &mut Xoshiro256PlusPlus) -> Duration {
    let law = Exp::new(1.0 / mean.as_secs_f64()).expect("a mean is above 0");
    Duration::from_secs_f64(law.sample(rng))
}
