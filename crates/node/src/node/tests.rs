//! Tests of whole members in a simulated network, without sockets and clocks.

mod absence;
mod access;
mod council;
mod health;
mod hearsay;
mod incarnations;
mod inheritance;
mod large_group_frames;
mod last_will;
mod listen_check;
mod lists;
mod many;
mod measured;
mod namesakes;
mod order;
mod proofs;
mod refusals;
mod replay_window;
mod stand_aside;
mod stores;
mod tenure;
mod transfer;
mod twins;
mod voter_query;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};

use hustings_protocol::announce::{self, Takeover};
use hustings_protocol::{Duration, Instant, MemberId, Priority, bully};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::GOLDEN;
use super::{Admitted, Event, Node, Outbox, Route, TenureStatus};
use crate::authority::Authority;
use crate::authority::in_flight::InFlight;
use crate::config::{GroupConfig, MULTICAST, ProtocolConfig};
use crate::entropy::Entropy;
use crate::frame::Frame;
use crate::identity::{Incarnation, member_id};
use crate::peer_table::Channel;
use crate::seal::Rejected;
use hustings_testkit::logged;

const DELAY: Duration = Duration::from_micros(100);
const ANNOUNCE: Duration = Duration::from_millis(100);
const LISTEN: Duration = Duration::from_millis(300);

/// The calendar at the start of the simulation: 700 days, in nanoseconds since the start of 2025.
const MIDNIGHT: u64 = 700 * 86_400 * 1_000_000_000;

/// A sealed frame in transit.
struct Flight {
    at: Instant,
    to: usize,
    from: SocketAddr,
    channel: Channel,
    frame: Vec<u8>,
}

struct Field {
    now: Instant,
    members: Vec<Node>,
    /// The side of each member. Only members on the same side reach each other.
    sides: Vec<u8>,
    /// A member that receives nothing, although its frames arrive.
    deaf: Option<usize>,
    /// Two members that do not reach each other, although others reach both.
    cut: Option<[usize; 2]>,
    /// A member, and the additional delay of unicasts to it.
    slow: Option<(usize, Duration)>,
    carries_multicasts: bool,
    /// The percentage of datagrams that are lost.
    lost_percent: u64,
    chance: Xoshiro256PlusPlus,
    flights: Vec<Flight>,
    /// A member, and the recorded frames that were delivered to it.
    recorder: Option<(usize, Vec<Flight>)>,
    /// The writes of each member's disk, and true if the disk works.
    disks: Vec<Option<(mpsc::Receiver<Vec<u8>>, bool)>>,
    /// The last successful write of each member's disk.
    kept: BTreeMap<usize, Vec<u8>>,
    /// The time for which tenure is granted at once.
    ttl: Duration,
    /// The protocol of members that want tenure; none: announcements.
    protocol: Option<ProtocolConfig>,
    /// The seed of members that want tenure, if they send no multicasts.
    seed: Option<usize>,
    multicasts: usize,
    unicasts: usize,
}

fn address(index: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, index as u8 + 1], 7400))
}

