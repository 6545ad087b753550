//! The nominees of all members, with times.

use hustings_protocol::simulated::Nominating as _;
use hustings_protocol::{Instant, MemberId, Simulated};
use hustings_sim::{Event, Trace};

/// The nominees of all members, with times.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    pub(crate) names: Vec<(Instant, u32, Option<MemberId>)>,
}

impl<P: Simulated> Trace<P> for Watch {
    const ON: bool = true;

    fn record(&mut self, at: Instant, event: Event<'_, P>) {
        if let Event::Reported { member, outcome } = event
            && let Some(nominee) = outcome.nominee()
        {
            self.names.push((at, member, nominee));
        }
    }
}
