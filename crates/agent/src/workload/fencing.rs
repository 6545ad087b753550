//! A tenure that has an end, and how its moves reach the guardian.

use std::future::pending;

use hustings_protocol::{Duration, Instant};
use tokio::sync::watch;

use super::deadline::Deadline;
use crate::authority::last_words::LastWords;
use crate::authority::{Cell, Fence, Held};
use crate::clock;

/// What makes leadership more than advice: a command runs under a tenure alone, and is gone when that ends.
#[derive(Debug, Clone)]
pub struct Fencing {
    /// What this member holds, and until when.
    pub tenure: Cell,
    /// What gives it up when the member is dead. Empty: nothing is held that a death would leave behind, or it has
    /// been given up.
    pub last_words: watch::Receiver<LastWords>,
}

/// What has happened to the tenure of a command that runs.
#[derive(Debug)]
pub(super) enum Change {
    /// It ends at another time.
    Until(Instant),
    /// It is not held any more.
    Over,
    LastWords(LastWords),
}

impl Fencing {
    /// Waits until tenure is held, with `fence` if that is known, and leaves time for a command that may take
    /// `grace` to stop.
    pub(super) async fn granted(&mut self, fence: Option<u64>, grace: Duration) -> Held {
        loop {
            let held = *self.tenure.borrow_and_update();
            let now = clock::now();
            let suits = |held: &Held| {
                let deadline = Deadline::told(None, held.until, now);
                fence.is_none_or(|fence| fence == held.fence.0) && now < deadline.stop_at(grace)
            };
            if let Some(held) = held.filter(suits) {
                // The guardian of the next command has heard none of them.
                self.last_words.mark_changed();
                return held;
            }
            if self.tenure.changed().await.is_err() {
                // Nothing will be granted. Who leads ends too, which ends the wait.
                return pending().await;
            }
        }
    }

    /// What happens next to the tenure with this fence. May be dropped unfinished.
    pub(super) async fn changed(&mut self, fence: Fence) -> Change {
        tokio::select! {
            Ok(()) = self.tenure.changed() => match *self.tenure.borrow_and_update() {
                Some(held) if held.fence == fence => Change::Until(held.until),
                Some(_) | None => Change::Over,
            },
            Ok(()) = self.last_words.changed() => {
                Change::LastWords(self.last_words.borrow_and_update().clone())
            }
            else => pending().await,
        }
    }
}
