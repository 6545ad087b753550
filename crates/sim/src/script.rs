//! Events from outside: the verbs of the scenario and the notices of the failure detector.

use hustings_protocol::{Input, MemberId, Simulated, ViewChange};

use crate::population::Condition;
use crate::world_state::{NEVER, ScriptEntry, State};
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
                let who = verb.who();
                let members = who.map_or_else(Vec::new, |it| it.resolve(&self.state.people));
                self.state.record(|| Event::Struck { verb: &verb, members: &members });
                self.state.interest = None;
                self.state.skips_ignored_messages &= matches!(verb, Verb::Start(_));
                self.apply(&verb, members);
                self.state.reroute();
            }
            ScriptEntry::Notice => self.notice(),
        }
    }

    /// Applies `verb`, which names `members`.
    fn apply(&mut self, verb: &Verb, members: Vec<u32>) {
        // A kill forgets the killed member alone, in `State::kill`.
        if !matches!(verb, Verb::Kill(_) | Verb::Start(_)) {
            self.state.seen.forget();
        }
        let people = &self.state.people;
        match verb {
            Verb::Cut(groups) => {
                let mut sides = vec![0; self.members.len()];
                for (side, who) in (1..).zip(groups) {
                    for member in who.resolve(people) {
                        sides[member as usize] = side;
                    }
                }
                self.state.people.cut(sides);
            }
            Verb::CutOneWay { from, to } => {
                let (from, to) = (from.resolve(people), to.resolve(people));
                for (one, other) in from.iter().flat_map(|one| to.iter().map(move |it| (*one, *it)))
                {
                    self.state.people.cut_one_way(one, other);
                }
            }
            Verb::Heal => self.state.people.heal(),
            _ => {}
        }
        for member in members {
            match verb {
                Verb::Start(_) => self.start(member),
                Verb::Kill(_) => self.state.kill(member),
                Verb::Leave(_) => {
                    if self.state.people.condition(member) == Condition::Up {
                        self.step(member, Input::Leave);
                    }
                    self.state.kill(member);
                }
                Verb::Restart { keep_state, .. } => self.restart(member, *keep_state),
                Verb::Pause(_) => self.state.pause(member),
                Verb::Resume(_) => self.resume(member),
                Verb::Drift { rate, .. } => self.state.drift(member, *rate),
                Verb::Cut(_) | Verb::CutOneWay { .. } | Verb::Heal => {}
            }
        }
        if matches!(verb, Verb::Kill(_) | Verb::Leave(_) | Verb::Cut(_) | Verb::Heal) {
            self.state.expect_notice();
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
        let State { overdue, held, deferred_view_changes, .. } = &mut self.state;
        let due: Vec<_> = overdue.extract_if(.., |which| which.member == member).collect();
        let arrived: Vec<_> = held.extract_if(.., |flight| flight.to == member).collect();
        let missed = deferred_view_changes.extract_if(.., |(observer, _)| *observer == member);
        let missed: Vec<_> = missed.collect();
        // As after SIGCONT, the process first reads the messages that wait in the socket. Then its
        // late timers expire, unless such a message stopped or re-armed them. The view
        // already shows the changes that the member missed, so their inputs come first.
        for which in due {
            self.state.timers.arm(which, self.state.now, self.state.now);
        }
        for (member, subject) in missed {
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
