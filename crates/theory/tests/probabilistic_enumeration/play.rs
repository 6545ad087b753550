//! The relay phase among a few members, unicast by unicast, through every possible loss.

use std::collections::VecDeque;

/// The choice of the next unicast to arrive.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    OldestFirst,
    NewestFirst,
}

/// A completed relay phase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) probability: f64,
    pub(crate) agreed: bool,
    /// Unicasts of a member's new choice to all that it knew.
    pub(crate) told: usize,
    /// Unicasts in answer to a worse choice.
    pub(crate) answered: usize,
}

#[derive(Clone)]
struct Relay {
    order: Order,
    loss: f64,
    probability: f64,
    /// The members that each knows: grows as members are contacted.
    knows: Vec<Vec<bool>>,
    /// The greater the better.
    choice: Vec<usize>,
    under_way: VecDeque<(usize, usize, usize)>,
    told: usize,
    answered: usize,
}

/// Every end of a relay phase in which member `i` begins with `choices[i]` and knows those of
/// `knows[i]`.
pub(crate) fn ends(choices: &[usize], knows: Vec<Vec<bool>>, loss: f64, order: Order) -> Vec<End> {
    let mut relay = Relay {
        order,
        loss,
        probability: 1.0,
        knows,
        choice: choices.to_vec(),
        under_way: VecDeque::new(),
        told: 0,
        answered: 0,
    };
    for member in 0..choices.len() {
        relay.tell_all(member);
    }
    let mut ends = Vec::new();
    relay.play(&mut ends);
    ends
}

impl Relay {
    fn play(mut self, ends: &mut Vec<End>) {
        loop {
            let next = match self.order {
                Order::OldestFirst => self.under_way.pop_front(),
                Order::NewestFirst => self.under_way.pop_back(),
            };
            let Some((from, to, choice)) = next else {
                break;
            };
            if self.loss > 0.0 {
                let mut without = self.clone();
                without.probability *= self.loss;
                without.play(ends);
                self.probability *= 1.0 - self.loss;
            }
            self.receive(from, to, choice);
        }
        ends.push(End {
            probability: self.probability,
            agreed: self.choice.iter().all(|choice| *choice == self.choice[0]),
            told: self.told,
            answered: self.answered,
        });
    }

    fn receive(&mut self, from: usize, to: usize, choice: usize) {
        self.knows[to][from] = true;
        if choice > self.choice[to] {
            self.choice[to] = choice;
            self.tell_all(to);
        } else if choice < self.choice[to] {
            self.answered += 1;
            self.under_way.push_back((to, from, self.choice[to]));
        }
    }

    fn tell_all(&mut self, member: usize) {
        for other in 0..self.choice.len() {
            if other != member && self.knows[member][other] {
                self.told += 1;
                self.under_way.push_back((member, other, self.choice[member]));
            }
        }
    }
}
