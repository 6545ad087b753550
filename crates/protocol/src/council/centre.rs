//! The centre: it calls the hosts round by round, seats those who are elected, and sees that the seats stay filled.

use super::bench::Seated;
use super::election::Election;
use super::house::{House, Phase};
use super::pace::Pace;
use super::{Cause, Config, Council, Held, Message, Reply, Request, Saved, Standing, Timer};
use crate::{Duration, Instant, Io, MemberId};

/// The centre.
#[derive(Debug, Clone)]
pub struct Centre {
    /// The least number that a session may have.
    session: u64,
    /// Whether a session was before this one: its seats may still be held.
    is_restart: bool,
    /// The number of the last heartbeat.
    beat: u32,
    /// Whether [`Timer::RoundDue`] runs. All classes have their rounds at the same times.
    is_ticking: bool,
    /// How long rounds last.
    pace: Pace,
    /// One for each class.
    houses: Vec<House>,
}

/// One that is seated, as the centre knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// Of which class of hosts.
    pub class: u16,
    /// Who.
    pub member: MemberId,
    /// In which place.
    pub place: u8,
    /// When it was last heard, or seated.
    pub heard: Instant,
    /// Whether it has ever said that it holds the seat.
    pub is_confirmed: bool,
}

impl Centre {
    pub(super) fn new(session: u64, saved: Option<Saved>) -> Self {
        Self {
            session: saved.map_or(session, |it| session.max(it.session.saturating_add(1))),
            is_restart: saved.is_some(),
            beat: 0,
            is_ticking: false,
            pace: Pace::default(),
            houses: Vec::new(),
        }
    }

    /// The number of its session.
    pub fn session(&self) -> u64 {
        self.session
    }

    /// Who is seated, by class.
    pub fn seats(&self) -> impl Iterator<Item = (u16, MemberId)> {
        let houses = self.houses.iter();
        houses.flat_map(|it| it.bench.seats().iter().map(|seat| (it.class, seat.member)))
    }

    /// The same, with what is known of each.
    pub fn holders(&self) -> impl Iterator<Item = Holder> {
        let of_house = |house: &House| {
            let class = house.class;
            let seats = house.bench.seats().iter();
            let holder = move |seat: &Seated| Holder {
                class,
                member: seat.member,
                place: seat.place,
                heard: seat.heard,
                is_confirmed: seat.is_confirmed,
            };
            seats.map(holder).collect::<Vec<_>>()
        };
        self.houses.iter().flat_map(of_house)
    }

    /// Whether all councils stand: no election is under way.
    pub fn is_settled(&self) -> bool {
        let mut houses = self.houses.iter();
        !self.houses.is_empty() && houses.all(|it| it.phase == Phase::Settled)
    }

    /// How many rounds there were, of all classes together.
    pub fn rounds(&self) -> u64 {
        self.houses.iter().map(|it| u64::from(it.round)).sum()
    }

    /// The round of a class that is under way: replies to it count. To others they are late.
    pub fn polling(&self, class: u16) -> Option<u32> {
        let house = self.houses.get(usize::from(class))?;
        (house.phase == Phase::Polling).then_some(house.round)
    }

    /// Why no honest host gives this reply: the centre does not count it, and no record should have it. None: it may have given it.
    pub fn fault_of(&self, from: MemberId, reply: &Reply, config: &Config) -> Option<Cause> {
        let house = self.houses.get(usize::from(reply.class))?;
        let is_now = reply.session == self.session;
        house.fault_of(from, reply, config).filter(|_| is_now)
    }

    /// Until when those who are elected wait for seats that another session gave, by what hosts say. None: nobody waits.
    pub fn awaits(&self) -> Option<Instant> {
        let waiting = self.houses.iter().filter(|it| it.is_awaiting());
        waiting.map(|it| it.former_until).max()
    }

    /// How long a round lasts now that is to last for `round`: longer where replies came late.
    pub fn waits(&self, round: Duration) -> Duration {
        self.pace.of(round)
    }

    fn is_polling(&self) -> bool {
        self.houses.iter().any(|it| it.phase == Phase::Polling)
    }
}

// Handlers.
impl Centre {
    /// Begins a session.
    pub(super) fn on_start(&mut self, io: &mut impl Io<Council>) {
        if !self.houses.is_empty() {
            (self.session, self.is_restart) = (self.session.saturating_add(1), true);
        }
        io.save(Saved {
            session: self.session,
        });
        self.beat = 0;
        let (knowledge, lease, round) = {
            let config = io.config();
            (config.knowledge, config.lease, config.round)
        };
        // Who was seated by a session before may not have heard of this one.
        let rest = match lease {
            Some(lease) if self.is_restart => (lease.lasts + round).0.div_ceil(round.0.max(1)),
            Some(_) | None => 0,
        };
        let classes = 0..io.config().chambers.len() as u16;
        self.houses = classes
            .map(|class| House::new(class, Phase::Resting(rest), Election::new(knowledge)))
            .collect();
        self.is_ticking = rest > 0;
        match self.is_ticking {
            true => io.arm(Timer::RoundDue, round),
            false => self.open_due(io),
        }
        if let Some(lease) = lease {
            io.arm(Timer::BeatDue, lease.beat);
        }
    }

