//! The elections that a [`Trial`](crate::trial::Trial) can simulate, each with all its parameters.
//!
//! # Example
//! The runs of `hustings sim bully --members 10`:
//! ```
//! use hustings_protocol::{Duration, bully::Config};
//! use hustings_sim::classics::{Best, BullyInitiator};
//! use hustings_sim::elections::Bully;
//! use hustings_sim::measure::{Interruption, Runs, measure};
//! use hustings_sim::trial::Trial;
//! use hustings_sim::{Conditions, Delay, Network, Scenario};
//!
//! let delay = Duration::from_millis(100);
//! let (initiator, best) = (BullyInitiator::Lowest, Best::Up);
//! let election = Bully { members: 10, initiator, best, config: Config::paper(delay) };
//! let conditions = Conditions::of(Network::perfect(Delay::Constant(delay)));
//! let trial = Trial::new(election, conditions, Scenario::default(), None);
//! let runs = Runs { count: 20, seed: 1, threads: 1 };
//! let measurement = measure(&trial, runs, &Interruption::default(), || {}).expect("one thread");
//!
//! let (name, estimate) = &measurement.metrics[0];
//! let on_paper = hustings_theory::bully::bully(10, initiator, best);
//! assert_eq!(name, "messages");
//! assert_eq!(estimate.expect("every run has a number").mean, on_paper.messages);
//! ```

mod announce;
mod bully;
mod rings;

use std::fmt::Debug;

use hustings_protocol::{Duration, Instant, Message, Priority, Protocol, Simulated};
use serde::Serialize;

use crate::measure::{Account, Metric};
use crate::statistics::Kind;
use crate::trial::{Churn, Course, End, Run};
use crate::{Boot, Detection, Scenario, Seeds, Silent, Trace};
pub use announce::{
    AnnounceListening, Announcing, BEST_PRIORITY, Onlooker, PriorityKind, Schedule, Story,
    Suppressing,
};
pub use bully::Bully;
pub use rings::{ChangRoberts, Circle, ModifiedRing, RingConfig, RingElection};

/// An election by one protocol.
pub trait Election: Copy + Send + Sync + 'static {
    /// The protocol of the members.
    type Protocol: Simulated<Message: Serialize + Send, Timer: Debug> + Send;
    /// The observer of a run.
    type Observer: Observer<Self::Protocol>;
    /// The failure detection that the protocol's source assumes.
    const DETECTION: Detection = Detection::Never;

    /// Returns the size and the time scales.
    fn extent(&self) -> Extent;

    /// Returns the priorities of the members, and the scenario that starts them.
    fn layout(&self, seeds: Seeds) -> (Vec<Priority>, Scenario);

    /// Returns the configuration that all members share.
    fn config(&self) -> <Self::Protocol as Protocol>::Config;

    /// Creates a member that starts.
    fn member(&self, boot: Boot<Self::Protocol>) -> Self::Protocol;

    /// Returns the random departures and arrivals of members.
    fn churn(&self) -> Churn {
        Churn::default()
    }

    /// Creates the observer of a run among members with these priorities.
    fn observer(&self, priorities: &[Priority], course: Course) -> Self::Observer;

    /// Returns the metrics, in the order of display.
    fn metrics(&self, course: Course) -> Vec<Metric<AccountOf<Self>>>;
}

/// The size and the time scales of an election.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// The number of members, up or down.
    pub members: u32,
    /// The duration of one attempt without faults. Crash probabilities refer to this time.
    pub round: Duration,
    /// The time after which an unfinished election is not expected to finish.
    pub long_enough: Duration,
    /// The characteristic time of the protocol; zero if that is a few message delays.
    pub pace: Duration,
    /// A number of messages that the protocol never needs within a few delays, or within its pace.
    /// Faults can make messages multiply beyond it.
    pub flood: u64,
}

/// Observes a run and produces its result.
pub trait Observer<P: Simulated>: Trace<P> {
    /// The result of a run.
    type Account: Account;

    /// True if the election is over. This matters for groups that never come to rest.
    fn has_seen_the_end(&self) -> bool;

    /// Returns the result of a run that has ended.
    fn account(self, run: Run) -> Self::Account;
}

/// The result of a run of an election.
pub type AccountOf<E> = <<E as Election>::Observer as Observer<<E as Election>::Protocol>>::Account;

/// Returns the time that an election timeout adds to [`Extent::long_enough`].
fn slack(election_timeout: Option<Duration>) -> Duration {
    election_timeout.map_or(Duration::ZERO, |election_timeout| election_timeout * 10)
}

impl<P: Simulated> Observer<P> for Silent {
    type Account = Run;

    /// Always false, because the group comes to rest by itself.
    fn has_seen_the_end(&self) -> bool {
        false
    }

    fn account(self, run: Run) -> Run {
        run
    }
}

/// The metrics of elections that come to rest: the rings and the bully protocol.
fn metrics_at_rest<P: Simulated>() -> Vec<Metric<Run>> {
    let unicasts = |run: &Run| run.summary.tally.unicasts.iter().sum::<u64>() as f64;
    let multicasts = |run: &Run| run.summary.tally.multicasts.iter().sum::<u64>() as f64;
    let mut metrics = vec![
        Metric::number("messages", move |run| unicasts(run) + multicasts(run)),
        Metric::number("unicasts", unicasts),
        Metric::number("multicasts", multicasts),
    ];
    let kinds = P::Message::KINDS.iter().enumerate();
    metrics.extend(kinds.map(|(index, kind)| {
        Metric::number(format!("messages_{kind}"), move |run: &Run| {
            let tally = &run.summary.tally;
            (tally.unicasts[index] + tally.multicasts[index]) as f64
        })
    }));
    metrics.extend([
        Metric::number("rounds", |run: &Run| f64::from(run.summary.tally.rounds)),
        Metric::new("delay", Kind::Number, |run: &Run| {
            run.summary.known_at.map(Instant::as_secs_f64)
        }),
        Metric::share("strong_success", |run: &Run| run.summary.strong_success),
        Metric::new("weak_success", Kind::Fraction, |run: &Run| Some(run.summary.weak_success)),
        Metric::share("elected_best", |run: &Run| run.summary.elected_best),
        Metric::share("finished", |run: &Run| run.end == End::AtRest),
    ]);
    metrics
}
