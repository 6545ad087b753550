//! The reasons for changes of leadership.
//!
//! Purpose     tells the user why the leader changed
//! Inputs      the last event ([`Trigger`]), the leader before and after
//! Outputs     a clause that is published beside the new leader
//! Owns        nothing of its own; writes `vacant_since` and `died` of [`Group`]
//! Invariants  every event is noted as the trigger before it is acted on, so the trigger is the
//!             reason for the change that follows

use hustings_protocol::{Duration, Instant, MemberId};

use super::Group;
use super::health::in_words;
use crate::leadership::Mode;

/// The last event at a member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Trigger {
    /// The member came up.
    #[default]
    Start,
    /// A timer fired.
    Time,
    /// A frame of this member arrived.
    Heard(MemberId),
    /// The failure detector reports this member down.
    Down(MemberId),
    /// The authority answered, or this member's own disk did.
    Authority,
    /// This process did not run for this time.
    Pause(Duration),
    /// The member was asked to give up leadership.
    StepDown,
    /// The member gave up leadership at its user's request, with a known reason.
    Resign,
    /// The member gave up leadership for a reason of its own.
    StandAside,
    /// The member is leaving for good.
    Leave,
    /// Another process has this member's name.
    DuplicateName,
}

impl Group {
    /// Notes that `leader` leads from now on, with `fence`, and returns the reason. The reason is a
    /// clause such as "the process of `alpha` died". If no leader was known just before, it also
    /// gives the reason for that.
    pub(super) fn cause(
        &mut self,
        now: Instant,
        leader: Option<MemberId>,
        fence: Option<u64>,
    ) -> String {
        let is_vacant = match self.tenure.mode() {
            Mode::Advisory => leader.is_none(),
            Mode::Fenced => fence.is_none(),
        };
        self.vacant_since = is_vacant.then(|| self.vacant_since.unwrap_or(now));
        let text = {
            let known = self.leadership.borrow();
            let before = known.leader.as_ref().map(|it| it.id);
            let cause = self.cause_after(now, before, leader, fence);
            match (before, leader) {
                (None, Some(_)) if !known.cause.is_empty() => {
                    format!("{cause}, after {}", known.cause)
                }
                _ => cause,
            }
        };
        // In fenced mode a dead leader's tenure lasts for a while, so the change comes later than
        // the death.
        if leader.is_some() {
            self.died = None;
        }
        text
    }

    fn cause_after(
        &self,
        now: Instant,
        before: Option<MemberId>,
        leader: Option<MemberId>,
        fence: Option<u64>,
    ) -> String {
        let own = match self.trigger {
            Trigger::StepDown => Some("this member stepped down".to_owned()),
            Trigger::Resign => self.aside_because.as_ref().map(|it| it.why.clone()),
            Trigger::StandAside => Some("this member stands aside".to_owned()),
            Trigger::Leave => Some("this member is leaving".to_owned()),
            Trigger::Pause(span) => Some(format!("this member did not run for {}", in_words(span))),
            Trigger::DuplicateName => Some("another member has this member's name".to_owned()),
            _ => None,
        };
        if let Some(own) = own {
            return own;
        }
        if leader == before {
            return self.cause_of_tenure(leader, fence);
        }
        let name = |id: MemberId| format!("`{}`", self.describe(id).name);
        let died = before.filter(|id| self.died == Some(*id));
        let was_another = before.filter(|id| *id != self.me.id);
        if let Some(id) = died {
            return format!("the process of {} died", name(id));
        }
        match self.trigger {
            Trigger::Down(id) if before == Some(id) => {
                format!("{} does not answer the failure detector", name(id))
            }
            Trigger::Heard(id) if leader == Some(id) => match fence {
                Some(_) => format!("{} said that it holds tenure", name(id)),
                None => format!("{} said that it leads", name(id)),
            },
            Trigger::Heard(id) if before == Some(id) => {
                format!("{} said that it no longer leads", name(id))
            }
            Trigger::Heard(id) if leader.is_none() => format!("by what {} said", name(id)),
            _ if leader == Some(self.me.id) && fence.is_some() => "tenure was granted".to_owned(),
            _ => match was_another.and_then(|id| Some((id, self.peer_table.get(id)?.heard))) {
                Some((id, _)) if self.is_down(id) => {
                    format!("{} does not answer the failure detector", name(id))
                }
                Some((id, at)) => {
                    format!("{} was last heard {} ago", name(id), in_words(now - at))
                }
                None if leader == Some(self.me.id) => "elected, with no other leader".to_owned(),
                None => "elected".to_owned(),
            },
        }
    }

    /// True if the failure detector reports a member down and the election uses the detector.
    fn is_down(&self, id: MemberId) -> bool {
        let detector = self.membership.as_ref();
        let detector = detector.filter(|it| it.partial_view().is_none());
        let detector = detector.filter(|_| self.config.protocol.needs_view());
        detector.is_some_and(|it| it.address_of(id).is_none())
    }

    /// Returns the reason if the leader is the same, but its tenure has changed.
    fn cause_of_tenure(&self, leader: Option<MemberId>, fence: Option<u64>) -> String {
        let name = leader.map_or_else(String::new, |id| self.describe(id).name);
        match (leader == Some(self.me.id), fence) {
            (true, Some(_)) => "tenure was granted".to_owned(),
            (true, None) => "tenure was not renewed in time".to_owned(),
            (false, Some(_)) => format!("`{name}` said that it holds tenure"),
            (false, None) => format!("`{name}` no longer says that it holds tenure"),
        }
    }
}
