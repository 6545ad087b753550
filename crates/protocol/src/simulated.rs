//! Hints that let a simulator skip work without changing a result. No other driver needs them.

use crate::bully::Bully;
use crate::census::Census;
use crate::chang_roberts::ChangRoberts;
use crate::council::{Council, CouncilOutcome};
use crate::epidemic::Epidemic;
use crate::modified_ring::ModifiedRing;
use crate::shuffle::Shuffle;
use crate::tenure::{Tenure, TenureOutcome};
use crate::wagner::{DrawOutcome, Wagner};
use crate::{Candidate, ElectionOutcome, MemberId, NoOutcome, Protocol};

/// A protocol that the simulator can run.
pub trait Simulated: Protocol<Outcome: Nominating> {
    /// True if members may ignore some messages: see [`Simulated::ignores_up_to`].
    const SELECTIVE: bool = false;

    /// The candidate that [`Simulated::ignores_up_to`] is compared with; `None` if all members must
    /// handle the message.
    fn weight(message: &Self::Message) -> Option<Candidate> {
        let _ = message;
        None
    }

    /// Returns the greatest [`Simulated::weight`] that makes no difference to this member's
    /// behaviour, now or later. Returns `None` if every message may make a difference. A simulator
    /// need not deliver a multicast of that weight or less, so that a million members do not ignore
    /// each announcement one by one.
    ///
    /// While no member leaves or comes back, the result falls only at
    /// [`Input::Start`](crate::Input::Start). It grows only when a message is handled, except when
    /// it was `None`.
    fn ignores_up_to(&self, me: Candidate, config: &Self::Config) -> Option<Candidate> {
        let _ = (me, config);
        None
    }

    /// True if `message` makes no difference, now or later, to any running member that has handled
    /// `earlier`. The result must not depend on the senders or on events between the two messages.
    /// A simulator need not deliver such a message, so that a million members do not handle dozens
    /// of copies.
    fn is_duplicate_of(
        message: &Self::Message,
        earlier: &Self::Message,
        config: &Self::Config,
    ) -> bool {
        let _ = (message, earlier, config);
        false
    }
}

/// The part of an outcome that concerns nominations. The simulator keeps it for every member.
pub trait Nominating {
    /// The same conclusion as one of an election; `None` if it says nothing about a nominee.
    fn election(&self) -> Option<ElectionOutcome> {
        None
    }

    /// Returns the number of the attempt that begins, if one does.
    #[inline]
    fn round(&self) -> Option<u32> {
        match self.election()? {
            ElectionOutcome::Standing { round } => Some(round),
            _ => None,
        }
    }

    /// Returns the new nominee, or `Some(None)` if the member no longer names any leader. Returns
    /// `None` if the nominee stays.
    #[inline]
    fn nominee(&self) -> Option<Option<MemberId>> {
        match self.election()? {
            ElectionOutcome::Standing { .. } => None,
            ElectionOutcome::Nominee(candidate) => Some(Some(candidate.id)),
            ElectionOutcome::Vacant | ElectionOutcome::DuplicateIdentity => Some(None),
        }
    }
}

impl Nominating for ElectionOutcome {
    #[inline]
    fn election(&self) -> Option<ElectionOutcome> {
        Some(*self)
    }
}

impl Nominating for DrawOutcome {
    #[inline]
    fn election(&self) -> Option<ElectionOutcome> {
        Some(match *self {
            Self::Standing { round } => ElectionOutcome::Standing { round },
            Self::Nominee(candidate) => ElectionOutcome::Nominee(candidate),
            Self::Vacant | Self::Fault(_) => ElectionOutcome::Vacant,
        })
    }
}

impl Nominating for CouncilOutcome {
    #[inline]
    fn election(&self) -> Option<ElectionOutcome> {
        match *self {
            Self::Standing { round } => Some(ElectionOutcome::Standing { round }),
            Self::Council(_) => None,
        }
    }
}

// Tenure and nomination are separate: holding tenure does not change a member's nominee.
impl Nominating for TenureOutcome {}
impl Nominating for NoOutcome {}

impl Simulated for Bully {}
impl Simulated for Census {}
impl Simulated for ChangRoberts {}
impl Simulated for Council {}
impl<M: Clone> Simulated for Epidemic<M> {}
impl Simulated for ModifiedRing {}
impl Simulated for Shuffle {}
impl Simulated for Tenure {}
impl Simulated for Wagner {}
