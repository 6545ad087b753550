//! A few members of many: whom one member of a large group knows, and how many there are in all.
//!
//! Drives [`Shuffle`] and [`Census`], the machines that the simulator drives. Their entries have no addresses, so words
//! carry beside each where it is, in which life, and its name; and how large the sender holds the group to be, so that a
//! newcomer knows it from its first exchange on. Where the network has no multicast, what is said to all goes from each
//! to a few others: [`Epidemic`].
//!
//! Who is exchanged away is not gone, and who does not answer an offer may have missed it: nobody is taken for dead here
//! but on somebody's word ([`Circle::bury`]), which comes from [`crate::group`].

mod graves;
mod hearing;
mod post;
#[cfg(test)]
mod tests;
mod word;

use std::net::{Ipv6Addr, SocketAddr};

use hustings_protocol::census::{self, Census};
use hustings_protocol::epidemic::{self, Epidemic};
use hustings_protocol::shuffle::{self, Entry, Shuffle};
use hustings_protocol::{Candidate, Duration, Instant, MemberId, ViewChange};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::MembershipEffect;
use super::loss::Loss;
use super::place::{Place, Places, Source};
use crate::driver::{Driver, Seat};
use crate::frame::Sender;
use crate::identity::Life;
use crate::leadership::Peer;
use crate::peers::Way;
use graves::Graves;
use word::{Entries, Said, Word};

/// How often a member exchanges acquaintances.
const SHUFFLE_EVERY: Duration = Duration::from_secs(1);

/// How many at a time: with names of 64 bytes they fit into a datagram.
const EXCHANGED: u8 = 6;

/// A turn of a count, in bounds of what messages take; six tries of a parcel share it. Hosts that are busy with 150 members
/// each answer within a try, most of the time.
const TURN_BOUNDS: u64 = 40;

/// How long after a count there is another one, at least.
const COUNT_EVERY: Duration = Duration::from_secs(60);

/// How often, about, a member looks whether a count is wanted: it has come up in a group that was never counted, or the
/// group has grown by half since.
const LOOK_EVERY: Duration = Duration::from_secs(3);

/// Who has met nobody new for so long, and always had room, knows all. Three exchanges show that.
const SETTLED_AFTER: Duration = Duration::from_secs(3);

/// Who has heard nothing from anybody for so long is alone: ten exchanges do not all get lost.
const ALONE_AFTER: Duration = Duration::from_secs(10);

/// How many of all who hear a hello answer it, on average.
const GREETERS: u64 = 4;

/// How often what was said to all is repaired, in bounds of what messages take, and how often in all: at a tenth lost, one
/// member in a million is missed.
const REPAIR_BOUNDS: u64 = 10;
const REPAIRS: u64 = 20;

/// How many places are remembered beside those in view, in views: who was exchanged away may be about to be written to.
const PLACES_IN_VIEWS: usize = 8;

/// A few members of many.
pub(crate) struct Circle {
    me: Candidate,
    room: usize,
    now: Instant,
    is_gone: bool,
    shuffle: Driver<Shuffle>,
    census: Driver<Census>,
    rumours: Driver<Epidemic<Said>>,
    /// Whom it knows, by identity, as everybody else here was told.
    known: Vec<Candidate>,
    places: Places,
    graves: Graves,
    loss: Loss,
    /// The size of the group, as somebody else said.
    told_size: Option<u64>,
    heard_at: Option<Instant>,
    /// How many it has known at most, and since when it knows no more.
    most_known: usize,
    grown_at: Instant,
    /// How many newcomers were heard that are in no count.
    arrivals: u64,
    look_at: Instant,
    rng: Xoshiro256PlusPlus,
    effects: Vec<MembershipEffect>,
}

/// What a member of a group that nobody knows whole tells of that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CircleStatus {
    /// How many others it knows at most.
    pub view: usize,
    /// How many it knows.
    pub known: usize,
    /// How many members there are, itself included, by the last count; none before one is over.
    pub size: Option<u64>,
}

/// How acquaintances are exchanged in a group whose members know `view` others.
fn shuffling(view: u16) -> shuffle::Config {
    shuffle::Config {
        room: view,
        exchanged: EXCHANGED,
        ..shuffle::Config::field(SHUFFLE_EVERY)
    }
}

/// How members are counted where most messages take less than `bound`.
fn counting(bound: Duration) -> census::Config {
    census::Config {
        pause: COUNT_EVERY,
        // A group that comes up is soon many times what the count before found.
        kept: 1,
        ..census::Config::field(bound * TURN_BOUNDS)
    }
}

