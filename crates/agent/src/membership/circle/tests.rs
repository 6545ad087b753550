//! Several members on a wire in memory, on a made-up clock.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use hustings_protocol::{Candidate, Duration, Instant, MemberId, Merit};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Circle, MembershipEffect};
use crate::frame::{MOST_NAME_BYTES, Sender};
use crate::identity::{Life, member_id};
use crate::membership::MOST_BYTES;
use crate::peers::Way;

const BOUND: Duration = Duration::from_millis(5);
const HELLO_EVERY: Duration = Duration::from_millis(250);

struct Wire {
    now: Instant,
    members: Vec<Seat>,
    in_flight: BTreeMap<(Instant, u64), Datagram>,
    sent: u64,
    lost_percent: u64,
    /// Who says hello says it to all, and else to the first.
    has_multicast: bool,
    rng: Xoshiro256PlusPlus,
}

struct Datagram {
    from: usize,
    to: SocketAddr,
    bytes: Vec<u8>,
}

struct Seat {
    name: String,
    life: Life,
    circle: Circle,
    is_silent: bool,
    hello_at: Instant,
    /// Whom it was told that it knows.
    view: BTreeSet<MemberId>,
    downs: Vec<MemberId>,
    ups: Vec<MemberId>,
    heard: Vec<(MemberId, Vec<u8>)>,
}

impl Seat {
    fn id(&self) -> MemberId {
        member_id(&self.name)
    }
}

fn address(index: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, (index / 250) as u8, (index % 250) as u8], 7400))
}

/// As long as a name can be.
fn name(index: usize) -> String {
    format!("m{index:0>width$}", width = MOST_NAME_BYTES - 1)
}

