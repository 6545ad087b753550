//! One run from beginning to end.

use hustings_protocol::{Instant, Protocol};

use crate::{Boot, Scenario, Seeds, Setup, Silent, Summary, Trace, World};

/// What one run is to be: a world, what befalls it, and how long it may last.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// What the world is like.
    pub setup: Setup,
    /// What befalls it; who starts is part of that.
    pub scenario: Scenario,
    /// When to stop if it does not come to rest by itself.
    pub limit: Instant,
}

impl Experiment {
    /// Does the run.
    pub fn run<P: Protocol>(
        self,
        config: P::Config,
        seeds: Seeds,
        make: impl FnMut(Boot<P>) -> P + 'static,
    ) -> Summary {
        self.run_traced(config, seeds, Silent, make).0
    }

    /// Does the run and records it.
    pub fn run_traced<P: Protocol, T: Trace<P>>(
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
