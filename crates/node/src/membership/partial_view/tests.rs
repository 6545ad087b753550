//! Several members on a simulated wire, with a simulated clock.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use hustings_protocol::shuffle::{Entries, Entry, MOST_EXCHANGED};
use hustings_protocol::{Candidate, Duration, Instant, MemberId, Priority};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Event, Membership, MembershipEffect, PartialView};
use crate::frame::{MOST_NAME_BYTES, Sender};
use crate::identity::{Incarnation, member_id};
use crate::membership::MOST_BYTES;
use crate::peer_table::Channel;

const BOUND: Duration = Duration::from_millis(5);
const HELLO_EVERY: Duration = Duration::from_millis(250);

struct Wire {
    now: Instant,
    members: Vec<ElectionDriver>,
    in_flight: BTreeMap<(Instant, u64), Datagram>,
    sent: u64,
    lost_percent: u64,
    /// True if a greeting goes to all members; otherwise it goes to the first.
    has_multicast: bool,
    rng: Xoshiro256PlusPlus,
}

struct Datagram {
    from: usize,
    to: SocketAddr,
    bytes: Vec<u8>,
}

struct ElectionDriver {
    name: String,
    incarnation: Incarnation,
    partial_view: PartialView,
    is_silent: bool,
    hello_at: Instant,
    /// The view, by the effects.
    view: BTreeSet<MemberId>,
    downs: Vec<MemberId>,
    ups: Vec<MemberId>,
    heard: Vec<(MemberId, Vec<u8>)>,
}

impl ElectionDriver {
    fn id(&self) -> MemberId {
        member_id(&self.name)
    }
}

fn address(index: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, (index / 250) as u8, (index % 250) as u8], 7400))
}

/// A name of the greatest length.
fn name(index: usize) -> String {
    format!("m{index:0>width$}", width = MOST_NAME_BYTES - 1)
}

impl Wire {
    /// Members that know no others yet, with room for `view`. All greet the first.
    fn new(count: usize, view: u16, seed: u64) -> Self {
        let mut wire = Self {
            now: Instant::START,
            members: Vec::new(),
            in_flight: BTreeMap::new(),
            sent: 0,
            lost_percent: 0,
            has_multicast: false,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        };
        for index in 0..count {
            let name = name(index);
            let incarnation = Incarnation(1 << 56 | seed); // as long as real ones for decades
            let id = member_id(&name);
            let priority = Priority(u64::MAX - index as u64);
            let me = Candidate { priority, id };
            wire.members.push(ElectionDriver {
                name,
                incarnation,
                partial_view: PartialView::new(Instant::START, me, incarnation, view, BOUND),
                is_silent: false,
                hello_at: Instant::START,
                view: BTreeSet::new(),
                downs: Vec::new(),
                ups: Vec::new(),
                heard: Vec::new(),
            });
        }
        wire
    }

    fn collect(&mut self, index: usize) {
        let election = &mut self.members[index];
        for effect in election.partial_view.take_effects(self.now) {
            match effect {
                MembershipEffect::Send { to, bytes, .. } => {
                    assert!(bytes.len() <= MOST_BYTES, "{} bytes", bytes.len());
                    let is_lost = self.rng.next_u64() % 100 < self.lost_percent;
                    if is_lost || election.is_silent {
                        continue;
                    }
                    let micros = 100 + self.rng.next_u64() % 900;
                    let at = self.now + Duration::from_micros(micros);
                    let from = index;
                    let datagram = Datagram { from, to, bytes };
                    self.in_flight.insert((at, self.sent), datagram);
                    self.sent += 1;
                }
                MembershipEffect::Finding(Event::MemberMet(candidate)) => {
                    election.view.insert(candidate.id);
                }
                MembershipEffect::Finding(Event::MemberForgotten(id)) => {
                    assert!(election.view.remove(&id), "forgotten before it was known");
                }
                MembershipEffect::Finding(Event::MemberDown(id)) => election.downs.push(id),
                MembershipEffect::Finding(Event::MemberUp(candidate)) => {
                    election.ups.push(candidate.id);
                }
                MembershipEffect::Finding(Event::TakenForDead) => {} // the driver handles it
                MembershipEffect::Finding(Event::Rumour { origin, content, .. }) => {
                    election.heard.push((origin, content));
                }
                other => panic!("a partial view does not do this: {other:?}"),
            }
        }
    }

