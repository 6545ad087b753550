//! What a clerk has seen of fences, and what follows for its era.

use std::io;

use hustings_protocol::tenure::counter;
use hustings_protocol::{Duration, Instant};

use super::Desk;
use crate::authority::clerk::Heard;
use crate::authority::clerk::hearsay::Highest;
use crate::authority::{Fence, Mark, Seen, StoreTerms, Word, era};

/// A holder announces its fence once a second. A member that has heard none of three announcements starts to count anew.
const TOLD_WITHIN: Duration = Duration::from_secs(3);

/// The time during which other members were heard to hold fences below the mark.
#[derive(Debug, Clone, Copy)]
pub(super) struct BelowMark {
    since: Instant,
    last: Instant,
}

// What is kept.
impl Desk {
    /// What was seen, which is about to be remembered.
    pub(in crate::authority::clerk) fn take_news(&mut self) -> Seen {
        self.keeping.begin();
        Seen {
            highest: self.highest,
            store: self.hearsay.store(),
            heard: self.hearsay.heard().clone(),
        }
    }

    /// When to remember what was seen, if that is not done yet.
    pub(in crate::authority::clerk) fn has_news_at(&self) -> Option<Instant> {
        self.keeping.due()
    }

    /// What was seen is kept, or could not be: then it is tried again.
    pub(in crate::authority::clerk) fn on_kept_in_mind(&mut self, written: io::Result<()>) {
        match written {
            Ok(()) => self.keeping.succeed(),
            Err(error) => {
                self.keeping.fail(self.now());
                self.tell(Word::Failed(format!(
                    "the highest fence seen could not be remembered: {error}: see to the state directory: until then a restart \
                     would forget it"
                )));
            }
        }
    }
}

// What is heard and told.
impl Desk {
    /// Another member holds a fence, or held it. Returns whether that is news.
    pub(in crate::authority::clerk) fn on_heard(&mut self, heard: Heard) -> bool {
        let Heard {
            by,
            store,
            fence,
            holds,
        } = heard;
        let reach = self.reach(store);
        if fence > reach && fence <= era::last(self.terms.era) {
            self.tell(Word::OutOfReach { by, fence, reach });
            return false;
        }
        // A later era ends this one. No more than that is remembered of it: whoever made the fence up must not use up the
        // eras that come after.
        let fence = fence.min(era::last(self.terms.era));
        match store {
            Some(store) if self.hearsay.store() != Some(store) => {
                let mark = self.hearsay.mark(store);
                if holds {
                    self.judge_holder(fence, mark);
                }
                let is_news = self.hearsay.note(store, fence);
                if is_news {
                    self.keeping.note();
                }
                if is_news && mark.is_some() {
                    self.let_in(); // as below
                }
                return is_news;
            }
            Some(_) | None => {}
        }
        self.heard = self.heard.max(Some(fence));
        if self.shut_out.is_some() {
            self.take_nothing_for_a_ttl(); // it may hold by what the store has forgotten
        }
        let held = self.tenure.map(|held| held.fence);
        if held.is_some_and(|held| held <= fence) {
            self.tell(Word::Contested { by, fence });
            self.forfeit();
        }
        if held == Some(fence) && !self.is_over() {
            self.end_era(self.given_twice(fence));
            return true;
        }
        if holds {
            self.judge_holder(fence, self.highest);
        }
        if self.highest >= Some(fence) {
            return false;
        }
        self.highest = Some(fence);
        self.keeping.note();
        if self.is_over() {
            self.shut_out(self.over());
        }
        self.let_in(); // the store has granted more than was known here
        true
    }

    /// Returns the highest fence of this era that may be heard to be held by a store. What the store told, and what was heard
    /// before, is known; a fence far above that was made up.
    fn reach(&self, store: Option<Mark>) -> Fence {
        let heard = store.and_then(|it| self.hearsay.heard().get(&it));
        let known = self.highest.max(heard.copied()).map_or(0, |it| it.0);
        Fence(counter::reach_of(known.max(era::begin(self.terms.era))))
    }