thread_local! {
    /// The number of members that have started in this test.
    static CAME_UP: Cell<u64> = const { Cell::new(0) };
    /// The value of all calendars, if they stand still.
    static CALENDAR: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Random numbers for a member that receives at `port`. They differ each time a member starts.
fn entropy(now: Instant, port: u16) -> Entropy {
    let number = CAME_UP.replace(CAME_UP.get() + 1);
    let source = Entropy::seeded(now.0 ^ number.wrapping_mul(GOLDEN) ^ u64::from(port) << 48);
    // Otherwise calendars show the simulated time: a member that starts a second later has an
    // incarnation that is a second later.
    source.with_calendar_at(CALENDAR.get().unwrap_or(MIDNIGHT + now.0))
}

impl Field {
    /// Started members with these priorities, with an elected leader.
    fn settled(takeover: Takeover, priorities: &[u64]) -> Self {
        let mut field = Self::empty();
        for &priority in priorities {
            field.admit(takeover, priority);
        }
        field.run(Duration::from_secs(1));
        field
    }

    fn empty() -> Self {
        hustings_testkit::prepare_for_logged();
        Self {
            now: Instant::START,
            members: Vec::new(),
            sides: Vec::new(),
            deaf: None,
            cut: None,
            slow: None,
            carries_multicasts: true,
            lost_percent: 0,
            chance: Xoshiro256PlusPlus::seed_from_u64(1),
            flights: Vec::new(),
            recorder: None,
            disks: Vec::new(),
            kept: BTreeMap::new(),
            ttl: tenure::TTL,
            protocol: None,
            seed: None,
            multicasts: 0,
            unicasts: 0,
        }
    }

    fn admit(&mut self, takeover: Takeover, priority: u64) {
        self.enter(announcing(takeover), priority, &[], 0);
    }

    /// Starts a member on `side` with `others` as seeds.
    fn enter(&mut self, protocol: ProtocolConfig, priority: u64, others: &[usize], side: u8) {
        let name = name(self.members.len());
        self.enter_as(&name, protocol, priority, others, side);
    }

    fn enter_as(
        &mut self,
        name: &str,
        protocol: ProtocolConfig,
        priority: u64,
        others: &[usize],
        side: u8,
    ) {
        let index = self.members.len();
        let config = GroupConfig {
            priority: Priority(priority),
            multicast: Some(MULTICAST),
            join: others.iter().map(|&it| address(it).to_string()).collect(),
            ..GroupConfig::plain("test", protocol)
        };
        let nobody = (Authority::Nobody, InFlight::new(Arc::default()));
        let port = address(index).port();
        let member = Node::new(config, name, port, self.now, None, nobody, entropy(self.now, port));
        self.admit_member(member, None, others, side);
    }

    /// Starts a member that writes to `disk`.
    fn admit_member(
        &mut self,
        mut member: Node,
        disk: Option<mpsc::Receiver<Vec<u8>>>,
        others: &[usize],
        side: u8,
    ) {
        let index = self.members.len();
        let mut out = Outbox::new();
        member.start(self.now, &mut out);
        let seeds: Vec<SocketAddr> = others.iter().map(|&it| address(it)).collect();
        if !seeds.is_empty() {
            member.join(self.now, &seeds, &mut out);
        }
        self.members.push(member);
        self.disks.push(disk.map(|given| (given, true)));
        self.sides.push(side);
        self.post(index, out);
        self.save(index);
    }

    fn post(&mut self, from: usize, out: Outbox) {
        for (_, route, frame) in out {
            let (channel, receivers) = match route {
                Route::Multicast(_) => {
                    self.multicasts += 1;
                    let everyone = (0..self.members.len()).filter(|_| self.carries_multicasts);
                    (Channel::Multicast, everyone.collect())
                }
                Route::To(to) => {
                    self.unicasts += 1;
                    (Channel::Unicast, self.who_is_at(to))
                }
                Route::Link(to) => (Channel::Link, self.who_is_at(to)),
            };
            for to in receivers {
                let is_lost =
                    self.chance.next_u64() % 100 < self.lost_percent && channel != Channel::Link;
                let is_cut = self.cut.is_some_and(|it| it == [from, to] || it == [to, from]);
                let is_near = self.sides[to] == self.sides[from] && self.deaf != Some(to);
                if to != from && is_near && !is_cut && !is_lost {
                    let slow = self.slow.filter(|it| it.0 == to && channel == Channel::Unicast);
                    let delay = slow.map_or(DELAY, |it| DELAY + it.1);
                    self.flights.push(Flight {
                        at: self.now + delay,
                        to,
                        from: address(from),
                        channel,
                        frame: frame.clone(),
                    });
                }
            }
        }
    }

    /// Calls a member and sends its frames.
    fn act(&mut self, index: usize, act: impl FnOnce(&mut Node, Instant, &mut Outbox)) {
        let mut out = Outbox::new();
        act(&mut self.members[index], self.now, &mut out);
        self.post(index, out);
    }

    /// Delays all frames in transit to a member by `by`.
    fn hold_up(&mut self, to: usize, by: Duration) {
        for flight in self.flights.iter_mut().filter(|it| it.to == to) {
            flight.at = flight.at + by;
        }
    }

    fn who_is_at(&self, place: SocketAddr) -> Vec<usize> {
        let is_there = |index: &usize| address(*index) == place;
        (0..self.members.len()).filter(is_there).collect()
    }

    fn run(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            let flights = self.flights.iter().map(|flight| flight.at);
            let timers = self.members.iter().filter_map(Node::due);
            let next = flights.chain(timers).min();
            let Some(next) = next.filter(|next| *next <= end) else {
                self.now = end;
                return;
            };
            self.now = self.now.max(next);
            let due: Vec<Flight> = {
                let now = self.now;
                self.flights.extract_if(.., |it| it.at <= now).collect()
            };
            for flight in due {
                self.deliver(flight);
            }
            for index in 0..self.members.len() {
                if self.members[index].due().is_some_and(|due| due <= self.now) {
                    let mut out = Outbox::new();
                    self.members[index].pass(self.now, &mut out);
                    self.post(index, out);
                    self.save(index);
                }
            }
        }
    }

    fn deliver(&mut self, mut flight: Flight) {
        if let Some((_, recorded)) = self.recorder.as_mut().filter(|it| it.0 == flight.to) {
            recorded.push(flight.copy());
        }
        let mut out = Outbox::new();
        let keyring = self.members[flight.to].keyring();
        let content = match keyring.open(&mut flight.frame) {
            Ok(content) => content,
            Err(Rejected::Receiver) => return, // another member was at this address before
            Err(why) => panic!("members share a key: {why:?}"),
        };
        let frame = Frame::decode(content).expect("members write frames that can be read");
        self.members[flight.to].hear(self.now, flight.from, flight.channel, &frame, &mut out);
        self.post(flight.to, out);
        self.save(flight.to);
    }

    /// Performs a disk's writes, or reports that they fail.
    fn save(&mut self, index: usize) {
        while let Some((given, works)) = &self.disks[index]
            && let Ok(bytes) = given.try_recv()
        {
            if *works {
                self.kept.insert(index, bytes);
            }
            let done = works.then_some(()).ok_or_else(|| "no space left".to_owned());
            let mut out = Outbox::new();
            self.members[index].on_saved(self.now, &done, &mut out);
            self.post(index, out);
        }
    }

    fn leader_of(&self, index: usize) -> Option<MemberId> {
        let leadership = self.members[index].publisher.leadership();
        leadership.leader.as_ref().map(|leader| leader.id)
    }

    /// The leader that all of `who` name.
    fn agreed(&self, who: &[usize]) -> Option<usize> {
        let leader = self.leader_of(who[0])?;
        let all = who.iter().all(|&it| self.leader_of(it) == Some(leader));
        all.then(|| (0..self.members.len()).find(|&it| id(it) == leader))?
    }

    fn changes(&self, who: &[usize]) -> u64 {
        let changes = |&it: &usize| self.members[it].publisher.leadership().changes;
        who.iter().map(changes).sum()
    }
}

