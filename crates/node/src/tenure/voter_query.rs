//! The voter query: a voter that has lost its disk asks what the others have promised and granted.
//!
//! Purpose     gives a voter without a file what it needs before it may vote again
//! Inputs      a query of the user, answers of voters
//! Outputs     questions to all voters, answers to other members' queries, results for the caller
//! Owns        the open query ([`VoterQueryRound`])
//! Invariants  only answers with the number of a question count, and each question has a new random
//!             number. Recorded answers to an earlier query do not count ([`VoterQuery`])
//!
//! A voter answers in two frames: its promise, and the longest ttl that it can ever have granted.
//! The lost voter cannot have granted a longer ttl, because a majority would have had to grant it
//! too.

use hustings_protocol::tenure::{Message, QueryAnswer, Question, VoterQuery};
use hustings_protocol::{Duration, MemberId};
use tokio::sync::mpsc;

use super::Tenure;
use crate::control::{Promised, Told};
use crate::frame::Body;
use crate::node::{Admitted, Context, Io, Route};

/// A query, and the channel of the caller that waits for the answers.
pub(super) struct VoterQueryRound {
    answers: mpsc::UnboundedSender<Told>,
    query: VoterQuery,
}

impl Tenure {
    /// Asks all other voters, and sends their answers to `answers`.
    pub(crate) fn voter_query(&mut self, answers: mpsc::UnboundedSender<Told>, io: &mut Io<'_>) {
        let Some(number) = io.emit.entropy.next() else {
            tracing::error!(
                "group `{}`: the operating system gives no random numbers: the voters cannot be asked for their promises",
                io.config.name
            );
            return;
        };
        let me = io.me.id;
        let voters: Vec<MemberId> = self.voters().collect();
        let before = self.voter_query.take().map(|it| it.query);
        let mut query = before.unwrap_or_else(|| VoterQuery::new(me, voters.clone()));
        let question = crate::driver::encode(&query.ask(number));
        self.voter_query = Some(VoterQueryRound { answers, query });
        // The questions are for others. A process that uses this member's own name must hear of it
        // too.
        io.broadcast(&Body::Up);
        // A message to itself is for every voter, of this list or another. The known addresses of
        // the voters may be wrong.
        let body = Body::Tenure { to: me, authority: self.authority.id(), message: &question };
        io.broadcast(&body);
        for voter in voters.into_iter().filter(|it| *it != me) {
            self.send_tenure(voter, (&question, true), io);
        }
    }

    /// Sends `to` the longest ttl that this voter can have granted, if `message` is a voter query.
    pub(super) fn answer_query(&mut self, to: MemberId, message: &Message, io: &mut Io<'_>) {
        let (Some(question), Some(longest), Some(address)) =
            (question_of(to, message), self.authority.longest_ttl(), io.address_of(to))
        else {
            return;
        };
        let body = Body::Granted { longest_ns: longest.0, question };
        io.send_to(to, Route::To(address), &body);
    }

    /// Handles a tenure message of a member with another list of voters.
    ///
    /// If it is a voter query, its sender is about to start anew, which must not ignore the
    /// promises made here. A voter of this list repeats the question, and so shows that it exists.
    /// If the message repeats a question of this member, its sender is such a voter of another
    /// list. Any other message may be a recording, and does not count.
    pub(super) fn on_other_voter_list(
        &mut self,
        heard: &Admitted<'_>,
        (asked, message): (&Message, &[u8]),
        io: &mut Io<'_>,
    ) {
        let (sender, address) = (&heard.frame.sender, heard.address);
        let number = question_of(io.me.id, asked);
        let voter_query = self.voter_query.as_ref();
        if voter_query.is_some_and(|it| number.is_some_and(|number| it.query.has_asked(number))) {
            let member = sender.name.to_owned();
            self.tell_query(Told::Another { member, fence: None, holds: false });
        }
        let votes = io.votes();
        if votes && question_of(sender.id, asked).is_some() {
            let body = Body::Tenure { to: sender.id, authority: self.authority.id(), message };
            io.send_to(sender.id, Route::To(address), &body);
        }
    }

    /// Tells the caller of the open query what was found. The frame of an unproven sender may be a
    /// recording: the caller may refuse because of it, and do nothing else.
    pub(super) fn tell_query(&self, told: Told) {
        if let Some(voter_query) = &self.voter_query {
            // The caller may be gone.
            let _ = voter_query.answers.send(told);
        }
    }

    /// Notes the longest ttl that a member can have granted, in answer to a question.
    pub(super) fn on_granted(&mut self, from: MemberId, question: u64, longest: Duration) {
        if let Some(voter_query) = &mut self.voter_query {
            voter_query.query.hear_longest_ttl(from, question, longest);
        }
    }

    /// Returns true if `message` answers a voter query. An answer to the open one goes to the
    /// caller.
    pub(super) fn answers_query(
        &mut self,
        from: MemberId,
        message: &Message,
        context: &Context,
    ) -> bool {
        let name = self.name_of(from, context);
        let Some(voter_query) = &mut self.voter_query else {
            return false;
        };
        let is_answer = matches!(message, Message::Refusal { ballot, question: Question::Ask, .. }
            if ballot.counter == 0);
        let promised = match voter_query.query.hear(from, message) {
            // The other frame of the answer was lost. The question is repeated.
            None | Some(QueryAnswer { promised: Some(_), longest_ttl: None }) => return is_answer,
            Some(QueryAnswer { promised: Some(counter), longest_ttl: Some(longest_ttl) }) => {
                Some(Promised { counter, longest_ttl })
            }
            Some(QueryAnswer { promised: None, .. }) => None,
        };
        self.tell_query(Told::Voter { voter: name, promised });
        true
    }
}

/// Returns the number of the question, if `message` is a voter query by `asker`.
fn question_of(asker: MemberId, message: &Message) -> Option<u64> {
    let (ballot, _) = message.question()?;
    VoterQuery::number_of(message).filter(|_| ballot.owner.id == asker)
}