    fn deliver(&mut self, datagram: &Datagram) {
        let index = (0..self.members.len()).find(|it| address(*it) == datagram.to);
        let index = index.unwrap_or_else(|| panic!("nobody is at {}", datagram.to));
        let (name, incarnation) = {
            let sender = &self.members[datagram.from];
            (sender.name.clone(), sender.incarnation)
        };
        if !self.members[index].is_silent {
            let sender = Sender::new(&name, member_id(&name), incarnation, 7400);
            let partial_view = &mut self.members[index].partial_view;
            let from = address(datagram.from);
            let heard = partial_view.hear(self.now, &sender, from, &datagram.bytes);
            assert_eq!(heard, Ok(()));
            self.collect(index);
        }
    }

    fn say_hello(&mut self, index: usize) {
        self.members[index].hello_at = self.now + HELLO_EVERY;
        let election = &self.members[index];
        if (index > 0 || self.has_multicast)
            && election.partial_view.is_alone()
            && !election.is_silent
        {
            let (name, incarnation) = (election.name.clone(), election.incarnation);
            let sender = Sender::new(&name, member_id(&name), incarnation, 7400);
            let (others, channel) = match self.has_multicast {
                true => (self.members.len(), Channel::Multicast),
                false => (1, Channel::Unicast),
            };
            for other in (0..others).filter(|it| *it != index) {
                if self.is_lost() {
                    continue;
                }
                let partial_view = &mut self.members[other].partial_view;
                partial_view.greet(&sender, address(index), channel);
                self.collect(other);
            }
        }
    }

    fn is_lost(&mut self) -> bool {
        self.lost_percent > 0 && self.rng.next_u64() % 100 < self.lost_percent
    }

    /// A running member greets the members that do not know it, as happens now and then; in a new
    /// incarnation if it was restarted.
    fn call_out(&mut self, index: usize) {
        let election = &self.members[index];
        let (name, incarnation) = (election.name.clone(), election.incarnation);
        let sender = Sender::new(&name, member_id(&name), incarnation, 7400);
        for other in (0..self.members.len()).filter(|it| *it != index) {
            let partial_view = &mut self.members[other].partial_view;
            if !partial_view.knows(&sender) {
                partial_view.greet(&sender, address(index), Channel::Multicast);
                self.collect(other);
            }
        }
    }

    fn run(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            for index in 0..self.members.len() {
                self.collect(index);
            }
            let arrival = self.in_flight.keys().next().map(|(at, _)| *at);
            let due = self.members.iter().filter_map(|it| it.partial_view.due());
            let hello = self.members.iter().map(|it| it.hello_at);
            let next = due.chain(hello).chain(arrival).min().unwrap_or(end);
            if next >= end {
                self.now = end;
                return;
            }
            self.now = next.max(self.now);
            if arrival.is_some_and(|at| at <= self.now) {
                let (_, datagram) = self.in_flight.pop_first().unwrap();
                self.deliver(&datagram);
            }
            for index in 0..self.members.len() {
                if self.members[index].hello_at <= self.now {
                    self.say_hello(index);
                }
                if self.members[index].partial_view.due().is_some_and(|it| it <= self.now) {
                    self.members[index].partial_view.pass(self.now);
                }
            }
        }
    }

    fn living(&self) -> impl Iterator<Item = &ElectionDriver> {
        self.members.iter().filter(|election| !election.is_silent)
    }
}

#[test]
fn more_entries_than_a_message_may_have_are_refused() {
    for count in [0, MOST_EXCHANGED, MOST_EXCHANGED + 1, 300] {
        let bytes = postcard::to_allocvec(&vec![Entry::default(); count]).expect("it is written");
        let read = postcard::from_bytes::<Entries>(&bytes);
        assert_eq!(read.is_ok(), count <= MOST_EXCHANGED, "{count} entries: {read:?}");
    }
}

