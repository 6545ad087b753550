//! A small world for a few members: every message takes one millisecond, unless a test says otherwise.

use std::collections::BTreeMap;

use hustings_protocol::tenure::{
    Config, Durable, Held, Message, Request, Role, Saved, Tenure, Timer,
};
use hustings_protocol::{
    Candidate, Duration, Input, Instant, Io, MemberId, Message as _, Outcome, Protocol, Roster,
    View,
};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub(crate) const DELAY: Duration = Duration::from_millis(1);

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Says what becomes of a message: how long each of its copies takes.
pub(crate) type Network = Box<dyn FnMut(MemberId, MemberId, &Message) -> Vec<Duration>>;

/// A few members, what they said, and what became of it.
pub(crate) struct Hall {
    pub(crate) seats: Vec<Seat>,
    pub(crate) now: Instant,
    pub(crate) network: Network,
    pub(crate) said: Vec<(MemberId, MemberId, Message)>,
    agenda: BTreeMap<(Instant, u64), Event>,
    events: u64,
}

/// A member, and what its `Io` is made of.
pub(crate) struct Seat {
    member: Tenure,
    stands: bool,
    pub(crate) disk: Disk,
    pub(crate) is_up: bool,
    pub(crate) outcomes: Vec<Outcome>,
    paper: Paper,
}

#[derive(Clone, Copy)]
pub(crate) enum Disk {
    /// It has no vote.
    None,
    Holds(Saved),
}

struct Paper {
    me: Candidate,
    config: Config,
    view: Roster,
    rng: Xoshiro256PlusPlus,
    /// How its clock's rate differs from real time's, in parts of a million.
    drift_ppm: i64,
    clock: Instant,
    /// Which arming of each timer counts.
    armed: [u64; 4],
    effects: Vec<Effect>,
    saves: u32,
}

#[derive(Clone, Copy)]
enum Effect {
    Send { to: MemberId, message: Message },
    Arm { timer: Timer, after: Duration },
    Save(Durable),
    Report(Outcome),
}

enum Event {
    Deliver {
        from: MemberId,
        to: MemberId,
        message: Message,
    },
    Ring {
        seat: usize,
        timer: Timer,
        arming: u64,
    },
}

impl Hall {
    /// Members 1, 2, ... up to `votes.len()` vote as they find their disks; members 11, 12, ... stand.
    pub(crate) fn new(config: &Config, votes: &[Saved], standing: u64, seed: u64) -> Self {
        let voters = (1..)
            .zip(votes)
            .map(|(id, saved)| (id, Disk::Holds(*saved), false));
        let nominees = (11..11 + standing).map(|id| (id, Disk::None, true));
        Self::with(config, voters.chain(nominees), seed)
    }

    /// Members 1, 2, 3 of a new group vote and stand.
    pub(crate) fn of_three(config: &Config, seed: u64) -> Self {
        let founding = Disk::Holds(Saved::Initialised(Durable::FOUNDING));
        Self::with(config, (1..=3).map(|id| (id, founding, true)), seed)
    }

    fn with(config: &Config, members: impl Iterator<Item = (u64, Disk, bool)>, seed: u64) -> Self {
        let seat = |(id, disk, stands): (u64, Disk, bool)| Seat {
            member: Tenure::new(Role::default()),
            stands,
            disk,
            is_up: false,
            outcomes: Vec::new(),
            paper: Paper {
                me: Candidate::new(id, id),
                config: config.clone(),
                view: Roster::alone(Candidate::new(id, id)),
                rng: Xoshiro256PlusPlus::seed_from_u64(seed ^ id << 32),
                drift_ppm: 0,
                clock: Instant::START,
                armed: [0; 4],
                effects: Vec::new(),
                saves: 0,
            },
        };
        let mut hall = Self {
            seats: members.map(seat).collect(),
            now: Instant::START,
            network: Box::new(|_, _, _| vec![DELAY]),
            said: Vec::new(),
            agenda: BTreeMap::new(),
            events: 0,
        };
        for seat in 0..hall.seats.len() {
            let id = hall.seats[seat].paper.me.id;
            hall.start(id.0);
        }
        hall
    }

    pub(crate) fn seat(&mut self, id: u64) -> &mut Seat {
        let at = self.place(MemberId(id));
        &mut self.seats[at]
    }

    fn place(&self, id: MemberId) -> usize {
        let place = self.seats.iter().position(|seat| seat.paper.me.id == id);
        place.expect("there is such a member")
    }

    /// Starts a member, for the first time or after [`Hall::crash`], with what is on its disk.
    pub(crate) fn start(&mut self, id: u64) {
        let seat = self.seat(id);
        let votes = match seat.disk {
            Disk::None => None,
            Disk::Holds(saved) => Some(saved),
        };
        seat.is_up = true;
        seat.member = Tenure::new(Role {
            votes,
            stands: seat.stands,
        });
        seat.paper.armed = seat.paper.armed.map(|arming| arming + 1);
        self.tell(id, Input::Start);
    }

    pub(crate) fn crash(&mut self, id: u64) {
        self.seat(id).is_up = false;
    }

    pub(crate) fn ask(&mut self, id: u64, request: Request) {
        self.tell(id, Input::Request(request));
    }

