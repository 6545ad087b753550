//! The centre's part in one class of hosts: an election, and the resulting seats.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rand_core::Rng;

use super::audit::{Cause, Voice};
use super::calls::Calls;
use super::election::{Ask, Election, NextStep, RoundCount};
use super::seat_table::{Holder, SeatTable};
use super::{
    Algorithm, Change, Config, Council, CouncilOutcome, Feedback, Lease, Message, Refill, Reply,
    Search, Seat, Seats, Size, Standing,
};
use crate::mix64::mix64;
use crate::{Candidate, Duration, Instant, Io, MemberId};

/// The longest time that a centre waits for seats of an earlier session to expire, whatever hosts
/// report.
const LONGEST_FORMER: Duration = Duration::from_secs(3600);

/// The longest rest of a centre that repeatedly finds too few hosts, unless its lease is longer.
const LONGEST_REST: Duration = Duration::from_secs(60);

/// The number of rounds whose start and replies are kept: later replies are useless.
const REMEMBERED: u32 = 16;

/// True if a reply to `round` can still be evidence when `last` is the last round.
pub(super) fn is_remembered(round: u32, last: u32) -> bool {
    round > last.saturating_sub(REMEMBERED)
}

/// The centre's part in one chamber.
#[derive(Debug, Clone, Default)]
pub(super) struct ClassElection {
    pub(super) class: u16,
    pub(super) phase: Phase,
    /// The number of the last round.
    pub(super) round: u32,
    /// The start times of the last rounds.
    asked: Vec<(u32, Instant)>,
    /// The calls of the last rounds, to tell possible replies from impossible ones.
    calls: Calls,
    pub(super) election: Election,
    replies: Vec<Answer>,
    /// The counted replies to the last rounds, if late ones are counted.
    counted: BTreeSet<(u32, MemberId)>,
    /// The time until which seats of an earlier session may be held, by the hosts' replies.
    pub(super) former_until: Instant,
    pub(super) seat_table: SeatTable,
    /// The number of times in a row that too few hosts were found.
    rests: u32,
    /// The number of changes of the council.
    version: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// The council stands.
    #[default]
    Settled,
    /// A round is running.
    Polling,
    /// The hosts that said yes in this draw of the last round are elected, and are seated when
    /// seats of an earlier session are over. The wait comes after the draw: a centre that could
    /// draw anew could do so until it likes the result.
    Awaiting(u8),
    /// An election begins after this number of rounds.
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
impl ClassElection {
    pub(super) fn new(class: u16, phase: Phase, election: Election) -> Self {
        Self { class, phase, election, ..Self::default() }
    }

    /// The reason why no honest host of this class gives this reply. `None`: it may have given it.
    pub(super) fn fault_of(&self, from: MemberId, reply: &Reply, config: &Config) -> Option<Cause> {
        let voice = Voice { host: from, draws: reply.draws, number: reply.number };
        self.calls.fault_of(reply.round, voice, config)
    }

