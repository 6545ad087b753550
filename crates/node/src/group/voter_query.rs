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

use std::net::SocketAddr;

use hustings_protocol::tenure::{Message, QueryAnswer, Question, VoterQuery};
use hustings_protocol::{Duration, Instant, MemberId};
use tokio::sync::mpsc;

use super::{Group, Outbox, Route};
use crate::control::{Promised, Told};
use crate::frame::{Body, Frame, Sender};

/// A query, and the channel of the caller that waits for the answers.
pub(super) struct VoterQueryRound {
    answers: mpsc::UnboundedSender<Told>,
    query: VoterQuery,
}

impl Group {
    /// Asks all other voters, and sends their answers to `answers`.
    pub fn voter_query(
        &mut self,
        now: Instant,
        answers: mpsc::UnboundedSender<Told>,
        out: &mut Outbox,
    ) {
        let Some(number) = self.entropy.next() else {
            tracing::error!(
                "group `{}`: the operating system has no random numbers to give: the voters cannot be asked what they have \
                 promised",
                self.config.name
            );
            return;
        };
        let me = self.me.id;
        let voters: Vec<MemberId> = self.tenure.voters().collect();
        let others = voters.iter().copied().filter(|it| *it != me);
        let others: Vec<MemberId> = others.collect();
        let before = self.voter_query.take().map(|it| it.query);
        let mut query = before.unwrap_or_else(|| VoterQuery::new(me, voters));
        let question = crate::driver::encode(&query.ask(number));
        self.voter_query = Some(VoterQueryRound { answers, query });
        // The questions are for others. A process that uses this member's own name must hear of it
        // too.
        self.broadcast(now, &Body::Up, out);
        // A message to itself is for every voter, of this list or another. The known addresses of
        // the voters may be wrong.
        let body =
            Body::Tenure { to: me, authority: self.tenure.authority.id(), message: &question };
        self.broadcast(now, &body, out);
        for voter in others {
            self.send_tenure(now, voter, &question, out);
        }
    }

    /// Sends `to` the longest ttl that this voter can have granted, if `message` is a voter query.
    pub(super) fn answer_survey(&mut self, to: MemberId, message: &Message, out: &mut Outbox) {
        let (Some(question), Some(longest), Some(address)) =
            (question_of(to, message), self.tenure.authority.longest_ttl(), self.address_of(to))
        else {
            return;
        };
        let body = Body::Granted { longest_ns: longest.0, question };
        self.send_to(to, Route::To(address), &body, out);
    }

    /// Handles a tenure message of a member with another list of voters.
    ///
    /// If it is a voter query, its sender is about to start anew, which must not ignore the
    /// promises made here. A voter of this list repeats the question, and so shows that it exists.
    /// If the message repeats a question of this member, its sender is such a voter of another
    /// list. Any other message may be a recording, and does not count.
    pub(super) fn hear_another_list(
        &mut self,
        (sender, address): (&Sender<'_>, SocketAddr),
        message: &[u8],
        out: &mut Outbox,
    ) {
        let Ok(asked) = postcard::from_bytes::<Message>(message) else {
            return;
        };
        let number = question_of(self.me.id, &asked);
        let voter_query = self.voter_query.as_ref();
        if voter_query.is_some_and(|it| number.is_some_and(|number| it.query.has_asked(number))) {
            self.tell_of_another_list(sender.name, None, false);
        }
        let votes = self.tenure.voters().any(|voter| voter == self.me.id);
        if votes && question_of(sender.id, &asked).is_some() {
            let body =
                Body::Tenure { to: sender.id, authority: self.tenure.authority.id(), message };
            self.send_to(sender.id, Route::To(address), &body, out);
        }
    }

    /// Tells the waiting caller about a member with another list of voters, or a store.
    pub(super) fn tell_of_another_list(&self, member: &str, fence: Option<u64>, holds: bool) {
        if let Some(voter_query) = &self.voter_query {
            let member = member.to_owned();
            // The caller may be gone.
            let _ = voter_query.answers.send(Told::Another { member, fence, holds });
        }
    }

    /// Tells the waiting caller about an unproven sender that claims tenure. The frame may be a
    /// recording: the caller may refuse because of it, and do nothing else.
    pub(super) fn tell_of_unproven(&self, address: SocketAddr, frame: &Frame<'_>) {
        if let (Some(voter_query), Body::Holds { fence, lasts_ns, .. }) =
            (&self.voter_query, &frame.body)
            && *lasts_ns > 0
        {
            // The caller may be gone.
            let _ = voter_query.answers.send(Told::Unproven {
                member: frame.sender.name.to_owned(),
                fence: *fence,
                address,
            });
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
    pub(super) fn answers_survey(&mut self, from: MemberId, message: &[u8]) -> bool {
        let name = self.name_of(from);
        let Some(voter_query) = &mut self.voter_query else {
            return false;
        };
        let Ok(message) = postcard::from_bytes::<Message>(message) else {
            return false;
        };
        let is_answer = matches!(
            message,
            Message::Refusal {
                ballot,
                question: Question::Ask,
                ..
            } if ballot.counter == 0
        );
        let promised = match voter_query.query.hear(from, &message) {
            // The other frame of the answer was lost. The question is repeated.
            None | Some(QueryAnswer { promised: Some(_), longest_ttl: None }) => return is_answer,
            Some(QueryAnswer { promised: Some(counter), longest_ttl: Some(longest_ttl) }) => {
                Some(Promised { counter, longest_ttl })
            }
            Some(QueryAnswer { promised: None, .. }) => None,
        };
        let told = Told::Voter { voter: name, promised };
        // The caller may be gone.
        let _ = voter_query.answers.send(told);
        true
    }
}

/// Returns the number of the question, if `message` is a voter query by `asker`.
fn question_of(asker: MemberId, message: &Message) -> Option<u64> {
    let (ballot, _) = message.question()?;
    VoterQuery::number_of(message).filter(|_| ballot.owner.id == asker)
}
