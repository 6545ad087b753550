//! The centre: calls the hosts round by round, seats the elected ones, and keeps the seats filled.

use super::class_election::{ClassElection, Phase};
use super::election::Election;
use super::round_timeout::RoundTimeout;
use super::seat_table::Holder;
use super::{
    Cause, Config, Council, Message, Reply, Request, SavedSession, SeatClaim, Standing, Timer,
};
use crate::{Duration, Instant, Io, MemberId};

/// The centre.
#[derive(Debug, Clone, Default)]
pub struct Centre {
    /// Before the start the least number that the session may have, then its number.
    session: u64,
    /// True if there was an earlier session: its seats may still be held.
    is_restart: bool,
    /// The number of the last heartbeat.
    beat: u32,
    /// True if [`Timer::RoundDue`] runs. All classes have their rounds at the same times.
    is_ticking: bool,
    /// The length of rounds.
    round_timeout: RoundTimeout,
    /// One for each class.
    class_elections: Vec<ClassElection>,
}

impl Centre {
    pub(super) fn new(session: u64, saved: Option<SavedSession>) -> Self {
        Self {
            session: saved.map_or(session, |it| session.max(it.session.saturating_add(1))),
            is_restart: saved.is_some(),
            ..Self::default()
        }
    }

    /// The number of its session.
    pub fn session(&self) -> u64 {
        self.session
    }

    /// The seated hosts, with their classes.
    pub fn seats(&self) -> impl Iterator<Item = (u16, MemberId)> {
        self.holders().map(|it| (it.class, it.member))
    }

    /// The seated hosts, with the centre's knowledge of each.
    pub fn holders(&self) -> impl Iterator<Item = Holder> {
        self.class_elections.iter().flat_map(|it| it.seat_table.seats()).copied()
    }

    /// True if all councils stand: no election is running.
    pub fn is_settled(&self) -> bool {
        let mut class_elections = self.class_elections.iter();
        !self.class_elections.is_empty() && class_elections.all(|it| it.phase == Phase::Settled)
    }

    /// The number of rounds, of all classes together.
    pub fn rounds(&self) -> u64 {
        self.class_elections.iter().map(|it| u64::from(it.round)).sum()
    }

    /// The running round of a class: replies to it count. Replies to other rounds are late.
    pub fn polling(&self, class: u16) -> Option<u32> {
        let class_election = self.class_elections.get(usize::from(class))?;
        (class_election.phase == Phase::Polling).then_some(class_election.round)
    }

    /// The reason why no honest host gives this reply: the centre does not count it, and no record
    /// should contain it. `None`: a host may have given it.
    pub fn fault_of(&self, from: MemberId, reply: &Reply, config: &Config) -> Option<Cause> {
        let class_election = self.class_elections.get(usize::from(reply.class))?;
        let is_now = reply.session == self.session;
        class_election.fault_of(from, reply, config).filter(|_| is_now)
    }

    /// The time until which elected hosts wait for seats of another session to end, by the hosts'
    /// replies. `None`: no host waits.
    pub fn awaits(&self) -> Option<Instant> {
        let waiting = self.class_elections.iter().filter(|it| it.is_awaiting());
        waiting.map(|it| it.former_until).max()
    }

    /// The present length of a round that is configured as `round`: longer if replies came late.
    pub fn waits(&self, round: Duration) -> Duration {
        self.round_timeout.of(round)
    }

    fn is_polling(&self) -> bool {
        self.class_elections.iter().any(|it| it.phase == Phase::Polling)
    }
}

