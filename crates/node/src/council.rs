//! A member's role in the council of its group: the centre that calls, or a host that may be
//! elected.
//!
//! Purpose     connects the council protocol with frames, status and user
//! Inputs      messages of centre and hosts, time
//! Outputs     council messages, watch channels for seat and council, log lines
//! Owns        the role in the council
//! Invariants  a centre's message counts only if its calendar time is within `FRESH_FOR` of this
//!             host's. A member without a role has no such component
//!
//! The centre's messages go to all members like those of an election; hosts answer by unicast. The
//! protocol numbers rounds and heartbeats. But a host that just came up knows no numbers, and a
//! restarted fleet would answer a recorded call. So each message carries the centre's calendar
//! time.
//!
//! Of two centres, hosts obey the one that began later. The earlier one stops when it receives a
//! message of the later one: it could no longer elect any host.

mod centre;
mod terms;

use std::net::SocketAddr;

use hustings_protocol::council::{self, Cause, Change, Council, CouncilOutcome, Message};
use hustings_protocol::{Candidate, Duration, Instant, MemberId};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::watch;

use crate::driver::{Driver, Effect, ElectionDriver, encode};
use crate::frame::{Body, Sender};
use crate::identity::{Incarnation, member_id};
use crate::leadership::Peer;
use crate::node::{Admitted, Component, Context, Event, Io, Route, chance};
use crate::seal::Rejected;
use centre::Calling;
pub(crate) use terms::addressed;
pub use terms::{
    CentreStatus, ChamberStatus, CouncilPart, CouncilStatus, HostStatus, MOST_CLASSES,
    MOST_RECORDED, SeatStatus, Seated, Terms, public_seed,
};

/// The largest difference between the calendars of a centre and its hosts. Hosts with synchronised
/// clocks are far closer.
const FRESH_FOR: Duration = Duration::from_secs(30);

/// Separates a host's random numbers in the council from those in the election.
const COUNCILS_OWN: u64 = 0xc0de_0c1e_c0de_0c1e;

/// A member's role in a council.
pub(crate) enum CouncilRole {
    Host(Box<Hosting>),
    Centre(Box<Calling>),
}

/// The state of a host.
pub(crate) struct Hosting {
    driver: Driver<Council>,
    /// True if the other components know of a seat.
    is_known_seated: bool,
    /// The only centre that the host obeys, if it is configured.
    only_centre: Option<MemberId>,
    /// The centre of the last accepted message.
    centre: Option<MemberId>,
    /// The current terms, class and number of seats. A change makes a new configuration.
    terms: Option<(Terms, (u16, u16))>,
    watch: watch::Sender<HostStatus>,
}

impl CouncilRole {
    /// Creates the role that the configuration gives this member, if it gives one.
    pub(crate) fn new(context: &Context) -> Option<Self> {
        let (group, me) = (&context.config.name, context.me);
        match &context.config.council {
            CouncilPart::Off => None,
            CouncilPart::Host { class, centre } => {
                let rng = chance(Incarnation(context.incarnation.0 ^ COUNCILS_OWN), me.id);
                let only_centre = centre.as_deref().map(member_id);
                Some(Self::Host(Box::new(Hosting::new((group, *class), only_centre, me, rng))))
            }
            CouncilPart::Centre(rules) => {
                Some(Self::Centre(Box::new(Calling::new(context, (**rules).clone()))))
            }
        }
    }

    fn driver_mut(&mut self) -> Option<&mut Driver<Council>> {
        match self {
            Self::Host(host) => Some(&mut host.driver),
            Self::Centre(centre) => centre.driver_mut(),
        }
    }

    /// Returns a receiver that watches this member's seat.
    pub(crate) fn watch_seat(&self) -> Option<watch::Receiver<HostStatus>> {
        match self {
            Self::Host(host) => Some(host.watch.subscribe()),
            Self::Centre(_) => None,
        }
    }

