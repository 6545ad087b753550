//! The voter query of `hustings voter init`: the answers that count, and the question that they
//! belong to.

use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::{
    Ballot, BallotOwner, Durable, Message, Question, Refused, Saved, VoterQuery,
};
use hustings_protocol::{Duration, MemberId};
use tokio::sync::mpsc;

use super::tenure::TTL;
use super::{ANNOUNCE, DELAY, Field, Flight, address, id, name};
use crate::control::{Promised, Told};
use crate::driver::encode;
use crate::frame::{Body, Frame};
use crate::node::Node;

/// The voter that has lost its disk.
const LOST: usize = 2;

type Answers = mpsc::UnboundedReceiver<Told>;

impl Field {
    /// Two settled voters, and a third that has lost its disk and asks.
    fn that_asks() -> (Self, Answers) {
        let mut field = Self::empty();
        for _ in 0..2 {
            let founding = Saved::Initialised(Durable::FOUNDING);
            field.admit_fenced(Takeover::Never, 0, founding);
        }
        field.run(Duration::from_secs(1));
        field.admit_fenced(Takeover::Never, 0, Saved::Missing);
        let answers = field.ask();
        (field, answers)
    }

    /// The voter without its disk asks once.
    fn ask(&mut self) -> Answers {
        let (telling, told) = mpsc::unbounded_channel();
        self.act(LOST, |it, now, out| it.voter_query(now, telling, out));
        told
    }

    /// The number of the question in transit.
    fn question(&mut self) -> u64 {
        let keyring = self.members[LOST].keyring();
        let mut numbers = self.flights.iter().filter_map(|flight| {
            let mut frame = flight.frame.clone();
            let content = keyring.open(&mut frame).expect("members share a key");
            match Frame::decode(content).expect("a frame").body {
                Body::Tenure { message, .. } => {
                    VoterQuery::number_of(&postcard::from_bytes(message).ok()?)
                }
                _ => None,
            }
        });
        numbers.next().expect("it asks")
    }
}

