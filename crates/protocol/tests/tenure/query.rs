//! The answers to a voter that has lost its disk.

use hustings_protocol::tenure::{Ballot, Message, QueryAnswer, Question, Refused, VoterQuery};
use hustings_protocol::{Duration, MemberId};

const TTL: Duration = Duration::from_secs(1);

fn query() -> VoterQuery {
    VoterQuery::new(MemberId(1), (1..=3).map(MemberId).collect())
}

/// The answer of a voter that has promised `promised`.
fn answer(question: Message, promised: u64) -> Message {
    let Message::Ask { ballot } = question else {
        panic!("a query asks");
    };
    refusal(ballot, promised, Refused::Outrun)
}

fn refusal(ballot: Ballot, promised: u64, refused: Refused) -> Message {
    Message::Refusal { ballot, question: Question::Ask, promised, refused }
}

#[test]
fn answer_to_another_query_does_not_count() {
    let recorded = [2, 3].map(|voter| (voter, answer(query().ask(7), 5)));
    let mut query = query();
    let question = query.ask(8);
    for (voter, old) in recorded {
        assert_eq!(query.hear(MemberId(voter), &old), None);
        query.hear_longest_ttl(MemberId(voter), 7, TTL);
    }
    assert_eq!(query.highest(), None);
    for voter in [2, 3] {
        let told = query.hear(MemberId(voter), &answer(question, 9));
        let expected = QueryAnswer { promised: Some(9), longest_ttl: None };
        assert_eq!(told, Some(expected), "the ttl was of another query");
    }
    assert_eq!(query.highest(), Some(9));
}

#[test]
fn only_voters_count_and_each_once_with_its_highest_answer() {
    let mut query = query();
    let (first, second) = (query.ask(1), query.ask(2));
    for (question, promised) in [(first, 4), (second, 9), (first, 5)] {
        let told = query.hear(MemberId(2), &answer(question, promised));
        assert!(told.is_some_and(|it| it.promised >= Some(promised)));
    }
    let Message::Ask { ballot } = second else {
        panic!("a query asks");
    };
    let blank = refusal(ballot, 0, Refused::Uninitialised);
    let told = query.hear(MemberId(2), &blank);
    assert_eq!(told.and_then(|it| it.promised), Some(9));
    assert_eq!(query.hear(MemberId(4), &answer(second, 99)), None);
    assert_eq!(query.highest(), None, "one voter of three");
    assert!(query.hear(MemberId(3), &blank).is_some());
    assert_eq!(query.highest(), None, "the other one knows nothing");
    query.hear(MemberId(3), &answer(second, 3));
    assert_eq!(query.highest(), Some(9));
    for ttl in [TTL, TTL * 2, TTL] {
        query.hear_longest_ttl(MemberId(3), 2, ttl);
    }
    let told = query.hear(MemberId(3), &answer(first, 1));
    assert_eq!(told.and_then(|it| it.longest_ttl), Some(TTL * 2));
}

#[test]
fn answer_counts_for_32_rounds() {
    let mut query = query();
    let first = query.ask(0);
    for number in 1..32 {
        query.ask(number);
    }
    assert!(query.hear(MemberId(2), &answer(first, 4)).is_some());
    query.ask(u64::MAX);
    assert_eq!(query.hear(MemberId(2), &answer(first, 5)), None);
    assert_eq!(VoterQuery::number_of(&first), Some(0));
    assert_eq!(VoterQuery::number_of(&answer(first, 5)), None);
}
