//! The state of a lease client and its decisions.

mod high_water;

use std::io;
use std::sync::Arc;

use hustings_protocol::tenure::drift;
use hustings_protocol::{Duration, Instant};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::watch;

use super::Published;
use super::persist_retry::PersistRetry;
use crate::store::{Grant, StoreError};
use crate::{Fence, Held, LeaseEvent, LeaseEvents, Request, Seen, StoreTerms, era};
use high_water::BelowMark;

/// The divisor of the ttl after which renewal begins: two more attempts fit in before the end.
const RENEWALS_IN_A_TTL: u64 = 3;
/// The number of ttls for which a release is attempted. By then the store has ended the tenure by
/// itself.
const RELEASE_FOR_TTLS: u64 = 2;

/// The next action of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Acquire,
    Renew,
    Release,
    /// Waits until a time, or until the store reports that tenure is free.
    Wait {
        until: Option<Instant>,
        watches: bool,
    },
    /// Ends the client.
    End,
}

/// A tenure that the store may have granted, but that is not held here.
#[derive(Debug, Clone, Copy)]
struct Leftover {
    /// The time until which to release it even if nothing else is asked for.
    until: Instant,
    /// True if it was held before. Otherwise it is not known whether the store granted it.
    was_held: bool,
}

pub(super) struct LeaseMachine {
    clock: fn() -> Instant,
    pub(super) terms: StoreTerms,
    rng: Xoshiro256PlusPlus,
    shown: watch::Sender<Option<Held>>,
    events: (usize, LeaseEvents),
    is_nominated: bool,
    is_healthy: bool,
    /// True if the client's handle was dropped.
    pub(super) is_left: bool,
    tenure: Option<Held>,
    /// The time of the next renewal.
    renew_at: Instant,
    /// A tenure that the store may have granted, but that is not held. It is released before
    /// anything else is asked for.
    leftover: Option<Leftover>,
    /// The earliest time of the next attempt to acquire or to release.
    attempt_at: Instant,
    /// Another lower bound for the next attempt to acquire. What a store granted before it was set
    /// back may last until then.
    takes_nothing_until: Instant,
    /// The reason why this member takes no tenure from its store, if any.
    shut_out: Option<String>,
    /// The last fence at or below the mark that the store reported, if it reported none above it
    /// since.
    set_back_to: Option<Fence>,
    /// Set while other members claim fences below the high-water mark.
    below_mark: Option<BelowMark>,
    /// True if the store can report when tenure is free.
    can_watch: bool,
    /// The high-water mark of the member's own store, and those of stores that may be its own.
    seen: Seen,
    /// A copy of the marks from when the store was last asked. An answer may be older than claims
    /// received since, but not older than this.
    when_asked: Seen,
    /// The highest fence of the own store that another member claimed to this process.
    heard: Option<Fence>,
    /// True if the store has reported its identity to this process. From then on only claims for
    /// that store count.
    is_identified: bool,
    /// True if the store reported another identity to this process than to an earlier one. It is
    /// another store, or has lost all its state.
    is_replaced: bool,
    pub(super) persist_retry: PersistRetry,
    /// The last refusal reported. Each one is reported once.
    refusal: Option<String>,
}

impl LeaseMachine {
    pub(super) fn new(
        clock: fn() -> Instant,
        terms: StoreTerms,
        seen: Seen,
        shown: watch::Sender<Option<Held>>,
        events: (usize, LeaseEvents),
        published: Arc<Published>,
    ) -> Self {
        // Randomness only keeps clients from asking in step. If there is none, the clock suffices.
        let seed = getrandom::u64().unwrap_or_else(|_| clock().0);
        let mut lease_machine = Self {
            clock,
            terms,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            shown,
            events,
            is_nominated: false,
            is_healthy: true,
            is_left: false,
            tenure: None,
            renew_at: Instant::START,
            leftover: None,
            attempt_at: Instant::START,
            takes_nothing_until: Instant::START,
            shut_out: None,
            set_back_to: None,
            below_mark: None,
            can_watch: true,
            when_asked: seen.clone(),
            seen,
            heard: None,
            is_identified: false,
            is_replaced: false,
            persist_retry: PersistRetry::new(published),
            refusal: None,
        };
        if lease_machine.is_over() {
            lease_machine.shut_out(lease_machine.over()); // reported before nomination: until then another member may fail
        }
        lease_machine
    }

