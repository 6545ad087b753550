//! The centre of a council: its status, its record and its warnings.
//!
//! Purpose     reports what the council protocol does, and stops beside another centre
//! Inputs      replies and seat messages of hosts, feedback that the protocol sends, other centres
//! Outputs     [`CentreStatus`], the record of a draw with public coins, log lines
//! Owns        the protocol driver of the centre ([`Calling`]) and its statistics
//! Invariants  a centre that has stopped runs its protocol no more. A reply that no honest host
//!             gives is neither counted nor recorded

use std::collections::BTreeMap;

use hustings_protocol::council::{
    self, Cause, Centre, Change, Coin, Config, Council, Feedback, Holder, Late, Lease, Message,
    Reply, SavedSession, Size, Voice, WireBits,
};
use hustings_protocol::{Candidate, Duration, Instant, MemberId};
use tokio::sync::watch;

use super::{COUNCILS_OWN, CentreStatus, ChamberStatus, MOST_RECORDED, Seated, Terms};
use crate::driver::{Driver, ElectionDriver};
use crate::identity::Incarnation;
use crate::leadership::Peer;
use crate::node::{Context, chance};

/// The number of late replies from which they are no accident.
const MANY_LATE: u64 = 8;

/// The state of a centre.
///
/// A centre that yields stops if there is any other. To find out, it listens before its first
/// message, until the seats of a former centre with the same lease have run out.
pub(crate) struct Calling {
    driver: Driver<Council>,
    me: Candidate,
    is_started: bool,
    listens_until: Option<Instant>,
    /// The session before this one, if a later one had to begin.
    former_session: Option<u64>,
    /// The last published number of confirmed seats, and whether elected hosts were waiting.
    news: (usize, bool),
    /// The time since which each host holds its seat, by class.
    since: BTreeMap<(u16, MemberId), Instant>,
    /// The current round of each class, and the replies to it.
    rounds: BTreeMap<u16, Round>,
    /// The number of polls in a row with too few hosts.
    scarce: u64,
    /// The status, without the facts that the driver knows: session, seats and waiting hosts. Its
    /// counts are over all sessions. With public coins it records the first rounds of this session.
    report: CentreStatus,
    watch: watch::Sender<CentreStatus>,
}

/// A round of one class.
struct Round {
    /// The end of the poll, if all eligible hosts were to reply.
    polled_until: Option<Instant>,
    /// The number of replies to this round from hosts without a seat.
    replies: u64,
    /// The number of replies that arrived during this round, to any round.
    burst: u64,
}

impl Calling {
    pub(super) fn new(context: &Context, rules: Config) -> Self {
        let (group, centre) = (context.config.name.clone(), context.member.clone());
        let centre = Self {
            driver: driver(context.me, rules, context.incarnation),
            me: context.me,
            is_started: false,
            listens_until: None,
            former_session: None,
            news: (0, false),
            since: BTreeMap::new(),
            rounds: BTreeMap::new(),
            scarce: 0,
            report: CentreStatus { group, centre, ..CentreStatus::default() },
            watch: watch::Sender::default(),
        };
        centre.publish(context);
        centre
    }

    /// Returns the driver; `None` if the centre has stopped.
    pub(super) fn driver(&self) -> Option<&Driver<Council>> {
        (!self.report.has_stopped()).then_some(&self.driver)
    }

    pub(super) fn driver_mut(&mut self) -> Option<&mut Driver<Council>> {
        if self.report.has_stopped() { None } else { Some(&mut self.driver) }
    }

    fn yields(&self) -> bool {
        self.driver.config().yields
    }

    pub(super) fn watch(&self) -> watch::Receiver<CentreStatus> {
        self.watch.subscribe()
    }

    pub(super) fn publish(&self, context: &Context) {
        self.watch.send_replace(self.status(context, context.now));
    }

    pub(super) fn start(&mut self, now: Instant) {
        if self.is_started {
            return;
        }
        self.is_started = true;
        let config = self.driver.config();
        let lease = config.lease.map(|it| it.lasts + config.round);
        if let Some(lease) = lease {
            tracing::info!(
                "group `{}`: calling hosts in {lease}, when the seats given by an earlier centre have run out",
                self.report.group,
            );
        }
        match self.yields() {
            false => self.driver.start(now),
            true => self.listens_until = Some(now + lease.unwrap_or(Duration::ZERO)),
        }
    }

    /// Starts when the listening time is over and no other centre was found.
    pub(super) fn start_if_due(&mut self, now: Instant) {
        let is_over = self.listens_until.take_if(|at| *at <= now).is_some();
        if is_over && !self.report.has_stopped() {
            self.driver.start(now);
        }
    }

