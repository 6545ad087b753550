//! Two processes with one name: the first one stays, and the other takes no part.
//!
//! Purpose     resolves a conflict of names, and stops a process that was copied while it ran
//! Inputs      frames under this member's own name, `StaleIncarnation` messages
//! Outputs     `DuplicateName` messages with this process's age, a later incarnation, log lines
//! Owns        the back-off of new incarnations ([`StaleIncarnation`])
//! Invariants  the two processes never both yield at once
//!
//! Each process measures its age on its own clock, because calendars may be set. If both came up
//! within a second, which network delay may blur, the calendar decides, so both see the same order.
//! If the ages differ by that very second, to within a round trip, and the calendars contradict
//! them, neither may yield. Both then log it until one is stopped.
//!
//! Two processes that *ask* for tenure do no harm: voters tell them apart. Two that *vote* do: each
//! has its own file and grants what the other does not know, and a nominee counts them as one
//! voter. So two members may hold tenure until one process yields. Unique voter names and files are
//! an assumption. This file only ends a violation, once the two processes hear each other.
//!
//! Without multicast, two processes may know the same members but not each other. A member that
//! hears both tells each the other's address. If one still cannot reach the other, neither yields,
//! and the others alternately take each for past.

use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant, MemberId};

use super::Admission;
use crate::frame::{Body, Frame};
use crate::identity::Incarnation;
use crate::node::{Context, Event, Io, Route};

/// The age difference up to which the calendar decides.
const NEAR: Duration = Duration::from_secs(1);

/// The time between two messages about this process's age to the same process.
const CLAIM_EVERY: Duration = Duration::from_millis(20);

/// The pause before another new incarnation, after a repeated report that another process is later.
/// It doubles up to [`MOST_DOUBLINGS`] times. Without it, two processes that cannot reach each
/// other would outdo each other as fast as a third member can report.
const OUTLIVED_PAUSE: Duration = Duration::from_millis(20);
const MOST_DOUBLINGS: u32 = 6;

/// Reports that other members know this member in a later incarnation.
#[derive(Debug, Default)]
pub(super) struct StaleIncarnation {
    pub(super) times: u64,
    /// The process reported last, the number of its reports in a row, and the time of the last.
    latest: Option<(Incarnation, u32, Instant)>,
}

