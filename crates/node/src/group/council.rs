//! A member's role in the council of its group: the centre that calls, or a host that may be
//! elected.
//!
//! Purpose     connects the council protocol with frames, status and user
//! Inputs      messages of centre and hosts, time
//! Outputs     council messages, watch channels for seat and council, log lines
//! Owns        [`CouncilRole`]
//! Invariants  a centre's message counts only if its calendar time is within [`FRESH_FOR`] of this
//!             host's. An old centre message never makes a whole fleet answer
//!             ([`Group::may_answer_past`])
//!
//! The centre's messages go to all members like those of an election; hosts answer by unicast. The
//! protocol numbers rounds and heartbeats. But a host that just came up knows no numbers, and a
//! restarted fleet would answer a recorded call. So each message carries the centre's calendar
//! time.
//!
//! Of two centres, hosts obey the one that began later. The earlier one stops when it receives a
//! message of the later one: it could no longer elect any host.

mod centre;

use hustings_protocol::council::{self, Cause, Change, Council, CouncilOutcome, Message};
use hustings_protocol::{Candidate, Duration, Instant, MemberId};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::watch;

use super::{Group, Outbox, Route, chance};
use crate::council::{
    CentreStatus, CouncilPart, CouncilStatus, HostStatus, SeatStatus, Terms, addressed,
};
use crate::driver::{Driver, Effect, ElectionDriver, encode};
use crate::frame::{Body, Sender};
use crate::identity::{Incarnation, member_id};
use crate::leadership::Peer;
use crate::seal::Rejected;
use centre::Calling;

/// The largest difference between the calendars of a centre and its hosts. Hosts with synchronised
/// clocks are far closer.
const FRESH_FOR: Duration = Duration::from_secs(30);

/// Separates a host's random numbers in the council from those in the election.
const COUNCILS_OWN: u64 = 0xc0de_0c1e_c0de_0c1e;

/// A member's role in a council.
pub(super) enum CouncilRole {
    Off,
    Host(Box<Hosting>),
    Centre(Box<Calling>),
}

/// The state of a host.
pub(super) struct Hosting {
    driver: Driver<Council>,
    /// The only centre that the host obeys, if it is configured.
    only_centre: Option<MemberId>,
    /// The centre of the last accepted message.
    centre: Option<MemberId>,
    /// The current terms, class and number of seats. A change makes a new configuration.
    terms: Option<(Terms, (u16, u16))>,
    told: watch::Sender<HostStatus>,
}

impl CouncilRole {
    pub(super) fn new(
        part: &CouncilPart,
        (group, member): (&str, &str),
        (me, incarnation): (Candidate, Incarnation),
        now: Instant,
    ) -> Self {
        let rng = chance(Incarnation(incarnation.0 ^ COUNCILS_OWN), me.id);
        match part {
            CouncilPart::Off => Self::Off,
            CouncilPart::Host { class, centre } => {
                let only_centre = centre.as_deref().map(member_id);
                Self::Host(Box::new(Hosting::new((group, *class), only_centre, me, rng)))
            }
            CouncilPart::Centre(config) => {
                let rules = (**config).clone();
                let centre = Calling::new((group, member), me, rules, incarnation, now);
                Self::Centre(Box::new(centre))
            }
        }
    }

    fn driver(&self) -> Option<&Driver<Council>> {
        match self {
            Self::Off => None,
            Self::Host(host) => Some(&host.driver),
            Self::Centre(centre) => centre.driver(),
        }
    }

