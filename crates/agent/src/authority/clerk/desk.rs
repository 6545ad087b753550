//! What a clerk knows, and what it decides.

mod seen;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hustings_protocol::tenure::drift;
use hustings_protocol::{Duration, Instant};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::watch;

use super::hearsay::Hearsay;
use super::keeping::Keeping;
use crate::authority::store::{Denied, Grant};
use crate::authority::{Fence, Held, Request, Seen, StoreTerms, Word, Words, era};
use seen::BelowMark;

/// Renewal begins when this part of the ttl is over: two more tries fit in before the end.
const RENEWALS_IN_A_TTL: u64 = 3;
/// For how many ttls a release is tried: by then the store has ended by itself what it granted.
const RELEASE_FOR_TTLS: u64 = 2;

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Acquire,
    Renew,
    Release,
    /// Nothing, until then or until the store tells that tenure is free.
    Wait {
        until: Option<Instant>,
        watches: bool,
    },
    /// Nothing any more.
    End,
}

/// What the store may have granted, and is not held here.
#[derive(Debug, Clone, Copy)]
struct Leftover {
    /// Until when to give it back though nothing else is asked.
    until: Instant,
    /// Whether it was held once; else it is not known whether the store granted it.
    was_held: bool,
}

pub(super) struct Desk {
    clock: fn() -> Instant,
    terms: StoreTerms,
    rng: Xoshiro256PlusPlus,
    shown: watch::Sender<Option<Held>>,
    words: (usize, Words),
    is_nominated: bool,
    is_healthy: bool,
    /// Whether whoever runs it has gone.
    is_left: bool,
    tenure: Option<Held>,
    /// When to renew it.
    renew_at: Instant,
    /// Set if the store may have granted what is not held. Before anything else is asked, it is given back.
    leftover: Option<Leftover>,
    /// The next attempt to acquire, or to give back, is not before this.
    attempt_at: Instant,
    /// Nor is the next attempt to acquire before this: what a store granted before it was set back may last until then.
    takes_nothing_until: Instant,
    /// Why this member takes no tenure from its store, if it does not.
    shut_out: Option<String>,
    /// Set while other members are heard to hold fences below the mark.
    below_mark: Option<BelowMark>,
    /// Whether the store can tell when tenure is free.
    can_watch: bool,
    /// The highest fence seen: what the store told, and what other members were heard to hold.
    highest: Option<Fence>,
    /// What that was when the store was asked last. An answer may be older than what was heard since, but not than this.
    highest_when_asked: Option<Fence>,
    /// The highest fence that another member was heard to hold.
    heard: Option<Fence>,
    /// What was heard and does not count, as long as it is not known whether that is of the same store.
    hearsay: Hearsay,
    keeping: Keeping,
    /// The last refusal that was told: each is told once.
    refusal: Option<String>,
}

impl Desk {
    pub(super) fn new(
        clock: fn() -> Instant,
        terms: StoreTerms,
        seen: Seen,
        shown: watch::Sender<Option<Held>>,
        words: (usize, Words),
        is_stuck: &Arc<AtomicBool>,
    ) -> Self {
        // Chance only keeps clerks out of step. Without it, the clock does.
        let seed = getrandom::u64().unwrap_or_else(|_| clock().0);
        let mut desk = Self {
            clock,
            terms,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            shown,
            words,
            is_nominated: false,
            is_healthy: true,
            is_left: false,
            tenure: None,
            renew_at: Instant::START,
            leftover: None,
            attempt_at: Instant::START,
            takes_nothing_until: Instant::START,
            shut_out: None,
            below_mark: None,
            can_watch: true,
            highest: seen.highest,
            highest_when_asked: seen.highest,
            heard: None,
            hearsay: Hearsay::new(seen.store, seen.heard),
            keeping: Keeping::new(Arc::clone(is_stuck)),
            refusal: None,
        };
        if desk.is_over() {
            desk.shut_out(desk.over()); // before it is named: until then another may fail
        }
        desk
    }

