//! Tenure: at most one member at a time may act, with the consent of a majority of voters.
//!
//! Source    ours, built from the ballots of Paxos and the leases of Gray and Cheriton. Two rules
//!           correct PaxosLease as published: a late answer must not restart the holder's clock,
//!           and a restarted voter must not forget its promises
//! Assumes   crash faults; a fixed set of 2f+1 voters, each with a disk that keeps the saved state;
//!           clocks whose rate is within 1 +- `drift` of real time and that count time asleep. No
//!           assumption about the network: messages may be lost, late, duplicated or overtaken
//! Promises  no fence has two holders; a later tenure has a higher fence; no two members hold at
//!           one instant. A member that comes back, or that receives messages badly, does not
//!           unseat a healthy holder
//!           if clocks break the bound: two members may hold at one instant, and the resource
//!           refuses the one with the lower fence
//!           likely, not certain: while f+1 voters answer within `answer_within`, a nominee gets
//!           tenure in two round trips (three if it knows no counter yet) and one write to each
//!           voter's disk. It renews in one round trip without a write. After the holder died: once
//!           its grants have expired, a random wait, and three round trips
//! Messages  ask and would, prepare and promise, propose and grant (a nominee and each voter);
//!           refusal (to the nominee); release (to each voter); handover (to the next holder)
//!
//! A member may be nominee, voter, both or neither. *Own* and *other* compare incarnations: a
//! restarted member counts as another member. The rules by number:
//!
//! 1. A voter repeats a promise that it has already made. Otherwise it promises nothing in
//!    quarantine, nothing while it has a live grant of another nominee, and nothing but a greater
//!    counter. The promise is on disk before the voter answers.
//! 2. A nominee with the promises of a majority proposes that ballot, with a new number each time,
//!    and reads its clock before. A voter grants the ballot that it promised, or a greater counter,
//!    for at most `max_ttl`, and never shortens a grant.
//! 3. A majority of grants of one proposal is tenure until that reading + ttl (1 - e)/(1 + e). The
//!    fence is the counter of the ballot with which the tenure began. The nominee renews by
//!    proposing again, and uses a greater ballot only if the present one cannot win.
//! 4. The nominee reads the clock before it counts any answer. When tenure has ended, all ballots
//!    that the nominee has used are retired.
//! 5. To release, a nominee stops, retires all ballots, and then informs the voters. A voter drops
//!    a grant only for the same incarnation, with a counter no higher than the release's.
//! 6. A restarted voter is in quarantine for the longest `max_ttl` that it ever had. A voter that
//!    has lost its disk does not vote until an operator initialises it.
//! 7. A nominee that knows of a holder asks before it prepares, and not before that holder's grant
//!    ends. A nominee that knows of none prepares at once: if there is a holder, rule 1 refuses the
//!    nominee.
//! 8. [`Tenure::holds`] computes its answer at each call, by a clock that counts time asleep.
//! 9. Only a member that can do its work renews. A member releases only after its work has stopped.
//! 10. A voter raises its promise by [`counter::REACH`] at most in one step, and never out of its
//!     era, whatever a message asks for. A nominee takes the counter to beat from a voter's answer
//!     to the open question. If voters then answer that a ballot is out of their reach, the nominee
//!     goes back to the promised counter, but never below the counters that it has proposed. So no
//!     forged message ends tenure for good.
//! 11. A voter that has lost its disk begins above the counters of a majority of the voters, told
//!     in answer to numbers that it drew for this purpose ([`VoterQuery`]). Answers that were
//!     recorded earlier do not count.
//!
//! Proof. Let ballot b have a majority of promises, complete at time T(b). Claim: a proposal of a
//! lower ballot c of another incarnation is worth nothing after T(b). Suppose that c gets a
//! majority of grants. Then some voter both granted c and promised b. It did not promise b first,
//! because it then refuses c for ever. So it granted c first. When it promised b, it had no live
//! grant of another nominee and was not in quarantine. There are four cases:
//!
//! - Its grant of c had expired. By rule 3 that is after the holder's own end.
//! - It had restarted, and its quarantine was over.
//! - c had been released, and hence retired before.
//! - A grant of a ballot between c and b had replaced the grant of c. If that ballot has the same
//!   holder, no deadline came earlier. If it has another, it had its majority before b, and the
//!   claim holds for it by induction.
//!
//! So no two members hold at once, a lower counter cannot begin a tenure after a higher one did,
//! and a counter has one owner.

