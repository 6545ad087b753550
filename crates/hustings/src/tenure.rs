//! A tenure: the right to act for a limited time.

use std::time::Duration;

use hustings_agent::authority::{Held, LeaseWatch, WorkGuard};
use hustings_agent::{AgentStoppedError, Leadership, clock};
use hustings_protocol::Fence;
use tokio::sync::watch;

/// The longest sleep. Timers do not count the time while the machine is suspended, but the clock of
/// tenure does.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// This member holds tenure. No other member of its group holds it at the same instant, as long as
/// the rates of all clocks are within the bound. No other tenure ever has the same fence, even if
/// clocks fail.
///
/// Tenure ends when it is not renewed in time. [`holds`](Self::holds) reads the clock each time,
/// but a thread that is paused between the check and the write can still be late. Send
/// [`fence`](Self::fence) with every write, and have the resource refuse lower ones: see
/// [`fence`](crate::fence).
///
/// While this value exists, the member counts as working and does not release tenure, even if the
/// election names another member. Drop it when the work has stopped, and not before.
#[derive(Debug)]
#[must_use = "tenure is released as soon as another member is elected, unless this value exists"]
pub struct Tenure {
    fence: Fence,
    lease_watch: LeaseWatch,
    leadership: watch::Receiver<Leadership>,
    _work: WorkGuard,
}

/// The reason for which there is no tenure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TenureError {
    /// The group has no authority.
    #[error("the group has no authority to grant tenure: name its voters, or a store")]
    Advisory,
    /// The member has ended.
    #[error(transparent)]
    Stopped(AgentStoppedError),
}

/// The error that tenure ended before the work was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("tenure with fence {fence} ended before the work under it")]
pub struct TenureLostError {
    /// The fence of the tenure that ended.
    pub fence: Fence,
}

impl Tenure {
    /// Returns the tenure held now, if the member may act under it.
    pub(crate) fn begin(
        lease_watch: &LeaseWatch,
        leadership: &watch::Receiver<Leadership>,
        work: WorkGuard,
    ) -> Option<Self> {
        let fence = hustings_agent::authority::holds(lease_watch)?.fence;
        let tenure = Self {
            fence,
            lease_watch: lease_watch.clone(),
            leadership: leadership.clone(),
            _work: work,
        };
        tenure.may_go_on().then_some(tenure)
    }

    /// The fence to send with every write. A later tenure has a higher one.
    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// True if tenure holds at this moment, by the clock.
    pub fn holds(&self) -> bool {
        self.remaining().is_some()
    }

    /// The time until tenure ends, unless it is renewed, which happens in the background. `None` if
    /// it has ended.
    pub fn remaining(&self) -> Option<Duration> {
        let Held { until, .. } = self.held()?;
        let left = until - clock::now();
        (left > hustings_protocol::Duration::ZERO).then(|| Duration::from_nanos(left.0))
    }

    /// Waits until tenure has ended or is about to be released because the election names another
    /// member.
    pub async fn lost(&mut self) {
        self.ends_within(Duration::ZERO).await;
    }

    /// Runs `work` until it is done, only `margin` of tenure is left, or tenure is about to be
    /// released. In the last two cases the work is dropped at its current await point. Choose a
    /// margin in which every operation already begun can finish.
    ///
    /// # Errors
    /// If the work was not done by then.
    pub async fn scope<T>(
        &mut self,
        margin: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T, TenureLostError> {
        let fence = self.fence;
        tokio::select! {
            biased; // nothing new is begun within the margin
            () = self.ends_within(margin) => Err(TenureLostError { fence }),
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
            // The next iteration checks all conditions, whichever event came. If the member has
            // ended, the clock decides.
            tokio::select! {
                Ok(()) = self.lease_watch.changed() => {}
                Ok(()) = self.leadership.changed() => {}
                () = tokio::time::sleep(left.min(LONGEST_SLEEP)) => {}
            }
        }
    }

    fn held(&self) -> Option<Held> {
        self.lease_watch.borrow().filter(|held| held.fence == self.fence)
    }

    /// True if the member may begin work under this tenure.
    fn may_go_on(&self) -> bool {
        let leadership = self.leadership.borrow();
        leadership.leads && leadership.fence == Some(self.fence.0)
    }
}