    /// Starts a later session. Hosts with a seat of the former one learn that it is gone.
    pub(super) fn begin_anew(&mut self, incarnation: Incarnation, now: Instant) {
        let config = self.driver.config().clone();
        self.former_session = Some(self.session());
        self.driver = driver(self.me, config, incarnation);
        self.since.clear();
        self.rounds.clear();
        self.report.record.clear();
        if self.is_started && self.listens_until.is_none() {
            self.driver.start(now);
        }
    }

    /// Returns the reason why no honest host gives this reply, if there is one. Such a reply must
    /// neither count nor be recorded.
    pub(super) fn fault_of(&self, from: MemberId, message: &Message) -> Option<Cause> {
        let Message::Reply(reply) = message else {
            return None;
        };
        let centre = self.driver.protocol.as_centre();
        centre.and_then(|it| it.fault_of(from, reply, self.driver.config()))
    }

    /// Handles a reply, or a message about a seat.
    pub(super) fn hear(&mut self, now: Instant, from: &Peer, message: Message) {
        match message {
            Message::Reply(reply) => self.note_reply(from.id, &reply),
            Message::Present(held) => self.note_foreign_seat(held.session, from),
            Message::Farewell(_) => {}
            Message::Feedback(_) | Message::Seat(_) | Message::Standing(_) => {} // not of a host
        }
        if let Some(driver) = self.driver_mut() {
            driver.hear(now, from.id, message);
        }
    }

    fn note_reply(&mut self, from: MemberId, reply: &Reply) {
        self.report.replies += 1;
        let centre = self.driver.protocol.as_centre();
        let under_way = centre.and_then(|it| it.polling(reply.class));
        let is_in_time = reply.session == self.session() && under_way == Some(reply.round);
        // A host that does not know of its seat yet replies, and is not counted.
        let is_seated = |it: &Centre| it.seats().any(|it| it == (reply.class, from));
        let is_passed_over = is_in_time && centre.is_some_and(is_seated);
        if let Some(round) = self.rounds.get_mut(&reply.class) {
            round.replies += u64::from(is_in_time && !is_passed_over);
            round.burst += 1;
            self.report.peak_replies = self.report.peak_replies.max(round.burst);
        }
        if !is_in_time {
            self.note_late();
        }
        if reply.session == self.session() && !is_passed_over {
            let voice = Voice { host: from, draws: reply.draws, number: reply.number };
            write_down(&mut self.report.record, reply, voice, under_way);
        }
    }

    /// Stops if a host holds a seat that this centre has not given, and this centre yields.
    fn note_foreign_seat(&mut self, session: u64, holder: &Peer) {
        let is_own = session == self.session() || Some(session) == self.former_session;
        if is_own || !self.yields() || self.report.has_stopped() {
            return;
        }
        tracing::error!(
            "group `{}`: `{}` holds a seat of another centre: this centre stops; a group has one centre",
            self.report.group,
            holder.name
        );
        self.report.held_elsewhere = Some(holder.clone());
        self.since.clear();
    }

    fn note_late(&mut self) {
        self.report.late += 1;
        if self.report.late >= MANY_LATE && self.report.late.is_power_of_two() {
            let (CentreStatus { group, late, replies, .. }, round) =
                (&self.report, self.driver.config().round);
            tracing::warn!(
                "group `{group}`: {late} replies of {replies} came after the end of their round of {round}: their hosts are not elected, and elections take longer; choose a longer round"
            );
        }
    }

    /// Returns the terms of a message that is about to be sent.
    pub(super) fn terms_of(&mut self, now: Instant, message: &[u8]) -> Option<Terms> {
        let message = postcard::from_bytes::<Message>(message).ok()?;
        if let Message::Feedback(feedback) = message {
            self.note_feedback(now, &feedback);
        }
        Terms::of(&message, self.driver.config())
    }

    fn note_feedback(&mut self, now: Instant, feedback: &Feedback) {
        self.report.rounds += 1;
        let is_public = self.driver.config().coin != Coin::Private;
        if is_public && self.report.record.len() < MOST_RECORDED {
            self.report.record.push(council::Round {
                feedback: *feedback,
                replies: Vec::new(),
                late: Vec::new(),
            });
        }
        let config = self.driver.config();
        let continues = feedback.base != 0 && feedback.base + 1 == feedback.round;
        let content = WireBits::decode(feedback.word, config.algorithm, continues);
        let is_poll = content.is_some_and(|it| it.reset && it.count == 0);
        let centre = self.driver.protocol.as_centre();
        let lasts = centre.map_or(config.round, |it| it.waits(config.round));
        let polled_until = is_poll.then(|| now + lasts);
        let (group, Feedback { class, round, seated, .. }) = (&self.report.group, feedback);
        tracing::debug!(
            "group `{group}`: round {round} of class {class}: {content:?}, {seated} seated"
        );
        self.rounds.insert(*class, Round { polled_until, replies: 0, burst: 0 });
    }

