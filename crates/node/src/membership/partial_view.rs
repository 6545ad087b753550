//! A partial view: the few others that a member of a large group knows, and the group's size.
//!
//! Purpose     keeps a random sample of the group, estimates its size, and spreads messages to all
//! Inputs      the time, messages of other members, greetings, reports of dead members
//! Outputs     [`MembershipEffect`]s
//! Owns        the sample, the addresses, the tombstones, the census and the rumours
//! Invariants  no member in the view has a tombstone in its known incarnation; the view has at most
//!             `room` members
//!
//! The module drives [`Shuffle`] and [`Census`], the state machines that the simulator drives too.
//! Their entries have no addresses, so a message carries the address, incarnation and name of each
//! entry. It also carries the sender's estimate of the group's size, so that a newcomer has one
//! after its first exchange. Without multicast, messages to all are relayed from each member to a
//! few others: [`Epidemic`].
//!
//! A member that was exchanged away is not gone, and a member that does not answer an offer may
//! have missed it. This module therefore marks no member dead by itself.
//! [`Members`](super::Members) does so with [`PartialView::mark_dead`], when another member reports
//! the death.

mod message;
mod receive;
#[cfg(test)]
mod tests;
mod tombstones;
mod view_effects;

use std::net::{Ipv6Addr, SocketAddr};

use hustings_protocol::census::{self, Census};
use hustings_protocol::epidemic::{self, Epidemic};
use hustings_protocol::shuffle::{self, Entries, Entry, Shuffle};
use hustings_protocol::{Candidate, Duration, Instant, MemberId, Priority, ViewChange};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::loss_estimate::LossEstimate;
use super::member_table::{MemberAddress, MemberTable, Source};
use super::{Membership, MembershipEffect};
use crate::driver::{Driver, ElectionDriver};
use crate::frame::Sender;
use crate::identity::Incarnation;
use crate::leadership::Peer;
use crate::node::Event;
use crate::peer_table::Channel;
use crate::seal::Rejected;
use message::{Said, ViewMessage};
use tombstones::Tombstones;

/// The period of exchanges.
const SHUFFLE_EVERY: Duration = Duration::from_secs(1);

/// The number of entries in an exchange. With names of 64 bytes they fit into a datagram.
const EXCHANGED: u8 = 6;

/// The length of a census turn, in message bounds. Six attempts to pass on a share fit into it.
/// Hosts that are busy with 150 members each answer within one attempt, most of the time.
const TURN_BOUNDS: u64 = 40;

/// The least time between two counts.
const COUNT_EVERY: Duration = Duration::from_secs(60);

/// The approximate period of the check for a wanted count. A count is wanted if the group was never
/// counted, or has grown by half since the last one.
const LOOK_EVERY: Duration = Duration::from_secs(3);

/// The time without a new acquaintance after which a view that always had room holds all members.
/// Three exchanges show that.
const SETTLED_AFTER: Duration = Duration::from_secs(3);

/// The time without any message after which a member is alone. Ten exchanges are not all lost.
const ALONE_AFTER: Duration = Duration::from_secs(10);

/// The average number of members that answer a multicast greeting.
const GREETERS: u64 = 4;

/// The period of repairs of messages to all, in message bounds, and the number of repairs. If a
/// tenth of the messages is lost, one member in a million is missed.
const REPAIR_BOUNDS: u64 = 10;
const REPAIRS: u64 = 20;

/// The number of remembered addresses, as a multiple of the view. A member that was just exchanged
/// away may be about to receive a message.
const PLACES_IN_VIEWS: usize = 8;

