//! The centre's part in one class of hosts: an election, and the seats that came of it.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rand_core::Rng;

use super::audit::{Cause, Voice};
use super::bench::{Bench, Seated};
use super::calls::Calls;
use super::election::{Ask, Count, Election, Next};
use super::{
    Algorithm, Change, Config, Council, Feedback, Lease, Message, Refill, Reply, Search, Seat,
    Seats, Size, Standing,
};
use crate::scatter::scatter;
use crate::{Candidate, Duration, Instant, Io, MemberId, Outcome};

/// No longer than this does a centre wait for seats of an earlier session to run out, whatever hosts say.
const LONGEST_FORMER: Duration = Duration::from_secs(3600);

/// A centre that finds too few hosts time after time looks again after no longer than this, unless its lease is longer.
const LONGEST_REST: Duration = Duration::from_secs(60);

/// Of so many rounds it remembers when they began, and who replied: later replies than that tell nothing.
const REMEMBERED: u32 = 16;

/// Whether a reply to a round can still tell something when another one is the last.
pub(super) fn is_remembered(round: u32, last: u32) -> bool {
    round > last.saturating_sub(REMEMBERED)
}

/// The centre's part in one chamber.
#[derive(Debug, Clone)]
pub(super) struct House {
    pub(super) class: u16,
    pub(super) phase: Phase,
    /// The number of the last round.
    pub(super) round: u32,
    /// When the last rounds began.
    asked: Vec<(u32, Instant)>,
    /// What was asked in them, to tell the replies that a host can give from others.
    calls: Calls,
    pub(super) election: Election,
    replies: Vec<Answer>,
    /// Whose replies to the last rounds were counted, where late ones are.
    counted: BTreeSet<(u32, MemberId)>,
    /// Until when seats of an earlier session may be held, by what hosts say.
    pub(super) former_until: Instant,
    pub(super) bench: Bench,
    /// How often in a row too few hosts were found.
    rests: u32,
    /// How often the council has changed.
    version: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The council stands.
    Settled,
    /// A round is under way.
    Polling,
    /// Those who said yes in this draw of the last round are elected, and may be seated when seats of an earlier session are over. Not
    /// before the draw: a centre that could draw anew could do so until it likes what it gets.
    Awaiting(u8),
    /// It begins an election after so many more rounds.
    Resting(u64),
}

/// A reply to the present round.
#[derive(Debug, Clone, Copy)]
struct Answer {
    host: Candidate,
    draws: super::Draws,
    number: u32,
}

// Handlers.
impl House {
    pub(super) fn new(class: u16, phase: Phase, election: Election) -> Self {
        Self {
            class,
            phase,
            round: 0,
            asked: Vec::new(),
            calls: Calls::default(),
            election,
            replies: Vec::new(),
            counted: BTreeSet::new(),
            former_until: Instant::START,
            bench: Bench::default(),
            rests: 0,
            version: 0,
        }
    }

    /// Why no honest host gives this reply to this class. None: it may have given it.
    pub(super) fn fault_of(&self, from: MemberId, reply: &Reply, config: &Config) -> Option<Cause> {
        let voice = Voice {
            host: from,
            draws: reply.draws,
            number: reply.number,
        };
        self.calls.fault_of(reply.round, voice, config)
    }

    /// How long the reply took. None: it was asked too long ago, or no host can have replied so.
    pub(super) fn on_reply(
        &mut self,
        from: MemberId,
        reply: Reply,
        io: &impl Io<Council>,
    ) -> Option<Duration> {
        let asked_at = self.asked_at(reply.round)?;
        // A lie must not steer the election: what a host says of its number counts for the number of hosts.
        if self.fault_of(from, &reply, io.config()).is_some() {
            return None;
        }
        let former_until = io.now() + reply.former.min(LONGEST_FORMER);
        self.former_until = self.former_until.max(former_until);
        if self.phase == Phase::Polling && reply.round == self.round {
            if !self.bench.has(from) {
                let merit = reply.merit;
                self.replies.push(Answer {
                    host: Candidate { merit, id: from },
                    draws: reply.draws,
                    number: reply.number,
                });
            }
        } else if io.config().search == Search::Guarded && self.counted.insert((reply.round, from))
        {
            let late = (reply.round, reply.draws, reply.number);
            self.election.hear_late(late, io.config());
        }
        Some(io.now() - asked_at)
    }

    pub(super) fn asked_at(&self, round: u32) -> Option<Instant> {
        let asked = self.asked.iter().find(|it| it.0 == round);
        asked.map(|it| it.1)
    }

    pub(super) fn is_awaiting(&self) -> bool {
        matches!(self.phase, Phase::Awaiting(_))
    }