#[test]
fn views_are_full_and_their_effects_are_right() {
    for seed in 0..3 {
        let mut wire = Wire::new(60, 12, seed);
        wire.run(Duration::from_secs(60));
        let mut known_by: BTreeMap<MemberId, u32> = BTreeMap::new();
        for election in &wire.members {
            let listed: BTreeSet<MemberId> =
                election.partial_view.candidates().iter().map(|it| it.id).collect();
            assert_eq!(election.view, listed, "seed {seed}");
            assert!((10..=12).contains(&listed.len()), "{}", listed.len());
            assert!(!election.partial_view.is_alone() && !listed.contains(&election.id()));
            assert_eq!((&election.downs[..], &election.ups[..]), (&[][..], &[][..]));
            for id in listed {
                let index = (0..60).find(|it| member_id(&name(*it)) == id).unwrap();
                assert_eq!(election.partial_view.address_of(id), Some(address(index)));
                *known_by.entry(id).or_default() += 1;
            }
        }
        assert_eq!(known_by.len(), 60, "seed {seed}: everybody is known to somebody");
    }
}

#[test]
fn group_is_counted_soon_and_again_when_it_has_grown() {
    for (lost_percent, seed) in [(0, 1), (10, 2)] {
        let mut wire = Wire::new(100, 12, seed);
        wire.lost_percent = lost_percent;
        for late in &mut wire.members[40..] {
            late.is_silent = true;
        }
        wire.run(Duration::from_secs(25));
        let is_near = |size: Option<u64>, count: f64| {
            size.is_some_and(|size| (size as f64 / count - 1.0).abs() < 0.2)
        };
        for election in wire.living() {
            assert!(election.partial_view.is_ready());
            let size = election.partial_view.size();
            assert!(is_near(size, 40.0), "{size:?}, {lost_percent} % lost");
        }
        for late in &mut wire.members[40..] {
            late.is_silent = false;
        }
        wire.run(Duration::from_secs(3));
        let newcomer = &wire.members[50].partial_view;
        assert!(newcomer.size().is_some(), "told by whom it met first");
        // Long before the next regular count.
        wire.run(Duration::from_secs(40));
        for election in &wire.members {
            let size = election.partial_view.size();
            assert!(is_near(size, 100.0), "{size:?}, {lost_percent} % lost");
        }
    }
}

#[test]
fn group_that_started_at_once_is_counted_once() {
    for (lost_percent, seed) in [(0, 1), (10, 2)] {
        let mut wire = Wire::new(24, 8, seed);
        wire.has_multicast = true;
        wire.lost_percent = lost_percent;
        wire.run(Duration::from_secs(20));
        for second in 20..60 {
            // Every two seconds a member greets, and in between one is restarted.
            let caller = (second * 7) as usize % 24;
            wire.members[caller].incarnation.0 += second % 2;
            wire.call_out(caller);
            wire.run(Duration::from_secs(1));
            let counts = wire.members.iter().filter(|it| it.partial_view.counts()).count();
            assert_eq!(counts, 0, "after {second} s, {lost_percent} % lost");
        }
    }
}

#[test]
fn member_without_a_count_is_ready_only_if_it_knows_all() {
    let mut wire = Wire::new(5, 12, 1);
    wire.run(Duration::from_secs(1));
    assert!(wire.members.iter().all(|election| !election.partial_view.is_ready()));
    wire.run(Duration::from_secs(5));
    for election in &wire.members {
        assert!(election.partial_view.is_ready());
        assert_eq!(election.view.len(), 4);
    }
    let mut wire = Wire::new(40, 12, 1);
    wire.run(Duration::from_secs(7));
    for election in &wire.members {
        let is_told = election.partial_view.size().is_some();
        assert_eq!(
            election.partial_view.is_ready(),
            is_told,
            "{:?}",
            election.partial_view.status()
        );
    }
}

#[test]
fn member_without_a_count_waits_for_one_under_heavy_loss() {
    for seed in 0..30 {
        let mut wire = Wire::new(24, 8, seed);
        wire.has_multicast = true;
        wire.lost_percent = 20;
        for tenth in 0..150 {
            wire.run(Duration::from_millis(100));
            let is_early = |it: &&ElectionDriver| {
                it.partial_view.is_ready() && it.partial_view.size().is_none()
            };
            let early = wire.members.iter().filter(is_early).count();
            assert_eq!(early, 0, "seed {seed}, after {tenth} tenths of a second");
        }
    }
}

#[test]
fn loss_is_measured() {
    let mut wire = Wire::new(40, 12, 3);
    wire.lost_percent = 10;
    wire.run(Duration::from_secs(100));
    let rates: Vec<f64> = wire.members.iter().filter_map(|it| it.partial_view.loss()).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    assert_eq!(rates.len(), 40);
    // From 64 offers for each member: the standard error of the mean is 0.004.
    assert!((0.08..0.12).contains(&mean), "{mean}");
}