    pub(super) fn now(&self) -> Instant {
        (self.clock)()
    }

    /// Returns the time at which a renewal that begins at `read_at` is too late.
    pub(super) fn renewed_by(&self, read_at: Instant) -> Instant {
        let answered_by = read_at + self.terms.answer_within;
        self.tenure.map_or(answered_by, |held| answered_by.min(held.until))
    }

    fn campaigns(&self) -> bool {
        self.is_nominated && self.is_healthy && !self.is_over()
    }

    /// Returns the next action.
    pub(super) fn act(&self) -> Act {
        let now = self.now();
        let wait = |until| Act::Wait { until: Some(until), watches: false };
        let gives_back = |until| self.campaigns() || now < until;
        match (self.tenure, self.leftover) {
            // Work may still run under this tenure, so it is left to expire and not released.
            (Some(_), _) if self.is_left => Act::End,
            (Some(held), _) if !self.is_healthy => wait(held.until),
            (Some(_), _) if self.renew_at <= now => Act::Renew,
            (Some(held), _) => wait(held.until.min(self.renew_at)),
            (None, Some(leftover)) if gives_back(leftover.until) => match self.attempt_at <= now {
                true => Act::Release,
                false => wait(self.attempt_at),
            },
            (None, _) if self.is_left => Act::End,
            (None, _) if !self.campaigns() => Act::Wait { until: None, watches: false },
            (None, _) if self.takes_nothing_until > now => wait(self.takes_nothing_until),
            (None, _) if self.attempt_at <= now => Act::Acquire,
            (None, _) => Act::Wait { until: Some(self.attempt_at), watches: self.can_watch },
        }
    }

    /// Returns the part of a grant that is used here. It excludes what the store grants beyond the
    /// ttl that was asked for.
    fn usable(&self, granted: Duration) -> Duration {
        drift::usable(granted.min(self.terms.ttl), self.terms.drift_ppm)
    }

    /// True if `act`, which has begun, is still wanted.
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
impl LeaseMachine {
    /// Ends a tenure that has expired. Called before each decision.
    pub(super) fn check_clock(&mut self) {
        if self.tenure.is_some_and(|held| held.until <= self.now()) {
            self.lose(self.now());
            self.pause(Duration::ZERO);
        }
    }

    pub(super) fn on_request(&mut self, request: Request) {
        match request {
            Request::Acquire => self.campaign(),
            Request::Withdraw => self.withdraw(),
            Request::Release => self.give_up(),
            Request::Transfer { .. } if self.tenure.is_none() => {} // there is nothing to transfer
            Request::Transfer { .. } => self.give_up(), // a store gives tenure to the first member that asks
            Request::Healthy(is_healthy) => self.is_healthy = is_healthy,
        }
    }

    /// Handles that the client's handle was dropped.
    pub(super) fn on_leave(&mut self) {
        self.is_left = true;
        self.withdraw();
    }

    /// Records the marks before the store is asked for tenure.
    pub(super) fn on_ask(&mut self) {
        self.when_asked.clone_from(&self.seen);
    }

