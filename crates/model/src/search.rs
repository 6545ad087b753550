//! The search of a world.

use stateright::{Checker, HasDiscoveries, Model};

use crate::{Setting, Sight, Subject, World};

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
    sights: Vec<Sight>,
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
    /// Searches the world of `setting` until it finds a violation, has seen every state, or has
    /// taken `most` steps.
    pub fn of<S: Subject>(setting: &Setting, threads: usize, most: usize) -> Self {
        let world: World<S> = World::new(setting.clone());
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
            sights: Sight::ALL.iter().copied().filter(|sight| world.has_seen(*sight)).collect(),
        }
    }

    /// True if this happened in at least one run.
    pub fn has_seen(&self, sight: Sight) -> bool {
        self.sights.contains(&sight)
    }
}
