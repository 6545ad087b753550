//! Who listens to what: so that a multicast costs the time of those to whom it makes a difference.
//!
//! Where members announce themselves to a million others, nearly all of these know of somebody
//! better and ignore it. A protocol may say so ([`hustings_protocol::Protocol::deaf_up_to`]); here its
//! members are kept in the order of what they ignore, each filed under what it ignored when it was
//! last looked at. It may ignore more by now, but not less.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use hustings_protocol::Candidate;

/// Members by what they ignore.
#[derive(Debug, Default)]
pub(crate) struct Attention {
    /// Those who ignored something at the beginning and have not been picked since, those who ignore
    /// least at the end. What they ignore is what it was.
    untouched: Vec<u32>,
    /// Those who ignore exactly what they heard: most, before long.
    followers: BTreeMap<Candidate, Vec<u32>>,
    others: BinaryHeap<Reverse<(Candidate, u32)>>,
    /// Those who ignored nothing.
    attentive: Vec<u32>,
}

impl Attention {
    /// Files the members from 0 to `count`, each by what it `ignores`.
    pub(crate) fn of(count: u32, ignores: impl Fn(u32) -> Option<Candidate>) -> Self {
        let all = || (0..count).rev();
        let mut untouched: Vec<u32> = Vec::with_capacity(count as usize);
        untouched.extend(all().filter(|&member| ignores(member).is_some()));
        // Those at the end are picked first: by number, where nothing else tells them apart.
        untouched.sort_by_key(|&member| Reverse(ignores(member)));
        Self {
            untouched,
            attentive: all().filter(|&member| ignores(member).is_none()).collect(),
            ..Self::default()
        }
    }

    /// Takes out all who, when they were filed, did not ignore a multicast of `weight`. What the
    /// untouched ignored then is what each `ignores` still.
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
        // In the order in which they lie in memory.
        picked.sort_unstable();
        picked
    }

    /// Takes out the untouched who do not ignore `weight`, and gives back the memory they leave.
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

    /// Files `member`, which was picked for a multicast of `weight` and now ignores `ignores`, unless
    /// it follows: then it is left to [`Attention::file_followers`]. Tells whether it does.
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

    /// Files those of the picked who ignore exactly what they heard, in the memory they are in.
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

/// Adds `more` to `all`, in any order: the smaller moves, and a million members take no more room than
/// they need.
fn join(all: &mut Vec<u32>, mut more: Vec<u32>) {
    if all.len() < more.len() {
        std::mem::swap(all, &mut more);
    }
    all.reserve_exact(more.len());
    all.append(&mut more);
}
