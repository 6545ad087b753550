//! What comes from outside: the scenario's verbs strike, and the failure detector notices.

use hustings_protocol::{Input, MemberId, Protocol, ViewChange};

use crate::population::Condition;
use crate::scene::{Agendum, NEVER};
use crate::{Boot, Event, Trace, Verb, World};

impl<P: Protocol, T: Trace<P>> World<P, T> {
    /// Does what the agenda says is due.
    pub(crate) fn attend(&mut self) {
        let Some(((_, _), agendum)) = self.scene.agenda.pop_first() else {
            return;
        };
        self.scene.agenda_due = self.scene.agenda.keys().next().map_or(NEVER, |(at, _)| *at);
        match agendum {
            Agendum::Strike(verb) => {
                self.scene.record(|| Event::Struck { verb: &verb });
                self.scene.attention = None;
                self.scene.spares_the_deaf &= matches!(verb, Verb::Start(_));
                self.strike(&verb);
                self.scene.reroute();
            }
            Agendum::Notice => self.notice(),
        }
    }

    fn strike(&mut self, verb: &Verb) {
        // Who is killed is forgotten alone.
        if !matches!(verb, Verb::Kill(_) | Verb::Start(_)) {
            self.scene.echoes.forget();
        }
        match verb {
            Verb::Start(who) => {
                for member in who.resolve(&self.scene.people) {
                    self.start(member);
                }
            }
            Verb::Kill(who) => {
                for member in who.resolve(&self.scene.people) {
                    self.scene.kill(member);
                }
                self.scene.expect_notice();
            }
            Verb::Leave(who) => {
                for member in who.resolve(&self.scene.people) {
                    if self.scene.people.condition(member) == Condition::Up {
                        self.step(member, Input::Leave);
                    }
                    self.scene.kill(member);
                }
                self.scene.expect_notice();
            }
            Verb::Restart { who, keep_state } => {
                for member in who.resolve(&self.scene.people) {
                    self.restart(member, *keep_state);
                }
            }
            Verb::Cut(groups) => {
                let mut sides = vec![0; self.members.len()];
                for (side, who) in (1..).zip(groups) {
                    for member in who.resolve(&self.scene.people) {
                        sides[member as usize] = side;
                    }
                }
                self.scene.people.cut(sides);
                self.scene.expect_notice();
            }
            Verb::CutOneWay { from, to } => {
                for one in from.resolve(&self.scene.people) {
                    for other in to.resolve(&self.scene.people) {
                        self.scene.people.cut_one_way(one, other);
                    }
                }
            }
            Verb::Heal => {
                self.scene.people.heal();
                self.scene.expect_notice();
            }
            Verb::Pause(who) => {
                for member in who.resolve(&self.scene.people) {
                    self.scene.pause(member);
                }
            }
            Verb::Resume(who) => {
                for member in who.resolve(&self.scene.people) {
                    self.resume(member);
                }
            }
            Verb::Drift { who, rate } => {
                for member in who.resolve(&self.scene.people) {
                    self.scene.drift(member, *rate);
                }
            }
        }
    }

    fn restart(&mut self, member: u32, keep_state: bool) {
        if self.scene.people.condition(member) != Condition::Down {
            self.scene.kill(member);
        }
        let saved = self
            .scene
            .saved
            .get_mut(member as usize)
            .and_then(Option::take);
        let boot = Boot {
            me: self.scene.people.candidate(member),
            saved: saved.filter(|_| keep_state),
        };
        self.scene.save(member, boot.saved.clone());
        self.members[member as usize] = (self.make)(boot);
        self.scene.people.set_condition(member, Condition::Up);
        self.scene.expect_notice();
        self.start(member);
    }

    fn resume(&mut self, member: u32) {
        if self.scene.people.condition(member) != Condition::Paused {
            return;
        }
        self.scene.people.set_condition(member, Condition::Up);
        let (due, rest) = std::mem::take(&mut self.scene.overdue)
            .into_iter()
            .partition::<Vec<_>, _>(|which| which.member == member);
        self.scene.overdue = rest;
        let (arrived, rest) = std::mem::take(&mut self.scene.held)
            .into_iter()
            .partition::<Vec<_>, _>(|flight| flight.to == member);
        self.scene.held = rest;
        let (untold, rest) = std::mem::take(&mut self.scene.untold)
            .into_iter()
            .partition::<Vec<_>, _>(|(observer, _)| *observer == member);
        self.scene.untold = rest;
        // As after SIGCONT: what waits in the socket is read first, then the late timers run out,
        // unless a message that was read stopped or re-armed them. The view shows already what it
        // missed, so that comes before all.
        for which in due {
            self.scene.timers.arm(which, self.scene.now, self.scene.now);
        }
        for (member, subject) in untold {
            self.tell(member, subject);
        }
        for flight in arrived {
            self.deliver(flight);
        }
    }

    /// Shows the views what has changed, and tells their owners.
    fn notice(&mut self) {
        for (member, subject) in self.scene.people.notice() {
            match self.scene.people.condition(member) {
                Condition::Up => self.tell(member, subject),
                Condition::Paused => self.scene.tell_later(member, subject),
                Condition::Down => {}
            }
        }
    }

    /// Tells `member` that `subject` came into its view or left it.
    fn tell(&mut self, member: u32, subject: u32) {
        let change = if self.scene.people.knows(member, subject) {
            ViewChange::Joined(self.scene.people.candidate(subject))
        } else {
            ViewChange::Left(MemberId(u64::from(subject)))
        };
        self.scene.record(|| Event::ViewChanged { member, change });
        self.step(member, Input::ViewChanged(change));
    }
}