    pub(crate) fn hear(&mut self, from: u64, to: u64, message: Message) {
        let from = MemberId(from);
        self.tell(to, Input::Message { from, message });
    }

    pub(crate) fn tell(&mut self, id: u64, input: Input<Tenure>) {
        let at = self.place(MemberId(id));
        self.step(at, input);
    }

    /// What a member holds now.
    pub(crate) fn holds(&self, id: u64) -> Option<Held> {
        let seat = &self.seats[self.place(MemberId(id))];
        seat.member
            .holds(seat.paper.local(self.now))
            .filter(|_| seat.is_up)
    }

    /// Who holds now.
    pub(crate) fn holders(&self) -> Vec<u64> {
        let ids = self.seats.iter().map(|seat| seat.paper.me.id.0);
        ids.filter(|id| self.holds(*id).is_some()).collect()
    }

    /// How many messages of a kind were said.
    pub(crate) fn count(&self, kind: &str) -> usize {
        let is_kind = |message: &Message| Message::KINDS[message.kind()] == kind;
        self.said.iter().filter(|(_, _, it)| is_kind(it)).count()
    }

    /// How often members wrote to disk.
    pub(crate) fn saves(&self) -> Vec<u32> {
        self.seats.iter().map(|seat| seat.paper.saves).collect()
    }

    pub(crate) fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        while self.next(end) {}
        self.now = end;
    }

    /// Lets the next thing happen, if it does by `end`.
    pub(crate) fn next(&mut self, end: Instant) -> bool {
        let Some(entry) = self.agenda.first_entry().filter(|it| it.key().0 <= end) else {
            return false;
        };
        let ((at, _), event) = entry.remove_entry();
        self.now = at;
        match event {
            Event::Deliver { from, to, message } => {
                let at = self.place(to);
                self.step(at, Input::Message { from, message });
            }
            Event::Ring {
                seat,
                timer,
                arming,
            } => {
                if self.seats[seat].paper.armed[timer as usize] == arming {
                    self.step(seat, Input::Timer(timer));
                }
            }
        }
        true
    }

    fn step(&mut self, at: usize, input: Input<Tenure>) {
        let now = self.now;
        let seat = &mut self.seats[at];
        if !seat.is_up {
            return;
        }
        seat.paper.clock = seat.paper.local(now);
        seat.member.step(input, &mut seat.paper);
        for effect in std::mem::take(&mut seat.paper.effects) {
            self.carry_out(at, effect);
        }
    }

    fn carry_out(&mut self, at: usize, effect: Effect) {
        let seat = &mut self.seats[at];
        let from = seat.paper.me.id;
        match effect {
            Effect::Save(durable) => seat.disk = Disk::Holds(Saved::Initialised(durable)),
            Effect::Report(outcome) => seat.outcomes.push(outcome),
            Effect::Arm { timer, after } => {
                let after = seat.paper.real(after);
                let arming = seat.paper.armed[timer as usize];
                let ring = Event::Ring {
                    seat: at,
                    timer,
                    arming,
                };
                self.plan(after, ring);
            }
            Effect::Send { to, message } => {
                self.said.push((from, to, message));
                for delay in (self.network)(from, to, &message) {
                    self.plan(delay, Event::Deliver { from, to, message });
                }
            }
        }
    }

    fn plan(&mut self, after: Duration, event: Event) {
        self.events += 1;
        self.agenda.insert((self.now + after, self.events), event);
    }
}

impl Seat {
    pub(crate) fn drift(&mut self, ppm: i64) {
        self.paper.drift_ppm = ppm;
    }

    pub(crate) fn configure(&mut self, change: impl FnOnce(&mut Config)) {
        change(&mut self.paper.config);
    }
}

impl Paper {
    fn rate(&self) -> u128 {
        u128::try_from(1_000_000 + self.drift_ppm).expect("no clock goes backwards")
    }

    fn local(&self, now: Instant) -> Instant {
        Instant((u128::from(now.0) * self.rate() / 1_000_000) as u64)
    }

    fn real(&self, span: Duration) -> Duration {
        Duration((u128::from(span.0) * 1_000_000).div_ceil(self.rate()) as u64)
    }
}

impl Io<Tenure> for Paper {
    fn me(&self) -> Candidate {
        self.me
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn now(&self) -> Instant {
        self.clock
    }

    fn rng(&mut self) -> &mut impl Rng {
        &mut self.rng
    }

    fn view(&self) -> impl View {
        &self.view
    }

    fn unicast(&mut self, to: MemberId, message: Message) {
        assert_ne!(
            to, self.me.id,
            "no network brings a member its own messages"
        );
        self.effects.push(Effect::Send { to, message });
    }

    fn multicast(&mut self, _: Message) {
        panic!("tenure speaks to voters and nominees, never to all");
    }

    fn arm(&mut self, timer: Timer, after: Duration) {
        self.armed[timer as usize] += 1;
        self.effects.push(Effect::Arm { timer, after });
    }

    fn disarm(&mut self, timer: Timer) {
        self.armed[timer as usize] += 1;
    }

    fn save(&mut self, state: Durable) {
        self.saves += 1;
        self.effects.push(Effect::Save(state));
    }

    fn report(&mut self, outcome: Outcome) {
        self.effects.push(Effect::Report(outcome));
    }
}
