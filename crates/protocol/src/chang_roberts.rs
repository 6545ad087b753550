//! Ring election: the best identity goes once round the ring and returns elected.
//!
//! Source    Leader election, lecture slides CSE 486/586 (University at Buffalo), algorithm 1;
//!           Chang and Roberts 1979
//! Assumes   every member can reach its successor, links keep order. The slides also assume that no
//!           message is lost and no member dies during an election
//! Promises  with [`Config::paper`], while that holds: all members name the best one, no matter
//!           which members call and how many call at once. One caller costs 2N to 3N-1 messages and
//!           as many delays, all N at once cost N H_N + N expected. Once it does not hold: an
//!           identity whose owner died goes round for ever, or all members name a dead one
//!           with [`Config::field`], after any faults: once no message is lost any more and the
//!           views are right, all started members name the best of them within `election_timeout`
//!           and 3N delays, and keep doing so. Until then they may name different members
//! Messages  election (the best identity yet), elected (the winner's); both to the successor
//!
//! An identity of the slides is a [`Candidate`] here. Two rules are not on the slides:
//!
//! - A member that calls an election participates in it. [`Initiator::Literal`] shows the effect of
//!   the other reading.
//! - A member names its old leader until an election ends or that leader leaves the view. A
//!   newcomer's election therefore does not unseat a healthy leader.

use std::hint::cold_path;

use serde::{Deserialize, Serialize};

use crate::config::{ConfigError, Reports, require_some_time};
use crate::{
    Candidate, Duration, ElectionOutcome, Input, Io, MemberId, NoRequest, Protocol, View,
    ViewChange,
};

/// The policies for cases that the slides leave open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The part of a caller in its own election.
    pub initiator: Initiator,
    /// With `CheckedAgainstView`, a member also drops messages about members outside its view and
    /// contests an Elected for a member worse than itself. It accepts no election as won that
    /// missed a better member.
    pub reports: Reports,
    /// Time to wait for a due Elected before calling an election (again). A whole election takes up
    /// to 3N delays: a shorter time only adds messages.
    pub election_timeout: Option<Duration>,
}

/// The part of a caller in its own election.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initiator {
    /// The caller participates, as in the 1979 paper.
    Participates,
    /// The caller does not participate: the slides read to the letter. Its identity may enter the
    /// ring twice, and any identity that returns to its owner, expected or not, is elected (again).
    Literal,
}

impl Config {
    /// The slides' algorithm with one correction: callers participate.
    pub const fn paper() -> Self {
        Self {
            initiator: Initiator::Participates,
            reports: Reports::Trusted,
            election_timeout: None,
        }
    }

    /// For networks that lose messages and members that die, given views that follow both.
    pub const fn field(election_timeout: Duration) -> Self {
        Self {
            initiator: Initiator::Participates,
            reports: Reports::CheckedAgainstView,
            election_timeout: Some(election_timeout),
        }
    }

    /// Checks that this configuration can work.
    pub fn check(&self) -> Result<(), ConfigError> {
        require_some_time("patience", self.election_timeout)
    }
}

/// The messages that go round the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// An election, with the best candidate that it has passed.
    Election {
        /// The best candidate.
        candidate: Candidate,
    },
    /// The end of an election.
    Elected {
        /// The winner.
        winner: Candidate,
    },
}

crate::kinds!(Election "election", Elected "elected");

/// The one timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// An Elected is overdue.
    Patience,
}

crate::timers!(Patience);

/// One member of the ring.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangRoberts {
    /// The slides' variable of that name: the member that this one names as leader.
    elected: Option<MemberId>,
    phase: Phase,
}

/// `round` counts the elections that this member has called since it last came to rest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// No message is due.
    #[default]
    Resting,
    /// This member has forwarded an identity at least as good as its own.
    Participating { round: u32 },
    /// An Elected is due, without participation: our own one returning, or, after the group grew,
    /// one that informs the newcomer or is about it.
    Awaiting { round: u32 },
}

impl ChangRoberts {
    fn participates(&self) -> bool {
        matches!(self.phase, Phase::Participating { .. })
    }

    fn round(&self) -> u32 {
        match self.phase {
            Phase::Resting => 0,
            Phase::Participating { round } | Phase::Awaiting { round } => round,
        }
    }
}

impl Protocol for ChangRoberts {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = ();
    type Outcome = ElectionOutcome;
    type Request = NoRequest;

    #[inline(always)]
    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match input {
            Input::Start => self.call(io),
            Input::Message { message, .. } => self.on_message(message, io),
            Input::Timer(Timer::Patience) => self.stand(io),
            Input::ViewChanged(ViewChange::Joined(newcomer)) => self.on_joined(newcomer, io),
            Input::ViewChanged(ViewChange::Left(id)) => self.on_left(id, io),
            Input::Leave => {} // the views of the others show it
        }
    }
}

// Handlers: one per input. They decide; the transitions below act.
impl ChangRoberts {
    /// Calls an election, unless one is running.
    fn call(&mut self, io: &mut impl Io<Self>) {
        if !self.participates() {
            self.stand(io);
        }
    }

    #[inline(always)]
    fn on_message(&mut self, message: Message, io: &mut impl Io<Self>) {
        match message {
            Message::Election { candidate: it } | Message::Elected { winner: it }
                if is_gone(it, io) => {} // otherwise it would go round for ever
            Message::Election { candidate } => self.on_election(candidate, io),
            Message::Elected { winner } => self.on_elected(winner, io),
        }
    }

    #[inline(always)]
    fn on_election(&mut self, candidate: Candidate, io: &mut impl Io<Self>) {
        let me = io.me();
        if candidate.id == me.id {
            self.on_own_election(io);
        } else if candidate > me {
            self.participate(candidate, io);
        } else if !self.participates() {
            self.participate(me, io);
        } // else discarded: a better candidate is on its way
    }