    /// Returns a receiver that watches all seats, if this member is the centre.
    pub(crate) fn watch_council(&self) -> Option<watch::Receiver<CentreStatus>> {
        match self {
            Self::Centre(centre) => Some(centre.watch()),
            Self::Host(_) => None,
        }
    }

    pub(crate) fn status(&self, context: &Context, now: Instant) -> CouncilStatus {
        match self {
            Self::Host(host) => CouncilStatus::Host(host.status(now)),
            Self::Centre(centre) => CouncilStatus::Centre(centre.status(context, now)),
        }
    }

    #[cfg(test)]
    pub(crate) fn as_centre(&self) -> Option<&Calling> {
        match self {
            Self::Centre(centre) => Some(centre),
            Self::Host(_) => None,
        }
    }
}

impl Component for CouncilRole {
    fn on(&mut self, event: &Event<'_>, io: &mut Io<'_>) {
        match event {
            // A host starts at once, a centre when it can reach the others.
            Event::StartCouncil => {
                match self {
                    Self::Host(host) => host.driver.start(io.now),
                    Self::Centre(centre) => centre.start(io.now),
                }
                self.act(io);
            }
            Event::Timeout => self.on_timeout(io),
            Event::Heard(heard) => self.heard(heard, io),
            // The host gives up its seat, or the centre releases all seats.
            Event::Leaving => {
                if let Some(driver) = self.driver_mut() {
                    driver.leave(io.now);
                }
                self.act(io);
            }
            Event::QuitCouncil => self.quit(),
            // The centre starts a later session.
            Event::CouncilOutlived => {
                if let Self::Centre(centre) = self {
                    centre.begin_anew(io.incarnation, io.now);
                    self.act(io);
                }
            }
            _ => return,
        }
        if let Self::Host(host) = self {
            let is_seated = host.seat().is_some();
            if std::mem::replace(&mut host.is_known_seated, is_seated) != is_seated {
                io.raise(Event::Seated(is_seated));
            }
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        match self {
            Self::Host(host) => host.driver.due(),
            Self::Centre(centre) => {
                let driver = centre.driver().and_then(ElectionDriver::due);
                driver.into_iter().chain(centre.due()).min()
            }
        }
    }
}

impl Hosting {
    fn new(
        (group, class): (&str, u16),
        only_centre: Option<MemberId>,
        me: Candidate,
        rng: Xoshiro256PlusPlus,
    ) -> Self {
        // A host alone does nothing with it; a centre's terms replace it.
        let none_yet = council::Config::field(council::Seats::new(1, 1), 2, Duration(1));
        let host = Council::host(class);
        Self {
            driver: Driver::new(me, host, none_yet, rng, None),
            is_known_seated: false,
            only_centre,
            centre: None,
            terms: None,
            watch: watch::Sender::new(HostStatus {
                group: group.to_owned(),
                class,
                seat: None,
                changes: 0,
            }),
        }
    }

    fn class(&self) -> u16 {
        self.watch.borrow().class
    }

    /// Adopts the terms of a centre's `message`. Returns true if they are valid.
    fn go_by(&mut self, terms: &[u8], message: &Message) -> bool {
        let (Ok(terms), Some(addressed)) = (postcard::from_bytes(terms), addressed(message)) else {
            return false;
        };
        if self.terms == Some((terms, addressed)) {
            return true;
        }
        let Some(mut config) = terms.config(message) else {
            return false;
        };
        config.centre = self.only_centre;
        self.driver.set_config(config);
        self.terms = Some((terms, addressed));
        true
    }

    fn seat(&self) -> Option<u8> {
        let host = self.driver.protocol.as_host();
        host.and_then(council::Host::seat)
    }

    /// Returns the remaining time of the host's seat.
    fn lease(&self, now: Instant) -> Option<Duration> {
        self.driver.due().map(|due| due - now)
    }

