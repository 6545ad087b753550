//! The host: draws when the centre calls, and keeps its seat while the centre confirms it.

use rand_core::Rng;

use super::call::ValidCall;
use super::candidacy::Candidacy;
use super::coin::{Draws, Toss};
use super::{
    Algorithm, Change, Coin, Council, CouncilOutcome, Feedback, Message, Reply, Seat, SeatClaim,
    Standing, Timer,
};
use crate::{Instant, Io, MemberId};

/// A centre's session: a later one ends all earlier ones. If there are two centres at once, hosts
/// follow the one with the greater number, so there should be one. But no session of a centre that
/// yields ends one of a centre that does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Session {
    insists: bool,
    number: u64,
    centre: MemberId,
}

/// A host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Host {
    session: Option<Session>,
    candidacy: Candidacy,
    /// The last round in which it replied, and may have been elected since; 0 if it cannot.
    replied: u32,
    /// Heartbeats below this number are old.
    next_beat: u32,
    /// The time of the last message of its centre.
    heard_at: Instant,
    /// The time until which seats confirmed by its centre's last message may be held.
    seats_until: Instant,
    /// True if it follows no centre that yields until then. False if its centre has released all
    /// seats.
    is_bound: bool,
    /// The same time for earlier sessions.
    former_until: Instant,
    class: u16,
    /// Bolot's key, for the session.
    key: u16,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// It holds no seat.
    #[default]
    Unseated,
    /// It holds this place. With leases, [`Timer::LeaseDue`] runs.
    Seated(u8),
}

impl Host {
    pub(super) fn new(class: u16) -> Self {
        Self { class, ..Self::default() }
    }

    /// The place of its seat.
    pub fn seat(&self) -> Option<u8> {
        match self.phase {
            Phase::Unseated => None,
            Phase::Seated(place) => Some(place),
        }
    }

    /// Its memory of the election.
    pub fn candidacy(&self) -> &Candidacy {
        &self.candidacy
    }
}

// Handlers.
impl Host {
    /// Starts, without knowledge of earlier events.
    pub(super) fn on_start(&mut self, io: &mut impl Io<Council>) {
        self.leave_seat(io);
        *self = Self::new(self.class);
    }

    #[inline]
    pub(super) fn on_message(
        &mut self,
        from: MemberId,
        message: Message,
        io: &mut impl Io<Council>,
    ) {
        let (session, class) = match message {
            Message::Feedback(it) => (it.session, it.class),
            Message::Seat(it) => (it.session, it.class),
            Message::Standing(it) => (it.session, it.class),
            Message::Reply(_) | Message::Present(_) | Message::Farewell(_) => return, // for centres
        };
        if class != self.class || !self.is_current(session, from, io) {
            return;
        }
        let is_new = match message {
            Message::Feedback(it) => it.round > self.candidacy.heard(),
            Message::Standing(it) => it.beat >= self.next_beat,
            Message::Seat(it) => it.beat.saturating_add(1) >= self.next_beat,
            Message::Reply(_) | Message::Present(_) | Message::Farewell(_) => false,
        };
        if !is_new {
            return;
        }
        self.note_contact(io);
        match message {
            Message::Feedback(feedback) => self.on_feedback(&feedback, io),
            Message::Standing(standing) => self.on_standing(standing, io),
            Message::Seat(seat) => self.on_seat(seat, io),
            Message::Reply(_) | Message::Present(_) | Message::Farewell(_) => {} // not for hosts
        }
    }

    /// Notes a message of the centre. After a silence longer than a lease the centre may assume too
    /// few hosts.
    #[inline]
    fn note_contact(&mut self, io: &mut impl Io<Council>) {
        let silence = io.now() - std::mem::replace(&mut self.heard_at, io.now());
        let Some(lease) = io.config().lease else {
            return;
        };
        if silence > lease.lasts {
            self.candidacy.forget_step();
        }
        self.seats_until = io.now() + lease.lasts;
        self.is_bound = true;
    }

    /// True if a message belongs to the present session: a new session begins with its first
    /// message.
    #[inline]
    fn is_current(&mut self, number: u64, centre: MemberId, io: &mut impl Io<Council>) -> bool {
        if io.config().centre.is_some_and(|it| it != centre) {
            return false; // not the configured centre
        }
        let session = Session { insists: !io.config().yields, number, centre };
        if let Some(own) = self.session.filter(|it| it.centre != centre) {
            let is_over = !self.is_bound || io.now() >= self.seats_until;
            if !session.insists && !is_over {
                self.decline_guest(own, centre, io);
                return false;
            }
        }
        // If its own session is over a guest may call, with a greater number: the guest began
        // later.
        let is_later = match self.session {
            Some(own) if session.insists == own.insists => session > own,
            Some(own) => session.insists || number > own.number,
            None => true,
        };
        let session = Some(session);
        if is_later {
            self.leave_seat(io);
            *self = Self {
                session,
                former_until: self.former_until.max(self.seats_until),
                ..Self::new(self.class)
            };
            if io.config().algorithm == Algorithm::Bolot {
                self.key = io.rng().next_u64() as u16;
            }
        }
        session == self.session
    }