/// How what is said to all is spread where most messages take less than `bound`.
fn spreading(bound: Duration) -> epidemic::Config {
    let period = bound * REPAIR_BOUNDS;
    epidemic::Config {
        life: period * REPAIRS,
        ..epidemic::Config::field(period)
    }
}

impl Circle {
    /// That of `me`, in the life `life`, which is to know `view` others, where most messages take less than `bound`.
    pub(crate) fn new(now: Instant, me: Candidate, life: Life, view: u16, bound: Duration) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(life.0 ^ me.id.0);
        let mut child = || Xoshiro256PlusPlus::seed_from_u64(rng.next_u64());
        let mut shuffle = Driver::new(me, Shuffle::default(), shuffling(view), child(), None);
        let mut census = Driver::new(me, Census::new(), counting(bound), child(), None);
        let rumours = Driver::new(me, Epidemic::new(life.0), spreading(bound), child(), None);
        shuffle.start(now);
        census.start(now);
        let mut circle = Self {
            me,
            room: usize::from(view),
            now,
            is_gone: false,
            shuffle,
            census,
            rumours,
            known: Vec::new(),
            places: Places::default(),
            graves: Graves::default(),
            loss: Loss::default(),
            told_size: None,
            heard_at: None,
            most_known: 0,
            grown_at: now,
            arrivals: 0,
            look_at: now,
            rng,
            effects: Vec::new(),
        };
        circle.look_later();
        circle
    }

    /// Whether nobody is known, or nobody has been heard for long.
    pub(crate) fn is_alone(&self) -> bool {
        let is_long_ago = |at: Instant| self.now - at >= ALONE_AFTER;
        self.known.is_empty() || self.heard_at.is_none_or(is_long_ago)
    }

    pub(super) fn knows(&self, sender: &Sender<'_>) -> bool {
        let place = self.places.get(sender.id);
        self.has(sender.id) && place.is_some_and(|it| it.life() == sender.life())
    }

    /// Whether it knows `id`.
    pub(crate) fn has(&self, id: MemberId) -> bool {
        self.known.binary_search_by_key(&id, |it| it.id).is_ok()
    }

    fn is_full(&self) -> bool {
        self.known.len() >= self.room
    }

    /// How many members there are, this one included, as far as can be told.
    pub(crate) fn size(&self) -> Option<u64> {
        let least = self.known.len() as u64 + 1;
        // Of a time when there were fewer than are known now it tells nothing.
        let is_outgrown = |size: &u64| self.is_full() && size.saturating_mul(2) < least;
        let counted = [self.census.protocol().size(), self.told_size];
        let mut counted = counted.into_iter().flatten();
        counted
            .find(|size| !is_outgrown(size))
            .map(|size| size.max(least))
    }

    /// The same, or as many as are known.
    pub(crate) fn size_or_view(&self) -> u64 {
        self.size().unwrap_or(self.known.len() as u64 + 1)
    }

    /// Whether the group is being counted.
    fn counts(&self) -> bool {
        self.census.protocol().counts()
    }

    /// What part of the messages is lost.
    pub(crate) fn loss(&self) -> Option<f64> {
        self.loss.rate()
    }

    /// Whether it can tell how large the group is, or knows all of it. Before that almost everybody would relay, as if
    /// there were no others.
    pub(crate) fn is_ready(&self) -> bool {
        // Who was full once, and has room as somebody did not answer, does not know all for that.
        let has_room = self.most_known < self.room;
        let is_settled = has_room && self.now - self.grown_at >= SETTLED_AFTER;
        self.size().is_some() || is_settled
    }

    pub(crate) fn status(&self) -> CircleStatus {
        CircleStatus {
            view: self.room,
            known: self.known.len(),
            size: self.size(),
        }
    }

    /// Whether `id` is dead in this life, as somebody said.
    pub(crate) fn has_buried(&self, id: MemberId, life: Life) -> bool {
        self.graves.holds(id, life)
    }

    pub(super) fn address_of(&self, id: MemberId) -> Option<SocketAddr> {
        self.places.address_of(id)
    }

    pub(crate) fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.known.iter().filter_map(|it| self.address_of(it.id))
    }

    pub(super) fn candidates(&self) -> &[Candidate] {
        &self.known
    }

    pub(super) fn describe(&self, id: MemberId) -> Option<Peer> {
        self.places.describe(id)
    }

    /// A few of whom it knows, by chance.
    pub(crate) fn some(&mut self, count: usize) -> Vec<(MemberId, SocketAddr)> {
        let few = self.sample(count);
        let placed = few.iter().map(|it| Some((it.id, self.address_of(it.id)?)));
        placed.flatten().collect()
    }

    /// A few of whom it knows: neighbours by identity, which is nobody's loss.
    fn sample(&mut self, count: usize) -> Vec<Candidate> {
        let first = self.draw(self.known.len() as u64) as usize;
        let from_there = self.known.iter().skip(first).chain(&self.known);
        from_there
            .take(count.min(self.known.len()))
            .copied()
            .collect()
    }

    /// A number below `bound`, by chance.
    fn draw(&mut self, bound: u64) -> u64 {
        hustings_protocol::scatter::fit(self.rng.next_u64(), bound)
    }
}

