//! One member, and the `Io` through which it acts.

use std::convert::Infallible;

use hustings_protocol::tenure::{
    Ballot, Config, Durable, Held, Message, Question, Refused, Request, Role, Saved, Timer,
};
use hustings_protocol::{
    Candidate, Duration, Input, Instant, Io, MemberId, Roster, Timer as _, View,
};
use rand_core::{Rng, TryRng};

use crate::bounds::Scope;
use crate::{Bounds, Sut};

/// A member with its disk and timers. Its identity is its position in the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Member<S> {
    pub(crate) tenure: S,
    /// The contents of its disk, if it votes.
    disk: Option<Saved>,
    /// The armed timers, one bit each.
    armed: u8,
    starts: u8,
    /// The number of ballots prepared in this incarnation, if that has a bound.
    ballots: u8,
    /// True if it was asked to acquire in this incarnation.
    pub(crate) is_asked: bool,
    /// True if it asks for the shorter ttl.
    pub(crate) asks_for_less: bool,
    /// The tenure that it held when last observed, in this incarnation.
    pub(crate) held: Option<Held>,
}

/// The messages that a member sent in one step.
pub(crate) type Sent = Vec<(MemberId, Message)>;

impl<S: Sut> Member<S> {
    pub(crate) fn new(id: MemberId, scope: &Scope) -> Self {
        let founding = Saved::Initialised(Durable {
            counter: match id {
                MemberId(0) => scope.bounds.first_counter(),
                MemberId(_) => 0,
            },
            ..Durable::FOUNDING
        });
        Self {
            tenure: S::new(Role::default()),
            disk: scope.bounds.votes(id).then_some(founding),
            armed: 0,
            starts: 0,
            ballots: 0,
            is_asked: false,
            asks_for_less: false,
            held: None,
        }
    }

    /// Starts the member with the contents of its disk. A nominee asks for tenure at once, if it
    /// may begin.
    pub(crate) fn start(&mut self, me: MemberId, tick: u8, scope: &Scope) -> Sent {
        self.starts += 1;
        self.armed = 0;
        self.held = None;
        self.tenure = S::new(Role { votes: self.disk, stands: scope.bounds.stands(me) });
        self.is_asked = false;
        self.ballots = 0;
        let mut sent = self.step(me, Input::Start, tick, scope);
        if scope.bounds.may_begin(me, tick) {
            sent.extend(self.acquire(me, tick, scope));
        }
        sent
    }

    /// Nominates the member.
    pub(crate) fn acquire(&mut self, me: MemberId, tick: u8, scope: &Scope) -> Sent {
        self.is_asked = true;
        let sent = self.step(me, Input::Request(Request::Acquire), tick, scope);
        match guess(&sent).filter(|_| scope.bounds.knows(me) > 0) {
            Some(ballot) => self.learn(me, ballot, tick, scope),
            None => sent,
        }
    }

    /// Replaces its first questions by their answers: a majority of voters refuses with the highest
    /// counter.
    fn learn(&mut self, me: MemberId, ballot: Ballot, tick: u8, scope: &Scope) -> Sent {
        self.ballots = 0;
        let mut sent = Sent::new();
        for voter in 0..scope.bounds.majority() as u64 {
            let message = Message::Refusal {
                ballot,
                question: Question::Prepare,
                promised: scope.bounds.knows(me),
                refused: Refused::Outrun,
            };
            let from = MemberId(voter);
            sent.extend(self.step(me, Input::Message { from, message }, tick, scope));
        }
        sent
    }

    /// Releases or hands over. The member may be nominated once more.
    pub(crate) fn give_up(
        &mut self,
        me: MemberId,
        request: Request,
        tick: u8,
        scope: &Scope,
    ) -> Sent {
        self.is_asked = false;
        self.step(me, Input::Request(request), tick, scope)
    }

    /// Replaces a lost disk on purpose, with the counter that the other voters report.
    pub(crate) fn lose_disk(&mut self, highest: u64, scope: &Scope) {
        let max_ttl = Duration(scope.bounds.max_ttl);
        self.disk = Some(Saved::Initialised((scope.bounds.replacing)(highest, max_ttl)));
    }

