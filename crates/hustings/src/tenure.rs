//! Leave to act: a tenure, for as long as it lasts.

use std::future::Future;
use std::time::Duration;

use hustings_agent::authority::{Cell, Held, Occupation};
use hustings_agent::{Ended, Leadership, clock};
use hustings_protocol::Fence;
use tokio::sync::watch;

/// No sleep is longer: timers do not count the time that a machine is suspended, the clock of tenure does.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// This member holds tenure: no other member of its group does at the same instant, as long as the rates of all
/// clocks are within the bound; and no other tenure ever has the same fence, whatever clocks do.
///
/// It ends when it is not renewed in time. [`holds`](Self::holds) asks the clock each time; a thread that was
/// paused between the question and the deed can still be late. So hand [`fence`](Self::fence) to what you
/// write to, and have it refuse lower ones: see [`fence`](crate::fence).
///
/// While this exists, work goes on: the member gives tenure up only when it is dropped, even if the election names
/// somebody else. So drop it when the work has stopped, and not before.
#[derive(Debug)]
#[must_use = "tenure is given up as soon as somebody else is elected, unless this exists"]
pub struct Tenure {
    fence: Fence,
    cell: Cell,
    leadership: watch::Receiver<Leadership>,
    _work: Occupation,
}

/// Why there is no tenure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoTenure {
    /// Nobody grants it.
    #[error("nobody grants tenure in this group: name its voters, or a store")]
    Advisory,
    /// The member has ended.
    #[error(transparent)]
    Ended(Ended),
}

/// Tenure ended before the work did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("tenure with fence {fence} has ended before the work under it")]
pub struct Lost {
    /// Which tenure.
    pub fence: Fence,
}

impl Tenure {
    /// What is held now, if it may be acted under.
    pub(crate) fn begin(
        cell: &Cell,
        leadership: &watch::Receiver<Leadership>,
        work: Occupation,
    ) -> Option<Self> {
        let fence = hustings_agent::authority::holds(cell)?.fence;
        let tenure = Self {
            fence,
            cell: cell.clone(),
            leadership: leadership.clone(),
            _work: work,
        };
        tenure.may_go_on().then_some(tenure)
    }

    /// The number to hand to what is written to. A later tenure has a higher one.
    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// Whether it holds at this moment, by the clock.
    pub fn holds(&self) -> bool {
        self.remaining().is_some()
    }

    /// How long it lasts yet, unless it is renewed, which goes on by itself. None if it has ended.
    pub fn remaining(&self) -> Option<Duration> {
        let Held { until, .. } = self.held()?;
        let left = until - clock::now();
        (left > hustings_protocol::Duration::ZERO).then(|| Duration::from_nanos(left.0))
    }

    /// Waits until it has ended, or is about to be given up: the election names somebody else.
    pub async fn lost(&mut self) {
        self.ends_within(Duration::ZERO).await;
    }

    /// Works until the work is done, or only `margin` is left of tenure, or it is about to be given up. Then the work
    /// is dropped where it stands. Choose a margin in which whatever it has begun comes to its end.
    ///
    /// # Errors
    /// If the work was not done by then.
    pub async fn scope<T>(
        &mut self,
        margin: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, Lost> {
        let fence = self.fence;
        tokio::select! {
            biased; // nothing more is begun in what is left
            () = self.ends_within(margin) => Err(Lost { fence }),
            done = work => Ok(done),
        }
    }

    async fn ends_within(&mut self, margin: Duration) {
        loop {
            let Some(left) = self.remaining().filter(|_| self.may_go_on()) else {
                return;
            };
            let Some(left) = left.checked_sub(margin).filter(|it| !it.is_zero()) else {
                return;
            };
            // Whichever it is, the next round looks at all. If the member is gone, the clock decides.
            tokio::select! {
                Ok(()) = self.cell.changed() => {}
                Ok(()) = self.leadership.changed() => {}
                () = tokio::time::sleep(left.min(LONGEST_SLEEP)) => {}
            }
        }
    }

    fn held(&self) -> Option<Held> {
        self.cell.borrow().filter(|held| held.fence == self.fence)
    }

    /// Whether the member may begin anything under it.
    fn may_go_on(&self) -> bool {
        let leadership = self.leadership.borrow();
        leadership.leads && leadership.fence == Some(self.fence.0)
    }
}
