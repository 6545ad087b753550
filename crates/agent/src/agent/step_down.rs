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
        let (wishes, arriving) = mpsc::channel(MOST_WAITING);
        self.0.set(wishes).is_ok().then_some(arriving)
    }

    /// Has a step-down carried out: by the receiver of the hook if there is one, otherwise at once.
    pub(super) async fn hand_in(&self, wish: StepDown) {
        let refused = match self.0.get() {
            Some(wishes) => wishes.send(wish).await.err().map(|refused| refused.0),
            None => Some(wish),
        };
        if let Some(wish) = refused {
            wish.carry_out().await;
        }
    }
}