    fn publish_seat(&mut self, now: Instant, centre: Peer) {
        let seat = self.seat().map(|place| SeatStatus {
            place,
            centre,
            since: now,
            lease: self.lease(now),
        });
        self.watch.send_modify(|status| {
            status.seat = seat;
            status.changes += 1;
        });
    }

    fn status(&self, now: Instant) -> HostStatus {
        let mut status = self.watch.borrow().clone();
        if let Some(seat) = &mut status.seat {
            seat.lease = self.lease(now);
        }
        status
    }
}

// Inputs.
impl CouncilRole {
    fn heard(&mut self, heard: &Admitted<'_>, io: &mut Io<'_>) {
        let sender = &heard.frame.sender;
        match heard.frame.body {
            Body::CentreMessage { at_ns, terms, message } if is_fresh(sender, at_ns, io) => {
                self.on_centre(sender, terms, message, io);
            }
            Body::HostMessage { message } => self.on_host(sender, message, io),
            _ => {}
        }
    }

    fn on_timeout(&mut self, io: &mut Io<'_>) {
        if let Self::Centre(centre) = self {
            centre.start_if_due(io.now);
        }
        if let Some(driver) = self.driver_mut() {
            driver.pass(io.now);
        }
        self.act(io);
        if let Self::Centre(centre) = self {
            centre.look(io.now);
            if centre.has_news(io.now) {
                centre.publish(io);
            }
        }
    }

    /// Leaves the council without a message, because another process has this member's name.
    fn quit(&mut self) {
        if let Self::Host(host) = self
            && host.seat().is_some()
        {
            host.watch.send_modify(|status| {
                status.seat = None;
                status.changes += 1;
            });
        }
    }

    /// Handles a message of a centre.
    fn on_centre(&mut self, sender: &Sender<'_>, terms: &[u8], message: &[u8], io: &mut Io<'_>) {
        let Ok(message) = postcard::from_bytes::<Message>(message) else {
            io.emit.counters.reject(Rejected::Malformed);
            return;
        };
        let Some((class, _)) = addressed(&message) else {
            io.emit.counters.reject(Rejected::Malformed); // a host's message in a centre's frame
            return;
        };
        match self {
            Self::Centre(centre) => match postcard::from_bytes::<Terms>(terms) {
                Ok(terms) => {
                    let other = io.describe(sender.id);
                    if centre.meet(other, &message, terms.yields) {
                        centre.publish(io);
                    }
                }
                Err(_) => note_nonsense(sender, io),
            },
            Self::Host(host) if host.class() != class => {} // for another class
            Self::Host(host) => {
                // A lease that ran out while this process was paused ends before the message is
                // handled.
                host.driver.pass(io.now);
                if host.go_by(terms, &message) {
                    host.centre = host.only_centre.or(Some(sender.id));
                    host.driver.hear(io.now, sender.id, message);
                } else {
                    note_nonsense(sender, io);
                }
                self.act(io);
            }
        }
    }

    /// Handles a message of a host to the centre.
    fn on_host(&mut self, sender: &Sender<'_>, message: &[u8], io: &mut Io<'_>) {
        if let Self::Host(_) = self {
            return; // this member was the centre before
        }
        let message = match postcard::from_bytes::<Message>(message) {
            Ok(message) if addressed(&message).is_none() => message,
            Ok(_) | Err(_) => {
                io.emit.counters.reject(Rejected::Malformed);
                return;
            }
        };
        // Timers that were due come first: a late reply is late.
        if let Some(driver) = self.driver_mut() {
            driver.pass(io.now);
        }
        self.act(io);
        let Self::Centre(centre) = self else {
            return;
        };
        if let Some(fault) = centre.fault_of(sender.id, &message) {
            return refuse_reply(sender, fault, io);
        }
        centre.hear(io.now, &io.describe(sender.id), message);
        let is_news = centre.has_news(io.now);
        self.act(io);
        if let Self::Centre(centre) = self
            && is_news
        {
            centre.publish(io);
        }
    }
}

// Outputs.
impl CouncilRole {
    fn act(&mut self, io: &mut Io<'_>) {
        while let Some(driver) = self.driver_mut() {
            let effects = driver.take_effects();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                self.carry_out(effect, io);
            }
        }
    }

