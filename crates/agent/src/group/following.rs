//! Followers tell their leader that they are there: see [`crate::backing`].

use std::net::SocketAddr;

use hustings_protocol::{Candidate, Duration, Instant, MemberId, Merit};

use super::{Group, Outbox, Route};
use crate::backing::Backing;
use crate::frame::Body;

/// However many followers a leader has, it is told of each at least so often.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A member's part in it, as leader and as follower.
pub(super) struct Following {
    backing: Backing,
    /// When to speak up next, and how long after the last time.
    speaks_at: Option<Instant>,
    pause: Duration,
}

impl Following {
    pub(super) fn new(announce: Duration) -> Self {
        let backing = Backing::new(announce);
        Self {
            speaks_at: None,
            pause: backing.usual_pause(),
            backing,
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        let times = [self.speaks_at, self.backing.due()];
        times.into_iter().flatten().min()
    }
}

impl Group {
    /// The leader changed.
    pub(super) fn follow_anew(&mut self, now: Instant) {
        let follows = self.leader_elsewhere().is_some();
        let me = self.me.id.0;
        let Some(following) = &mut self.following else {
            return;
        };
        following.pause = following.backing.usual_pause();
        // Not all at once: each in its own moment.
        let moment = Duration(me % following.pause.0.max(1));
        following.speaks_at = follows.then(|| now + moment);
        if !self.leadership.borrow().leads {
            for change in following.backing.forget_all() {
                self.seat.count(change);
            }
        }
    }

    /// Speaks up, if it is time, and forgets those who did not.
    pub(super) fn pass_following(&mut self, now: Instant, out: &mut Outbox) {
        let leader = self.leader_elsewhere();
        let merit = self.me.merit;
        let Some(following) = &mut self.following else {
            return;
        };
        for change in following.backing.forget_silent(now) {
            self.seat.count(change);
        }
        if following.speaks_at.is_none_or(|at| at > now) {
            return;
        }
        following.speaks_at = leader.map(|_| now + following.pause);
        if let Some((_, address)) = leader {
            self.send(Route::To(address), &Body::Follow { merit }, out);
        }
    }

    /// Somebody follows us.
    pub(super) fn on_follow(
        &mut self,
        now: Instant,
        id: MemberId,
        merit: Merit,
        address: SocketAddr,
        out: &mut Outbox,
    ) {
        if !self.leadership.borrow().leads {
            return;
        }
        let Some(following) = &mut self.following else {
            return;
        };
        let pause = following.backing.wanted_pause();
        let is_usual = pause == following.backing.usual_pause();
        if let Some(change) = following.backing.hear(Candidate { merit, id }, now) {
            self.seat.count(change);
        }
        if !is_usual {
            let pause_ns = pause.0;
            self.send(Route::To(address), &Body::Slower { pause_ns }, out);
        }
    }

    /// The leader hears from too many.
    pub(super) fn on_slower(&mut self, from: MemberId, pause_ns: u64) {
        let is_leader = self.leader_elsewhere().is_some_and(|(id, _)| id == from);
        if let Some(following) = self.following.as_mut().filter(|_| is_leader) {
            let usual = following.backing.usual_pause();
            following.pause = Duration(pause_ns).clamp(usual, LONGEST_PAUSE.max(usual));
        }
    }
}
