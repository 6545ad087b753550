//! A message of any protocol in a trace, with its fields in their original order.

use std::fmt;

use hustings_protocol::MemberId;
use hustings_protocol::trace::IDENTITY_FIELDS;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::Number;

/// Any JSON value. Unlike `serde_json::Value` it keeps the order of fields.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Passes every identity in the value to `each`, which may replace it.
    pub(super) fn identities(&mut self, each: &mut impl FnMut(&mut MemberId)) {
        match self {
            Self::Object(fields) => {
                for (name, value) in fields {
                    match IDENTITY_FIELDS.contains(&name.as_str()) {
                        true => value.as_identities(each),
                        false => value.identities(each),
                    }
                }
            }
            Self::List(values) => values.iter_mut().for_each(|it| it.identities(each)),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) => {}
        }
    }

    /// Handles the value of a field that holds identities: one, several, or objects that hold some.
    /// An identity is a string. In traces of earlier releases it is a number and becomes a string.
    fn as_identities(&mut self, each: &mut impl FnMut(&mut MemberId)) {
        let id = match self {
            Self::Number(number) => number.as_u64(),
            Self::Text(text) => text.parse().ok(),
            Self::List(values) => return values.iter_mut().for_each(|it| it.as_identities(each)),
            Self::Object(_) => return self.identities(each),
            Self::Null | Self::Bool(_) => None,
        };
        if let Some(mut id) = id.map(MemberId) {
            each(&mut id);
            *self = Self::Text(id.to_string());
        }
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(values) => serializer.collect_seq(values),
            Self::Object(fields) => {
                serializer.collect_map(fields.iter().map(|(name, value)| (name, value)))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyJson)
    }
}

struct AnyJson;

impl<'de> Visitor<'de> for AnyJson {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Number::from_f64(value).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = values.next_element()? {
            list.push(value);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Json, A::Error> {
        let mut object = Vec::new();
        while let Some(field) = fields.next_entry()? {
            object.push(field);
        }
        Ok(Json::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::Json;
    use hustings_protocol::announce::{self, Claim};
    use hustings_protocol::modified_ring::{self, Call};
    use hustings_protocol::probabilistic::{self, RoundId};
    use hustings_protocol::{
        Candidate, Duration, MemberId, Message, Priority, bully, chang_roberts,
    };
    use serde::Serialize;
    use std::collections::BTreeSet;

    #[test]
    fn json_is_written_as_it_was_read() {
        let text = r#"{"b":[1,-2,0.5,null,true,"x\n"],"a":{"z":{},"y":18446744073709551615}}"#;
        let json: Json = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&json).unwrap(), text);
    }

    /// An identity that equals no other number in a message.
    fn somebody(nth: u64) -> MemberId {
        MemberId(9_000_000_000_000_000_000 + nth)
    }

    fn candidate(nth: u64) -> Candidate {
        Candidate::new(somebody(nth).0, 7)
    }

    /// Checks every kind of message of a protocol against the number of identities that it holds.
    #[track_caller]
    fn every_identity_is_found<M: Message + Serialize>(samples: &[(M, usize)]) {
        let kinds: BTreeSet<usize> = samples.iter().map(|(message, _)| message.kind()).collect();
        assert_eq!(kinds, (0..M::KINDS.len()).collect(), "a sample of each");
        for (message, expected) in samples {
            let text = serde_json::to_string(message).unwrap();
            let mut json: Json = serde_json::from_str(&text).unwrap();
            let mut found = 0;
            json.identities(&mut |id| {
                assert!(*id >= somebody(0), "{id} is none: {text}");
                *id = MemberId(5);
                found += 1;
            });
            let renumbered = serde_json::to_string(&json).unwrap();
            assert_eq!(found, *expected, "{text}");
            assert!(!renumbered.contains("90000000000000000"), "{renumbered}");
        }
    }

    #[test]
    fn exactly_the_identities_of_every_message_are_found() {
        let claim =
            Claim { candidate: candidate(0), incarnation: 3, established: true, follower_count: 4 };
        every_identity_is_found(&[
            (announce::Message::Announcement { claim, beat: 1, byes: 2 }, 1),
            (announce::Message::Query, 0),
            (announce::Message::Bye { incarnation: 3 }, 0),
            (announce::Message::Complaint { about: somebody(1), byes: 2 }, 1),
        ]);
        let sender = candidate(0);
        every_identity_is_found(&[
            (bully::Message::Election { sender }, 1),
            (bully::Message::Answer { sender }, 1),
            (bully::Message::Coordinator { sender }, 1),
        ]);
        every_identity_is_found(&[
            (chang_roberts::Message::Election { candidate: candidate(0) }, 1),
            (chang_roberts::Message::Elected { winner: candidate(1) }, 1),
        ]);
        let call = Call { initiator: candidate(0), round: 1 };
        every_identity_is_found(&[
            (modified_ring::Message::Election { call, ids: vec![candidate(0), candidate(1)] }, 3),
            (
                modified_ring::Message::Coordinator {
                    call,
                    best: candidate(1),
                    ids: vec![somebody(0), somebody(1), somebody(2)],
                },
                5,
            ),
        ]);
        every_identity_is_found(&probabilistic_samples());
    }

    fn probabilistic_samples() -> [(probabilistic::Message, usize); 6] {
        let round = RoundId { sequence: 4, number: 2 };
        let (k, after, priority) = (14, Duration::from_millis(30), Priority(7));
        let (choice, leader) = (candidate(0), candidate(1));
        [
            (probabilistic::Message::Initiation { round, k, after }, 0),
            (probabilistic::Message::Preference { round, choice, priority }, 1),
            (probabilistic::Message::Decision { round, k, choice }, 1),
            (probabilistic::Message::Question, 0),
            (probabilistic::Message::Check { round, priority }, 0),
            (probabilistic::Message::Answer { round, leader }, 1),
        ]
    }

    #[test]
    fn exactly_the_identities_of_probabilistic_messages_are_found() {
        use probabilistic::Message::{Answer, Check, Decision, Initiation, Preference, Question};
        let round = RoundId { sequence: 2, number: 1 };
        let (k, priority, choice) = (7, Priority(3), candidate(0));
        let initiation = Initiation { round, k, after: Duration::ZERO };
        let preference = Preference { round, choice, priority };
        let leader = choice;
        every_identity_is_found(&[
            (initiation, 0),
            (preference, 1),
            (Decision { round, k, choice }, 1),
            (Question, 0),
            (Check { round, priority }, 0),
            (Answer { round, leader }, 1),
        ]);
    }
}
