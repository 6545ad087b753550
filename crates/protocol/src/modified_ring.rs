//! Modified ring election: a list goes round to find the best member, and a second time to check
//! that it is alive.
//!
//! Source    Leader election, lecture slides CSE 486/586 (University at Buffalo), algorithm 2
//! Assumes   every member can reach its successor, links keep order, and the views leave out dead
//!           members, so that a message skips them
//! Promises  2N messages for one initiator, N H_k + N expected for k at once; one leader. If the
//!           best member dies after it signed, the list returns without it and a new election
//!           follows. If the initiator dies, a member that finds its own signature calls the next
//!           one. A leader that dies after its second signature is still named: the failure
//!           detector has to notice
//!           with [`Config::paper`] a member that dies while it has the message ends the election
//!           silently. With [`Config::field`], after any faults: once no message is lost any more
//!           and the views are right, all started members name the best of them within
//!           `election_timeout` and 4N delays, and keep doing so. Until then they may name
//!           different members
//! Messages  election (signed by each member), coordinator (the best of the list, signed again);
//!           both to the successor
//!
//! A signature of the first lap is a [`Candidate`], because the best is chosen by priority. The
//! worse of two initiators gives way: a member with an election of its own running discards the
//! `election` of a worse initiator. It forwards the `coordinator` of a worse initiator, but does
//! not follow it.

use serde::{Deserialize, Serialize};

use crate::config::{ConfigError, Reports, require_some_time};
use crate::{
    Candidate, Duration, ElectionOutcome, Input, Io, MemberId, NoRequest, Protocol, View,
    ViewChange,
};

/// The policies for cases that the slides leave open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// With `CheckedAgainstView`, a member also contests a coordinator worse than itself, and an
    /// initiator announces only the best member of its view.
    pub reports: Reports,
    /// Time to wait for a due message before calling an election (again). It must be longer than a
    /// lap of up to N delays; otherwise no list returns before its initiator calls again. An
    /// election takes two laps: a shorter time only adds messages.
    pub election_timeout: Option<Duration>,
}

impl Config {
    /// The slides' algorithm.
    pub const fn paper() -> Self {
        Self { reports: Reports::Trusted, election_timeout: None }
    }

    /// For networks that lose messages, given views that follow which members are alive.
    pub const fn field(election_timeout: Duration) -> Self {
        Self { reports: Reports::CheckedAgainstView, election_timeout: Some(election_timeout) }
    }

    /// Checks that this configuration can work.
    pub fn check(&self) -> Result<(), ConfigError> {
        require_some_time("patience", self.election_timeout)
    }
}

/// One attempt at an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The member that makes the attempt.
    pub initiator: Candidate,
    /// The number of the attempt.
    pub round: u32,
}

impl Call {
    fn next_round(self) -> u32 {
        self.round.saturating_add(1)
    }
}

/// The messages that go round the ring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// The first lap collects the members that are alive.
    Election {
        /// The attempt of this list.
        call: Call,
        /// The members that have signed, the initiator first.
        ids: Vec<Candidate>,
    },
    /// The second lap checks that the chosen member is still alive.
    Coordinator {
        /// The attempt of this list.
        call: Call,
        /// The new coordinator: the best signature of the first lap.
        best: Candidate,
        /// The members that have signed this lap, the initiator first.
        ids: Vec<MemberId>,
    },
}

crate::kinds!(Election "election", Coordinator "coordinator");

/// The one timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// A message is overdue.
    Patience,
}

crate::timers!(Patience);

/// One member of the ring.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModifiedRing {
    /// The slides' variable of that name: the member that this one names as leader.
    elected: Option<MemberId>,
    phase: Phase,
}

/// `round` counts attempts, including those of other members, since this member last came to rest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// No message is due.
    #[default]
    Resting,
    /// The Coordinator of another member is due: this member signed its election, or the group
    /// grew.
    Awaiting { round: u32 },
    /// Our Election list is going round.
    Collecting { round: u32 },
    /// Our Coordinator list is going round.
    Announcing { round: u32 },
}

impl ModifiedRing {
    fn initiates(&self) -> bool {
        matches!(self.phase, Phase::Collecting { .. } | Phase::Announcing { .. })
    }

