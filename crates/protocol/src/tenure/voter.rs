//! The voter: an acceptor as in Paxos, whose grants expire. `tenure.rs` has its rules by number.

use super::{Ballot, Durable, Message, Question, Refused, Saved, Tenure, counter};
use crate::{Duration, Instant, Io};

/// One voter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Voter {
    /// It has lost its promises, or never had any.
    Uninitialised,
    /// It is not started.
    Idle(Durable),
    Sworn(Sworn),
}

/// A voter that knows its promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Sworn {
    /// The state as it is on disk.
    durable: Durable,
    /// The last moment at which a grant of an earlier incarnation may be live, if there can be one.
    quarantined_until: Option<Instant>,
    grant: Option<Grant>,
}

/// A grant, live while now <= deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Grant {
    ballot: Ballot,
    deadline: Instant,
}

impl Voter {
    pub(super) fn new(saved: Saved) -> Self {
        match saved {
            Saved::Missing => Self::Uninitialised,
            Saved::Initialised(durable) => Self::Idle(durable),
        }
    }

    pub(super) fn start(&mut self, io: &mut impl Io<Tenure>) {
        match *self {
            Self::Uninitialised => {}
            Self::Idle(durable) => *self = Self::Sworn(Sworn::start(durable, io)),
            // A second start without a stop counts as a restart.
            Self::Sworn(Sworn { durable, .. }) => *self = Self::Sworn(Sworn::start(durable, io)),
        }
    }

    /// Returns the answer, if the message is a question.
    pub(super) fn hear(&mut self, message: Message, io: &mut impl Io<Tenure>) -> Option<Message> {
        match self {
            Self::Sworn(sworn) => sworn.hear(message, io),
            Self::Idle(_) => None,
            Self::Uninitialised => {
                let (ballot, question) = message.question()?;
                Some(Message::Refusal {
                    ballot,
                    question,
                    promised: 0,
                    refused: Refused::Uninitialised,
                })
            }
        }
    }
}

// Handlers: one per message. They decide; the transitions below act.
impl Sworn {
    fn hear(&mut self, message: Message, io: &mut impl Io<Tenure>) -> Option<Message> {
        match message {
            Message::Ask { ballot } => Some(self.on_ask(ballot, io.now())),
            Message::Prepare { ballot } => Some(self.on_prepare(ballot, io)),
            Message::Propose { ballot, number, ttl } => {
                Some(self.on_propose(ballot, number, ttl, io))
            }
            Message::Release { ballot } => {
                self.on_release(ballot);
                None
            }
            Message::Would { .. } | Message::Promise { .. } | Message::Grant { .. } => None,
            Message::Refusal { .. } | Message::Handover { .. } => None, // these are for nominees
        }
    }

    fn on_ask(&self, ballot: Ballot, now: Instant) -> Message {
        match self.may_promise(ballot, now) {
            Ok(()) => Message::Would { ballot },
            Err(refused) => self.refuse(ballot, Question::Ask, refused),
        }
    }

    fn on_prepare(&mut self, ballot: Ballot, io: &mut impl Io<Tenure>) -> Message {
        match self.may_promise(ballot, io.now()) {
            Ok(()) => self.promise(ballot, io),
            Err(refused) => self.refuse(ballot, Question::Prepare, refused),
        }
    }

    fn on_propose(
        &mut self,
        ballot: Ballot,
        number: u64,
        ttl: Duration,
        io: &mut impl Io<Tenure>,
    ) -> Message {
        match self.may_grant(ballot, ttl, io.config().max_ttl) {
            Ok(()) => self.grant(ballot, number, ttl, io),
            Err(refused) => self.refuse(ballot, Question::Propose { number }, refused),
        }
    }

    fn on_release(&mut self, ballot: Ballot) {
        if self.grant.is_some_and(|it| it.is_released_by(ballot)) {
            self.grant = None;
        } // else the grant is another nominee's, or a later one
    }

