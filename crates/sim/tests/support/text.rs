//! A run as text: one short line for each event.

use std::fmt::{Debug, Write as _};

use hustings_protocol::{
    Candidate, ElectionOutcome, Instant, MemberId, Protocol, ViewChange, bully, chang_roberts,
    council, modified_ring,
};
use hustings_sim::{Ending, Event, Summary, Trace, Verb};

use super::total;

/// A message as briefly as its kind and content permit.
pub(crate) trait Says {
    fn says(&self) -> String;
}

impl Says for chang_roberts::Message {
    fn says(&self) -> String {
        match self {
            Self::Election { candidate } => format!("election {}", candidate.id),
            Self::Elected { winner } => format!("elected {}", winner.id),
        }
    }
}

impl Says for modified_ring::Message {
    fn says(&self) -> String {
        match self {
            Self::Election { call, ids } => {
                let ids: Vec<MemberId> = ids.iter().map(|it| it.id).collect();
                format!("election {} signed {}", named(call), list(&ids))
            }
            Self::Coordinator { call, best, ids } => {
                let best = best.id;
                format!("coordinator {best} {} signed {}", named(call), list(ids))
            }
        }
    }
}

fn named(call: &modified_ring::Call) -> String {
    format!("(of {}, round {})", call.initiator.id, call.round)
}

fn list(ids: &[MemberId]) -> String {
    let ids: Vec<String> = ids.iter().map(MemberId::to_string).collect();
    ids.join(",")
}

impl Says for bully::Message {
    fn says(&self) -> String {
        match self {
            Self::Election { .. } => "election",
            Self::Answer { .. } => "answer",
            Self::Coordinator { .. } => "coordinator",
        }
        .to_owned()
    }
}

impl Says for council::Message {
    fn says(&self) -> String {
        match self {
            Self::Feedback(it) => format!(
                "feedback {} (after {}, {} seated): {:b}",
                it.round, it.base, it.seated, it.word
            ),
            Self::Reply(it) => format!("reply {}", it.round),
            Self::Seat(it) => format!("seat {}", it.place),
            Self::Standing(it) => format!("standing {}: {:b}", it.beat, it.places),
            Self::Present(it) => format!("present {}", it.place),
            Self::Farewell(it) => format!("farewell {}", it.place),
        }
    }
}

/// The lines up to now.
#[derive(Default)]
pub(crate) struct Text(String);

impl Text {
    /// The lines, each with its time in seconds.
    pub(crate) fn lines(&self) -> Vec<&str> {
        self.0.lines().map(str::trim).collect()
    }

    /// The lines, and the ending of the run.
    pub(crate) fn finish(mut self, summary: &Summary) -> String {
        let ending = match summary.ending {
            Ending::Elected(leader) => format!("elected {leader}"),
            Ending::ElectedDead(leader) => format!("elected dead {leader}"),
            Ending::Livelock => "livelock".to_owned(),
            Ending::SilentDeadlock => "silent deadlock".to_owned(),
        };
        let messages = total(&summary.tally);
        let written = writeln!(self.0, "\n{ending}, {messages} messages");
        written.expect("a string takes all");
        self.0
    }
}

impl Says for ElectionOutcome {
    fn says(&self) -> String {
        match self {
            Self::Standing { round } => format!("stands, round {round}"),
            Self::Nominee(candidate) => format!("names {}", candidate.id),
            Self::Vacant => "names nobody".to_owned(),
            Self::DuplicateIdentity => "meets its own identity".to_owned(),
        }
    }
}

impl Says for council::CouncilOutcome {
    fn says(&self) -> String {
        match self {
            Self::Standing { round } => format!("stands, round {round}"),
            Self::Council(change) => format!("tells: {change:?}"),
        }
    }
}

impl<P> Trace<P> for Text
where
    P: Protocol<Message: Says, Timer: Debug, Outcome: Says>,
{
    const ON: bool = true;

    fn record(&mut self, at: Instant, event: Event<'_, P>) {
        let line = match event {
            Event::Struck { verb: Verb::Start(_), .. } => return, // each start has its own line
            Event::Struck { verb, .. } => format!("* {verb}"),
            Event::Started { member } => format!("{member} starts"),
            Event::Sent { from, to, message } => format!("{from} -> {to} {}", message.says()),
            Event::Multicast { from, message } => format!("{from} -> all {}", message.says()),
            Event::Lost { from, to } => {
                let to = to.map_or("all".to_owned(), |to| to.to_string());
                format!("lost: {from} -> {to}")
            }
            Event::Delivered { from, to, message } => {
                format!("{to} gets {} from {from}", message.says())
            }
            Event::Expired { member, timer } => format!("{member} times out: {timer:?}"),
            Event::ViewChanged { member, change } => match change {
                ViewChange::Joined(Candidate { id, .. }) => format!("{member} sees {id} come"),
                ViewChange::Left(id) => format!("{member} sees {id} go"),
            },
            Event::Reported { member, outcome } => format!("{member} {}", outcome.says()),
        };
        let written = writeln!(self.0, "{:>7.3}s  {line}", at.as_secs_f64());
        written.expect("a string takes all");
    }
}
