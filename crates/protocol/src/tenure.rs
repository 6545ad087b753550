//! Tenure: at most one member at a time may act, by leave of a majority of voters.
//!
//! Source    ours; what it is made of is Paxos' ballots and Gray and Cheriton's leases. Two of its rules
//!           mend PaxosLease as published: a late answer must not restart the holder's clock, and
//!           a restarted voter must not forget what it promised
//! Assumes   crash faults; a fixed set of 2f+1 voters, each with a disk that keeps what was saved;
//!           clocks whose rate is within 1 +- `drift` of real time and that count time asleep.
//!           Nothing of the network: messages may be lost, late, doubled or overtaken
//! Promises  no fence has two holders; a later tenure has a higher fence; no two members hold at one
//!           instant. A healthy holder is not unseated by whoever comes back or hears badly
//!           where clocks break the bound: two may hold at one instant, of which the resource refuses
//!           the one with the lower fence
//!           likely, not certain: while f+1 voters answer within `answer_within`, a nominee gets tenure
//!           in two round trips (three if it has not heard of any counter yet) and one write to each
//!           voter's disk, and renews it in one round trip and none. After the holder died: once its
//!           grants have run out, a random wait, and three round trips
//! Messages  ask and would, prepare and promise, propose and grant (a nominee and each voter);
//!           refusal (to the nominee); release (to each voter); handover (to the next holder)
//!
//! A member may be nominee, voter, both or none. *Own* and *someone else* compare incarnations: a
//! restarted member is someone else. The rules by number:
//!
//! 1. A voter promises what it promised already; else nothing in quarantine, nothing while it has a live
//!    grant of someone else, nothing but a greater counter. The promise is on disk before it is told.
//! 2. A nominee that a majority promised proposes that ballot, with a new number each time, and reads its
//!    clock before. A voter grants what it promised, or a greater counter, for at most `max_ttl`, and
//!    never shortens a grant.
//! 3. A majority of grants of one proposal is tenure until that reading + ttl (1 - e)/(1 + e). Its fence is
//!    the counter of the ballot with which it began. It is renewed by proposing again; by a greater
//!    ballot only if the present one cannot win.
//! 4. The clock is looked at before any answer is counted. When tenure has ended, all ballots that the
//!    nominee has used are retired.
//! 5. A release stops, retires all, and then tells the voters. A voter drops a grant only of that very
//!    incarnation, with a counter no higher than the release's.
//! 6. A restarted voter is in quarantine for the longest `max_ttl` that it ever had. One that has lost its
//!    disk does not vote until it is initialised on purpose.
//! 7. Who was told of a holder asks before it prepares, and not before that holder's grant ends. Who was
//!    not prepares at once: rule 1 already refuses it where somebody holds.
//! 8. Whether a member holds is computed when it is asked ([`Tenure::holds`]), by a clock that counts time
//!    asleep.
//! 9. Renewal needs a member that can do its work, release that the work has stopped.
//! 10. A voter raises its promise by [`counter::REACH`] at most in one step, and never out of its era, whatever it is asked.
//!     A nominee takes the counter to beat from a voter's answer to the question that is open. If voters then say that a
//!     ballot is out of their reach, the nominee goes back to what they promised, but never below what it has proposed: no
//!     message that anybody can make up ends tenure for good.
//! 11. A voter that has lost its disk begins above what a majority of the voters tells it in answer to numbers that it drew
//!     for this purpose ([`VoterQuery`]). Answers that were recorded earlier do not count.
//!
//! Why it holds. Let b have a majority of promises, complete at time T(b). Then any proposal of a lower
//! ballot c of another incarnation is worth nothing after T(b). For if it gets a majority of grants,
//! some voter both granted it and promised b. Not b first, as it then refuses c for ever. So it granted
//! c first, and when it promised b it had no live grant of a stranger and was not in quarantine: its
//! grant had run out, which rule 3 puts after the holder's own end; or it had restarted and its
//! quarantine was over; or c had been released, hence retired before; or replaced by a grant of a
//! ballot between c and b: of the same holder, and then no deadline came earlier; of another, and then
//! that ballot had its majority before b, and the claim holds for it by induction. So no two hold at
//! once; a lower counter cannot begin a tenure after a higher one did; and a counter has one owner.

mod ballot;
mod config;
pub mod counter;
pub mod drift;
mod message;
mod nominee;
mod poll;
mod post;
mod query;
mod saved;
mod voter;

pub use ballot::{Ballot, Fence, Incarnation};
pub use config::{Config, LONGEST_WAIT, MOST_VOTERS};
pub use message::{Held, Message, Question, Refused, Request, Role, Timer};
pub use query::{QueryAnswer, VoterQuery};
pub use saved::{Durable, Saved};

use rand_core::Rng;

use crate::{Input, Instant, Io, MemberId, Protocol};
use nominee::Nominee;
use post::Post;
use voter::Voter;

/// One member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tenure {
    voter: Option<Voter>,
    stands: bool,
    /// Once it is started, if it stands.
    nominee: Option<Nominee>,
}

impl Tenure {
    /// A member that is not started yet.
    pub fn new(role: Role) -> Self {
        Self {
            voter: role.votes.map(Voter::new),
            stands: role.stands,
            nominee: None,
        }
    }

    /// What this member holds when its clock says `now`, if it holds anything. Ask each time that it
    /// matters: the answer is computed, and kept it would be wrong sooner or later.
    pub fn holds(&self, now: Instant) -> Option<Held> {
        self.nominee.and_then(|nominee| nominee.holds(now))
    }

    /// What this member would tell the voters if it had to stop now; none if they cannot have granted it
    /// anything. Only once it has stopped for good may anybody say so in its place.
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
    type Request = Request;

    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        let mut post = Post::new(io);
        if let Some(nominee) = &mut self.nominee {
            nominee.on_any(&mut post);
        }
        match input {
            Input::Start => self.on_start(&mut post),
            Input::Message { from, message } => self.hear(from, message, &mut post),
            Input::ViewChanged(_) => {} // voters are configured, not seen
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
        self.stand(|it| _ = it.retire(post)); // started once more without having stopped
        self.nominee = self.stands.then(|| {
            Nominee::new(Incarnation {
                id: post.io.me().id,
                number: post.io.rng().next_u64(),
            })
        });
    }

    fn hear(&mut self, from: MemberId, message: Message, post: &mut Post<'_, impl Io<Self>>) {
        if message
            .question()
            .is_some_and(|(it, _)| it.owner.id != from)
        {
            return; // forged
        }
        if let Some(voter) = &mut self.voter
            && let Some(answer) = voter.hear(message, post.io)
        {
            post.send(from, answer);
        }
        self.stand(|it| it.hear(from, message, post));
    }

    /// Its part as a nominee, if it has one.
    fn stand(&mut self, act: impl FnOnce(&mut Nominee)) {
        if let Some(nominee) = &mut self.nominee {
            act(nominee);
        }
    }
}