    pub(super) fn on_round_due(&mut self, (session, beat): (u64, u32), io: &mut impl Io<Council>) {
        match self.phase {
            Phase::Settled => {}
            Phase::Resting(0) => self.open(session, io),
            Phase::Resting(rounds) => self.phase = Phase::Resting(rounds - 1),
            Phase::Polling => self.on_count((session, beat), io),
            Phase::Awaiting(draw) => self.on_elected(draw, (session, beat), io),
        }
    }

    fn on_count(&mut self, (session, beat): (u64, u32), io: &mut impl Io<Council>) {
        let Some((wanted, c)) = self.wanted(io) else {
            return self.settle(io); // the configuration has changed, and these are enough
        };
        let by_merit = io.config().algorithm == Algorithm::Merit;
        // Of a host that replied twice the first reply counts, as it does in the record; the best first, where that matters.
        self.replies.sort_by_key(|it| it.host.id);
        self.replies.dedup_by_key(|it| it.host.id);
        if io.config().search == Search::Guarded {
            let heard = self.replies.iter().map(|it| (self.round, it.host.id));
            self.counted.extend(heard);
        }
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
            Next::Elected(draw) => self.on_elected(draw, (session, beat), io),
            Next::Rest => self.rest(io),
        }
    }

    /// Seats whom it may: a centre before this one may have given seats for longer than this one has waited.
    fn on_elected(&mut self, draw: u8, (session, beat): (u64, u32), io: &mut impl Io<Council>) {
        let Some((wanted, _)) = self.wanted(io) else {
            return self.settle(io);
        };
        let has_leases = io.config().lease.is_some();
        match has_leases && self.former_until > io.now() {
            true => self.phase = Phase::Awaiting(draw),
            false => self.appoint(draw, wanted, (session, beat), io),
        }
    }

    pub(super) fn on_beat_due(
        &mut self,
        (session, beat): (u64, u32),
        (lease, margin): (Lease, Duration),
        io: &mut impl Io<Council>,
    ) {
        if self.bench.expire(lease, margin, io.now()) {
            self.lose(io);
        }
        // Who calls once keeps nothing, and who restarts would not end with more.
        let tops_up = lease.refill == Refill::TopUp && !io.config().yields;
        if tops_up && self.phase == Phase::Settled && self.wanted(io).is_some() {
            self.phase = Phase::Resting(0); // an election may end with fewer than are to be kept
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

// Transitions.
impl House {
    /// Begins an election, if as many places are free as are wanted at least.
    pub(super) fn open(&mut self, session: u64, io: &mut impl Io<Council>) {
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
        self.asked.retain(|it| is_remembered(it.0, self.round));
        self.asked.push((self.round, io.now()));
        let oldest = self.round.saturating_sub(REMEMBERED);
        self.counted = self.counted.split_off(&(oldest, MemberId(0)));
        io.report(Outcome::Standing { round: self.round });
        let feedback = Feedback {
            session,
            class: self.class,
            round: self.round,
            base: ask.base,
            seated: self.bench.len() as u16,
            word: ask.content.encode(io.config().algorithm),
            floor: ask.floor,
        };
        self.calls.push(&feedback, io.config());
        io.multicast(Message::Feedback(feedback));
    }

    /// Seats those who are elected.
    fn appoint(
        &mut self,
        draw: u8,
        wanted: Seats,
        (session, beat): (u64, u32),
        io: &mut impl Io<Council>,
    ) {
        self.rests = 0;
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

    /// There are too few hosts: looks again later, and each time after twice as long, as nobody may ever come; or all hear
    /// this centre, and it hears none of them. Who calls once does not wait for so long.
    fn rest(&mut self, io: &mut impl Io<Council>) {
        let config = io.config();
        let first = first_rest(config);
        let doubled = first.0.saturating_mul(1 << self.rests.min(16));
        let rest = match config.yields {
            true => first,
            false => Duration(doubled.min(LONGEST_REST.0)).max(first),
        };
        self.rests = self.rests.saturating_add(1);
        self.election.forget(config.knowledge);
        self.phase = Phase::Resting(in_rounds(rest, config));
    }

    /// A seat, or more, has fallen empty.
    pub(super) fn lose(&mut self, io: &mut impl Io<Council>) {
        self.tell(io);
        let (lease, margin) = (io.config().lease, io.config().round);
        self.rests = 0;
        if let Phase::Resting(left) = self.phase {
            // It is worse off than when it last looked.
            self.phase = Phase::Resting(left.min(in_rounds(first_rest(io.config()), io.config())));
        }
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

/// For how long a centre rests that has found too few hosts.
fn first_rest(config: &Config) -> Duration {
    config.lease.map_or(config.round * 16, |it| it.lasts)
}

fn in_rounds(rest: Duration, config: &Config) -> u64 {
    rest.0.div_ceil(config.round.0.max(1))
}
