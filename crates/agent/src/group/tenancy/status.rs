//! What a member tells of its group's tenure on request.

use hustings_protocol::{Duration, Instant};
use serde::{Deserialize, Serialize};

use super::Voter;
use crate::group::Group;

/// Voters that were heard so recently can be reached.
pub const REACHED_WITHIN: Duration = Duration::from_secs(10);

/// An attempt at tenure that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// When, in nanoseconds on this host's boot clock.
    pub at: Instant,
    /// Why.
    pub why: String,
    /// How often in a row.
    pub times: u64,
}

/// What a member tells of its group's tenure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenureStatus {
    /// Who grants it.
    pub authority: String,
    /// For how long at a time.
    #[serde(default)]
    pub ttl: Option<Duration>,
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
    /// The latest attempts of this member that failed; and who holds by another list of voters, while it says so.
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

impl TenureStatus {
    /// The voters that can be reached, as far as this member knows.
    pub fn reached(&self, now: Instant) -> impl Iterator<Item = &VoterStatus> {
        let is_heard = move |at| now - at < REACHED_WITHIN;
        let voters = self.voters.iter();
        voters.filter(move |voter| voter.heard.is_some_and(is_heard))
    }
}

impl Group {
    pub(in crate::group) fn tenure_status(&self, now: Instant) -> Option<TenureStatus> {
        let authority = self.tenancy.authority.name()?;
        let own = self.tenancy.authority.holds(now);
        let remaining = own.map(|held| held.until - now);
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
        let refusals = self.tenancy.refusals.iter();
        let refusals = refusals.chain(self.tenancy.other_lists.holder(now));
        Some(TenureStatus {
            authority,
            ttl: self.config.authority.ttl(),
            fence: holder.as_ref().map(|(_, fence)| fence.0),
            holder: holder.map(|(name, _)| name),
            remaining,
            voters: voters.collect(),
            reachable: self.tenancy.authority.is_reachable(),
            refusals: refusals.cloned().collect(),
        })
    }
}