    pub(super) fn on_message(
        &mut self,
        from: MemberId,
        message: Message,
        io: &mut impl Io<Council>,
    ) {
        let (session, class) = match message {
            Message::Reply(it) => (it.session, it.class),
            Message::Present(it) | Message::Farewell(it) => (it.session, it.class),
            // Another centre's: of two, hosts heed the later session.
            Message::Feedback(_) | Message::Seat(_) | Message::Standing(_) => return,
        };
        let house = self.houses.get_mut(usize::from(class));
        let Some(house) = house.filter(|_| session == self.session) else {
            return; // of a session before, or of a class that there is not
        };
        match message {
            Message::Reply(reply) => self.on_reply(from, reply, io),
            Message::Present(held) => {
                house.bench.confirm(from, held.place, io.now());
            }
            Message::Farewell(held) => self.on_farewell(from, held, io),
            Message::Feedback(_) | Message::Seat(_) | Message::Standing(_) => {} // see above
        }
    }

    fn on_reply(&mut self, from: MemberId, reply: Reply, io: &mut impl Io<Council>) {
        let house = &mut self.houses[usize::from(reply.class)];
        let Some(took) = house.on_reply(from, reply, io) else {
            return; // nobody knows when it was asked
        };
        let round = io.config().round;
        if self.pace.note(took, round) && self.is_polling() {
            // As slow as this one may those be who were asked since.
            let asked = self.houses.iter().filter(|it| it.phase == Phase::Polling);
            let asked_at = asked.filter_map(|it| it.asked_at(it.round)).max();
            let due = asked_at.map_or(io.now(), |at| at + self.pace.of(round));
            io.arm(Timer::RoundDue, due - io.now());
        }
    }

    fn on_farewell(&mut self, from: MemberId, held: Held, io: &mut impl Io<Council>) {
        let house = &mut self.houses[usize::from(held.class)];
        if house.bench.leave(from, held.place) {
            house.lose(io);
            self.open_due(io);
        }
    }

    /// The replies of a round are in.
    pub(super) fn on_round_due(&mut self, io: &mut impl Io<Council>) {
        let (was_polling, round) = (self.is_polling(), io.config().round);
        for house in &mut self.houses {
            house.on_round_due((self.session, self.beat), io);
        }
        if was_polling && !self.is_polling() {
            self.pace.end(round);
        }
        self.is_ticking = !self.is_settled();
        if self.is_ticking {
            self.arm_round(io);
        }
    }

    pub(super) fn on_beat_due(&mut self, io: &mut impl Io<Council>) {
        let (config_lease, margin) = (io.config().lease, io.config().round);
        let Some(lease) = config_lease else {
            return; // leases were done away with
        };
        self.beat = self.beat.saturating_add(1);
        for house in &mut self.houses {
            house.on_beat_due((self.session, self.beat), (lease, margin), io);
        }
        io.arm(Timer::BeatDue, lease.beat);
        self.open_due(io);
    }

    /// Lets go of all seats: without a centre they would only run out.
    pub(super) fn on_leave(&mut self, io: &mut impl Io<Council>) {
        let Self { session, beat, .. } = *self;
        for house in &self.houses {
            io.multicast(Message::Standing(Standing {
                session,
                class: house.class,
                beat: beat.saturating_add(1),
                places: 0,
            }));
        }
    }

    pub(super) fn on_request(&mut self, request: Request) {
        let Request::Members { class, number } = request;
        if let Some(house) = self.houses.get_mut(usize::from(class)) {
            house.election.learn(number);
        }
    }

    /// Begins the elections that are due, unless rounds are under way: then with the next.
    fn open_due(&mut self, io: &mut impl Io<Council>) {
        if self.is_ticking || self.is_settled() {
            return;
        }
        for house in &mut self.houses {
            if house.phase == Phase::Resting(0) {
                house.open(self.session, io);
            }
        }
        self.is_ticking = true;
        self.arm_round(io);
    }

    fn arm_round(&self, io: &mut impl Io<Council>) {
        let round = io.config().round;
        let lasts = match self.is_polling() {
            true => self.pace.of(round),
            false => round, // it rests, for so many of them
        };
        io.arm(Timer::RoundDue, lasts);
    }
}