    /// Rule 1, in its order. It applies to *Prepare*, and to the *Ask* that may precede it.
    fn may_promise(&self, ballot: Ballot, now: Instant) -> Result<(), Refused> {
        if self.durable.is_promise_of(ballot) {
            return Ok(());
        }
        if let Some(until) = self.quarantined_until.filter(|until| now <= *until) {
            let lasts = until - now;
            return Err(Refused::Quarantined { lasts });
        }
        if let Some(grant) = self.grant.filter(|it| it.is_live(now))
            && grant.ballot.owner != ballot.owner
        {
            return Err(Refused::Held {
                holder: grant.ballot.owner.id,
                lasts: grant.deadline - now,
            });
        }
        self.may_rise_to(ballot.counter)?;
        if ballot.counter > self.durable.counter { Ok(()) } else { Err(Refused::Outrun) }
    }

    /// Rule 10, for every sender.
    fn may_rise_to(&self, counter: u64) -> Result<(), Refused> {
        let most = counter::reach_of(self.durable.counter);
        if counter <= most { Ok(()) } else { Err(Refused::OutOfReach { most }) }
    }

    /// Rule 2: neither grants to others nor quarantine matter here, because a majority has
    /// promised.
    fn may_grant(&self, ballot: Ballot, ttl: Duration, max_ttl: Duration) -> Result<(), Refused> {
        // A greater `max_ttl` from a new configuration is on disk only after a restart.
        let max_ttl = max_ttl.min(self.durable.longest_ttl);
        if ttl > max_ttl {
            return Err(Refused::TtlTooLong { max_ttl });
        }
        self.may_rise_to(ballot.counter)?;
        if self.durable.is_promise_of(ballot) || ballot.counter > self.durable.counter {
            Ok(())
        } else {
            Err(Refused::Outrun)
        }
    }

    fn refuse(&self, ballot: Ballot, question: Question, refused: Refused) -> Message {
        Message::Refusal { ballot, question, promised: self.durable.counter, refused }
    }
}

// Transitions: the only code that writes a voter's state.
impl Sworn {
    /// Rule 6: grants of earlier incarnations last no longer than the longest ttl that they could
    /// grant.
    fn start(mut durable: Durable, io: &mut impl Io<Tenure>) -> Self {
        let lasts = durable.longest_ttl;
        if io.config().max_ttl > durable.longest_ttl {
            durable.longest_ttl = io.config().max_ttl;
            io.save(durable);
        }
        Self {
            durable,
            quarantined_until: (lasts > Duration::ZERO).then(|| io.now() + lasts),
            grant: None,
        }
    }

    fn promise(&mut self, ballot: Ballot, io: &mut impl Io<Tenure>) -> Message {
        self.store(ballot, io);
        Message::Promise { ballot }
    }

    /// Grants until the later of now + ttl and the incarnation's earlier deadline: a grant is never
    /// shortened.
    fn grant(
        &mut self,
        ballot: Ballot,
        number: u64,
        ttl: Duration,
        io: &mut impl Io<Tenure>,
    ) -> Message {
        self.store(ballot, io);
        let own = self.grant.filter(|it| it.ballot.owner == ballot.owner);
        let before = own.map_or(Instant::START, |it| it.deadline);
        let deadline = before.max(io.now() + ttl);
        self.grant = Some(Grant { ballot, deadline });
        Message::Grant { ballot, number }
    }

    /// Saves the promise before any answer, once per ballot.
    fn store(&mut self, ballot: Ballot, io: &mut impl Io<Tenure>) {
        if !self.durable.is_promise_of(ballot) {
            self.durable.counter = ballot.counter;
            self.durable.owner = Some(ballot.owner);
            io.save(self.durable);
        }
    }
}

impl Grant {
    fn is_live(&self, now: Instant) -> bool {
        now <= self.deadline
    }

    /// Rule 5: only the same incarnation can release, and only ballots that it had proposed by
    /// then.
    fn is_released_by(&self, ballot: Ballot) -> bool {
        self.ballot.owner == ballot.owner && self.ballot.counter <= ballot.counter
    }
}