    fn driver_mut(&mut self) -> Option<&mut Driver<Council>> {
        match self {
            Self::Off => None,
            Self::Host(host) => Some(&mut host.driver),
            Self::Centre(centre) => centre.driver_mut(),
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        let timer = self.driver().and_then(ElectionDriver::due);
        let looks = match self {
            Self::Centre(centre) => centre.due(),
            Self::Off | Self::Host(_) => None,
        };
        timer.into_iter().chain(looks).min()
    }

    fn is_seated(&self) -> bool {
        match self {
            Self::Host(host) => host.seat().is_some(),
            Self::Off | Self::Centre(_) => false,
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
            only_centre,
            centre: None,
            terms: None,
            told: watch::Sender::new(HostStatus {
                group: group.to_owned(),
                class,
                seat: None,
                changes: 0,
            }),
        }
    }

    fn class(&self) -> u16 {
        self.told.borrow().class
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
        let host = self.driver.protocol().as_host();
        host.and_then(council::Host::seat)
    }

    /// Returns the remaining time of the host's seat.
    fn lease(&self, now: Instant) -> Option<Duration> {
        self.driver.due().map(|due| due - now)
    }

    fn tell(&mut self, now: Instant, centre: Peer) {
        let seat = self.seat().map(|place| SeatStatus {
            place,
            centre,
            since: now,
            lease: self.lease(now),
        });
        self.told.send_modify(|told| {
            told.seat = seat;
            told.changes += 1;
        });
    }

    fn status(&self, now: Instant) -> HostStatus {
        let mut status = self.told.borrow().clone();
        if let Some(seat) = &mut status.seat {
            seat.lease = self.lease(now);
        }
        status
    }
}

impl Group {
    pub(super) fn is_host(&self) -> bool {
        matches!(self.council, CouncilRole::Host(_))
    }

    pub(super) fn is_centre(&self) -> bool {
        matches!(self.council, CouncilRole::Centre(_))
    }

    /// Returns a receiver that watches this member's seat.
    pub fn watch_seat(&self) -> Option<watch::Receiver<HostStatus>> {
        match &self.council {
            CouncilRole::Host(host) => Some(host.told.subscribe()),
            CouncilRole::Off | CouncilRole::Centre(_) => None,
        }
    }

    /// Returns a receiver that watches all seats, if this member is the centre.
    pub fn watch_council(&self) -> Option<watch::Receiver<CentreStatus>> {
        match &self.council {
            CouncilRole::Centre(centre) => Some(centre.watch()),
            CouncilRole::Off | CouncilRole::Host(_) => None,
        }
    }

    pub(super) fn council_status(&self, now: Instant) -> Option<CouncilStatus> {
        match &self.council {
            CouncilRole::Off => None,
            CouncilRole::Host(host) => Some(CouncilStatus::Host(host.status(now))),
            CouncilRole::Centre(centre) => {
                let describe = |id| self.describe(id);
                Some(CouncilStatus::Centre(centre.status(now, describe)))
            }
        }
    }

    /// Starts the council, unless it has started: a host at once, a centre when it can reach the
    /// others.
    pub(super) fn start_council(&mut self, now: Instant, out: &mut Outbox) {
        match &mut self.council {
            CouncilRole::Off => {}
            CouncilRole::Host(host) => host.driver.start(now),
            CouncilRole::Centre(centre) => centre.start(now),
        }
        self.act_in_council(now, out);
    }

    pub(super) fn pass_council(&mut self, now: Instant, out: &mut Outbox) {
        if let CouncilRole::Centre(centre) = &mut self.council {
            centre.start_if_due(now);
        }
        if let Some(driver) = self.council.driver_mut() {
            driver.pass(now);
        }
        self.act_in_council(now, out);
        if let CouncilRole::Centre(centre) = &mut self.council {
            centre.look(now, &self.config.name);
            if centre.has_news(now) {
                self.publish_council(now);
            }
        }
    }

    /// Gives up the host's seat, or releases all seats of the centre.
    pub(super) fn leave_council(&mut self, now: Instant, out: &mut Outbox) {
        if let Some(driver) = self.council.driver_mut() {
            driver.leave(now);
        }
        self.act_in_council(now, out);
    }

    /// Leaves the council without a message, because another process has this member's name.
    pub(super) fn quit_council(&mut self) {
        if let CouncilRole::Host(host) = &self.council
            && host.seat().is_some()
        {
            host.told.send_modify(|told| {
                told.seat = None;
                told.changes += 1;
            });
        }
        self.council = CouncilRole::Off;
    }