    pub(super) fn due(&self) -> Option<Instant> {
        let polls = self.rounds.values().filter_map(|it| it.polled_until);
        polls.chain(self.listens_until).min()
    }

    /// Warns if a poll of all hosts has ended with too few.
    pub(super) fn look(&mut self, now: Instant) {
        let over: Vec<(u16, Instant, u64)> = self
            .rounds
            .iter_mut()
            .filter_map(|(class, round)| {
                let ended_at = round.polled_until.take_if(|at| *at <= now)?;
                Some((*class, ended_at, round.replies))
            })
            .collect();
        for (class, ended_at, replies) in over {
            let Some(chamber) = self.driver.config().chambers.get(usize::from(class)) else {
                continue;
            };
            // The hosts that were seated at the end are among those that replied.
            let was_seated = |((of, _), since): &(&(u16, MemberId), &Instant)| {
                *of == class && **since < ended_at
            };
            let seated = self.since.iter().filter(was_seated).count() as u64;
            let (hosts, least) = (seated + replies, u64::from(chamber.seats.least));
            let keep = u64::from(chamber.keep);
            if hosts >= keep {
                self.scarce = 0;
                continue;
            }
            self.scarce += 1;
            if self.scarce.is_power_of_two() {
                let there = match hosts {
                    1 => "1 host is there".to_owned(),
                    _ => format!("{hosts} hosts are there"),
                };
                let hint = match hosts {
                    _ if hosts >= least => format!(
                        "{there}, and {keep} seats have to be kept, so no host is to spare"
                    ),
                    0 => "no host answers; if agents run with this group and key, the network may carry no multicasts".to_owned(),
                    _ => format!("{there}, and at least {least} seats have to be filled"),
                };
                let of_class = match class {
                    0 => String::new(),
                    _ => format!(", class {class}"),
                };
                let goes_on = match self.yields() {
                    false => "Calling again, after pauses that grow up to a minute",
                    true => "Calling again",
                };
                let group = &self.report.group;
                tracing::warn!("group `{group}`{of_class}: {hint}. {goes_on}");
            }
        }
    }

    /// True if there is news that is no change of the council. Either one more host has confirmed
    /// its seat, or elected hosts began or ceased to wait, or the centre stopped because of a
    /// foreign seat.
    pub(super) fn has_news(&mut self, now: Instant) -> bool {
        let centre = self.driver.protocol.as_centre();
        let holders = centre.into_iter().flat_map(Centre::holders);
        let confirmed = holders.filter(|it| self.is_sure_of(it, now)).count();
        let is_waiting = centre.and_then(Centre::awaits).is_some();
        let before = std::mem::replace(&mut self.news, (confirmed, is_waiting));
        if is_waiting && !before.1 {
            tracing::info!(
                "group `{}`: a council is elected, and takes its seats when longer seats given by another centre have run out",
                self.report.group
            );
        }
        let has_stopped =
            self.report.held_elsewhere.is_some() && self.watch.borrow().held_elsewhere.is_none();
        before.0 < confirmed || before.1 != is_waiting || has_stopped
    }

    /// True if a host has confirmed its seat and must still believe in it. Its lease began when it
    /// received the centre's message, less than a round before its own message arrived.
    fn is_sure_of(&self, holder: &Holder, now: Instant) -> bool {
        let config = self.driver.config();
        let outlasts_a_round = |lease: Lease| (holder.heard + lease.lasts) - now > config.round;
        holder.is_confirmed && config.lease.is_none_or(outlasts_a_round)
    }

    /// Handles a change of the council.
    pub(super) fn note(&mut self, now: Instant, change: Change) {
        self.report.changes += 1;
        let holders = self.driver.protocol.as_centre();
        let seated: Vec<(u16, MemberId)> = holders.into_iter().flat_map(Centre::seats).collect();
        self.since.retain(|it, _| seated.contains(it));
        for it in seated {
            self.since.entry(it).or_insert(now);
        }
        let group = &self.report.group;
        match change {
            Change::Filled(Size { class, seats, .. }) => {
                tracing::info!("group `{group}`: {seats} seats of class {class} are filled");
            }
            Change::Short(Size { class, seats, .. }) => {
                tracing::warn!(
                    "group `{group}`: only {seats} seats of class {class} are filled: calling other hosts"
                );
            }
            Change::Seated { .. } | Change::Unseated => {} // a host's
        }
    }

