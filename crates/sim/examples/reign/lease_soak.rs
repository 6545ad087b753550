//! A soak test of leases: many elections in a row, with faults. It measures their cost and checks
//! the promise of tenure.

use hustings_protocol::probabilistic::{self, GroupSize, StartAction, Strategy};
use hustings_protocol::{Duration, Instant, MemberId, Priority, tenure};
use hustings_sim::{Delay, Detection, Network, Seeds, Setup, Stream, Verb, Who, World};
use rand_core::Rng;

use crate::fenced::{Config, Fenced, Message, Registry, Request};

const HOP: Duration = Duration::from_millis(10);
const TTL: Duration = Duration::from_secs(1);
const VOTERS: u64 = 5;
/// K of the first round. At a loss of one fifth, each of 100,000 members hears at least one of this
/// many relays.
pub(crate) const FIRST_K: u32 = 28;
/// The interval between elections. Three rounds take less, and so does a tenure without renewals.
const APART: Duration = Duration::from_secs(6);
/// Crashes happen within this time: a first round is over and its nominee has asked for tenure.
const CRASH_WINDOW: Duration = Duration::from_millis(400);
/// In an election, 1 in `KEY_MEMBERS` of the voters, relays and nominees crashes, and 1 in
/// `MEMBERS` of all.
const KEY_MEMBERS: u64 = 4;
const MEMBERS: u32 = 1_000;

/// The choice of voters. At equal priority, the lower number is the better candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voters {
    /// The five best: the elected member nearly always votes, as in a group that is hardly larger.
    #[cfg_attr(not(test), expect(dead_code, reason = "only the test has such voters"))]
    Best,
    /// Five evenly spread members: the elected member hardly ever votes, as in a large group.
    Spread,
}

impl Voters {
    /// The voters' numbers, ascending.
    fn of(self, members: u32) -> Vec<u32> {
        let members = u64::from(members);
        let place = |voter: u64| match self {
            Self::Best => voter as u32,
            Self::Spread => (members * (2 * voter + 1) / (2 * VOTERS)) as u32,
        };
        (0..VOTERS).map(place).collect()
    }
}

/// The result of many elections in a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LeaseSoak {
    /// Mean messages of the election, per election.
    pub(crate) election_messages: f64,
    /// Mean messages about tenure, renewals included, per election.
    pub(crate) tenure_messages: f64,
    /// The number of tenures.
    pub(crate) tenures: u64,
    /// The number of tenures of voters.
    pub(crate) tenures_of_voters: u64,
    /// The crashes.
    pub(crate) crashes: Crashes,
}

/// Numbers of crashes. A member counts in every category that it belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Crashes {
    /// All members.
    pub(crate) members: u64,
    /// Members that held tenure.
    pub(crate) holders: u64,
    /// Members that were the nominee of the election's caller.
    pub(crate) nominees: u64,
    /// Voters.
    pub(crate) voters: u64,
    /// Members that were relaying.
    pub(crate) relaying: u64,
}

impl Crashes {
    /// The sum of both.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            members: self.members + other.members,
            holders: self.holders + other.holders,
            nominees: self.nominees + other.nominees,
            voters: self.voters + other.voters,
            relaying: self.relaying + other.relaying,
        }
    }
}

