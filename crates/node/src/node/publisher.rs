//! The published leadership, with the reason for each change.
//!
//! Purpose     shows the user the leader, and why it changed
//! Inputs      every event, of which the last one is the reason for a change
//! Outputs     the leadership, in a watch channel
//! Owns        the channel, the last event ([`Trigger`]), the time without a leader
//! Invariants  it sees each event before the other components do, so the trigger is the reason for
//!             the change that follows

use hustings_protocol::{Instant, MemberId};
use tokio::sync::watch;

use super::context::Context;
use super::emit::Io;
use super::event::{Component, Event, StepDownCause};
use super::health::in_words;
use crate::leadership::{Leadership, Mode, Peer};

/// The last event at a member.
#[derive(Debug, Default)]
enum Trigger {
    /// The member came up, a timer fired, or the authority or this member's own disk answered.
    #[default]
    Other,
    /// A frame of this member arrived.
    Heard(MemberId),
    /// The failure detector reports this member down.
    Down(MemberId),
    /// This member itself is the cause, with this reason.
    Own(String),
}

/// The publisher of the leadership.
pub(super) struct Publisher {
    leadership: watch::Sender<Leadership>,
    trigger: Trigger,
    /// The leader whose process has died, until the next leader is named.
    died: Option<MemberId>,
    /// The time since which this member knows of no leader; in fenced mode, of no tenure holder.
    vacant_since: Option<Instant>,
}

impl Publisher {
    pub(super) fn new(context: &Context) -> Self {
        let (group, member) = (&context.config.name, &context.member);
        let unknown = Leadership {
            elects: !context.config.protocol.is_none(),
            ..Leadership::unknown(group, member, context.mode, context.now)
        };
        Self {
            leadership: watch::Sender::new(unknown),
            trigger: Trigger::default(),
            died: None,
            vacant_since: Some(context.now),
        }
    }

    pub(super) fn leadership(&self) -> watch::Ref<'_, Leadership> {
        self.leadership.borrow()
    }

    pub(super) fn watch(&self) -> watch::Receiver<Leadership> {
        self.leadership.subscribe()
    }

    pub(super) fn vacant_since(&self) -> Option<Instant> {
        self.vacant_since
    }

    /// Publishes the leadership, if it has changed.
    fn publish(&mut self, context: &Context) {
        let me = context.me.id;
        let own = context.tenure.fence.map(|fence| (me, fence));
        let holder = own.or(context.tenure.holder);
        let leader = holder.map(|(id, _)| id).or(context.nominee);
        let fence = holder.map(|(_, fence)| fence.0);
        let leads = match context.mode {
            Mode::Advisory => leader == Some(me),
            Mode::Fenced => own.is_some(),
        };
        {
            let known = self.leadership.borrow();
            let known_leader = known.leader.as_ref().map(|it| it.id);
            if (known_leader, known.leads, known.fence) == (leader, leads, fence) {
                return;
            }
        }
        let cause = self.cause(leader, fence, context);
        let leader = leader.map(|id| match id == me {
            true => Peer { name: context.member.clone(), id, address: None },
            false => context.describe(id),
        });
        self.leadership.send_modify(|known| {
            known.leads = leads;
            known.leader = leader;
            known.fence = fence;
            known.since = context.now;
            known.changes += 1;
            known.cause = cause;
        });
    }

    /// Completes the published leader with its name and address, once they are known. The election
    /// may name a member before any frame of it has arrived. This is no change of leader.
    fn complete(&self, peer: &Peer) {
        self.leadership.send_if_modified(|known| {
            let unmet = known.leader.as_mut().filter(|it| it.id == peer.id);
            unmet.is_some_and(|known| std::mem::replace(known, peer.clone()) != *peer)
        });
    }
}

