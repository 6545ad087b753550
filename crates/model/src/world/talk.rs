//! The messages between members, and their arrival.

use hustings_protocol::tenure::counter::COUNT_BITS;
use hustings_protocol::tenure::{Ballot, BallotOwner, Message};
use hustings_protocol::{Input, MemberId};

use super::{Action, State, World, place};
use crate::mail::{Letter, Mail};
use crate::{Answers, Subject};

/// The state of a voter and the message that it receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Heard {
    seat: u32,
    tick: u8,
    letter: u32,
}

/// The next state of the voter and its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Voted {
    seat: u32,
    said: Option<u32>,
}

impl<S: Subject> World<S> {
    pub(super) fn post(&self, state: &mut State, from: MemberId, to: MemberId, message: Message) {
        let (mail, other) = match message {
            Message::Ask { .. } | Message::Prepare { .. } | Message::Propose { .. } => {
                (&mut state.mail[place(to)].heard, from)
            }
            Message::Release { .. } => (&mut state.mail[place(to)].heard, from),
            Message::Would { .. } | Message::Promise { .. } | Message::Grant { .. } => {
                (&mut state.mail[place(from)].said, to)
            }
            Message::Refusal { .. } if self.loses_refusals() => return,
            Message::Refusal { .. } => (&mut state.mail[place(from)].said, to),
            Message::Handover { .. } => (&mut state.handovers, to),
        };
        mail.add(self.letters.number_of(Letter { other, message }));
    }

    fn loses_refusals(&self) -> bool {
        match self.stage.setting.answers {
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
        let (tick, stage) = (state.tick, &self.stage);
        let input = Input::Message { from, message };
        self.act(state, to, |seat| seat.step(to, input, tick, stage))
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
    pub(super) fn answer(&self, state: &mut State, voter: usize, letter: u32) -> Option<()> {
        let Letter { other, message } = self.letters.get(letter);
        self.hear(state, MemberId(voter as u64), other, message)
    }

    /// Delivers a question to a voter. This is the most frequent step, and most instances repeat.
    /// So its result is cached, if the voter is not a nominee too.
    pub(super) fn ask(&self, state: &mut State, voter: usize, letter: u32) -> Option<()> {
        let Letter { other, message } = self.letters.get(letter);
        let id = MemberId(voter as u64);
        if self.stage.setting.stands(id) {
            return self.hear(state, other, id, message);
        }
        let voted = self.vote(state, voter, letter);
        state.seats[voter] = voted.seat;
        if let Some(said) = voted.said {
            state.mail[voter].said.add(said);
        }
        Some(())
    }

    fn vote(&self, state: &State, voter: usize, letter: u32) -> Voted {
        let heard = Heard { seat: state.seats[voter], tick: state.tick, letter };
        self.voted.recall(heard, || {
            let mut seat = self.seats.get(heard.seat);
            let from = self.letters.get(letter);
            let input = Input::Message { from: from.other, message: from.message };
            let id = MemberId(voter as u64);
            let said = seat.step(id, input, heard.tick, &self.stage);
            let said = said.into_iter().map(|(other, message)| Letter { other, message });
            let mut said = said.filter(|it| !(self.loses_refusals() && it.is_refusal()));
            Voted {
                seat: self.seats.number(seat),
                said: said.next().map(|it| self.letters.number_of(it)),
            }
        })
    }

    /// True if this message changes nothing: neither the voter's state nor the set of its answers.
    fn is_old(&self, state: &State, voter: usize, letter: u32) -> bool {
        if self.stage.setting.stands(MemberId(voter as u64)) {
            return false;
        }
        let Voted { seat, said } = self.vote(state, voter, letter);
        let was_said = |letter| state.mail[voter].said.contains(letter);
        seat == state.seats[voter] && said.is_none_or(was_said)
    }

    pub(super) fn hand_over(&self, state: &mut State, letter: u32) -> Option<()> {
        let Letter { other, message } = self.letters.get(letter);
        let Message::Handover { released } = message else {
            unreachable!("the set of handovers holds only handovers");
        };
        self.hear(state, released.owner.id, other, message)
    }

    pub(super) fn arrivals(&self, state: &State, actions: &mut Vec<Action>) {
        for (voter, mail) in state.mail.iter().enumerate() {
            let new = mail.heard.numbers();
            let new = new.filter(|letter| !self.is_old(state, voter, *letter));
            actions.extend(new.map(|letter| Action::Ask { voter, letter }));
        }
        let together = match self.stage.setting.answers {
            Answers::OneByOne | Answers::NoRefusals => false,
            Answers::Majorities | Answers::Together => true,
        };
        let mut said = Mail::default();
        for (voter, mail) in state.mail.iter().enumerate() {
            for letter in mail.said.numbers() {
                if together && !self.letters.get(letter).is_refusal() {
                    said.add(letter);
                } else {
                    actions.push(Action::Answer { voter, letter });
                }
            }
        }
        for letter in said.numbers() {
            let voters = (0..).zip(&state.mail);
            let voters = voters.filter(|(_, mail)| mail.said.contains(letter));
            let voters: Vec<usize> = voters.map(|(voter, _)| voter).collect();
            if let Some(majority) = voters.get(..self.stage.setting.majority()) {
                let voters = majority.iter().map(|voter| 1 << voter).sum();
                actions.push(Action::Carry { voters, letter });
            }
        }
        actions.extend(state.handovers.numbers().map(Action::HandOver));
    }
}