mod config;
pub mod counter;
pub mod drift;
mod message;
mod nominee;
mod poll;
mod query;
mod saved;
mod voter;

pub use config::{Config, LONGEST_WAIT, MOST_VOTERS};
pub use message::{
    Ballot, BallotOwner, Fence, Held, Message, Question, Refused, Request, Role, TenureOutcome,
    Timer,
};
pub use query::{QueryAnswer, VoterQuery};
pub use saved::{Durable, Saved};

use std::collections::VecDeque;

use rand_core::Rng;

use crate::{Input, Instant, Io, MemberId, Protocol};
use nominee::Nominee;
use voter::Voter;

/// One member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tenure {
    voter: Option<Voter>,
    stands: bool,
    /// Present once the member is started, if it may hold tenure.
    nominee: Option<Nominee>,
}

impl Tenure {
    /// A member that is not started yet.
    pub fn new(role: Role) -> Self {
        Self { voter: role.votes.map(Voter::new), stands: role.stands, nominee: None }
    }

    /// The tenure that this member holds at `now` on its clock, if any. Call this each time that it
    /// matters: a cached answer becomes wrong sooner or later.
    pub fn holds(&self, now: Instant) -> Option<Held> {
        self.nominee.and_then(|nominee| nominee.holds(now))
    }

    /// The message that this member would send to the voters if it had to stop now; `None` if they
    /// cannot have granted it anything. Another process may send it only once this member has
    /// stopped for good.
    pub fn last_word(&self) -> Option<Message> {
        let ballot = self.nominee?.proposed()?;
        Some(Message::Release { ballot })
    }
}

impl Protocol for Tenure {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = Durable;
    type Outcome = TenureOutcome;
    type Request = Request;

    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        let mut post = Post::new(io);
        if let Some(nominee) = &mut self.nominee {
            nominee.on_any(&mut post);
        }
        match input {
            Input::Start => self.on_start(&mut post),
            Input::Message { from, message } => self.hear(from, message, &mut post),
            Input::ViewChanged(_) => {} // voters come from the configuration, not from the view
            Input::Timer(timer) => self.stand(|it| it.on_timer(timer, &mut post)),
            Input::Request(request) => self.stand(|it| it.on_request(request, &mut post)),
            Input::Leave => self.stand(|it| it.on_leave(&mut post)),
        }
        while let Some(message) = post.next() {
            let me = post.io.me().id;
            self.hear(me, message, &mut post);
        }
    }
}

impl Tenure {
    fn on_start(&mut self, post: &mut Post<'_, impl Io<Self>>) {
        if let Some(voter) = &mut self.voter {
            voter.start(post.io);
        }
        self.stand(|it| _ = it.retire(post)); // a second start without a stop
        self.nominee = self.stands.then(|| {
            Nominee::new(BallotOwner { id: post.io.me().id, number: post.io.rng().next_u64() })
        });
    }

    fn hear(&mut self, from: MemberId, message: Message, post: &mut Post<'_, impl Io<Self>>) {
        if message.question().is_some_and(|(it, _)| it.owner.id != from) {
            return; // forged
        }
        if let Some(voter) = &mut self.voter
            && let Some(answer) = voter.hear(message, post.io)
        {
            post.send(from, answer);
        }
        self.stand(|it| it.hear(from, message, post));
    }

    /// Runs `act` on the nominee, if this member is one.
    fn stand(&mut self, act: impl FnOnce(&mut Nominee)) {
        if let Some(nominee) = &mut self.nominee {
            act(nominee);
        }
    }
}

/// The effects of one step of a member. The network does not deliver a member's own messages to it.
/// They are queued here and handled at the end of the step, like any others.
pub(super) struct Post<'a, I> {
    pub(super) io: &'a mut I,
    to_self: VecDeque<Message>,
}

impl<'a, I: Io<Tenure>> Post<'a, I> {
    pub(super) fn new(io: &'a mut I) -> Self {
        let to_self = VecDeque::new();
        Self { io, to_self }
    }

    pub(super) fn send(&mut self, member: MemberId, message: Message) {
        if member == self.io.me().id {
            self.to_self.push_back(message);
        } else {
            self.io.unicast(member, message);
        }
    }

    pub(super) fn send_to_voters(&mut self, message: Message) {
        for place in 0..self.io.config().voters.len() {
            let voter = self.io.config().voters[place];
            self.send(voter, message);
        }
    }

    /// The next message to itself.
    pub(super) fn next(&mut self) -> Option<Message> {
        self.to_self.pop_front()
    }
}