impl Component for Publisher {
    fn on(&mut self, event: &Event<'_>, io: &mut Io<'_>) {
        let own = |why: &str| Trigger::Own(why.to_owned());
        self.trigger = match event {
            Event::Timeout | Event::StepDownOver => Trigger::Other,
            Event::Heard(heard) => Trigger::Heard(heard.frame.sender.id),
            Event::HeldBack { from, .. } => Trigger::Heard(*from), // it was only held back
            Event::MemberDown(id) => Trigger::Down(*id),
            Event::Saved(_) | Event::Lease(_) => Trigger::Other,
            Event::Reawakened(span) => {
                own(&format!("this member did not run for {}", in_words(*span)))
            }
            Event::SteppingDown(StepDownCause::Asked) => own("this member stepped down"),
            Event::SteppingDown(StepDownCause::Resigned) => {
                io.aside_because.as_ref().map_or(Trigger::Other, |it| own(&it.why))
            }
            Event::SteppingDown(StepDownCause::CannotHold) => own("this member stands aside"),
            Event::Leaving => own("this member is leaving"),
            Event::NameTaken(_) => own("another member has this member's name"),
            Event::Copied(_) => own("a copy of this process runs elsewhere"),
            Event::LeaderDead(id) => {
                self.died = Some(*id);
                return;
            }
            Event::NomineeChanged { .. } | Event::TenureChanged(_) => return self.publish(io),
            Event::LeaderMet(peer) => return self.complete(peer),
            _ => return,
        };
    }

    fn next_timeout(&self) -> Option<Instant> {
        None
    }
}

impl Publisher {
    /// Notes that `leader` leads from now on, with `fence`, and returns the reason. The reason is a
    /// clause such as "the process of `alpha` died". If no leader was known just before, it also
    /// gives the reason for that.
    fn cause(&mut self, leader: Option<MemberId>, fence: Option<u64>, context: &Context) -> String {
        let is_vacant = match context.mode {
            Mode::Advisory => leader.is_none(),
            Mode::Fenced => fence.is_none(),
        };
        self.vacant_since = is_vacant.then(|| self.vacant_since.unwrap_or(context.now));
        let text = {
            let known = self.leadership.borrow();
            let before = known.leader.as_ref().map(|it| it.id);
            let cause = self.cause_after(before, leader, fence, context);
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
        before: Option<MemberId>,
        leader: Option<MemberId>,
        fence: Option<u64>,
        context: &Context,
    ) -> String {
        if let Trigger::Own(why) = &self.trigger {
            return why.clone();
        }
        if leader == before {
            return cause_of_tenure(leader, fence, context);
        }
        let name = |id: MemberId| format!("`{}`", context.describe(id).name);
        let died = before.filter(|id| self.died == Some(*id));
        let is_unanswered = |id| format!("{} does not answer the failure detector", name(id));
        let was_another = before.filter(|id| *id != context.me.id);
        if let Some(id) = died {
            return format!("the process of {} died", name(id));
        }
        match self.trigger {
            Trigger::Down(id) if before == Some(id) => is_unanswered(id),
            Trigger::Heard(id) if leader == Some(id) => match fence {
                Some(_) => format!("{} announced that it holds tenure", name(id)),
                None => format!("{} announced that it leads", name(id)),
            },
            Trigger::Heard(id) if before == Some(id) => {
                format!("{} announced that it no longer leads", name(id))
            }
            Trigger::Heard(id) if leader.is_none() => format!("by a message of {}", name(id)),
            _ if leader == Some(context.me.id) && fence.is_some() => {
                "tenure was granted".to_owned()
            }
            _ => match was_another.and_then(|id| Some((id, context.peers.get(id)?.heard))) {
                Some((id, _)) if is_down(id, context) => is_unanswered(id),
                Some((id, at)) => {
                    let age = in_words(context.now - at);
                    format!("the last frame of {} arrived {age} ago", name(id))
                }
                None if leader == Some(context.me.id) => "elected, with no other leader".to_owned(),
                None => "elected".to_owned(),
            },
        }
    }
}

/// True if the failure detector reports a member down and the election uses the detector.
fn is_down(id: MemberId, context: &Context) -> bool {
    let detector = context.members.get().filter(|it| it.partial_view().is_none());
    let detector = detector.filter(|_| context.config.protocol.needs_view());
    detector.is_some_and(|it| it.address_of(id).is_none())
}

/// Returns the reason if the leader is the same, but its tenure has changed.
fn cause_of_tenure(leader: Option<MemberId>, fence: Option<u64>, context: &Context) -> String {
    let name = leader.map_or_else(String::new, |id| context.describe(id).name);
    match (leader == Some(context.me.id), fence) {
        (true, Some(_)) => "tenure was granted".to_owned(),
        (true, None) => "tenure was not renewed in time".to_owned(),
        (false, Some(_)) => format!("`{name}` announced that it holds tenure"),
        (false, None) => format!("`{name}` no longer announces that it holds tenure"),
    }
}
