//! Detects members that use another list of voters, or another store.
//!
//! Purpose     two lists have two majorities, and two stores know nothing of each other. Members
//!             that differ neither add up their votes nor believe each other's announcements of
//!             tenure
//! Inputs      the authority id in each tenure message
//! Outputs     a log line when a mismatch begins or changes; the other holder in the status
//! Owns        the members with another list, and the last holder by another list
//! Invariants  a message with another authority id never changes this member's tenure. The id of a
//!             store is known only once the store has answered; before that, no mismatch is
//!             reported

use std::collections::BTreeMap;

use hustings_protocol::{Instant, MemberId};

use super::{REACHED_WITHIN, Refusal, Tenure};
use crate::frame::Sender;
use crate::node::Context;

/// The members with another list of voters, or another store.
#[derive(Debug, Default)]
pub(super) struct AuthorityMismatch {
    members: BTreeMap<MemberId, u64>,
    /// The last announcement of a holder by another list, as the status shows it.
    holder: Option<Refusal>,
}

impl AuthorityMismatch {
    /// Notes the list that a member uses. Returns true if it is another list, and that is new.
    fn note(&mut self, member: MemberId, theirs: u64, is_ours: bool) -> bool {
        if is_ours {
            self.members.remove(&member);
        }
        !is_ours && self.members.insert(member, theirs) != Some(theirs)
    }

    fn note_holder(&mut self, at: Instant, why: String) {
        let before = self.holder.take().filter(|it| it.why == why);
        let times = before.map_or(1, |it| it.times + 1);
        self.holder = Some(Refusal { at, why, times });
    }

    /// Returns the holder by another list, if its announcement is recent.
    pub(super) fn holder(&self, now: Instant) -> Option<&Refusal> {
        let holder = self.holder.as_ref();
        holder.filter(|it| now - it.at < REACHED_WITHIN)
    }
}

impl Tenure {
    /// True if `sender`, whose authority is `theirs`, uses the same voters or store as this member.
    /// A mismatch is logged when it begins or changes, not with every message.
    pub(super) fn shares_authority(
        &mut self,
        sender: &Sender<'_>,
        theirs: u64,
        context: &Context,
    ) -> bool {
        let is_shared = self.authority.is_also(theirs);
        if self.authority_mismatch.note(sender.id, theirs, is_shared) {
            let (group, name) = (&context.config.name, sender.name);
            tracing::error!(
                "group `{group}`: `{name}` has another list of voters than this member, or another store: each ignores what the other says about tenure; give all members the same voters, or the same store"
            );
        }
        is_shared
    }

    /// Notes a holder by another list. It is not the holder here, but it explains why two members
    /// lead.
    pub(super) fn note_other_holder(&mut self, sender: &Sender<'_>, context: &Context) {
        let name = sender.name;
        let why = format!(
            "`{name}` holds tenure by another list of voters, or another store: two members may lead; give all members the same voters, or the same store"
        );
        self.authority_mismatch.note_holder(context.now, why);
    }
}

#[cfg(test)]
mod tests {
    use super::AuthorityMismatch;
    use hustings_protocol::MemberId;

    #[test]
    fn mismatch_is_reported_once_and_on_every_change() {
        let mut authority_mismatch = AuthorityMismatch::default();
        for (member, theirs, is_news) in [
            (1, 7, false),
            (1, 8, true),
            (1, 8, false),
            (2, 8, true),
            (3, 7, false),
            (1, 8, false),
            (1, 9, true),
            (1, 7, false),
            (1, 9, true),
        ] {
            let told = authority_mismatch.note(MemberId(member), theirs, theirs == 7);
            assert_eq!(told, is_news, "{member} {theirs}");
        }
    }
}