fn announcing(takeover: Takeover) -> ProtocolConfig {
    ProtocolConfig::Announce(announce::Config {
        takeover,
        listen: announce::Listen::For(LISTEN),
        ..announce::Config::field(ANNOUNCE)
    })
}

fn name(index: usize) -> String {
    format!("m{index}")
}

fn id(index: usize) -> MemberId {
    member_id(&name(index))
}

const ALL: [usize; 5] = [0, 1, 2, 3, 4];

#[test]
fn only_the_leader_of_a_complete_group_sends_unasked() {
    let mut field = Field::settled(Takeover::Never, &[0; 5]);
    (field.multicasts, field.unicasts) = (0, 0);
    field.run(Duration::from_secs(10));
    assert!((99..=101).contains(&field.multicasts), "{}", field.multicasts);
    // Every two seconds the leader pings one other member, which answers.
    assert!(field.unicasts <= 2 * 6, "{}", field.unicasts);
}

#[test]
fn larger_side_keeps_its_leader_when_a_partition_heals() {
    for attempt in 0..40_u64 {
        let mut field = Field::settled(Takeover::Never, &[0; 5]);
        let leader = field.agreed(&ALL).expect("they agree");
        // The leader is among the two, or among the three.
        let first = if attempt % 2 == 0 { leader } else { leader + 1 };
        let few = [first % 5, (first + 1) % 5];
        let many: Vec<usize> = ALL.into_iter().filter(|it| !few.contains(it)).collect();
        for it in few {
            field.sides[it] = 1;
        }
        // Until the new leader is elected and established.
        field.run(LISTEN + ANNOUNCE * 4 + Duration::from_millis(7 * attempt));
        let working = field.agreed(&many).expect("the three agree");
        assert_ne!(field.agreed(&few), Some(working), "the two have their own");
        let before = field.changes(&many);
        field.sides.fill(0);
        field.run(ANNOUNCE * 3);
        assert_eq!(field.agreed(&ALL), Some(working), "attempt {attempt}");
        assert_eq!(field.changes(&many), before, "attempt {attempt}");
        for it in few {
            let cause = field.members[it].publisher.leadership().cause.clone();
            let is_told = cause.contains(" announced that it leads");
            assert!(is_told, "attempt {attempt}, member {it}: {cause}");
        }
    }
}