    /// Returns the time that the reply took. `None`: its round is too long ago, or the reply is
    /// impossible.
    pub(super) fn on_reply(
        &mut self,
        from: MemberId,
        reply: Reply,
        io: &impl Io<Council>,
    ) -> Option<Duration> {
        let asked_at = self.asked_at(reply.round)?;
        // A forged number must not steer the election: the number in a reply is evidence for the
        // number of hosts.
        if self.fault_of(from, &reply, io.config()).is_some() {
            return None;
        }
        let former_until = io.now() + reply.former.min(LONGEST_FORMER);
        self.former_until = self.former_until.max(former_until);
        if self.phase == Phase::Polling && reply.round == self.round {
            if !self.seat_table.has(from) {
                let priority = reply.priority;
                self.replies.push(Answer {
                    host: Candidate { priority, id: from },
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
            return self.settle(io); // by a new configuration these are enough
        };
        let by_priority = io.config().algorithm == Algorithm::Priority;
        // The first of two replies of a host counts, as in the record. The best come first if the
        // priority decides.
        self.replies.sort_by_key(|it| it.host.id);
        self.replies.dedup_by_key(|it| it.host.id);
        if io.config().search == Search::Guarded {
            let heard = self.replies.iter().map(|it| (self.round, it.host.id));
            self.counted.extend(heard);
        }
        let mut best_first = Vec::new();
        if by_priority {
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
            yes.map(|it| f64::from(it.number).clamp(c, most.max(c))).sum()
        };
        let count = RoundCount {
            yes: [yes(0), yes(1)],
            numbers: [numbers(0), numbers(1)],
            best_first: &best_first,
            round: self.round,
            wanted,
            enough: self.missing(io).max(1),
            c,
        };
        match self.election.count(count, io.config()) {
            NextStep::Ask(ask) => self.ask(ask, session, io),
            NextStep::Elected(draw) => self.on_elected(draw, (session, beat), io),
            NextStep::Rest => self.rest(io),
        }
    }

    /// Seats the elected hosts. An earlier centre may have given seats for longer than this one has
    /// waited; then they wait.
    fn on_elected(&mut self, draw: u8, (session, beat): (u64, u32), io: &mut impl Io<Council>) {
        let Some((wanted, _)) = self.wanted(io) else {
            return self.settle(io);
        };
        let has_leases = io.config().lease.is_some();
        if has_leases && self.former_until > io.now() {
            self.phase = Phase::Awaiting(draw);
        } else {
            self.appoint(draw, wanted, (session, beat), io);
        }
    }

    pub(super) fn on_beat_due(
        &mut self,
        (session, beat): (u64, u32),
        (lease, margin): (Lease, Duration),
        io: &mut impl Io<Council>,
    ) {
        if self.seat_table.expire(lease, margin, io.now()) {
            self.on_seats_lost(io);
        }
        // A guest keeps nothing, and a restart would not end with more.
        let tops_up = lease.refill == Refill::TopUp && !io.config().yields;
        if tops_up && self.phase == Phase::Settled && self.wanted(io).is_some() {
            self.phase = Phase::Resting(0); // an election may end with fewer than `keep`
        }
        for seat in self.seat_table.seats().iter().filter(|it| !it.is_confirmed) {
            io.unicast(seat.member, self.seat(seat, session, beat));
        }
        io.multicast(Message::Standing(Standing {
            session,
            class: self.class,
            beat,
            places: self.seat_table.places(),
        }));
    }

    /// The number of hosts wanted, and its `c`.
    fn wanted(&self, io: &impl Io<Council>) -> Option<(Seats, f64)> {
        let chamber = io.config().chamber(self.class)?;
        let seated = self.seat_table.len();
        Some((chamber.wanted(seated)?, chamber.c(seated)))
    }

    /// The number of hosts that must be seated for a council.
    fn missing(&self, io: &impl Io<Council>) -> u32 {
        let chamber = io.config().chamber(self.class);
        chamber.map_or(0, |it| it.seats.least.saturating_sub(self.seat_table.len()))
    }

    fn seat(&self, holder: &Holder, session: u64, beat: u32) -> Message {
        Message::Seat(Seat {
            session,
            class: holder.class,
            host: holder.member,
            round: holder.round,
            place: holder.place,
            beat,
        })
    }
}

// Transitions.
impl ClassElection {
    /// Begins an election, if at least the wanted number of places is free.
    pub(super) fn open(&mut self, session: u64, io: &mut impl Io<Council>) {
        let Some((wanted, c)) = self.wanted(io) else {
            return self.settle(io);
        };
        if self.seat_table.free(wanted.most, io.now()) < wanted.least {
            self.phase = Phase::Resting(0);
            return;
        }
        let is_masked = io.config().algorithm == Algorithm::Bolot;
        let key = if is_masked { io.rng().next_u64() as u16 } else { 0 };
        let ask = self.election.open(io.config(), (wanted, c), key);
        self.ask(ask, session, io);
    }

    /// Begins a round.
    fn ask(&mut self, ask: Ask, session: u64, io: &mut impl Io<Council>) {
        self.phase = Phase::Polling;
        self.round = self.round.saturating_add(1); // one a second lasts for 136 years
        self.replies.clear();
        self.asked.retain(|it| is_remembered(it.0, self.round));
        self.asked.push((self.round, io.now()));
        let oldest = self.round.saturating_sub(REMEMBERED);
        self.counted = self.counted.split_off(&(oldest, MemberId(0)));
        io.report(CouncilOutcome::Standing { round: self.round });
        let feedback = Feedback {
            session,
            class: self.class,
            round: self.round,
            base: ask.base,
            seated: self.seat_table.len() as u16,
            word: ask.wire_bits.encode(io.config().algorithm),
            floor: ask.floor,
        };
        self.calls.push(&feedback, io.config());
        io.multicast(Message::Feedback(feedback));
    }

    /// Seats the elected hosts.
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
        if io.config().algorithm != Algorithm::Priority {
            // If there is not enough room: no favourites, and the same order for every auditor.
            let lot = mix64(session ^ mix64(u64::from(self.round)));
            elected.sort_unstable_by_key(|id| mix64(lot ^ id.0));
        }
        elected.truncate(self.seat_table.free(wanted.most, io.now()) as usize);
        for host in elected {
            if let Some(holder) = self.seat_table.seat((self.class, host), self.round, io.now()) {
                io.unicast(host, self.seat(&holder, session, beat));
            }
        }
        self.settle(io);
        // Seats may have fallen empty during the election, with their places not yet free.
        if self.missing(io) > 0 && io.config().lease.is_some() {
            self.phase = Phase::Resting(0);
        }
    }

    /// The council stands.
    fn settle(&mut self, io: &mut impl Io<Council>) {
        self.phase = Phase::Settled;
        self.replies = Vec::new();
        self.report_size(io);
    }

    /// Rests after too few hosts were found. Each rest is twice as long as the one before: hosts
    /// may never come, or all of them receive this centre, and it receives none. A guest rests only
    /// for the first time.
    fn rest(&mut self, io: &mut impl Io<Council>) {
        let config = io.config();
        let first = first_rest(config);
        let doubled = first.0.saturating_mul(1 << self.rests.min(16));
        let rest =
            if config.yields { first } else { Duration(doubled.min(LONGEST_REST.0)).max(first) };
        self.rests = self.rests.saturating_add(1);
        self.election.forget(config.knowledge);
        self.phase = Phase::Resting(in_rounds(rest, config));
    }

    /// Handles the loss of one or more seats.
    pub(super) fn on_seats_lost(&mut self, io: &mut impl Io<Council>) {
        self.report_size(io);
        let (lease, margin) = (io.config().lease, io.config().round);
        self.rests = 0;
        if let Phase::Resting(left) = self.phase {
            // The council is smaller than when the rest began.
            self.phase = Phase::Resting(left.min(in_rounds(first_rest(io.config()), io.config())));
        }
        if self.phase != Phase::Settled || self.wanted(io).is_none() {
            return;
        }
        self.phase = Phase::Resting(0);
        if let Some(lease) = lease
            && lease.refill == Refill::Restart
        {
            self.seat_table.dissolve(lease, margin, io.now());
        }
    }

    /// Reports a changed council.
    fn report_size(&mut self, io: &mut impl Io<Council>) {
        self.version = self.version.saturating_add(1);
        let size = Size { class: self.class, seats: self.seat_table.len(), version: self.version };
        let chamber = io.config().chamber(self.class);
        let is_council = chamber.is_some_and(|it| it.seats.contain(size.seats));
        let change = if is_council { Change::Filled(size) } else { Change::Short(size) };
        io.report(CouncilOutcome::Council(change));
    }
}

/// The length of the first rest.
fn first_rest(config: &Config) -> Duration {
    config.lease.map_or(config.round * 16, |it| it.lasts)
}

fn in_rounds(rest: Duration, config: &Config) -> u64 {
    rest.0.div_ceil(config.round.0.max(1))
}