// Handlers.
impl Centre {
    /// Begins a session.
    pub(super) fn on_start(&mut self, io: &mut impl Io<Council>) {
        if !self.class_elections.is_empty() {
            (self.session, self.is_restart) = (self.session.saturating_add(1), true);
        }
        io.save(SavedSession { session: self.session });
        self.beat = 0;
        let (knowledge, lease, round) = {
            let config = io.config();
            (config.knowledge, config.lease, config.round)
        };
        // Hosts seated by an earlier session may not know of this one.
        let rest = match lease {
            Some(lease) if self.is_restart => (lease.lasts + round).0.div_ceil(round.0.max(1)),
            Some(_) | None => 0,
        };
        let classes = 0..io.config().chambers.len() as u16;
        self.class_elections = classes
            .map(|class| ClassElection::new(class, Phase::Resting(rest), Election::new(knowledge)))
            .collect();
        self.is_ticking = rest > 0;
        if self.is_ticking {
            io.arm(Timer::RoundDue, round);
        } else {
            self.open_due(io);
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
            // Messages of another centre: hosts follow the later session.
            Message::Feedback(_) | Message::Seat(_) | Message::Standing(_) => return,
        };
        let class_election = self.class_elections.get_mut(usize::from(class));
        let Some(class_election) = class_election.filter(|_| session == self.session) else {
            return; // of an earlier session, or an unknown class
        };
        match message {
            Message::Reply(reply) => self.on_reply(from, reply, io),
            Message::Present(held) => {
                class_election.seat_table.confirm(from, held.place, io.now());
            }
            Message::Farewell(held) => self.on_farewell(from, held, io),
            Message::Feedback(_) | Message::Seat(_) | Message::Standing(_) => {} // see above
        }
    }

    fn on_reply(&mut self, from: MemberId, reply: Reply, io: &mut impl Io<Council>) {
        let class_election = &mut self.class_elections[usize::from(reply.class)];
        let Some(took) = class_election.on_reply(from, reply, io) else {
            return; // the round is too long ago, or the reply is impossible
        };
        let round = io.config().round;
        if self.round_timeout.note(took, round) && self.is_polling() {
            // Replies to later calls may be as slow as this one.
            let asked = self.class_elections.iter().filter(|it| it.phase == Phase::Polling);
            let asked_at = asked.filter_map(|it| it.asked_at(it.round)).max();
            let due = asked_at.map_or(io.now(), |at| at + self.round_timeout.of(round));
            io.arm(Timer::RoundDue, due - io.now());
        }
    }

    fn on_farewell(&mut self, from: MemberId, held: SeatClaim, io: &mut impl Io<Council>) {
        let class_election = &mut self.class_elections[usize::from(held.class)];
        if class_election.seat_table.leave(from, held.place) {
            class_election.on_seats_lost(io);
            self.open_due(io);
        }
    }

    /// Counts the replies of a round.
    pub(super) fn on_round_due(&mut self, io: &mut impl Io<Council>) {
        let (was_polling, round) = (self.is_polling(), io.config().round);
        for class_election in &mut self.class_elections {
            class_election.on_round_due((self.session, self.beat), io);
        }
        if was_polling && !self.is_polling() {
            self.round_timeout.end(round);
        }
        self.is_ticking = !self.is_settled();
        if self.is_ticking {
            self.arm_round(io);
        }
    }

    pub(super) fn on_beat_due(&mut self, io: &mut impl Io<Council>) {
        let (config_lease, margin) = (io.config().lease, io.config().round);
        let Some(lease) = config_lease else {
            return; // the configuration no longer has leases
        };
        self.beat = self.beat.saturating_add(1);
        for class_election in &mut self.class_elections {
            class_election.on_beat_due((self.session, self.beat), (lease, margin), io);
        }
        io.arm(Timer::BeatDue, lease.beat);
        self.open_due(io);
    }

    /// Releases all seats: without a centre they would only expire.
    pub(super) fn on_leave(&mut self, io: &mut impl Io<Council>) {
        let Self { session, beat, .. } = *self;
        for class_election in &self.class_elections {
            io.multicast(Message::Standing(Standing {
                session,
                class: class_election.class,
                beat: beat.saturating_add(1),
                places: 0,
            }));
        }
    }

    pub(super) fn on_request(&mut self, request: Request) {
        let Request::Members { class, number } = request;
        if let Some(class_election) = self.class_elections.get_mut(usize::from(class)) {
            class_election.election.learn(number);
        }
    }

    /// Begins the elections that are due. While rounds are running they begin with the next one.
    fn open_due(&mut self, io: &mut impl Io<Council>) {
        if self.is_ticking || self.is_settled() {
            return;
        }
        for class_election in &mut self.class_elections {
            if class_election.phase == Phase::Resting(0) {
                class_election.open(self.session, io);
            }
        }
        self.is_ticking = true;
        self.arm_round(io);
    }

    fn arm_round(&self, io: &mut impl Io<Council>) {
        let round = io.config().round;
        let lasts = if self.is_polling() {
            self.round_timeout.of(round)
        } else {
            round // rests are counted in configured rounds
        };
        io.arm(Timer::RoundDue, lasts);
    }
}
