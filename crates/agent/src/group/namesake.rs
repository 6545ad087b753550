//! Two that go by one name: who was here first stays, and the other takes no part.
//!
//! Who was first is told by how long each has been here, on its own clock: calendars may be set back and forth. Only
//! of two that came up within a second, which the way of a frame may blur, the calendar decides: then both see the
//! same order. So both never yield at once. If they differ by that very second, to within a round trip, and their
//! calendars contradict it, neither may yield: both say so until one is stopped.
//!
//! Two that ask for tenure are no danger to it, for voters tell them apart. Two that *vote* are: each with a file of
//! its own grants what the other knows nothing of, and whoever counts takes them for one voter. So two may hold until
//! one of them yields. That a voter's name, and its file, exist once is assumed, not seen to: what is here ends it
//! when they hear each other, and no sooner.

use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant};

use super::{Group, Outbox, Route, Standing};
use crate::frame::{Body, Frame};
use crate::identity::Life;

/// Those who came up within this span are told apart by the calendar.
const NEAR: Duration = Duration::from_secs(1);

/// How often whoever goes by our name is told how long we have been here.
const CLAIM_EVERY: Duration = Duration::from_millis(20);

impl Group {
    /// Somebody goes by our name: we ourselves, looped back or before a restart, or somebody else. It is told how
    /// long we have been here, and by what we know it: what was said to another process, and is replayed, cannot drive
    /// anybody out. Who stays begins a later life than the other's: to those who have heard the other its own had become
    /// the past. And it says so at once: they would look for it where the other is, and of a voter that means that
    /// whoever holds asks in vain for more.
    pub(super) fn hear_namesake(
        &mut self,
        now: Instant,
        from: SocketAddr,
        frame: &Frame<'_>,
        out: &mut Outbox,
    ) {
        let sender = &frame.sender;
        let is_oneself = sender.born() == self.born;
        if is_oneself || !matches!(self.standing, Standing::Partaking) {
            return;
        }
        let claimed = match frame.body {
            Body::Namesake { born, age_ns } if born == self.born.0 => Some(Duration(age_ns)),
            _ => None,
        };
        if claimed.is_some_and(|age| self.is_later_than(now, age, sender.born())) {
            self.take_no_part(now, from, out);
            return;
        }
        // Whoever was born before us may be our own past, replayed. But only who lives can have heard us.
        let lives = claimed.is_some() || sender.born() > self.born;
        let is_outlived = lives && sender.life() > self.life;
        if lives {
            self.complain(from);
        }
        if is_outlived {
            self.begin_life_after(sender.life());
        }
        // Each of them: one that comes soon after another may say no more that is heard here.
        let is_time = |(to, at): (Life, Instant)| to != sender.born() || now - at >= CLAIM_EVERY;
        if self.claimed_at.is_none_or(is_time) {
            self.claimed_at = Some((sender.born(), now));
            let address = SocketAddr::new(from.ip(), sender.port);
            let (born, age_ns) = (sender.born().0, self.age(now).0);
            let claim = Body::Namesake { born, age_ns };
            self.send(Route::To(address), &claim, out);
        }
        if is_outlived {
            self.say_where_it_is(now, out);
        }
    }

    /// How long it has been here.
    fn age(&self, now: Instant) -> Duration {
        now - self.came_at
    }

    /// Whether one that has been here for `age` came before it.
    fn is_later_than(&self, now: Instant, age: Duration, born: Life) -> bool {
        let own = self.age(now);
        match own.0.abs_diff(age.0) > NEAR.0 {
            true => own < age,
            false => born < self.born,
        }
    }

    fn take_no_part(&mut self, now: Instant, from: SocketAddr, out: &mut Outbox) {
        let (group, member) = (&self.config.name, &self.member);
        tracing::error!(
            "a member called `{member}` of group `{group}` is there already, at {from}: taking no part; give one of the two another name"
        );
        self.counters.namesakes += 1;
        self.forget_handover();
        self.resign_tenure(now, out);
        self.quit_council();
        self.standing = Standing::Refused(from);
        self.publish(now, None, out);
    }

    fn complain(&mut self, from: SocketAddr) {
        self.counters.namesakes += 1;
        if self.counters.namesakes.is_power_of_two() {
            let (group, member) = (&self.config.name, &self.member);
            tracing::error!(
                "another member called `{member}` of group `{group}` came up at {from}: it should stop by itself; give it another name"
            );
        }
    }
}