/// The partial view of one member.
pub(crate) struct PartialView {
    me: Candidate,
    room: usize,
    now: Instant,
    is_gone: bool,
    shuffle: Driver<Shuffle>,
    census: Driver<Census>,
    rumours: Driver<Epidemic<Said>>,
    /// The known members, by identity, as the other modules know them from the effects.
    known: Vec<Candidate>,
    places: MemberTable,
    tombstones: Tombstones,
    loss: LossEstimate,
    /// The size of the group, as another member reported it.
    reported_size: Option<u64>,
    heard_at: Option<Instant>,
    /// The greatest number of members that were known at once, and the time at which it was
    /// reached.
    most_known: usize,
    grown_at: Instant,
    /// The number of newcomers that greeted since the last count.
    arrivals: u64,
    look_at: Instant,
    rng: Xoshiro256PlusPlus,
    effects: Vec<MembershipEffect>,
}

/// The status of a partial view.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartialViewStatus {
    /// The greatest number of other members that it knows.
    pub view: usize,
    /// The number of other members that it knows.
    pub known: usize,
    /// The number of members by the last count, this one included; none before the first count is
    /// over.
    pub size: Option<u64>,
}

/// The parameters of the exchange in a group whose members know `view` others.
fn shuffling(view: u16) -> shuffle::Config {
    shuffle::Config { room: view, exchanged: EXCHANGED, ..shuffle::Config::field(SHUFFLE_EVERY) }
}

/// The parameters of the census, if most messages take less than `bound`.
fn counting(bound: Duration) -> census::Config {
    census::Config {
        pause: COUNT_EVERY,
        // A group that is starting is soon many times larger than the previous count.
        kept: 1,
        ..census::Config::field(bound * TURN_BOUNDS)
    }
}

/// The parameters of messages to all, if most messages take less than `bound`.
fn spreading(bound: Duration) -> epidemic::Config {
    let period = bound * REPAIR_BOUNDS;
    epidemic::Config { repair_time: period * REPAIRS, ..epidemic::Config::field(period) }
}

impl PartialView {
    /// The view of `me` in `incarnation`, with room for `view` others. Most messages take less than
    /// `bound`.
    pub(crate) fn new(
        now: Instant,
        me: Candidate,
        incarnation: Incarnation,
        view: u16,
        bound: Duration,
    ) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(incarnation.0 ^ me.id.0);
        let mut child = || Xoshiro256PlusPlus::seed_from_u64(rng.next_u64());
        let mut shuffle = Driver::new(me, Shuffle::default(), shuffling(view), child(), None);
        let mut census = Driver::new(me, Census::default(), counting(bound), child(), None);
        let rumours =
            Driver::new(me, Epidemic::new(incarnation.0), spreading(bound), child(), None);
        shuffle.start(now);
        census.start(now);
        let mut partial_view = Self {
            me,
            room: usize::from(view),
            now,
            is_gone: false,
            shuffle,
            census,
            rumours,
            known: Vec::new(),
            places: MemberTable::default(),
            tombstones: Tombstones::default(),
            loss: LossEstimate::default(),
            reported_size: None,
            heard_at: None,
            most_known: 0,
            grown_at: now,
            arrivals: 0,
            look_at: now,
            rng,
            effects: Vec::new(),
        };
        partial_view.look_later();
        partial_view
    }

    /// True if `id` is in the view.
    pub(crate) fn has(&self, id: MemberId) -> bool {
        self.known.binary_search_by_key(&id, |it| it.id).is_ok()
    }

    fn is_full(&self) -> bool {
        self.known.len() >= self.room
    }

    /// The estimated number of members, this one included.
    pub(crate) fn size(&self) -> Option<u64> {
        let least = self.known.len() as u64 + 1;
        // A count from a time with fewer members than are known now says nothing.
        let is_outgrown = |size: &u64| self.is_full() && size.saturating_mul(2) < least;
        let counted = [self.census.protocol.size(), self.reported_size];
        let mut counted = counted.into_iter().flatten();
        counted.find(|size| !is_outgrown(size)).map(|size| size.max(least))
    }

    /// The estimated number of members, or the number of known members if there is no estimate.
    pub(crate) fn size_or_view(&self) -> u64 {
        self.size().unwrap_or(self.known.len() as u64 + 1)
    }

    /// True while the group is being counted.
    fn counts(&self) -> bool {
        self.census.protocol.counts()
    }

    /// True if the size of the group is known, or the view holds all members. Before that almost
    /// every member would relay, as if there were no others.
    pub(crate) fn is_ready(&self) -> bool {
        // A view that was full once, and has room because a member did not answer, does not hold
        // all members.
        let has_room = self.most_known < self.room;
        let is_settled = has_room && self.now - self.grown_at >= SETTLED_AFTER;
        self.size().is_some() || is_settled
    }

    pub(crate) fn status(&self) -> PartialViewStatus {
        PartialViewStatus { view: self.room, known: self.known.len(), size: self.size() }
    }

    /// True if `id` was reported dead in `incarnation` or a later one.
    pub(crate) fn has_buried(&self, id: MemberId, incarnation: Incarnation) -> bool {
        self.tombstones.holds(id, incarnation)
    }

    /// A few random members of the view, with their addresses.
    pub(crate) fn some(&mut self, count: usize) -> Vec<(MemberId, SocketAddr)> {
        let sample = self.sample(count);
        let placed = sample.iter().map(|it| Some((it.id, self.address_of(it.id)?)));
        placed.flatten().collect()
    }

    /// A few random members of the view. They are neighbours by identity, which does no harm.
    fn sample(&mut self, count: usize) -> Vec<Candidate> {
        let first = self.draw(self.known.len() as u64) as usize;
        let from_there = self.known.iter().skip(first).chain(&self.known);
        from_there.take(count.min(self.known.len())).copied().collect()
    }

    /// A random number below `bound`.
    fn draw(&mut self, bound: u64) -> u64 {
        hustings_protocol::mix64::fit(self.rng.next_u64(), bound)
    }
}

