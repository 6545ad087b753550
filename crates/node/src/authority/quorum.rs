//! The group's own voters as the authority: one member's part in tenure, as nominee, voter, both or
//! none.
//!
//! Purpose     drives [`hustings_protocol::tenure`] and makes a voter's promises durable
//! Inputs      requests, messages of other members, the time, results of the disk
//! Outputs     [`Act`]s; the tenure that this member holds, on a watch channel
//! Owns        the state machine, the disk and the lock of the voter's file
//! Invariants  a promise is on disk before any message or display that depends on it
//!
//! The disk works beside the loop. While it is busy, later effects wait in a queue.

use std::collections::VecDeque;

use hustings_protocol::tenure::{
    Config, Held, Message, Request, Role, Saved, Tenure, TenureOutcome,
};
use hustings_protocol::{Candidate, Duration, Instant, MemberId};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::watch;

use super::voter_file::{Disk, VoterLock};
use super::{Fence, LeaseWatch};
use crate::driver::{Driver, Effect, ElectionDriver};

/// The time after which a refused write is tried again.
const TRY_DISK_AGAIN_AFTER: Duration = Duration::from_millis(500);

/// The disk for a voter's promises, and the lock that keeps other processes on this host from them.
/// A voter without its file has only the lock.
#[derive(Debug, Default)]
pub struct Kept {
    /// The disk; none if this member stores nothing.
    pub disk: Option<Disk>,
    /// The lock on the voter's file.
    pub lock: Option<VoterLock>,
}

/// An action for the caller: a message to one member, or the report that too many voters refused.
pub type Act = Effect<TenureOutcome>;

/// One member's part in a quorum.
pub struct Quorum {
    /// The names of the voters.
    pub(super) voters: Vec<String>,
    /// The identity of the list of voters.
    pub(super) voters_id: u64,
    /// The longest tenure that it can ever have granted, if it votes.
    pub(super) longest_ttl: Option<Duration>,
    driver: Driver<Tenure>,
    /// The disk; none if this member stores nothing, because it does not vote.
    disk: Option<Disk>,
    /// Held until the value is dropped.
    _lock: Option<VoterLock>,
    /// The time after which a disk operation counts as stuck.
    disk_patience: Duration,
    saving: Saving,
    /// Effects that wait for the disk.
    line: VecDeque<Act>,
    /// The fence of a tenure that is shown no longer, although it is not released yet.
    forfeited: Option<Fence>,
    lease_watch: watch::Sender<Option<Held>>,
}

#[derive(Debug)]
enum Saving {
    /// Everything is on disk.
    Done,
    Underway {
        latest: Vec<u8>,
        since: Instant,
        /// True if the write takes longer than `disk_patience`.
        is_late: bool,
    },
    /// The disk refused. Until it has stored the latest state, this member sends nothing. To other
    /// members this looks as if the network lost its messages.
    Refused { latest: Vec<u8>, again_at: Instant },
}

impl Quorum {
    /// The member `me`, not started yet, with these voters.
    pub fn new(
        me: Candidate,
        (voters, voters_id): (Vec<String>, u64),
        config: Config,
        role: Role,
        rng: Xoshiro256PlusPlus,
        Kept { disk, lock }: Kept,
    ) -> Self {
        let longest_ttl = match role.votes {
            Some(Saved::Initialised(durable)) => Some(durable.longest_ttl.max(config.max_ttl)),
            Some(Saved::Missing) | None => None,
        };
        Self {
            voters,
            voters_id,
            longest_ttl,
            disk_patience: config.ttl,
            driver: Driver::new(me, Tenure::new(role), config, rng, None),
            disk,
            _lock: lock,
            saving: Saving::Done,
            line: VecDeque::new(),
            forfeited: None,
            lease_watch: watch::Sender::new(None),
        }
    }

    /// Stops showing the tenure that it holds.
    pub(crate) fn forfeit(&mut self, now: Instant) {
        let shown = self.lease_watch.borrow().map(|held| held.fence);
        self.forfeited = shown.or(self.forfeited);
        self.show(now);
    }

    /// A watch on the tenure that this member holds.
    pub(crate) fn lease_watch(&self) -> LeaseWatch {
        self.lease_watch.subscribe()
    }

    /// The message that would release its tenure: see [`Tenure::last_word`].
    pub(crate) fn last_word(&self) -> Option<Message> {
        self.driver.protocol.last_word()
    }

