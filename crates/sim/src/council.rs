//! Council elections, host by host: one centre, any number of hosts, and what it took until the council stood, or to
//! keep it for a while where hosts come and go.

mod minutes;

use std::collections::BTreeSet;

use hustings_protocol::config::ConfigError;
use hustings_protocol::council::{Algorithm, Centre, Config, Council, Knowledge, Refill};
use hustings_protocol::{Duration, Instant, Merit};
use rand_core::Rng;
use rand_distr::{Distribution, Exp};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{
    Boot, Delay, Detection, Network, Scratch, Seeds, Setup, Silent, Stream, Trace, Verb, Who, World,
};
use minutes::Minutes;

/// The centre; hosts have the numbers that follow.
pub const CENTRE: u32 = 0;
/// In so many rounds nearly every election ends that ever does.
pub const MOST_ROUNDS: u64 = 100_000;

/// What one run is to be.
#[derive(Debug, Clone)]
pub struct Trial {
    /// How many hosts there are. Where there are classes they take turns: the first is of the first class, and so on.
    pub hosts: u32,
    /// How the election is held. Every message takes a quarter of a round.
    pub config: Config,
    /// The probability that a reply, or any other unicast, is lost.
    pub reply_loss: f64,
    /// The probability that one host misses a multicast.
    pub multicast_loss: f64,
    /// An election is given up after so many rounds; a council that is kept is not.
    pub most_rounds: u64,
}

impl Trial {
    /// Nothing gets lost, and nearly every election comes to its end.
    pub fn new(hosts: u32, config: Config) -> Self {
        Self {
            hosts,
            config,
            reply_loss: 0.0,
            multicast_loss: 0.0,
            most_rounds: MOST_ROUNDS,
        }
    }

    /// Whether the configuration can work where so much gets lost.
    ///
    /// # Errors
    /// Names the first option that cannot.
    pub fn check(&self) -> Result<(), ConfigError> {
        let heard = (1.0 - self.multicast_loss) * (1.0 - self.reply_loss);
        self.config.check_where_heard(heard)
    }
}

/// What it took to have a council, of all classes together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// Rounds, without the poll that tells the centre how many hosts there are. (The naive algorithm's is counted.)
    pub rounds: u64,
    /// Replies sent in them, lost ones included.
    pub messages: u64,
    /// Feedback messages, the poll's included.
    pub feedbacks: u64,
    /// How many are seated. None if there was no end to it.
    pub seats: u32,
    /// Whether one of these rounds was enough.
    pub success_first_round: bool,
    /// The most replies to one feedback message, the poll's included.
    pub peak_replies: u64,
}

/// Does one run.
///
/// # Panics
/// If it does not pass [`Trial::check`], there are no hosts, or a probability is none.
pub fn elect(trial: &Trial, seeds: Seeds, scratch: Scratch<Council>) -> (Run, Scratch<Council>) {
    let (run, Silent, scratch) = elect_traced(trial, seeds, scratch, Silent, || true);
    (run, scratch)
}

/// Does one run and records it, for as long as `goes_on` says so, which is asked each round: if it does not, the run is cut
/// off.
///
/// # Panics
/// As [`elect`].
pub fn elect_traced<T: Trace<Council>>(
    trial: &Trial,
    seeds: Seeds,
    scratch: Scratch<Council>,
    trace: T,
    goes_on: impl Fn() -> bool,
) -> (Run, T, Scratch<Council>) {
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
    let seats = match centre(&world).is_settled() {
        true => centre(&world).seats().count() as u32,
        false => 0,
    };
    let (mut minutes, scratch) = world.retire();
    // Whoever is given up has just begun another.
    minutes.replies.truncate(most_rounds as usize * classes);
    let counted = minutes.replies.get(polls..).unwrap_or_default();
    let run = Run {
        rounds: counted.len() as u64,
        messages: counted.iter().sum(),
        feedbacks: minutes.replies.len() as u64,
        seats,
        success_first_round: seats > 0 && counted.len() <= classes,
        peak_replies: counted.iter().copied().max().unwrap_or(0),
    };
    (run, minutes.inner, scratch)
}

/// What hosts remember in the course of an election, as bits of the paper's: whatever any of them had in memory when feedback and
/// replies had come.
///
/// # Panics
/// As [`elect`].
pub fn remembered(trial: &Trial, seeds: Seeds) -> BTreeSet<u8> {
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

/// How hosts come and go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Churn {
    /// How often a host crashes, on average.
    pub crash_every: Duration,
    /// How long it is gone then, on average. It comes back knowing nothing.
    pub gone_for: Duration,
}

/// A council that is kept for a while.
#[derive(Debug, Clone)]
pub struct Stay {
    /// With a [`Config::lease`].
    pub trial: Trial,
    /// For how long.
    pub lasts: Duration,
    /// How hosts come and go.
    pub churn: Option<Churn>,
    /// Whether and when the centre crashes, to be up again at once.
    pub centre_restarts: Option<Instant>,
    /// Whether, when and for how long the centre and the hosts do not hear each other.
    pub centre_cut_off: Option<(Instant, Duration)>,
}

