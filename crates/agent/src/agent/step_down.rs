//! To step down, where something has to be done first: a command that runs only while its member leads ends
//! before another member may lead.

use std::sync::OnceLock;

use hustings_protocol::{Duration, MemberId};
use tokio::sync::{mpsc, oneshot};

use super::Control;

/// How many may wait. Each waits for the same, so more need not.
const MOST_WAITING: usize = 16;

/// Somebody wishes that this member give up leadership of a group. Whoever receives it carries it out, even if
/// that somebody has gone meanwhile; a wish that is dropped was not carried out, as when the agent ends.
#[derive(Debug)]
pub struct StepDown {
    pub(super) control: mpsc::Sender<Control>,
    pub(super) group: String,
    pub(super) span: Duration,
    pub(super) heir: Option<MemberId>,
    pub(super) done: oneshot::Sender<()>,
}

impl StepDown {
    /// Gives up leadership. When this returns, whoever watches the group has been told.
    pub async fn carry_out(self) {
        let (done, is_done) = oneshot::channel();
        let control = Control::StepDown {
            group: self.group,
            span: self.span,
            heir: self.heir,
            done,
        };
        // An agent that has ended leads nothing.
        if self.control.send(control).await.is_ok() {
            let _ = is_done.await;
        }
        // Whoever wished it may have gone.
        let _ = self.done.send(());
    }
}

/// Who has to do something before a member steps down; at most one for each group.
#[derive(Debug, Default)]
pub(super) struct Desk(OnceLock<mpsc::Sender<StepDown>>);

impl Desk {
    /// From now on wishes arrive at what this returns. None if they already arrive elsewhere.
    pub(super) fn open(&self) -> Option<mpsc::Receiver<StepDown>> {
        let (wishes, arriving) = mpsc::channel(MOST_WAITING);
        self.0.set(wishes).is_ok().then_some(arriving)
    }

    /// Has a wish carried out: by whoever sits there, else at once.
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