    #[cold] // one message of an election
    fn on_own_election(&mut self, io: &mut impl Io<Self>) {
        let config = *io.config();
        let is_due = self.participates() || config.initiator == Initiator::Literal;
        if is_due && config.reports.expects(io.me().id, &io.view()) {
            self.win(io);
        } // else discarded: duplicate, given up, or it missed a better member
    }

    #[inline(always)]
    fn on_elected(&mut self, winner: Candidate, io: &mut impl Io<Self>) {
        let me = io.me();
        let reports = io.config().reports;
        if winner.id == me.id {
            self.on_own_elected(winner.id, io);
        } else if reports == Reports::CheckedAgainstView && winner < me {
            self.call(io); // its election did not pass us
        } else if reports.accepts(winner, self.elected, &io.view()) {
            self.settle(winner, io);
        } // else discarded: we see a better leader
    }

    fn on_own_elected(&mut self, me: MemberId, io: &mut impl Io<Self>) {
        if self.elected == Some(me) && !self.participates() {
            self.rest(io);
        } // else discarded: of an election before this one
    }

    fn on_joined(&mut self, newcomer: Candidate, io: &mut impl Io<Self>) {
        let me = io.me().id;
        let follows_me = io.view().successor(me).id == newcomer.id;
        let incumbent = self.elected.and_then(|id| io.view().get(id));
        let concerns_me = incumbent.is_some_and(|it| follows_me || newcomer > it);
        match self.phase {
            Phase::Participating { .. } => {} // the election reaches the newcomer as well
            Phase::Resting | Phase::Awaiting { .. } if self.elected == Some(me) => self.stand(io),
            // The leader or the newcomer should call an election. Wait for it.
            Phase::Resting if concerns_me => self.wait(io),
            Phase::Resting | Phase::Awaiting { .. } => {}
        }
    }

    fn on_left(&mut self, id: MemberId, io: &mut impl Io<Self>) {
        if self.elected == Some(id) {
            self.vacate(io);
            self.call(io);
        }
    }
}

// Transitions: the only code that writes `phase` and `elected`. The timer, if configured, runs
// while participating or awaiting.
impl ChangRoberts {
    /// Calls an election. A member alone in its view wins at once.
    #[inline]
    fn stand(&mut self, io: &mut impl Io<Self>) {
        let me = io.me();
        let round = self.round().saturating_add(1);
        io.report(ElectionOutcome::Standing { round });
        if io.is_alone() {
            self.win(io);
            return;
        }
        if io.config().initiator == Initiator::Participates {
            self.phase = Phase::Participating { round };
            io.arm_if_any(Timer::Patience, io.config().election_timeout);
        }
        pass_on(Message::Election { candidate: me }, io);
    }

    /// Participates in an election; `best` is the best candidate that it has passed, us included.
    #[inline(always)]
    fn participate(&mut self, best: Candidate, io: &mut impl Io<Self>) {
        if !self.participates() {
            cold_path(); // once per election; dozens of messages take the other path
            self.phase = Phase::Participating { round: 0 };
            io.arm_if_any(Timer::Patience, io.config().election_timeout);
        }
        pass_on(Message::Election { candidate: best }, io);
    }

    fn win(&mut self, io: &mut impl Io<Self>) {
        let me = io.me();
        self.elected = Some(me.id);
        io.report(ElectionOutcome::Nominee(me));
        if io.is_alone() {
            self.rest(io);
            return;
        }
        self.wait(io);
        pass_on(Message::Elected { winner: me }, io);
    }

    #[inline(always)]
    fn settle(&mut self, winner: Candidate, io: &mut impl Io<Self>) {
        let is_news = self.phase != Phase::Resting || self.elected != Some(winner.id);
        self.elected = Some(winner.id);
        self.rest(io);
        if is_news {
            io.report(ElectionOutcome::Nominee(winner));
        }
        pass_on(Message::Elected { winner }, io);
    }

    fn wait(&mut self, io: &mut impl Io<Self>) {
        self.phase = Phase::Awaiting { round: self.round() };
        io.arm_if_any(Timer::Patience, io.config().election_timeout);
    }

    fn rest(&mut self, io: &mut impl Io<Self>) {
        self.phase = Phase::Resting;
        io.disarm(Timer::Patience);
    }

    fn vacate(&mut self, io: &mut impl Io<Self>) {
        self.elected = None;
        io.report(ElectionOutcome::Vacant);
    }
}

fn is_gone(subject: Candidate, io: &impl Io<ChangRoberts>) -> bool {
    io.config().reports == Reports::CheckedAgainstView && !io.view().contains(subject.id)
}

/// Sends to the successor. On a ring of one member there is no successor.
#[inline(always)]
fn pass_on(message: Message, io: &mut impl Io<ChangRoberts>) {
    let me = io.me().id;
    let next = io.view().successor(me).id;
    if next != me {
        io.unicast(next, message);
    }
}

#[cfg(test)]
mod tests {
    use super::{ChangRoberts, Config, Message};
    use crate::Duration;

    #[test]
    fn members_and_messages_are_at_most_24_bytes() {
        assert!(size_of::<ChangRoberts>() <= 24);
        assert!(size_of::<Message>() <= 24);
    }

    #[test]
    fn an_election_timeout_of_zero_is_refused() {
        assert_eq!(Config::paper().check(), Ok(()));
        assert_eq!(Config::field(Duration::from_secs(1)).check(), Ok(()));
        let error = Config::field(Duration::ZERO).check().unwrap_err();
        assert_eq!(error.to_string(), "patience is 0s: raise patience");
    }
}