impl StaleIncarnation {
    /// Notes a report about the process `by`. Returns true if a later incarnation may begin now.
    fn note(&mut self, now: Instant, by: Incarnation) -> bool {
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

impl Admission {
    /// Handles a frame under this member's own name.
    ///
    /// It may be this process's own frame, looped back; a frame from before a restart; or a frame
    /// of another process. This process sends its age, together with the first incarnation of the
    /// addressee: a recorded message to one process therefore cannot drive another one out.
    ///
    /// The process that stays begins a later incarnation than the other's, because members that
    /// heard the other take this one for past. It announces that at once. Otherwise they would look
    /// for it at the other's address, and a holder would ask this voter for renewal in vain.
    pub(super) fn on_duplicate_name(
        &mut self,
        from: SocketAddr,
        frame: &Frame<'_>,
        io: &mut Io<'_>,
    ) {
        let sender = &frame.sender;
        if !io.is_active() {
            return;
        }
        if sender.process_incarnation == io.process_incarnation {
            // A process may receive its own frames again, looped back or repeated by others.
            if (sender.incarnation, frame.number) >= (io.incarnation, io.number()) {
                stop_beside_a_copy(from, io);
            }
            return;
        }
        let claimed = match frame.body {
            Body::DuplicateName { process_incarnation, age_ns }
                if process_incarnation == io.process_incarnation.0 =>
            {
                Some(Duration(age_ns))
            }
            _ => None,
        };
        if claimed.is_some_and(|age| is_later_than(age, sender.process_incarnation, io)) {
            take_no_part(from, io);
            return;
        }
        // A process that began before this one may be this member's replayed past. But only a live
        // process can name this process's incarnation.
        let is_live = claimed.is_some() || sender.process_incarnation > io.process_incarnation;
        let is_outlived = is_live && sender.incarnation > io.incarnation;
        if is_live {
            complain(from, io);
        }
        if is_outlived {
            io.raise(Event::BeginIncarnation(Some(sender.incarnation)));
        }
        let place = SocketAddr::new(from.ip(), sender.port);
        io.raise(Event::Claim { process: sender.process_incarnation, place });
        if is_outlived {
            io.raise(Event::SayUp);
        }
    }

    /// Handles the report of `teller` that it knows this member in the incarnation `later`, of the
    /// process `process_incarnation`.
    ///
    /// This process begins a later incarnation, unless it is ahead already. If the other process
    /// has another address, it may be running, and is sent this one's age: so the two hear each
    /// other although neither knew the other's address. The teller learns at once that this process
    /// is here: it may be looking for a voter.
    pub(super) fn on_stale_incarnation(
        &mut self,
        (teller, address): (MemberId, SocketAddr),
        (later, process_incarnation): (Incarnation, Incarnation),
        elsewhere: Option<SocketAddr>,
        io: &mut Io<'_>,
    ) {
        if process_incarnation == io.process_incarnation {
            return; // heard by two channels, from two addresses
        }
        if later >= io.incarnation && self.stale_incarnation.note(io.now, process_incarnation) {
            self.log_stale_incarnation(elsewhere, io);
            io.raise(Event::BeginIncarnation(Some(later)));
            io.raise(Event::CouncilOutlived);
        }
        if let Some(place) = elsewhere {
            io.raise(Event::Claim { process: process_incarnation, place });
        }
        io.raise(Event::Correct { teller, place: address, later });
    }

    /// Sends this process's age to another process with the same name. The limit holds per process:
    /// one that comes soon after another may send nothing more that arrives here.
    pub(super) fn claim(
        &mut self,
        process_incarnation: Incarnation,
        address: SocketAddr,
        io: &mut Io<'_>,
    ) {
        let is_time = |(to, at): (Incarnation, Instant)| {
            to != process_incarnation || io.now - at >= CLAIM_EVERY
        };
        if self.claimed_at.is_none_or(is_time) {
            self.claimed_at = Some((process_incarnation, io.now));
            let claim = Body::DuplicateName {
                process_incarnation: process_incarnation.0,
                age_ns: age(io).0,
            };
            io.send_to(io.me.id, Route::To(address), &claim);
        }
    }

    /// Logs reports of a later incarnation, at each power of two. One report may come from a
    /// calendar that was set back; repeated ones come from a running process.
    fn log_stale_incarnation(&self, elsewhere: Option<SocketAddr>, context: &Context) {
        let (group, member, times) =
            (&context.config.name, &context.member, self.stale_incarnation.times);
        if !times.is_power_of_two() {
            return;
        }
        match (times, elsewhere) {
            (1, None) => tracing::warn!(
                "group `{group}`: other members know this member in a later incarnation: was the calendar set back? Going on in an incarnation after that"
            ),
            (1, Some(address)) => tracing::warn!(
                "group `{group}`: other members know `{member}` in a later incarnation, at {address}: either another process has this name, or this process moved and its calendar was set back. Going on in an incarnation after that; if a process runs there, the first of the two in the group stays"
            ),
            (_, Some(address)) => tracing::warn!(
                "group `{group}`: another process called `{member}` seems to run at {address}; other members reported it {times} times. The first of the two in the group stays; if both go on, they do not reach each other: end one of the two"
            ),
            (_, None) => tracing::warn!(
                "group `{group}`: another process called `{member}` seems to run behind the address of this process; other members reported it {times} times: end one of the two"
            ),
        }
    }
}

fn age(context: &Context) -> Duration {
    context.now - context.came_at
}

/// True if a process of this `age` came up before this one.
fn is_later_than(other: Duration, process_incarnation: Incarnation, context: &Context) -> bool {
    let own = age(context);
    match own.0.abs_diff(other.0) > NEAR.0 {
        true => own < other,
        false => process_incarnation < context.process_incarnation,
    }
}

fn take_no_part(from: SocketAddr, io: &mut Io<'_>) {
    let (group, member) = (&io.config.name, &io.member);
    tracing::error!(
        "a member called `{member}` of group `{group}` is there already, at {from}: taking no part; give one of the two another name"
    );
    io.emit.counters.namesakes += 1;
    io.raise(Event::NameTaken(from));
}

/// Stops this process, because it was copied with its memory, as when a running virtual machine is
/// cloned, and the copy has gone on. Voters take the two for one, and both hold the same tenure.
/// Nothing is released: the copy may be working under it.
fn stop_beside_a_copy(from: SocketAddr, io: &mut Io<'_>) {
    let (group, member) = (&io.config.name, &io.member);
    tracing::error!(
        "group `{group}`: the process of `{member}` was copied while it ran, and the copy sends from {from}: this process no longer takes part; do not copy a running member"
    );
    io.emit.counters.namesakes += 1;
    io.raise(Event::Copied(from));
}

fn complain(from: SocketAddr, io: &mut Io<'_>) {
    io.emit.counters.namesakes += 1;
    if io.emit.counters.namesakes.is_power_of_two() {
        let (group, member) = (&io.config.name, &io.member);
        tracing::error!(
            "another member called `{member}` of group `{group}` came up at {from}: it should stop by itself; give it another name"
        );
    }
}
