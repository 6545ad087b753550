//! A host: it draws when the centre calls, and keeps its seat while the centre says so.

use rand_core::Rng;

use super::call::Call;
use super::candidacy::Candidacy;
use super::coin::{Draws, Toss};
use super::{
    Algorithm, Change, Coin, Council, Feedback, Held, Message, Reply, Seat, Standing, Timer,
};
use crate::{Instant, Io, MemberId, Outcome};

/// A centre's session: a later one ends all that was before. Of two centres at once the one with the greater number is
/// listened to, so there should be one. But no session of a centre that yields ends one of a centre that does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Session {
    insists: bool,
    number: u64,
    centre: MemberId,
}

/// A host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    session: Option<Session>,
    candidacy: Candidacy,
    /// The last round in which it replied, and may have been elected since; 0 if it cannot.
    replied: u32,
    /// The heartbeats before this number are old.
    next_beat: u32,
    /// When it last heard its centre.
    heard_at: Instant,
    /// Until when seats may be held that its centre's last word let stand.
    seats_until: Instant,
    /// Whether it goes over to no centre that yields until then: not if its centre has let go of all seats.
    is_bound: bool,
    /// The same of sessions before.
    former_until: Instant,
    class: u16,
    /// Bolot's, for the session.
    key: u16,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It holds no seat.
    Unseated,
    /// It holds this one. While there are leases, [`Timer::LeaseDue`] runs.
    Seated(u8),
}

impl Host {
    pub(super) fn new(class: u16) -> Self {
        Self {
            session: None,
            candidacy: Candidacy::default(),
            replied: 0,
            next_beat: 0,
            heard_at: Instant::START,
            seats_until: Instant::START,
            is_bound: false,
            former_until: Instant::START,
            class,
            key: 0,
            phase: Phase::Unseated,
        }
    }

    /// The seat that it holds.
    pub fn seat(&self) -> Option<u8> {
        match self.phase {
            Phase::Unseated => None,
            Phase::Seated(place) => Some(place),
        }
    }

    /// What it remembers of the election.
    pub fn candidacy(&self) -> &Candidacy {
        &self.candidacy
    }
}

// Handlers.
impl Host {
    /// It comes up, and knows nothing of what was before.
    pub(super) fn on_start(&mut self, io: &mut impl Io<Council>) {
        self.rise(io);
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
        self.keep_in_touch(io);
        match message {
            Message::Feedback(feedback) => self.on_feedback(&feedback, io),
            Message::Standing(standing) => self.on_standing(standing, io),
            Message::Seat(seat) => self.on_seat(seat, io),
            Message::Reply(_) | Message::Present(_) | Message::Farewell(_) => {} // not for hosts
        }
    }

