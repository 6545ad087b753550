//! What is to be said when this member is dead.

use std::net::SocketAddr;

use hustings_protocol::MemberId;
use hustings_protocol::tenure::Message;
use tokio::sync::watch;

use super::Group;
use crate::authority::last_words::LastWords;
use crate::frame::Body;

/// The number of a member's last frame. None of its life comes after it.
pub(in crate::group) const LAST_NUMBER: u64 = u64::MAX - 1;

/// What a release was sealed from. It is sealed again when any of it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::group) struct Sealed {
    incarnation: u64,
    message: Message,
    /// Of each voter, in the order of the list: where it was known to receive.
    addresses: Vec<Option<SocketAddr>>,
}

impl Group {
    /// Seals the release that a watcher sends when this member is dead, if it differs from the one that the watcher has:
    /// another message, or a voter that was heard for the first time or elsewhere. The frame has a number that no other
    /// frame of this incarnation has.
    pub(in crate::group) fn word_last_words(&mut self) {
        if self.tenancy.last_words.receiver_count() == 0 {
            return;
        }
        let Some(message) = self.tenancy.authority.last_word() else {
            if self.tenancy.worded.take().is_some() {
                self.tenancy.last_words.send_replace(LastWords::default());
            }
            return;
        };
        if self.is_sealed(message) {
            return;
        }
        let voters: Vec<MemberId> = self.tenancy.voters().collect();
        let addresses: Vec<Option<SocketAddr>> =
            voters.iter().map(|it| self.address_of(*it)).collect();
        let bytes = crate::driver::encode(&message);
        let authority = self.tenancy.authority.id();
        let number = std::mem::replace(&mut self.number, LAST_NUMBER);
        let mut words = Vec::new();
        for (to, address) in voters.into_iter().zip(&addresses) {
            let Some(address) = address else {
                continue; // this member itself, or a voter that was never heard
            };
            let body = Body::Tenure {
                to,
                authority,
                message: &bytes,
            };
            self.frame(&body, false);
            words.extend(self.seal(Some(to)).map(|frame| (*address, frame)));
            self.number = LAST_NUMBER;
        }
        self.number = number;
        self.tenancy.worded = Some(Sealed {
            incarnation: self.life.0,
            message,
            addresses,
        });
        self.tenancy.last_words.send_replace(LastWords(words));
    }

    /// Whether the watcher has this very message, for every voter where it is now. Allocates nothing: it is asked after
    /// each message about tenure.
    fn is_sealed(&self, message: Message) -> bool {
        let Some(sealed) = &self.tenancy.worded else {
            return false;
        };
        let addresses = self.tenancy.voters().map(|it| self.address_of(it));
        (sealed.incarnation, sealed.message) == (self.life.0, message)
            && addresses.eq(sealed.addresses.iter().copied())
    }

    /// Where what is to be said when this member is dead can be seen.
    pub(crate) fn last_words(&self) -> watch::Sender<LastWords> {
        self.tenancy.last_words.clone()
    }
}
