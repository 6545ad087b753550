//! A member's record of its elections (`hustings agent --trace`), reduced to the events that matter
//! here.

use serde_json::Value;

/// The record of one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// The member's id in messages.
    pub(super) id: u64,
    /// In order of time.
    pub(super) events: Vec<Event>,
}

/// An action of a member, or a message that it received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) at_ns: u64,
    pub(super) what: EventKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventKind {
    /// The member sends a message, to one member or to all.
    Sends { message: MessageKind, to_all: bool },
    /// The member receives the call of a round.
    ReceivesCall { by: u64, round: ElectionRound },
    /// The member names a leader, or none.
    Names {
        leader: Option<u64>,
        /// True if a check or an answer of another member caused the change, and not the messages
        /// of a round.
        corrected: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    Initiation(ElectionRound),
    Preference(ElectionRound),
    Decision {
        round: ElectionRound,
        choice: u64,
    },
    /// Queries for the leader, a leader's checks, and answers to them. They are no part of a round.
    Other,
}

/// A round of an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ElectionRound {
    pub(super) sequence: u64,
    pub(super) number: u64,
}

impl Record {
    /// Parses a trace. A line that a killed process did not finish is ignored.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut id = None;
        let mut events = Vec::new();
        let mut corrected = false;
        for line in text.lines() {
            if line.contains(r#""kind":"view""#) {
                corrected = false; // most lines are of this kind, so they are not parsed
                continue;
            }
            let Ok(line) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            let kind = line["kind"].as_str().unwrap_or_default();
            if kind == "start" {
                id = identity(&line["member"]);
            }
            let what = match kind {
                "send" | "multicast" => message_kind(&line)
                    .map(|message| EventKind::Sends { message, to_all: kind == "multicast" }),
                "outcome" => names(&line["outcome"], corrected),
                _ => {
                    corrected = matches!(line["name"].as_str(), Some("check" | "answer"));
                    received_call(&line)
                }
            };
            if let (Some(what), Some(time)) = (what, line["time"].as_f64()) {
                let at_ns = (time * 1e9).round() as u64;
                events.push(Event { at_ns, what });
            }
        }
        Some(Self { id: id?, events })
    }

    /// Returns the events from `from_ns` on and before `to_ns`.
    pub(super) fn between(&self, from_ns: u64, to_ns: u64) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(move |event| (from_ns..to_ns).contains(&event.at_ns))
    }
}

fn message_kind(line: &Value) -> Option<MessageKind> {
    let message = &line["message"];
    Some(match line["name"].as_str()? {
        "initiation" => MessageKind::Initiation(round(&message["Initiation"])?),
        "preference" => MessageKind::Preference(round(&message["Preference"])?),
        "decision" => MessageKind::Decision {
            round: round(&message["Decision"])?,
            choice: identity(&message["Decision"]["choice"]["id"])?,
        },
        _ => MessageKind::Other,
    })
}

/// Identities are strings, so that no program rounds them.
fn identity(value: &Value) -> Option<u64> {
    value.as_str()?.parse().ok()
}

fn round(message: &Value) -> Option<ElectionRound> {
    let round = &message["round"];
    Some(ElectionRound { sequence: round["sequence"].as_u64()?, number: round["number"].as_u64()? })
}

fn received_call(line: &Value) -> Option<EventKind> {
    let MessageKind::Initiation(round) = message_kind(line)? else {
        return None;
    };
    Some(EventKind::ReceivesCall { by: identity(&line["from"])?, round })
}

/// An outcome that is only an attempt names no new leader.
fn names(outcome: &Value, corrected: bool) -> Option<EventKind> {
    let leader = match outcome.as_str() {
        Some("Vacant") => None,
        _ => Some(identity(&outcome["Nominee"]["id"])?),
    };
    Some(EventKind::Names { leader, corrected })
}

#[cfg(test)]
mod tests {
    use super::{ElectionRound, Event, EventKind, MessageKind, Record};

    #[test]
    fn trace_is_parsed() {
        let text = r#"{"time":1.0,"kind":"view","member":"5","joined":"7"}
{"time":1.5,"kind":"start","member":"5"}
{"time":2.0,"kind":"timer","member":"5","timer":"Phase"}
{"time":2.0,"kind":"outcome","member":"5","outcome":{"Standing":{"round":1}}}
{"time":2.0,"kind":"multicast","from":"5","name":"initiation","message":{"Initiation":{"round":{"sequence":3,"number":1},"k":7,"after":0}}}
{"time":2.1,"kind":"deliver","from":"7","to":"5","name":"initiation","message":{"Initiation":{"round":{"sequence":3,"number":1},"k":7,"after":0}}}
{"time":2.2,"kind":"send","from":"5","to":"7","name":"preference","message":{"Preference":{"round":{"sequence":3,"number":1},"choice":{"priority":0,"id":"7"},"priority":0}}}
{"time":2.3,"kind":"multicast","from":"5","name":"decision","message":{"Decision":{"round":{"sequence":3,"number":1},"k":7,"choice":{"priority":0,"id":"7"}}}}
{"time":2.4,"kind":"outcome","member":"5","outcome":"Vacant"}
{"time":2.5,"kind":"deliver","from":"7","to":"5","name":"check","message":{"Check":{"round":{"sequence":3,"number":1},"priority":0}}}
{"time":2.5,"kind":"outcome","member":"5","outcome":{"Nominee":{"priority":0,"id":"7"}}}
{"time":2.6,"kind":"send","from":"5","to":"7","name":"question","message":"Question"}
{"time":2.7,"kind":"sen"#;
        let record = Record::read(text).expect("it started");
        let round = ElectionRound { sequence: 3, number: 1 };
        let names = |leader, corrected| EventKind::Names { leader, corrected };
        let send = |message, to_all| EventKind::Sends { message, to_all };
        let expected = [
            (2_000_000_000, send(MessageKind::Initiation(round), true)),
            (2_100_000_000, EventKind::ReceivesCall { by: 7, round }),
            (2_200_000_000, send(MessageKind::Preference(round), false)),
            (2_300_000_000, send(MessageKind::Decision { round, choice: 7 }, true)),
            (2_400_000_000, names(None, false)),
            (2_500_000_000, names(Some(7), true)),
            (2_600_000_000, send(MessageKind::Other, false)),
        ];
        let event = |(at_ns, what)| Event { at_ns, what };
        assert_eq!(record.id, 5);
        assert_eq!(record.events, expected.map(event));
        assert_eq!(record.between(2_100_000_000, 2_300_000_000).count(), 2);
        assert_eq!(Record::read(""), None);
    }
}
