//! The centre: it calls the hosts round by round, seats those who are elected, and sees that the seats stay filled.

use std::cmp::Reverse;

use rand_core::Rng;

use super::bench::{Bench, Seated};
use super::election::{Ask, Count, Election, Next};
use super::{
    Algorithm, Change, Council, Feedback, Held, Lease, Message, Refill, Reply, Request, Saved,
    Seat, Seats, Size, Standing, Timer,
};
use crate::scatter::scatter;
use crate::{Candidate, Duration, Instant, Io, MemberId, Outcome};

/// No longer than this does a centre wait for seats of an earlier session to run out, whatever hosts say.
const LONGEST_FORMER: Duration = Duration::from_secs(3600);

/// The centre.
#[derive(Debug, Clone)]
pub struct Centre {
    /// The least number that this session may have.
    session: u64,
    /// Whether a session was before this one: its seats may still be held.
    is_restart: bool,
    /// The number of the last heartbeat.
    beat: u32,
    /// Whether [`Timer::RoundDue`] runs. All classes have their rounds at the same times.
    is_ticking: bool,
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

/// The centre's part in one chamber.
#[derive(Debug, Clone)]
struct House {
    class: u16,
    phase: Phase,
    /// The number of the last round.
    round: u32,
    election: Election,
    replies: Vec<Answer>,
    bench: Bench,
    /// How often the council has changed.
    version: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The council stands.
    Settled,
    /// A round is under way.
    Polling,
    /// It begins an election after so many more rounds.
    Resting(u64),
}

/// A reply to the present round.
#[derive(Debug, Clone, Copy)]
struct Answer {
    host: Candidate,
    draws: super::Draws,
    number: u32,
    former: Duration,
}

impl Centre {
    pub(super) fn new(session: u64, saved: Option<Saved>) -> Self {
        Self {
            session: saved.map_or(session, |it| session.max(it.session.saturating_add(1))),
            is_restart: saved.is_some(),
            beat: 0,
            is_ticking: false,
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
            Message::Reply(reply) => house.on_reply(from, reply),
            Message::Present(held) => {
                house.bench.confirm(from, held.place, io.now());
            }
            Message::Farewell(held) => self.on_farewell(from, held, io),
            Message::Feedback(_) | Message::Seat(_) | Message::Standing(_) => {} // see above
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
        for house in &mut self.houses {
            house.on_round_due((self.session, self.beat), io);
        }
        self.is_ticking = !self.is_settled();
        if self.is_ticking {
            io.arm(Timer::RoundDue, io.config().round);
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
        io.arm(Timer::RoundDue, io.config().round);
    }
}

// One chamber: handlers.
impl House {
    fn new(class: u16, phase: Phase, election: Election) -> Self {
        Self {
            class,
            phase,
            round: 0,
            election,
            replies: Vec::new(),
            bench: Bench::default(),
            version: 0,
        }
    }

    fn on_reply(&mut self, from: MemberId, reply: Reply) {
        if self.phase == Phase::Polling && reply.round == self.round && !self.bench.has(from) {
            let merit = reply.merit;
            self.replies.push(Answer {
                host: Candidate { merit, id: from },
                draws: reply.draws,
                number: reply.number,
                former: reply.former,
            });
        }
    }

    fn on_round_due(&mut self, (session, beat): (u64, u32), io: &mut impl Io<Council>) {
        match self.phase {
            Phase::Settled => {}
            Phase::Resting(0) => self.open(session, io),
            Phase::Resting(rounds) => self.phase = Phase::Resting(rounds - 1),
            Phase::Polling => self.on_count((session, beat), io),
        }
    }

    fn on_count(&mut self, (session, beat): (u64, u32), io: &mut impl Io<Council>) {
        let Some((wanted, c)) = self.wanted(io) else {
            return self.settle(io); // the configuration has changed, and these are enough
        };
        if let Some(rounds) = self.former_rounds(io) {
            // A centre before this one has given seats for longer than this one has waited.
            self.phase = Phase::Resting(rounds);
            return;
        }
        let by_merit = io.config().algorithm == Algorithm::Merit;
        // A reply that came twice is one; the best first, where that matters.
        self.replies.sort_unstable_by_key(|it| it.host.id);
        self.replies.dedup_by_key(|it| it.host.id);
        let mut best_first = Vec::new();
        if by_merit {
            self.replies.sort_unstable_by_key(|it| Reverse(it.host));
            best_first.extend(self.replies.iter().map(|it| it.host));
        }
        let yes = |draw| {
            let yes = self.replies.iter().filter(|it| it.draws.has(draw));
            yes.count() as u32
        };
        let most = self.election.most_drawn_by(io.config());
        let numbers = |draw| {
            let yes = self.replies.iter().filter(|it| it.draws.has(draw));
            yes.map(|it| f64::from(it.number).clamp(c, most.max(c)))
                .sum()
        };
        let count = Count {
            yes: [yes(0), yes(1)],
            numbers: [numbers(0), numbers(1)],
            best_first: &best_first,
            round: self.round,
            wanted,
            enough: self.missing(io).max(1),
            c,
        };
        match self.election.count(count, io.config()) {
            Next::Ask(ask) => self.ask(ask, session, io),
            Next::Elected(draw) => self.appoint(draw, wanted, (session, beat), io),
            Next::Rest => self.rest(io),
        }
    }

    /// How many rounds the seats of an earlier session may last yet, by what hosts say. None: they are over.
    fn former_rounds(&self, io: &impl Io<Council>) -> Option<u64> {
        io.config().lease?;
        let longest = self.replies.iter().map(|it| it.former).max()?;
        let rounds = longest
            .min(LONGEST_FORMER)
            .0
            .div_ceil(io.config().round.0.max(1));
        (rounds > 0).then_some(rounds)
    }

    fn on_beat_due(
        &mut self,
        (session, beat): (u64, u32),
        (lease, margin): (Lease, Duration),
        io: &mut impl Io<Council>,
    ) {
        if self.bench.expire(lease, margin, io.now()) {
            self.lose(io);
        }
        for seat in self.bench.seats().iter().filter(|it| !it.is_confirmed) {
            io.unicast(seat.member, self.seat(seat, session, beat));
        }
        io.multicast(Message::Standing(Standing {
            session,
            class: self.class,
            beat,
            places: self.bench.places(),
        }));
    }

    /// How many are wanted, and `c` for that.
    fn wanted(&self, io: &impl Io<Council>) -> Option<(Seats, f64)> {
        let chamber = io.config().chamber(self.class)?;
        let seated = self.bench.len();
        Some((chamber.wanted(seated)?, chamber.c(seated)))
    }

    /// How many must be seated for a council.
    fn missing(&self, io: &impl Io<Council>) -> u32 {
        let chamber = io.config().chamber(self.class);
        chamber.map_or(0, |it| it.seats.least.saturating_sub(self.bench.len()))
    }

    fn seat(&self, seated: &Seated, session: u64, beat: u32) -> Message {
        Message::Seat(Seat {
            session,
            class: self.class,
            host: seated.member,
            round: seated.round,
            place: seated.place,
            beat,
        })
    }
}

// One chamber: transitions.
impl House {
    /// Begins an election, if as many places are free as are wanted at least.
    fn open(&mut self, session: u64, io: &mut impl Io<Council>) {
        let Some((wanted, c)) = self.wanted(io) else {
            return self.settle(io);
        };
        if self.bench.free(wanted.most, io.now()) < wanted.least {
            self.phase = Phase::Resting(0);
            return;
        }
        let key = match io.config().algorithm {
            Algorithm::Bolot => io.rng().next_u64() as u16,
            Algorithm::Naive
            | Algorithm::Basic
            | Algorithm::SkipReset
            | Algorithm::Choice(_, _)
            | Algorithm::History { .. }
            | Algorithm::Merit => 0,
        };
        let ask = self.election.open(io.config(), (wanted, c), key);
        self.ask(ask, session, io);
    }

    /// Begins a round.
    fn ask(&mut self, ask: Ask, session: u64, io: &mut impl Io<Council>) {
        self.phase = Phase::Polling;
        self.round = self.round.saturating_add(1); // one a second are enough for 136 years
        self.replies.clear();
        io.report(Outcome::Standing { round: self.round });
        io.multicast(Message::Feedback(Feedback {
            session,
            class: self.class,
            round: self.round,
            base: ask.base,
            seated: self.bench.len() as u16,
            word: ask.content.encode(io.config().algorithm),
            floor: ask.floor,
        }));
    }

    /// Seats those who are elected.
    fn appoint(
        &mut self,
        draw: u8,
        wanted: Seats,
        (session, beat): (u64, u32),
        io: &mut impl Io<Council>,
    ) {
        let mut elected: Vec<MemberId> = Vec::new();
        let yes = self.replies.iter().filter(|it| it.draws.has(draw));
        elected.extend(yes.map(|it| it.host.id));
        if io.config().algorithm != Algorithm::Merit {
            // Where not all find room: no favourites, and the same order for whoever looks again.
            let lot = scatter(session ^ scatter(u64::from(self.round)));
            elected.sort_unstable_by_key(|id| scatter(lot ^ id.0));
        }
        elected.truncate(self.bench.free(wanted.most, io.now()) as usize);
        for host in elected {
            if let Some(seated) = self.bench.seat(host, self.round, io.now()) {
                io.unicast(host, self.seat(&seated, session, beat));
            }
        }
        self.settle(io);
        // Seats may have fallen empty during the election, and their places not be free yet.
        if self.missing(io) > 0 && io.config().lease.is_some() {
            self.phase = Phase::Resting(0);
        }
    }

    /// The council stands.
    fn settle(&mut self, io: &mut impl Io<Council>) {
        self.phase = Phase::Settled;
        self.replies = Vec::new();
        self.tell(io);
    }

    /// There are too few hosts: looks again later.
    fn rest(&mut self, io: &mut impl Io<Council>) {
        let config = io.config();
        let rest = config.lease.map_or(config.round * 16, |it| it.lasts);
        self.election.forget(config.knowledge);
        self.phase = Phase::Resting(rest.0.div_ceil(config.round.0.max(1)));
    }

    /// A seat, or more, has fallen empty.
    fn lose(&mut self, io: &mut impl Io<Council>) {
        self.tell(io);
        let (lease, margin) = (io.config().lease, io.config().round);
        if self.phase != Phase::Settled || self.wanted(io).is_none() {
            return;
        }
        self.phase = Phase::Resting(0);
        if let Some(lease) = lease
            && lease.refill == Refill::Restart
        {
            self.bench.dissolve(lease, margin, io.now());
        }
    }

    /// Tells of a changed council.
    fn tell(&mut self, io: &mut impl Io<Council>) {
        self.version = self.version.saturating_add(1);
        let size = Size {
            class: self.class,
            seats: self.bench.len(),
            version: self.version,
        };
        let chamber = io.config().chamber(self.class);
        let is_council = chamber.is_some_and(|it| it.seats.contain(size.seats));
        io.report(Outcome::Council(match is_council {
            true => Change::Filled(size),
            false => Change::Short(size),
        }));
    }
}
