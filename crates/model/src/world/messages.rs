//! The messages between members, and their arrival.

use hustings_protocol::tenure::counter::COUNT_BITS;
use hustings_protocol::tenure::{Ballot, BallotOwner, Message};
use hustings_protocol::{Input, MemberId};

use super::{Action, State, World, place};
use crate::network::{Addressed, MessageSet};
use crate::{Answers, Sut};

/// The state of a voter and the message that it receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Heard {
    member: u32,
    tick: u8,
    number: u32,
}

/// The next state of the voter and its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Voted {
    member: u32,
    said: Option<u32>,
}

impl<S: Sut> World<S> {
    pub(super) fn post(&self, state: &mut State, from: MemberId, to: MemberId, message: Message) {
        let (traffic, other) = match message {
            Message::Ask { .. } | Message::Prepare { .. } | Message::Propose { .. } => {
                (&mut state.traffic[place(to)].heard, from)
            }
            Message::Release { .. } => (&mut state.traffic[place(to)].heard, from),
            Message::Would { .. } | Message::Promise { .. } | Message::Grant { .. } => {
                (&mut state.traffic[place(from)].said, to)
            }
            Message::Refusal { .. } if self.loses_refusals() => return,
            Message::Refusal { .. } => (&mut state.traffic[place(from)].said, to),
            Message::Handover { .. } => (&mut state.handovers, to),
        };
        traffic.add(self.messages.number_of(Addressed { other, message }));
    }

    fn loses_refusals(&self) -> bool {
        match self.scope.bounds.answers {
            Answers::OneByOne | Answers::Majorities => false,
            Answers::NoRefusals | Answers::Together => true,
        }
    }

    fn hear(
        &self,
        state: &mut State,
        from: MemberId,
        to: MemberId,
        message: Message,
    ) -> Option<()> {
        let (tick, scope) = (state.tick, &self.scope);
        let input = Input::Message { from, message };
        self.act(state, to, |member| member.step(to, input, tick, scope))
    }

    /// A voter gets a request, in the name of a nominee, to promise a counter of the next era.
    pub(super) fn forge(&self, state: &mut State, voter: MemberId) -> Option<()> {
        let id = self.nominees().next()?;
        let owner = BallotOwner { id, number: 0 };
        let counter = 1 << COUNT_BITS;
        let ballot = Ballot { counter, owner };
        self.hear(state, id, voter, Message::Prepare { ballot })
    }

    /// Delivers an answer to a nominee.
    pub(super) fn answer(&self, state: &mut State, voter: usize, number: u32) -> Option<()> {
        let Addressed { other, message } = self.messages.get(number);
        self.hear(state, MemberId(voter as u64), other, message)
    }

    /// Delivers a question to a voter. This is the most frequent step, and most instances repeat.
    /// So its result is cached, if the voter is not a nominee too.
    pub(super) fn ask(&self, state: &mut State, voter: usize, number: u32) -> Option<()> {
        let Addressed { other, message } = self.messages.get(number);
        let id = MemberId(voter as u64);
        if self.scope.bounds.stands(id) {
            return self.hear(state, other, id, message);
        }
        let voted = self.vote(state, voter, number);
        state.members[voter] = voted.member;
        if let Some(said) = voted.said {
            state.traffic[voter].said.add(said);
        }
        Some(())
    }

    fn vote(&self, state: &State, voter: usize, number: u32) -> Voted {
        let heard = Heard { member: state.members[voter], tick: state.tick, number };
        self.voted.recall(heard, || {
            let mut member = self.members.get(heard.member);
            let from = self.messages.get(number);
            let input = Input::Message { from: from.other, message: from.message };
            let id = MemberId(voter as u64);
            let said = member.step(id, input, heard.tick, &self.scope);
            let said = said.into_iter().map(|(other, message)| Addressed { other, message });
            let mut said = said.filter(|it| !(self.loses_refusals() && it.is_refusal()));
            Voted {
                member: self.members.number(member),
                said: said.next().map(|it| self.messages.number_of(it)),
            }
        })
    }

    /// True if this message changes nothing: neither the voter's state nor the set of its answers.
    fn is_old(&self, state: &State, voter: usize, number: u32) -> bool {
        if self.scope.bounds.stands(MemberId(voter as u64)) {
            return false;
        }
        let Voted { member, said } = self.vote(state, voter, number);
        let was_said = |number| state.traffic[voter].said.contains(number);
        member == state.members[voter] && said.is_none_or(was_said)
    }

    pub(super) fn hand_over(&self, state: &mut State, number: u32) -> Option<()> {
        let Addressed { other, message } = self.messages.get(number);
        let Message::Handover { released } = message else {
            unreachable!("the set of handovers holds only handovers");
        };
        self.hear(state, released.owner.id, other, message)
    }

    pub(super) fn arrivals(&self, state: &State, actions: &mut Vec<Action>) {
        for (voter, traffic) in state.traffic.iter().enumerate() {
            let new = traffic.heard.numbers();
            let new = new.filter(|number| !self.is_old(state, voter, *number));
            actions.extend(new.map(|number| Action::Ask { voter, number }));
        }
        let together = match self.scope.bounds.answers {
            Answers::OneByOne | Answers::NoRefusals => false,
            Answers::Majorities | Answers::Together => true,
        };
        let mut said = MessageSet::default();
        for (voter, traffic) in state.traffic.iter().enumerate() {
            for number in traffic.said.numbers() {
                if together && !self.messages.get(number).is_refusal() {
                    said.add(number);
                } else {
                    actions.push(Action::Answer { voter, number });
                }
            }
        }
        for number in said.numbers() {
            let voters = (0..).zip(&state.traffic);
            let voters = voters.filter(|(_, traffic)| traffic.said.contains(number));
            let voters: Vec<usize> = voters.map(|(voter, _)| voter).collect();
            if let Some(majority) = voters.get(..self.scope.bounds.majority()) {
                let voters = majority.iter().map(|voter| 1 << voter).sum();
                actions.push(Action::Carry { voters, number });
            }
        }
        actions.extend(state.handovers.numbers().map(Action::HandOver));
    }
}
