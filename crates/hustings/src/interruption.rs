//! Ctrl-C: the first asks the experiment to stop and report, the second ends the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;

/// Whether the user wants to stop.
#[derive(Debug, Clone)]
pub(crate) struct Interruption {
    raised: Arc<AtomicBool>,
}

impl Interruption {
    /// Listens for Ctrl-C, and for the signals that ask a program to end, from now on.
    pub(crate) fn watch() -> Result<Self, Failure> {
        let raised = Arc::new(AtomicBool::new(false));
        let interruption = Self {
            raised: Arc::clone(&raised),
        };
        let on_signal = move || {
            if raised.swap(true, Ordering::Relaxed) {
                std::process::exit(1);
            }
        };
        ctrlc::set_handler(on_signal)
            .map_err(|error| Failure::Failed(format!("cannot listen for Ctrl-C: {error}")))?;
        Ok(interruption)
    }

    /// Whether the user wants to stop.
    pub(crate) fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed)
    }
}
