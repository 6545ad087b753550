//! Where the slides' elections are played: a group, what befalls it, and what became of it.
//!
//! One message takes one hop, a second of simulated time. Deaths fall between hops, at 2.5 hops for
//! instance: so the member that dies has passed on what arrived after 2 hops, and does not get what
//! arrives after 3.

use hustings_protocol::{Duration, Instant, Merit, Outcome, Protocol};
use hustings_sim::{
    Delay, Detection, Ending, Event, Halt, Network, Scenario, Seeds, Setup, Silent, Summary, Trace,
    Verb, Who, World,
};

/// How long a message takes.
pub(super) const HOP: Duration = Duration::from_secs(1);

/// A time, counted in hops.
pub(super) fn after(hops: f64) -> Instant {
    Instant::START + HOP.mul_f64(hops)
}

/// How many hops have passed at a time.
pub(super) fn hops(at: Instant) -> f64 {
    at.as_secs_f64() / HOP.as_secs_f64()
}

/// A group, and what befalls it.
pub(super) struct Stage {
    setup: Setup,
    scenario: Scenario,
    limit: Instant,
}

/// What became of it.
pub(super) struct Play {
    pub(super) summary: Summary,
    pub(super) halt: Halt,
    /// When the last thing happened.
    pub(super) ended: Instant,
}

impl Stage {
    /// Members and what befalls them; views show at once who is up, messages take one hop.
    pub(super) fn laid_out((merits, scenario): (Vec<Merit>, Scenario)) -> Self {
        let members = merits.len() as f64;
        Self {
            setup: Setup {
                merits,
                network: Network::perfect(Delay::Constant(HOP)),
                detection: Detection::Oracle,
                view: 1.0,
            },
            scenario,
            limit: after(100.0 * members + 1000.0),
        }
    }

    /// Members with these merits.
    pub(super) fn of(merits: impl IntoIterator<Item = u32>) -> Self {
        let merits = merits.into_iter().map(|merit| Merit(merit.into()));
        Self::laid_out((merits.collect(), Scenario::default()))
    }

    /// These members call an election at the beginning.
    pub(super) fn start(mut self, who: Who) -> Self {
        self.scenario.push(Instant::START, Verb::Start(who));
        self
    }

    /// What befalls them besides.
    pub(super) fn at(mut self, hops: f64, verb: Verb) -> Self {
        self.scenario.push(after(hops), verb);
        self
    }

    /// This member dies.
    pub(super) fn kill(self, hops: f64, member: u32) -> Self {
        self.at(hops, Verb::Kill(Who::one(member)))
    }

    pub(super) fn detection(mut self, detection: Detection) -> Self {
        self.setup.detection = detection;
        self
    }

    pub(super) fn delay(mut self, delay: Delay) -> Self {
        self.setup.network = Network::perfect(delay);
        self
    }

    /// Stops it after so many hops, if it does not come to rest.
    pub(super) fn until(mut self, hops: f64) -> Self {
        self.limit = after(hops);
        self
    }

    pub(super) fn play<P>(self, config: P::Config, seeds: Seeds) -> Play
    where
        P: Protocol + Default + 'static,
    {
        self.play_traced::<P, Silent>(config, seeds, Silent).0
    }

    pub(super) fn play_traced<P, T>(self, config: P::Config, seeds: Seeds, trace: T) -> (Play, T)
    where
        P: Protocol + Default + 'static,
        T: Trace<P>,
    {
        let mut world = World::traced(self.setup, config, seeds, trace, |_| P::default());
        world.follow(&self.scenario);
        let halt = world.run_until(self.limit);
        let play = Play {
            summary: Summary::of(&world, halt),
            halt,
            ended: world.now(),
        };
        (play, world.into_trace())
    }
}

impl Play {
    pub(super) fn messages(&self) -> u64 {
        self.summary.tally.unicasts.iter().sum()
    }

    /// Messages of one kind, by its place among the protocol's kinds.
    pub(super) fn of_kind(&self, kind: usize) -> u64 {
        self.summary.tally.unicasts[kind]
    }

    /// How it ended, in the slides' names for members.
    pub(super) fn ending(&self) -> String {
        let goes_on = self.halt == Halt::Limit;
        match self.summary.ending {
            Ending::Elected(id) => format!("elects P{id}"),
            Ending::ElectedDead(id) if goes_on => {
                format!("elects dead P{id} for ever")
            }
            Ending::ElectedDead(id) => format!("elects dead P{id}"),
            Ending::Livelock => "goes on for ever".to_owned(),
            Ending::SilentDeadlock => "ends in silence".to_owned(),
        }
    }
}

/// Who called elections, and who declared itself the winner, in the order in which they did.
#[derive(Default)]
pub(super) struct Reports {
    pub(super) calls: Vec<u32>,
    pub(super) victories: Vec<u32>,
}

impl<P: Protocol> Trace<P> for Reports {
    const ON: bool = true;

    fn record(&mut self, _: Instant, event: Event<'_, P>) {
        let Event::Reported { member, outcome } = event else {
            return;
        };
        match outcome {
            Outcome::Standing { .. } => self.calls.push(member),
            Outcome::Nominee(it) if it.id.0 == u64::from(member) => self.victories.push(member),
            Outcome::Nominee(_) | Outcome::Vacant => {}
            Outcome::DuplicateIdentity | Outcome::Fault(_) => {}
            Outcome::TenureGained { .. }
            | Outcome::TenureLost { .. }
            | Outcome::TenureRefused(_)
            | Outcome::Council(_) => {}
        }
    }
}

/// Every order of `0..count`.
pub(super) fn permutations(count: u32) -> Vec<Vec<u32>> {
    let mut orders = vec![vec![]];
    for item in 0..count {
        let longer = |order: &Vec<u32>| {
            let order = order.clone();
            (0..=order.len()).map(move |place| {
                let mut longer = order.clone();
                longer.insert(place, item);
                longer
            })
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    orders
}

/// The members of a set of `members`, of which every number from 1 to 2^members - 1 is one.
pub(super) fn subset(members: u32, number: u64) -> Who {
    let is_in = |member: &u32| number >> member & 1 == 1;
    Who::Members((0..members).filter(is_in).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::permutations;

    #[test]
    fn every_order_is_there_once() {
        let orders = permutations(5);
        let distinct: BTreeSet<_> = orders.iter().collect();
        assert_eq!((orders.len(), distinct.len()), (120, 120));
    }
}
