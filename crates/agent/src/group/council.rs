//! A member's part in the council of its group: as the centre that calls, or as a host that may be elected.
//!
//! The centre's words go to all as an election's do, by multicast or by what the group uses instead; hosts answer by unicast.
//! What they mean by themselves the protocol sees to: rounds and heartbeats are numbered. But a host that has just come up
//! knows no numbers, and whoever recorded a call to all could have it answered by a fleet that was restarted since. So each
//! word has the centre's calendar in it, and one that is too old is refused. Nor may a call of a life that is over draw an
//! answer from everybody: see [`Group::may_answer_past`].
//!
//! Of two centres hosts heed the one that began later, and the other stops when it hears it: it could only go on to elect
//! nobody.

mod calling;

use hustings_protocol::council::{self, Cause, Change, Council, Message};
use hustings_protocol::{Candidate, Duration, Instant, MemberId, Outcome};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::watch;

use super::{Group, Outbox, Route, chance};
use crate::council::{
    CentreStatus, CouncilPart, CouncilStatus, HostStatus, SeatStatus, Terms, addressed,
};
use crate::driver::{Driver, Effect, Seat, encode};
use crate::frame::{Body, Sender};
use crate::identity::{Life, member_id};
use crate::leadership::Peer;
use crate::seal::Rejected;
use calling::Calling;

/// By how much the calendars of a centre and its hosts may differ. Hosts that keep the time at all are far nearer to each
/// other.
const FRESH_FOR: Duration = Duration::from_secs(30);

/// What tells a host's chance in the council from its chance in the election.
const COUNCILS_OWN: u64 = 0xc0de_0c1e_c0de_0c1e;

/// A member's part in a council.
pub(super) enum Part {
    Off,
    Host(Box<Hosting>),
    Centre(Box<Calling>),
}

/// As a host.
pub(super) struct Hosting {
    driver: Driver<Council>,
    /// The only one that it heeds.
    heeds: Option<MemberId>,
    /// Whose word it heard last, and took for its centre's.
    centre: Option<MemberId>,
    /// By which terms it goes, of which class, where so many are seated: made into a configuration when they change.
    terms: Option<(Terms, (u16, u16))>,
    told: watch::Sender<HostStatus>,
}