#[test]
fn leader_that_refuses_connections_but_answers_is_alive() {
    let mut field = Field::settled(Takeover::Never, &[0; 5]);
    let leader = field.agreed(&ALL).expect("they agree");
    let follower = (leader + 1) % 5;
    let before = field.changes(&ALL);
    let suspect = |field: &mut Field| {
        let mut out = Outbox::new();
        field.members[follower].suspect(field.now, id(leader), DELAY * 2, &mut out);
        field.post(follower, out);
        field.run(Duration::from_millis(20));
    };
    suspect(&mut field);
    assert_eq!(field.changes(&ALL), before);
    field.sides[leader] = 1;
    suspect(&mut field);
    assert_ne!(field.leader_of(follower), Some(id(leader)));
}

#[test]
fn pause_of_the_whole_machine_makes_no_member_missed() {
    for attempt in 0..20 {
        let mut field = Field::settled(Takeover::Never, &[0; 5]);
        field.run(Duration::from_millis(5 * attempt));
        let before = field.changes(&ALL);
        // Longer than T_L after the last announcement, without any event.
        field.now = field.now + LISTEN + Duration::from_millis(15);
        field.run(Duration::from_secs(1));
        assert_eq!(field.changes(&ALL), before, "attempt {attempt}");
    }
}

#[test]
fn leader_that_yields_to_a_better_one_follows_it() {
    let mut field = Field::settled(Takeover::ByTheBetter, &[5, 3, 3, 3]);
    assert_eq!(field.agreed(&ALL[..4]), Some(0));
    field.admit(Takeover::ByTheBetter, 9);
    field.run(ANNOUNCE * 2);
    assert_eq!(field.agreed(&ALL), Some(4));
    let before = field.changes(&ALL);
    field.run(Duration::from_secs(2));
    assert_eq!((field.agreed(&ALL), field.changes(&ALL)), (Some(4), before));
}

#[test]
fn lone_member_does_not_blame_a_network_with_other_groups() {
    for (hears, has_other_key, asks) in [
        (false, false, "the network may drop multicasts"),
        (true, false, "give all members the same group name"),
        (false, true, "give all members the same key"),
        (true, true, "give all members the same key"),
    ] {
        let mut field = Field::empty();
        field.admit(Takeover::Never, 0);
        if hears {
            field.members[0].note_other_group();
        }
        if has_other_key {
            field.members[0].refuse(field.now, Rejected::Key);
        }
        let lines = logged(|| field.run(Duration::from_secs(6)));
        let mut asked = lines.iter().filter(|(_, line)| line.contains("no other member found by"));
        let (_, line) = asked.next().expect("it says that it is alone");
        assert!(line.contains(asks), "{line}");
    }
}

/// Each member has the previous one as its seed. No member has the last one.
#[test]
fn member_in_no_seed_list_is_found_without_multicast() {
    let mut field = Field::empty();
    field.carries_multicasts = false;
    for told in [1, 0, 1, 2] {
        field.enter(announcing(Takeover::Never), 0, &[told], 0);
    }
    field.run(Duration::from_secs(2));
    let leader = field.agreed(&ALL[..4]).expect("the four agree");
    let before = field.changes(&ALL[..4]);
    field.enter(announcing(Takeover::Never), 9, &[3], 0);
    field.run(Duration::from_secs(5));
    assert_eq!(field.agreed(&ALL), Some(leader));
    assert_eq!((field.changes(&ALL[..4]), field.changes(&ALL[4..])), (before, 1));
}

