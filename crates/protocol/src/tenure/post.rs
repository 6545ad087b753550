//! Sending, also from a member to itself if it is both nominee and voter.

use std::collections::VecDeque;

use super::{Message, Tenure};
use crate::{Io, MemberId};

/// The effects of one step of a member. The network does not deliver a member's own messages to it.
/// They are queued here and handled at the end of the step, like any others.
pub(super) struct Post<'a, I> {
    pub(super) io: &'a mut I,
    to_self: VecDeque<Message>,
}

impl<'a, I: Io<Tenure>> Post<'a, I> {
    pub(super) fn new(io: &'a mut I) -> Self {
        let to_self = VecDeque::new();
        Self { io, to_self }
    }

    pub(super) fn send(&mut self, member: MemberId, message: Message) {
        if member == self.io.me().id {
            self.to_self.push_back(message);
        } else {
            self.io.unicast(member, message);
        }
    }

    pub(super) fn send_to_voters(&mut self, message: Message) {
        for place in 0..self.io.config().voters.len() {
            let voter = self.io.config().voters[place];
            self.send(voter, message);
        }
    }

    /// The next message to itself.
    pub(super) fn next(&mut self) -> Option<Message> {
        self.to_self.pop_front()
    }
}
