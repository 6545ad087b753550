//! The status of a group's tenure, as one member reports it.
//!
//! Purpose     answers status requests about tenure
//! Inputs      the tenure state and the time
//! Outputs     [`TenureStatus`]
//! Owns        nothing
//! Invariants  reading the status changes nothing

use hustings_protocol::{Duration, Instant};
use serde::{Deserialize, Serialize};

use super::{EXPLAIN_EVERY, Tenure, Voter};
use crate::node::Context;

/// The age up to which other members' statements still count.
pub const REACHED_WITHIN: Duration = Duration::from_secs(10);

/// The least time in which a voter must have answered a holder. A holder asks three times in a ttl.
/// With a short ttl, a few lost answers in a row mean nothing yet.
const ASKED_WITHIN: Duration = Duration::from_secs(1);

/// A failed attempt to get tenure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The time of the last failure, in nanoseconds on this host's boot clock.
    pub at: Instant,
    /// The reason.
    pub why: String,
    /// The number of failures in a row for this reason.
    pub times: u64,
}

/// The status of a group's tenure, as one member sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenureStatus {
    /// A description of the authority that grants tenure.
    pub authority: String,
    /// The time for which tenure is granted at once.
    pub ttl: Option<Duration>,
    /// The holder, as far as this member knows.
    pub holder: Option<String>,
    /// The holder's fence.
    pub fence: Option<u64>,
    /// The remaining time of this member's own tenure, unless it is renewed.
    pub remaining: Option<Duration>,
    /// The voters; empty if a store grants tenure.
    pub voters: Vec<VoterStatus>,
    /// True if this member has asked the voters for tenure for some time, and has none.
    #[serde(default)]
    pub asking: bool,
    /// For a store: true if it answered this member's last request.
    pub reachable: Option<bool>,
    /// For a store: true if this member takes no tenure from it. Either the store counts below the
    /// highest fence that this member has seen, or its era is over, or a person has to remove an
    /// obstacle. The last of `refusals` gives the reason.
    pub shut_out: Option<bool>,
    /// This member's latest failed attempts, and a recently announced holder by another list of
    /// voters.
    pub refusals: Vec<Refusal>,
    /// The announcement of a holder by another list of voters, or another store. Two members may
    /// lead.
    pub disputed: Option<String>,
}

/// One voter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoterStatus {
    /// The voter's name.
    pub name: String,
    /// The time of the voter's last message; for this member itself, always now.
    pub heard: Option<Instant>,
    /// True if the voter answers this member; `None` if this member does not ask it continually.
    pub answers: Option<bool>,
}

impl TenureStatus {
    /// True if this member hears from the voters continually: it holds tenure, or asks for it.
    /// Other members hear from voters by chance, and cannot tell whether they are up.
    pub fn hears_voters(&self) -> bool {
        !self.voters.is_empty() && (self.remaining.is_some() || self.asking)
    }

    /// Returns the time within which every live voter has answered. A holder asks the voters three
    /// times in a ttl. A member without tenure complains about silent voters after the same time.
    pub fn reached_within(&self) -> Duration {
        match self.remaining {
            Some(_) => self.ttl.unwrap_or_default().max(ASKED_WITHIN),
            None => EXPLAIN_EVERY,
        }
    }

    /// Determines which voters answer, if this member asks them.
    fn note_answers(&mut self, now: Instant) {
        let (asks, within) = (self.hears_voters(), self.reached_within());
        for voter in &mut self.voters {
            let is_heard = voter.heard.is_some_and(|at| now - at < within);
            voter.answers = asks.then_some(is_heard);
        }
    }

    /// Returns the names of the voters that answer this member.
    pub fn reached(&self) -> Vec<&str> {
        self.answering(true)
    }

    /// Returns the names of the voters that do not answer this member.
    pub fn silent(&self) -> Vec<&str> {
        self.answering(false)
    }

    fn answering(&self, answers: bool) -> Vec<&str> {
        let voters = self.voters.iter();
        let voters = voters.filter(|it| it.answers == Some(answers));
        voters.map(|it| it.name.as_str()).collect()
    }

    /// Returns the number of voters that have to grant tenure.
    pub fn majority(&self) -> usize {
        self.voters.len() / 2 + 1
    }
}

impl Tenure {
    pub(crate) fn status(&self, context: &Context, now: Instant) -> Option<TenureStatus> {
        let authority = self.authority.name()?;
        let own = self.authority.holds(now);
        let remaining = own.map(|held| held.until - now);
        let own = own.map(|held| (context.member.clone(), held.fence));
        let other = self.holder.map(|it| (it.id, it.fence));
        let holder = own.or_else(|| other.map(|(id, fence)| (context.describe(id).name, fence)));
        let heard = |voter: &Voter| if voter.id == context.me.id { Some(now) } else { voter.heard };
        let voters = self.voters.iter().map(|voter| VoterStatus {
            name: voter.name.clone(),
            heard: heard(voter),
            answers: None,
        });
        let refusals = self.refusals.iter();
        let disputed = self.authority_mismatch.holder(now);
        let refusals = refusals.chain(disputed);
        let shut_out = self.shut_out.as_ref();
        let refusals = refusals.filter(|it| shut_out.is_none_or(|why| it.why != why.why));
        let mut status = TenureStatus {
            authority,
            ttl: context.config.authority.ttl(),
            fence: holder.as_ref().map(|(_, fence)| fence.0),
            holder: holder.map(|(name, _)| name),
            remaining,
            voters: voters.collect(),
            asking: self.asks_voters(context, now),
            reachable: self.authority.is_reachable(),
            shut_out: self.authority.is_reachable().map(|_| shut_out.is_some()),
            refusals: refusals.chain(shut_out).cloned().collect(),
            disputed: disputed.map(|it| it.why.clone()),
        };
        status.note_answers(now);
        if status.hears_voters() && self.lacks_answers(context, now) {
            for (shown, voter) in status.voters.iter_mut().zip(&self.voters) {
                shown.answers = Some(!voter.is_overdue(context, now));
            }
        }
        Some(status)
    }

    /// True if a majority of the voters have left a question unanswered for as long as an answer
    /// may take. A holder that is not renewed knows so half a ttl before its tenure ends.
    pub(super) fn lacks_answers(&self, context: &Context, now: Instant) -> bool {
        let overdue = self.voters.iter().filter(|it| it.is_overdue(context, now));
        overdue.count() * 2 > self.voters.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of voters shown as reached, of three that were heard 0.5, 5 and 45
    /// seconds ago.
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
    fn voter_without_an_answer_for_a_ttl_is_not_reached() {
        assert_eq!(reached(Duration::from_secs(2), true), 1);
        assert_eq!(reached(Duration::from_millis(300), true), 1, "a second at least");
        assert_eq!(reached(Duration::from_secs(60), true), 3, "asked every 20 s");
    }

    #[test]
    fn answers_are_unknown_to_a_member_that_asks_no_voter() {
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
    fn without_tenure_voters_are_counted_over_the_complaint_interval() {
        assert_eq!(EXPLAIN_EVERY, Duration::from_secs(3));
        assert_eq!(reached(Duration::from_secs(2), false), 1);
        assert_eq!(reached(Duration::from_secs(60), false), 1);
    }
}
