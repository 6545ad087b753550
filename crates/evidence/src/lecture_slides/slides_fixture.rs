//! The fixture of the slides' elections: a group, its events, and the result.
//!
//! One message takes one hop, a second of simulated time. Crashes come between hops, for instance
//! at 2.5 hops. The member that crashes then has forwarded what arrived after 2 hops, and does not
//! receive what arrives after 3.

use hustings_protocol::{Duration, ElectionOutcome, Instant, Priority, Protocol, Simulated};
use hustings_sim::{
    Delay, Detection, Ending, Event, Halt, Network, Scenario, Seeds, Setup, Silent, Summary, Trace,
    Verb, Who, World,
};

/// The delay of a message.
pub(super) const HOP: Duration = Duration::from_secs(1);

/// Converts hops to a time.
pub(super) fn after(hops: f64) -> Instant {
    Instant::START + HOP.mul_f64(hops)
}

/// Converts a time to hops.
pub(super) fn hops(at: Instant) -> f64 {
    at.as_secs_f64() / HOP.as_secs_f64()
}

/// A group and the events of its run.
pub(super) struct SlidesFixture {
    setup: Setup,
    scenario: Scenario,
    limit: Instant,
}

/// The result of a run.
pub(super) struct Play {
    pub(super) summary: Summary,
    pub(super) halt: Halt,
    /// The time of the last event.
    pub(super) ended: Instant,
}

impl SlidesFixture {
    /// Builds a fixture from priorities and a scenario. Views show at once which members are up.
    /// Messages take one hop.
    pub(super) fn laid_out((priorities, scenario): (Vec<Priority>, Scenario)) -> Self {
        let members = priorities.len() as f64;
        Self {
            setup: Setup {
                priorities,
                network: Network::perfect(Delay::Constant(HOP)),
                detection: Detection::Oracle,
                view: 1.0,
            },
            scenario,
            limit: after(100.0 * members + 1000.0),
        }
    }

    /// Builds a group with these priorities and no events.
    pub(super) fn of(priorities: impl IntoIterator<Item = u32>) -> Self {
        let priorities = priorities.into_iter().map(|priority| Priority(priority.into()));
        Self::laid_out((priorities.collect(), Scenario::default()))
    }

    /// Lets these members start an election at the beginning.
    pub(super) fn start(mut self, who: Who) -> Self {
        self.scenario.push(Instant::START, Verb::Start(who));
        self
    }

    /// Adds an event.
    pub(super) fn at(mut self, hops: f64, verb: Verb) -> Self {
        self.scenario.push(after(hops), verb);
        self
    }

    /// Crashes a member.
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

    /// Stops the run after this number of hops, if it has not come to rest.
    pub(super) fn until(mut self, hops: f64) -> Self {
        self.limit = after(hops);
        self
    }

    pub(super) fn play<P>(self, config: P::Config, seeds: Seeds) -> Play
    where
        P: Simulated + Default + 'static,
    {
        self.play_traced::<P, Silent>(config, seeds, Silent).0
    }

    pub(super) fn play_traced<P, T>(self, config: P::Config, seeds: Seeds, trace: T) -> (Play, T)
    where
        P: Simulated + Default + 'static,
        T: Trace<P>,
    {
        let mut world = World::traced(self.setup, config, seeds, trace, |_| P::default());
        world.follow(&self.scenario);
        let halt = world.run_until(self.limit);
        let play = Play { summary: Summary::of(&world, halt), halt, ended: world.now() };
        (play, world.into_trace())
    }
}

impl Play {
    pub(super) fn messages(&self) -> u64 {
        self.summary.tally.unicasts.iter().sum()
    }

    /// Returns the number of messages of one kind, by its index among the protocol's kinds.
    pub(super) fn of_kind(&self, kind: usize) -> u64 {
        self.summary.tally.unicasts[kind]
    }

    /// Describes the ending with the slides' names for members.
    pub(super) fn ending(&self) -> String {
        let goes_on = self.halt == Halt::Limit;
        match self.summary.ending {
            Ending::Elected(id) => format!("elects P{id}"),
            Ending::ElectedDead(id) if goes_on => format!("elects dead P{id} for ever"),
            Ending::ElectedDead(id) => format!("elects dead P{id}"),
            Ending::Livelock => "goes on for ever".to_owned(),
            Ending::SilentDeadlock => "ends in silence".to_owned(),
        }
    }
}

/// The members that started elections, and the members that declared themselves winners, in order
/// of time.
#[derive(Default)]
pub(super) struct Reports {
    pub(super) calls: Vec<u32>,
    pub(super) victories: Vec<u32>,
}

impl<P: Protocol<Outcome = ElectionOutcome>> Trace<P> for Reports {
    const ON: bool = true;

    fn record(&mut self, _: Instant, event: Event<'_, P>) {
        let Event::Reported { member, outcome } = event else {
            return;
        };
        match outcome {
            ElectionOutcome::Standing { .. } => self.calls.push(member),
            ElectionOutcome::Nominee(it) if it.id.0 == u64::from(member) => {
                self.victories.push(member);
            }
            ElectionOutcome::Nominee(_)
            | ElectionOutcome::Vacant
            | ElectionOutcome::DuplicateIdentity => {}
        }
    }
}

/// Returns the number of messages of each run.
pub(super) fn sent(plays: &[Play]) -> impl Iterator<Item = u64> {
    plays.iter().map(Play::messages)
}

/// Returns all orders of `0..count`.
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

/// Returns a subset of `members` by its number, from 1 to 2^members - 1: bit i stands for member i.
pub(super) fn subset(members: u32, number: u64) -> Who {
    let is_in = |member: &u32| number >> member & 1 == 1;
    Who::Members((0..members).filter(is_in).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::permutations;

    #[test]
    fn permutations_contain_every_order_once() {
        let orders = permutations(5);
        let distinct: BTreeSet<_> = orders.iter().collect();
        assert_eq!((orders.len(), distinct.len()), (120, 120));
    }
}
