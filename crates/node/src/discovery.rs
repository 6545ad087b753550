//! Discovery: members find each other by multicast, and by a hello to the `join` addresses.
//!
//! Purpose     finds the other members, and delays the election until they can be reached
//! Inputs      the `join` addresses, the beginning of a membership, time
//! Outputs     `Hello` and `Up` messages, the need for a membership, the start of election and
//!             council
//! Owns        the timers of hello, call and start ([`Discovery`])
//! Invariants  a member with `join` addresses always keeps a membership: it may be on no other
//!             member's list, and without multicast no member would ever hear of it
//!
//! A member with `join` addresses takes part in the election once its hello was answered, or the
//! time for an answer is over. Before that, its messages would reach only the configured addresses.
//!
//! Members that have found some others may not have found all: some came up during a partition, or
//! have different `join` addresses. So a member with a membership goes on to call the configured
//! addresses that it does not know. If the protocol needs a view, one member at a time also sends a
//! hello by multicast.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant};

use crate::council::CouncilPart;
use crate::frame::Body;
use crate::membership::{Membership, PartialView};
use crate::node::{Component, Context, Event, GOLDEN, Io, Route};

/// The time between two hellos of a member that knows no other, at first and later.
const HELLO_FIRST_EVERY: Duration = Duration::from_millis(50);
const HELLO_EVERY: Duration = Duration::from_millis(250);

/// The time between two calls to configured addresses that are not known.
const CALL_EVERY: Duration = Duration::from_secs(2);

/// The time that name resolution may take, and then an answer, before the member takes part.
const RESOLVED_WITHIN: Duration = Duration::from_secs(1);
const ANSWERED_WITHIN: Duration = Duration::from_millis(250);
/// The time in which a member that answered passes on all others.
const TOLD_WITHIN: Duration = Duration::from_millis(20);

/// The time without a frame of any member after which a member that relies on multicast reports it.
const LONELY_AFTER: Duration = Duration::from_secs(5);

/// The state of a member's search for others.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    hello_at: Option<Instant>,
    /// The time of the next call to unknown addresses.
    call_at: Option<Instant>,
    calls: u64,
    /// The time until which the member holds back from the election.
    partakes_at: Option<Instant>,
    /// The time to report that no other member was found.
    lonely_at: Option<Instant>,
    /// True if a multicast of another group has arrived: the network carries multicasts.
    hears_other_groups: bool,
    /// True if a centre has logged why it does not call yet.
    has_logged_wait: bool,
}

impl Component for Discovery {
    fn on(&mut self, event: &Event<'_>, io: &mut Io<'_>) {
        match event {
            Event::Start => start(io),
            Event::TakePart => self.take_part(io),
            Event::MembershipBegun => {
                self.call_at = Some(io.now + CALL_EVERY);
                self.hello(io);
            }
            Event::Seeds => {
                self.partake_by(io.now + ANSWERED_WITHIN);
                self.hello(io);
            }
            Event::SayUp => io.announce_presence(),
            Event::ElectionEntered => self.start_when_ready(io),
            Event::Timeout => self.on_timeout(io),
            Event::Settled => self.look_around(io),
            _ => {}
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        let times = [self.hello_at, self.call_at, self.partakes_at, self.lonely_at];
        times.into_iter().flatten().min()
    }
}

/// True if the member knows no other and looks for one. A member that has stepped down does not.
fn is_alone(context: &Context) -> bool {
    context.members.get().is_some_and(Membership::is_alone) && !context.is_absent()
}

fn start(io: &mut Io<'_>) {
    let needs_view = io.config.protocol.needs_view();
    if needs_view || !io.config.join.is_empty() || !io.reach.has_multicast() {
        io.raise(Event::MembershipNeeded);
    } else {
        io.announce_presence();
    }
}

impl Discovery {
    /// Notes that a multicast of another group has arrived.
    pub(crate) fn note_other_group(&mut self) {
        self.hears_other_groups = true;
    }

    /// True if a multicast of another group has arrived.
    pub(crate) fn hears_other_groups(&self) -> bool {
        self.hears_other_groups
    }

    fn take_part(&mut self, io: &mut Io<'_>) {
        let was_told_of_others = !io.config.join.is_empty();
        let elects = !io.config.protocol.is_none();
        if !was_told_of_others && io.reach.has_multicast() && elects {
            self.lonely_at = Some(io.now + LONELY_AFTER);
        }
        match (was_told_of_others, io.members.get().is_some()) {
            (true, _) => self.partakes_at = Some(io.now + RESOLVED_WITHIN),
            (false, true) => self.partakes_at = Some(io.now + ANSWERED_WITHIN),
            (false, false) => io.raise(Event::StartElection),
        }
        if self.partakes_at.is_none() || io.is_host() {
            io.raise(Event::StartCouncil);
        }
    }

