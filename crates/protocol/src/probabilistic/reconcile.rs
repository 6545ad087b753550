//! Reconciliation of members that name different leaders. A member that starts asks a few others
//! for the leader; a leader asks one member now and then, and its followers ask it. This finds
//! groups that a partition separated, and members that missed an election.

use rand_core::Rng;

use super::{Decisions, Message, Phase, Probabilistic, RoundId, Timer};
use crate::mix64::unit;
use crate::{Candidate, Duration, Io, MemberId, View};

/// The number of members that a newcomer asks.
const ASKED: usize = 3;

// Handlers: one per input. They decide; the transitions below act.
impl Probabilistic {
    /// A member has appeared or come back after a partition, perhaps with a leader of its own.
    pub(super) fn on_joined(&mut self, id: MemberId, io: &mut impl Io<Self>) {
        self.departed.remove(id);
        if self.leads(io) && io.config().check.is_some() && id != io.me().id {
            self.check(id, io);
        }
    }

    /// A leader asks a member whether it names it too; a follower asks its leader. Not during a
    /// round, which may elect another leader.
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

    /// Handles a check: the sender names itself leader. A later result than the known one is
    /// accepted; an earlier one is answered with the known leader.
    pub(super) fn on_check(&mut self, sender: Candidate, round: RoundId, io: &mut impl Io<Self>) {
        self.departed.remove(sender.id);
        match self.leader {
            _ if !self.phase.is_idle() => self.on_result(round, sender, io),
            Some(leader) if leader.id == sender.id => {}
            Some(leader) if round <= self.round() => {
                let round = self.round();
                io.unicast(sender.id, Message::Answer { round, leader });
            }
            Some(_) | None if round >= self.round() => self.accept(round, sender, io),
            Some(_) | None => {} // the known result is later
        }
    }

    /// A member takes part in a round that is over, because it missed its end. Only the leader
    /// informs it.
    #[inline]
    pub(super) fn on_past(&mut self, from: MemberId, io: &mut impl Io<Self>) {
        if self.phase == Phase::Resting && self.leads(io) && io.config().check.is_some() {
            self.check(from, io);
        }
    }

    /// Answers with the leader. A member in a round gives no answer, because the result is open.
    pub(super) fn on_question(&mut self, from: MemberId, io: &mut impl Io<Self>) {
        if let Some(leader) = self.leader.filter(|_| self.phase.is_idle()) {
            let round = self.round();
            io.unicast(from, Message::Answer { round, leader });
        }
    }

    pub(super) fn on_answer(
        &mut self,
        from: MemberId,
        round: RoundId,
        leader: Candidate,
        io: &mut impl Io<Self>,
    ) {
        let is_from_leader = self.leader.is_some_and(|own| own.id == from);
        match self.leader {
            _ if self.departed.has(leader.id) => {} // the departure will become known, or the election decides
            _ if !self.phase.is_idle() => self.on_result(round, leader, io),
            None if round >= self.round() => self.accept(round, leader, io),
            None => {} // the known result is later
            Some(own) if own.id == leader.id => {}
            Some(_) if is_from_leader && round > self.round() => self.accept(round, leader, io),
            // Its leader does not lead, or two groups with different leaders have merged.
            Some(_) if is_from_leader || self.leads(io) => {
                self.sequence = self.sequence.max(round.sequence);
                self.call_soon(Duration::ZERO, io);
            }
            Some(_) => {} // its leader will find out
        }
    }

    /// Handles the result of `round` while this member takes part in a round. If `round` is the
    /// same or a later one, its own round is over: no other member takes part, and it would end
    /// without a leader or, if this member relays, with a decision of its own.
    fn on_result(&mut self, round: RoundId, leader: Candidate, io: &mut impl Io<Self>) {
        let is_news = match self.heard {
            Decisions::Nothing => round >= self.round(),
            Decisions::One(other) => {
                round > self.round() || round == self.round() && other.id == leader.id
            }
            Decisions::Several => round > self.round(),
        };
        if is_news {
            self.accept(round, leader, io);
        } // else its round is the later one, or is known to have failed
    }
}

// Transitions.
impl Probabilistic {
    /// Names a leader that was elected without it.
    fn accept(&mut self, round: RoundId, leader: Candidate, io: &mut impl Io<Self>) {
        self.begin(round, 0, io);
        self.heard.hear(leader);
        self.rest(io);
        self.name(Some(leader), io);
    }

    /// Asks a member whether it also names this member leader.
    fn check(&self, id: MemberId, io: &mut impl Io<Self>) {
        let (round, priority) = (self.round(), io.me().priority);
        io.unicast(id, Message::Check { round, priority });
    }

    /// Arms the check timer. The leader checks at a fixed interval, and all followers together as
    /// often.
    pub(super) fn check_later(&self, io: &mut impl Io<Self>) {
        let Some(span) = io.config().check else {
            return;
        };
        let pause = if self.leads(io) {
            span
        } else {
            span.mul_f64((0.5 + unit(io.rng().next_u64())) * self.size(io) as f64)
        };
        io.arm(Timer::Check, pause);
    }

    /// Asks a few members for the leader.
    pub(super) fn ask(&mut self, io: &mut impl Io<Self>) {
        for id in self.pick(ASKED, io) {
            io.unicast(id, Message::Question);
        }
    }

    /// Picks `count` random other members of the view. They are neighbours in its order, which does
    /// no harm.
    fn pick(&self, count: usize, io: &mut impl Io<Self>) -> Vec<MemberId> {
        let me = io.me().id;
        let others = io.view().len().saturating_sub(1);
        let from = (unit(io.rng().next_u64()) * others as f64) as usize;
        let view = io.view();
        let known = || view.candidates().map(|it| it.id).filter(|id| *id != me);
        known().skip(from).chain(known()).take(count.min(others)).collect()
    }
}