    /// Starts a later session of the centre, because the others know this member in a later
    /// incarnation.
    pub(super) fn call_anew(&mut self, now: Instant, out: &mut Outbox) {
        let incarnation = self.incarnation;
        if let CouncilRole::Centre(centre) = &mut self.council {
            centre.begin_anew(incarnation, now);
            self.act_in_council(now, out);
        }
    }

    /// True if a sender in an old incarnation may be notified. Every member receives a broadcast:
    /// if all answered, one replayed frame would draw answers from a whole fleet. Only the few
    /// seated hosts answer.
    pub(super) fn may_answer_past(&self, body: &Body<'_>, to_all: bool) -> bool {
        let is_to_a_fleet = match body {
            Body::CentreMessage { .. } => true,
            _ => to_all && self.config.protocol.is_none(),
        };
        !is_to_a_fleet || self.council.is_seated()
    }
}

// Inputs.
impl Group {
    /// Handles a message of a centre.
    pub(super) fn on_centre(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        (at_ns, terms, message): (u64, &[u8], &[u8]),
        out: &mut Outbox,
    ) {
        if matches!(self.council, CouncilRole::Off) {
            return;
        }
        if !self.is_fresh(sender, at_ns) {
            return;
        }
        let Ok(message) = postcard::from_bytes::<Message>(message) else {
            self.counters.reject(Rejected::Malformed);
            return;
        };
        let Some((class, _)) = addressed(&message) else {
            self.counters.reject(Rejected::Malformed); // a host's message in a centre's frame
            return;
        };
        match &mut self.council {
            CouncilRole::Off => {}
            CouncilRole::Centre(_) => match postcard::from_bytes::<Terms>(terms) {
                Ok(terms) => self.meet_centre(now, sender, (&message, terms.yields)),
                Err(_) => self.note_nonsense(sender),
            },
            CouncilRole::Host(host) if host.class() != class => {} // for another class
            CouncilRole::Host(host) => {
                // A lease that ran out while this process was paused ends before the message is
                // handled.
                host.driver.pass(now);
                if host.go_by(terms, &message) {
                    host.centre = host.only_centre.or(Some(sender.id));
                    host.driver.hear(now, sender.id, message);
                } else {
                    self.note_nonsense(sender);
                }
                self.act_in_council(now, out);
            }
        }
    }

    fn note_nonsense(&mut self, sender: &Sender<'_>) {
        self.counters.council_senseless += 1;
        if self.counters.council_senseless.is_power_of_two() {
            tracing::warn!(
                "group `{}`: what the centre `{}` says makes no sense here: is it of another release?",
                self.config.name,
                sender.name
            );
        }
    }

    /// Counts a reply that no honest host gives.
    fn refuse_reply(&mut self, sender: &Sender<'_>, fault: Cause) {
        self.counters.council_senseless += 1;
        if self.counters.council_senseless.is_power_of_two() {
            let why = match fault {
                Cause::Beyond => "no host can draw by the number that it names",
                _ => "its coins say otherwise",
            };
            tracing::warn!(
                "group `{}`: a reply of the host `{}` is not counted: {why}",
                self.config.name,
                sender.name
            );
        }
    }

    /// True if a centre's message is recent by the calendars of both hosts.
    pub(super) fn is_fresh(&mut self, sender: &Sender<'_>, at_ns: u64) -> bool {
        let off = Duration(self.entropy.calendar().abs_diff(at_ns));
        if off <= FRESH_FOR {
            return true;
        }
        self.counters.council_stale += 1;
        if self.counters.council_stale.is_power_of_two() {
            tracing::warn!(
                "group `{}`: a word of the centre `{}` is {:.0} s off by this host's calendar, and not heeded: \
                 somebody repeats what it once said, or the two hosts' calendars differ",
                self.config.name,
                sender.name,
                off.as_secs_f64()
            );
        }
        false
    }