    /// Sends a hello to all reachable addresses, as long as no other member is known.
    fn hello(&mut self, io: &mut Io<'_>) {
        self.hello_at = None;
        if is_alone(io) {
            io.broadcast(&Body::Hello { alone: true });
            self.hello_again(io.now);
        }
    }

    /// Calls the configured addresses at which no member is known.
    fn call(&mut self, io: &mut Io<'_>) {
        self.calls += 1;
        self.call_at = Some(io.now + CALL_EVERY);
        let Some(membership) = io.context.members.get().filter(|_| !io.is_absent()) else {
            return;
        };
        let known: BTreeSet<SocketAddr> = membership.addresses().into_iter().collect();
        let unknown = |seed: &&SocketAddr| !known.contains(seed);
        let seeds = io.context.reach.seeds.iter().filter(unknown).copied();
        // One of all members, on average, each time.
        let lot = (io.me.id.0 ^ self.calls).wrapping_mul(GOLDEN) >> 32;
        let partial_view = membership.partial_view();
        let members = partial_view.map_or(known.len() as u64 + 1, PartialView::size_or_view);
        let is_its_turn = lot.is_multiple_of(members);
        let needs_view = io.config.protocol.needs_view();
        let multicast = io.reach.multicast().filter(|_| needs_view && is_its_turn);
        let hello = Body::Hello { alone: false };
        // With a partial view, a member normally knows only some of its configured addresses.
        let knows_enough = partial_view.is_some() && !membership.is_alone() && !is_its_turn;
        let routes = seeds.filter(|_| !knows_enough).map(Route::To);
        for route in routes.chain(multicast.map(Route::Multicast)) {
            io.send(route, &hello);
        }
    }

    /// Ends the wait for an answer if another member is known; otherwise resumes the hellos.
    fn look_around(&mut self, context: &Context) {
        if !is_alone(context) {
            self.partake_by(context.now + TOLD_WITHIN);
        } else if self.hello_at.is_none() {
            self.hello_again(context.now);
        }
    }

    /// Sends and starts what is due.
    fn on_timeout(&mut self, io: &mut Io<'_>) {
        let now = io.now;
        let is_due = |at: &mut Instant| *at <= now;
        if self.hello_at.take_if(is_due).is_some() {
            self.hello(io);
        }
        if self.call_at.take_if(is_due).is_some() {
            self.call(io);
        }
        if self.partakes_at.take_if(is_due).is_some() {
            self.start_when_ready(io);
            match self.partakes_at {
                None if !io.is_host() => io.raise(Event::StartCouncil),
                Some(_) => self.log_waiting_centre(io),
                None => {}
            }
        }
        if self.lonely_at.take_if(is_due).is_some() && io.peers.count() == 0 {
            self.log_no_member_found(io);
        }
    }

    /// Starts the election if the member is ready; otherwise checks again later.
    fn start_when_ready(&mut self, io: &mut Io<'_>) {
        match io.may_elect() {
            true => io.raise(Event::StartElection),
            false => self.partakes_at = Some(io.now + ANSWERED_WITHIN),
        }
    }

    /// Logs that no member was found. Followers are silent, so all may be well.
    fn log_no_member_found(&self, io: &Io<'_>) {
        let question = match self.hears_other_groups {
            _ if io.emit.counters.unknown_key > 0 => {
                "give all members the same key; frames of this group under another key arrive here"
            }
            true => "give all members the same group name; multicasts of other groups arrive here",
            false => "the network may drop multicasts; name one or more members with --join",
        };
        let (group, reach) = (&io.config.name, &io.reach);
        tracing::info!(
            "group `{group}`: no other member found by {reach} yet. If others run, and lead by themselves: {question}"
        );
    }

    fn log_waiting_centre(&mut self, context: &Context) {
        let is_centre = matches!(context.config.council, CouncilPart::Centre(_));
        if is_centre && !std::mem::replace(&mut self.has_logged_wait, true) {
            tracing::info!(
                "group `{}`: the centre calls hosts when the number of members is known: a group that has just started counts its members first, which takes some 10 s",
                context.config.name
            );
        }
    }

    fn hello_again(&mut self, now: Instant) {
        let pause = match self.partakes_at {
            Some(_) => HELLO_FIRST_EVERY,
            None => HELLO_EVERY,
        };
        self.hello_at = Some(now + pause);
    }

    /// Holds back from the election until `at` at most, if it holds back.
    fn partake_by(&mut self, at: Instant) {
        self.partakes_at = self.partakes_at.map(|by| by.min(at));
    }
}
