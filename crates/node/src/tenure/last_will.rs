//! The last will: releases that a watcher sends when this process is dead.
//!
//! Purpose     frees tenure at once when the holder dies
//! Inputs      the release that the authority would send now, the addresses of the voters
//! Outputs     sealed frames for the watcher
//! Owns        the content from which the current frames were sealed ([`Sealed`])
//! Invariants  the frames have [`LAST_NUMBER`], and no other frame of an incarnation has it

use std::net::SocketAddr;

use hustings_protocol::tenure::Message;
use tokio::sync::watch;

use super::Tenure;
use crate::authority::LastWill;
use crate::frame::Body;
use crate::node::{Context, Io};

/// The number of a member's last frame. No frame of its incarnation comes after it.
pub(crate) const LAST_NUMBER: u64 = u64::MAX - 1;

/// The content from which a release was sealed. It is sealed again when any of it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sealed {
    incarnation: u64,
    message: Message,
    /// The known address of each voter, in the order of the list.
    addresses: Vec<Option<SocketAddr>>,
}

impl Tenure {
    /// Seals the release for the watcher, if it differs from the one that the watcher has. It
    /// differs if the message is another, or if a voter was heard for the first time or at another
    /// address. The frame has a number that no other frame of this incarnation has.
    pub(super) fn word_last_words(&mut self, io: &mut Io<'_>) {
        if self.last_will.receiver_count() == 0 {
            return;
        }
        let Some(message) = self.authority.last_word() else {
            if self.worded.take().is_some() {
                self.last_will.send_replace(LastWill::default());
            }
            return;
        };
        if self.is_sealed(message, io) {
            return;
        }
        let addresses: Vec<Option<SocketAddr>> =
            self.voters().map(|it| io.address_of(it)).collect();
        let bytes = crate::driver::encode(&message);
        let authority = self.authority.id();
        let mut last_will = Vec::new();
        for (to, address) in self.voters().zip(&addresses) {
            let Some(address) = address else {
                continue; // this member itself, or a voter that was never heard
            };
            let body = Body::Tenure { to, authority, message: &bytes };
            let frame = io.sealed_as(LAST_NUMBER, to, &body);
            last_will.extend(frame.map(|frame| (*address, frame)));
        }
        self.worded = Some(Sealed { incarnation: io.incarnation.0, message, addresses });
        self.last_will.send_replace(LastWill(last_will));
    }

    /// True if the watcher has this message for every voter at its present address. It allocates
    /// nothing, because it runs after each tenure message.
    fn is_sealed(&self, message: Message, context: &Context) -> bool {
        let Some(sealed) = &self.worded else {
            return false;
        };
        let addresses = self.voters().map(|it| context.address_of(it));
        (sealed.incarnation, sealed.message) == (context.incarnation.0, message)
            && addresses.eq(sealed.addresses.iter().copied())
    }

    /// Returns the channel that carries the last will.
    pub(crate) fn last_will(&self) -> watch::Sender<LastWill> {
        self.last_will.clone()
    }
}
