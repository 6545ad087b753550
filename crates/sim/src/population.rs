//! The members' conditions, the partitions between them, and the resulting views.
//!
//! A view is computed, not stored. The view of member `a` contains `b` if the detector considers
//! `b` up and on `a`'s side of any partition. For partial views, a seeded hash of the pair decides
//! in addition. Thus a million views cost a few bytes per member.

use std::hint::cold_path;

use hustings_protocol::mix64::{fit, mix64};
use hustings_protocol::{Candidate, Duration, MemberId, Priority, View};

use crate::contacts::Contacts;

/// The failure detector: the way in which views follow failures and partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detection {
    /// Views show failures at once, without an input to members: the papers' assumption for rings.
    Oracle,
    /// Views never change: members have only time-outs.
    Never,
    /// Views show a change after this delay, and members get an input.
    After(Duration),
}

/// A member's condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    Up,
    Down,
    Paused,
}

#[derive(Debug)]
pub(crate) struct Population {
    priorities: Vec<Priority>,
    /// True if all members have the same priority: the first one is then the best.
    is_level: bool,
    conditions: Vec<Condition>,
    /// The number of members that are down or paused.
    not_up: usize,
    /// For each member, true if the detector considers it up.
    seen_up: Vec<bool>,
    /// True if every view contains every member.
    all_know_all: bool,
    /// The side of the partition that each member is on; empty without a partition.
    sides: Vec<u16>,
    /// The sides as the detector has last seen them.
    seen_sides: Vec<u16>,
    /// Links that are cut in one direction: from, to.
    one_way: Vec<(u32, u32)>,
    acquaintance: Option<Acquaintance>,
    /// The pairs that got to know each other later.
    contacts: Contacts,
    /// True if no member is down or paused and no link is cut: every message reaches its receiver.
    fault_free: bool,
}

/// The initial partial views: a pair is acquainted if its hash is below a threshold.
#[derive(Debug, Clone, Copy)]
struct Acquaintance {
    seed: u64,
    threshold: u64,
}

impl Population {
    /// Members with these priorities, all up. Each view contains each other member with probability
    /// `view`.
    pub(crate) fn new(priorities: Vec<Priority>, view: f64, seed: u64) -> Self {
        let count = priorities.len();
        let acquaintance =
            (view < 1.0).then(|| Acquaintance { seed, threshold: (view * 2f64.powi(64)) as u64 });
        Self {
            is_level: priorities.windows(2).all(|pair| pair[0] == pair[1]),
            priorities,
            conditions: vec![Condition::Up; count],
            not_up: 0,
            seen_up: vec![true; count],
            all_know_all: acquaintance.is_none(),
            sides: Vec::new(),
            seen_sides: Vec::new(),
            one_way: Vec::new(),
            acquaintance,
            contacts: Contacts::new(count),
            fault_free: true,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.priorities.len()
    }

    #[inline]
    pub(crate) fn candidate(&self, member: u32) -> Candidate {
        // `get`, not an index: if only the identity is needed, the compiler removes the look-up and
        // its check.
        let priority = self.priorities.get(member as usize).copied();
        Candidate {
            priority: priority.unwrap_or_else(|| {
                cold_path();
                Priority(0)
            }),
            id: MemberId(u64::from(member)),
        }
    }

    #[inline]
    pub(crate) fn condition(&self, member: u32) -> Condition {
        self.conditions[member as usize]
    }

    pub(crate) fn set_condition(&mut self, member: u32, condition: Condition) {
        let before = std::mem::replace(&mut self.conditions[member as usize], condition);
        self.not_up -= usize::from(before != Condition::Up);
        self.not_up += usize::from(condition != Condition::Up);
        self.update_fault_free();
    }

    fn update_fault_free(&mut self) {
        self.fault_free = self.is_whole() && self.not_up == 0;
    }

    /// True if every message reaches its receiver: no member is down or paused, and no link is cut.
    #[inline]
    pub(crate) fn is_fault_free(&self) -> bool {
        self.fault_free
    }

    pub(crate) fn up(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.priorities.len() as u32)
            .filter(|&member| self.condition(member) != Condition::Down)
    }

    /// Partitions the members; `sides` gives each member's side.
    pub(crate) fn cut(&mut self, sides: Vec<u16>) {
        self.sides = sides;
        self.update_fault_free();
    }

    pub(crate) fn cut_one_way(&mut self, from: u32, to: u32) {
        if !self.one_way.contains(&(from, to)) {
            self.one_way.push((from, to));
        }
        self.update_fault_free();
    }