impl Membership for PartialView {
    fn partial_view(&self) -> Option<&PartialView> {
        Some(self)
    }

    fn partial_view_mut(&mut self) -> Option<&mut PartialView> {
        Some(self)
    }

    fn loss(&self) -> Option<f64> {
        self.loss.rate()
    }

    /// True if no member is known, or none was heard for [`ALONE_AFTER`].
    fn is_alone(&self) -> bool {
        let is_long_ago = |at: Instant| self.now - at >= ALONE_AFTER;
        self.known.is_empty() || self.heard_at.is_none_or(is_long_ago)
    }

    fn knows(&self, sender: &Sender<'_>) -> bool {
        let known = self.places.get(sender.id);
        self.has(sender.id) && known.is_some_and(|it| it.incarnation == sender.incarnation)
    }

    /// Handles a greeting. If it was a multicast, a few members answer; otherwise this one does.
    fn greet(&mut self, sender: &Sender<'_>, address: SocketAddr, channel: Channel) {
        if self.is_gone {
            return;
        }
        let was_there = self.places.get(sender.id).is_some() || self.tombstones.has(sender.id);
        self.arrivals += u64::from(!was_there);
        self.places.note(sender.id, MemberAddress::of(sender, address), Source::Itself);
        let size = self.size_or_view();
        let answers = channel != Channel::Multicast || self.draw(size) < GREETERS;
        if answers {
            let sample = self.sample(EXCHANGED.into());
            let entries: Entries = sample.into_iter().map(Entry::fresh).collect();
            let (entries, places) = self.with_places(entries);
            let message = ViewMessage::Welcome {
                size: self.size(),
                priority: self.me.priority,
                was_dead: self.tombstones.has(sender.id),
                entries,
                places,
            };
            self.send(sender.id, &message);
        }
    }

    fn hear(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        from: SocketAddr,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        self.receive(now, sender, from, bytes)
    }

    fn pass(&mut self, now: Instant) {
        self.now = now;
        if self.is_gone {
            return;
        }
        self.shuffle.pass(now);
        self.census.pass(now);
        self.rumours.pass(now);
        if self.look_at <= now {
            self.look_after_count();
            self.look_later();
        }
        self.settle();
    }

