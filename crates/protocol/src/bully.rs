//! Bully election: the member that gets no answer from any better member is the leader.
//!
//! Source    Leader election, lecture slides CSE 486/586 (University at Buffalo), algorithm 3
//! Assumes   a synchronous system: a message and the answer to it take less than `answer_within`;
//!           crash faults; every member knows every other
//! Promises  while that holds: all members name the best live member, even if the best ones die
//!           meanwhile. With the old leader dead but still in the views, and N members counting it:
//!           N-1 messages if the second best calls (N-2 if it knows that the leader is dead),
//!           N^2-N-1 if the worst does
//!           once a round trip takes longer: a member that should have waited names itself, and
//!           worse members follow it. With [`Config::paper`] this may last. With
//!           [`Config::field`], after any faults: once no message is lost any more and the views
//!           are right, all started members name the best of them within `election_timeout` +
//!           `answer_within` + 2 x `victory_within`, and keep doing so
//! Messages  election (to each better member), answer (to the member that sent election),
//!           coordinator (to each worse member)
//!
//! A member names its old leader until an election ends or that leader leaves the view. A
//! newcomer's election therefore does not unseat a healthy leader. A leader that receives election
//! in office does not stand again: it answers with coordinator.

use serde::{Deserialize, Serialize};

use crate::config::{ConfigError, Reports, require_at_least, require_some_time};
use crate::{
    Candidate, Duration, ElectionOutcome, Input, Io, MemberId, NoRequest, Protocol, View,
    ViewChange,
};

/// The time-outs, and the policies for cases that the slides leave open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Time to wait for an Answer after sending Election: more than a round trip.
    pub answer_within: Duration,
    /// Time to wait for Coordinator after an Answer: the best member must receive Election, find no
    /// better member, and send Coordinator.
    pub victory_within: Duration,
    /// With `CheckedAgainstView`, a member names no leader outside its view and none worse than a
    /// leader that it still sees. That leader then informs the members that send Election.
    pub reports: Reports,
    /// The time that a member follows a leader other than the best of its view before it calls an
    /// election. Must be longer than the failure detector needs to remove dead members; otherwise
    /// elections ask them in vain.
    pub election_timeout: Option<Duration>,
}

impl Config {
    /// The slides' algorithm where no message takes longer than `bound`. A round trip is 2 bounds,
    /// half a bound is slack; Election to the best member and its Coordinator take 2 more.
    pub fn paper(bound: Duration) -> Self {
        let answer_within = bound.mul_f64(2.5);
        Self {
            answer_within,
            victory_within: answer_within + bound * 2,
            reports: Reports::Trusted,
            election_timeout: None,
        }
    }

    /// For networks where most messages take less than `bound`, and some never arrive.
    pub fn field(bound: Duration, election_timeout: Duration) -> Self {
        Self {
            reports: Reports::CheckedAgainstView,
            election_timeout: Some(election_timeout),
            ..Self::paper(bound)
        }
    }

    /// Checks that this configuration can work.
    pub fn check(&self) -> Result<(), ConfigError> {
        require_some_time("answer_within", Some(self.answer_within))?;
        require_at_least(
            "victory_within",
            self.victory_within,
            ("answer_within", self.answer_within),
        )?;
        require_some_time("patience", self.election_timeout)
    }
}

/// The messages. Each contains its sender as the sender sees itself, so that a receiver with an
/// older view compares correctly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Asks a better member whether it is alive.
    Election {
        /// The member that asks.
        sender: Candidate,
    },
    /// Answers Election: a better member is alive.
    Answer {
        /// The better member.
        sender: Candidate,
    },
    /// Announces that the sender leads.
    Coordinator {
        /// The leader.
        sender: Candidate,
    },
}

impl Message {
    fn sender(&self) -> Candidate {
        match *self {
            Self::Election { sender } | Self::Answer { sender } | Self::Coordinator { sender } => {
                sender
            }
        }
    }
}

crate::kinds!(Election "election", Answer "answer", Coordinator "coordinator");

/// The timers. At most one runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// No better member has answered.
    AnswerDue,
    /// A better member has answered, but no member has announced itself.
    VictoryDue,
    /// The leader is not the best of the view.
    Patience,
}