    pub(crate) fn heal(&mut self) {
        self.sides.clear();
        self.one_way.clear();
        self.update_fault_free();
    }

    #[inline]
    pub(crate) fn is_whole(&self) -> bool {
        self.sides.is_empty() && self.one_way.is_empty()
    }

    /// True if no partition or cut link stops a message from `from` to `to`.
    #[inline]
    pub(crate) fn connected(&self, from: u32, to: u32) -> bool {
        self.is_whole() || {
            let same_side =
                self.sides.is_empty() || self.sides[from as usize] == self.sides[to as usize];
            same_side && !self.one_way.contains(&(from, to))
        }
    }

    /// True if a message from `from` is delivered to `member` now.
    #[inline]
    pub(crate) fn hears(&self, member: u32, from: u32) -> bool {
        self.fault_free || self.condition(member) == Condition::Up && self.connected(from, member)
    }

    /// Updates the detector to the present conditions. Returns the changes as sorted pairs of
    /// observer and subject, so that the caller can inform each observer.
    pub(crate) fn notice(&mut self) -> Vec<(u32, u32)> {
        let count = self.priorities.len() as u32;
        let sides_moved = self.sides != self.seen_sides;
        let moved: Vec<u32> = (0..count)
            .filter(|&m| self.seen_up[m as usize] == (self.condition(m) == Condition::Down))
            .collect();
        if moved.is_empty() && !sides_moved {
            return Vec::new();
        }
        let subjects: Vec<u32> = if sides_moved { (0..count).collect() } else { moved };
        let observers: Vec<u32> = self.up().collect();
        let pairs = |population: &Self| -> Vec<bool> {
            let of = |&observer: &u32| subjects.iter().map(move |&s| (observer, s));
            let all = observers.iter().flat_map(of);
            all.map(|(o, s)| population.knows(o, s)).collect()
        };
        let before = pairs(self);
        self.see();
        let after = pairs(self);
        let changed = before.iter().zip(&after).map(|(b, a)| b != a);
        let all = observers.iter().flat_map(|&o| subjects.iter().map(move |&s| (o, s)));
        all.zip(changed).filter_map(|(pair, changed)| changed.then_some(pair)).collect()
    }

    /// Updates the detector to the present conditions without reporting changes.
    pub(crate) fn see(&mut self) {
        for (seen, condition) in self.seen_up.iter_mut().zip(&self.conditions) {
            *seen = *condition != Condition::Down;
        }
        self.seen_sides.clone_from(&self.sides);
        self.all_know_all = self.acquaintance.is_none()
            && self.seen_sides.is_empty()
            && self.seen_up.iter().all(|&seen| seen);
    }

    /// True if `observer`'s view contains `subject`. A member's view always contains itself.
    #[inline]
    pub(crate) fn knows(&self, observer: u32, subject: u32) -> bool {
        observer == subject
            || self.seen_up[subject as usize]
                && (self.seen_sides.is_empty()
                    || self.seen_sides[observer as usize] == self.seen_sides[subject as usize])
                && self.acquaintance.is_none_or(|a| {
                    a.holds(observer, subject) || self.contacts.has(observer, subject)
                })
    }

    /// Adds `subject` to `observer`'s view, for as long as the detector considers it up.
    pub(crate) fn meet(&mut self, observer: u32, subject: u32) {
        let knows_already = |a: Acquaintance| a.holds(observer, subject);
        if observer != subject && !self.acquaintance.is_none_or(knows_already) {
            self.contacts.enter(observer, subject);
        }
    }

    pub(crate) fn view(&self, observer: u32) -> ComputedView<'_> {
        ComputedView { population: self, observer }
    }
}

impl Acquaintance {
    #[inline]
    fn holds(self, observer: u32, subject: u32) -> bool {
        mix64(self.seed ^ pair(observer, subject)) < self.threshold
    }
}

#[inline]
fn pair(observer: u32, subject: u32) -> u64 {
    u64::from(observer) << 32 | u64::from(subject)
}

/// Minimum number of random trials for a member that the view contains.
const TRIALS: usize = 64;

/// One member's view, computed on demand.
#[derive(Clone, Copy)]
pub(crate) struct ComputedView<'a> {
    population: &'a Population,
    observer: u32,
}