    fn next_round(&self) -> u32 {
        match self.phase {
            Phase::Resting => 1,
            Phase::Awaiting { round }
            | Phase::Collecting { round }
            | Phase::Announcing { round } => round.saturating_add(1),
        }
    }

    /// True for a list of our own that we do not wait for: a duplicate, one given up, or one from
    /// before a restart.
    fn is_stale(&self, message: &Message, io: &impl Io<Self>) -> bool {
        let (call, due) = match message {
            Message::Election { call, .. } => (call, Phase::Collecting { round: call.round }),
            Message::Coordinator { call, .. } => (call, Phase::Announcing { round: call.round }),
        };
        call.initiator.id == io.me().id && self.phase != due
    }
}

impl Protocol for ModifiedRing {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = ();
    type Outcome = ElectionOutcome;
    type Request = NoRequest;

    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match input {
            Input::Start => self.call(1, io),
            Input::Message { message, .. } if self.is_stale(&message, io) => {}
            Input::Message { message, .. } => match message {
                Message::Election { call, ids } => self.on_election(call, ids, io),
                Message::Coordinator { call, best, ids } => {
                    self.on_coordinator(call, best, ids, io);
                }
            },
            Input::Timer(Timer::Patience) => self.stand(self.next_round(), io),
            Input::ViewChanged(ViewChange::Joined(newcomer)) => self.on_joined(newcomer, io),
            Input::ViewChanged(ViewChange::Left(id)) => self.on_left(id, io),
            Input::Leave => {} // the views of the others show it
        }
    }
}

// Handlers: one per input. They decide; the transitions below act.
impl ModifiedRing {
    /// Calls an election, unless one of our own is running.
    fn call(&mut self, round: u32, io: &mut impl Io<Self>) {
        if !self.initiates() {
            self.stand(round, io);
        }
    }

    fn on_election(&mut self, call: Call, ids: Vec<Candidate>, io: &mut impl Io<Self>) {
        let me = io.me();
        let went_round = ids.iter().any(|it| it.id == me.id) || io.is_alone();
        if call.initiator.id == me.id {
            self.on_own_election(call, &ids, io);
        } else if went_round {
            self.call(call.next_round(), io); // the initiator has left
        } else if self.initiates() && call.initiator < me {
            // Discarded: of two initiators ours has precedence.
        } else {
            self.sign(call, ids, io);
        }
    }

    fn on_own_election(&mut self, call: Call, ids: &[Candidate], io: &mut impl Io<Self>) {
        let best = match io.config().reports {
            Reports::Trusted => ids.iter().max(),
            Reports::CheckedAgainstView => {
                let best = io.view().best().id;
                ids.iter().find(|it| it.id == best)
            }
        };
        if let Some(&best) = best {
            self.announce(call, best, io);
        } // else discarded: the list missed the best member of our view
    }

    fn on_coordinator(
        &mut self,
        call: Call,
        best: Candidate,
        ids: Vec<MemberId>,
        io: &mut impl Io<Self>,
    ) {
        let me = io.me();
        let reports = io.config().reports;
        let went_round = ids.contains(&me.id) || io.is_alone();
        let passed_me_over =
            reports == Reports::CheckedAgainstView && best.id != me.id && best < me;
        if call.initiator.id == me.id {
            self.on_own_coordinator(best, &ids, io);
        } else if went_round || passed_me_over {
            self.call(call.next_round(), io);
        } else if reports.accepts(best, self.elected, &io.view()) {
            self.countersign(call, best, ids, io);
        } // else discarded: its initiator has to call again
    }

    fn on_own_coordinator(&mut self, best: Candidate, ids: &[MemberId], io: &mut impl Io<Self>) {
        if ids.contains(&best.id) && io.config().reports.expects(best.id, &io.view()) {
            self.settle(best, io);
        } else {
            self.stand(self.next_round(), io);
        }
    }