    /// Another member holds `fence` by a store of which this member has seen `mark`. A holder below the mark was granted
    /// tenure by a store that was set back, if it still holds a ttl later. Before that, its frame may be late.
    fn judge_holder(&mut self, fence: Fence, mark: Option<Fence>) {
        let Some(mark) = mark.filter(|mark| *mark > fence && self.tenure.is_none()) else {
            self.below_mark = None;
            return;
        };
        let (now, ttl) = (self.now(), self.terms.ttl);
        let goes_on = |it: &BelowMark| now - it.last <= ttl.max(TOLD_WITHIN);
        let since = self.below_mark.filter(goes_on).map_or(now, |it| it.since);
        self.below_mark = Some(BelowMark { since, last: now });
        if now - since >= ttl && self.shut_out.is_none() {
            let group = self.terms.group.clone();
            self.shut_out(format!(
                "another member holds fence {fence} by the store, but {mark} was seen before: the store was restored from an \
                 older copy or lost what it had confirmed. This member takes no tenure until the store has counted above \
                 {mark}: to end this at once, raise `era` of group `{group}` on all members"
            ));
        }
    }

    /// The store told which it is: what was heard of it counts from here on, and of no other.
    pub(in crate::authority::clerk) fn on_identified(&mut self, store: Mark) {
        if self.hearsay.is_told() {
            return;
        }
        let (highest, is_news) = self.hearsay.identify(store);
        if is_news {
            self.keeping.note();
        }
        self.count_in(highest);
    }

    /// Fences that were heard turn out to be of this store.
    pub(super) fn count_in(&mut self, Highest { when_asked, now }: Highest) {
        self.highest_when_asked = self.highest_when_asked.max(when_asked);
        self.heard = self.heard.max(now);
        if self.highest < now {
            self.highest = now;
            self.keeping.note();
        }
    }

    /// How far the store has counted.
    pub(super) fn on_told(&mut self, told: Option<u64>) {
        let told = told.and_then(|count| era::fence(self.terms.era, count));
        match told {
            Some(told) if self.highest_when_asked > Some(told) => self.on_set_back(told),
            Some(told) => {
                if self.highest < Some(told) {
                    self.highest = Some(told);
                    self.keeping.note();
                }
                self.let_in();
            }
            None => {}
        }
    }

    /// The store tells a fence that is not above this member's mark: see the header of [`clerk`](crate::authority::clerk).
    pub(super) fn on_set_back(&mut self, told: Fence) {
        let highest = self.highest.map_or(0, |it| it.0);
        let (group, ttl) = (self.terms.group.clone(), self.terms.ttl);
        let what = format!("the store tells fence {told}, but {highest} was seen before: it");
        if self.hearsay.is_replaced() {
            self.end_era(format!(
                "{what} is another store, or lost all that it knew: raise `era` of group `{group}` on all members"
            ));
            return;
        }
        self.take_nothing_for_a_ttl();
        self.shut_out(format!(
            "{what} was restored from an older copy or lost what it had confirmed. This member takes no tenure until the \
             store has counted above {highest}, and asks every {ttl}: to end this at once, raise `era` of group `{group}` \
             on all members"
        ));
    }

    fn take_nothing_for_a_ttl(&mut self) {
        self.takes_nothing_until = self.now() + self.terms.ttl;
    }
}

// Whether this member may take what the store grants.
impl Desk {
    /// From here on this member takes no tenure from its store, though it answers.
    pub(super) fn shut_out(&mut self, why: String) {
        if self.shut_out.as_ref() != Some(&why) {
            self.tell(Word::ShutOut(Some(why.clone())));
            self.shut_out = Some(why);
        }
    }

    /// The reason is gone for which this member took no tenure, if there was one.
    pub(super) fn let_in(&mut self) {
        if !self.is_over() && self.shut_out.take().is_some() {
            self.tell(Word::ShutOut(None));
        }
    }
}

// An era that is over.
impl Desk {
    /// Whether no fence of this era is taken any more.
    pub(in crate::authority::clerk) fn is_over(&self) -> bool {
        self.highest >= Some(era::last(self.terms.era))
    }

    /// No fence of this era is taken any more. Resting on the last one makes it so, after a restart too.
    pub(super) fn end_era(&mut self, why: String) {
        if !self.is_over() {
            self.shut_out(why);
        }
        self.highest = self.highest.max(Some(era::last(self.terms.era)));
        self.keeping.note();
    }

    pub(super) fn given_twice(&self, fence: Fence) -> String {
        format!(
            "the store granted fence {fence} to this member and to another: it was restored from an older copy or lost what it \
             had confirmed, or there are two of it: raise `era` of group `{}` on all members",
            self.terms.group
        )
    }

    pub(super) fn over(&self) -> String {
        let StoreTerms { era, group, .. } = &self.terms;
        format!(
            "era {era} of group `{group}` is over: the store went back in it or counted to its end, or a later era has begun: \
             raise `era` on all members"
        )
    }
}
