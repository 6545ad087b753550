//! Bully election: whoever gets no answer from anyone better is the leader.
//!
//! Source    Leader election, lecture slides CSE 486/586 (University at Buffalo), algorithm 3
//! Assumes   a synchronous system: a message and the answer to it take less than `answer_within`;
//!           crash faults; every member known to every other
//! Promises  while that holds: all name the best live member, also if the best die meanwhile. With
//!           the old leader dead but still in the views, N members counting it: N-1 messages if
//!           the second best calls (N-2 if it knows), N^2-N-1 if the worst does
//!           once a round trip takes longer: a member that should have waited names itself, and
//!           whoever is worse follows. With [`Config::slides`] that may last; with
//!           [`Config::field`], after any faults: once nothing is lost any more and the views are
//!           right, all started members name the best of them within `patience` +
//!           `answer_within` + 2 x `victory_within`, and keep doing so
//! Messages  election (to each better member), answer (to who asked), coordinator (to each worse
//!           member)
//!
//! A member names its old leader until an election ends or that leader is seen to leave, so that a
//! newcomer's election does not unseat a healthy leader. A leader in office need not stand again
//! because somebody asks: it tells that one.

use serde::{Deserialize, Serialize};

use crate::config::{ConfigError, Hearsay, require_some_time};
use crate::{
    Candidate, Duration, Input, Io, MemberId, NoRequest, Outcome, Protocol, View, ViewChange,
};

/// The time-outs, and how members deal with what the slides leave open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// How long who asked waits for an answer: more than a round trip.
    pub answer_within: Duration,
    /// How long who got an answer waits for the winner: the best must hear of the election, find
    /// nobody better, and tell.
    pub victory_within: Duration,
    /// Checked: names nobody out of its view or worse than the leader that it still sees, and leaves
    /// it to that leader to tell who asks.
    pub hearsay: Hearsay,
    /// How long a member puts up with a leader other than the best of its view before it calls an
    /// election. Longer than the detector needs to remove the dead, or they are asked in vain.
    pub patience: Option<Duration>,
}

impl Config {
    /// The slides' algorithm where no message takes longer than `bound`. A round trip is 2 bounds,
    /// half a bound is slack; to hear of an election and to tell of its end takes 2 more.
    pub fn slides(bound: Duration) -> Self {
        let answer_within = bound.mul_f64(2.5);
        Self {
            answer_within,
            victory_within: answer_within + bound * 2,
            hearsay: Hearsay::Believed,
            patience: None,
        }
    }

    /// For networks where most messages take less than `bound`, and some never arrive.
    pub fn field(bound: Duration, patience: Duration) -> Self {
        Self {
            hearsay: Hearsay::Checked,
            patience: Some(patience),
            ..Self::slides(bound)
        }
    }

    /// Whether it can work.
    pub fn check(&self) -> Result<(), ConfigError> {
        require_some_time("answer_within", Some(self.answer_within))?;
        if self.victory_within < self.answer_within {
            return Err(ConfigError::Below {
                field: "victory_within",
                value: self.victory_within,
                bound: "answer_within",
                least: self.answer_within,
            });
        }
        require_some_time("patience", self.patience)
    }
}

/// What members say to each other. Each names its sender as the sender sees itself, so that a
/// receiver with an older view compares rightly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Do you live, who would be better than I?
    Election {
        /// Who asks.
        sender: Candidate,
    },
    /// I do.
    Answer {
        /// Who lives.
        sender: Candidate,
    },
    /// I lead.
    Coordinator {
        /// Who leads.
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

impl crate::Message for Message {
    const KINDS: &'static [&'static str] = &["election", "answer", "coordinator"];

    fn kind(&self) -> usize {
        match self {
            Self::Election { .. } => 0,
            Self::Answer { .. } => 1,
            Self::Coordinator { .. } => 2,
        }
    }
}

/// What a member waits for. At most one timer runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// Nobody better answered.
    AnswerDue,
    /// Somebody better answered, but nobody won.
    VictoryDue,
    /// The leader is not the best of the view.
    Patience,
}

impl crate::Timer for Timer {
    const ALL: &'static [Self] = &[Self::AnswerDue, Self::VictoryDue, Self::Patience];

    fn index(self) -> usize {
        match self {
            Self::AnswerDue => 0,
            Self::VictoryDue => 1,
            Self::Patience => 2,
        }
    }
}

/// One member of the group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bully {
    /// The slides' variable of that name: whom this member names.
    elected: Option<MemberId>,
    phase: Phase,
}

/// `round` counts the elections that this member has called since it last came to rest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// No election of ours is running.
    #[default]
    Resting,
    /// We asked everyone better.
    Standing { round: u32 },
    /// Somebody better is there, and should win.
    Conceding { round: u32 },
}