impl Wire {
    /// Members that know nobody yet and are to know `view` others. All say hello to the first.
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
            let life = Life(1 << 56 | seed); // as long as a life's number is for decades
            let id = member_id(&name);
            let merit = Merit(u64::MAX - index as u64);
            let me = Candidate { merit, id };
            wire.members.push(Seat {
                name,
                life,
                circle: Circle::new(Instant::START, me, life, view, BOUND),
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
        let seat = &mut self.members[index];
        for effect in seat.circle.take_effects() {
            match effect {
                MembershipEffect::Send { to, bytes, .. } => {
                    assert!(bytes.len() <= MOST_BYTES, "{} bytes", bytes.len());
                    let is_lost = self.rng.next_u64() % 100 < self.lost_percent;
                    if is_lost || seat.is_silent {
                        continue;
                    }
                    let micros = 100 + self.rng.next_u64() % 900;
                    let at = self.now + Duration::from_micros(micros);
                    let from = index;
                    let datagram = Datagram { from, to, bytes };
                    self.in_flight.insert((at, self.sent), datagram);
                    self.sent += 1;
                }
                MembershipEffect::Met(candidate) => {
                    seat.view.insert(candidate.id);
                }
                MembershipEffect::Forgotten(id) => {
                    assert!(seat.view.remove(&id), "forgotten before it was known");
                }
                MembershipEffect::Down(id) => seat.downs.push(id),
                MembershipEffect::Up(candidate) => seat.ups.push(candidate.id),
                MembershipEffect::WasDead => {} // whoever drives it sees to it
                MembershipEffect::Heard {
                    origin, content, ..
                } => seat.heard.push((origin, content)),
            }
        }
    }

    fn deliver(&mut self, datagram: &Datagram) {
        let index = (0..self.members.len()).find(|it| address(*it) == datagram.to);
        let index = index.unwrap_or_else(|| panic!("nobody is at {}", datagram.to));
        let (name, life) = {
            let sender = &self.members[datagram.from];
            (sender.name.clone(), sender.life)
        };
        if !self.members[index].is_silent {
            let sender = Sender::new(&name, member_id(&name), life, 7400);
            let circle = &mut self.members[index].circle;
            let from = address(datagram.from);
            let heard = circle.hear(self.now, &sender, from, &datagram.bytes);
            assert_eq!(heard, Ok(()));
            self.collect(index);
        }
    }

    fn say_hello(&mut self, index: usize) {
        self.members[index].hello_at = self.now + HELLO_EVERY;
        let seat = &self.members[index];
        if (index > 0 || self.has_multicast) && seat.circle.is_alone() && !seat.is_silent {
            let (name, life) = (seat.name.clone(), seat.life);
            let sender = Sender::new(&name, member_id(&name), life, 7400);
            let (others, way) = match self.has_multicast {
                true => (self.members.len(), Way::Multicast),
                false => (1, Way::Unicast),
            };
            for other in (0..others).filter(|it| *it != index) {
                if self.is_lost() {
                    continue;
                }
                let circle = &mut self.members[other].circle;
                circle.greet(&sender, address(index), way);
                self.collect(other);
            }
        }
    }

    fn is_lost(&mut self) -> bool {
        self.lost_percent > 0 && self.rng.next_u64() % 100 < self.lost_percent
    }

    /// Somebody that is there says hello to those who do not know it, as one does now and then; in a new life if it was
    /// restarted.
    fn call_out(&mut self, index: usize) {
        let seat = &self.members[index];
        let (name, life) = (seat.name.clone(), seat.life);
        let sender = Sender::new(&name, member_id(&name), life, 7400);
        for other in (0..self.members.len()).filter(|it| *it != index) {
            let circle = &mut self.members[other].circle;
            if !circle.knows(&sender) {
                circle.greet(&sender, address(index), Way::Multicast);
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
            let due = self.members.iter().filter_map(|it| it.circle.due());
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
                if self.members[index]
                    .circle
                    .due()
                    .is_some_and(|it| it <= self.now)
                {
                    self.members[index].circle.pass(self.now);
                }
            }
        }
    }

    fn living(&self) -> impl Iterator<Item = &Seat> {
        self.members.iter().filter(|seat| !seat.is_silent)
    }
}

#[test]
fn views_are_full_and_no_fuller_and_what_is_told_of_them_is_so() {
    for seed in 0..3 {
        let mut wire = Wire::new(60, 12, seed);
        wire.run(Duration::from_secs(60));
        let mut known_by: BTreeMap<MemberId, u32> = BTreeMap::new();
        for seat in &wire.members {
            let listed: BTreeSet<MemberId> =
                seat.circle.candidates().iter().map(|it| it.id).collect();
            assert_eq!(seat.view, listed, "seed {seed}");
            assert!((10..=12).contains(&listed.len()), "{}", listed.len());
            assert!(!seat.circle.is_alone() && !listed.contains(&seat.id()));
            assert_eq!((&seat.downs[..], &seat.ups[..]), (&[][..], &[][..]));
            for id in listed {
                let index = (0..60).find(|it| member_id(&name(*it)) == id).unwrap();
                assert_eq!(seat.circle.address_of(id), Some(address(index)));
                *known_by.entry(id).or_default() += 1;
            }
        }
        assert_eq!(
            known_by.len(),
            60,
            "seed {seed}: everybody is known to somebody"
        );
    }
}

#[test]
fn the_group_is_counted_soon_and_again_when_it_has_grown() {
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
        for seat in wire.living() {
            assert!(seat.circle.is_ready());
            let size = seat.circle.size();
            assert!(is_near(size, 40.0), "{size:?}, {lost_percent} % lost");
        }
        for late in &mut wire.members[40..] {
            late.is_silent = false;
        }
        wire.run(Duration::from_secs(3));
        let newcomer = &wire.members[50].circle;
        assert!(newcomer.size().is_some(), "told by whom it met first");
        // Long before the next count is due by itself.
        wire.run(Duration::from_secs(40));
        for seat in &wire.members {
            let size = seat.circle.size();
            assert!(is_near(size, 100.0), "{size:?}, {lost_percent} % lost");
        }
    }
}

#[test]
fn a_group_that_came_up_at_once_is_counted_once() {
    for (lost_percent, seed) in [(0, 1), (10, 2)] {
        let mut wire = Wire::new(24, 8, seed);
        wire.has_multicast = true;
        wire.lost_percent = lost_percent;
        wire.run(Duration::from_secs(20));
        for second in 20..60 {
            // Every two seconds somebody calls out, and in between one is restarted.
            let caller = (second * 7) as usize % 24;
            wire.members[caller].life.0 += second % 2;
            wire.call_out(caller);
            wire.run(Duration::from_secs(1));
            let counts = wire.members.iter().filter(|it| it.circle.counts()).count();
            assert_eq!(counts, 0, "after {second} s, {lost_percent} % lost");
        }
    }
}

#[test]
fn who_has_no_count_takes_part_only_where_all_are_known() {
    let mut wire = Wire::new(5, 12, 1);
    wire.run(Duration::from_secs(1));
    assert!(wire.members.iter().all(|seat| !seat.circle.is_ready()));
    wire.run(Duration::from_secs(5));
    for seat in &wire.members {
        assert!(seat.circle.is_ready());
        assert_eq!(seat.view.len(), 4);
    }
    let mut wire = Wire::new(40, 12, 1);
    wire.run(Duration::from_secs(7));
    for seat in &wire.members {
        let is_told = seat.circle.size().is_some();
        assert_eq!(
            seat.circle.is_ready(),
            is_told,
            "{:?}",
            seat.circle.status()
        );
    }
}