// What happens.
impl Circle {
    /// Somebody said hello. If all hear that, a few answer; if it was said to this member, it does.
    pub(super) fn greet(&mut self, sender: &Sender<'_>, address: SocketAddr, way: Way) {
        if self.is_gone {
            return;
        }
        let was_there = self.places.get(sender.id).is_some() || self.graves.has(sender.id);
        self.arrivals += u64::from(!was_there);
        self.places
            .note(sender.id, Place::of(sender, address), Source::Itself);
        let size = self.size_or_view();
        let answers = way != Way::Multicast || self.draw(size) < GREETERS;
        if answers {
            let few = self.sample(EXCHANGED.into());
            let entries: Entries = few.into_iter().map(Entry::fresh).collect();
            let (entries, places) = self.with_places(entries);
            let word = Word::Welcome {
                size: self.size(),
                merit: self.me.merit,
                was_dead: self.graves.has(sender.id),
                entries,
                places,
            };
            self.send(sender.id, &word);
        }
    }

    /// Somebody was heard itself. It is not in view for that: all have heard it, and all views would be alike.
    pub(crate) fn note(
        &mut self,
        now: Instant,
        candidate: Candidate,
        sender: &Sender<'_>,
        address: SocketAddr,
    ) {
        self.now = now;
        self.places
            .note(candidate.id, Place::of(sender, address), Source::Itself);
        self.take_back(candidate, sender.life());
    }

    /// Somebody that was heard should be in view from now on.
    pub(crate) fn meet(
        &mut self,
        now: Instant,
        candidate: Candidate,
        sender: &Sender<'_>,
        address: SocketAddr,
    ) {
        let is_dead = self.graves.holds(candidate.id, sender.life());
        if self.is_gone || is_dead || candidate.id == self.me.id {
            return;
        }
        self.note(now, candidate, sender, address);
        self.acquaint(candidate);
        self.settle();
    }

    /// Says to all what is in `content`, a frame's.
    pub(crate) fn say_to_all(&mut self, now: Instant, content: Vec<u8>) {
        self.now = now;
        let ip = Ipv6Addr::UNSPECIFIED;
        let request = epidemic::Request::Multicast(Said { ip, content });
        self.rumours.request(now, request);
        self.settle();
    }

    /// This one is dead in this life. Returns whether that is news.
    pub(crate) fn bury(&mut self, now: Instant, id: MemberId, life: Life) -> bool {
        self.now = now;
        let known = self.places.get(id).map(Place::life);
        if known.is_some_and(|known| known > life) || !self.graves.dig(id, life, now) {
            return false;
        }
        self.shuffle.view_changed(now, ViewChange::Left(id));
        self.effects.push(MembershipEffect::Down(id));
        self.settle();
        self.places.forget(id);
        true
    }

    /// It lives in this life; if it was dead in an earlier one, it is back.
    fn take_back(&mut self, candidate: Candidate, life: Life) {
        if self.graves.open(candidate.id, life) {
            self.effects.push(MembershipEffect::Up(candidate));
        }
    }

    pub(super) fn pass(&mut self, now: Instant) {
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

    pub(super) fn due(&self) -> Option<Instant> {
        let times = [
            self.shuffle.due(),
            self.census.due(),
            self.rumours.due(),
            Some(self.look_at),
        ];
        times.into_iter().flatten().min().filter(|_| !self.is_gone)
    }

    pub(super) fn take_effects(&mut self) -> Vec<MembershipEffect> {
        std::mem::take(&mut self.effects)
    }

    /// Its new life goes with its frames. Who had left is back.
    pub(super) fn renew(&mut self) {
        self.is_gone = false;
    }

    /// Leaves what it has of a count to somebody.
    pub(super) fn leave(&mut self, now: Instant) {
        self.now = now;
        self.census.leave(now);
        self.settle();
        self.is_gone = true;
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
