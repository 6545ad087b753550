//! What is to be said when this member is dead.

use hustings_protocol::MemberId;
use tokio::sync::watch;

use super::Group;
use crate::authority::last_words::LastWords;
use crate::frame::Body;

/// The number of a member's last frame. None of its life comes after it.
const LAST_NUMBER: u64 = u64::MAX - 1;

impl Group {
    /// What a keeper says when this member is dead. Sealed under a number that no other frame of this life has.
    pub(super) fn word_last_words(&mut self) {
        if self.tenancy.last_words.receiver_count() == 0 {
            return;
        }
        let worded = self
            .tenancy
            .authority
            .last_word()
            .map(|it| (self.life.0, it));
        if worded == self.tenancy.worded {
            return;
        }
        self.tenancy.worded = worded;
        let Some((_, message)) = worded else {
            self.tenancy.last_words.send_replace(LastWords::default());
            return;
        };
        let message = crate::driver::encode(&message);
        let voters: Vec<MemberId> = self.tenancy.voters().collect();
        let authority = self.tenancy.authority.id();
        let number = std::mem::replace(&mut self.number, LAST_NUMBER);
        let words = voters.into_iter().filter_map(|to| {
            let address = self.address_of(to)?;
            let body = Body::Tenure {
                to,
                authority,
                message: &message,
            };
            self.frame(&body, false);
            let frame = self.seal()?;
            self.number = LAST_NUMBER;
            Some((address, frame))
        });
        let words = LastWords(words.collect());
        self.number = number;
        self.tenancy.last_words.send_replace(words);
    }

    /// Where what is to be said when this member is dead can be seen.
    pub(crate) fn last_words(&self) -> watch::Sender<LastWords> {
        self.tenancy.last_words.clone()
    }
}
