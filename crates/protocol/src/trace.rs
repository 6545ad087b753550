//! The trace of a run, one line per event. The simulator and the agent write the same lines, so
//! that a run in the field reads like one in the simulator.
//!
//! This module defines the format only. The drivers of the protocols write the lines as JSON, one
//! object a line.

use std::borrow::Cow;
use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use crate::council::CouncilOutcome;
use crate::tenure::TenureOutcome;
use crate::wagner::DrawOutcome;
use crate::{ElectionOutcome, Instant, MemberId, Message, ViewChange};

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A member received [`Input::Start`](crate::Input::Start).
    Start,
    /// A member sent a message to one other member.
    Send,
    /// A member sent a message to all other members.
    Multicast,
    /// A message, or one receiver's copy of it, was lost.
    Lost,
    /// A message arrived and was handled.
    Deliver,
    /// A timer expired.
    Timer,
    /// A member's view changed.
    View,
    /// A member reported an outcome.
    Outcome,
    /// A verb of the scenario language was applied to the world or to a member.
    Scenario,
}

/// The fields inside messages that contain identities, alone or in lists. Priorities, rounds and
/// other numbers may equal an identity, but are not identities.
pub const IDENTITY_FIELDS: &[&str] = &["id", "ids", "about"];

/// The outcome of any protocol, for readers of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AnyOutcome {
    /// An outcome of an election.
    Election(ElectionOutcome),
    /// An outcome of a draw.
    Draw(DrawOutcome),
    /// An outcome of tenure.
    Tenure(TenureOutcome),
    /// An outcome of a council.
    Council(CouncilOutcome),
}

/// One line of a trace, with the fields in reading order. Absent fields are left out. `M` is a
/// message: a reference to a protocol's message when lines are written, any deserializable type
/// when they are read. `O` is a protocol's outcome when lines are written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line<M, O = AnyOutcome> {
    /// The time in seconds on the world's clock.
    pub time: f64,
    /// The kind of the event.
    pub kind: Kind,
    /// The member concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<MemberId>,
    /// The sender of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<MemberId>,
    /// The receiver of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<MemberId>,
    /// The message's kind, by its name in the protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Cow<'static, str>>,
    /// The content of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<M>,
    /// The name of the timer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer: Option<String>,
    /// The member that came into the view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joined: Option<MemberId>,
    /// The member that left the view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<MemberId>,
    /// The outcome that the member reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<O>,
    /// The verb of the scenario language, with its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verb: Option<String>,
}

impl<'a, M: Message, O> Line<&'a M, O> {
    /// `member` received [`Input::Start`](crate::Input::Start).
    pub fn start(at: Instant, member: MemberId) -> Self {
        Self::about(at, Kind::Start, member)
    }

    /// `from` sent a message to `to`.
    pub fn send(at: Instant, from: MemberId, to: MemberId, message: &'a M) -> Self {
        Self { to: Some(to), ..Self::saying(at, Kind::Send, from, message) }
    }

    /// `from` sent a message to all other members.
    pub fn multicast(at: Instant, from: MemberId, message: &'a M) -> Self {
        Self::saying(at, Kind::Multicast, from, message)
    }

    /// A message of `from` to `to` was lost; `to` is `None` if a multicast was lost to all.
    pub fn lost(at: Instant, from: MemberId, to: Option<MemberId>) -> Self {
        Self { from: Some(from), to, ..Self::new(at, Kind::Lost) }
    }

    /// A message of `from` arrived at `to` and was handled.
    pub fn deliver(at: Instant, from: MemberId, to: MemberId, message: &'a M) -> Self {
        Self { to: Some(to), ..Self::saying(at, Kind::Deliver, from, message) }
    }

    /// A timer of `member` expired.
    pub fn timer(at: Instant, member: MemberId, timer: impl Debug) -> Self {
        Self { timer: Some(format!("{timer:?}")), ..Self::about(at, Kind::Timer, member) }
    }

    /// The view of `member` changed.
    pub fn view(at: Instant, member: MemberId, change: ViewChange) -> Self {
        let (joined, left) = match change {
            ViewChange::Joined(candidate) => (Some(candidate.id), None),
            ViewChange::Left(id) => (None, Some(id)),
        };
        Self { joined, left, ..Self::about(at, Kind::View, member) }
    }

    /// `member` reported an outcome.
    pub fn outcome(at: Instant, member: MemberId, outcome: O) -> Self {
        Self { outcome: Some(outcome), ..Self::about(at, Kind::Outcome, member) }
    }

    /// A verb of the scenario language was applied.
    pub fn scenario(at: Instant, verb: String) -> Self {
        Self { verb: Some(verb), ..Self::new(at, Kind::Scenario) }
    }

