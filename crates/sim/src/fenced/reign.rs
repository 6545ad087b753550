//! Many elections in a row, with faults: what they cost, and whether tenure keeps its promise.

use hustings_protocol::probabilistic::{self, GroupSize, Joining, LastRound, Strategy};
use hustings_protocol::{Duration, Instant, MemberId, Merit, tenure};
use rand_core::Rng;

use super::{Config, Fenced, Message, Registry, Request};
use crate::{Delay, Detection, Network, Seeds, Setup, Stream, Verb, Who, World};

const HOP: Duration = Duration::from_millis(10);
const TTL: Duration = Duration::from_secs(1);
const VOTERS: u32 = 5;
/// K of the first round. At a fifth lost even a member of a hundred thousand hears one of so many.
pub const FIRST_K: u32 = 28;
/// From one election to the next: five rounds take less, and so does a tenure that nobody renews.
const APART: Duration = Duration::from_secs(6);

/// What many elections in a row came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reign {
    /// Messages of the election, for each election.
    pub election_messages: f64,
    /// Messages about tenure, renewals included, for each election.
    pub tenure_messages: f64,
    /// How many tenures there were.
    pub tenures: u64,
}

/// Holds so many elections among `members` with five voters, where every message may be lost. In every other one the
/// holder dies, and some others in each, voters among them; all come back. Else the holder lives, and whom the election
/// names meanwhile must not have what it holds.
///
/// # Panics
/// If two hold at once, or a fence does not rise.
pub fn reign(members: u32, elections: u64, loss: f64, seeds: Seeds) -> Reign {
    let voters = (0..VOTERS).map(|it| MemberId(u64::from(it))).collect();
    let field = probabilistic::Config::field(3, HOP, HOP);
    let config = Config {
        election: probabilistic::Config {
            size: GroupSize::Known(u64::from(members)),
            joining: Joining::Call,
            check: None,
            again: None,
            strategy: Strategy {
                first: FIRST_K,
                last: LastRound::Grown,
                ..field.strategy
            },
            ..field
        },
        tenure: tenure::Config::field(voters, TTL, HOP * 5),
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
    for election in 0..elections {
        let begin = Instant::START + APART * election;
        world.run_until(begin);
        let mut dead: Vec<u32> = (0..3).map(|_| below(members, &mut rng)).collect();
        let holder = world.trace().holder().map(|(holder, _)| holder);
        dead.extend(holder.filter(|_| election % 2 == 0));
        dead.sort_unstable();
        dead.dedup();
        let at = begin + Duration(rng.next_u64() % (HOP.0 * 30));
        world.schedule(at, Verb::Kill(Who::Members(dead.clone())));
        let back = begin + Duration(APART.0 / 2);
        let (who, keep_state) = (Who::Members(dead), true);
        world.schedule(back, Verb::Restart { who, keep_state });
        let caller = below(members, &mut rng);
        world.request(caller, Request::Call);
    }
    world.run_until(Instant::START + APART * elections);
    let tally = world.tally();
    let all: u64 = tally.unicasts.iter().chain(&tally.multicasts).sum();
    let about_tenure = tally.unicasts[Message::TENURE];
    Reign {
        election_messages: (all - about_tenure) as f64 / elections as f64,
        tenure_messages: about_tenure as f64 / elections as f64,
        tenures: world.trace().tenures(),
    }
}

fn below(bound: u32, rng: &mut impl Rng) -> u32 {
    (rng.next_u64() % u64::from(bound)) as u32
}