#[test]
fn who_has_no_count_waits_for_one_where_much_is_lost_too() {
    for seed in 0..30 {
        let mut wire = Wire::new(24, 8, seed);
        wire.has_multicast = true;
        wire.lost_percent = 20;
        for tenth in 0..150 {
            wire.run(Duration::from_millis(100));
            let is_early = |it: &&Seat| it.circle.is_ready() && it.circle.size().is_none();
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
    let rates: Vec<f64> = wire
        .members
        .iter()
        .filter_map(|it| it.circle.loss())
        .collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    assert_eq!(rates.len(), 40);
    // Of 64 offers each: the standard error of the mean is 0.004.
    assert!((0.08..0.12).contains(&mean), "{mean}");
}

#[test]
fn who_is_buried_is_nobodys_acquaintance_until_it_lives_again() {
    let mut wire = Wire::new(30, 12, 4);
    wire.run(Duration::from_secs(30));
    let (dead, life) = (wire.members[7].id(), wire.members[7].life);
    let now = wire.now;
    wire.members[7].is_silent = true;
    // Half of them hear of it first: the others still tell them of it.
    let (first, later): (Vec<usize>, Vec<usize>) =
        (0..30).filter(|it| *it != 7).partition(|it| it % 2 == 0);
    let bury = |wire: &mut Wire, those: &[usize]| {
        for &index in those {
            let circle = &mut wire.members[index].circle;
            assert!(circle.bury(now, dead, life) && !circle.bury(now, dead, life));
            assert!(circle.has_buried(dead, life) && !circle.has_buried(dead, Life(life.0 + 1)));
            wire.collect(index);
        }
    };
    bury(&mut wire, &first);
    let tell = |it: &&usize| wire.members[**it].view.contains(&dead);
    let tell = later.iter().filter(tell).count();
    assert!(tell > 3, "{tell} are too few to show anything");
    for _ in 0..50 {
        wire.run(Duration::from_millis(100));
        let tells = |it: &&usize| wire.members[**it].view.contains(&dead);
        assert_eq!(first.iter().filter(tells).count(), 0);
    }
    bury(&mut wire, &later);
    wire.run(Duration::from_secs(20));
    for seat in wire.living() {
        assert!(!seat.view.contains(&dead));
        assert_eq!((&seat.downs[..], seat.ups.len()), (&[dead][..], 0));
    }
    let back = &mut wire.members[7];
    back.life = Life(life.0 + 1);
    back.is_silent = false;
    wire.run(Duration::from_secs(60));
    let taken_back = wire.living().filter(|seat| seat.ups == [dead]).count();
    assert!(taken_back > 20, "{taken_back}");
    assert!(wire.living().filter(|it| it.view.contains(&dead)).count() > 4);
    let circle = &mut wire.members[0].circle;
    assert!(!circle.bury(wire.now, dead, life), "of a life that is over");
}

#[test]
fn what_is_said_to_all_is_heard_by_all_once() {
    let mut wire = Wire::new(60, 12, 6);
    wire.lost_percent = 10;
    wire.run(Duration::from_secs(30));
    let now = wire.now;
    for said in [b"one", b"two"] {
        wire.members[9].circle.say_to_all(now, said.to_vec());
    }
    wire.run(Duration::from_secs(3));
    let origin = wire.members[9].id();
    for (index, seat) in wire.members.iter_mut().enumerate().filter(|it| it.0 != 9) {
        seat.heard.sort();
        let expected = [b"one", b"two"].map(|it| (origin, it.to_vec()));
        assert_eq!(seat.heard, expected, "{index}");
    }
    assert_eq!(wire.members[9].heard, []);
}

#[test]
fn what_is_no_word_is_refused_and_damaged_words_never_panic() {
    let mut wire = Wire::new(12, 8, 5);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    let stranger = Sender::new("x", member_id("x"), Life(1), 7400);
    for _ in 0..100 {
        wire.run(Duration::from_millis(50));
        let words: Vec<_> = wire.in_flight.values().map(|it| it.bytes.clone()).collect();
        let now = wire.now;
        let circle = &mut wire.members[0].circle;
        for bytes in words {
            for length in 0..bytes.len() {
                let cut = circle.hear(now, &stranger, address(1), &bytes[..length]);
                assert!(cut.is_err());
            }
            for _ in 0..50 {
                let mut flipped = bytes.clone();
                let at = rng.next_u64() as usize % bytes.len();
                flipped[at] ^= 1 << (rng.next_u64() % 8);
                let _ = circle.hear(now, &stranger, address(1), &flipped);
            }
        }
        // What comes of it is nobody's concern but this member's.
        wire.collect(0);
        wire.in_flight.clear();
    }
}