    fn on_joined(&mut self, newcomer: Candidate, io: &mut impl Io<Self>) {
        let me = io.me().id;
        let follows_me = io.view().successor(me).id == newcomer.id;
        let incumbent = self.elected.and_then(|id| io.view().get(id));
        let concerns_me = incumbent.is_some_and(|it| follows_me || newcomer > it);
        match self.phase {
            Phase::Awaiting { .. } | Phase::Collecting { .. } => {} // the second lap will inform it
            Phase::Announcing { .. } if follows_me => self.stand(self.next_round(), io),
            Phase::Announcing { .. } => {}
            Phase::Resting if self.elected == Some(me) => self.stand(1, io),
            // The leader or the newcomer should call an election. Wait for it.
            Phase::Resting if concerns_me => self.wait(0, io),
            Phase::Resting => {}
        }
    }

    fn on_left(&mut self, id: MemberId, io: &mut impl Io<Self>) {
        if self.elected == Some(id) {
            self.vacate(io);
            if self.phase == Phase::Resting {
                self.stand(1, io);
            } // else an election is running
        }
    }
}

// Transitions: the only code that writes `phase` and `elected`. The timer, if configured, runs in
// every phase except Resting.
impl ModifiedRing {
    /// Calls an election. A member alone in its view wins at once.
    fn stand(&mut self, round: u32, io: &mut impl Io<Self>) {
        let me = io.me();
        io.report(ElectionOutcome::Standing { round });
        self.phase = Phase::Collecting { round };
        io.arm_if_any(Timer::Patience, io.config().election_timeout);
        if io.is_alone() {
            self.settle(me, io);
            return;
        }
        let ids = vec![me];
        let call = Call { initiator: me, round };
        pass_on(Message::Election { call, ids }, io);
    }

    /// Adds this member to another's list, whose Coordinator is then due.
    fn sign(&mut self, call: Call, mut ids: Vec<Candidate>, io: &mut impl Io<Self>) {
        if self.phase == Phase::Resting {
            self.wait(call.round, io);
        }
        ids.push(io.me());
        pass_on(Message::Election { call, ids }, io);
    }

    /// Starts the second lap.
    fn announce(&mut self, call: Call, best: Candidate, io: &mut impl Io<Self>) {
        if io.is_alone() {
            self.stand(call.next_round(), io);
            return;
        }
        self.phase = Phase::Announcing { round: call.round };
        io.arm_if_any(Timer::Patience, io.config().election_timeout);
        let ids = vec![io.me().id];
        pass_on(Message::Coordinator { call, best, ids }, io);
    }

    /// Adds this member to another's second list, and follows it unless an election of its own with
    /// precedence is running.
    fn countersign(
        &mut self,
        call: Call,
        best: Candidate,
        mut ids: Vec<MemberId>,
        io: &mut impl Io<Self>,
    ) {
        let me = io.me();
        if !self.initiates() || call.initiator > me {
            self.settle(best, io);
        }
        ids.push(me.id);
        pass_on(Message::Coordinator { call, best, ids }, io);
    }

    fn settle(&mut self, coordinator: Candidate, io: &mut impl Io<Self>) {
        let is_news = self.phase != Phase::Resting || self.elected != Some(coordinator.id);
        self.elected = Some(coordinator.id);
        self.phase = Phase::Resting;
        io.disarm(Timer::Patience);
        if is_news {
            io.report(ElectionOutcome::Nominee(coordinator));
        }
    }

    fn wait(&mut self, round: u32, io: &mut impl Io<Self>) {
        self.phase = Phase::Awaiting { round };
        io.arm_if_any(Timer::Patience, io.config().election_timeout);
    }

    fn vacate(&mut self, io: &mut impl Io<Self>) {
        self.elected = None;
        io.report(ElectionOutcome::Vacant);
    }
}

/// Sends to the successor, which is another member.
fn pass_on(message: Message, io: &mut impl Io<ModifiedRing>) {
    let me = io.me().id;
    let next = io.view().successor(me).id;
    io.unicast(next, message);
}

#[cfg(test)]
mod tests {
    use super::Config;
    use crate::Duration;

    #[test]
    fn an_election_timeout_of_zero_is_refused() {
        assert_eq!(Config::paper().check(), Ok(()));
        assert_eq!(Config::field(Duration::from_secs(1)).check(), Ok(()));
        let error = Config::field(Duration::ZERO).check().unwrap_err();
        assert_eq!(error.to_string(), "patience is 0s: raise patience");
    }
}
