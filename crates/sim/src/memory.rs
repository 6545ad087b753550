//! What runs leave for later ones.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hustings_protocol::Simulated;

use crate::Scratch;

/// The memory of runs that have ended: as many pieces as there were runs at one time.
pub struct Memory<P: Simulated>(Mutex<Vec<Scratch<P>>>);

impl<P: Simulated> Default for Memory<P> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<P: Simulated> Memory<P> {
    /// Takes a piece, or an empty one.
    pub fn take(&self) -> Scratch<P> {
        self.pieces().pop().unwrap_or_default()
    }

    /// Gives a piece back for later runs.
    pub fn give_back(&self, scratch: Scratch<P>) {
        self.pieces().push(scratch);
    }

    fn pieces(&self) -> MutexGuard<'_, Vec<Scratch<P>>> {
        // Emptied memory is good memory, whatever happened to the run that left it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
