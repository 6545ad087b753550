//! The identities of members in a line of a trace, wherever they stand.

use hustings_protocol::tenure::TenureOutcome;
use hustings_protocol::trace::{AnyOutcome, IDENTITY_FIELDS};
use hustings_protocol::{ElectionOutcome, MemberId, Refused};
use serde_json::Value;

use super::source::Read;

/// The verb of the only scenario line that an agent writes: a member leaves.
const LEAVE: &str = "leave ";

/// Passes every identity in a line to `each`, which may replace it.
pub(super) fn identities(line: &mut Read, each: &mut impl FnMut(&mut MemberId)) {
    let plain = [&mut line.member, &mut line.from, &mut line.to, &mut line.joined, &mut line.left];
    plain.into_iter().flatten().for_each(&mut *each);
    match &mut line.outcome {
        Some(AnyOutcome::Election(ElectionOutcome::Nominee(nominee))) => each(&mut nominee.id),
        Some(AnyOutcome::Tenure(TenureOutcome::Refused(Refused::Held { holder, .. }))) => {
            each(holder);
        }
        Some(_) | None => {} // these name no member
    }
    if let Some(message) = &mut line.message {
        in_value(message, false, each);
    }
    if let Some(mut id) = line.verb.as_deref().and_then(leaver) {
        each(&mut id);
        line.verb = Some(format!("{LEAVE}{id}"));
    }
}

/// Returns the member that leaves.
pub(super) fn leaver(verb: &str) -> Option<MemberId> {
    verb.strip_prefix(LEAVE)?.parse().ok().map(MemberId)
}

/// Handles all identities in a value. `is_identity` is true for the value of a field that holds
/// identities: one, several, or objects that hold some. An identity is a string. In traces of
/// earlier releases it is a number and becomes a string.
fn in_value(value: &mut Value, is_identity: bool, each: &mut impl FnMut(&mut MemberId)) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                in_value(value, IDENTITY_FIELDS.contains(&name.as_str()), each);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|it| in_value(it, is_identity, each)),
        _ if is_identity => {
            let id = value.as_u64().or_else(|| value.as_str()?.parse().ok());
            if let Some(mut id) = id.map(MemberId) {
                each(&mut id);
                *value = Value::String(id.to_string());
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::in_value;
    use hustings_protocol::announce::{self, Claim};
    use hustings_protocol::modified_ring::{self, Call};
    use hustings_protocol::probabilistic::{self, RoundId};
    use hustings_protocol::{
        Candidate, Duration, MemberId, Message, Priority, bully, chang_roberts,
    };
    use serde::Serialize;
    use serde_json::Value;
    use std::collections::BTreeSet;

    #[test]
    fn json_is_written_as_it_was_read() {
        let text = r#"{"b":[1,-2,0.5,null,true,"x\n"],"a":{"z":{},"y":18446744073709551615}}"#;
        let json: Value = serde_json::from_str(text).unwrap();
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
            let mut json: Value = serde_json::from_str(&text).unwrap();
            let mut found = 0;
            in_value(&mut json, false, &mut |id| {
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