    /// Handles another centre. Returns true if this one gives way to it. A centre that yields gives
    /// way to one that does not. Of two that do not yield, the earlier one gives way; of two that
    /// yield, the later one.
    pub(super) fn meet(&mut self, other: Peer, message: &Message, other_yields: bool) -> bool {
        let session = match message {
            Message::Feedback(it) => it.session,
            Message::Standing(it) => it.session,
            Message::Seat(it) => it.session,
            Message::Reply(_) | Message::Present(_) | Message::Farewell(_) => return false,
        };
        if self.report.has_stopped() {
            return false;
        }
        let is_later = (session, other.id) > (self.session(), self.me.id);
        let group = &self.report.group;
        let gives_way = match (self.yields(), other_yields) {
            (false, false) => is_later,
            (true, false) => true,
            (false, true) => false,
            (true, true) => !is_later, // the earlier one goes on
        };
        if gives_way {
            let when = match self.yields() {
                false => "began later, and hosts accept only the later one",
                true => "has precedence",
            };
            tracing::error!(
                "group `{group}`: another centre, `{}`, {when}: this centre stops; a group has one centre",
                other.name
            );
            self.report.gives_way_to = Some(other);
            self.since.clear();
        } else {
            tracing::warn!(
                "group `{group}`: another centre, `{}`, calls too: it stops when frames of this centre reach it",
                other.name
            );
        }
        gives_way
    }

    /// Returns the number of polls in a row with too few hosts.
    #[cfg(test)]
    pub(crate) fn scarce(&self) -> u64 {
        self.scarce
    }

    fn session(&self) -> u64 {
        let centre = self.driver.protocol.as_centre();
        centre.map_or(0, Centre::session)
    }

    pub(super) fn status(&self, context: &Context, now: Instant) -> CentreStatus {
        let config = self.driver.config();
        let lasts = config.lease.map(|it| it.lasts);
        let centre = self.driver.protocol.as_centre();
        let holders = || {
            let centre = centre.filter(|_| !self.report.has_stopped());
            centre.into_iter().flat_map(Centre::holders)
        };
        let chambers = (0..).zip(&config.chambers);
        let chambers = chambers.map(|(class, chamber)| {
            let of_class = holders().filter(|it| it.class == class);
            let seats = of_class.map(|it| Seated {
                place: it.place,
                member: context.describe(it.member),
                since: *self.since.get(&(class, it.member)).unwrap_or(&now),
                heard: it.heard,
                confirmed: self.is_sure_of(&it, now),
                lease: lasts.map(|lasts| (it.heard + lasts) - now),
            });
            ChamberStatus {
                class,
                least: chamber.seats.least,
                most: chamber.seats.most,
                seats: seats.collect(),
            }
        });
        CentreStatus {
            session: self.session(),
            chambers: chambers.collect(),
            is_settled: centre.is_some_and(Centre::is_settled),
            awaits: centre.and_then(Centre::awaits).map(|until| until - now),
            ..self.report.clone()
        }
    }
}

/// Records a reply: with its round if that is `under_way`, otherwise as late.
fn write_down(record: &mut [council::Round], reply: &Reply, voice: Voice, under_way: Option<u32>) {
    let of_class = |it: &&mut council::Round| it.feedback.class == reply.class;
    let has_voice = |it: &council::Round| {
        let is_it = (it.feedback.class, it.feedback.round) == (reply.class, reply.round);
        let in_time = is_it && it.replies.iter().any(|it| it.host == voice.host);
        let mut late = it.late.iter();
        in_time || late.any(|it| it.to == reply.round && it.voice.host == voice.host)
    };
    if record.iter().filter(|it| it.feedback.class == reply.class).any(has_voice) {
        return; // a duplicate
    }
    let Some(last) = record.iter_mut().rev().find(of_class) else {
        return;
    };
    let is_full = under_way.is_some_and(|round| round != last.feedback.round);
    if is_full || reply.round > last.feedback.round {
        return; // the record is full
    }
    match under_way == Some(reply.round) {
        true => last.replies.push(voice),
        false => last.late.push(Late { to: reply.round, voice, in_rest: under_way.is_none() }),
    }
}

/// Creates a centre whose session number is its incarnation. It does not know what came before, so
/// another session may have given seats; unless it has listened until they ran out.
fn driver(me: Candidate, config: Config, incarnation: Incarnation) -> Driver<Council> {
    let before = (!config.yields).then_some(SavedSession { session: 0 });
    let rng = chance(Incarnation(incarnation.0 ^ COUNCILS_OWN), me.id);
    let centre = Council::centre(incarnation.0, before);
    Driver::new(me, centre, config, rng, None)
}
