//! A voter query: a voter that has lost its disk asks for the promises of the other voters.
//!
//! The voter without a disk asks the others whether they would promise a ballot with counter zero.
//! Every voter refuses, and each refusal contains the counter to beat. An answer counts only if it
//! repeats a number that was drawn for this query. An answer that was recorded at an earlier query
//! may be long out of date: a voter that began with it could repeat a promise from before its disk
//! was lost.

use std::collections::BTreeMap;

use super::{Ballot, BallotOwner, Message, Question, Refused};
use crate::{Duration, MemberId};

/// The number of questions, counted from the latest, whose answers count: an answer may be as many
/// rounds late.
const OPEN_QUESTIONS: usize = 32;

/// The answer of one voter: the highest of all its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueryAnswer {
    /// The highest counter that the voter has promised, or `None` if it answered that it was never
    /// initialised.
    pub promised: Option<u64>,
    /// The longest ttl that the voter can ever have granted, if it has reported one.
    pub longest_ttl: Option<Duration>,
}

/// The questions of one voter query, and the answers received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoterQuery {
    me: MemberId,
    voters: Vec<MemberId>,
    /// The numbers of the questions whose answers count, the latest last.
    asked: Vec<u64>,
    answers: BTreeMap<MemberId, QueryAnswer>,
}

impl VoterQuery {
    /// Returns a query of the voter `me` to all `voters`.
    pub fn new(me: MemberId, voters: Vec<MemberId>) -> Self {
        Self { me, voters, asked: Vec::new(), answers: BTreeMap::new() }
    }

    /// Returns the question to send to each voter. `number` must be drawn anew for each question.
    /// No other process may be able to know it beforehand or repeat it.
    pub fn ask(&mut self, number: u64) -> Message {
        if self.asked.len() >= OPEN_QUESTIONS {
            self.asked.remove(0);
        }
        self.asked.push(number);
        let owner = BallotOwner { id: self.me, number };
        Message::Ask { ballot: Ballot { counter: 0, owner } }
    }

    /// Returns the number of the question, if `message` belongs to a voter query.
    pub fn number_of(message: &Message) -> Option<u64> {
        match message {
            Message::Ask { ballot: Ballot { counter: 0, owner } } => Some(owner.number),
            _ => None,
        }
    }

    /// Handles an answer of `from`. Returns the combined answers of this voter, if the answer
    /// counts.
    pub fn hear(&mut self, from: MemberId, message: &Message) -> Option<QueryAnswer> {
        let Message::Refusal {
            ballot: Ballot { counter: 0, owner },
            question: Question::Ask,
            promised,
            refused,
        } = *message
        else {
            return None;
        };
        if owner.id != self.me {
            return None; // the answer is for another voter's query
        }
        let answer = self.answer_of(from, owner.number)?;
        if refused != Refused::Uninitialised {
            answer.promised = answer.promised.max(Some(promised));
        }
        Some(*answer)
    }

    /// Handles the other half of an answer: the longest ttl that `from` can ever have granted.
    pub fn hear_longest_ttl(&mut self, from: MemberId, number: u64, ttl: Duration) {
        if let Some(answer) = self.answer_of(from, number) {
            answer.longest_ttl = answer.longest_ttl.max(Some(ttl));
        }
    }

    /// Returns true if `number` belongs to a question whose answers count.
    pub fn has_asked(&self, number: u64) -> bool {
        self.asked.contains(&number)
    }

    /// Returns the highest counter in the answers, once a majority of all voters has answered with
    /// one.
    pub fn highest(&self) -> Option<u64> {
        let told = self.answers.values().filter_map(|it| it.promised);
        let majority = self.voters.len() / 2 + 1;
        let is_majority = told.clone().count() >= majority;
        told.max().filter(|_| is_majority)
    }

    /// Returns the answer of the voter `from`, if its reply to the question `number` counts.
    fn answer_of(&mut self, from: MemberId, number: u64) -> Option<&mut QueryAnswer> {
        if !self.has_asked(number) {
            return None; // recorded at an earlier query, or forged
        }
        let is_voter = self.voters.contains(&from);
        is_voter.then(|| self.answers.entry(from).or_default())
    }
}
