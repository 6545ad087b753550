//! The group's own voters as the authority: one member's part in tenure, as nominee, voter, both or none.
//!
//! The rules are [`hustings_protocol::tenure`]'s. Here is what they ask of the world: what a voter promises is
//! on its disk before anything that follows from it leaves this member or is shown to its user. The
//! disk works beside the loop: while it does, what comes after waits in line.

use std::collections::VecDeque;
use std::sync::mpsc;

use hustings_protocol::tenure::{Config, Held, Message, Refused, Request, Role, Saved, Tenure};
use hustings_protocol::{Candidate, Duration, Instant, MemberId, Outcome};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::watch;

use super::voter_file::VoterLock;
use super::{Cell, Fence};
use crate::driver::{Driver, Effect, Seat};
use crate::seal::Rejected;

/// A disk that refused is tried again after this.
const TRY_DISK_AGAIN_AFTER: Duration = Duration::from_millis(500);

/// What a voter's disk is given to keep, in order. Each is answered by [`Quorum::on_saved`].
pub(crate) type Disk = mpsc::Sender<Vec<u8>>;

/// Where a voter's promises go, and what keeps others on this host from them. A voter without its file has only the
/// latter.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) disk: Option<Disk>,
    pub(crate) lock: Option<VoterLock>,
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Send to one member.
    Send { to: MemberId, message: Vec<u8> },
    /// Too many voters refused, for all that one of them said.
    Refused(Refused),
}

/// One member's part.
pub(crate) struct Quorum {
    voters: Vec<String>,
    /// What tells this list from another.
    voters_id: u64,
    /// The most that it can ever have granted, if it votes.
    longest_ttl: Option<Duration>,
    seat: Driver<Tenure>,
    /// None if this member keeps nothing, as it does not vote.
    disk: Option<Disk>,
    /// For as long as this lives.
    _lock: Option<VoterLock>,
    /// A disk that takes longer hangs.
    disk_patience: Duration,
    saving: Saving,
    /// What comes after what is being saved.
    line: VecDeque<Effect>,
    /// What is shown no longer, though it has not been given up yet.
    forfeited: Option<Fence>,
    cell: watch::Sender<Option<Held>>,
}

#[derive(Debug)]
enum Saving {
    /// All that was to be saved is.
    Done,
    Underway {
        latest: Vec<u8>,
        since: Instant,
        /// It has taken longer than a disk may.
        is_late: bool,
    },
    /// The disk refused. Until it has taken the latest, this member says nothing: to the others it is as if
    /// the network lost its words.
    Refused { latest: Vec<u8>, again_at: Instant },
}

impl Quorum {
    /// The member `me`, which is not started, where these vote.
    pub(crate) fn new(
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
            seat: Driver::new(me, Tenure::new(role), config, rng, None),
            disk,
            _lock: lock,
            saving: Saving::Done,
            line: VecDeque::new(),
            forfeited: None,
            cell: watch::Sender::new(None),
        }
    }

    /// Who votes.
    pub(crate) fn voters(&self) -> &[String] {
        &self.voters
    }

    /// What tells the list of voters from another.
    pub(crate) fn voters_id(&self) -> u64 {
        self.voters_id
    }

    /// The most that it can ever have granted, if it votes.
    pub(crate) fn longest_ttl(&self) -> Option<Duration> {
        self.longest_ttl
    }

    /// What it shows that it holds.
    pub(crate) fn shown(&self, now: Instant) -> Option<Held> {
        self.cell.borrow().filter(|held| now < held.until)
    }

    /// What it holds counts no more.
    pub(crate) fn forfeit(&mut self, now: Instant) {
        let shown = self.cell.borrow().map(|held| held.fence);
        self.forfeited = shown.or(self.forfeited);
        self.show(now);
    }

    /// To see what this member holds.
    pub(crate) fn cell(&self) -> Cell {
        self.cell.subscribe()
    }

    /// What its release would be: see [`Tenure::last_word`].
    pub(crate) fn last_word(&self) -> Option<Message> {
        self.seat.protocol().last_word()
    }

    /// Whether its disk refuses to keep what it should promise, or has not answered for a ttl: nothing that this member
    /// asks for can be granted in time then.
    pub(crate) fn is_stuck(&self) -> bool {
        match self.saving {
            Saving::Done => false,
            Saving::Underway { is_late, .. } => is_late,
            Saving::Refused { .. } => true,
        }
    }

    /// Since when its disk has been at work.
    pub(crate) fn saves_since(&self) -> Option<Instant> {
        match self.saving {
            Saving::Underway { since, .. } => Some(since),
            Saving::Done | Saving::Refused { .. } => None,
        }
    }

    pub(crate) fn due(&self) -> Option<Instant> {
        let disk = match self.saving {
            Saving::Refused { again_at, .. } => Some(again_at),
            Saving::Underway {
                since,
                is_late: false,
                ..
            } => Some(since + self.disk_patience),
            Saving::Done | Saving::Underway { is_late: true, .. } => None,
        };
        self.seat.due().into_iter().chain(disk).min()
    }
}

