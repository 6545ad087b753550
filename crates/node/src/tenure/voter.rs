//! The voters, as one member knows them, and messages to them.
//!
//! Purpose     sends a message of tenure to a voter where it is, or looks for it by all channels
//! Inputs      messages to voters, the known addresses
//! Outputs     `Tenure` frames, a log line when a voter is not found
//! Owns        what is known of each voter ([`Voter`])
//! Invariants  at most [`CALLS`] multicast calls to one voter within [`CALLS_IN`]

use hustings_protocol::{Duration, Instant, MemberId};

use super::Tenure;
use super::voter_latency::Asked;
use crate::frame::Body;
use crate::node::{Context, Io, Route};

/// The most multicast calls to one voter within [`CALLS_IN`]: one attempt, and its end.
const CALLS: u32 = 8;
const CALLS_IN: Duration = Duration::from_millis(200);

/// One voter.
#[derive(Debug, Clone)]
pub(super) struct Voter {
    pub(super) name: String,
    pub(super) id: MemberId,
    pub(super) heard: Option<Instant>,
    /// The first of the recent calls, and the number of calls since.
    called: Option<(Instant, u32)>,
    /// The voter's last answer says that it was never initialised.
    pub(super) is_blank: bool,
    /// The voter's last answer says that it cannot promise what a majority has promised.
    pub(super) is_behind: bool,
    /// The voter's last answer says that this member's ttl is longer than it grants.
    pub(super) refuses_ttl: bool,
    pub(super) asked: Asked,
}

impl Voter {
    pub(super) fn new((name, id): (&String, MemberId)) -> Self {
        Self {
            name: name.clone(),
            id,
            heard: None,
            called: None,
            is_blank: false,
            is_behind: false,
            refuses_ttl: false,
            asked: Asked::default(),
        }
    }

    /// True if the voter has left a question unanswered for as long as an answer may take. This
    /// member always answers itself.
    pub(super) fn is_overdue(&self, context: &Context, now: Instant) -> bool {
        let answer_within = context.config.authority.answer_within();
        let is_over = |it| self.asked.waits(now) >= it;
        self.id != context.me.id && answer_within.is_some_and(is_over)
    }
}

impl Tenure {
    pub(super) fn send_tenure(
        &mut self,
        to: MemberId,
        (message, is_question): (&[u8], bool),
        io: &mut Io<'_>,
    ) {
        // A voter that does not answer in time may have moved. It is also called by all channels
        // while there is time left to renew.
        let mut is_silent = false;
        let incarnation = io.peers.get(to).map(|it| it.incarnation);
        let mut others = self.voters.iter_mut();
        if let Some(voter) = others.find(|it| it.id == to)
            && is_question
        {
            is_silent = voter.is_overdue(io, io.now);
            voter.asked.ask(io.now, incarnation);
        }
        let body = Body::Tenure { to, authority: self.authority.id(), message };
        if let Some(address) = io.address_of(to) {
            io.emit.counters.tenure_sent += 1;
            io.send_to(to, Route::To(address), &body);
            if !is_silent {
                return;
            }
        }
        let mut voters = self.voters.iter_mut();
        let Some(voter) = voters.find(|it| it.id == to) else {
            io.broadcast(&body); // a transferee of which no frame has arrived
            return;
        };
        let (since, times) = match voter.called {
            Some((since, times)) if io.now - since < CALLS_IN => (since, times),
            Some(_) | None => (io.now, 0),
        };
        if times < CALLS {
            voter.called = Some((since, times + 1));
            let is_news = voter.asked.call();
            io.emit.counters.tenure_sent += 1;
            io.broadcast(&body);
            if is_news {
                self.log_voter_search(to, io);
            }
        }
    }
}
