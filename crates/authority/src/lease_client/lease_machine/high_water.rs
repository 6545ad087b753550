//! The high-water mark of a lease client, and the end of an era.

use std::io;

use hustings_protocol::tenure::counter;
use hustings_protocol::{Duration, Instant};

use super::LeaseMachine;
use crate::lease_client::Heard;
use crate::{Fence, LeaseEvent, Seen, StoreTag, StoreTerms, era};

/// The time without an announcement after which the duration of a claim is measured anew. A holder
/// announces its fence once a second, so three announcements were missed.
const ANNOUNCED_WITHIN: Duration = Duration::from_secs(3);

/// The period during which other members claimed fences below the mark.
#[derive(Debug, Clone, Copy)]
pub(super) struct BelowMark {
    since: Instant,
    last: Instant,
}

// Persistence.
impl LeaseMachine {
    /// Returns the fences seen, for a write that is about to start.
    pub(in crate::lease_client) fn take_unsaved(&mut self) -> Seen {
        self.persist_retry.begin();
        self.seen.clone()
    }

    /// Handles the result of a write. A failed write is repeated.
    pub(in crate::lease_client) fn on_written(&mut self, written: io::Result<()>) {
        match written {
            Ok(()) => self.persist_retry.succeed(),
            Err(error) => {
                self.persist_retry.fail(self.now());
                self.emit(LeaseEvent::Failed(format!(
                    "the highest fence seen could not be stored: {error}: check the state directory: until then a restart would forget the fence"
                )));
            }
        }
    }
}

// Claims of other members, and reports of the store.
impl LeaseMachine {
    /// Handles a fence that another member claims to hold or to have held. Returns true if it is
    /// new.
    pub(in crate::lease_client) fn on_heard(&mut self, heard: Heard) -> bool {
        let Heard { by, store, fence, holds } = heard;
        let reach = self.reach(store);
        if fence > reach && fence <= era::last(self.terms.era) {
            self.emit(LeaseEvent::OutOfReach { by, fence, reach });
            return false;
        }
        // A later era ends this one. Only the last fence of this era is recorded, so that a forged
        // fence cannot use up the eras that follow.
        let fence = fence.min(era::last(self.terms.era));
        if let Some(other) = store.filter(|it| self.seen.store != Some(*it)) {
            return self.on_claim_of_another_store(other, fence, holds);
        }
        self.heard = self.heard.max(Some(fence));
        if self.shut_out.is_some() {
            self.take_nothing_for_a_ttl(); // it may hold a grant that the store has forgotten
        }
        let held = self.tenure.map(|held| held.fence);
        if held.is_some_and(|held| held <= fence) {
            self.emit(LeaseEvent::Contested { by, fence });
            self.forfeit();
        }
        if held == Some(fence) && !self.is_over() {
            let group = &self.terms.group;
            self.end_era(format!(
                "the store granted fence {fence} to this member and to another: it was restored from an older copy, lost confirmed writes, or exists twice: raise `era` of group `{group}` on all members"
            ));
            return true;
        }
        if holds {
            self.judge_holder(fence, self.seen.highest);
        }
        if !self.raise(Some(fence)) {
            return false;
        }
        if self.is_over() {
            self.shut_out(self.over());
        }
        self.let_in(); // the store has granted more than was known here
        true
    }

    /// Handles a claim for a store that is not known to be this member's own. It counts if the own
    /// store later reports that identity.
    fn on_claim_of_another_store(&mut self, store: StoreTag, fence: Fence, holds: bool) -> bool {
        let mark = self.seen.heard.get(&store).filter(|_| !self.is_identified).copied();
        if holds {
            self.judge_holder(fence, mark);
        }
        if self.is_identified || !self.seen.note(store, fence) {
            return false;
        }
        self.persist_retry.note();
        if mark.is_some() {
            self.let_in(); // the store has granted more than was known here
        }
        true
    }

    /// Raises the mark of the own store. Returns false if it is not lower than `fence`.
    fn raise(&mut self, fence: Option<Fence>) -> bool {
        let is_raised = self.seen.highest < fence;
        if is_raised {
            self.seen.highest = fence;
            self.persist_retry.note();
        }
        is_raised
    }

    /// Returns the highest fence of this era that is believed if a member claims it from `store`. A
    /// fence far above those that the store reported or members claimed before is forged.
    fn reach(&self, store: Option<StoreTag>) -> Fence {
        let heard = store.and_then(|it| self.seen.heard.get(&it));
        let known = self.seen.highest.max(heard.copied()).map_or(0, |it| it.0);
        Fence(counter::reach_of(known.max(era::begin(self.terms.era))))
    }

