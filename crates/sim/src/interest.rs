//! The members' interest in multicasts. With it, a multicast costs time only for the members that
//! it can change.
//!
//! If members announce themselves to a million others, nearly all receivers know of a better
//! candidate and ignore the message. A protocol may declare this
//! ([`hustings_protocol::Simulated::ignores_up_to`]). This index then sorts its members by the
//! candidates that they ignore. Each member is filed under what it ignored when it was last
//! examined. Since then it may have come to ignore more, but never less.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use hustings_protocol::Candidate;

/// Members sorted by the candidates that they ignore.
#[derive(Debug, Default)]
pub(crate) struct Interest {
    /// Members that ignored some candidates at the beginning and have not been picked since. What
    /// they ignore has not changed. The members that ignore least are at the end.
    untouched: Vec<u32>,
    /// Members that ignore exactly the candidates up to the one they heard: soon the majority.
    followers: BTreeMap<Candidate, Vec<u32>>,
    others: BinaryHeap<Reverse<(Candidate, u32)>>,
    /// Members that ignored nothing.
    attentive: Vec<u32>,
}

impl Interest {
    /// Files the members 0 to `count`, each by the candidate up to which it `ignores`.
    pub(crate) fn of(count: u32, ignores: impl Fn(u32) -> Option<Candidate>) -> Self {
        let all = || (0..count).rev();
        let mut untouched: Vec<u32> = Vec::with_capacity(count as usize);
        untouched.extend(all().filter(|&member| ignores(member).is_some()));
        // Members at the end are picked first: in order of number if they ignore the same.
        untouched.sort_by_key(|&member| Reverse(ignores(member)));
        Self {
            untouched,
            attentive: all().filter(|&member| ignores(member).is_none()).collect(),
            ..Self::default()
        }
    }

    /// Takes out all members that did not ignore a multicast of `weight` when they were filed. What
    /// an untouched member ignored then equals what it `ignores` now.
    pub(crate) fn pick(
        &mut self,
        weight: Candidate,
        ignores: impl Fn(u32) -> Option<Candidate>,
    ) -> Vec<u32> {
        let mut picked = self.untouched_below(weight, ignores);
        while let Some(group) = self.followers.first_entry()
            && *group.key() < weight
        {
            join(&mut picked, group.remove());
        }
        let mut rest = std::mem::take(&mut self.attentive);
        while let Some(Reverse((ignored, member))) = self.others.peek().copied()
            && ignored < weight
        {
            self.others.pop();
            rest.push(member);
        }
        join(&mut picked, rest);
        // The order of the members in memory.
        picked.sort_unstable();
        picked
    }

    /// Takes out the untouched members that do not ignore `weight`, and frees their memory.
    fn untouched_below(
        &mut self,
        weight: Candidate,
        ignores: impl Fn(u32) -> Option<Candidate>,
    ) -> Vec<u32> {
        let deaf = |&member: &u32| ignores(member) >= Some(weight);
        match self.untouched.iter().rposition(deaf) {
            None => std::mem::take(&mut self.untouched),
            Some(last) if last + 1 == self.untouched.len() => Vec::new(),
            Some(last) => {
                let picked = self.untouched.split_off(last + 1);
                self.untouched.shrink_to_fit();
                picked
            }
        }
    }

    /// Files `member`, which was picked for a multicast of `weight` and now ignores `ignores`. If
    /// both are equal the member is a follower: returns true and leaves it to
    /// [`Interest::file_followers`].
    pub(crate) fn follows(
        &mut self,
        member: u32,
        ignores: Option<Candidate>,
        weight: Candidate,
    ) -> bool {
        match ignores {
            None => self.attentive.push(member),
            Some(ignored) if ignored == weight => return true,
            Some(ignored) => self.others.push(Reverse((ignored, member))),
        }
        false
    }

    /// Files the picked members that ignore exactly the candidates up to the one they heard. Reuses
    /// the memory of `followers`.
    pub(crate) fn file_followers(&mut self, weight: Candidate, mut followers: Vec<u32>) {
        if followers.is_empty() {
            return;
        }
        if followers.len() < followers.capacity() / 2 {
            followers.shrink_to_fit();
        }
        join(self.followers.entry(weight).or_default(), followers);
    }
}

/// Adds `more` to `all`, in any order. The smaller vector moves, and a million members take only
/// the memory they need.
fn join(all: &mut Vec<u32>, mut more: Vec<u32>) {
    if all.len() < more.len() {
        std::mem::swap(all, &mut more);
    }
    all.reserve_exact(more.len());
    all.append(&mut more);
}