fn voters(told: &mut Answers) -> Vec<(String, Option<u64>)> {
    let mut all: Vec<_> = std::iter::from_fn(|| told.try_recv().ok())
        .filter_map(|it| match it {
            Told::Voter { voter, promised } => Some((voter, promised.map(|it| it.counter))),
            Told::Another { .. } | Told::Unproven { .. } => None,
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

/// A refusal by a voter that has promised `promised`.
fn refusal(asker: MemberId, number: u64, promised: u64) -> Vec<u8> {
    let owner = BallotOwner { id: asker, number };
    encode(&Message::Refusal {
        ballot: Ballot { counter: 0, owner },
        question: Question::Ask,
        promised,
        refused: Refused::Outrun,
    })
}

/// The two others are down when the disk is lost once more. Their answers to the first query are
/// replayed from another address. The process that asks is a new one, to which these frames are
/// new.
#[test]
fn answers_recorded_at_an_earlier_query_do_not_count() {
    let (mut field, mut told) = Field::that_asks();
    let recorded = field.record(LOST, DELAY * 6);
    assert_eq!(voters(&mut told).len(), 2, "both answer the first query");
    assert!(recorded.len() >= 4, "in two frames each");

    let (again, given) = field.fenced_member(LOST, &[0, 1, 2], Takeover::Never, 0, Saved::Missing);
    field.members[LOST] = again;
    field.disks[LOST] = Some((given, true));
    field.act(LOST, Node::start);
    // Both have proven to the new process that they run, and then fall silent.
    field.run(Duration::from_millis(300));
    assert!(field.members[LOST].is_proven(id(0)) && field.members[LOST].is_proven(id(1)));
    field.sides[LOST] = 1;
    field.flights.clear();
    let mut told = field.ask();
    for flight in recorded {
        field.flights.push(Flight { at: field.now, from: address(9), ..flight });
    }
    field.run(ANNOUNCE);
    assert_eq!(voters(&mut told), [], "nobody was there to answer");

    field.sides[LOST] = 0;
    let mut told = field.ask();
    field.run(ANNOUNCE);
    assert_eq!(voters(&mut told).len(), 2, "now they are");
}

/// A process with the key may answer anything. The answer counts only if it comes from a voter.
#[test]
fn answer_of_a_non_voter_does_not_count() {
    let (mut field, mut told) = Field::that_asks();
    let number = field.question();
    let member = &mut field.members[LOST];
    member.on_granted(id(4), number, TTL);
    assert!(member.answers_query(id(4), &refusal(id(LOST), number, 9)));
    assert!(told.try_recv().is_err());
}

/// A voter answers in two frames, of which one may be lost. The lost one may contain the longest
/// grant.
#[test]
fn voter_that_has_not_sent_its_longest_grant_has_not_answered() {
    let (mut field, mut told) = Field::that_asks();
    let number = field.question();
    let member = &mut field.members[LOST];
    let answer = refusal(id(LOST), number, 9);
    assert!(member.answers_query(id(1), &answer));
    assert!(told.try_recv().is_err());
    member.on_granted(id(1), number.wrapping_add(1), TTL * 2);
    assert!(member.answers_query(id(1), &answer));
    assert!(told.try_recv().is_err(), "that was to another question");
    member.on_granted(id(1), number, TTL);
    assert!(member.answers_query(id(1), &answer));
    let expected =
        Told::Voter { voter: name(1), promised: Some(Promised { counter: 9, longest_ttl: TTL }) };
    assert_eq!(told.try_recv().expect("it has told all"), expected);
    // Its earlier answer counts, if it was higher.
    assert!(member.answers_query(id(1), &refusal(id(LOST), number, 3)));
    assert_eq!(told.try_recv().expect("it tells again"), expected);
}

/// The member starts with a list of its own. Voters of another list report their presence when they
/// are asked. Their answers to an earlier query may have been recorded.
#[test]
fn another_voter_list_counts_only_in_answer_to_the_question() {
    let (mut field, _) = Field::that_asks();
    field.admit_fenced_by(&[3], Takeover::Never, 0, Saved::Missing);
    field.run(Duration::from_millis(300));
    let others_of = |told: &mut Answers| {
        let told = std::iter::from_fn(|| told.try_recv().ok());
        let is_other = |it: &Told| matches!(it, Told::Another { fence: None, .. });
        told.filter(is_other).count()
    };
    let (telling, mut told) = mpsc::unbounded_channel();
    field.act(3, |it, now, out| it.voter_query(now, telling, out));
    let recorded = field.record(3, DELAY * 6);
    assert!(others_of(&mut told) > 0, "the other list is there");

    let (again, given) = field.fenced_member(3, &[3], Takeover::Never, 0, Saved::Missing);
    field.members[3] = again;
    field.disks[3] = Some((given, true));
    field.act(3, Node::start);
    field.run(Duration::from_millis(300));
    assert!(field.members[3].is_proven(id(0)) && field.members[3].is_proven(id(1)));
    field.sides[3] = 1;
    field.flights.clear();
    let (telling, mut told) = mpsc::unbounded_channel();
    field.act(3, |it, now, out| it.voter_query(now, telling, out));
    for flight in recorded {
        field.flights.push(Flight { at: field.now, from: address(9), ..flight });
    }
    field.run(DELAY * 3);
    assert_eq!(others_of(&mut told), 0, "nobody was there to answer");
}

/// Multicasts reach the voter that asks, and unicasts do not: it hears the leader, but not the
/// leader's answer.
#[test]
fn holder_whose_answers_are_lost_is_reported_as_unproven() {
    for voters in [[0, 1, LOST], [LOST, 3, 4]] {
        let (mut field, _) = Field::that_asks();
        let (leader, fence) = field.settled_on(&[0, 1]);
        let (again, given) = field.fenced_member(LOST, &voters, Takeover::Never, 0, Saved::Missing);
        field.members[LOST] = again;
        field.disks[LOST] = Some((given, true));
        field.flights.clear();
        field.slow = Some((LOST, Duration::from_secs(60)));
        field.act(LOST, Node::start);
        let mut told = field.ask();
        field.run(Duration::from_secs(1));
        assert!(!field.members[LOST].is_proven(id(leader)));
        let mut told: Vec<Told> = std::iter::from_fn(|| told.try_recv().ok()).collect();
        told.dedup();
        let expected = Told::Unproven { member: name(leader), fence, address: address(leader) };
        assert_eq!(told, [expected], "{voters:?}");
    }
}