/// The members start while the network is cut, so that neither side has heard of the other.
#[test]
fn sides_that_never_met_merge_into_one_group() {
    let bully = ProtocolConfig::Bully(bully::Config::field(DELAY * 10, Duration::from_secs(1)));
    for (protocol, others, multicasts) in [
        (bully, &[][..], true),
        (bully, &[0, 2], false),
        (announcing(Takeover::Never), &[0, 2], false),
    ] {
        let mut field = Field::empty();
        field.carries_multicasts = multicasts;
        for side in [0, 0, 1, 1, 1] {
            field.enter(protocol, 0, others, side);
        }
        field.run(Duration::from_secs(3));
        assert_ne!(field.agreed(&ALL[..2]), field.agreed(&ALL[2..]));
        field.sides.fill(0);
        field.run(Duration::from_secs(30));
        let leader = field.agreed(&ALL).expect("all agree");
        // Members of both sides agree on the next leader.
        field.sides[leader] = 9;
        let rest: Vec<usize> = ALL.into_iter().filter(|it| *it != leader).collect();
        field.run(Duration::from_secs(10));
        assert!(field.agreed(&rest).is_some_and(|it| it != leader));
    }
}

/// A member with seeds in two isolated groups joins them.
#[test]
fn member_with_seeds_in_two_groups_merges_them() {
    let mut field = Field::empty();
    field.carries_multicasts = false;
    for told in [&[1][..], &[0], &[3], &[2]] {
        field.enter(announcing(Takeover::Never), 0, told, 0);
        field.run(Duration::from_secs(1));
    }
    field.enter(announcing(Takeover::Never), 0, &[0, 2], 0);
    field.run(Duration::from_secs(10));
    assert!(field.agreed(&ALL).is_some());
}

/// As when a switch forgets its multicast listeners.
#[test]
fn members_with_seeds_survive_the_loss_of_multicast() {
    let mut field = Field::empty();
    for _ in ALL {
        field.enter(announcing(Takeover::Never), 0, &[0, 2], 0);
    }
    field.run(Duration::from_secs(10));
    let leader = field.agreed(&ALL).expect("they agree");
    let before = field.changes(&ALL);
    field.carries_multicasts = false;
    field.run(Duration::from_secs(10));
    assert_eq!((field.agreed(&ALL), field.changes(&ALL)), (Some(leader), before));
}

/// The calendar was ahead once, and is right at the next start.
#[test]
fn member_with_a_calendar_set_back_is_accepted_again() {
    let mut field = Field::settled(Takeover::Never, &[0; 3]);
    let leader = field.agreed(&ALL[..3]).expect("they agree");
    let ahead = Incarnation(MIDNIGHT + 86_400_000_000_000);
    field.members[leader].begin_incarnation_after(ahead);
    field.run(ANNOUNCE * 2);
    // The process is gone, and its host's calendar is right again.
    let protocol = announcing(Takeover::Never);
    field.sides[leader] = 9;
    field.run(LISTEN * 2);
    field.sides[leader] = 0;
    let config = field.members[leader].context.config.clone();
    let nobody = (Authority::Nobody, InFlight::new(Arc::default()));
    let port = address(leader).port();
    let mut again =
        Node::new(config, &name(leader), port, field.now, None, nobody, entropy(field.now, port));
    assert!(again.context.incarnation < ahead && !protocol.needs_view());
    let mut out = Outbox::new();
    again.start(field.now, &mut out);
    field.members[leader] = again;
    field.post(leader, out);
    field.run(Duration::from_secs(1));
    assert!(field.members[leader].context.incarnation > ahead);
    assert_eq!(field.members[leader].outlived(), 1);
    let next = field.agreed(&ALL[..3]).expect("they agree");
    assert_ne!(next, leader);
    // When the others are gone, its frames count: it leads, and no member asks for it any longer.
    let before = field.members[next].emit.counters.replayed;
    field.run(Duration::from_secs(1));
    assert_eq!(field.members[next].emit.counters.replayed, before);
}