    /// The counter on its disk.
    pub(crate) fn promised(&self) -> Option<u64> {
        match self.disk {
            Some(Saved::Initialised(durable)) => Some(durable.counter),
            Some(Saved::Missing) | None => None,
        }
    }

    /// The number of its query after losing its disk: different for each start.
    pub(crate) fn query_number(&self) -> u64 {
        self.starts.into()
    }

    pub(crate) fn is_within_bounds(&self, bounds: &Bounds) -> bool {
        bounds.ballots.is_none_or(|most| self.ballots <= most)
    }

    pub(crate) fn rings(&self) -> impl Iterator<Item = Timer> {
        let armed = self.armed;
        let all = Timer::ALL.iter().copied();
        all.filter(move |timer| armed & bit(*timer) != 0)
    }

    pub(crate) fn ring(&mut self, me: MemberId, timer: Timer, tick: u8, scope: &Scope) -> Sent {
        self.armed &= !bit(timer);
        self.step(me, Input::Timer(timer), tick, scope)
    }

    pub(crate) fn step(&mut self, me: MemberId, input: Input<S>, tick: u8, scope: &Scope) -> Sent {
        let mut port = Port {
            me: Candidate::new(me.0, 0),
            config: scope.config(self.asks_for_less, self.starts > 1),
            now: clock(me, tick, scope),
            chance: StartNumber(self.starts),
            disk: &mut self.disk,
            armed: &mut self.armed,
            sent: Vec::new(),
        };
        self.tenure.step(input, &mut port);
        let sent = port.sent;
        let is_prepare = |(_, message): &(_, _)| matches!(message, Message::Prepare { .. });
        if scope.bounds.ballots.is_some() && sent.iter().any(is_prepare) {
            self.ballots += 1;
        }
        sent
    }
}

/// The ballot that a nominee prepares while it knows no counter.
fn guess(sent: &Sent) -> Option<Ballot> {
    sent.iter().find_map(|(_, message)| match message {
        Message::Prepare { ballot } if ballot.counter == 1 => Some(*ballot),
        _ => None,
    })
}

/// The time that a member's clock shows.
pub(crate) fn clock(me: MemberId, tick: u8, scope: &Scope) -> Instant {
    let rate =
        if scope.bounds.stands(me) { scope.bounds.nominee_rate } else { scope.bounds.voter_rate };
    Instant(u64::from(tick) * rate.units / rate.ticks)
}

fn bit(timer: Timer) -> u8 {
    1 << timer.index()
}

struct Port<'a> {
    me: Candidate,
    config: &'a Config,
    now: Instant,
    chance: StartNumber,
    disk: &'a mut Option<Saved>,
    armed: &'a mut u8,
    sent: Sent,
}

impl<S: Sut> Io<S> for Port<'_> {
    fn me(&self) -> Candidate {
        self.me
    }

    fn config(&self) -> &Config {
        self.config
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn rng(&mut self) -> &mut impl Rng {
        &mut self.chance
    }

    fn view(&self) -> impl View {
        Roster::alone(self.me)
    }

    fn unicast(&mut self, to: MemberId, message: Message) {
        self.sent.push((to, message));
    }

    fn multicast(&mut self, _: Message) {
        unreachable!("tenure sends only unicasts");
    }

    fn arm(&mut self, timer: Timer, _: Duration) {
        *self.armed |= bit(timer);
    }

    fn disarm(&mut self, timer: Timer) {
        *self.armed &= !bit(timer);
    }

    fn save(&mut self, state: Durable) {
        *self.disk = Some(Saved::Initialised(state));
    }

    fn report(&mut self, _: S::Outcome) {}
}

/// A generator that always returns the number of a member's starts. Incarnations then differ, as
/// they should. Back-off has no effect, because timers expire at any time.
pub(crate) struct StartNumber(pub(crate) u8);

impl TryRng for StartNumber {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.into())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.into())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill(self.0);
        Ok(())
    }
}