impl ComputedView<'_> {
    fn index(&self, id: MemberId) -> Option<u32> {
        u32::try_from(id.0).ok().filter(|&member| (member as usize) < self.population.len())
    }

    /// The first member from `member` on that the view contains. The search ends at the observer at
    /// the latest, because a view contains its owner.
    #[inline(never)]
    fn known_from(self, mut member: u32) -> Candidate {
        while !self.population.knows(self.observer, member) {
            member += 1;
            if member as usize == self.population.len() {
                member = 0;
            }
        }
        self.population.candidate(member)
    }

    /// Draws another member by trial. A view that contains one member in a hundred takes a hundred
    /// trials on average, regardless of the group's size. The number of trials is bounded by the
    /// number of members, because a scan takes no longer than that. If every trial fails, returns
    /// an unused random number.
    fn tried(self, me: MemberId, mut number: u64) -> Result<u32, u64> {
        let people = self.population;
        for _ in 0..people.len().max(TRIALS) {
            let member = fit(number, people.len() as u64) as u32;
            if u64::from(member) != me.0 && people.knows(self.observer, member) {
                return Ok(member);
            }
            number = mix64(number);
        }
        Err(number)
    }
}

impl View for ComputedView<'_> {
    fn len(&self) -> usize {
        let people = self.population;
        match people.acquaintance {
            _ if people.all_know_all => people.len(),
            Some(acquaintance) if people.seen_sides.is_empty() => {
                // Counted without a branch: if all members ask, this loop runs over all pairs.
                let known = |member: u32, up: bool| acquaintance.holds(self.observer, member) & up;
                let seen = (0..).zip(&people.seen_up);
                let others: usize = seen.map(|(m, &up)| usize::from(known(m, up))).sum();
                let knows_itself = known(self.observer, people.seen_up[self.observer as usize]);
                let contacts = people.contacts.by(self.observer);
                let contacts = contacts.filter(|&member| people.seen_up[member as usize]);
                others + usize::from(!knows_itself) + contacts.count()
            }
            Some(_) | None => self.candidates().count(),
        }
    }

    #[inline]
    fn get(&self, id: MemberId) -> Option<Candidate> {
        self.index(id)
            .filter(|&member| self.population.knows(self.observer, member))
            .map(|member| self.population.candidate(member))
    }

    #[inline(always)]
    fn successor(&self, id: MemberId) -> Candidate {
        let next = id.0.wrapping_add(1);
        let next = if next < self.population.len() as u64 { next as u32 } else { 0 };
        if self.population.all_know_all {
            self.population.candidate(next)
        } else {
            cold_path();
            self.known_from(next)
        }
    }

    fn candidates(&self) -> impl Iterator<Item = Candidate> {
        (0..self.population.len() as u32)
            .filter(|&member| self.population.knows(self.observer, member))
            .map(|member| self.population.candidate(member))
    }

    /// Checks only candidates that are better than the best one found.
    fn best(&self) -> Candidate {
        let people = self.population;
        if people.is_level {
            return self.known_from(0);
        }
        let mut best = people.candidate(self.observer);
        for member in 0..people.len() as u32 {
            let candidate = people.candidate(member);
            if candidate > best && people.knows(self.observer, member) {
                best = candidate;
            }
        }
        best
    }

    fn picked(&self, pick: impl Fn(MemberId) -> bool) -> impl Iterator<Item = Candidate> {
        (0..self.population.len() as u32)
            .filter(move |&member| pick(MemberId(u64::from(member))))
            .filter(|&member| self.population.knows(self.observer, member))
            .map(|member| self.population.candidate(member))
    }

    fn has_fewer_than(&self, count: u64) -> bool {
        let people = self.population;
        match usize::try_from(count) {
            Ok(count) if people.all_know_all => people.len() < count,
            Ok(count) if count <= people.len() => self.candidates().take(count).count() < count,
            Ok(_) | Err(_) => true,
        }
    }

    /// By trial, because counting a partial view first would take time proportional to the group.
    fn other(&self, me: MemberId, number: u64) -> Option<Candidate> {
        let others = || self.candidates().filter(|it| it.id != me);
        match self.tried(me, number) {
            Ok(member) => Some(self.population.candidate(member)),
            Err(number) => others().nth(fit(number, others().count() as u64) as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Condition, Population};
    use hustings_protocol::mix64::mix64;
    use hustings_protocol::{MemberId, Priority, View};

    fn population(count: u64, view: f64) -> Population {
        Population::new((0..count).map(Priority).collect(), view, 42)
    }

    #[test]
    fn ring_skips_members_that_the_detector_considers_down() {
        let mut population = population(5, 1.0);
        population.set_condition(3, Condition::Down);
        assert_eq!(population.view(2).successor(MemberId(2)).id, MemberId(3));
        population.see();
        assert_eq!(population.view(2).successor(MemberId(2)).id, MemberId(4));
        assert_eq!(population.view(2).len(), 4);
        assert_eq!(population.view(2).best().id, MemberId(4));
    }

    #[test]
    fn both_sides_notice_a_partition_and_its_end() {
        let mut population = population(3, 1.0);
        population.cut(vec![0, 0, 1]);
        assert!(!population.connected(0, 2) && population.connected(0, 1));
        assert!(population.view(0).contains(MemberId(2)), "not noticed yet");
        assert_eq!(population.notice(), [(0, 2), (1, 2), (2, 0), (2, 1)]);
        assert!(!population.view(0).contains(MemberId(2)));
        assert_eq!(population.notice(), []);
        population.heal();
        assert_eq!(population.notice().len(), 4);
        assert!(population.view(0).contains(MemberId(2)));
    }

    #[test]
    fn view_counts_agree_with_iteration() {
        let mut population = population(300, 0.4);
        for gone in [7, 8, 250] {
            population.set_condition(gone, Condition::Down);
        }
        population.see();
        for contacts in [None, Some(9)] {
            contacts.into_iter().for_each(|it| population.meet(3, it));
            for observer in 0..300 {
                let view = population.view(observer);
                let known: Vec<MemberId> = view.candidates().map(|it| it.id).collect();
                assert_eq!(view.len(), known.len(), "{observer}");
                let counts = [0, 1, view.len() - 1, view.len(), view.len() + 1, 301, usize::MAX];
                for count in counts {
                    let fewer = view.has_fewer_than(count as u64);
                    assert_eq!(fewer, view.len() < count, "{observer}: {count}");
                }
                assert_eq!(Some(view.best()), view.candidates().max(), "{observer}");
                let odd = |id: MemberId| id.0 % 2 == 1;
                let picked = view.picked(odd).map(|it| it.id);
                assert!(picked.eq(known.into_iter().filter(|&id| odd(id))), "{observer}");
            }
        }
    }

    #[test]
    fn draws_from_a_view_are_uniform() {
        for (count, view) in [(40, 1.0), (40, 0.5), (40, 0.05), (2_000, 0.002)] {
            let population = population(count, view);
            let view = population.view(7);
            let known = view.len() - 1;
            let draws = 4_000 * known;
            let mut drawn = vec![0_u32; count as usize];
            for number in (0..draws as u64).map(mix64) {
                drawn[view.other(MemberId(7), number).unwrap().id.0 as usize] += 1;
            }
            assert_eq!(drawn.iter().filter(|&&times| times > 0).count(), known);
            // 4,000 each, standard deviation 63.
            let even = |times: &&u32| **times > 0 && times.abs_diff(4_000) > 5 * 63;
            assert_eq!(drawn.iter().find(even), None, "of {known}");
        }
        assert_eq!(population(1, 1.0).view(0).other(MemberId(0), 3), None);
    }

    /// A census of 10,000 members that know 100 each draws 800,000 times. No draw may scan the
    /// group.
    #[test]
    fn small_views_in_large_groups_are_drawn_without_a_scan() {
        let population = population(10_000, 0.01);
        for number in (0..2_000).map(mix64) {
            let tried = population.view(7).tried(MemberId(7), number);
            assert!(tried.is_ok_and(|member| population.knows(7, member)));
        }
    }

    #[test]
    fn contact_is_in_the_view_while_considered_up() {
        let mut population = population(200, 0.1);
        let stranger = (1..200).find(|&m| !population.knows(0, m)).unwrap();
        population.meet(0, stranger);
        assert!(population.knows(0, stranger) && !population.knows(stranger, 0));
        population.set_condition(stranger, Condition::Down);
        population.see();
        assert!(!population.knows(0, stranger));
    }

    #[test]
    fn best_of_a_view_is_found_for_equal_and_unequal_priorities() {
        let level = Population::new(vec![Priority(3); 300], 0.05, 42);
        for mut people in [level, population(300, 0.05)] {
            people.set_condition(0, Condition::Down);
            people.set_condition(299, Condition::Down);
            people.see();
            for member in 0..300 {
                let view = people.view(member);
                assert_eq!(Some(view.best()), view.candidates().max(), "of {member}");
            }
        }
    }

    #[test]
    fn partial_views_hold_the_stated_share_and_their_owner() {
        let population = population(2_000, 0.3);
        let known: usize = (0..50).map(|member| population.view(member).len() - 1).sum();
        // 50 x 1999 draws: mean 29985, standard deviation 145.
        assert!((known as f64 - 29_985.0).abs() < 4.5 * 145.0, "{known}");
        assert!((0..2_000).all(|member| population.knows(member, member)));
    }
}
