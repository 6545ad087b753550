//! Ring election: the best identity goes once round the ring and comes home elected.
//!
//! Source    Leader election, lecture slides CSE 486/586 (University at Buffalo), algorithm 1;
//!           Chang and Roberts 1979
//! Assumes   every member can reach its successor, links keep order; as on the slides also that
//!           nothing is lost and nobody dies during an election
//! Promises  with [`Config::slides`], while that holds: all name the best member, whoever calls
//!           and however many call at once. One caller costs 2N to 3N-1 messages and as many
//!           delays, all N at once cost N H_N + N expected. Once it does not hold: an identity
//!           whose owner died goes round for ever, or everyone names the dead
//!           with [`Config::field`], after any faults: once nothing is lost any more and the views
//!           are right, all started members name the best of them within `patience` and 3N delays,
//!           and keep doing so. Until then they may name different members
//! Messages  election (the best identity so far), elected (the winner's); both to the successor
//!
//! What the slides call an identity is a [`Candidate`] here. Two rules are not on them. Who calls
//! an election participates in it; [`Initiator::Literal`] shows what happens otherwise. And a
//! member names its old leader until an election ends or that leader is seen to leave, so that a
//! newcomer's election does not unseat a healthy leader.

use std::hint::cold_path;

use serde::{Deserialize, Serialize};

use crate::config::{ConfigError, Hearsay, require_some_time};
use crate::{
    Candidate, Duration, Input, Io, MemberId, NoRequest, Outcome, Protocol, View, ViewChange,
};

/// How members deal with what the slides leave open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Whether a caller takes part in its own election.
    pub initiator: Initiator,
    /// Checked: also drops messages about those who are gone, contests the announcement of
    /// somebody worse than this member, and takes no election for won that missed a better one.
    pub hearsay: Hearsay,
    /// How long a member waits for an `elected` message that is due before it calls an election
    /// (again). A whole election takes up to 3N delays: less than that only adds messages.
    pub patience: Option<Duration>,
}

/// Whether a caller takes part in its own election.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initiator {
    /// It does, as in the 1979 paper.
    Participates,
    /// It does not, which is the slides read to the letter: its identity may enter the ring
    /// twice, and whoever's identity comes home, expected or not, is elected (again).
    Literal,
}

impl Config {
    /// The slides' algorithm with the one correction that its callers participate.
    pub const fn slides() -> Self {
        Self {
            initiator: Initiator::Participates,
            hearsay: Hearsay::Believed,
            patience: None,
        }
    }

    /// For networks that lose messages and members that die, given views that follow them.
    pub const fn field(patience: Duration) -> Self {
        Self {
            initiator: Initiator::Participates,
            hearsay: Hearsay::Checked,
            patience: Some(patience),
        }
    }

    /// Whether it can work.
    pub fn check(&self) -> Result<(), ConfigError> {
        require_some_time("patience", self.patience)
    }
}

/// What goes round the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// The best candidate that this message has met.
    Election {
        /// Who that is.
        candidate: Candidate,
    },
    /// The election is over.
    Elected {
        /// Who won it.
        winner: Candidate,
    },
}

impl crate::Message for Message {
    const KINDS: &'static [&'static str] = &["election", "elected"];

    fn kind(&self) -> usize {
        match self {
            Self::Election { .. } => 0,
            Self::Elected { .. } => 1,
        }
    }
}

/// The one timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// An `elected` message is overdue.
    Patience,
}

impl crate::Timer for Timer {
    const ALL: &'static [Self] = &[Self::Patience];

    fn index(self) -> usize {
        match self {
            Self::Patience => 0,
        }
    }
}

/// One member of the ring.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangRoberts {
    /// The slides' variable of that name: whom this member names.
    elected: Option<MemberId>,
    phase: Phase,
}

/// `round` counts the elections that this member has called since it last came to rest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// Nothing is due.
    #[default]
    Resting,
    /// An identity at least as good as this member's went on from here.
    Participating { round: u32 },
    /// Not participating, but an `elected` message is due: the own one coming home, or, after the
    /// group grew, one that tells the newcomer or tells of it.
    Awaiting { round: u32 },
}

impl ChangRoberts {
    /// A member that has heard nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

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
    type Request = NoRequest;

    #[inline(always)]
    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match input {
            Input::Start => self.call(io),
            Input::Message { message, .. } => self.on_message(message, io),
            Input::Timer(Timer::Patience) => self.stand(io),
            Input::ViewChanged(ViewChange::Joined(newcomer)) => self.on_joined(newcomer, io),
            Input::ViewChanged(ViewChange::Left(id)) => self.on_left(id, io),
            Input::Leave => {} // the others see it leave
        }
    }
}