    fn carry_out(&mut self, effect: Effect<CouncilOutcome>, io: &mut Io<'_>) {
        match effect {
            Effect::Unicast { to, message } => match io.address_of(to) {
                Some(address) => self.say(&message, Some((to, address)), io),
                None => io.emit.counters.unsent += 1,
            },
            Effect::Multicast { message } => self.say(&message, None, io),
            // The session number is derived from the calendar, like incarnations.
            Effect::Save(_) => {}
            Effect::Report(CouncilOutcome::Council(change)) => self.publish_change(change, io),
            // A round is reported with its feedback. Councils have no partial views.
            Effect::Report(CouncilOutcome::Standing { .. }) | Effect::Meet(_) => {}
        }
    }

    /// Sends a message to one member, or to all.
    fn say(&mut self, message: &[u8], to: Option<(MemberId, SocketAddr)>, io: &mut Io<'_>) {
        io.emit.counters.council_sent += 1;
        let terms = match self {
            Self::Host(_) => Vec::new(),
            Self::Centre(centre) => {
                let terms = centre.terms_of(io.now, message);
                terms.map(|it| encode(&it)).unwrap_or_default()
            }
        };
        let body = match self {
            Self::Host(_) => Body::HostMessage { message },
            Self::Centre(_) => {
                Body::CentreMessage { at_ns: io.emit.entropy.calendar(), terms: &terms, message }
            }
        };
        match to {
            Some((to, address)) => io.send_to(to, Route::To(address), &body),
            None => io.broadcast(&body),
        }
    }

    /// Publishes a change of the council to the user.
    fn publish_change(&mut self, change: Change, context: &Context) {
        match self {
            Self::Host(host) => {
                let centre = host.centre.unwrap_or(context.me.id);
                host.publish_seat(context.now, context.peers.describe(centre));
            }
            Self::Centre(centre) => {
                centre.note(context.now, change);
                centre.publish(context);
            }
        }
    }
}

/// True if a centre's message is recent by the calendars of both hosts.
pub(crate) fn is_fresh(sender: &Sender<'_>, at_ns: u64, io: &mut Io<'_>) -> bool {
    let off = Duration(io.emit.entropy.calendar().abs_diff(at_ns));
    if off <= FRESH_FOR {
        return true;
    }
    io.emit.counters.council_stale += 1;
    if io.emit.counters.council_stale.is_power_of_two() {
        tracing::warn!(
            "group `{}`: a message of the centre `{}` is {:.0} s off by this host's calendar, and is ignored: either it is replayed, or the calendars of the two hosts differ",
            io.config.name,
            sender.name,
            off.as_secs_f64()
        );
    }
    false
}

fn note_nonsense(sender: &Sender<'_>, io: &mut Io<'_>) {
    io.emit.counters.council_senseless += 1;
    if io.emit.counters.council_senseless.is_power_of_two() {
        tracing::warn!(
            "group `{}`: a message of the centre `{}` cannot be understood, and is ignored: run one version of hustings on every member",
            io.config.name,
            sender.name
        );
    }
}

/// Counts a reply that no honest host gives.
fn refuse_reply(sender: &Sender<'_>, fault: Cause, io: &mut Io<'_>) {
    io.emit.counters.council_senseless += 1;
    if io.emit.counters.council_senseless.is_power_of_two() {
        let why = match fault {
            Cause::Beyond => "no host can draw by the number that it names",
            _ => "its coins say otherwise",
        };
        tracing::warn!(
            "group `{}`: a reply of the host `{}` is not counted: {why}",
            io.config.name,
            sender.name
        );
    }
}