    /// Handles a message of a host to the centre.
    pub(super) fn on_host(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        message: &[u8],
        out: &mut Outbox,
    ) {
        let CouncilRole::Centre(centre) = &mut self.council else {
            return; // this member was the centre before
        };
        let message = match postcard::from_bytes::<Message>(message) {
            Ok(message) if addressed(&message).is_none() => message,
            Ok(_) | Err(_) => {
                self.counters.reject(Rejected::Malformed);
                return;
            }
        };
        // Timers that were due come first: a late reply is late.
        if let Some(driver) = centre.driver_mut() {
            driver.pass(now);
        }
        self.act_in_council(now, out);
        let holder = self.describe(sender.id);
        let CouncilRole::Centre(centre) = &mut self.council else {
            return;
        };
        if let Some(fault) = centre.fault_of(sender.id, &message) {
            return self.refuse_reply(sender, fault);
        }
        centre.hear(now, &holder, message);
        let is_news = centre.has_news(now);
        self.act_in_council(now, out);
        if is_news {
            self.publish_council(now);
        }
    }
}

// Outputs.
impl Group {
    fn act_in_council(&mut self, now: Instant, out: &mut Outbox) {
        loop {
            let effects = match self.council.driver_mut() {
                Some(driver) => driver.take_effects(),
                None => return,
            };
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                self.carry_out_council(now, effect, out);
            }
        }
    }

    fn carry_out_council(
        &mut self,
        now: Instant,
        effect: Effect<CouncilOutcome>,
        out: &mut Outbox,
    ) {
        match effect {
            Effect::Unicast { to, message } => match self.address_of(to) {
                Some(address) => {
                    self.say_in_council(
                        now,
                        &message,
                        |group, body, out| {
                            group.send_to(to, Route::To(address), body, out);
                        },
                        out,
                    );
                }
                None => self.counters.unsent += 1,
            },
            Effect::Multicast { message } => {
                self.say_in_council(
                    now,
                    &message,
                    |group, body, out| {
                        group.broadcast(now, body, out);
                    },
                    out,
                );
            }
            // The session number is derived from the calendar, like incarnations.
            Effect::Save(_) => {}
            Effect::Report(CouncilOutcome::Council(change)) => self.tell_of_council(now, change),
            Effect::Report(CouncilOutcome::Standing { .. }) => {} // a round: reported with the feedback
            Effect::Meet(_) => {}                                 // councils have no partial views
        }
    }

    fn say_in_council(
        &mut self,
        now: Instant,
        message: &[u8],
        say: impl Fn(&mut Self, &Body<'_>, &mut Outbox),
        out: &mut Outbox,
    ) {
        self.counters.council_sent += 1;
        let terms = match &mut self.council {
            CouncilRole::Off | CouncilRole::Host(_) => {
                return say(self, &Body::HostMessage { message }, out);
            }
            CouncilRole::Centre(centre) => centre.terms_of(now, message),
        };
        let terms = terms.map(|it| encode(&it)).unwrap_or_default();
        let body = Body::CentreMessage { at_ns: self.entropy.calendar(), terms: &terms, message };
        say(self, &body, out);
    }

    /// Publishes a change of the council to the user.
    fn tell_of_council(&mut self, now: Instant, change: Change) {
        match &mut self.council {
            CouncilRole::Off => {}
            CouncilRole::Host(host) => {
                let centre = host.centre.unwrap_or(self.me.id);
                host.tell(now, self.peer_table.describe(centre));
            }
            CouncilRole::Centre(centre) => {
                centre.note(now, change, &self.config.name);
                self.publish_council(now);
            }
        }
    }

    fn publish_council(&mut self, now: Instant) {
        if let CouncilRole::Centre(centre) = &self.council {
            let status = centre.status(now, |id| self.describe(id));
            centre.publish(status);
        }
    }

    /// Handles a message of another centre of this group.
    fn meet_centre(&mut self, now: Instant, sender: &Sender<'_>, said: (&Message, bool)) {
        let other = self.describe(sender.id);
        let CouncilRole::Centre(centre) = &mut self.council else {
            return;
        };
        if centre.meet(other, said, &self.config.name) {
            self.publish_council(now);
        }
    }
}