    /// A guest calls: a seated host informs it that there are seats. Seated hosts are few.
    fn decline_guest(&self, own: Session, guest: MemberId, io: &mut impl Io<Council>) {
        if let Phase::Seated(place) = self.phase {
            io.unicast(guest, Message::Present(self.held(own, place)));
        }
    }

    #[inline]
    fn on_feedback(&mut self, feedback: &Feedback, io: &mut impl Io<Council>) {
        let Some(call) = ValidCall::of(feedback, io.config()) else {
            return;
        };
        let steps = io.config().steps();
        let number = call.number(&mut self.candidacy, feedback.round, steps);
        match self.phase {
            Phase::Seated(_) if feedback.seated > 0 => {
                return self.candidacy.sit_out(feedback.round);
            }
            Phase::Seated(_) => self.leave_seat(io),
            Phase::Unseated => {}
        }
        if !call.admits(io.me(), feedback.floor, self.key) {
            return self.candidacy.sit_out(feedback.round);
        }
        let algorithm = io.config().algorithm;
        let rounds = (feedback.round, feedback.base);
        if self.candidacy.recall(algorithm, rounds, call.wire_bits) {
            let (coin, me) = (io.config().coin, io.me().id);
            let (draws, chance) = (algorithm.draws(), call.chance(number));
            let draws = match coin {
                Coin::Private => Draws::new(draws, chance, |_| io.rng().next_u64()),
                Coin::Public { seed } => {
                    let toss = Toss::new(seed, feedback);
                    Draws::new(draws, chance, |draw| toss.number(me, draw))
                }
            };
            self.draw((draws, number), feedback, io);
        }
    }

    /// A recorded frame may be replayed to any host: only the named host takes the seat, and only
    /// if it has replied.
    fn on_seat(&mut self, seat: Seat, io: &mut impl Io<Council>) {
        if seat.host != io.me().id {
            return;
        }
        match self.phase {
            Phase::Unseated if self.replied == 0 || seat.round < self.replied => {} // of an earlier election
            Phase::Unseated => self.take_seat(seat.place, io),
            Phase::Seated(place) if place == seat.place => self.confirm(place, io), // repeated
            Phase::Seated(_) => {} // the centre took the old seat; a heartbeat will show it
        }
    }

    fn on_standing(&mut self, standing: Standing, io: &mut impl Io<Council>) {
        self.next_beat = standing.beat.saturating_add(1);
        self.is_bound = standing.places != 0;
        if let Phase::Seated(place) = self.phase {
            let stands = place < 128 && standing.places >> place & 1 == 1;
            if stands {
                self.confirm(place, io);
            } else {
                self.leave_seat(io);
            }
        }
    }

    pub(super) fn on_lease_due(&mut self, io: &mut impl Io<Council>) {
        self.leave_seat(io);
    }

    pub(super) fn on_leave(&mut self, io: &mut impl Io<Council>) {
        if let (Phase::Seated(place), Some(session)) = (self.phase, self.session) {
            let farewell = Message::Farewell(self.held(session, place));
            io.unicast(session.centre, farewell);
            self.leave_seat(io);
        }
    }
}

// Transitions.
impl Host {
    /// Takes part in a draw.
    #[inline]
    fn draw(
        &mut self,
        (draws, number): (Draws, u32),
        feedback: &Feedback,
        io: &mut impl Io<Council>,
    ) {
        self.candidacy.draw(io.config().algorithm, draws);
        if let (true, Some(session)) = (draws.any(), self.session) {
            self.replied = feedback.round;
            let reply = Reply {
                session: session.number,
                class: self.class,
                round: feedback.round,
                draws,
                number,
                priority: io.me().priority,
                former: self.former_until - io.now(),
            };
            io.unicast(session.centre, Message::Reply(reply));
        }
    }

    /// Takes its seat.
    fn take_seat(&mut self, place: u8, io: &mut impl Io<Council>) {
        self.phase = Phase::Seated(place);
        io.report(CouncilOutcome::Council(Change::Seated { place }));
        self.confirm(place, io);
    }

    /// Keeps its seat for another lease, and confirms it to the centre.
    fn confirm(&mut self, place: u8, io: &mut impl Io<Council>) {
        if let Some(lease) = io.config().lease {
            io.arm(Timer::LeaseDue, lease.lasts);
        }
        if let Some(session) = self.session {
            let present = Message::Present(self.held(session, place));
            io.unicast(session.centre, present);
        }
    }

    /// Gives up its seat, if it has one. The centre must give it a new one: the old seat message
    /// may be replayed.
    fn leave_seat(&mut self, io: &mut impl Io<Council>) {
        if let Phase::Seated(_) = self.phase {
            self.phase = Phase::Unseated;
            self.replied = 0;
            self.next_beat = self.next_beat.saturating_add(1);
            io.disarm(Timer::LeaseDue);
            io.report(CouncilOutcome::Council(Change::Unseated));
        }
    }

    fn held(&self, session: Session, place: u8) -> SeatClaim {
        SeatClaim { session: session.number, class: self.class, place }
    }
}
