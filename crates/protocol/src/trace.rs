//! The record of a run, line by line: what both worlds write, so that a run in the field reads like one in
//! the simulator.
//!
//! This is the format alone. Whoever drives the protocols writes the lines, as JSON, one object a line.

use std::borrow::Cow;
use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use crate::{Instant, MemberId, Message, Outcome, ViewChange};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A member was told to start.
    Start,
    /// A member sent a message to one other.
    Send,
    /// A member sent a message to all others.
    Multicast,
    /// A message, or a receiver's copy of one, did not get through.
    Lost,
    /// A message arrived and was handled.
    Deliver,
    /// A timer ran out.
    Timer,
    /// A member's view changed.
    View,
    /// A member concluded something.
    Outcome,
    /// Something befell the world, or a member of it: a verb of the scenario language.
    Scenario,
}

/// The fields inside messages in which identities stand, alone or in lists. Merits, rounds and the like may be
/// as great as an identity and are none.
pub const IDENTITY_FIELDS: &[&str] = &["id", "ids", "about"];

/// One line, in the order in which a person reads it. Fields that say nothing are left out. `M` is a message: a
/// reference to one of a protocol's where lines are written, anything that can be read where they are read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line<M> {
    /// When, in seconds on the world's clock.
    pub time: f64,
    /// What happened.
    pub kind: Kind,
    /// To whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<MemberId>,
    /// Who sent the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<MemberId>,
    /// Whom it goes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<MemberId>,
    /// The message's kind, as the protocol names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Cow<'static, str>>,
    /// What it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<M>,
    /// Which timer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer: Option<String>,
    /// Who came into the view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joined: Option<MemberId>,
    /// Who went out of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<MemberId>,
    /// What the member concluded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// What befell the world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verb: Option<String>,
}

impl<'a, M: Message> Line<&'a M> {
    /// `member` was told to start.
    pub fn start(at: Instant, member: MemberId) -> Self {
        Self::about(at, Kind::Start, member)
    }

    /// `from` sent a message to `to`.
    pub fn send(at: Instant, from: MemberId, to: MemberId, message: &'a M) -> Self {
        Self {
            to: Some(to),
            ..Self::saying(at, Kind::Send, from, message)
        }
    }

    /// `from` sent a message to all others.
    pub fn multicast(at: Instant, from: MemberId, message: &'a M) -> Self {
        Self::saying(at, Kind::Multicast, from, message)
    }

    /// A message of `from` did not get through to `to`; none if a multicast was lost to all.
    pub fn lost(at: Instant, from: MemberId, to: Option<MemberId>) -> Self {
        Self {
            from: Some(from),
            to,
            ..Self::new(at, Kind::Lost)
        }
    }

    /// A message of `from` arrived at `to` and was handled.
    pub fn deliver(at: Instant, from: MemberId, to: MemberId, message: &'a M) -> Self {
        Self {
            to: Some(to),
            ..Self::saying(at, Kind::Deliver, from, message)
        }
    }

    /// A timer of `member` ran out.
    pub fn timer(at: Instant, member: MemberId, timer: impl Debug) -> Self {
        Self {
            timer: Some(format!("{timer:?}")),
            ..Self::about(at, Kind::Timer, member)
        }
    }

    /// The view of `member` changed.
    pub fn view(at: Instant, member: MemberId, change: ViewChange) -> Self {
        let (joined, left) = match change {
            ViewChange::Joined(candidate) => (Some(candidate.id), None),
            ViewChange::Left(id) => (None, Some(id)),
        };
        Self {
            joined,
            left,
            ..Self::about(at, Kind::View, member)
        }
    }

    /// `member` concluded something.
    pub fn outcome(at: Instant, member: MemberId, outcome: Outcome) -> Self {
        Self {
            outcome: Some(outcome),
            ..Self::about(at, Kind::Outcome, member)
        }
    }

    /// Something befell the world.
    pub fn scenario(at: Instant, verb: String) -> Self {
        Self {
            verb: Some(verb),
            ..Self::new(at, Kind::Scenario)
        }
    }

    fn about(at: Instant, kind: Kind, member: MemberId) -> Self {
        Self {
            member: Some(member),
            ..Self::new(at, kind)
        }
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

impl<M> Line<M> {
    /// The first field that a line of its kind must have and this one has not.
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

    /// Who noticed it, and so recorded it in the field; none if it is nobody's in particular.
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
    use super::{Kind, Line};
    use crate::bully::{Message, Timer};
    use crate::{Candidate, Instant, MemberId, Outcome, ViewChange};

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
            Line::outcome(at, two, Outcome::Vacant),
            Line::scenario(at, format!("leave {one}")),
        ]
    }

    #[test]
    fn every_kind_has_what_it_needs_and_no_other_kind_has_it_all() {
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
    fn the_witness_of_a_message_is_its_sender_where_it_leaves_and_its_receiver_where_it_arrives() {
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