    pub(super) fn now(&self) -> Instant {
        (self.clock)()
    }

    pub(super) fn answer_within(&self) -> Duration {
        self.terms.answer_within
    }

    /// When a renewal that begins at `read_at` has come too late.
    pub(super) fn renewed_by(&self, read_at: Instant) -> Instant {
        let answered_by = read_at + self.terms.answer_within;
        self.tenure
            .map_or(answered_by, |held| answered_by.min(held.until))
    }

    pub(super) fn is_left(&self) -> bool {
        self.is_left
    }

    fn campaigns(&self) -> bool {
        self.is_nominated && self.is_healthy && !self.is_over()
    }

    /// What is to be done now.
    pub(super) fn act(&self) -> Act {
        let now = self.now();
        let wait = |until| Act::Wait {
            until: Some(until),
            watches: false,
        };
        let gives_back = |until| self.campaigns() || now < until;
        match (self.tenure, self.leftover) {
            // Work that may still run must not be overtaken: it is not released, it runs out.
            (Some(_), _) if self.is_left => Act::End,
            (Some(held), _) if !self.is_healthy => wait(held.until),
            (Some(_), _) if self.renew_at <= now => Act::Renew,
            (Some(held), _) => wait(held.until.min(self.renew_at)),
            (None, Some(leftover)) if gives_back(leftover.until) => match self.attempt_at <= now {
                true => Act::Release,
                false => wait(self.attempt_at),
            },
            (None, _) if self.is_left => Act::End,
            (None, _) if !self.campaigns() => Act::Wait {
                until: None,
                watches: false,
            },
            (None, _) if self.takes_nothing_until > now => wait(self.takes_nothing_until),
            (None, _) if self.attempt_at <= now => Act::Acquire,
            (None, _) => Act::Wait {
                until: Some(self.attempt_at),
                watches: self.can_watch,
            },
        }
    }

    /// How much of a grant is for use here. What a store grants beyond what it was asked for is not.
    fn usable(&self, granted: Duration) -> Duration {
        drift::usable(granted.min(self.terms.ttl), self.terms.drift_ppm)
    }

    /// Whether `act`, which was begun, is still what is wanted.
    pub(super) fn goes_on_with(&self, act: Act) -> bool {
        match act {
            Act::Acquire => self.campaigns() && !self.is_left,
            Act::Renew => self.tenure.is_some() && self.is_healthy && !self.is_left,
            Act::Release => true,
            Act::Wait { .. } | Act::End => false,
        }
    }
}

// Handlers: one per input. They decide; the transitions below act.
impl Desk {
    /// Before anything is counted or begun.
    pub(super) fn look_at_the_clock(&mut self) {
        if self.tenure.is_some_and(|held| held.until <= self.now()) {
            self.lose(self.now());
            self.pause(Duration::ZERO);
        }
    }

    pub(super) fn on_request(&mut self, request: Request) {
        match request {
            Request::Acquire => self.stand(),
            Request::Withdraw => self.withdraw(),
            Request::Release => self.give_up(),
            Request::Transfer { .. } if self.tenure.is_none() => {} // there is nothing to hand over
            Request::Transfer { .. } => self.give_up(), // the store hands over to whoever asks first
            Request::Healthy(is_healthy) => self.is_healthy = is_healthy,
        }
    }

    /// Whoever runs it has gone.
    pub(super) fn on_leave(&mut self) {
        self.is_left = true;
        self.withdraw();
    }

    /// The store is about to be asked for tenure.
    pub(super) fn on_ask(&mut self) {
        self.highest_when_asked = self.highest;
        self.hearsay.on_ask();
    }

