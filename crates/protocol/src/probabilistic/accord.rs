//! Whether others are of the same mind: whoever comes up asks a few who leads; a leader asks one member now and then,
//! and its followers ask it. So groups that were cut off from each other, and members that missed an election, are found.

use super::{Heard, Joining, Message, Phase, Probabilistic, Round, Timer, uniform};
use crate::{Candidate, Duration, Instant, Io, MemberId, View};

/// How many members a newcomer asks.
const ASKED: usize = 3;

/// Since when somebody leads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reign {
    /// The round in which it was elected.
    pub(super) round: Round,
    /// How long ago that was, or longer.
    pub(super) age: Duration,
}

// Handlers: one per input. They decide; the transitions below act.
impl Probabilistic {
    /// Somebody is there that was not, or was cut off: with a leader of its own, perhaps.
    pub(super) fn on_joined(&mut self, id: MemberId, io: &mut impl Io<Self>) {
        self.departed.remove(id);
        if self.leads(io) && io.config().check.is_some() && id != io.me().id {
            self.check(id, io);
        }
    }

    /// A leader asks somebody whether it says so too; others ask their leader. Not in a round, which may name another.
    pub(super) fn on_check_due(&mut self, io: &mut impl Io<Self>) {
        match self.leader {
            None => return,
            Some(_) if !self.is_idle() => {}
            Some(_) if self.leads(io) => {
                if let Some(id) = self.pick(1, io).first() {
                    self.check(*id, io);
                }
            }
            Some(leader) => io.unicast(leader.id, Message::Question),
        }
        self.check_later(io);
    }

    /// Whoever asks leads, by its own account. If that is news, and later than what this member knows, it is believed;
    /// if this member knows better, it says so.
    pub(super) fn on_check(&mut self, sender: Candidate, reign: Reign, io: &mut impl Io<Self>) {
        self.departed.remove(sender.id);
        match self.leader {
            _ if !self.is_idle() => self.on_result(sender, reign, io),
            Some(leader) if leader.id == sender.id => {}
            Some(_) if self.yields_to(reign, io) => self.accept(sender, reign, io),
            Some(leader) if self.outranks(reign, io) => match self.leads(io) {
                true => self.on_past(sender.id, reign.round, io),
                false => self.answer(sender.id, leader, io),
            },
            Some(leader) if reign.round <= self.round() => self.answer(sender.id, leader, io),
            Some(_) | None if reign.round >= self.round() => self.accept(sender, reign, io),
            Some(_) | None => {} // it knows better
        }
    }

    /// Somebody takes part in a round that is over, as it missed how it ended. The leader tells, for all.
    #[inline]
    pub(super) fn on_past(&mut self, from: MemberId, round: Round, io: &mut impl Io<Self>) {
        if self.rests() && self.leads(io) && io.config().check.is_some() {
            if round.sequence == self.sequence {
                self.number = self.number.max(round.number); // else it would not be believed
            }
            self.check(from, io);
        }
    }

    /// Who takes part in a round does not know yet what it will say.
    pub(super) fn on_question(&mut self, from: MemberId, io: &mut impl Io<Self>) {
        if let Some(leader) = self.leader.filter(|_| self.is_idle()) {
            self.answer(from, leader, io);
        }
    }

    pub(super) fn on_answer(
        &mut self,
        from: MemberId,
        leader: Candidate,
        reign: Reign,
        io: &mut impl Io<Self>,
    ) {
        let round = reign.round;
        let is_from_leader = self.leader.is_some_and(|own| own.id == from);
        match self.leader {
            _ if self.departed.has(leader.id) => {} // that will be told, or decided
            _ if !self.is_idle() => self.on_result(leader, reign, io),
            None if round >= self.round() => self.accept(leader, reign, io),
            None => {} // it knows better
            Some(own) if own.id == leader.id => {}
            Some(_) if is_from_leader && round >= self.round() => self.accept(leader, reign, io),
            // Two elections of the same number, perhaps: which was the earlier one the two leaders find out.
            Some(_) if self.leads(io) && self.is_namesake(round) && from != leader.id => {
                self.check(leader.id, io);
            }
            // Its leader does not lead, or two groups have grown together, each with its own.
            Some(_) if is_from_leader || self.leads(io) => {
                self.sequence = self.sequence.max(round.sequence);
                self.call_soon(Duration::ZERO, io);
            }
            Some(_) => {} // its leader will find out
        }
    }