crate::timers!(AnswerDue, VictoryDue, Patience);

/// One member of the group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bully {
    /// The slides' variable of that name: the member that this one names as leader.
    elected: Option<MemberId>,
    phase: Phase,
}

/// `round` counts the elections that this member has called since it last came to rest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// No election of ours is running.
    #[default]
    Resting,
    /// We sent Election to every better member.
    Standing { round: u32 },
    /// A better member is alive and should win.
    Conceding { round: u32 },
}

impl Bully {
    fn round(&self) -> u32 {
        match self.phase {
            Phase::Resting => 0,
            Phase::Standing { round } | Phase::Conceding { round } => round,
        }
    }

    /// True if a member that sends Election to this one has sent it to the leader as well, and will
    /// get the leader's answer. To stand too, as on the slides, only adds messages: about N^3 of
    /// them if delays vary, because each wave of elections sets off the next.
    fn leader_will_tell(&self, io: &impl Io<Self>) -> bool {
        let sees_leader = self.elected.is_some_and(|id| io.view().contains(id));
        self.phase == Phase::Resting
            && sees_leader
            && io.config().reports == Reports::CheckedAgainstView
    }

    fn is_in_office(&self, io: &impl Io<Self>) -> bool {
        self.phase == Phase::Resting && self.elected == Some(io.me().id)
    }
}

impl Protocol for Bully {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = ();
    type Outcome = ElectionOutcome;
    type Request = NoRequest;

    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match input {
            Input::Start => self.call(io),
            Input::Message { from, message } if message.sender().id != from => {} // forged
            Input::Message { message, .. } => match message {
                Message::Election { sender } => self.on_election(sender, io),
                Message::Answer { sender } => self.on_answer(sender, io),
                Message::Coordinator { sender } => self.on_coordinator(sender, io),
            },
            Input::Timer(Timer::AnswerDue) => self.win(io),
            Input::Timer(Timer::VictoryDue) => self.stand(io),
            Input::Timer(Timer::Patience) => self.on_patience(io),
            Input::ViewChanged(ViewChange::Joined(newcomer)) => self.on_joined(newcomer, io),
            Input::ViewChanged(ViewChange::Left(id)) => self.on_left(id, io),
            Input::Leave => {} // the views of the others show it
        }
    }
}

// Handlers: one per input. They decide; the transitions below act.
impl Bully {
    /// Calls an election, unless one is running.
    fn call(&mut self, io: &mut impl Io<Self>) {
        if self.phase == Phase::Resting {
            self.stand(io);
        }
    }

    fn on_election(&mut self, challenger: Candidate, io: &mut impl Io<Self>) {
        let me = io.me();
        if challenger >= me {
            return; // misdirected: it knows an older priority of ours
        }
        io.unicast(challenger.id, Message::Answer { sender: me });
        if self.is_in_office(io) {
            tell(challenger.id, io);
        } else if !self.leader_will_tell(io) {
            self.call(io);
        }
    }

    fn on_answer(&mut self, better: Candidate, io: &mut impl Io<Self>) {
        match self.phase {
            Phase::Standing { .. } if better > io.me() => self.concede(io),
            Phase::Standing { .. } => {} // misdirected: it knows an older priority of ours
            Phase::Resting | Phase::Conceding { .. } => {} // late, or one of several
        }
    }

    fn on_coordinator(&mut self, leader: Candidate, io: &mut impl Io<Self>) {
        if leader < io.me() {
            self.call(io); // it cannot have received our messages
        } else if io.config().reports.accepts(leader, self.elected, &io.view()) {
            self.settle(leader, io);
        } // else discarded: it is not in the view, or we see a better leader
    }

    fn on_patience(&mut self, io: &mut impl Io<Self>) {
        if self.elected != Some(io.view().best().id) {
            self.call(io);
        } // else nothing: the better member has left
    }

    fn on_joined(&mut self, newcomer: Candidate, io: &mut impl Io<Self>) {
        let incumbent = self.elected.and_then(|id| io.view().get(id));
        match self.phase {
            // The newcomer should take over, or leads already. Wait for its Coordinator.
            Phase::Resting if incumbent.is_some_and(|it| newcomer > it) => self.concede(io),
            Phase::Resting if self.is_in_office(io) => tell(newcomer.id, io),
            Phase::Resting => {}
            Phase::Standing { .. } | Phase::Conceding { .. } => {} // the winner will inform it
        }
    }

