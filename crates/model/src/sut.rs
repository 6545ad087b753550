//! The system under test: tenure, or a wrong version of it.

use std::fmt::Debug;
use std::hash::Hash;

use hustings_protocol::tenure::{
    Ballot, BallotOwner, Config, Durable, Held, Message, Question, Refused, Request, Role, Timer,
};
use hustings_protocol::{Instant, MemberId, Protocol};

/// A version of tenure. All versions exchange the same messages, so that the same world serves all.
pub trait Sut:
    Protocol<
        Config = Config,
        Message = Message,
        Timer = Timer,
        Durable = Durable,
        Request = Request,
    > + Copy
    + Eq
    + Hash
    + Debug
    + Send
    + Sync
    + 'static
{
    /// Creates a member that has not started yet.
    fn new(role: Role) -> Self;

    /// The tenure that it holds when its clock shows `now`.
    fn holds(&self, now: Instant) -> Option<Held>;

    /// Returns the highest counter that `answers` report to the voter `me`, which has lost its disk
    /// and asks under `number`. `None` until a majority of the voters has answered.
    fn told(
        me: MemberId,
        voters: Vec<MemberId>,
        number: u64,
        answers: impl Iterator<Item = Answer>,
    ) -> Option<u64>;
}

/// The answer of a voter to the query of another one that has lost its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Answer {
    /// The voter that answers.
    pub(crate) voter: MemberId,
    /// The voter that asks.
    pub(crate) asker: MemberId,
    /// The number of the question.
    pub(crate) number: u64,
    /// The counter that was promised.
    pub(crate) promised: u64,
}

impl Answer {
    pub(crate) fn message(&self) -> Message {
        let (id, number) = (self.asker, self.number);
        let owner = BallotOwner { id, number };
        Message::Refusal {
            ballot: Ballot { counter: 0, owner },
            question: Question::Ask,
            promised: self.promised,
            refused: Refused::Outrun,
        }
    }
}

/// Implements the trait for versions of tenure, each named by its module.
macro_rules! impl_sut {
    ($($($part:ident)::+),* $(,)?) => {
        $(impl $crate::Sut for $($part)::+::Tenure {
            fn new(role: hustings_protocol::tenure::Role) -> Self {
                Self::new(role)
            }

            fn holds(
                &self,
                now: hustings_protocol::Instant,
            ) -> Option<hustings_protocol::tenure::Held> {
                self.holds(now)
            }

            fn told(
                me: hustings_protocol::MemberId,
                voters: Vec<hustings_protocol::MemberId>,
                number: u64,
                mut answers: impl Iterator<Item = $crate::Answer>,
            ) -> Option<u64> {
                let mut query = $($part)::+::VoterQuery::new(me, voters);
                query.ask(number);
                answers.find_map(|answer| {
                    query.hear(answer.voter, &answer.message());
                    query.highest()
                })
            }
        })*
    };
}
pub(crate) use impl_sut;

impl_sut!(hustings_protocol::tenure);
