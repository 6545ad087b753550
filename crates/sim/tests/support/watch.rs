//! The nominees of all members, with times.

use hustings_protocol::{Instant, MemberId, Outcome, Protocol};
use hustings_sim::{Event, Trace};

/// The nominees of all members, with times.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    pub(crate) names: Vec<(Instant, u32, Option<MemberId>)>,
}

impl<P: Protocol> Trace<P> for Watch {
    const ON: bool = true;

    fn record(&mut self, at: Instant, event: Event<'_, P>) {
        let Event::Reported { member, outcome } = event else {
            return;
        };
        match outcome {
            Outcome::Standing { .. } => {}
            Outcome::TenureGained { .. }
            | Outcome::TenureLost { .. }
            | Outcome::TenureRefused(_)
            | Outcome::Council(_) => {}
            Outcome::Nominee(candidate) => self.names.push((at, member, Some(candidate.id))),
            Outcome::Vacant | Outcome::DuplicateIdentity | Outcome::Fault(_) => {
                self.names.push((at, member, None));
            }
        }
    }
}
