//! The voter query: what the voters have promised and granted, asked by a voter that has lost its disk, before it may vote
//! again.
//!
//! A voter tells in two frames what it has promised and the longest ttl that it can ever have granted. The voter that was
//! lost can have granted no longer ttl: a majority would have had to grant as much. Both frames repeat the number of the
//! question, which is drawn anew for each: frames that were recorded at an earlier query do not count
//! ([`VoterQuery`]).

use std::net::SocketAddr;

use hustings_protocol::tenure::{Message, QueryAnswer, Question, VoterQuery};
use hustings_protocol::{Duration, Instant, MemberId};
use tokio::sync::mpsc;

use super::{Group, Outbox, Route};
use crate::agent::{Promised, Told};
use crate::frame::{Body, Frame, Sender};

/// A query, and the caller that waits for what the voters tell.
pub(super) struct Survey {
    answers: mpsc::UnboundedSender<Told>,
    query: VoterQuery,
}

impl Group {
    /// Asks all voters but this member. What they tell goes to `answers`.
    pub(crate) fn survey(
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
        let voters: Vec<MemberId> = self.tenancy.voters().collect();
        let others = voters.iter().copied().filter(|it| *it != me);
        let others: Vec<MemberId> = others.collect();
        let before = self.survey.take().map(|it| it.query);
        let mut query = before.unwrap_or_else(|| VoterQuery::new(me, voters));
        let question = crate::driver::encode(&query.ask(number));
        self.survey = Some(Survey { answers, query });
        // The questions are for others. Whoever goes by this member's own name is to hear of it too.
        self.broadcast(now, &Body::Up, out);
        // To itself means to every voter, of this list or another, wherever it is: where the voters of this list are may be
        // known wrongly.
        let body = Body::Tenure {
            to: me,
            authority: self.tenancy.authority.id(),
            message: &question,
        };
        self.broadcast(now, &body, out);
        for voter in others {
            self.send_tenure(now, voter, &question, out);
        }
    }

    /// Tells `to` what this voter can ever have granted, if `message` asks what it has promised.
    pub(super) fn answer_survey(&mut self, to: MemberId, message: &Message, out: &mut Outbox) {
        let (Some(question), Some(longest), Some(address)) = (
            question_of(to, message),
            self.tenancy.authority.longest_ttl(),
            self.address_of(to),
        ) else {
            return;
        };
        let body = Body::Granted {
            longest_ns: longest.0,
            question,
        };
        self.send_to(to, Route::To(address), &body, out);
    }

    /// A member that goes by another list of voters speaks of tenure. If it asks what was promised, it is about to begin
    /// something, and that must not be beside what was promised here: a voter of this list repeats the question, and so
    /// tells that it is here. If it repeats a question of this member, it is such a voter of another list. What it says
    /// unasked may have been recorded, and does not count.
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
        let survey = self.survey.as_ref();
        if survey.is_some_and(|it| number.is_some_and(|number| it.query.has_asked(number))) {
            self.tell_of_another_list(sender.name, None, false);
        }
        let votes = self.tenancy.voters().any(|voter| voter == self.me.id);
        if votes && question_of(sender.id, &asked).is_some() {
            let body = Body::Tenure {
                to: sender.id,
                authority: self.tenancy.authority.id(),
                message,
            };
            self.send_to(sender.id, Route::To(address), &body, out);
        }
    }

    /// Tells the caller that waits of a member that goes by another list of voters, or by a store.
    pub(super) fn tell_of_another_list(&self, member: &str, fence: Option<u64>, holds: bool) {
        if let Some(survey) = &self.survey {
            let member = member.to_owned();
            // The caller may have gone meanwhile.
            let _ = survey.answers.send(Told::Another {
                member,
                fence,
                holds,
            });
        }
    }

    /// Tells the caller that waits of a frame that does not count, if its sender says in it that it holds tenure. The frame
    /// may be a recording: the caller may refuse because of it, and do nothing else.
    pub(super) fn tell_of_unproven(&self, address: SocketAddr, frame: &Frame<'_>) {
        if let (
            Some(survey),
            Body::Holds {
                fence, lasts_ns, ..
            },
        ) = (&self.survey, &frame.body)
            && *lasts_ns > 0
        {
            // The caller may have gone meanwhile.
            let _ = survey.answers.send(Told::Unproven {
                member: frame.sender.name.to_owned(),
                fence: *fence,
                address,
            });
        }
    }

    /// A member tells the longest ttl that it can ever have granted, in answer to a question.
    pub(super) fn on_granted(&mut self, from: MemberId, question: u64, longest: Duration) {
        if let Some(survey) = &mut self.survey {
            survey.query.hear_longest_ttl(from, question, longest);
        }
    }

    /// Returns whether `message` answers a voter query. If it answers the present one, the caller that waits is told.
    pub(super) fn answers_survey(&mut self, from: MemberId, message: &[u8]) -> bool {
        let name = self.name_of(from);
        let Some(survey) = &mut self.survey else {
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
        let promised = match survey.query.hear(from, &message) {
            // The other half of what it tells was lost. It is asked again.
            None
            | Some(QueryAnswer {
                promised: Some(_),
                longest_ttl: None,
            }) => return is_answer,
            Some(QueryAnswer {
                promised: Some(counter),
                longest_ttl: Some(longest_ttl),
            }) => Some(Promised {
                counter,
                longest_ttl,
            }),
            Some(QueryAnswer { promised: None, .. }) => None,
        };
        let told = Told::Voter {
            voter: name,
            promised,
        };
        // The caller may have gone meanwhile.
        let _ = survey.answers.send(told);
        true
    }
}

/// Returns the number of the question, if `message` is one of a voter query by `asker`.
fn question_of(asker: MemberId, message: &Message) -> Option<u64> {
    let (ballot, _) = message.question()?;
    VoterQuery::number_of(message).filter(|_| ballot.owner.id == asker)
}