    /// The centre was heard. If it was not for a lease, it may have come to believe that few are there.
    #[inline]
    fn keep_in_touch(&mut self, io: &mut impl Io<Council>) {
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

    /// Whether a message is of the present session: a new one begins with its first message.
    #[inline]
    fn is_current(&mut self, number: u64, centre: MemberId, io: &mut impl Io<Council>) -> bool {
        if io.config().centre.is_some_and(|it| it != centre) {
            return false; // not who may call
        }
        let session = Session {
            insists: !io.config().yields,
            number,
            centre,
        };
        if let Some(own) = self.session.filter(|it| it.centre != centre) {
            let is_over = !self.is_bound || io.now() >= self.seats_until;
            if !session.insists && !is_over {
                self.stay(own, centre, io);
                return false;
            }
        }
        // Where its own is over a guest may call, whose number is the greater: it began later.
        let is_later = match self.session {
            Some(own) if session.insists == own.insists => session > own,
            Some(own) => session.insists || number > own.number,
            None => true,
        };
        let session = Some(session);
        if is_later {
            self.rise(io);
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

    /// Another centre calls that gives way to any: whoever is seated tells it that there are seats. Those are few.
    fn stay(&self, own: Session, guest: MemberId, io: &mut impl Io<Council>) {
        if let Phase::Seated(place) = self.phase {
            io.unicast(guest, Message::Present(self.held(own, place)));
        }
    }

    #[inline]
    fn on_feedback(&mut self, feedback: &Feedback, io: &mut impl Io<Council>) {
        let Some(call) = Call::of(feedback, io.config()) else {
            return;
        };
        let steps = io.config().steps();
        let number = call.number(&mut self.candidacy, feedback.round, steps);
        match self.phase {
            Phase::Seated(_) if feedback.seated > 0 => {
                return self.candidacy.sit_out(feedback.round);
            }
            Phase::Seated(_) => self.rise(io),
            Phase::Unseated => {}
        }
        if !call.admits(io.me(), feedback.floor, self.key) {
            return self.candidacy.sit_out(feedback.round);
        }
        let algorithm = io.config().algorithm;
        let rounds = (feedback.round, feedback.base);
        if self.candidacy.recall(algorithm, rounds, call.content) {
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

    /// A frame that was recorded may be repeated, to anybody: only who stood for election, and is meant, takes the seat.
    fn on_seat(&mut self, seat: Seat, io: &mut impl Io<Council>) {
        if seat.host != io.me().id {
            return;
        }
        match self.phase {
            Phase::Unseated if self.replied == 0 || seat.round < self.replied => {} // of an election before
            Phase::Unseated => self.sit(seat.place, io),
            Phase::Seated(place) if place == seat.place => self.confirm(place, io), // told again
            Phase::Seated(_) => {} // the centre has given its seat up, and the heartbeat will say so
        }
    }

    fn on_standing(&mut self, standing: Standing, io: &mut impl Io<Council>) {
        self.next_beat = standing.beat.saturating_add(1);
        self.is_bound = standing.places != 0;
        if let Phase::Seated(place) = self.phase {
            let stands = place < 128 && standing.places >> place & 1 == 1;
            match stands {
                true => self.confirm(place, io),
                false => self.rise(io),
            }
        }
    }

    pub(super) fn on_lease_due(&mut self, io: &mut impl Io<Council>) {
        self.rise(io);
    }

    pub(super) fn on_leave(&mut self, io: &mut impl Io<Council>) {
        if let (Phase::Seated(place), Some(session)) = (self.phase, self.session) {
            let farewell = Message::Farewell(self.held(session, place));
            io.unicast(session.centre, farewell);
            self.rise(io);
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
                merit: io.me().merit,
                former: self.former_until - io.now(),
            };
            io.unicast(session.centre, Message::Reply(reply));
        }
    }

    /// Takes its seat.
    fn sit(&mut self, place: u8, io: &mut impl Io<Council>) {
        self.phase = Phase::Seated(place);
        io.report(Outcome::Council(Change::Seated { place }));
        self.confirm(place, io);
    }

    /// Keeps its seat for another lease, and says so.
    fn confirm(&mut self, place: u8, io: &mut impl Io<Council>) {
        if let Some(lease) = io.config().lease {
            io.arm(Timer::LeaseDue, lease.lasts);
        }
        if let Some(session) = self.session {
            let present = Message::Present(self.held(session, place));
            io.unicast(session.centre, present);
        }
    }

    /// Gives up its seat, if it has one. Whoever gave it that seat must give it another: the word with which it did may
    /// come again.
    fn rise(&mut self, io: &mut impl Io<Council>) {
        if let Phase::Seated(_) = self.phase {
            self.phase = Phase::Unseated;
            self.replied = 0;
            self.next_beat = self.next_beat.saturating_add(1);
            io.disarm(Timer::LeaseDue);
            io.report(Outcome::Council(Change::Unseated));
        }
    }

    fn held(&self, session: Session, place: u8) -> Held {
        Held {
            session: session.number,
            class: self.class,
            place,
        }
    }
}
