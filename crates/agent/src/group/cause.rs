//! Why leadership changes. Whatever happens to a member is noted before it is acted on; if the leader changes by it,
//! that is the reason, and users find it beside the new leader.

use hustings_protocol::{Duration, Instant, MemberId};

use super::Group;
use super::health::in_words;
use crate::leadership::Mode;

/// What happened to a member last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Trigger {
    /// It came up.
    #[default]
    Start,
    /// A time was over.
    Time,
    /// This member was heard.
    Heard(MemberId),
    /// The failure detector misses this member.
    Down(MemberId),
    /// Those who grant tenure answered, or its own disk did.
    Authority,
    /// It had not run for this long.
    Pause(Duration),
    /// It was asked to give leadership up.
    StepDown,
    /// It gave leadership up as its user wishes, for a reason that is known.
    Resign,
    /// It gave leadership up for a reason of its own.
    StandAside,
    /// It is leaving for good.
    Leave,
    /// Another member has its name.
    DuplicateName,
}

impl Group {
    /// Notes that `leader` leads from now on, with `fence`, and returns the reason: a clause, as "the process of `alpha`
    /// died". Where the member knew of no leader just before, the reason also says why.
    pub(super) fn cause(
        &mut self,
        now: Instant,
        leader: Option<MemberId>,
        fence: Option<u64>,
    ) -> String {
        let is_vacant = match self.tenancy.mode() {
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
        // In fenced mode its tenure outlives it for a while, so that the change comes later than the death.
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
            _ => match was_another.and_then(|id| Some((id, self.peers.get(id)?.heard))) {
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

    /// Returns whether the failure detector misses a member, where an election goes by the detector.
    fn is_down(&self, id: MemberId) -> bool {
        let detector = self.membership.as_ref();
        let detector = detector.filter(|it| it.circle().is_none());
        let detector = detector.filter(|_| self.config.protocol.needs_view());
        detector.is_some_and(|it| it.address_of(id).is_none())
    }

    /// The leader is the same, and its tenure is not.
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
