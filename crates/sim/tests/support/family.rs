//! The properties of a protocol that the laws need: its set-up, the promises of its header, its
//! messages.

use std::fmt::Debug;

use hustings_protocol::bully::{self, Bully};
use hustings_protocol::chang_roberts::{self, ChangRoberts};
use hustings_protocol::modified_ring::{self, Call, ModifiedRing};
use hustings_protocol::{
    Candidate, Duration, ElectionOutcome, Instant, MemberId, Priority, Simulated,
};
use hustings_sim::{Detection, Scenario, Verb, Who};
use hustings_theory::{bully as bully_theory, rings};
use rand_core::Rng;
use serde::Serialize;

use super::{UNIT, below, choose, happens, units};

/// A protocol that the laws can be checked against. Messages take at most one unit.
pub(crate) trait Family:
    Simulated<Message: Serialize, Timer: Debug, Outcome = ElectionOutcome> + Default + 'static
{
    const NAME: &'static str;
    /// The failure detection that its source assumes.
    const DETECTION: Detection;
    /// True if elections are counted with the best member dead from the start, yet in the views.
    const LEADER_DEAD: bool;
    /// True if it assumes that links keep order.
    const ORDERED: bool;
    /// The number of laps that its patience must outlast for the promise of `field`.
    const LAPS: u64;

    fn paper() -> Self::Config;

    fn field(election_timeout: Duration) -> Self::Config;

    /// The time after the end of faults by which all members name the best, as the header of
    /// `field` states.
    fn settles_within(members: u32, election_timeout: Duration) -> Duration;

    /// The messages of one election that `initiator` calls, without a death.
    fn messages(priorities: &[Priority], initiator: u32) -> u64;

    /// The most messages of an election without a death that `initiators` members call at once.
    fn most_messages(members: u32, initiators: u32) -> u64;

    /// An election during which a member dies in a way that the source survives.
    fn with_a_death(priorities: &[Priority], rng: &mut impl Rng) -> Scenario;

    /// An arbitrary message, and a possible sender.
    fn garbage(rng: &mut impl Rng) -> (MemberId, Self::Message);
}

/// The position of the best.
pub(crate) fn best_of(priorities: &[Priority]) -> u32 {
    let best = (0_u32..).zip(priorities).max_by_key(|(_, priority)| **priority);
    best.expect("a group has members").0
}

/// `initiator` calls, and `victim` dies half a unit after `after` units.
fn call_and_death(initiator: u32, victim: u32, after: u64) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.push(Instant::START, Verb::Start(Who::one(initiator)));
    let death = units(after) + UNIT.mul_f64(0.5);
    scenario.push(death, Verb::Kill(Who::one(victim)));
    scenario
}

/// Any position but `taken`.
fn other_than(taken: u32, members: u32, rng: &mut impl Rng) -> u32 {
    (taken + 1 + below(u64::from(members) - 1, rng) as u32) % members
}

/// An identity that may or may not exist, and any priority.
pub(crate) fn anyone(rng: &mut impl Rng) -> Candidate {
    let id = match below(8, rng) {
        0 => rng.next_u64(),
        _ => below(9, rng),
    };
    let priority = match below(4, rng) {
        0 => rng.next_u64(),
        _ => below(9, rng),
    };
    Candidate::new(id, priority)
}

impl Family for ChangRoberts {
    const NAME: &'static str = "chang_roberts";
    const DETECTION: Detection = Detection::Oracle;
    const LEADER_DEAD: bool = false;
    const ORDERED: bool = true;
    const LAPS: u64 = 0;

    fn paper() -> Self::Config {
        chang_roberts::Config::paper()
    }

    fn field(election_timeout: Duration) -> Self::Config {
        chang_roberts::Config::field(election_timeout)
    }

    fn settles_within(members: u32, election_timeout: Duration) -> Duration {
        election_timeout + UNIT * (3 * u64::from(members))
    }

    fn messages(priorities: &[Priority], initiator: u32) -> u64 {
        let members = priorities.len() as u32;
        let to_the_best = (best_of(priorities) + members - initiator) % members;
        u64::from(2 * members + to_the_best)
    }

    fn most_messages(members: u32, initiators: u32) -> u64 {
        let (n, k) = (u64::from(members), u64::from(initiators));
        rings::chang_roberts(n, k, rings::Order::Worst).messages as u64
    }

    /// The initiator is not the best and dies after its call.
    fn with_a_death(priorities: &[Priority], rng: &mut impl Rng) -> Scenario {
        let initiator = other_than(best_of(priorities), priorities.len() as u32, rng);
        call_and_death(initiator, initiator, 0)
    }

    fn garbage(rng: &mut impl Rng) -> (MemberId, Self::Message) {
        let it = anyone(rng);
        let message = match below(2, rng) {
            0 => chang_roberts::Message::Election { candidate: it },
            _ => chang_roberts::Message::Elected { winner: it },
        };
        (anyone(rng).id, message)
    }
}

