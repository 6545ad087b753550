//! What a member tells of its group's tenure on request.

use hustings_protocol::{Duration, Instant};
use serde::{Deserialize, Serialize};

use super::{EXPLAIN_EVERY, Voter};
use crate::group::Group;

/// What others were heard to say this recently still counts.
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
    /// Whether this member has asked the voters for tenure for some time, and has none.
    #[serde(default)]
    pub asking: bool,
    /// Of a store: whether it answered when this member asked it last.
    pub reachable: Option<bool>,
    /// Of a store: whether this member takes no tenure from it, as it counts below the highest fence that this member has
    /// seen, its era is over, or something is in the way that a person has to remove. The last of `refusals` says what.
    #[serde(default)]
    pub shut_out: Option<bool>,
    /// The latest attempts of this member that failed; and who holds by another list of voters, while it says so.
    pub refusals: Vec<Refusal>,
    /// Who holds tenure by another list of voters, or another store, if a member says so: two may lead.
    #[serde(default)]
    pub disputed: Option<String>,
}

/// One of those who grant tenure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoterStatus {
    /// Its name.
    pub name: String,
    /// When it was last heard; this member itself, always now.
    pub heard: Option<Instant>,
    /// Whether it answers this member; none if this member does not ask it all the time.
    #[serde(default)]
    pub answers: Option<bool>,
}

impl TenureStatus {
    /// Whether this member hears from the voters all the time: it holds tenure, or asks for it. Other members hear from
    /// voters by chance, and cannot tell whether they are there.
    pub fn hears_voters(&self) -> bool {
        !self.voters.is_empty() && (self.remaining.is_some() || self.asking)
    }

    /// The time within which voters that are there have answered. A holder asks them three times in a ttl. A member without
    /// tenure says after the same time that voters do not answer.
    pub fn reached_within(&self) -> Duration {
        match self.remaining {
            Some(_) => self.ttl.unwrap_or_default().max(ASKED_WITHIN),
            None => EXPLAIN_EVERY,
        }
    }

    /// Finds out which voters answer, if this member asks them.
    fn note_answers(&mut self, now: Instant) {
        let (asks, within) = (self.hears_voters(), self.reached_within());
        for voter in &mut self.voters {
            let is_heard = voter.heard.is_some_and(|at| now - at < within);
            voter.answers = asks.then_some(is_heard);
        }
    }

    /// The names of the voters that answer this member.
    pub fn reached(&self) -> Vec<&str> {
        self.answering(true)
    }

    /// The names of those that do not.
    pub fn silent(&self) -> Vec<&str> {
        self.answering(false)
    }

    fn answering(&self, answers: bool) -> Vec<&str> {
        let voters = self.voters.iter();
        let voters = voters.filter(|it| it.answers == Some(answers));
        voters.map(|it| it.name.as_str()).collect()
    }

    /// How many voters have to grant tenure.
    pub fn majority(&self) -> usize {
        self.voters.len() / 2 + 1
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
            answers: None,
        });
        let refusals = self.tenancy.refusals.iter();
        let disputed = self.tenancy.other_lists.holder(now);
        let refusals = refusals.chain(disputed);
        let shut_out = self.tenancy.shut_out.as_ref();
        let refusals = refusals.filter(|it| shut_out.is_none_or(|why| it.why != why.why));
        let mut status = TenureStatus {
            authority,
            ttl: self.config.authority.ttl(),
            fence: holder.as_ref().map(|(_, fence)| fence.0),
            holder: holder.map(|(name, _)| name),
            remaining,
            voters: voters.collect(),
            asking: self.asks_voters(now),
            reachable: self.tenancy.authority.is_reachable(),
            shut_out: self
                .tenancy
                .authority
                .is_reachable()
                .map(|_| shut_out.is_some()),
            refusals: refusals.chain(shut_out).cloned().collect(),
            disputed: disputed.map(|it| it.why.clone()),
        };
        status.note_answers(now);
        Some(status)
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
            answers: None,
        });
        let mut tenure = TenureStatus {
            authority: "quorum of 3".to_owned(),
            ttl: Some(ttl),
            holder: None,
            fence: None,
            remaining: holds.then_some(ttl),
            voters: heard.into(),
            asking: !holds,
            reachable: None,
            shut_out: None,
            refusals: Vec::new(),
            disputed: None,
        };
        tenure.note_answers(now);
        assert_eq!(tenure.reached().len() + tenure.silent().len(), 3);
        tenure.reached().len()
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
    fn a_member_that_asks_no_voter_cannot_tell_whether_any_answers() {
        let mut tenure = TenureStatus {
            authority: "quorum of 1".to_owned(),
            ttl: Some(Duration::from_secs(2)),
            holder: Some("a".to_owned()),
            fence: Some(7),
            remaining: None,
            voters: vec![VoterStatus {
                name: "a".to_owned(),
                heard: Some(Instant::START),
                answers: None,
            }],
            asking: false,
            reachable: None,
            shut_out: None,
            refusals: Vec::new(),
            disputed: None,
        };
        tenure.note_answers(Instant::START + Duration::from_secs(660));
        assert_eq!(tenure.voters[0].answers, None);
    }

    #[test]
    fn a_member_without_tenure_counts_voters_as_its_complaint_does() {
        assert_eq!(EXPLAIN_EVERY, Duration::from_secs(3));
        assert_eq!(reached(Duration::from_secs(2), false), 1);
        assert_eq!(reached(Duration::from_secs(60), false), 1);
    }
}
