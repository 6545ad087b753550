//! One run from beginning to end.

use hustings_protocol::{Instant, Simulated};

use crate::{Boot, Scenario, Seeds, Setup, Silent, Summary, Trace, World};

/// The definition of one run: a world, a scenario and a time limit.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// The properties of the world.
    pub setup: Setup,
    /// The scenario, which also starts members.
    pub scenario: Scenario,
    /// The time at which the run stops if events are still pending.
    pub limit: Instant,
}

impl Experiment {
    /// Executes the run.
    pub fn run<P: Simulated>(
        self,
        config: P::Config,
        seeds: Seeds,
        make: impl FnMut(Boot<P>) -> P + 'static,
    ) -> Summary {
        self.run_traced(config, seeds, Silent, make).0
    }

    /// Executes the run and records it.
    pub fn run_traced<P: Simulated, T: Trace<P>>(
        self,
        config: P::Config,
        seeds: Seeds,
        trace: T,
        make: impl FnMut(Boot<P>) -> P + 'static,
    ) -> (Summary, T) {
        let mut world = World::traced(self.setup, config, seeds, trace, make);
        world.follow(&self.scenario);
        let halt = world.run_until(self.limit);
        (Summary::of(&world, halt), world.into_trace())
    }
}
