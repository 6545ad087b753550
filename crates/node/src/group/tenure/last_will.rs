//! The last will: releases that a watcher sends when this process is dead.
//!
//! Purpose     frees tenure at once when the holder dies
//! Inputs      the release that the authority would send now, the addresses of the voters
//! Outputs     sealed frames for the watcher
//! Owns        the content from which the current frames were sealed ([`Sealed`])
//! Invariants  the frames have [`LAST_NUMBER`], and no other frame of an incarnation has it

use std::net::SocketAddr;

use hustings_protocol::MemberId;
use hustings_protocol::tenure::Message;
use tokio::sync::watch;

use super::Group;
use crate::authority::LastWill;
use crate::frame::Body;

/// The number of a member's last frame. No frame of its incarnation comes after it.
pub(in crate::group) const LAST_NUMBER: u64 = u64::MAX - 1;

/// The content from which a release was sealed. It is sealed again when any of it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::group) struct Sealed {
    incarnation: u64,
    message: Message,
    /// The known address of each voter, in the order of the list.
    addresses: Vec<Option<SocketAddr>>,
}

impl Group {
    /// Seals the release for the watcher, if it differs from the one that the watcher has. It
    /// differs if the message is another, or if a voter was heard for the first time or at another
    /// address. The frame has a number that no other frame of this incarnation has.
    pub(in crate::group) fn word_last_words(&mut self) {
        if self.tenure.last_will.receiver_count() == 0 {
            return;
        }
        let Some(message) = self.tenure.authority.last_word() else {
            if self.tenure.worded.take().is_some() {
                self.tenure.last_will.send_replace(LastWill::default());
            }
            return;
        };
        if self.is_sealed(message) {
            return;
        }
        let voters: Vec<MemberId> = self.tenure.voters().collect();
        let addresses: Vec<Option<SocketAddr>> =
            voters.iter().map(|it| self.address_of(*it)).collect();
        let bytes = crate::driver::encode(&message);
        let authority = self.tenure.authority.id();
        let number = std::mem::replace(&mut self.number, LAST_NUMBER);
        let mut last_will = Vec::new();
        for (to, address) in voters.into_iter().zip(&addresses) {
            let Some(address) = address else {
                continue; // this member itself, or a voter that was never heard
            };
            let body = Body::Tenure { to, authority, message: &bytes };
            self.frame(&body, false);
            last_will.extend(self.seal(Some(to)).map(|frame| (*address, frame)));
            self.number = LAST_NUMBER;
        }
        self.number = number;
        self.tenure.worded = Some(Sealed { incarnation: self.incarnation.0, message, addresses });
        self.tenure.last_will.send_replace(LastWill(last_will));
    }

    /// True if the watcher has this message for every voter at its present address. It allocates
    /// nothing, because it runs after each tenure message.
    fn is_sealed(&self, message: Message) -> bool {
        let Some(sealed) = &self.tenure.worded else {
            return false;
        };
        let addresses = self.tenure.voters().map(|it| self.address_of(it));
        (sealed.incarnation, sealed.message) == (self.incarnation.0, message)
            && addresses.eq(sealed.addresses.iter().copied())
    }

    /// Returns the channel that carries the last will.
    pub fn last_will(&self) -> watch::Sender<LastWill> {
        self.tenure.last_will.clone()
    }
}