    /// Handles a grant. Returns the tenure to publish once its fence is persisted.
    pub(super) fn on_grant(&mut self, grant: Grant, read_at: Instant) -> Option<Held> {
        if !self.is_identified {
            // The store grants without an identity: the claims may be its own.
            self.count_in(|marks| marks.heard.values().max().copied());
        }
        let Some(fence) = era::fence(self.terms.era, grant.count) else {
            self.note_leftover();
            let (count, group) = (grant.count, &self.terms.group);
            self.end_era(format!(
                "the store has counted {count} tenures of group `{group}`, more than an era has: raise `era` on all members"
            ));
            return None;
        };
        if self.when_asked.highest >= Some(fence) {
            self.note_leftover();
            let has_waited = self.set_back_to.is_some();
            self.take_nothing_for_a_ttl();
            self.on_set_back(fence);
            if has_waited && !self.is_over() {
                self.emit(LeaseEvent::TakesNothingUntil(self.takes_nothing_until));
            }
            return None;
        }
        if self.heard >= Some(fence) {
            self.on_overtaken(fence);
            return None;
        }
        self.seen.highest = Some(fence);
        self.let_in();
        let until = read_at + self.usable(grant.ttl.into());
        Some(Held { fence, until })
    }

    /// Handles the result of persisting a granted fence. `None` means that the result is not known
    /// yet.
    pub(super) fn on_persisted(
        &mut self,
        held: Held,
        read_at: Instant,
        written: Option<io::Result<()>>,
    ) {
        match &written {
            Some(Ok(())) => self.persist_retry.succeed(),
            Some(Err(_)) => self.persist_retry.fail(self.now()),
            None if self.now() < held.until => self.persist_retry.note(), // the writing thread has not reported yet
            None => {
                self.persist_retry.hang();
                self.emit(LeaseEvent::Failed(
                    "the granted fence is not stored yet, and its tenure has run out: the disk hangs, or is far too slow: check the state directory"
                        .to_owned(),
                ));
            }
        }
        match written {
            _ if self.heard >= Some(held.fence) => self.on_overtaken(held.fence),
            Some(Ok(())) if self.now() < held.until && self.campaigns() => self.win(held, read_at),
            Some(Err(error)) => {
                self.emit(LeaseEvent::Failed(format!(
                    "the granted fence could not be stored, so this member does not take tenure: {error}: check the state directory"
                )));
                self.note_leftover();
            }
            Some(Ok(())) | None => self.note_leftover(), // too late, or not wanted any more
        }
    }

    /// Handles a claim of `fence`, or of a higher one, that arrived while the store granted `fence`
    /// or while that was persisted.
    fn on_overtaken(&mut self, fence: Fence) {
        self.note_leftover();
        match self.heard == Some(fence) {
            true => {
                self.take_nothing_for_a_ttl();
                self.on_set_back(fence);
            }
            // An operator may have revoked the tenure at the store, and the store granted another.
            // The next answer shows it.
            false => self.refuse(format!(
                "the store granted fence {fence}, but another member announced a higher fence meanwhile"
            )),
        }
    }

    pub(super) fn on_denied(&mut self, denied: &StoreError, last_count: Option<u64>) {
        self.can_watch = true;
        let why = denied.to_string();
        match denied {
            StoreError::Held { lasts, .. } => {
                self.refuse(why);
                self.pause(lasts.map_or(self.terms.ttl, Duration::from));
                self.on_count(last_count);
            }
            StoreError::Blocked(_) => {
                self.shut_out(why);
                self.pause(self.terms.ttl);
            }
            // The store may have carried out a request that it did not answer.
            StoreError::Gone | StoreError::Refused(_) | StoreError::Unavailable(_) => {
                self.refuse(why);
                self.note_leftover();
            }
        }
    }

    /// Handles an attempt that a command made obsolete. The store may have carried it out.
    pub(super) fn on_given_up(&mut self) {
        self.note_leftover();
        self.attempt_at = self.now();
    }

    pub(super) fn on_renewed(&mut self, read_at: Instant, ttl: Duration) {
        self.check_clock(); // an answer after the end has no effect
        if let Some(held) = self.tenure {
            let until = read_at + self.usable(ttl);
            self.hold(Held { until, ..held }, read_at);
        }
    }