    fn due(&self) -> Option<Instant> {
        let times = [self.shuffle.due(), self.census.due(), self.rumours.due(), Some(self.look_at)];
        times.into_iter().flatten().min().filter(|_| !self.is_gone)
    }

    fn take_effects(&mut self, _: Instant) -> Vec<MembershipEffect> {
        std::mem::take(&mut self.effects)
    }

    /// Comes back after having left. Frames carry the new incarnation.
    fn renew(&mut self, _: &Sender<'_>, _: Priority) {
        self.is_gone = false;
    }

    /// Leaves, and passes its share of a running count on to another member.
    fn leave(&mut self, now: Instant) {
        self.now = now;
        self.census.leave(now);
        self.settle();
        self.is_gone = true;
    }

    fn address_of(&self, id: MemberId) -> Option<SocketAddr> {
        self.places.address_of(id)
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        self.known.iter().filter_map(|it| self.address_of(it.id)).collect()
    }

    fn candidates(&self) -> Vec<Candidate> {
        self.known.clone()
    }

    fn describe(&self, id: MemberId) -> Option<Peer> {
        self.places.describe(id)
    }
}

// Inputs.
impl PartialView {
    /// Records a message that came from the member itself. The member does not enter the view: all
    /// members have received that message, and all views would become alike.
    pub(crate) fn note(
        &mut self,
        now: Instant,
        candidate: Candidate,
        sender: &Sender<'_>,
        address: SocketAddr,
    ) {
        self.now = now;
        self.places.note(candidate.id, MemberAddress::of(sender, address), Source::Itself);
        self.take_back(candidate, sender.incarnation);
    }

    /// Adds a member whose message was received to the view.
    pub(crate) fn meet(
        &mut self,
        now: Instant,
        candidate: Candidate,
        sender: &Sender<'_>,
        address: SocketAddr,
    ) {
        let is_dead = self.tombstones.holds(candidate.id, sender.incarnation);
        if self.is_gone || is_dead || candidate.id == self.me.id {
            return;
        }
        self.note(now, candidate, sender, address);
        self.acquaint(candidate);
        self.settle();
    }

    /// Sends `content`, the content of a frame, to all members.
    pub(crate) fn send_to_all(&mut self, now: Instant, content: Vec<u8>) {
        self.now = now;
        let ip = Ipv6Addr::UNSPECIFIED;
        let request = epidemic::Request::Multicast(Said { ip, content });
        self.rumours.request(now, request);
        self.settle();
    }

    /// Marks a member dead in `incarnation`. Returns false if that was known, or if a later
    /// incarnation is.
    pub(crate) fn mark_dead(
        &mut self,
        now: Instant,
        id: MemberId,
        incarnation: Incarnation,
    ) -> bool {
        self.now = now;
        let known = self.places.get(id).map(|it| it.incarnation);
        if known.is_some_and(|known| known > incarnation)
            || !self.tombstones.dig(id, incarnation, now)
        {
            return false;
        }
        self.shuffle.view_changed(now, ViewChange::Left(id));
        self.find(Event::MemberDown(id));
        self.settle();
        self.places.forget(id);
        true
    }

    /// Removes the tombstone of a member that is alive in a later incarnation, and reports it up.
    fn take_back(&mut self, candidate: Candidate, incarnation: Incarnation) {
        if self.tombstones.open(candidate.id, incarnation) {
            self.find(Event::MemberUp(candidate));
        }
    }

    fn look_after_count(&mut self) {
        let has_grown = |size: u64| self.arrivals.saturating_mul(2) > size;
        let is_wanted = self.size().is_none_or(has_grown) && !self.known.is_empty();
        if is_wanted && !self.counts() {
            self.census.request(self.now, census::Request::Count);
        }
    }

    fn look_later(&mut self) {
        let chance = self.draw(LOOK_EVERY.0);
        self.look_at = self.now + LOOK_EVERY + Duration(chance);
    }
}