    fn on_left(&mut self, id: MemberId, io: &mut impl Io<Self>) {
        if self.elected == Some(id) {
            self.vacate(io);
            self.call(io);
        }
    }
}

// Transitions: the only code that writes `phase` and `elected`. Each leaves exactly the timer
// running that its phase needs.
impl Bully {
    /// Calls an election. Without a better member in the view, this member wins at once.
    fn stand(&mut self, io: &mut impl Io<Self>) {
        let me = io.me();
        let round = self.round().saturating_add(1);
        io.report(ElectionOutcome::Standing { round });
        let asked = io.unicast_each(&Message::Election { sender: me }, |it| it > me);
        if asked == 0 {
            self.win(io);
            return;
        }
        let due = (Timer::AnswerDue, io.config().answer_within);
        self.enter(Phase::Standing { round }, Some(due), io);
    }

    fn concede(&mut self, io: &mut impl Io<Self>) {
        let round = self.round();
        let due = (Timer::VictoryDue, io.config().victory_within);
        self.enter(Phase::Conceding { round }, Some(due), io);
    }

    fn win(&mut self, io: &mut impl Io<Self>) {
        let me = io.me();
        io.unicast_each(&Message::Coordinator { sender: me }, |it| it < me);
        io.report(ElectionOutcome::Nominee(me));
        self.rest(me, io);
    }

    fn settle(&mut self, leader: Candidate, io: &mut impl Io<Self>) {
        let is_news = self.phase != Phase::Resting || self.elected != Some(leader.id);
        if is_news {
            io.report(ElectionOutcome::Nominee(leader));
        }
        self.rest(leader, io);
    }

    /// Names `leader`. If it is not the best of the view, the election timer is armed.
    fn rest(&mut self, leader: Candidate, io: &mut impl Io<Self>) {
        self.elected = Some(leader.id);
        let due = io
            .config()
            .election_timeout
            .filter(|_| io.view().best().id != leader.id)
            .map(|election_timeout| (Timer::Patience, election_timeout));
        self.enter(Phase::Resting, due, io);
    }

    fn vacate(&mut self, io: &mut impl Io<Self>) {
        self.elected = None;
        io.report(ElectionOutcome::Vacant);
    }

    fn enter(&mut self, phase: Phase, due: Option<(Timer, Duration)>, io: &mut impl Io<Self>) {
        self.phase = phase;
        for &timer in <Timer as crate::Timer>::ALL {
            io.disarm(timer);
        }
        if let Some((timer, after)) = due {
            io.arm(timer, after);
        }
    }
}

/// Informs one member that this member leads.
fn tell(to: MemberId, io: &mut impl Io<Bully>) {
    let sender = io.me();
    io.unicast(to, Message::Coordinator { sender });
}

#[cfg(test)]
mod tests {
    use super::Config;
    use crate::Duration;

    #[test]
    fn time_outs_below_their_bounds_are_refused() {
        let good = Config::field(Duration::from_millis(10), Duration::from_secs(1));
        assert_eq!(good.check(), Ok(()));
        for (answer, victory, election_timeout, error) in [
            (0, 1, 1, "answer_within is 0s: raise answer_within"),
            (2, 1, 1, "victory_within 1s is below answer_within 2s: raise victory_within"),
            (1, 1, 0, "patience is 0s: raise patience"),
        ] {
            let bad = Config {
                answer_within: Duration::from_secs(answer),
                victory_within: Duration::from_secs(victory),
                election_timeout: Some(Duration::from_secs(election_timeout)),
                ..good
            };
            assert_eq!(bad.check().unwrap_err().to_string(), error);
        }
    }

    #[test]
    fn time_outs_follow_from_the_bound() {
        let config = Config::paper(Duration::from_millis(10));
        assert_eq!(config.answer_within, Duration::from_millis(25));
        assert_eq!(config.victory_within, Duration::from_millis(45));
    }
}
