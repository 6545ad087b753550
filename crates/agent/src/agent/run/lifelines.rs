//! The lifelines from an agent's groups to their leaders.

use hustings_protocol::{Duration, Instant, MemberId};

use super::Loop;
use crate::lifeline::{self, LeaderRef, Lifeline, Notice};

/// The time before the same leader is probed again. An answer arrives within this time or not at
/// all.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(100);

impl Loop {
    /// Keeps a lifeline to the leader of each group in which this member should have one.
    pub(super) fn tend_lifelines(&mut self) {
        for (number, group) in self.groups.iter().enumerate() {
            let leader = group.lifeline_to();
            let lifeline = self.lifelines.get(&number).filter(|it| !it.has_ended());
            if leader == lifeline.map(|it| (it.leader, it.address)) {
                continue;
            }
            self.lifelines.remove(&number);
            if let Some((leader, address)) = leader {
                let target = LeaderRef { group: number, leader };
                let lifeline = Lifeline::hold(address, target, self.on_notice.clone());
                self.lifelines.insert(number, lifeline);
            }
        }
    }

    pub(super) fn on_lifeline(&mut self, now: Instant, notice: Notice) {
        match notice {
            Notice::Refused { target, round_trip } => {
                let group = &mut self.groups[target.group];
                group.suspect(now, target.leader, round_trip.into(), &mut self.outbox);
            }
            Notice::Connected { target, hello } => {
                if let Some(frame) = self.groups[target.group].lifeline_hello(target.leader) {
                    // The lifeline may have ended in the meantime.
                    let _ = hello.send(frame);
                }
            }
        }
    }

    /// Handles a report that a member is dead. If the member is this group's leader, probes it
    /// once, no matter how many such reports arrive.
    pub(super) fn probe_leader(&mut self, now: Instant, number: usize, leader: MemberId) {
        let last = self.probes.get(&number);
        if last.is_some_and(|(suspected, at)| *suspected == leader && now - *at < ASK_AGAIN_AFTER) {
            return;
        }
        let known = self.groups[number].leader_elsewhere();
        let Some((_, address)) = known.filter(|(id, _)| *id == leader) else {
            return;
        };
        self.probes.insert(number, (leader, now));
        let target = LeaderRef { group: number, leader };
        lifeline::probe(address, target, self.on_notice.clone());
    }
}
