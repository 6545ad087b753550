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
//!
//! Where multicasts are off two may know the same others, and not each other. Whoever hears both tells each where the
//! other is. If one cannot be reached from the other even so, neither yields: each in turn is the past to the others.

use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant, MemberId};

use super::cause::Trigger;
use super::{Group, Outbox, Route, Standing};
use crate::frame::{Body, Frame};
use crate::identity::Life;

/// Those who came up within this span are told apart by the calendar.
const NEAR: Duration = Duration::from_secs(1);

/// How often whoever goes by our name is told how long we have been here.
const CLAIM_EVERY: Duration = Duration::from_millis(20);

/// Who is told again and again that another process has outlived it waits longer each time before it begins one more
/// life: so long at first, and doubled so often at most. Two that cannot reach each other would else outlive each other
/// as fast as whoever hears both can tell them.
const OUTLIVED_PAUSE: Duration = Duration::from_millis(20);
const MOST_DOUBLINGS: u32 = 6;

/// How often others had heard this member in a later life.
#[derive(Debug, Default)]
pub(super) struct Outlived {
    pub(super) times: u64,
    /// By which process last, how often in a row, and when.
    latest: Option<(Life, u32, Instant)>,
}

impl Outlived {
    /// It was, by the process that began with the life `by`. Returns whether it may begin a later one by now.
    fn note(&mut self, now: Instant, by: Life) -> bool {
        let row = match self.latest {
            Some((before, row, at)) if before == by => {
                if now - at < OUTLIVED_PAUSE * (1 << row.min(MOST_DOUBLINGS)) {
                    return false;
                }
                row + 1
            }
            Some(_) | None => 0,
        };
        self.latest = Some((by, row, now));
        self.times += 1;
        true
    }
}

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
        if !matches!(self.standing, Standing::Partaking) {
            return;
        }
        if sender.born() == self.born {
            // What this process has sent it may hear again, looped back or repeated by others.
            if (sender.life(), frame.number) >= (self.life, self.number) {
                self.stop_beside_a_copy(now, from, out);
            }
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
        let address = SocketAddr::new(from.ip(), sender.port);
        self.claim(now, sender.born(), address, out);
        if is_outlived {
            self.say_where_it_is(now, out);
        }
    }

    /// Somebody has heard this member in the life `later`, of a process that began with the life `born`. Unless it is
    /// ahead of that already it begins one after it. If that process is elsewhere it may run: it is told that this one is
    /// here, so that the two hear each other, though neither knew where the other is. And whoever told of it hears at
    /// once that this one is here: it may be looking for a voter.
    pub(super) fn on_outlived(
        &mut self,
        now: Instant,
        (teller, address): (MemberId, SocketAddr),
        (later, born): (Life, Life),
        elsewhere: Option<SocketAddr>,
        out: &mut Outbox,
    ) {
        if born == self.born {
            return; // heard by two ways, from two addresses
        }
        if later >= self.life && self.outlived.note(now, born) {
            self.tell_of_outlived(elsewhere);
            self.begin_life_after(later);
            self.call_anew(now, out);
        }
        if let Some(other) = elsewhere {
            self.claim(now, born, other, out);
        }
        if self.life > later {
            self.send_to(teller, Route::To(address), &Body::Up, out);
        }
    }

    /// Tells the process that began with the life `born`, and goes by our name, how long we have been here. Each of
    /// them: one that comes soon after another may say no more that is heard here.
    fn claim(&mut self, now: Instant, born: Life, address: SocketAddr, out: &mut Outbox) {
        let is_time = |(to, at): (Life, Instant)| to != born || now - at >= CLAIM_EVERY;
        if self.claimed_at.is_none_or(is_time) {
            self.claimed_at = Some((born, now));
            let claim = Body::Namesake {
                born: born.0,
                age_ns: self.age(now).0,
            };
            self.send_to(self.me.id, Route::To(address), &claim, out);
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
        self.trigger = Trigger::DuplicateName;
        self.forget_handover();
        self.resign_tenure(now, out);
        self.quit_council();
        self.standing = Standing::Refused(from);
        self.publish(now, None, out);
    }

    /// This process was copied with its memory, as with a virtual machine that is cloned while it runs, and the copy has gone
    /// on. Voters take the two for one, and whatever this one holds the other holds too. So this one stops, and gives nothing
    /// up: the other may work by it.
    fn stop_beside_a_copy(&mut self, now: Instant, from: SocketAddr, out: &mut Outbox) {
        let (group, member) = (&self.config.name, &self.member);
        tracing::error!(
            "group `{group}`: the process of `{member}` was copied while it ran, and its copy speaks at {from}: this one takes no part any more; do not copy a member that runs"
        );
        self.counters.namesakes += 1;
        self.standing = Standing::Copied(from); // from here on nothing of tenure is sent
        self.forget_handover();
        self.disown_tenure(now);
        self.quit_council();
        self.publish(now, None, out);
    }

    /// Once it may be the calendar. Again and again it is somebody who runs: told ever more seldom.
    fn tell_of_outlived(&self, elsewhere: Option<SocketAddr>) {
        let (group, member, times) = (&self.config.name, &self.member, self.outlived.times);
        if !times.is_power_of_two() {
            return;
        }
        match (times, elsewhere) {
            (1, None) => tracing::warn!(
                "group `{group}`: others have heard this member in a later life: was the calendar set back? Going on after that one"
            ),
            (1, Some(address)) => tracing::warn!(
                "group `{group}`: others have heard `{member}` in a later life, at {address}: another process by this name, or this one's past, before it moved and the calendar was set back? Going on after that one; if a process is there, who was here first stays"
            ),
            (_, Some(address)) => tracing::warn!(
                "group `{group}`: another process called `{member}` seems to run at {address}; so others said {times} times. Who was here first stays; if both go on, they do not reach each other: end one of the two"
            ),
            (_, None) => tracing::warn!(
                "group `{group}`: another process called `{member}` seems to run behind the address of this one; so others said {times} times: end one of the two"
            ),
        }
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
