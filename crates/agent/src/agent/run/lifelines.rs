//! The lifelines of an agent's groups to their leaders.

use hustings_protocol::{Duration, Instant, MemberId};

use super::Loop;
use crate::lifeline::{self, Lifeline, Notice, Refusal, Whose};

/// An answer to an inquiry has come by then, or does not come.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(100);

impl Loop {
    /// Holds a lifeline to each group's leader, where it is one of those who do.
    pub(super) fn tend_lifelines(&mut self) {
        for (number, group) in self.groups.iter().enumerate() {
            let leader = group.lifeline_to();
            let lifeline = self.lifelines.get(&number).filter(|it| !it.has_ended());
            if leader == lifeline.map(|it| (it.leader, it.address)) {
                continue;
            }
            self.lifelines.remove(&number);
            if let Some((leader, address)) = leader {
                let whose = Whose {
                    group: number,
                    leader,
                };
                let lifeline = Lifeline::hold(address, whose, self.notices.clone());
                self.lifelines.insert(number, lifeline);
            }
        }
    }

    pub(super) fn on_lifeline(&mut self, now: Instant, notice: Notice) {
        match notice {
            Notice::Refused(Refusal { whose, round_trip }) => {
                let group = &mut self.groups[whose.group];
                group.suspect(now, whose.leader, round_trip.into(), &mut self.outbox);
            }
            Notice::Connected { whose, hello } => {
                if let Some(frame) = self.groups[whose.group].lifeline_hello(whose.leader) {
                    // The lifeline may have ended meanwhile.
                    let _ = hello.send(frame);
                }
            }
        }
    }

    /// Somebody holds a member to be dead. If it is our leader we find out for ourselves, once, however many
    /// say so.
    pub(super) fn doubt(&mut self, now: Instant, number: usize, leader: MemberId) {
        let asked = self.inquiries.get(&number);
        if asked.is_some_and(|(whose, at)| *whose == leader && now - *at < ASK_AGAIN_AFTER) {
            return;
        }
        let known = self.groups[number].leader_elsewhere();
        let Some((_, address)) = known.filter(|(id, _)| *id == leader) else {
            return;
        };
        self.inquiries.insert(number, (leader, now));
        let whose = Whose {
            group: number,
            leader,
        };
        lifeline::inquire(address, whose, self.notices.clone());
    }
}
