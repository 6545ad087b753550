//! The search of a world, and its coverage.

use stateright::{Checker, HasDiscoveries, Model};

use crate::{Bounds, Sut, World};

/// The result of a search.
#[derive(Debug)]
pub struct Search {
    /// The number of different states.
    pub states: usize,
    /// The maximum number of steps from the initial state to any state.
    pub depth: usize,
    /// True if there are no other states within the bounds.
    pub is_exhaustive: bool,
    /// The run that broke a property, if there is one.
    pub found: Option<Found>,
    covered: Vec<Coverage>,
}

/// A run that broke a property.
#[derive(Debug)]
pub struct Found {
    /// The property.
    pub property: &'static str,
    /// The steps of the run.
    pub steps: Vec<String>,
}

impl Search {
    /// Searches the world of `bounds` until it finds a violation, has seen every state, or has
    /// taken `most` steps.
    pub fn of<S: Sut>(bounds: &Bounds, threads: usize, most: usize) -> Self {
        let world: World<S> = World::new(bounds.clone());
        let checker = world
            .checker()
            .threads(threads)
            .finish_when(HasDiscoveries::AnyFailures)
            .target_state_count(most)
            .spawn_bfs()
            .join();
        let world = checker.model();
        let found = checker.discoveries().into_iter().next();
        let found = found.map(|(property, path)| Found {
            property,
            steps: path.into_actions().iter().map(|action| world.format_action(action)).collect(),
        });
        Self {
            states: checker.unique_state_count(),
            depth: checker.max_depth(),
            is_exhaustive: checker.state_count() < most && found.is_none(),
            found,
            covered: Coverage::ALL.iter().copied().filter(|event| world.covers(*event)).collect(),
        }
    }

    /// True if this happened in at least one run.
    pub fn covers(&self, event: Coverage) -> bool {
        self.covered.contains(&event)
    }
}

/// An event that happened in at least one run. A search without such events shows nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// A tenure began.
    Gained,
    /// A tenure was renewed.
    Renewed,
    /// A tenure was renewed by a greater ballot than the one with which it began.
    Prolonged,
    /// A tenure began after that of another member.
    TakenOver,
    /// A tenure began after another of the same member.
    Again,
    /// A tenure began after another one, and after a nominee had restarted.
    AfterCrash,
    /// A tenure began after another one, and after a voter had restarted.
    AfterVotersRestart,
    /// A tenure began after that of another member, which had handed over.
    HandedOver,
}

impl Coverage {
    /// All events.
    pub const ALL: [Self; 8] = [
        Self::Gained,
        Self::Renewed,
        Self::Prolonged,
        Self::TakenOver,
        Self::Again,
        Self::AfterCrash,
        Self::AfterVotersRestart,
        Self::HandedOver,
    ];

    pub(crate) fn bit(self) -> u16 {
        1 << self as u16
    }
}