    /// Handles that another member holds `fence` from a store with the mark `mark`. If the holder
    /// is below the mark and still holds a ttl later, a store that was set back granted the fence.
    /// Before that, its frame may be late.
    fn judge_holder(&mut self, fence: Fence, mark: Option<Fence>) {
        let Some(mark) = mark.filter(|mark| *mark > fence && self.tenure.is_none()) else {
            self.below_mark = None;
            return;
        };
        let (now, ttl) = (self.now(), self.terms.ttl);
        let goes_on = |it: &BelowMark| now - it.last <= ttl.max(ANNOUNCED_WITHIN);
        let since = self.below_mark.filter(goes_on).map_or(now, |it| it.since);
        self.below_mark = Some(BelowMark { since, last: now });
        if now - since >= ttl && self.shut_out.is_none() {
            let group = self.terms.group.clone();
            self.shut_out(format!(
                "another member holds fence {fence} by the store, but {mark} was seen before: the store was restored from an older copy or lost confirmed writes. This member takes no tenure until the store has counted above {mark}: to end this at once, raise `era` of group `{group}` on all members"
            ));
        }
    }

    /// Handles the store's identity. Claims for this store count from here on, and no others.
    pub(in crate::lease_client) fn on_identified(&mut self, store: StoreTag) {
        if std::mem::replace(&mut self.is_identified, true) {
            return;
        }
        let before = self.seen.store.replace(store);
        if before != Some(store) {
            self.is_replaced = before.is_some();
            self.persist_retry.note();
        }
        self.count_in(|marks| marks.heard.get(&store).copied());
    }

    /// Counts claims that turn out to be of this store.
    pub(super) fn count_in(&mut self, of: impl Fn(&Seen) -> Option<Fence>) {
        self.when_asked.highest = self.when_asked.highest.max(of(&self.when_asked));
        let claimed = of(&self.seen);
        self.heard = self.heard.max(claimed);
        self.raise(claimed);
    }

    /// Handles the store's report of its count.
    pub(super) fn on_count(&mut self, last_count: Option<u64>) {
        let last_count = last_count.and_then(|count| era::fence(self.terms.era, count));
        match last_count {
            Some(last_count) if self.when_asked.highest > Some(last_count) => {
                // While it counts on, it was not set back again, and the wait goes on.
                if self.set_back_to.is_none_or(|known| last_count < known) {
                    self.take_nothing_for_a_ttl();
                }
                self.on_set_back(last_count);
            }
            Some(last_count) => {
                self.raise(Some(last_count));
                self.let_in();
            }
            None => {}
        }
    }

    /// Handles a fence from the store that is not above the mark: see the header of
    /// [`lease_client`](crate::lease_client).
    pub(super) fn on_set_back(&mut self, last_count: Fence) {
        let highest = self.seen.highest.map_or(0, |it| it.0);
        let (group, ttl) = (self.terms.group.clone(), self.terms.ttl);
        let what = format!(
            "the store reports fence {last_count}, but {highest} was seen before: the store"
        );
        if self.is_replaced {
            self.end_era(format!(
                "{what} was replaced, or lost all its data: raise `era` of group `{group}` on all members"
            ));
            return;
        }
        self.set_back_to = Some(last_count);
        self.shut_out(format!(
            "{what} was restored from an older copy or lost confirmed writes. This member takes no tenure until the store has counted above {highest}, and asks every {ttl}: to end this at once, raise `era` of group `{group}` on all members"
        ));
    }

    pub(super) fn take_nothing_for_a_ttl(&mut self) {
        self.takes_nothing_until = self.now() + self.terms.ttl;
    }
}

// Permission to take what the store grants.
impl LeaseMachine {
    /// Excludes this member from tenure, though its store answers.
    pub(super) fn shut_out(&mut self, why: String) {
        if self.shut_out.as_ref() != Some(&why) {
            self.emit(LeaseEvent::ShutOut(Some(why.clone())));
            self.shut_out = Some(why);
        }
    }

    /// Ends the exclusion, if there was one.
    pub(super) fn let_in(&mut self) {
        self.set_back_to = None;
        if !self.is_over() && self.shut_out.take().is_some() {
            self.emit(LeaseEvent::ShutOut(None));
        }
    }
}

// The end of an era.
impl LeaseMachine {
    /// True if no fence of this era is taken any more.
    pub(in crate::lease_client) fn is_over(&self) -> bool {
        self.seen.highest >= Some(era::last(self.terms.era))
    }

    /// Ends the era: no fence of it is taken any more. The mark is set to the era's last fence, so
    /// this also holds after a restart.
    pub(super) fn end_era(&mut self, why: String) {
        if !self.is_over() {
            self.shut_out(why);
        }
        self.seen.highest = self.seen.highest.max(Some(era::last(self.terms.era)));
        self.persist_retry.note();
    }

    pub(super) fn over(&self) -> String {
        let StoreTerms { era, group, .. } = &self.terms;
        format!(
            "era {era} of group `{group}` is over: the store was set back in it or counted to its end, or a later era has begun: raise `era` on all members"
        )
    }
}
