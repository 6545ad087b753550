//! The hook that runs before a member steps down. A command that runs only while its member leads
//! has to end before another member may lead.

use std::sync::OnceLock;

use hustings_supervise::StepDown;
use tokio::sync::mpsc;

/// The number of step-downs that may wait. All of them wait for the same event.
const MOST_WAITING: usize = 16;

/// The component that must act before a member steps down; at most one per group.
#[derive(Debug, Default)]
pub(super) struct StepDownHook(OnceLock<mpsc::Sender<StepDown>>);

impl StepDownHook {
    /// Opens the hook and returns the receiver of step-downs. Returns `None` if the hook is already
    /// open.
    pub(super) fn open(&self) -> Option<mpsc::Receiver<StepDown>> {
        let (on_step_down, step_downs) = mpsc::channel(MOST_WAITING);
        self.0.set(on_step_down).is_ok().then_some(step_downs)
    }

    /// Has a step-down carried out: by the receiver of the hook if there is one, otherwise at once.
    pub(super) async fn hand_in(&self, step_down: StepDown) {
        let refused = match self.0.get() {
            Some(on_step_down) => on_step_down.send(step_down).await.err().map(|refused| refused.0),
            None => Some(step_down),
        };
        if let Some(step_down) = refused {
            step_down.carry_out().await;
        }
    }
}