impl Family for ModifiedRing {
    const NAME: &'static str = "modified_ring";
    const DETECTION: Detection = Detection::Oracle;
    const LEADER_DEAD: bool = false;
    const ORDERED: bool = true;
    const LAPS: u64 = 1;

    fn paper() -> Self::Config {
        modified_ring::Config::paper()
    }

    fn field(election_timeout: Duration) -> Self::Config {
        modified_ring::Config::field(election_timeout)
    }

    fn settles_within(members: u32, election_timeout: Duration) -> Duration {
        election_timeout + UNIT * (4 * u64::from(members))
    }

    fn messages(priorities: &[Priority], _initiator: u32) -> u64 {
        2 * priorities.len() as u64
    }

    fn most_messages(members: u32, initiators: u32) -> u64 {
        let (n, k) = (u64::from(members), u64::from(initiators));
        rings::modified_ring(n, k, rings::Order::Worst).messages as u64
    }

    /// The best dies between its two signatures, or the initiator on either lap; not while the
    /// message is in flight to them.
    fn with_a_death(priorities: &[Priority], rng: &mut impl Rng) -> Scenario {
        let members = priorities.len() as u32;
        let n = u64::from(members);
        let best = best_of(priorities);
        if happens(50, rng) {
            let initiator = other_than(best, members, rng);
            let signs_after = u64::from((best + members - initiator) % members);
            return call_and_death(initiator, best, signs_after + below(n - 1, rng));
        }
        let initiator = below(n, rng) as u32;
        let lap = below(2, rng) * n;
        call_and_death(initiator, initiator, lap + below(n - 1, rng))
    }

    fn garbage(rng: &mut impl Rng) -> (MemberId, Self::Message) {
        let call = Call {
            initiator: anyone(rng),
            round: match below(3, rng) {
                0 => u32::MAX,
                _ => below(4, rng) as u32,
            },
        };
        let signed: Vec<Candidate> = (0..below(6, rng)).map(|_| anyone(rng)).collect();
        let message = match below(2, rng) {
            0 => modified_ring::Message::Election { call, ids: signed },
            _ => modified_ring::Message::Coordinator {
                call,
                best: anyone(rng),
                ids: signed.iter().map(|it| it.id).collect(),
            },
        };
        (anyone(rng).id, message)
    }
}

impl Family for Bully {
    const NAME: &'static str = "bully";
    const DETECTION: Detection = Detection::Never;
    const LEADER_DEAD: bool = true;
    const ORDERED: bool = false;
    const LAPS: u64 = 0;

    fn paper() -> Self::Config {
        bully::Config::paper(UNIT)
    }

    fn field(election_timeout: Duration) -> Self::Config {
        bully::Config::field(UNIT, election_timeout)
    }

    fn settles_within(_members: u32, election_timeout: Duration) -> Duration {
        let config = Self::field(election_timeout);
        election_timeout + config.answer_within + config.victory_within * 2
    }

    fn messages(priorities: &[Priority], initiator: u32) -> u64 {
        // The initiator and all better members but the dead one stand once each, asking all above
        // them; all but the dead answer. The winner informs the others.
        let caller = priorities[initiator as usize];
        let standing = priorities.iter().filter(|&&priority| priority >= caller).count() as u64 - 1;
        standing * standing + priorities.len() as u64 - 2
    }

    fn most_messages(members: u32, _initiators: u32) -> u64 {
        let (initiator, best) = (bully_theory::Initiator::All, bully_theory::Best::Down);
        bully_theory::bully(u64::from(members), initiator, best).messages as u64
    }

    /// The old leader is dead, and its successor dies before it has won.
    fn with_a_death(priorities: &[Priority], rng: &mut impl Rng) -> Scenario {
        let mut ranking: Vec<u32> = (0..priorities.len() as u32).collect();
        ranking.sort_by_key(|&member| std::cmp::Reverse(priorities[member as usize]));
        let caller = choose(&ranking[2..], rng);
        let mut scenario = Scenario::default();
        scenario.push(Instant::START, Verb::Kill(Who::one(ranking[0])));
        let death = call_and_death(caller, ranking[1], below(3, rng));
        for (at, verb) in death.lines() {
            scenario.push(*at, verb.clone());
        }
        scenario
    }

    fn garbage(rng: &mut impl Rng) -> (MemberId, Self::Message) {
        let sender = anyone(rng);
        let message = match below(3, rng) {
            0 => bully::Message::Election { sender },
            1 => bully::Message::Answer { sender },
            _ => bully::Message::Coordinator { sender },
        };
        let from = if happens(20, rng) {
            anyone(rng).id // forged
        } else {
            sender.id
        };
        (from, message)
    }
}
