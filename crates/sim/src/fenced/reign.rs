//! Many elections in a row, with faults: what they cost, and whether tenure keeps its promise.

use hustings_protocol::probabilistic::{self, GroupSize, Joining, Strategy};
use hustings_protocol::{Duration, Instant, MemberId, Merit, tenure};
use rand_core::Rng;

use super::{Config, Fenced, Message, Registry, Request};
use crate::{Delay, Detection, Network, Seeds, Setup, Stream, Verb, Who, World};

const HOP: Duration = Duration::from_millis(10);
const TTL: Duration = Duration::from_secs(1);
const VOTERS: u64 = 5;
/// K of the first round. At a fifth lost even a member of a hundred thousand hears one of so many.
pub const FIRST_K: u32 = 28;
/// From one election to the next: three rounds take less, and so does a tenure that nobody renews.
const APART: Duration = Duration::from_secs(6);
/// Crashes happen by then: a first round is over and its nominee has asked for tenure.
const STRICKEN: Duration = Duration::from_millis(400);
/// One in so many crashes in an election, of those who vote, relay or are named; and of all.
const KEY_MEMBERS: u64 = 4;
const MEMBERS: u32 = 1_000;

/// Who of a group votes. Of equal merit, the lower number is the better candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voters {
    /// The five best: whoever is elected nearly always votes, as in a group that is hardly larger.
    Best,
    /// Five with as many members between any two of them: whoever is elected hardly ever votes, as in a large group.
    Spread,
}

impl Voters {
    /// Their numbers, in ascending order.
    fn of(self, members: u32) -> Vec<u32> {
        let members = u64::from(members);
        let place = |voter: u64| match self {
            Self::Best => voter as u32,
            Self::Spread => (members * (2 * voter + 1) / (2 * VOTERS)) as u32,
        };
        (0..VOTERS).map(place).collect()
    }
}

/// What many elections in a row came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reign {
    /// Messages of the election, for each election.
    pub election_messages: f64,
    /// Messages about tenure, renewals included, for each election.
    pub tenure_messages: f64,
    /// How many tenures there were.
    pub tenures: u64,
    /// Of these, those of members that vote.
    pub tenures_of_voters: u64,
    /// Who crashed.
    pub crashes: Crashes,
}

/// How many crashed; who is several of these counts for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Crashes {
    /// All of them.
    pub members: u64,
    /// While they held tenure.
    pub holders: u64,
    /// While whoever had called the election named them.
    pub nominees: u64,
    /// Of those who vote.
    pub voters: u64,
    /// While they relayed.
    pub relaying: u64,
}

impl Crashes {
    /// Those of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            members: self.members + other.members,
            holders: self.holders + other.holders,
            nominees: self.nominees + other.nominees,
            voters: self.voters + other.voters,
            relaying: self.relaying + other.relaying,
        }
    }
}

/// Holds so many elections among `members` with five voters, where every message may be lost. At some time in each of
/// them one in four of the voters, of those who relay just then, and of those whom the caller names, and one in a
/// thousand of all crash; in every other one the holder does too. All come back. Else the holder lives, and whom the
/// election names meanwhile must not have what it holds.
///
/// # Panics
/// If two hold at once, or a fence does not rise.
pub fn reign(members: u32, voters: Voters, elections: u64, loss: f64, seeds: Seeds) -> Reign {
    let voters = voters.of(members);
    let ids = voters.iter().map(|&it| MemberId(u64::from(it))).collect();
    let field = probabilistic::Config::field(3, HOP, HOP);
    let config = Config {
        election: probabilistic::Config {
            size: GroupSize::Known(u64::from(members)),
            joining: Joining::Call,
            check: None,
            again: None,
            strategy: Strategy {
                first: FIRST_K,
                ..field.strategy
            },
            ..field
        },
        tenure: tenure::Config::field(ids, TTL, HOP * 5),
    };
    let setup = Setup {
        merits: vec![Merit(0); members as usize],
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
        let begin = world.now(); // when something happened last, up to then
        let caller = below(members, &mut rng);
        world.request(caller, Request::Call);
        let at = begin + Duration(rng.next_u64() % STRICKEN.0);
        world.run_until(at);
        let (dead, who) = stricken(&world, &voters, caller, election % 2 == 0, &mut rng);
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
    Reign {
        election_messages: (all - about_tenure) as f64 / elections as f64,
        tenure_messages: about_tenure as f64 / elections as f64,
        tenures: world.trace().tenures(),
        tenures_of_voters: voters.iter().map(|&it| world.trace().tenures_of(it)).sum(),
        crashes,
    }
}

/// Who crashes now, in ascending order.
fn stricken(
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