    /// True if the disk refused a write, or has not finished one for a ttl. Then no request of this
    /// member can be granted in time.
    pub(crate) fn is_stuck(&self) -> bool {
        match self.saving {
            Saving::Done => false,
            Saving::Underway { is_late, .. } => is_late,
            Saving::Refused { .. } => true,
        }
    }

    /// The start of the write that is under way.
    pub(crate) fn saves_since(&self) -> Option<Instant> {
        match self.saving {
            Saving::Underway { since, .. } => Some(since),
            Saving::Done | Saving::Refused { .. } => None,
        }
    }

    pub(crate) fn due(&self) -> Option<Instant> {
        let disk = match self.saving {
            Saving::Refused { again_at, .. } => Some(again_at),
            Saving::Underway { since, is_late: false, .. } => Some(since + self.disk_patience),
            Saving::Done | Saving::Underway { is_late: true, .. } => None,
        };
        self.driver.due().into_iter().chain(disk).min()
    }
}

// Inputs. Each returns the actions for the caller.
impl Quorum {
    pub(crate) fn start(&mut self, now: Instant) -> Vec<Act> {
        self.driver.start(now);
        self.act(now)
    }

    pub(crate) fn request(&mut self, now: Instant, request: Request) -> Vec<Act> {
        self.driver.request(now, request);
        self.act(now)
    }

    pub(crate) fn hear(&mut self, now: Instant, from: MemberId, message: Message) -> Vec<Act> {
        self.driver.hear(now, from, message);
        self.act(now)
    }

    pub(crate) fn pass(&mut self, now: Instant) -> Vec<Act> {
        self.driver.pass(now);
        match &mut self.saving {
            Saving::Refused { latest, again_at } if *again_at <= now => {
                let latest = std::mem::take(latest);
                self.save(now, latest);
            }
            Saving::Underway { since, is_late, .. } => {
                *is_late = *since + self.disk_patience <= now;
            }
            Saving::Refused { .. } | Saving::Done => {}
        }
        self.act(now)
    }

    /// Handles the result of a write.
    pub(crate) fn on_saved(&mut self, now: Instant, is_done: bool) -> Vec<Act> {
        self.saving = match (std::mem::replace(&mut self.saving, Saving::Done), is_done) {
            (Saving::Underway { .. }, true) => Saving::Done,
            (Saving::Underway { latest, .. }, false) => {
                Saving::Refused { latest, again_at: now + TRY_DISK_AGAIN_AFTER }
            }
            (other @ (Saving::Done | Saving::Refused { .. }), _) => other, // no write was under way
        };
        self.act(now)
    }
}

// Effects.
impl Quorum {
    fn act(&mut self, now: Instant) -> Vec<Act> {
        self.line.extend(self.driver.take_effects());
        let mut acts = Vec::new();
        while !matches!(self.saving, Saving::Underway { .. }) {
            match self.line.pop_front() {
                Some(effect) => acts.extend(self.carry_out(now, effect)),
                None => break,
            }
        }
        self.show(now);
        acts
    }

    fn carry_out(&mut self, now: Instant, effect: Act) -> Option<Act> {
        match (&mut self.saving, effect) {
            // A save contains all of a voter's state, so only the latest matters.
            (Saving::Refused { latest, .. }, Effect::Save(state)) => *latest = state,
            (Saving::Refused { .. }, Effect::Unicast { .. }) => {}
            (Saving::Done | Saving::Underway { .. }, Effect::Save(state)) => self.save(now, state),
            (_, act @ (Effect::Unicast { .. } | Effect::Report(TenureOutcome::Refused(_)))) => {
                return Some(act);
            }
            (_, Effect::Report(_)) => {} // `show` publishes the tenure
            (_, Effect::Multicast { .. } | Effect::Meet(_)) => {} // tenure has none
        }
        None
    }

    fn save(&mut self, now: Instant, state: Vec<u8>) {
        self.saving = Saving::Underway { latest: state.clone(), since: now, is_late: false };
        if let Some(disk) = &self.disk {
            // A disk thread that has ended never answers, and this member sends nothing more.
            let _ = disk.send(state);
        }
    }

    /// Publishes the tenure that it holds. A loss is published at once. A gain is published only
    /// when this member's own promise, which is among the votes, is on disk.
    fn show(&self, now: Instant) {
        let held = self.driver.protocol.holds(now);
        let held = held.filter(|held| Some(held.fence) != self.forfeited);
        if held.is_none() || matches!(self.saving, Saving::Done) {
            self.lease_watch.send_if_modified(|shown| {
                let is_news = *shown != held;
                *shown = held;
                is_news
            });
        }
    }
}

#[cfg(test)]
mod tests;
