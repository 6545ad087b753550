//! By which list of voters the others go. Two lists have two majorities, so members with different ones do not add
//! their votes up; and a member that has another list than the rest is told so by what it hears, though nobody asks it
//! anything.

use std::collections::BTreeMap;

use hustings_protocol::MemberId;

use crate::frame::Sender;
use crate::group::Group;

/// The members that go by another list, and by which.
#[derive(Debug, Default)]
pub(super) struct OtherLists(BTreeMap<MemberId, u64>);

impl OtherLists {
    /// Takes note of the list that a member goes by. Whether it is another one than ours, and that is news.
    fn note(&mut self, member: MemberId, theirs: u64, ours: u64) -> bool {
        match theirs == ours {
            true => {
                self.0.remove(&member);
                false
            }
            false => self.0.insert(member, theirs) != Some(theirs),
        }
    }
}

impl Group {
    /// Whether `sender`, which goes by the list `theirs`, means the same voters as this member. If not, it is said
    /// when it begins or changes, not with every word.
    pub(in crate::group) fn shares_voters(&mut self, sender: &Sender<'_>, theirs: u64) -> bool {
        let ours = self.tenancy.authority.voters_id();
        if self.tenancy.other_lists.note(sender.id, theirs, ours) {
            tracing::error!(
                "group `{}`: `{}` has another list of voters than this member, or another authority: what either says about tenure does not count with the other; give all members the same voters",
                self.config.name,
                sender.name
            );
        }
        theirs == ours
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
            let told = lists.note(MemberId(member), theirs, 7);
            assert_eq!(told, is_news, "{member} {theirs}");
        }
    }
}
