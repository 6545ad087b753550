//! What is checked: tenure, or a wrong version of it.

use std::fmt::Debug;
use std::hash::Hash;

use hustings_protocol::tenure::{Config, Durable, Held, Message, Request, Role, Tenure, Timer};
use hustings_protocol::{Instant, Protocol};

/// A version of tenure. All versions say the same things, so that one world does for all.
pub trait Subject:
    Protocol<
        Config = Config,
        Message = Message,
        Timer = Timer,
        Durable = Durable,
        Request = Request,
    > + Copy
    + Eq
    + Hash
    + Debug
    + Send
    + Sync
    + 'static
{
    /// A member that is not started yet.
    fn new(role: Role) -> Self;

    /// What it holds when its clock says `now`.
    fn holds(&self, now: Instant) -> Option<Held>;
}

/// Makes versions of tenure subjects, each named by its type.
macro_rules! subjects {
    ($($version:ty),* $(,)?) => {
        $(impl $crate::Subject for $version {
            fn new(role: hustings_protocol::tenure::Role) -> Self {
                Self::new(role)
            }

            fn holds(
                &self,
                now: hustings_protocol::Instant,
            ) -> Option<hustings_protocol::tenure::Held> {
                self.holds(now)
            }
        })*
    };
}
pub(crate) use subjects;

subjects!(Tenure);
