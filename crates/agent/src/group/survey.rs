//! What the voters have promised: asked by a voter that has lost its disk, before it may vote again.
//!
//! It asks whether they would promise nothing at all, a ballot of counter zero: none would, and each refusal
//! tells the counter to beat. Beside that they tell the most that they can ever have granted: the one that was
//! lost can have granted no more, for a majority would have had to grant as much.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use hustings_protocol::tenure::{Ballot, Incarnation, Message, Refused};
use hustings_protocol::{Duration, Instant, MemberId};
use tokio::sync::mpsc;

use super::{Group, Outbox, Route};
use crate::agent::{Promised, Told};
use crate::frame::{Body, Sender};

/// Who waits for what the voters tell.
pub(super) struct Survey {
    answers: mpsc::UnboundedSender<Told>,
    longest: BTreeMap<MemberId, Duration>,
}

impl Group {
    /// Asks all voters but this member. What they tell goes to `answers`.
    pub(crate) fn survey(
        &mut self,
        now: Instant,
        answers: mpsc::UnboundedSender<Told>,
        out: &mut Outbox,
    ) {
        let ballot = Ballot {
            counter: 0,
            owner: Incarnation {
                id: self.me.id,
                number: self.life.0,
            },
        };
        // The questions are for others. Whoever goes by this member's own name is to hear of it too.
        self.broadcast(now, &Body::Up, out);
        let question = crate::driver::encode(&Message::Ask { ballot });
        let me = self.me.id;
        let others: Vec<MemberId> = self.tenancy.voters().filter(|it| *it != me).collect();
        if others.is_empty() {
            // Nobody has to answer: but those who go by another list do.
            let body = Body::Tenure {
                to: me,
                authority: self.tenancy.authority.id(),
                message: &question,
            };
            self.broadcast(now, &body, out);
        }
        for voter in others {
            self.send_tenure(now, voter, &question, out);
        }
        let longest = self.survey.take().map(|it| it.longest);
        self.survey = Some(Survey {
            answers,
            longest: longest.unwrap_or_default(),
        });
    }

    /// Somebody asks what was promised: it is told what was granted too.
    pub(super) fn answer_survey(&mut self, to: MemberId, message: Message, out: &mut Outbox) {
        let Message::Ask {
            ballot: Ballot { counter: 0, .. },
        } = message
        else {
            return;
        };
        if let (Some(longest), Some(address)) =
            (self.tenancy.authority.longest_ttl(), self.address_of(to))
        {
            let longest_ns = longest.0;
            self.send(Route::To(address), &Body::Granted { longest_ns }, out);
        }
    }

    /// Somebody speaks of tenure by another list than ours. If it asks what was promised, it is about to begin something,
    /// and that must not be beside what was promised here: it is told that somebody is here who votes by this list.
    pub(super) fn hear_another_list(
        &mut self,
        (sender, address): (&Sender<'_>, SocketAddr),
        message: &[u8],
        out: &mut Outbox,
    ) {
        self.tell_of_another_list(sender.name, None, false);
        let asks = matches!(
            postcard::from_bytes(message),
            Ok(Message::Ask {
                ballot: Ballot { counter: 0, .. }
            })
        );
        if asks && self.tenancy.voters().any(|voter| voter == self.me.id) {
            let body = Body::Tenure {
                to: sender.id,
                authority: self.tenancy.authority.id(),
                message: &[],
            };
            self.send(Route::To(address), &body, out);
        }
    }

    /// Somebody was heard that goes by another list than ours: whoever waits is told.
    pub(super) fn tell_of_another_list(&self, member: &str, fence: Option<u64>, holds: bool) {
        if let Some(survey) = &self.survey {
            let member = member.to_owned();
            // Whoever asked may have gone meanwhile.
            let _ = survey.answers.send(Told::Another {
                member,
                fence,
                holds,
            });
        }
    }

    pub(super) fn on_granted(&mut self, from: MemberId, longest: Duration) {
        if let Some(survey) = &mut self.survey {
            survey.longest.insert(from, longest);
        }
    }

    /// Whether `message` answers a survey: then whoever waits is told.
    pub(super) fn answers_survey(&mut self, from: MemberId, message: &[u8]) -> bool {
        let Some(survey) = &self.survey else {
            return false;
        };
        let Ok(Message::Refusal {
            ballot: Ballot { counter: 0, owner },
            promised: promised_counter,
            refused,
            ..
        }) = postcard::from_bytes(message)
        else {
            return false;
        };
        if owner.id != self.me.id {
            return false;
        }
        // A voter tells what it granted before it tells what it promised. If that was lost, it is asked again.
        let longest = survey.longest.get(&from).copied();
        let promised = longest.filter(|_| refused != Refused::Uninitialised);
        let promised = promised.map(|longest_ttl| Promised {
            counter: promised_counter,
            longest_ttl,
        });
        if promised.is_none() && refused != Refused::Uninitialised {
            return true;
        }
        let told = Told::Voter {
            voter: self.describe(from).name,
            promised,
        };
        // Whoever asked may have gone meanwhile.
        let _ = survey.answers.send(told);
        true
    }
}