    pub(super) fn on_not_renewed(&mut self, denied: &StoreError) {
        self.check_clock();
        if self.tenure.is_none() {
            return;
        }
        self.refuse(format!("tenure was not renewed: {denied}"));
        match denied {
            StoreError::Gone | StoreError::Held { .. } => {
                self.lose(self.background_end());
                self.pause(Duration::ZERO);
            }
            StoreError::Refused(_) | StoreError::Blocked(_) | StoreError::Unavailable(_) => {
                let soon = self.jitter(Duration(self.terms.answer_within.0 / 4));
                self.renew_at = self.now() + soon;
            }
        }
    }

    pub(super) fn on_released(&mut self) {
        self.leftover = None;
    }

    pub(super) fn on_not_released(&mut self, denied: &StoreError) {
        // Tenure may not exist here, so only the reason of the failure is reported.
        self.refuse(match self.leftover.is_some_and(|it| it.was_held) {
            true => format!("former tenure could not be released, so it has to run out: {denied}"),
            false => denied.to_string(),
        });
        self.pause(Duration::ZERO);
    }

    /// Handles the store's report that tenure may be free.
    pub(super) fn on_maybe_free(&mut self) {
        self.attempt_at = self.now();
    }

    /// Handles a store that cannot report when tenure is free. The client waits until the next
    /// attempt.
    pub(super) fn on_not_watched(&mut self, denied: &StoreError) {
        self.can_watch = false;
        tracing::debug!(group = self.terms.group, %denied, "cannot see when tenure is free");
    }
}

// Transitions: the only code that writes the tenure. The published state changes first, then the
// event is sent.
impl LeaseMachine {
    fn campaign(&mut self) {
        self.is_nominated = true;
        if self.tenure.is_none() {
            self.attempt_at = self.now();
        }
    }

    /// Ends the candidacy. A tenure that is held continues.
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
        self.emit(LeaseEvent::Gained(held.fence));
    }

    fn hold(&mut self, held: Held, read_at: Instant) {
        self.tenure = Some(held);
        self.renew_at = read_at + Duration(self.terms.ttl.0 / RENEWALS_IN_A_TTL);
        self.shown.send_replace(Some(held));
    }

    /// Ends the tenure that is held. The store's record of it is released at the latest before the
    /// next attempt.
    fn lose(&mut self, in_background_until: Instant) {
        if let Some(held) = self.tenure.take() {
            self.shown.send_replace(None);
            self.leftover = Some(Leftover { until: in_background_until, was_held: true });
            self.emit(LeaseEvent::Lost(held.fence));
        }
    }

    /// Ends a tenure whose fence, or a higher one, another member claims. It is not released but
    /// expires, because work may still run until it has been stopped.
    fn forfeit(&mut self) {
        self.lose(self.now());
        self.leftover = None;
        self.pause(self.terms.ttl);
    }

    /// Records that the store may have granted a tenure that is not held.
    fn note_leftover(&mut self) {
        self.leftover = Some(Leftover { until: self.background_end(), was_held: false });
        self.pause(Duration::ZERO);
    }

    fn background_end(&self) -> Instant {
        self.now() + self.terms.ttl * RELEASE_FOR_TTLS
    }

    /// Postpones the next attempt by `at_least` and a random time, so that two clients do not
    /// collide.
    fn pause(&mut self, at_least: Duration) {
        let jitter = self.jitter(self.terms.answer_within);
        self.attempt_at = self.now() + at_least + jitter;
    }

    /// Returns a random time of at least an eighth of `most`, so that a store that fails at once is
    /// not asked again at once.
    fn jitter(&mut self, most: Duration) -> Duration {
        let least = most.0 / 8;
        Duration(least + self.rng.next_u64() % (most.0 - least).max(1))
    }

    fn refuse(&mut self, why: String) {
        if self.refusal.as_ref() != Some(&why) {
            self.emit(LeaseEvent::Refused(why.clone()));
            self.refusal = Some(why);
        }
    }

    fn emit(&self, event: LeaseEvent) {
        let (group, events) = &self.events;
        // Without a receiver the agent is shutting down.
        _ = events.send((*group, event));
    }
}
