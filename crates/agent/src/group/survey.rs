//! What the voters have promised: asked by a voter that has lost its disk, before it may vote again.
//!
//! It asks whether they would promise nothing at all, a ballot of counter zero: none would, and each refusal
//! tells the counter to beat.

use hustings_protocol::tenure::{Ballot, Incarnation, Message, Refused};
use hustings_protocol::{Instant, MemberId};
use tokio::sync::mpsc;

use super::{Group, Outbox};
use crate::agent::Told;

/// Who waits for what the voters tell.
pub(super) struct Survey {
    answers: mpsc::UnboundedSender<Told>,
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
        let question = crate::driver::encode(&Message::Ask { ballot });
        let me = self.me.id;
        let others: Vec<MemberId> = self.tenancy.voters().filter(|it| *it != me).collect();
        for voter in others {
            self.send_tenure(now, voter, &question, out);
        }
        self.survey = Some(Survey { answers });
    }

    /// Whether `message` answers a survey: then whoever waits is told.
    pub(super) fn answers_survey(&mut self, from: MemberId, message: &[u8]) -> bool {
        let Some(survey) = &self.survey else {
            return false;
        };
        let Ok(Message::Refusal {
            ballot: Ballot { counter: 0, owner },
            promised,
            refused,
            ..
        }) = postcard::from_bytes(message)
        else {
            return false;
        };
        if owner.id != self.me.id {
            return false;
        }
        let told = Told {
            voter: self.describe(from).name,
            promised: (refused != Refused::Uninitialised).then_some(promised),
        };
        // Whoever asked may have gone meanwhile.
        let _ = survey.answers.send(told);
        true
    }
}
