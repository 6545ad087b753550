//! By which list of voters, or which store, the others go. Two lists have two majorities, and two stores know nothing of
//! each other, so members with different ones do not add their votes up, nor believe each other about who holds; and a
//! member that has another list than the rest is told so by what it hears, though nobody asks it anything. Of a store
//! that is known only when it has answered: of one that was never asked nothing is said.

use std::collections::BTreeMap;

use hustings_protocol::{Instant, MemberId};

use super::{REACHED_WITHIN, Refusal};
use crate::frame::Sender;
use crate::group::Group;

/// The members that go by another list.
#[derive(Debug, Default)]
pub(super) struct OtherLists {
    /// Who does, and by which.
    members: BTreeMap<MemberId, u64>,
    /// Who said last that it holds by another list, as it is shown.
    holder: Option<Refusal>,
}

impl OtherLists {
    /// Takes note of the list that a member goes by. Whether it is another one than ours, and that is news.
    fn note(&mut self, member: MemberId, theirs: u64, is_ours: bool) -> bool {
        match is_ours {
            true => {
                self.members.remove(&member);
                false
            }
            false => self.members.insert(member, theirs) != Some(theirs),
        }
    }

    /// Somebody says that it holds.
    fn note_holder(&mut self, at: Instant, why: String) {
        let before = self.holder.take().filter(|it| it.why == why);
        let times = before.map_or(1, |it| it.times + 1);
        self.holder = Some(Refusal { at, why, times });
    }

    /// Who holds by another list, as it is shown, if it was heard of late.
    pub(super) fn holder(&self, now: Instant) -> Option<&Refusal> {
        let holder = self.holder.as_ref();
        holder.filter(|it| now - it.at < REACHED_WITHIN)
    }
}

impl Group {
    /// Whether `sender`, which goes by `theirs`, means the same voters or the same store as this member. If not, it is
    /// said when it begins or changes, not with every word.
    pub(in crate::group) fn shares_authority(&mut self, sender: &Sender<'_>, theirs: u64) -> bool {
        let is_shared = self.tenancy.authority.is_also(theirs);
        if self.tenancy.other_lists.note(sender.id, theirs, is_shared) {
            tracing::error!(
                "group `{}`: `{}` has another list of voters than this member, or another store: what either says about tenure does not count with the other; give all members the same voters, or the same store",
                self.config.name,
                sender.name
            );
        }
        is_shared
    }

    /// Somebody says that it holds by another list than ours. It is not the holder here, and whoever looks for the
    /// reason why two lead should find it.
    pub(in crate::group) fn note_other_holder(&mut self, now: Instant, sender: &Sender<'_>) {
        let why = format!(
            "`{}` holds tenure by another list of voters, or another store: two may lead; give all members the same voters, or the same store",
            sender.name
        );
        self.tenancy.other_lists.note_holder(now, why);
    }
}

#[cfg(test)]
mod tests {
    use super::OtherLists;
    use hustings_protocol::MemberId;

    #[test]
    fn another_list_is_news_once_and_whenever_it_changes() {
        let mut lists = OtherLists::default();
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
            let told = lists.note(MemberId(member), theirs, theirs == 7);
            assert_eq!(told, is_news, "{member} {theirs}");
        }
    }
}
