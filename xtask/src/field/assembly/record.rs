//! What a member recorded of its elections (`hustings agent --trace`), as far as it matters here.

use serde_json::Value;

/// One member's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// What it is called in messages.
    pub(super) id: u64,
    /// In order.
    pub(super) events: Vec<Event>,
}

/// Something that a member did, or heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) at_ns: u64,
    pub(super) what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// To one member.
    Tells(Word),
    /// To all.
    TellsAll(Word),
    /// Somebody calls a round.
    IsCalled { by: u64, round: Round },
    /// It names a leader, or nobody.
    Names {
        whom: Option<u64>,
        /// Not by what it heard in a round, but because somebody set it right.
        set_right: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Initiation(Round),
    Preference(Round),
    Decision {
        round: Round,
        choice: u64,
    },
    /// Questions who leads, a leader's checks, and answers to them: no part of a round.
    Besides,
}

/// Which round of which election.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Round {
    pub(super) sequence: u64,
    pub(super) number: u64,
}

impl Record {
    /// Reads what a member wrote. A line that a killed process did not finish says nothing.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut id = None;
        let mut events = Vec::new();
        let mut set_right = false;
        for line in text.lines() {
            if line.contains(r#""kind":"view""#) {
                set_right = false; // as most lines do, so those are not looked at more closely
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
                "send" => word(&line).map(What::Tells),
                "multicast" => word(&line).map(What::TellsAll),
                "outcome" => names(&line["outcome"], set_right),
                _ => {
                    let name = line["name"].as_str();
                    set_right = matches!(name, Some("check" | "answer"));
                    is_called(&line)
                }
            };
            if let (Some(what), Some(time)) = (what, line["time"].as_f64()) {
                let at_ns = (time * 1e9).round() as u64;
                events.push(Event { at_ns, what });
            }
        }
        Some(Self { id: id?, events })
    }

    /// What happened from `from_ns` on and before `to_ns`.
    pub(super) fn between(&self, from_ns: u64, to_ns: u64) -> impl Iterator<Item = &Event> {
        let is_in = move |event: &&Event| (from_ns..to_ns).contains(&event.at_ns);
        self.events.iter().filter(is_in)
    }
}

fn word(line: &Value) -> Option<Word> {
    let message = &line["message"];
    Some(match line["name"].as_str()? {
        "initiation" => Word::Initiation(round(&message["Initiation"])?),
        "preference" => Word::Preference(round(&message["Preference"])?),
        "decision" => Word::Decision {
            round: round(&message["Decision"])?,
            choice: identity(&message["Decision"]["choice"]["id"])?,
        },
        _ => Word::Besides,
    })
}

/// Identities are strings, so that no program rounds them.
fn identity(value: &Value) -> Option<u64> {
    value.as_str()?.parse().ok()
}

fn round(message: &Value) -> Option<Round> {
    let round = &message["round"];
    Some(Round {
        sequence: round["sequence"].as_u64()?,
        number: round["number"].as_u64()?,
    })
}

fn is_called(line: &Value) -> Option<What> {
    match word(line)? {
        Word::Initiation(round) => Some(What::IsCalled {
            by: identity(&line["from"])?,
            round,
        }),
        Word::Preference(_) | Word::Decision { .. } | Word::Besides => None,
    }
}

/// An outcome that is no more than an attempt names nobody anew.
fn names(outcome: &Value, set_right: bool) -> Option<What> {
    let whom = match outcome.as_str() {
        Some("Vacant") => None,
        _ => Some(identity(&outcome["Nominee"]["id"])?),
    };
    Some(What::Names { whom, set_right })
}

#[cfg(test)]
mod tests {
    use super::{Event, Record, Round, What, Word};

    #[test]
    fn what_a_member_wrote_is_read() {
        let text = r#"{"time":1.0,"kind":"view","member":"5","joined":"7"}
{"time":1.5,"kind":"start","member":"5"}
{"time":2.0,"kind":"timer","member":"5","timer":"Phase"}
{"time":2.0,"kind":"outcome","member":"5","outcome":{"Standing":{"round":1}}}
{"time":2.0,"kind":"multicast","from":"5","name":"initiation","message":{"Initiation":{"round":{"sequence":3,"number":1},"k":7,"after":0}}}
{"time":2.1,"kind":"deliver","from":"7","to":"5","name":"initiation","message":{"Initiation":{"round":{"sequence":3,"number":1},"k":7,"after":0}}}
{"time":2.2,"kind":"send","from":"5","to":"7","name":"preference","message":{"Preference":{"round":{"sequence":3,"number":1},"choice":{"merit":0,"id":"7"},"merit":0}}}
{"time":2.3,"kind":"multicast","from":"5","name":"decision","message":{"Decision":{"round":{"sequence":3,"number":1},"k":7,"choice":{"merit":0,"id":"7"}}}}
{"time":2.4,"kind":"outcome","member":"5","outcome":"Vacant"}
{"time":2.5,"kind":"deliver","from":"7","to":"5","name":"check","message":{"Check":{"round":{"sequence":3,"number":1},"merit":0}}}
{"time":2.5,"kind":"outcome","member":"5","outcome":{"Nominee":{"merit":0,"id":"7"}}}
{"time":2.6,"kind":"send","from":"5","to":"7","name":"question","message":"Question"}
{"time":2.7,"kind":"sen"#;
        let record = Record::read(text).expect("it started");
        let round = Round {
            sequence: 3,
            number: 1,
        };
        let names = |whom, set_right| What::Names { whom, set_right };
        let expected = [
            (2_000_000_000, What::TellsAll(Word::Initiation(round))),
            (2_100_000_000, What::IsCalled { by: 7, round }),
            (2_200_000_000, What::Tells(Word::Preference(round))),
            (
                2_300_000_000,
                What::TellsAll(Word::Decision { round, choice: 7 }),
            ),
            (2_400_000_000, names(None, false)),
            (2_500_000_000, names(Some(7), true)),
            (2_600_000_000, What::Tells(Word::Besides)),
        ];
        let event = |(at_ns, what)| Event { at_ns, what };
        assert_eq!(record.id, 5);
        assert_eq!(record.events, expected.map(event));
        assert_eq!(record.between(2_100_000_000, 2_300_000_000).count(), 2);
        assert_eq!(Record::read(""), None);
    }
}
