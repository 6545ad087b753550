//! What a member tells of its group's tenure on request.

use hustings_protocol::{Duration, Instant};
use serde::{Deserialize, Serialize};

use super::Voter;
use crate::group::Group;

/// What others were heard to say so recently still counts.
pub const REACHED_WITHIN: Duration = Duration::from_secs(10);

/// A holder asks voters three times in a ttl. Where that is short, a few answers that are lost in a row say nothing yet.
const ASKED_WITHIN: Duration = Duration::from_secs(1);

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
    /// Of a store: whether this member takes no tenure from it, as it counts below the highest fence that this member has
    /// seen, its era is over, or something is in the way that a person has to remove. The last of `refusals` says what.
    #[serde(default)]
    pub shut_out: Option<bool>,
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
    /// Voters that were heard so recently can be reached. Who holds asks them all the time, so one that was silent for a
    /// ttl has left several questions unanswered; others hear of them now and then.
    pub fn reached_within(&self) -> Duration {
        let ttl = self.ttl.unwrap_or_default();
        let holds = self.remaining.is_some();
        ttl.max(if holds { ASKED_WITHIN } else { REACHED_WITHIN })
    }

    /// The voters that can be reached, as far as this member knows.
    pub fn reached(&self, now: Instant) -> impl Iterator<Item = &VoterStatus> {
        let within = self.reached_within();
        let is_heard = move |at| now - at < within;
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
        let shut_out = self.tenancy.shut_out.as_ref();
        let refusals = refusals.filter(|it| shut_out.is_none_or(|why| it.why != why.why));
        Some(TenureStatus {
            authority,
            ttl: self.config.authority.ttl(),
            fence: holder.as_ref().map(|(_, fence)| fence.0),
            holder: holder.map(|(name, _)| name),
            remaining,
            voters: voters.collect(),
            reachable: self.tenancy.authority.is_reachable(),
            shut_out: self
                .tenancy
                .authority
                .is_reachable()
                .map(|_| shut_out.is_some()),
            refusals: refusals.chain(shut_out).cloned().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of three voters are shown as reached that were heard 0.5, 5 and 45 seconds ago.
    fn reached(ttl: Duration, holds: bool) -> usize {
        let now = Instant::START + Duration::from_secs(100);
        let heard = [500, 5_000, 45_000].map(|ago| VoterStatus {
            name: "voter".to_owned(),
            heard: Some(Instant(now.0 - Duration::from_millis(ago).0)),
        });
        let tenure = TenureStatus {
            authority: "quorum of 3".to_owned(),
            ttl: Some(ttl),
            holder: None,
            fence: None,
            remaining: holds.then_some(ttl),
            voters: heard.into(),
            reachable: None,
            shut_out: None,
            refusals: Vec::new(),
        };
        tenure.reached(now).count()
    }

    #[test]
    fn a_voter_that_has_left_the_questions_of_a_ttl_unanswered_is_not_reached() {
        assert_eq!(reached(Duration::from_secs(2), true), 1);
        assert_eq!(
            reached(Duration::from_millis(300), true),
            1,
            "a second at least"
        );
        assert_eq!(
            reached(Duration::from_secs(60), true),
            3,
            "asked every 20 s"
        );
    }

    #[test]
    fn who_does_not_hold_hears_voters_now_and_then() {
        assert_eq!(reached(Duration::from_secs(2), false), 2);
        assert_eq!(reached(Duration::from_secs(60), false), 3);
    }
}
