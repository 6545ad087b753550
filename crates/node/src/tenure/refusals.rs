//! The reasons for which a nominee has no tenure yet.
//!
//! Purpose     turns the refusals of voters into sentences with a remedy
//! Inputs      the answers of voters
//! Outputs     refusals for log and status
//! Owns        the flags of each voter: not initialised, left behind, refuses the ttl
//! Invariants  reports only; it decides nothing about tenure

use hustings_protocol::MemberId;
use hustings_protocol::tenure::{Message, Question, Refused, counter};

use super::Tenure;
use crate::authority::era;
use crate::config::AuthorityConfig;
use crate::node::{Context, Emit};

impl Tenure {
    /// Notes from a voter's answer whether it can vote, and whether it grants the ttl that this
    /// member asks for.
    pub(super) fn note_answer(
        &mut self,
        from: MemberId,
        message: &Message,
        context: &Context,
        emit: &mut Emit,
    ) {
        let mut voters = self.voters.iter_mut();
        let Some(voter) = voters.find(|it| it.id == from) else {
            return;
        };
        match *message {
            // A majority has promised a counter that this voter cannot promise.
            Message::Refusal {
                question: Question::Propose { .. },
                refused: Refused::OutOfReach { most },
                ..
            } => {
                let was_behind = std::mem::replace(&mut voter.is_behind, true);
                let why = left_behind(&voter.name, most);
                if !was_behind {
                    self.note_fault(&why, context, emit);
                }
            }
            Message::Refusal { refused, .. } => {
                voter.is_blank = refused == Refused::Uninitialised;
                voter.refuses_ttl |= matches!(refused, Refused::TtlTooLong { .. });
            }
            Message::Would { .. } | Message::Promise { .. } => {
                (voter.is_blank, voter.is_behind) = (false, false);
            }
            Message::Grant { .. } => {
                (voter.is_blank, voter.is_behind, voter.refuses_ttl) = (false, false, false);
            }
            // no answers
            Message::Ask { .. } | Message::Prepare { .. } | Message::Propose { .. } => {}
            Message::Release { .. } | Message::Handover { .. } => {}
        }
    }

    /// True if voters refuse this member's ttl and the rest is no majority. It then gets no tenure,
    /// however long it waits.
    pub(super) fn is_refused_its_ttl(&self, context: &Context) -> bool {
        let AuthorityConfig::Quorum(quorum) = &context.config.authority else {
            return false;
        };
        let others = self.voters.iter().filter(|it| !it.refuses_ttl);
        others.count() < quorum.terms().majority() as usize
    }

    pub(super) fn in_words(&self, refused: Refused, context: &Context) -> String {
        match refused {
            Refused::Held { holder, .. } if holder == context.me.id => format!(
                "`{}` holds it, which is this member's own name: its process before this one, or a namesake",
                context.member
            ),
            Refused::Held { holder, .. } => format!("`{}` holds it", self.name_of(holder, context)),
            Refused::Quarantined { lasts } => format!(
                "voters have restarted, and what they granted before may last for {:.1} s yet",
                lasts.as_secs_f64()
            ),
            Refused::Outrun => "another member tried at the same time".to_owned(),
            Refused::TtlTooLong { max_ttl } => {
                format!("voters grant {max_ttl} at most: give all members the same ttl")
            }
            Refused::Uninitialised => {
                let blank = self.blank_voters(context).join(", ");
                format!(
                    "voters without a file that they can vote by: {blank}: each says in its log why; where it is missing or \
                     damaged, run `hustings voter init`, once"
                )
            }
            Refused::OutOfReach { most } if most == counter::last_of_era(most) => used_up(most),
            Refused::OutOfReach { most } => format!(
                "voters promise no counter above {most}, and a higher one was named: if this goes on, they were left behind: \
                 run `hustings voter init` on their hosts, with their agents stopped"
            ),
        }
    }

    /// Returns the name of a member. A voter has one even if no frame of it has arrived.
    pub(super) fn name_of(&self, id: MemberId, context: &Context) -> String {
        let voter = self.voters.iter().find(|it| it.id == id);
        voter.map_or_else(|| context.describe(id).name, |voter| voter.name.clone())
    }

    /// Returns the voters that were never initialised, as far as this member knows.
    fn blank_voters(&self, context: &Context) -> Vec<&str> {
        let is_blank = |id: MemberId| id == context.me.id && self.authority.longest_ttl().is_none();
        let voters = self.voters.iter();
        let blank = voters.filter(|it| it.is_blank || is_blank(it.id));
        blank.map(|it| it.name.as_str()).collect()
    }
}

/// The text for a voter that was away for too long, or while a new era began.
fn left_behind(voter: &str, most: u64) -> String {
    format!(
        "voter `{voter}` was left behind, and does not vote: it promises no counter above {most}, and the others are beyond \
         that: stop its agent, and run `hustings voter init` on its host"
    )
}

/// The text for an era whose counters are used up.
fn used_up(last: u64) -> String {
    let era = era::of(last);
    match era::after(last) {
        Some(next) => format!(
            "the counters of era {era} are used up, or nearly so: stop every member, and run `hustings voter init --era {next}` \
             on every voter"
        ),
        None => format!(
            "the counters of era {era}, the last one, are used up, or nearly so: see what the guide says about counters \
             that are used up"
        ),
    }
}