    /// Granted. Returns what may be shown when it is remembered.
    pub(super) fn on_grant(&mut self, grant: Grant, read_at: Instant) -> Option<Held> {
        if !self.hearsay.is_told() {
            self.count_in(self.hearsay.of_any()); // it grants, and does not tell: it may be any
        }
        let Some(fence) = era::fence(self.terms.era, grant.count) else {
            self.leave_over();
            let (count, group) = (grant.count, &self.terms.group);
            self.end_era(format!(
                "the store counts {count} tenures of group `{group}`, more than an era has: raise `era` on all members"
            ));
            return None;
        };
        if self.highest_when_asked >= Some(fence) {
            self.leave_over();
            self.on_set_back(fence);
            return None;
        }
        if self.heard >= Some(fence) {
            self.on_overtaken(fence);
            return None;
        }
        self.highest = Some(fence);
        self.let_in();
        let until = read_at + self.usable(grant.ttl.into());
        Some(Held { fence, until })
    }

    /// What was granted is remembered, or not, or it took too long to tell.
    pub(super) fn on_remembered(
        &mut self,
        held: Held,
        read_at: Instant,
        written: Option<io::Result<()>>,
    ) {
        match &written {
            Some(Ok(())) => self.keeping.succeed(),
            Some(Err(_)) => self.keeping.fail(self.now()),
            None if self.now() < held.until => self.keeping.note(), // whoever writes has not told yet
            None => {
                self.keeping.hang();
                self.tell(Word::Failed(
                    "the fence that was granted is not remembered yet, and its time is over: the disk hangs, or is far too slow: see to the \
                     state directory"
                        .to_owned(),
                ));
            }
        }
        match written {
            _ if self.heard >= Some(held.fence) => self.on_overtaken(held.fence),
            Some(Ok(())) if self.now() < held.until && self.campaigns() => self.win(held, read_at),
            Some(Err(error)) => {
                self.tell(Word::Failed(format!(
                    "the fence that was granted could not be remembered, so tenure is not taken: {error}: see to the state directory"
                )));
                self.leave_over();
            }
            Some(Ok(())) | None => self.leave_over(), // too late, or not wanted any more
        }
    }

    /// While the store granted `fence`, or that was being remembered, another member was heard to hold it, or a higher one.
    fn on_overtaken(&mut self, fence: Fence) {
        self.leave_over();
        match self.heard == Some(fence) {
            true => self.on_set_back(fence),
            // It may have been taken away at the store and given to another. The next answer tells.
            false => self.refuse(format!(
                "the store granted fence {fence}, but another member was heard to hold a higher one meanwhile"
            )),
        }
    }

    pub(super) fn on_denied(&mut self, denied: &Denied, told: Option<u64>) {
        self.can_watch = true;
        let why = denied.to_string();
        match denied {
            Denied::Held { lasts, .. } => {
                self.refuse(why);
                self.pause(lasts.map_or(self.terms.ttl, Duration::from));
                self.on_told(told);
            }
            Denied::Blocked(_) => {
                self.shut_out(why);
                self.pause(self.terms.ttl);
            }
            // What was not answered may have been done.
            Denied::Gone | Denied::Refused(_) | Denied::Unavailable(_) => {
                self.refuse(why);
                self.leave_over();
            }
        }
    }

    /// An attempt was overtaken by a request. It may have been carried out.
    pub(super) fn on_given_up(&mut self) {
        self.leave_over();
        self.attempt_at = self.now();
    }

    pub(super) fn on_renewed(&mut self, read_at: Instant, ttl: Duration) {
        self.look_at_the_clock(); // what comes after the end counts for nothing
        if let Some(held) = self.tenure {
            let until = read_at + self.usable(ttl);
            self.hold(Held { until, ..held }, read_at);
        }
    }

    pub(super) fn on_not_renewed(&mut self, denied: &Denied) {
        self.look_at_the_clock();
        if self.tenure.is_none() {
            return;
        }
        self.refuse(format!("tenure was not renewed: {denied}"));
        match denied {
            Denied::Gone | Denied::Held { .. } => {
                self.lose(self.background_end());
                self.pause(Duration::ZERO);
            }
            Denied::Refused(_) | Denied::Blocked(_) | Denied::Unavailable(_) => {
                let soon = self.chance(Duration(self.terms.answer_within.0 / 4));
                self.renew_at = self.now() + soon;
            }
        }
    }

