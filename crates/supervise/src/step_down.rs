//! A request that a member step down, for a component that must stop some work first.

use std::fmt;
use std::pin::Pin;

/// A request that this member give up leadership of a group. The receiver carries it out, even if
/// the requester has gone. A request that is dropped was not carried out, for example because the
/// agent ends.
pub struct StepDown(Pin<Box<dyn Future<Output = ()> + Send>>);

impl StepDown {
    /// Creates a request that `give_up` carries out. Nothing happens before that.
    pub fn new(give_up: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(Box::pin(give_up))
    }

    /// Gives up leadership. When this returns, the observers of the group have been notified.
    pub async fn carry_out(self) {
        self.0.await;
    }
}

impl fmt::Debug for StepDown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StepDown")
    }
}
