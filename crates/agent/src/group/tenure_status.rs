//! What a member tells of its group's tenure, for people to read.

use hustings_protocol::{Duration, Instant};
use serde::{Deserialize, Serialize};

use super::Group;
use super::tenancy::{Refusal, Voter};

/// What a member tells of its group's tenure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenureStatus {
    /// Who grants it.
    pub authority: String,
    /// Who holds it, as far as this member knows.
    pub holder: Option<String>,
    /// Its fence.
    pub fence: Option<u64>,
    /// How long it lasts yet, of this member's own, unless it is renewed.
    pub remaining: Option<Duration>,
    /// Those who grant it; empty if a store does.
    pub voters: Vec<VoterStatus>,
    /// Of a store: whether it answered when this member asked it last.
    pub reachable: Option<bool>,
    /// The latest attempts of this member that failed.
    pub refusals: Vec<Refusal>,
}

/// One of those who grant tenure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoterStatus {
    /// Its name.
    pub name: String,
    /// When it was last heard; this member itself, always now.
    pub heard: Option<Instant>,
}

impl Group {
    pub(super) fn tenure_status(&self, now: Instant) -> Option<TenureStatus> {
        let authority = self.tenancy.authority.name()?;
        let own = self.tenancy.authority.holds(now);
        let own = own.map(|held| (self.member.clone(), held.fence));
        let other = self.tenancy.holder();
        let holder = own.or_else(|| other.map(|(id, fence)| (self.describe(id).name, fence)));
        let heard = |voter: &Voter| match voter.id == self.me.id {
            true => Some(now),
            false => voter.heard,
        };
        let voters = self.tenancy.voters.iter().map(|voter| VoterStatus {
            name: voter.name.clone(),
            heard: heard(voter),
        });
        Some(TenureStatus {
            authority,
            fence: holder.as_ref().map(|(_, fence)| fence.0),
            holder: holder.map(|(name, _)| name),
            remaining: self.tenancy.authority.holds(now).map(|it| it.until - now),
            voters: voters.collect(),
            reachable: self.tenancy.authority.is_reachable(),
            refusals: self.tenancy.refusals.iter().cloned().collect(),
        })
    }
}