// What happens. Each returns what is to be done.
impl Quorum {
    pub(crate) fn start(&mut self, now: Instant) -> Vec<Act> {
        self.seat.start(now);
        self.act(now)
    }

    pub(crate) fn request(&mut self, now: Instant, request: Request) -> Vec<Act> {
        self.seat.request(now, request);
        self.act(now)
    }

    pub(crate) fn hear(
        &mut self,
        now: Instant,
        from: MemberId,
        message: &[u8],
    ) -> Result<Vec<Act>, Rejected> {
        self.seat.receive(now, from, message)?;
        Ok(self.act(now))
    }

    pub(crate) fn pass(&mut self, now: Instant) -> Vec<Act> {
        self.seat.pass(now);
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

    /// The disk has done what it was given, or could not.
    pub(crate) fn on_saved(&mut self, now: Instant, done: Result<(), String>) -> Vec<Act> {
        self.saving = match (std::mem::replace(&mut self.saving, Saving::Done), done) {
            (Saving::Underway { .. }, Ok(())) => Saving::Done,
            (Saving::Underway { latest, .. }, Err(_)) => Saving::Refused {
                latest,
                again_at: now + TRY_DISK_AGAIN_AFTER,
            },
            (other @ (Saving::Done | Saving::Refused { .. }), _) => other, // nothing was given
        };
        self.act(now)
    }
}

// What it does about it.
impl Quorum {
    fn act(&mut self, now: Instant) -> Vec<Act> {
        self.line.extend(self.seat.take_effects());
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

    fn carry_out(&mut self, now: Instant, effect: Effect) -> Option<Act> {
        match (&mut self.saving, effect) {
            // All of a voter's state: the latest alone matters.
            (Saving::Refused { latest, .. }, Effect::Save(state)) => *latest = state,
            (Saving::Refused { .. }, Effect::Unicast { .. }) => {}
            (Saving::Done | Saving::Underway { .. }, Effect::Save(state)) => self.save(now, state),
            (Saving::Done | Saving::Underway { .. }, Effect::Unicast { to, message }) => {
                return Some(Act::Send { to, message });
            }
            (_, Effect::Report(Outcome::TenureRefused(refused))) => {
                return Some(Act::Refused(refused));
            }
            (_, Effect::Report(_)) => {} // what it holds is shown below
            (_, Effect::Multicast { .. } | Effect::Meet(_)) => {} // tenure has none
        }
        None
    }

    fn save(&mut self, now: Instant, state: Vec<u8>) {
        self.saving = Saving::Underway {
            latest: state.clone(),
            since: now,
            is_late: false,
        };
        if let Some(disk) = &self.disk {
            // A disk that has ended never answers, and nothing more leaves this member.
            let _ = disk.send(state);
        }
    }

    /// Shows what it holds. That it no longer does, at once; that it does, only when its own promise is on disk,
    /// which counts among the votes.
    fn show(&self, now: Instant) {
        let held = self.seat.protocol().holds(now);
        let held = held.filter(|held| Some(held.fence) != self.forfeited);
        if held.is_none() || matches!(self.saving, Saving::Done) {
            self.cell.send_if_modified(|shown| {
                let is_news = *shown != held;
                *shown = held;
                is_news
            });
        }
    }
}

#[cfg(test)]
mod tests;