/// Holds `elections` elections among `members` with five voters, where every message may be lost.
///
/// At a random time in each election these crash: one in four of the voters, of the present relays
/// and of the caller's nominees, and one in a thousand of all. In every other election the holder
/// crashes too. All come back. Otherwise the holder stays up, and the election's nominee must not
/// get the tenure that the holder has.
///
/// # Panics
/// If two members hold tenure at once, or a fence does not rise.
pub(crate) fn lease_soak(
    members: u32,
    voters: Voters,
    elections: u64,
    loss: f64,
    seeds: Seeds,
) -> LeaseSoak {
    let voters = voters.of(members);
    let ids = voters.iter().map(|&it| MemberId(u64::from(it))).collect();
    let field = probabilistic::Config::field(3, HOP, HOP);
    let config = Config {
        election: probabilistic::Config {
            size: GroupSize::Known(u64::from(members)),
            joining: StartAction::Call,
            check: None,
            again: None,
            strategy: Strategy { first: FIRST_K, ..field.strategy },
            ..field
        },
        tenure: tenure::Config::field(ids, TTL, HOP * 5),
    };
    let setup = Setup {
        priorities: vec![Priority(0); members as usize],
        network: Network {
            unicast_loss: loss,
            multicast_loss: loss,
            ..Network::perfect(Delay::Constant(HOP))
        },
        detection: Detection::Oracle,
        view: 0.5,
    };
    let of_voters = config.tenure.clone();
    let make = move |boot| Fenced::new(&boot, &of_voters);
    let mut world = World::traced(setup, config, seeds, Registry::default(), make);
    let mut rng = seeds.rng(Stream::Faults);
    for member in 0..members {
        world.start(member);
    }
    let mut crashes = Crashes::default();
    for election in 0..elections {
        world.run_until(Instant::START + APART * election);
        let begin = world.now(); // the time of the last event up to then
        let caller = below(members, &mut rng);
        world.request(caller, Request::Call);
        let at = begin + Duration(rng.next_u64() % CRASH_WINDOW.0);
        world.run_until(at);
        let (dead, who) = draw_crashes(&world, &voters, caller, election % 2 == 0, &mut rng);
        crashes = crashes.and(who);
        world.schedule(at, Verb::Kill(Who::Members(dead.clone())));
        let back = begin + Duration(APART.0 / 2);
        let (who, keep_state) = (Who::Members(dead), true);
        world.schedule(back, Verb::Restart { who, keep_state });
    }
    world.run_until(Instant::START + APART * elections);
    let tally = world.tally();
    let all: u64 = tally.unicasts.iter().chain(&tally.multicasts).sum();
    let about_tenure = tally.unicasts[Message::TENURE];
    LeaseSoak {
        election_messages: (all - about_tenure) as f64 / elections as f64,
        tenure_messages: about_tenure as f64 / elections as f64,
        tenures: world.trace().tenures(),
        tenures_of_voters: voters.iter().map(|&it| world.trace().tenures_of(it)).sum(),
        crashes,
    }
}

/// The members that crash now, ascending.
fn draw_crashes(
    world: &World<Fenced, Registry>,
    voters: &[u32],
    caller: u32,
    with_holder: bool,
    rng: &mut impl Rng,
) -> (Vec<u32>, Crashes) {
    let holder = world.trace().holder().map(|(holder, _)| holder);
    let named = world.members()[caller as usize].election.leader();
    let nominee = named.map(|it| it.id.0 as u32);
    let relays = |member: u32| world.members()[member as usize].election.relays();
    let votes = |member: u32| voters.contains(&member);
    let others = (0..world.len()).filter(|&member| relays(member) && !votes(member));
    let mut dead: Vec<u32> = (voters.iter().copied())
        .chain(others)
        .chain(nominee)
        .filter(|_| rng.next_u64().is_multiple_of(KEY_MEMBERS))
        .collect();
    dead.extend((0..world.len().div_ceil(MEMBERS)).map(|_| below(world.len(), rng)));
    dead.extend(holder.filter(|_| with_holder));
    dead.sort_unstable();
    dead.dedup();
    dead.retain(|&member| world.is_up(member));
    let count = |is: &dyn Fn(u32) -> bool| dead.iter().filter(|&&member| is(member)).count() as u64;
    let crashes = Crashes {
        members: dead.len() as u64,
        holders: count(&|member| holder == Some(member)),
        nominees: count(&|member| nominee == Some(member)),
        voters: count(&votes),
        relaying: count(&relays),
    };
    (dead, crashes)
}

fn below(bound: u32, rng: &mut impl Rng) -> u32 {
    (rng.next_u64() % u64::from(bound)) as u32
}
