//! Events from outside: the verbs of the scenario and the notices of the failure detector.

use hustings_protocol::{Input, MemberId, Simulated, ViewChange};

use crate::population::Condition;
use crate::state::{NEVER, ScriptEntry};
use crate::{Boot, Event, Trace, Verb, World};

impl<P: Simulated, T: Trace<P>> World<P, T> {
    /// Applies the next entry of the script.
    pub(crate) fn run_script(&mut self) {
        let Some(((_, _), entry)) = self.state.script.pop_first() else {
            return;
        };
        self.state.script_due = self.state.script.keys().next().map_or(NEVER, |(at, _)| *at);
        match entry {
            ScriptEntry::Verb(verb) => {
                self.state.record(|| Event::Struck { verb: &verb });
                self.state.interest = None;
                self.state.skips_ignored_messages &= matches!(verb, Verb::Start(_));
                self.apply(&verb);
                self.state.reroute();
            }
            ScriptEntry::Notice => self.notice(),
        }
    }

    fn apply(&mut self, verb: &Verb) {
        // A kill forgets the killed member alone, in `State::kill`.
        if !matches!(verb, Verb::Kill(_) | Verb::Start(_)) {
            self.state.seen.forget();
        }
        match verb {
            Verb::Start(who) => {
                for member in who.resolve(&self.state.people) {
                    self.start(member);
                }
            }
            Verb::Kill(who) => {
                for member in who.resolve(&self.state.people) {
                    self.state.kill(member);
                }
                self.state.expect_notice();
            }
            Verb::Leave(who) => {
                for member in who.resolve(&self.state.people) {
                    if self.state.people.condition(member) == Condition::Up {
                        self.step(member, Input::Leave);
                    }
                    self.state.kill(member);
                }
                self.state.expect_notice();
            }
            Verb::Restart { who, keep_state } => {
                for member in who.resolve(&self.state.people) {
                    self.restart(member, *keep_state);
                }
            }
            Verb::Cut(groups) => {
                let mut sides = vec![0; self.members.len()];
                for (side, who) in (1..).zip(groups) {
                    for member in who.resolve(&self.state.people) {
                        sides[member as usize] = side;
                    }
                }
                self.state.people.cut(sides);
                self.state.expect_notice();
            }
            Verb::CutOneWay { from, to } => {
                for one in from.resolve(&self.state.people) {
                    for other in to.resolve(&self.state.people) {
                        self.state.people.cut_one_way(one, other);
                    }
                }
            }
            Verb::Heal => {
                self.state.people.heal();
                self.state.expect_notice();
            }
            Verb::Pause(who) => {
                for member in who.resolve(&self.state.people) {
                    self.state.pause(member);
                }
            }
            Verb::Resume(who) => {
                for member in who.resolve(&self.state.people) {
                    self.resume(member);
                }
            }
            Verb::Drift { who, rate } => {
                for member in who.resolve(&self.state.people) {
                    self.state.drift(member, *rate);
                }
            }
        }
    }

    fn restart(&mut self, member: u32, keep_state: bool) {
        if self.state.people.condition(member) != Condition::Down {
            self.state.kill(member);
        }
        let saved = self.state.saved.get_mut(member as usize).and_then(Option::take);
        let boot =
            Boot { me: self.state.people.candidate(member), saved: saved.filter(|_| keep_state) };
        self.state.save(member, boot.saved.clone());
        self.members[member as usize] = (self.make)(boot);
        self.state.people.set_condition(member, Condition::Up);
        self.state.expect_notice();
        self.start(member);
    }

    fn resume(&mut self, member: u32) {
        if self.state.people.condition(member) != Condition::Paused {
            return;
        }
        self.state.people.set_condition(member, Condition::Up);
        let (due, rest) = std::mem::take(&mut self.state.overdue)
            .into_iter()
            .partition::<Vec<_>, _>(|which| which.member == member);
        self.state.overdue = rest;
        let (arrived, rest) = std::mem::take(&mut self.state.held)
            .into_iter()
            .partition::<Vec<_>, _>(|flight| flight.to == member);
        self.state.held = rest;
        let (deferred_view_changes, rest) = std::mem::take(&mut self.state.deferred_view_changes)
            .into_iter()
            .partition::<Vec<_>, _>(|(observer, _)| *observer == member);
        self.state.deferred_view_changes = rest;
        // As after SIGCONT, the process first reads the messages that wait in the socket. Then its
        // late timers expire, unless such a message stopped or re-armed them. The view
        // already shows the changes that the member missed, so their inputs come first.
        for which in due {
            self.state.timers.arm(which, self.state.now, self.state.now);
        }
        for (member, subject) in deferred_view_changes {
            self.notify_view_change(member, subject);
        }
        for flight in arrived {
            self.deliver(flight);
        }
    }

    /// Updates the views with all changes and informs their owners.
    fn notice(&mut self) {
        for (member, subject) in self.state.people.notice() {
            match self.state.people.condition(member) {
                Condition::Up => self.notify_view_change(member, subject),
                Condition::Paused => self.state.defer_view_change(member, subject),
                Condition::Down => {}
            }
        }
    }

    /// Informs `member` that `subject` joined or left its view.
    fn notify_view_change(&mut self, member: u32, subject: u32) {
        let change = if self.state.people.knows(member, subject) {
            ViewChange::Joined(self.state.people.candidate(subject))
        } else {
            ViewChange::Left(MemberId(u64::from(subject)))
        };
        self.state.record(|| Event::ViewChanged { member, change });
        self.step(member, Input::ViewChanged(change));
    }
}