impl Stay {
    /// 200 hosts that come and go, each gone a minute in eleven, where a tenth of all messages is lost: of eight seats one falls
    /// empty every 100 seconds or so.
    ///
    /// # Panics
    /// If `config` has no lease.
    pub fn restless(mut config: Config, refill: Refill) -> Self {
        let lease = config.lease.as_mut();
        lease.expect("a council that is kept has leases").refill = refill;
        Self {
            trial: Trial {
                reply_loss: 0.1,
                multicast_loss: 0.1,
                ..Trial::new(200, config)
            },
            lasts: Duration::from_secs(2_000),
            churn: Some(Churn {
                crash_every: Duration::from_secs(600),
                gone_for: Duration::from_secs(60),
            }),
            centre_restarts: None,
            centre_cut_off: None,
        }
    }
}

/// What it took to keep it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Upkeep {
    /// Replies sent.
    pub messages: u64,
    /// Feedback messages.
    pub feedbacks: u64,
    /// Heartbeats and their answers, seats and farewells.
    pub others: u64,
    /// The most replies to one feedback message.
    pub peak_replies: u64,
    /// The most seats that the centre told of.
    pub most_seats: u32,
    /// The most hosts that held themselves to be seated at one time.
    pub most_seated: u32,
    /// How often the council changed.
    pub changes: u64,
    /// The part of the time, after the first election, in which it was too small.
    pub short: f64,
}

/// Does one run.
///
/// # Panics
/// As [`elect`]; or if a mean time is nothing.
pub fn keep(stay: &Stay, seeds: Seeds, scratch: Scratch<Council>) -> (Upkeep, Scratch<Council>) {
    let mut world = world(&stay.trial, seeds, scratch, Silent);
    let end = Instant::START + stay.lasts;
    if let Some(churn) = stay.churn {
        come_and_go(&mut world, churn, end, seeds);
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
    let (minutes, scratch) = world.retire();
    let sent: u64 = tally.unicasts.iter().chain(&tally.multicasts).sum();
    let messages: u64 = minutes.replies.iter().sum();
    let feedbacks = minutes.replies.len() as u64;
    let upkeep = Upkeep {
        messages,
        feedbacks,
        others: sent - messages - feedbacks,
        peak_replies: minutes.replies.iter().copied().max().unwrap_or(0),
        most_seats: minutes.most_seats,
        most_seated: minutes.most_seated,
        changes: minutes.changes,
        short: minutes.short_until(end),
    };
    (upkeep, scratch)
}

fn world<T: Trace<Council>>(
    trial: &Trial,
    seeds: Seeds,
    scratch: Scratch<Council>,
    trace: T,
) -> World<Council, Minutes<T>> {
    let config = trial.config.clone();
    assert_eq!(trial.check(), Ok(()), "the configuration must be possible");
    assert!(trial.hosts > 0, "a council of no hosts");
    let classes = config.chambers.len() as u64;
    let setup = Setup {
        merits: merits(trial, seeds),
        network: Network {
            unicast_loss: trial.reply_loss,
            multicast_loss: trial.multicast_loss,
            ..Network::perfect(Delay::Constant(Duration((config.round.0 / 4).max(1))))
        },
        detection: Detection::Never,
        view: 1.0,
    };
    let minutes = Minutes::new(trial.hosts + 1, trace);
    World::within(scratch, setup, config, seeds, minutes, move |boot| {
        make(boot, classes)
    })
}

fn make(Boot { me, saved }: Boot<Council>, classes: u64) -> Council {
    if me.id.0 == u64::from(CENTRE) {
        return Council::centre(1, saved);
    }
    Council::host(((me.id.0 - 1) % classes) as u16)
}

/// By chance, where they matter.
fn merits(trial: &Trial, seeds: Seeds) -> Vec<Merit> {
    let members = trial.hosts as usize + 1;
    let mut rng = seeds.rng(Stream::Layout);
    match trial.config.algorithm {
        Algorithm::Merit => (0..members).map(|_| Merit(rng.next_u64())).collect(),
        Algorithm::Naive
        | Algorithm::Basic
        | Algorithm::SkipReset
        | Algorithm::Choice(_, _)
        | Algorithm::History { .. }
        | Algorithm::Bolot => vec![Merit(0); members],
    }
}

fn centre<T: Trace<Council>>(world: &World<Council, T>) -> &Centre {
    let centre = world.members()[CENTRE as usize].as_centre();
    centre.expect("the first member is made a centre")
}

/// Enters when each host crashes and comes back.
fn come_and_go<T: Trace<Council>>(
    world: &mut World<Council, T>,
    churn: Churn,
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

/// Memoryless, with this mean.
fn span(mean: Duration, rng: &mut Xoshiro256PlusPlus) -> Duration {
    let law = Exp::new(1.0 / mean.as_secs_f64()).expect("a mean is above 0");
    Duration::from_secs_f64(law.sample(rng))
}
