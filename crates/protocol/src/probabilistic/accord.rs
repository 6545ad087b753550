//! Whether others are of the same mind: whoever comes up asks a few who leads; a leader asks one member now and then,
//! and its followers ask it. So groups that were cut off from each other, and members that missed an election, are found.

use super::{Heard, Message, Phase, Probabilistic, Round, Timer, uniform};
use crate::{Candidate, Duration, Io, MemberId, View};

/// How many members a newcomer asks.
const ASKED: usize = 3;

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
            Some(_) if !self.phase.is_idle() => {}
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
    pub(super) fn on_check(&mut self, sender: Candidate, round: Round, io: &mut impl Io<Self>) {
        self.departed.remove(sender.id);
        match self.leader {
            _ if !self.phase.is_idle() => self.on_result(round, sender, io),
            Some(leader) if leader.id == sender.id => {}
            Some(leader) if round <= self.round() => {
                let round = self.round();
                io.unicast(sender.id, Message::Answer { round, leader });
            }
            Some(_) | None if round >= self.round() => self.accept(round, sender, io),
            Some(_) | None => {} // it knows better
        }
    }

    /// Somebody takes part in a round that is over, as it missed how it ended. The leader tells, for all.
    #[inline]
    pub(super) fn on_past(&mut self, from: MemberId, io: &mut impl Io<Self>) {
        if self.phase == Phase::Resting && self.leads(io) && io.config().check.is_some() {
            self.check(from, io);
        }
    }

    /// Who takes part in a round does not know yet what it will say.
    pub(super) fn on_question(&mut self, from: MemberId, io: &mut impl Io<Self>) {
        if let Some(leader) = self.leader.filter(|_| self.phase.is_idle()) {
            let round = self.round();
            io.unicast(from, Message::Answer { round, leader });
        }
    }

    pub(super) fn on_answer(
        &mut self,
        from: MemberId,
        round: Round,
        leader: Candidate,
        io: &mut impl Io<Self>,
    ) {
        let is_from_leader = self.leader.is_some_and(|own| own.id == from);
        match self.leader {
            _ if self.departed.has(leader.id) => {} // that will be told, or decided
            _ if !self.phase.is_idle() => self.on_result(round, leader, io),
            None if round >= self.round() => self.accept(round, leader, io),
            None => {} // it knows better
            Some(own) if own.id == leader.id => {}
            Some(_) if is_from_leader && round > self.round() => self.accept(round, leader, io),
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
    fn on_result(&mut self, round: Round, leader: Candidate, io: &mut impl Io<Self>) {
        let is_news = match self.heard {
            Heard::Nothing => round >= self.round(),
            Heard::One(other) => {
                round > self.round() || round == self.round() && other.id == leader.id
            }
            Heard::Several => round > self.round(),
        };
        if is_news {
            self.accept(round, leader, io);
        } // else its round is the later one, or has failed, as it knows
    }
}

// Transitions.
impl Probabilistic {
    /// Names a leader that was elected without it.
    fn accept(&mut self, round: Round, leader: Candidate, io: &mut impl Io<Self>) {
        self.begin(round, 0, io);
        self.heard.hear(leader);
        self.rest(io);
        self.name(Some(leader), io);
    }

    /// Asks somebody whether it says, too, that this member leads.
    fn check(&self, id: MemberId, io: &mut impl Io<Self>) {
        let (round, merit) = (self.round(), io.me().merit);
        io.unicast(id, Message::Check { round, merit });
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