    fn about(at: Instant, kind: Kind, member: MemberId) -> Self {
        Self { member: Some(member), ..Self::new(at, kind) }
    }

    fn saying(at: Instant, kind: Kind, from: MemberId, message: &'a M) -> Self {
        Self {
            from: Some(from),
            name: Some(Cow::Borrowed(M::KINDS[message.kind()])),
            message: Some(message),
            ..Self::new(at, kind)
        }
    }

    fn new(at: Instant, kind: Kind) -> Self {
        Self {
            time: at.as_secs_f64(),
            kind,
            member: None,
            from: None,
            to: None,
            name: None,
            message: None,
            timer: None,
            joined: None,
            left: None,
            outcome: None,
            verb: None,
        }
    }
}

impl<M, O> Line<M, O> {
    /// Returns the first field that a line of this kind needs and this line lacks.
    pub fn lacks(&self) -> Option<&'static str> {
        let member = ("member", self.member.is_some());
        let from = ("from", self.from.is_some());
        let to = ("to", self.to.is_some());
        let name = ("name", self.name.is_some());
        let message = ("message", self.message.is_some());
        let view = self.joined.is_some() || self.left.is_some();
        let needed = match self.kind {
            Kind::Start => vec![member],
            Kind::Send | Kind::Deliver => vec![from, to, name, message],
            Kind::Multicast => vec![from, name, message],
            Kind::Lost => vec![from],
            Kind::Timer => vec![member, ("timer", self.timer.is_some())],
            Kind::View => vec![member, ("joined or left", view)],
            Kind::Outcome => vec![member, ("outcome", self.outcome.is_some())],
            Kind::Scenario => vec![("verb", self.verb.is_some())],
        };
        let missing = needed.into_iter().find(|(_, is_there)| !is_there);
        missing.map(|(field, _)| field)
    }

    /// The member that observed the event, and so records it in the field; `None` for events that
    /// no member observes.
    pub fn witness(&self) -> Option<MemberId> {
        match self.kind {
            Kind::Start | Kind::Timer | Kind::View | Kind::Outcome => self.member,
            Kind::Send | Kind::Multicast => self.from,
            Kind::Deliver => self.to,
            Kind::Lost | Kind::Scenario => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AnyOutcome, Kind, Line};
    use crate::bully::{Message, Timer};
    use crate::{Candidate, ElectionOutcome, Instant, MemberId, ViewChange};

    /// One line of each kind.
    fn lines(message: &Message) -> Vec<Line<&Message>> {
        let (at, one, two) = (Instant(1_500_000_000), MemberId(1), MemberId(u64::MAX));
        vec![
            Line::start(at, two),
            Line::send(at, one, two, message),
            Line::multicast(at, two, message),
            Line::lost(at, one, None),
            Line::deliver(at, one, two, message),
            Line::timer(at, two, Timer::AnswerDue),
            Line::view(at, two, ViewChange::Left(one)),
            Line::outcome(at, two, AnyOutcome::Election(ElectionOutcome::Vacant)),
            Line::scenario(at, format!("leave {one}")),
        ]
    }

    #[test]
    fn every_kind_of_line_has_the_fields_that_it_needs() {
        let sender = Candidate::new(1, 1);
        let message = Message::Election { sender };
        let lines = lines(&message);
        for line in &lines {
            assert_eq!(line.lacks(), None, "{line:?}");
            assert_eq!(line.time, 1.5);
        }
        let kinds: Vec<Kind> = lines.iter().map(|line| line.kind).collect();
        for (kind, field) in [
            (Kind::Send, "from"),
            (Kind::Multicast, "from"),
            (Kind::Lost, "from"),
            (Kind::Deliver, "from"),
            (Kind::Timer, "timer"),
            (Kind::View, "joined or left"),
            (Kind::Outcome, "outcome"),
            (Kind::Scenario, "verb"),
        ] {
            assert!(kinds.contains(&kind), "{kind:?}");
            let start = lines[0].clone();
            assert_eq!(Line { kind, ..start }.lacks(), Some(field), "{kind:?}");
        }
    }

    #[test]
    fn the_sender_witnesses_a_send_and_the_receiver_a_delivery() {
        let sender = Candidate::new(1, 1);
        let message = Message::Election { sender };
        let witness = |kind| {
            let lines = lines(&message);
            let line = lines.iter().find(|line| line.kind == kind);
            line.and_then(Line::witness).map(|id| id.0)
        };
        assert_eq!(witness(Kind::Send), Some(1));
        assert_eq!(witness(Kind::Deliver), Some(u64::MAX));
        assert_eq!(witness(Kind::Timer), Some(u64::MAX));
        assert_eq!(witness(Kind::Scenario), None);
    }
}
