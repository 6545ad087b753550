//! Searching a world.

use stateright::{Checker, HasDiscoveries, Model};

use crate::{Setting, Sight, Subject, World};

/// What a search came to.
#[derive(Debug)]
pub struct Search {
    /// How many different states there were.
    pub states: usize,
    /// The most steps from the beginning to any of them.
    pub depth: usize,
    /// Whether there are no others within the bounds.
    pub is_exhaustive: bool,
    /// The property that a run broke, if one did.
    pub found: Option<Found>,
    sights: Vec<Sight>,
}

/// A run that broke a property.
#[derive(Debug)]
pub struct Found {
    /// Which.
    pub property: &'static str,
    /// What happened, step by step.
    pub steps: Vec<String>,
}

impl Search {
    /// Searches the world of `setting` until it finds something, has seen everything, or has taken
    /// `most` steps.
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
            steps: path
                .into_actions()
                .iter()
                .map(|action| world.format_action(action))
                .collect(),
        });
        Self {
            states: checker.unique_state_count(),
            depth: checker.max_depth(),
            is_exhaustive: checker.state_count() < most && found.is_none(),
            found,
            sights: Sight::ALL
                .iter()
                .copied()
                .filter(|sight| world.has_seen(*sight))
                .collect(),
        }
    }

    /// Whether this happened in some run.
    pub fn has_seen(&self, sight: Sight) -> bool {
        self.sights.contains(&sight)
    }
}