#[test]
fn dead_member_is_in_no_view_until_it_is_back() {
    let mut wire = Wire::new(30, 12, 4);
    wire.run(Duration::from_secs(30));
    let (dead, incarnation) = (wire.members[7].id(), wire.members[7].incarnation);
    let now = wire.now;
    wire.members[7].is_silent = true;
    // Half of the members hear of it first: the others still send them entries of it.
    let (first, later): (Vec<usize>, Vec<usize>) =
        (0..30).filter(|it| *it != 7).partition(|it| it % 2 == 0);
    let mark_dead = |wire: &mut Wire, those: &[usize]| {
        for &index in those {
            let partial_view = &mut wire.members[index].partial_view;
            assert!(
                partial_view.mark_dead(now, dead, incarnation)
                    && !partial_view.mark_dead(now, dead, incarnation)
            );
            assert!(
                partial_view.has_buried(dead, incarnation)
                    && !partial_view.has_buried(dead, Incarnation(incarnation.0 + 1))
            );
            wire.collect(index);
        }
    };
    mark_dead(&mut wire, &first);
    let tell = |it: &&usize| wire.members[**it].view.contains(&dead);
    let tell = later.iter().filter(tell).count();
    assert!(tell > 3, "{tell} are too few to show anything");
    for _ in 0..50 {
        wire.run(Duration::from_millis(100));
        let tells = |it: &&usize| wire.members[**it].view.contains(&dead);
        assert_eq!(first.iter().filter(tells).count(), 0);
    }
    mark_dead(&mut wire, &later);
    wire.run(Duration::from_secs(20));
    for election in wire.living() {
        assert!(!election.view.contains(&dead));
        assert_eq!((&election.downs[..], election.ups.len()), (&[dead][..], 0));
    }
    let back = &mut wire.members[7];
    back.incarnation = Incarnation(incarnation.0 + 1);
    back.is_silent = false;
    wire.run(Duration::from_secs(60));
    let taken_back = wire.living().filter(|election| election.ups == [dead]).count();
    assert!(taken_back > 20, "{taken_back}");
    assert!(wire.living().filter(|it| it.view.contains(&dead)).count() > 4);
    let partial_view = &mut wire.members[0].partial_view;
    assert!(!partial_view.mark_dead(wire.now, dead, incarnation), "of a life that is over");
}

#[test]
fn message_to_all_reaches_every_member_once() {
    let mut wire = Wire::new(60, 12, 6);
    wire.lost_percent = 10;
    wire.run(Duration::from_secs(30));
    let now = wire.now;
    for said in [b"one", b"two"] {
        wire.members[9].partial_view.send_to_all(now, said.to_vec());
    }
    wire.run(Duration::from_secs(3));
    let origin = wire.members[9].id();
    for (index, election) in wire.members.iter_mut().enumerate().filter(|it| it.0 != 9) {
        election.heard.sort();
        let expected = [b"one", b"two"].map(|it| (origin, it.to_vec()));
        assert_eq!(election.heard, expected, "{index}");
    }
    assert_eq!(wire.members[9].heard, []);
}

#[test]
fn malformed_messages_are_refused_and_never_panic() {
    let mut wire = Wire::new(12, 8, 5);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    let stranger = Sender::new("x", member_id("x"), Incarnation(1), 7400);
    for _ in 0..100 {
        wire.run(Duration::from_millis(50));
        let frames: Vec<_> = wire.in_flight.values().map(|it| it.bytes.clone()).collect();
        let now = wire.now;
        let partial_view = &mut wire.members[0].partial_view;
        for bytes in frames {
            for length in 0..bytes.len() {
                let cut = partial_view.hear(now, &stranger, address(1), &bytes[..length]);
                assert!(cut.is_err());
            }
            for _ in 0..50 {
                let mut flipped = bytes.clone();
                let at = rng.next_u64() as usize % bytes.len();
                flipped[at] ^= 1 << (rng.next_u64() % 8);
                let _ = partial_view.hear(now, &stranger, address(1), &flipped);
            }
        }
        // Effects for other members do not matter here.
        wire.collect(0);
        wire.in_flight.clear();
    }
}
