//! The reasons for which a nominee has no tenure yet, and the rejection of impossible fences.
//!
//! Purpose     turns the refusals of voters into sentences with a remedy; refuses fences that no
//!             authority can have granted
//! Inputs      the answers of voters, fences that members announce
//! Outputs     refusals for log and status
//! Owns        nothing; it writes the flags of each voter: not initialised, left behind, refuses
//!             the ttl
//! Invariants  a fence of a later era is never refused here, because people begin eras

use hustings_protocol::MemberId;
use hustings_protocol::tenure::{Fence, Message, Question, Refused, counter};

use super::{Refusal, Tenure};
use crate::authority::era;
use crate::config::AuthorityConfig;
use crate::node::{Context, Io};

/// The number of refusals that the status shows.
const MOST_REFUSALS: usize = 8;

/// The highest fence that can ever be granted.
const HIGHEST_FENCE: Fence = Fence(counter::last_of_era(counter::LAST_ERA << counter::COUNT_BITS));

impl Tenure {
    /// Counts a refusal, and adds it to those that the status shows. Returns true if it is not the
    /// last one again.
    fn enter_refusal(&mut self, why: &str, io: &mut Io<'_>) -> bool {
        io.emit.counters.tenure_refusals += 1;
        let at = io.now;
        match self.refusals.back_mut() {
            Some(last) if last.why == why => {
                last.at = at;
                last.times += 1;
                false
            }
            Some(_) | None => {
                if self.refusals.len() >= MOST_REFUSALS {
                    self.refusals.pop_front();
                }
                let (why, times) = (why.to_owned(), 1);
                self.refusals.push_back(Refusal { at, why, times });
                true
            }
        }
    }

    /// Returns true if `by` announces a fence that cannot have been granted, compared with that of
    /// the holder here. Such a fence ends no tenure: any process with the key can make one up. A
    /// fence of a later era counts, because people begin eras.
    pub(super) fn refuses_far_fence(
        &mut self,
        by: MemberId,
        fence: Fence,
        io: &mut Io<'_>,
    ) -> bool {
        let holder = self.fence.or(self.holder.map(|it| it.fence));
        let known = holder.filter(|it| counter::era_of(it.0) == counter::era_of(fence.0));
        let reach = known.map(|it| Fence(counter::reach_of(it.0)));
        let is_far = reach.is_some_and(|it| fence > it) || !counter::is_lawful(fence.0);
        // A lease client judges by all that it knows, and reports it.
        if is_far && !self.voters.is_empty() {
            self.note_far_fence(by, fence, reach.unwrap_or(HIGHEST_FENCE), io);
        }
        is_far
    }

    /// Counts a fence that another member announces and that no authority can have granted.
    pub(super) fn note_far_fence(
        &mut self,
        by: MemberId,
        fence: Fence,
        reach: Fence,
        io: &mut Io<'_>,
    ) {
        io.emit.counters.far_fences += 1;
        if io.emit.counters.far_fences == 1 {
            let (group, name) = (&io.config.name, io.describe(by).name);
            tracing::warn!(
                "group `{group}`: fence {fence} of `{name}` is ignored: no authority can have granted a fence above {reach} by now; unless a store has counted that far, a member invents fences: change the key on all members"
            );
        }
    }

    pub(super) fn note_refusal(&mut self, why: &str, io: &mut Io<'_>) {
        let group = &io.context.config.name;
        if !self.enter_refusal(why, io) {
            return;
        }
        match self.authority.holds(io.now) {
            Some(held) => {
                let (fence, left) = (held.fence, (held.until - io.now).as_secs_f64());
                tracing::warn!(
                    "group `{group}`: still holds tenure with fence {fence}, for {left:.1} s unless it is renewed: {why}"
                );
            }
            None => tracing::info!("group `{group}`: no tenure yet: {why}"),
        }
    }

    /// Notes that this member takes no tenure from its store, so it cannot succeed a failed leader;
    /// or, with `None`, that it does again.
    pub(super) fn note_shut_out(&mut self, why: Option<&str>, io: &mut Io<'_>) {
        let group = &io.context.config.name;
        let was_shut_out = self.shut_out.is_some();
        let Some(why) = why else {
            self.shut_out = None;
            tracing::info!("group `{group}`: takes tenure from its store again");
            return;
        };
        self.enter_refusal(why, io);
        self.shut_out = self.refusals.back().cloned();
        match was_shut_out {
            false => tracing::warn!(
                "group `{group}`: takes no tenure from its store, so it cannot succeed a leader that fails: {why}"
            ),
            true => tracing::info!("group `{group}`: still takes no tenure from its store: {why}"),
        }
    }

    /// Reports that too few voters answer.
    pub(super) fn note_silence(&mut self, why: &str, io: &mut Io<'_>) {
        if self.enter_refusal(why, io) {
            tracing::warn!("group `{}`: no tenure: {why}", io.config.name);
        }
    }

    /// Reports a fault that needs a person's attention.
    pub(super) fn note_fault(&mut self, why: &str, io: &mut Io<'_>) {
        if self.enter_refusal(why, io) {
            tracing::error!("group `{}`: {why}", io.config.name);
        }
    }

    /// Notes from a voter's answer whether it can vote, and whether it grants the ttl that this
    /// member asks for.
    pub(super) fn note_answer(&mut self, from: MemberId, message: &Message, io: &mut Io<'_>) {
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
                    self.note_fault(&why, io);
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
                "`{}` holds it, which is this member's own name: an earlier process of this member, or another member with its name",
                context.member
            ),
            Refused::Held { holder, .. } => format!("`{}` holds it", self.name_of(holder, context)),
            Refused::Quarantined { lasts } => format!(
                "voters have restarted, and tenure that they granted before may last for another {:.1} s",
                lasts.as_secs_f64()
            ),
            Refused::Outrun => "another member tried at the same time".to_owned(),
            Refused::TtlTooLong { max_ttl } => {
                format!("voters grant {max_ttl} at most: give all members the same ttl")
            }
            Refused::Uninitialised => {
                let blank = self.blank_voters(context).join(", ");
                format!(
                    "voters without a usable voter's file: {blank}: the log of each gives the reason; where the file is missing or damaged, run `hustings voter init`, once"
                )
            }
            Refused::OutOfReach { most } if most == counter::last_of_era(most) => used_up(most),
            Refused::OutOfReach { most } => format!(
                "voters promise no counter above {most}, and this member asked for a higher one: if this goes on, they were left behind: run `hustings voter init` on their hosts, with their agents stopped"
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
        "voter `{voter}` was left behind, and does not vote: it promises no counter above {most}, and the other voters are beyond that: stop its agent, and run `hustings voter init` on its host"
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
            "the counters of era {era}, the last era, are used up, or nearly so: the guide has a section about used-up counters"
        ),
    }
}