    /// This member takes part in a round, and hears who was elected in `round`. If that is the same or a later one, its
    /// own is over: nobody else takes part, and it would end with nobody, or, if it relays, with a decision of its own.
    fn on_result(&mut self, leader: Candidate, reign: Reign, io: &mut impl Io<Self>) {
        let is_same = reign.round == self.round();
        let is_news = match self.heard {
            _ if reign.round > self.round() => true,
            Heard::Nothing => is_same,
            Heard::One(other) if other.id == leader.id => is_same,
            // Elected long before this round began, so in another one of the same number.
            Heard::One(_) | Heard::Several => {
                let config = io.config();
                is_same && reign.age > config.round_time(self.k) + config.probation()
            }
        };
        if is_news {
            self.accept(leader, reign, io);
        } // else its round is the later one, or has failed, as it knows
    }
}

// What it knows of its leader, and of another's.
impl Probabilistic {
    /// Whether `round` says nothing of who leads now: it is an earlier one than this member's, or this member's election
    /// was over long ago, and this is another one of the same number. Members that know nobody but each other may hold
    /// such a one.
    #[inline]
    pub(super) fn is_past(&self, round: Round, io: &impl Io<Self>) -> bool {
        round < self.round() || self.is_namesake(round) && self.is_established(io)
    }

    /// Whether it has had its leader for so long that nobody takes part any more in the election of it.
    fn is_established(&self, io: &impl Io<Self>) -> bool {
        let is_over = match self.phase {
            Phase::Resting { established } => established <= io.now(),
            _ => false,
        };
        is_over && self.leader.is_some() && io.config().check.is_some()
    }

    /// Whether that is a round of the last election that it knows of, or of another one that has its number.
    fn is_namesake(&self, round: Round) -> bool {
        round.sequence == self.sequence
    }

    /// Whether it has heard nothing at all, in the first election that it knows of: those who relayed may have been told
    /// that there is a leader.
    pub(super) fn may_be_new(&self, io: &impl Io<Self>) -> bool {
        let is_first = self.sequence == 1 && self.heard == Heard::Nothing;
        is_first && io.config().joining == Joining::Ask
    }

    /// How long ago its leader was elected, or longer.
    fn age(&self, io: &impl Io<Self>) -> Duration {
        match self.phase {
            Phase::Resting { established } => io.now() + io.config().probation() - established,
            _ => Duration::ZERO,
        }
    }

    /// Whether another was elected long before its own leader, in an election of the same number.
    fn yields_to(&self, other: Reign, io: &impl Io<Self>) -> bool {
        self.is_namesake(other.round) && other.age > self.age(io) + io.config().probation()
    }

    /// The other way round.
    fn outranks(&self, other: Reign, io: &impl Io<Self>) -> bool {
        self.is_namesake(other.round) && self.age(io) > other.age + io.config().probation()
    }
}

// Transitions.
impl Probabilistic {
    /// Names a leader that was elected without it.
    fn accept(&mut self, leader: Candidate, reign: Reign, io: &mut impl Io<Self>) {
        self.begin(reign.round, 0, io);
        self.heard.hear(leader);
        self.phase = Phase::resting(reign.age, io);
        io.disarm(Timer::Phase);
        self.name(Some(leader), io);
    }

    /// Asks somebody whether it says, too, that this member leads.
    fn check(&self, id: MemberId, io: &mut impl Io<Self>) {
        let (round, merit, age) = (self.round(), io.me().merit, self.age(io));
        io.unicast(id, Message::Check { round, merit, age });
    }

    fn answer(&self, id: MemberId, leader: Candidate, io: &mut impl Io<Self>) {
        let (round, age) = (self.round(), self.age(io));
        io.unicast(id, Message::Answer { round, leader, age });
    }

    /// A leader asks every so often, and so do all others together.
    pub(super) fn check_later(&self, io: &mut impl Io<Self>) {
        let Some(span) = io.config().check else {
            return;
        };
        let pause = match self.leads(io) {
            true => span,
            false => span.mul_f64((0.5 + uniform(io)) * self.size(io) as f64),
        };
        io.arm(Timer::Check, pause);
    }

    /// Asks who leads before it calls another round.
    pub(super) fn ask_first(&mut self, until: Instant, io: &mut impl Io<Self>) {
        self.ask(io);
        self.phase = Phase::Asking { until };
        io.arm(Timer::Phase, io.config().answering());
    }

    /// Asks a few members who leads.
    pub(super) fn ask(&mut self, io: &mut impl Io<Self>) {
        for id in self.pick(ASKED, io) {
            io.unicast(id, Message::Question);
        }
    }

    /// So many others of the view, picked by chance; neighbours in its order, which is nobody's loss.
    fn pick(&self, count: usize, io: &mut impl Io<Self>) -> Vec<MemberId> {
        let me = io.me().id;
        let others = io.view().len().saturating_sub(1);
        let from = (uniform(io) * others as f64) as usize;
        let view = io.view();
        let known = || view.candidates().map(|it| it.id).filter(|id| *id != me);
        known()
            .skip(from)
            .chain(known())
            .take(count.min(others))
            .collect()
    }
}
