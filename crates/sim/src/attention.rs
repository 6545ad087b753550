//! Who listens to what: so that a multicast costs the time of those to whom it makes a difference.
//!
//! Where members announce themselves to a million others, nearly all of these know of somebody
//! better and ignore it. A [`Protocol`] may say so ([`Protocol::deaf_up_to`]); here its members are
//! kept in the order of what they ignore, each filed under what it ignored when it was last looked
//! at. It may ignore more by now, but not less.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use hustings_protocol::{Candidate, Protocol};

use crate::population::Population;

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
    /// Those of the present multicast.
    picked: Vec<u32>,
}

impl Attention {
    /// Files all members.
    pub(crate) fn of<P: Protocol>(members: &[P], people: &Population, config: &P::Config) -> Self {
        let ignores =
            |member: &u32| members[*member as usize].deaf_up_to(people.candidate(*member), config);
        let all = || (0..members.len() as u32).rev();
        let mut untouched: Vec<u32> = Vec::with_capacity(members.len());
        untouched.extend(all().filter(|member| ignores(member).is_some()));
        // Those at the end are picked first: by number, where nothing else tells them apart.
        untouched.sort_by_key(|member| Reverse(ignores(member)));
        Self {
            untouched,
            attentive: all().filter(|member| ignores(member).is_none()).collect(),
            ..Self::default()
        }
    }

    /// Takes out all who, when they were filed, did not ignore a multicast of `weight`.
    pub(crate) fn pick<P: Protocol>(
        &mut self,
        weight: Candidate,
        members: &[P],
        people: &Population,
        config: &P::Config,
    ) -> Vec<u32> {
        let mut picked = std::mem::take(&mut self.picked);
        while let Some(&member) = self.untouched.last() {
            let ignores = members[member as usize].deaf_up_to(people.candidate(member), config);
            if ignores >= Some(weight) {
                break;
            }
            picked.push(member);
            self.untouched.pop();
        }
        if self.untouched.is_empty() {
            self.untouched = Vec::new();
        }
        while let Some(group) = self.followers.first_entry()
            && *group.key() < weight
        {
            picked.append(&mut group.remove());
        }
        picked.append(&mut self.attentive);
        while let Some(Reverse((ignored, member))) = self.others.peek().copied()
            && ignored < weight
        {
            self.others.pop();
            picked.push(member);
        }
        // In the order in which they lie in memory.
        picked.sort_unstable();
        picked
    }

    /// Files `member`, which was picked for a multicast of `weight` and now ignores `ignores`.
    pub(crate) fn file(&mut self, member: u32, ignores: Option<Candidate>, weight: Candidate) {
        match ignores {
            None => self.attentive.push(member),
            Some(ignored) if ignored == weight => {
                self.followers.entry(weight).or_default().push(member);
            }
            Some(ignored) => self.others.push(Reverse((ignored, member))),
        }
    }

    /// Takes the emptied list of those who were picked back, for its memory.
    pub(crate) fn reuse(&mut self, mut picked: Vec<u32>) {
        picked.clear();
        self.picked = picked;
    }
}
