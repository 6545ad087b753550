//! Probabilistic elections with tenure: however an election ends, at most one member holds, and what all of it costs does
//! not grow with the group.

use hustings_protocol::probabilistic::{self, GroupSize, Joining, LastRound, Strategy};
use hustings_protocol::{Duration, Instant, MemberId, Merit, tenure};
use hustings_sim::fenced::{Config, Fenced, Message, Registry, Request};
use hustings_sim::{Delay, Detection, Network, Seeds, Setup, Stream, Verb, Who, World};
use rand_core::Rng;

const HOP: Duration = Duration::from_millis(10);
const TTL: Duration = Duration::from_secs(1);
const VOTERS: u32 = 5;
/// From one election to the next: five rounds take less, and so does a tenure that nobody renews.
const APART: Duration = Duration::from_secs(6);

/// What a reign of many elections came to.
#[derive(Debug)]
struct Reign {
    /// Of the election, for each election.
    election_messages: f64,
    /// About tenure, for each election.
    tenure_messages: f64,
    tenures: u64,
}

/// In every other election the holder dies, and some others in each, voters among them; all come back. Else the holder
/// lives, and whom the election names meanwhile must not have what it holds.
fn reign(members: u32, elections: u64, loss: f64, seed: u64) -> Reign {
    let voters = (0..VOTERS).map(|it| MemberId(u64::from(it))).collect();
    let field = probabilistic::Config::field(3, HOP, HOP);
    let config = Config {
        election: probabilistic::Config {
            size: GroupSize::Known(u64::from(members)),
            joining: Joining::Call,
            check: None,
            again: None,
            strategy: Strategy {
                first: 14,
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
    let seeds = Seeds::new(seed, 0);
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

#[test]
fn at_most_one_holds_however_elections_end() {
    let (elections, mut tenures) = (150, 0);
    for seed in 0..4 {
        tenures += reign(300, elections, 0.2, seed).tenures;
    }
    // Most elections end in a tenure, or the laws were held against nothing.
    assert!(tenures > elections, "{tenures}");
}

#[test]
fn neither_the_election_nor_tenure_costs_more_in_a_larger_group() {
    let small = reign(500, 40, 0.2, 1);
    let large = reign(20_000, 40, 0.2, 1);
    assert!(
        large.election_messages < 1.5 * small.election_messages,
        "{small:?} {large:?}"
    );
    assert!(
        large.tenure_messages < 1.5 * small.tenure_messages,
        "{small:?} {large:?}"
    );
}