    pub(super) fn on_released(&mut self) {
        self.leftover = None;
    }

    pub(super) fn on_not_released(&mut self, denied: &Denied) {
        // Of what nobody knows to be there, only why it is not given is news.
        self.refuse(match self.leftover.is_some_and(|it| it.was_held) {
            true => format!(
                "tenure that is no longer held could not be released, so it has to run out: {denied}"
            ),
            false => denied.to_string(),
        });
        self.pause(Duration::ZERO);
    }

    /// The store tells that tenure may be free.
    pub(super) fn on_freed(&mut self) {
        self.attempt_at = self.now();
    }

    /// The store cannot tell: the time until the next attempt is waited for.
    pub(super) fn on_not_watched(&mut self, denied: &Denied) {
        self.can_watch = false;
        tracing::debug!(group = self.terms.group, %denied, "cannot see when tenure is free");
    }
}

// Transitions: the only code that writes what is held. What is shown changes first, then it is told.
impl Desk {
    fn stand(&mut self) {
        self.is_nominated = true;
        if self.tenure.is_none() {
            self.attempt_at = self.now();
        }
    }

    /// What it holds goes on.
    fn withdraw(&mut self) {
        self.is_nominated = false;
        self.refusal = None;
    }

    fn give_up(&mut self) {
        self.withdraw();
        if self.tenure.is_some() {
            self.lose(self.background_end());
            self.attempt_at = self.now();
        }
    }

    fn win(&mut self, held: Held, read_at: Instant) {
        self.refusal = None;
        self.hold(held, read_at);
        self.tell(Word::Gained(held.fence));
    }

    fn hold(&mut self, held: Held, read_at: Instant) {
        self.tenure = Some(held);
        self.renew_at = read_at + Duration(self.terms.ttl.0 / RENEWALS_IN_A_TTL);
        self.shown.send_replace(Some(held));
    }

    /// What it held is over. What the store thinks of it is given back, at the latest before the next
    /// attempt.
    fn lose(&mut self, in_background_until: Instant) {
        if let Some(held) = self.tenure.take() {
            self.shown.send_replace(None);
            self.leftover = Some(Leftover {
                until: in_background_until,
                was_held: true,
            });
            self.tell(Word::Lost(held.fence));
        }
    }

    /// Another has what it holds too, or has had more since: it counts no more. It is not given back, as work may go on for as
    /// long as it takes to end it, but runs out.
    fn forfeit(&mut self) {
        self.lose(self.now());
        self.leftover = None;
        self.pause(self.terms.ttl);
    }

    /// The store may have granted what is not held.
    fn leave_over(&mut self) {
        self.leftover = Some(Leftover {
            until: self.background_end(),
            was_held: false,
        });
        self.pause(Duration::ZERO);
    }

    fn background_end(&self) -> Instant {
        self.now() + self.terms.ttl * RELEASE_FOR_TTLS
    }

    /// Waits at least for so long, and a little longer, so that of two that waited one is first.
    fn pause(&mut self, at_least: Duration) {
        let chance = self.chance(self.terms.answer_within);
        self.attempt_at = self.now() + at_least + chance;
    }

    /// Some time, but not none: a store that fails at once is not asked at once.
    fn chance(&mut self, most: Duration) -> Duration {
        let least = most.0 / 8;
        Duration(least + self.rng.next_u64() % (most.0 - least).max(1))
    }

    fn refuse(&mut self, why: String) {
        if self.refusal.as_ref() != Some(&why) {
            self.tell(Word::Refused(why.clone()));
            self.refusal = Some(why);
        }
    }

    fn tell(&self, word: Word) {
        let (group, words) = &self.words;
        // If nobody listens any more, the agent is coming down.
        _ = words.send((*group, word));
    }
}