// Handlers: one per input. They decide; the transitions below act.
impl ChangRoberts {
    /// Calls an election, unless one is under way.
    fn call(&mut self, io: &mut impl Io<Self>) {
        if !self.participates() {
            self.stand(io);
        }
    }

    #[inline(always)]
    fn on_message(&mut self, message: Message, io: &mut impl Io<Self>) {
        match message {
            Message::Election { candidate: it } | Message::Elected { winner: it }
                if is_gone(it, io) => {} // left alone, it would go round for ever
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
        } // else discarded: a better one is on its way
    }

    #[cold] // of an election's messages, one
    fn on_own_election(&mut self, io: &mut impl Io<Self>) {
        let config = *io.config();
        let is_due = self.participates() || config.initiator == Initiator::Literal;
        if is_due && config.hearsay.expects(io.me().id, io.view()) {
            self.win(io);
        } // else discarded: doubled, given up, or it missed somebody better
    }

    #[inline(always)]
    fn on_elected(&mut self, winner: Candidate, io: &mut impl Io<Self>) {
        let me = io.me();
        let hearsay = io.config().hearsay;
        if winner.id == me.id {
            self.on_own_elected(winner.id, io);
        } else if hearsay == Hearsay::Checked && winner < me {
            self.call(io); // it had not heard of us
        } else if hearsay.accepts(winner, self.elected, io.view()) {
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
            // The leader or the newcomer should call an election. See that it does.
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

// Transitions: the only code that writes `phase` and `elected`. The timer runs, if at all, while
// participating or awaiting.
impl ChangRoberts {
    /// Calls an election; alone in the view, it is won at once.
    #[inline]
    fn stand(&mut self, io: &mut impl Io<Self>) {
        let me = io.me();
        let round = self.round().saturating_add(1);
        io.report(Outcome::Standing { round });
        if is_alone(io) {
            self.win(io);
            return;
        }
        if io.config().initiator == Initiator::Participates {
            self.phase = Phase::Participating { round };
            self.arm(io);
        }
        pass_on(Message::Election { candidate: me }, io);
    }

    /// Takes part in somebody's election; `best` is the best candidate it has met, us included.
    #[inline(always)]
    fn participate(&mut self, best: Candidate, io: &mut impl Io<Self>) {
        if !self.participates() {
            cold_path(); // once an election, while messages by the dozen pass
            self.phase = Phase::Participating { round: 0 };
            self.arm(io);
        }
        pass_on(Message::Election { candidate: best }, io);
    }

    fn win(&mut self, io: &mut impl Io<Self>) {
        let me = io.me();
        self.elected = Some(me.id);
        io.report(Outcome::Nominee(me));
        if is_alone(io) {
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
            io.report(Outcome::Nominee(winner));
        }
        pass_on(Message::Elected { winner }, io);
    }

    fn wait(&mut self, io: &mut impl Io<Self>) {
        self.phase = Phase::Awaiting {
            round: self.round(),
        };
        self.arm(io);
    }

    fn rest(&mut self, io: &mut impl Io<Self>) {
        self.phase = Phase::Resting;
        io.disarm(Timer::Patience);
    }

    fn vacate(&mut self, io: &mut impl Io<Self>) {
        self.elected = None;
        io.report(Outcome::Vacant);
    }

    fn arm(&mut self, io: &mut impl Io<Self>) {
        if let Some(patience) = io.config().patience {
            io.arm(Timer::Patience, patience);
        }
    }
}

fn is_gone(subject: Candidate, io: &impl Io<ChangRoberts>) -> bool {
    io.config().hearsay == Hearsay::Checked && !io.view().contains(subject.id)
}

fn is_alone(io: &impl Io<ChangRoberts>) -> bool {
    let me = io.me().id;
    io.view().successor(me).id == me
}

/// Sends to the successor. On a ring of one there is nobody to send to.
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
    fn a_million_members_fit() {
        assert!(size_of::<ChangRoberts>() <= 24);
        assert!(size_of::<Message>() <= 24);
    }

    #[test]
    fn patience_must_last() {
        assert_eq!(Config::slides().check(), Ok(()));
        assert_eq!(Config::field(Duration::from_secs(1)).check(), Ok(()));
        let error = Config::field(Duration::ZERO).check().unwrap_err();
        assert_eq!(error.to_string(), "patience is 0s: raise patience");
    }
}