impl Bully {
    /// A member that has heard nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn round(&self) -> u32 {
        match self.phase {
            Phase::Resting => 0,
            Phase::Standing { round } | Phase::Conceding { round } => round,
        }
    }

    /// Whether somebody who asks this member has asked the leader as well, and will hear from it. To
    /// stand too, as on the slides, then only adds messages: about N^3 of them where delays vary, as
    /// each wave of elections sets off the next.
    fn leader_will_tell(&self, io: &impl Io<Self>) -> bool {
        let sees_leader = self.elected.is_some_and(|id| io.view().contains(id));
        self.phase == Phase::Resting && sees_leader && io.config().hearsay == Hearsay::Checked
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
            Input::Leave => {} // the others see it leave
        }
    }
}

// Handlers: one per input. They decide; the transitions below act.
impl Bully {
    /// Calls an election, unless one is under way.
    fn call(&mut self, io: &mut impl Io<Self>) {
        if self.phase == Phase::Resting {
            self.stand(io);
        }
    }

    fn on_election(&mut self, challenger: Candidate, io: &mut impl Io<Self>) {
        let me = io.me();
        if challenger >= me {
            return; // misdirected: it knows an older merit of ours
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
            Phase::Standing { .. } => {} // misdirected: it knows an older merit of ours
            Phase::Resting | Phase::Conceding { .. } => {} // late, or one of several
        }
    }

    fn on_coordinator(&mut self, leader: Candidate, io: &mut impl Io<Self>) {
        if leader < io.me() {
            self.call(io); // it cannot have heard of us
        } else if io.config().hearsay.accepts(leader, self.elected, io.view()) {
            self.settle(leader, io);
        } // else discarded: it is gone, or we see a better leader
    }

    fn on_patience(&mut self, io: &mut impl Io<Self>) {
        if self.elected != Some(io.view().best().id) {
            self.call(io);
        } // else nothing: who was better left
    }

    fn on_joined(&mut self, newcomer: Candidate, io: &mut impl Io<Self>) {
        let incumbent = self.elected.and_then(|id| io.view().get(id));
        match self.phase {
            // It should take over, or leads already. See that it tells us.
            Phase::Resting if incumbent.is_some_and(|it| newcomer > it) => self.concede(io),
            Phase::Resting if self.is_in_office(io) => tell(newcomer.id, io),
            Phase::Resting => {}
            Phase::Standing { .. } | Phase::Conceding { .. } => {} // the winner will tell it
        }
    }

    fn on_left(&mut self, id: MemberId, io: &mut impl Io<Self>) {
        if self.elected == Some(id) {
            self.vacate(io);
            self.call(io);
        }
    }
}

// Transitions: the only code that writes `phase` and `elected`. Each leaves exactly the timer that
// its phase needs.
impl Bully {
    /// Calls an election; without anyone better in the view, it is won at once.
    fn stand(&mut self, io: &mut impl Io<Self>) {
        let me = io.me();
        let round = self.round().saturating_add(1);
        io.report(Outcome::Standing { round });
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
        io.report(Outcome::Nominee(me));
        self.rest(me, io);
    }

    fn settle(&mut self, leader: Candidate, io: &mut impl Io<Self>) {
        let is_news = self.phase != Phase::Resting || self.elected != Some(leader.id);
        if is_news {
            io.report(Outcome::Nominee(leader));
        }
        self.rest(leader, io);
    }

    /// Names `leader`: for good, if it is the best in view.
    fn rest(&mut self, leader: Candidate, io: &mut impl Io<Self>) {
        self.elected = Some(leader.id);
        let due = io
            .config()
            .patience
            .filter(|_| io.view().best().id != leader.id)
            .map(|patience| (Timer::Patience, patience));
        self.enter(Phase::Resting, due, io);
    }

    fn vacate(&mut self, io: &mut impl Io<Self>) {
        self.elected = None;
        io.report(Outcome::Vacant);
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

/// Tells one member who leads: this one.
fn tell(to: MemberId, io: &mut impl Io<Bully>) {
    let sender = io.me();
    io.unicast(to, Message::Coordinator { sender });
}

#[cfg(test)]
mod tests {
    use super::Config;
    use crate::Duration;

    #[test]
    fn time_outs_must_contain_each_other() {
        let good = Config::field(Duration::from_millis(10), Duration::from_secs(1));
        assert_eq!(good.check(), Ok(()));
        for (answer, victory, patience, error) in [
            (0, 1, 1, "answer_within is 0s: raise answer_within"),
            (
                2,
                1,
                1,
                "victory_within 1s is below answer_within 2s: raise victory_within",
            ),
            (1, 1, 0, "patience is 0s: raise patience"),
        ] {
            let bad = Config {
                answer_within: Duration::from_secs(answer),
                victory_within: Duration::from_secs(victory),
                patience: Some(Duration::from_secs(patience)),
                ..good
            };
            assert_eq!(bad.check().unwrap_err().to_string(), error);
        }
    }

    #[test]
    fn time_outs_follow_from_the_bound() {
        let config = Config::slides(Duration::from_millis(10));
        assert_eq!(config.answer_within, Duration::from_millis(25));
        assert_eq!(config.victory_within, Duration::from_millis(45));
    }
}