impl Part {
    pub(super) fn new(
        part: &CouncilPart,
        (group, member): (&str, &str),
        (me, life): (Candidate, Life),
        now: Instant,
    ) -> Self {
        let rng = chance(Life(life.0 ^ COUNCILS_OWN), me.id);
        match part {
            CouncilPart::Off => Self::Off,
            CouncilPart::Host { class, centre } => {
                let heeds = centre.as_deref().map(member_id);
                Self::Host(Box::new(Hosting::new((group, *class), heeds, me, rng)))
            }
            CouncilPart::Centre(config) => {
                let rules = (**config).clone();
                let calling = Calling::new((group, member), me, rules, life, now);
                Self::Centre(Box::new(calling))
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
        let timer = self.driver().and_then(Seat::due);
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
        heeds: Option<MemberId>,
        me: Candidate,
        rng: Xoshiro256PlusPlus,
    ) -> Self {
        // Until a centre says otherwise; a host alone does nothing by it.
        let none_yet = council::Config::field(council::Seats::new(1, 1), 2, Duration(1));
        let host = Council::host(class);
        Self {
            driver: Driver::new(me, host, none_yet, rng, None),
            heeds,
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

    /// Goes by the terms of a centre's `message` from now on. Whether they make sense.
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
        config.centre = self.heeds;
        self.driver.set_config(config);
        self.terms = Some((terms, addressed));
        true
    }

    fn seat(&self) -> Option<u8> {
        let host = self.driver.protocol().as_host();
        host.and_then(council::Host::seat)
    }

    /// How long its seat lasts yet.
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
        matches!(self.council, Part::Host(_))
    }

    pub(super) fn is_centre(&self) -> bool {
        matches!(self.council, Part::Centre(_))
    }

    /// To watch whether this member holds a seat.
    pub(crate) fn watch_seat(&self) -> Option<watch::Receiver<HostStatus>> {
        match &self.council {
            Part::Host(host) => Some(host.told.subscribe()),
            Part::Off | Part::Centre(_) => None,
        }
    }

    /// To watch who holds seats, where this member is the centre.
    pub(crate) fn watch_council(&self) -> Option<watch::Receiver<CentreStatus>> {
        match &self.council {
            Part::Centre(centre) => Some(centre.watch()),
            Part::Off | Part::Host(_) => None,
        }
    }

    pub(super) fn council_status(&self, now: Instant) -> Option<CouncilStatus> {
        match &self.council {
            Part::Off => None,
            Part::Host(host) => Some(CouncilStatus::Host(host.status(now))),
            Part::Centre(centre) => {
                let describe = |id| self.describe(id);
                Some(CouncilStatus::Centre(centre.status(now, describe)))
            }
        }
    }

    /// Begins, unless it has: a host at once, a centre when it can reach the others.
    pub(super) fn start_council(&mut self, now: Instant, out: &mut Outbox) {
        match &mut self.council {
            Part::Off => {}
            Part::Host(host) => host.driver.start(now),
            Part::Centre(centre) => centre.start(now),
        }
        self.act_in_council(now, out);
    }

    pub(super) fn pass_council(&mut self, now: Instant, out: &mut Outbox) {
        if let Part::Centre(centre) = &mut self.council {
            centre.start_if_due(now);
        }
        if let Some(driver) = self.council.driver_mut() {
            driver.pass(now);
        }
        self.act_in_council(now, out);
        if let Part::Centre(centre) = &mut self.council {
            centre.look(now, &self.config.name);
            if centre.has_news(now) {
                self.publish_council(now);
            }
        }
    }

    /// Gives up its seat, or lets go of all that it has given.
    pub(super) fn leave_council(&mut self, now: Instant, out: &mut Outbox) {
        if let Some(driver) = self.council.driver_mut() {
            driver.leave(now);
        }
        self.act_in_council(now, out);
    }

    /// Has no part in it any more, and says nothing: another one goes by its name.
    pub(super) fn quit_council(&mut self) {
        if let Part::Host(host) = &self.council
            && host.seat().is_some()
        {
            host.told.send_modify(|told| {
                told.seat = None;
                told.changes += 1;
            });
        }
        self.council = Part::Off;
    }

    /// The others have heard this member in a later life: a centre's session must be later too.
    pub(super) fn call_anew(&mut self, now: Instant, out: &mut Outbox) {
        let life = self.life;
        if let Part::Centre(centre) = &mut self.council {
            centre.begin_anew(life, now);
            self.act_in_council(now, out);
        }
    }

    /// Whether whoever speaks in a life that is over may be told. What is said to all is heard by all, and if all answered
    /// whoever repeats an old word could have a fleet's answer for it: those who are seated do, who are few.
    pub(super) fn may_answer_past(&self, body: &Body<'_>, to_all: bool) -> bool {
        let is_to_a_fleet = match body {
            Body::FromCentre { .. } => true,
            _ => to_all && self.config.protocol.is_none(),
        };
        !is_to_a_fleet || self.council.is_seated()
    }
}

// What is heard.
impl Group {
    /// A council's centre spoke.
    pub(super) fn on_centre(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        (at_ns, terms, message): (u64, &[u8], &[u8]),
        out: &mut Outbox,
    ) {
        if matches!(self.council, Part::Off) {
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
            self.counters.reject(Rejected::Malformed); // a host's words, in a centre's frame
            return;
        };
        match &mut self.council {
            Part::Off => {}
            Part::Centre(_) => match postcard::from_bytes::<Terms>(terms) {
                Ok(terms) => self.meet_centre(now, sender, (&message, terms.yields)),
                Err(_) => self.note_nonsense(sender),
            },
            Part::Host(host) if host.class() != class => {} // for others
            Part::Host(host) => {
                // A lease that ran out while this process did not run is over before anything is heard.
                host.driver.pass(now);
                if host.go_by(terms, &message) {
                    host.centre = host.heeds.or(Some(sender.id));
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

    /// A host replied as no honest host does.
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

    /// Whether a word of a centre is of now, by the calendars.
    fn is_fresh(&mut self, sender: &Sender<'_>, at_ns: u64) -> bool {
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

    /// A host spoke to the centre.
    pub(super) fn on_host(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        message: &[u8],
        out: &mut Outbox,
    ) {
        let Part::Centre(centre) = &mut self.council else {
            return; // it was one before
        };
        let message = match postcard::from_bytes::<Message>(message) {
            Ok(message) if addressed(&message).is_none() => message,
            Ok(_) | Err(_) => {
                self.counters.reject(Rejected::Malformed);
                return;
            }
        };
        // What was due before is over: a reply that comes late is late.
        if let Some(driver) = centre.driver_mut() {
            driver.pass(now);
        }
        self.act_in_council(now, out);
        let holder = self.describe(sender.id);
        let Part::Centre(centre) = &mut self.council else {
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

// What is done.
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

    fn carry_out_council(&mut self, now: Instant, effect: Effect, out: &mut Outbox) {
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
            // The number of a session follows from the calendar, as lives do.
            Effect::Save(_) => {}
            Effect::Report(Outcome::Council(change)) => self.tell_of_council(now, change),
            Effect::Report(Outcome::Standing { .. }) => {} // a round: told with the feedback
            Effect::Report(
                Outcome::Nominee(_)
                | Outcome::Vacant
                | Outcome::DuplicateIdentity
                | Outcome::Fault(_)
                | Outcome::TenureGained { .. }
                | Outcome::TenureLost { .. }
                | Outcome::TenureRefused(_),
            ) => {} // councils have none
            Effect::Meet(_) => {}                          // nor do they meet anybody
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
            Part::Off | Part::Host(_) => return say(self, &Body::ToCentre { message }, out),
            Part::Centre(centre) => centre.terms_of(now, message),
        };
        let terms = terms.map(|it| encode(&it)).unwrap_or_default();
        let body = Body::FromCentre {
            at_ns: self.entropy.calendar(),
            terms: &terms,
            message,
        };
        say(self, &body, out);
    }

    /// Tells the user.
    fn tell_of_council(&mut self, now: Instant, change: Change) {
        match &mut self.council {
            Part::Off => {}
            Part::Host(host) => {
                let centre = host.centre.unwrap_or(self.me.id);
                host.tell(now, self.peers.describe(centre));
            }
            Part::Centre(centre) => {
                centre.note(now, change, &self.config.name);
                self.publish_council(now);
            }
        }
    }

    fn publish_council(&mut self, now: Instant) {
        if let Part::Centre(centre) = &self.council {
            let status = centre.status(now, |id| self.describe(id));
            centre.publish(status);
        }
    }

    /// Another centre speaks for this group.
    fn meet_centre(&mut self, now: Instant, sender: &Sender<'_>, said: (&Message, bool)) {
        let other = self.describe(sender.id);
        let Part::Centre(centre) = &mut self.council else {
            return;
        };
        if centre.meet(other, said, &self.config.name) {
            self.publish_council(now);
        }
    }
}
