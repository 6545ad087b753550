//! Churn: leaders that leave or crash, and members that join late.

use std::collections::BTreeMap;

use hustings_protocol::{Duration, Instant, MemberId, Simulated};

use crate::{Seeds, Stream, Trace, Verb, Who, World};

/// The mean times between random departures. A member that departed returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Churn {
    /// The mean time between two orderly departures of the leader.
    pub leave: Option<Duration>,
    /// The mean time between two crashes of the leader.
    pub die: Option<Duration>,
    /// The mean time between two departures of another member, which then joins late.
    pub join: Option<Duration>,
    /// The time for which a departed member stays away.
    pub absence: Duration,
}

/// A departure.
#[derive(Debug, Clone, Copy)]
pub(super) enum ChurnEvent {
    LeaderLeaves,
    LeaderDies,
    /// Another member, chosen by this random number.
    FollowerGoes(u64),
}

impl Churn {
    /// True if no member ever departs.
    pub fn is_none(&self) -> bool {
        self.means().next().is_none()
    }

    /// Returns the mean times between departures, one for each kind that occurs.
    pub fn means(&self) -> impl Iterator<Item = Duration> {
        [self.leave, self.die, self.join].into_iter().flatten()
    }

    /// Draws the times of all departures up to `until`, in no particular order.
    pub(super) fn events(&self, until: Instant, seeds: Seeds) -> Vec<(Instant, ChurnEvent)> {
        // Each kind has its own random stream, so one kind does not change the times of another.
        let mut events = Vec::new();
        let mut plan = |kind, mean: Option<Duration>, event: fn(u64) -> ChurnEvent| {
            let Some(mean) = mean else { return };
            let mut chance = RandomStream::of(seeds, kind);
            let mut at = Instant::START + chance.wait(mean);
            while at <= until {
                events.push((at, event(chance.number())));
                at = at + chance.wait(mean);
            }
        };
        plan(0, self.leave, |_| ChurnEvent::LeaderLeaves);
        plan(1, self.die, |_| ChurnEvent::LeaderDies);
        plan(2, self.join, ChurnEvent::FollowerGoes);
        events
    }

    /// Chooses the member that departs, and its verb, from the state just before. Returns `None` if
    /// no member qualifies.
    pub(super) fn decide<P: Simulated, T: Trace<P>>(
        event: ChurnEvent,
        world: &World<P, T>,
    ) -> Option<(Who, Verb)> {
        let leader = leader(world);
        let (who, verb): (u32, fn(Who) -> Verb) = match event {
            ChurnEvent::LeaderLeaves => (leader?, Verb::Leave),
            ChurnEvent::LeaderDies => (leader?, Verb::Kill),
            ChurnEvent::FollowerGoes(luck) => (follower(world, leader, luck)?, Verb::Kill),
        };
        Some((Who::one(who), verb(Who::one(who))))
    }
}

/// Returns the member that most running members name as leader, if it is up.
fn leader<P: Simulated, T: Trace<P>>(world: &World<P, T>) -> Option<u32> {
    let mut votes: BTreeMap<MemberId, u32> = BTreeMap::new();
    let up = (0..world.len()).filter(|&member| world.is_up(member));
    for (nominee, _) in up.filter_map(|member| world.nominee(member)) {
        *votes.entry(nominee).or_default() += 1;
    }
    let (leader, _) = votes.into_iter().max_by_key(|(_, count)| *count)?;
    let leader = u32::try_from(leader.0).ok()?;
    (leader < world.len() && world.is_up(leader)).then_some(leader)
}

/// Returns a member that is up and does not lead, chosen by `luck`.
fn follower<P: Simulated, T: Trace<P>>(
    world: &World<P, T>,
    leader: Option<u32>,
    luck: u64,
) -> Option<u32> {
    let first = (luck % u64::from(world.len())) as u32;
    (first..world.len())
        .chain(0..first)
        .find(|&member| world.is_up(member) && Some(member) != leader)
}

/// A random stream, derived from the run's seeds.
struct RandomStream {
    seed: u64,
    drawn: u64,
}

impl RandomStream {
    fn of(seeds: Seeds, kind: u64) -> Self {
        let seed = Seeds::new(seeds.number(Stream::Faults), kind).number(Stream::Faults);
        Self { seed, drawn: 0 }
    }

    fn number(&mut self) -> u64 {
        self.drawn += 1;
        Seeds::new(self.seed, self.drawn).number(Stream::Faults)
    }

    /// Draws the time until the next event of a Poisson process with this mean interval.
    fn wait(&mut self, mean: Duration) -> Duration {
        let unit = ((self.number() >> 11) + 1) as f64 * 2f64.powi(-53);
        mean.mul_f64(-unit.ln())
    }
}

#[cfg(test)]
mod tests {
    use super::{Churn, ChurnEvent};
    use crate::Seeds;
    use hustings_protocol::{Duration, Instant};

    #[test]
    fn each_kind_of_departure_keeps_its_rate_and_its_times() {
        let alone = Churn { die: Some(Duration::from_secs(1)), ..Churn::default() };
        let among_others = Churn {
            leave: Some(Duration::from_secs(3)),
            join: Some(Duration::from_secs(5)),
            ..alone
        };
        let until = Instant::START + Duration::from_secs(10_000);
        let deaths = |churn: Churn| -> Vec<Instant> {
            let events = churn.events(until, Seeds::new(7, 3)).into_iter();
            let deaths = events.filter(|(_, event)| matches!(event, ChurnEvent::LeaderDies));
            deaths.map(|(at, _)| at).collect()
        };
        let count = deaths(alone).len() as f64;
        // The number is Poisson distributed, with a standard deviation of 100.
        assert!((count - 10_000.0).abs() < 450.0, "{count}");
        assert_eq!(deaths(alone), deaths(among_others));
        assert_eq!(Churn::default().events(until, Seeds::new(7, 3)).len(), 0);
    }
}
