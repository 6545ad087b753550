//! A small world for a few members: every message takes one millisecond, unless a test sets another
//! network.

use std::collections::BTreeMap;

use hustings_protocol::tenure::TenureOutcome;
use hustings_protocol::tenure::{
    Config, Durable, Held, Message, Request, Role, Saved, Tenure, Timer,
};
use hustings_protocol::{
    Candidate, Duration, Input, Instant, Io, MemberId, Message as _, Protocol, Roster, View,
};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub(crate) const DELAY: Duration = Duration::from_millis(1);

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The fate of a message: the delay of each of its copies.
pub(crate) type Network = Box<dyn FnMut(MemberId, MemberId, &Message) -> Vec<Duration>>;

/// A few members, their messages, and the events to come.
pub(crate) struct World {
    pub(crate) nodes: Vec<Node>,
    pub(crate) now: Instant,
    pub(crate) network: Network,
    pub(crate) sent: Vec<(MemberId, MemberId, Message)>,
    queue: BTreeMap<(Instant, u64), Event>,
    events: u64,
}

/// A member, with the data of its `Io`.
pub(crate) struct Node {
    member: Tenure,
    stands: bool,
    pub(crate) disk: Disk,
    pub(crate) is_up: bool,
    pub(crate) outcomes: Vec<TenureOutcome>,
    io: NodeIo,
}

#[derive(Clone, Copy)]
pub(crate) enum Disk {
    /// The member has no vote.
    None,
    Holds(Saved),
}

struct NodeIo {
    me: Candidate,
    config: Config,
    view: Roster,
    rng: Xoshiro256PlusPlus,
    /// The rate error of its clock, in parts per million.
    drift_ppm: i64,
    clock: Instant,
    /// The number of the last arming of each timer; earlier ones do not expire.
    armed: [u64; 4],
    effects: Vec<Effect>,
    saves: u32,
}

#[derive(Clone, Copy)]
enum Effect {
    Send { to: MemberId, message: Message },
    Arm { timer: Timer, after: Duration },
    Save(Durable),
    Report(TenureOutcome),
}

enum Event {
    Deliver { from: MemberId, to: MemberId, message: Message },
    Ring { node: usize, timer: Timer, arming: u64 },
}

impl World {
    /// Members 1, 2, ... up to `votes.len()` vote with the given disks; members 11, 12, ... stand.
    pub(crate) fn new(config: &Config, votes: &[Saved], standing: u64, seed: u64) -> Self {
        let voters = (1..).zip(votes).map(|(id, saved)| (id, Disk::Holds(*saved), false));
        let nominees = (11..11 + standing).map(|id| (id, Disk::None, true));
        Self::with(config, voters.chain(nominees), seed)
    }

    /// Members 1, 2, 3 of a new group vote and stand.
    pub(crate) fn of_three(config: &Config, seed: u64) -> Self {
        let founding = Disk::Holds(Saved::Initialised(Durable::FOUNDING));
        Self::with(config, (1..=3).map(|id| (id, founding, true)), seed)
    }

    fn with(config: &Config, members: impl Iterator<Item = (u64, Disk, bool)>, seed: u64) -> Self {
        let node = |(id, disk, stands): (u64, Disk, bool)| Node {
            member: Tenure::new(Role::default()),
            stands,
            disk,
            is_up: false,
            outcomes: Vec::new(),
            io: NodeIo {
                me: Candidate::new(id, id),
                config: config.clone(),
                view: Roster::alone(Candidate::new(id, id)),
                rng: Xoshiro256PlusPlus::seed_from_u64(seed ^ id << 32),
                drift_ppm: 0,
                clock: Instant::START,
                armed: [0; 4],
                effects: Vec::new(),
                saves: 0,
            },
        };
        let mut world = Self {
            nodes: members.map(node).collect(),
            now: Instant::START,
            network: Box::new(|_, _, _| vec![DELAY]),
            sent: Vec::new(),
            queue: BTreeMap::new(),
            events: 0,
        };
        for node in 0..world.nodes.len() {
            let id = world.nodes[node].io.me.id;
            world.start(id.0);
        }
        world
    }

    pub(crate) fn node(&mut self, id: u64) -> &mut Node {
        let at = self.place(MemberId(id));
        &mut self.nodes[at]
    }

    fn place(&self, id: MemberId) -> usize {
        let place = self.nodes.iter().position(|node| node.io.me.id == id);
        place.expect("the member exists")
    }

    /// Starts a member, for the first time or after [`World::crash`], with the state on its disk.
    pub(crate) fn start(&mut self, id: u64) {
        let node = self.node(id);
        let votes = match node.disk {
            Disk::None => None,
            Disk::Holds(saved) => Some(saved),
        };
        node.is_up = true;
        node.member = Tenure::new(Role { votes, stands: node.stands });
        node.io.armed = node.io.armed.map(|arming| arming + 1);
        self.tell(id, Input::Start);
    }

    pub(crate) fn crash(&mut self, id: u64) {
        self.node(id).is_up = false;
    }

    pub(crate) fn ask(&mut self, id: u64, request: Request) {
        self.tell(id, Input::Request(request));
    }

    pub(crate) fn hear(&mut self, from: u64, to: u64, message: Message) {
        let from = MemberId(from);
        self.tell(to, Input::Message { from, message });
    }

    pub(crate) fn tell(&mut self, id: u64, input: Input<Tenure>) {
        let at = self.place(MemberId(id));
        self.step(at, input);
    }

    /// The tenure that a member holds now.
    pub(crate) fn holds(&self, id: u64) -> Option<Held> {
        let node = &self.nodes[self.place(MemberId(id))];
        node.member.holds(node.io.local(self.now)).filter(|_| node.is_up)
    }

    /// The members that hold now.
    pub(crate) fn holders(&self) -> Vec<u64> {
        let ids = self.nodes.iter().map(|node| node.io.me.id.0);
        ids.filter(|id| self.holds(*id).is_some()).collect()
    }

    /// The number of messages of a kind that were sent.
    pub(crate) fn count(&self, kind: &str) -> usize {
        let is_kind = |message: &Message| Message::KINDS[message.kind()] == kind;
        self.sent.iter().filter(|(_, _, it)| is_kind(it)).count()
    }

    /// The number of writes to disk of each member.
    pub(crate) fn saves(&self) -> Vec<u32> {
        self.nodes.iter().map(|node| node.io.saves).collect()
    }

    pub(crate) fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        while self.next(end) {}
        self.now = end;
    }

    /// Handles the next event, if it is due by `end`.
    pub(crate) fn next(&mut self, end: Instant) -> bool {
        let Some(entry) = self.queue.first_entry().filter(|it| it.key().0 <= end) else {
            return false;
        };
        let ((at, _), event) = entry.remove_entry();
        self.now = at;
        match event {
            Event::Deliver { from, to, message } => {
                let at = self.place(to);
                self.step(at, Input::Message { from, message });
            }
            Event::Ring { node, timer, arming } => {
                if self.nodes[node].io.armed[timer as usize] == arming {
                    self.step(node, Input::Timer(timer));
                }
            }
        }
        true
    }

    fn step(&mut self, at: usize, input: Input<Tenure>) {
        let now = self.now;
        let node = &mut self.nodes[at];
        if !node.is_up {
            return;
        }
        node.io.clock = node.io.local(now);
        node.member.step(input, &mut node.io);
        for effect in std::mem::take(&mut node.io.effects) {
            self.apply(at, effect);
        }
    }

    fn apply(&mut self, at: usize, effect: Effect) {
        let node = &mut self.nodes[at];
        let from = node.io.me.id;
        match effect {
            Effect::Save(durable) => node.disk = Disk::Holds(Saved::Initialised(durable)),
            Effect::Report(outcome) => node.outcomes.push(outcome),
            Effect::Arm { timer, after } => {
                let after = node.io.real(after);
                let arming = node.io.armed[timer as usize];
                let ring = Event::Ring { node: at, timer, arming };
                self.plan(after, ring);
            }
            Effect::Send { to, message } => {
                self.sent.push((from, to, message));
                for delay in (self.network)(from, to, &message) {
                    self.plan(delay, Event::Deliver { from, to, message });
                }
            }
        }
    }

    fn plan(&mut self, after: Duration, event: Event) {
        self.events += 1;
        self.queue.insert((self.now + after, self.events), event);
    }
}

impl Node {
    pub(crate) fn drift(&mut self, ppm: i64) {
        self.io.drift_ppm = ppm;
    }

    pub(crate) fn configure(&mut self, change: impl FnOnce(&mut Config)) {
        change(&mut self.io.config);
    }
}

impl NodeIo {
    fn rate(&self) -> u128 {
        u128::try_from(1_000_000 + self.drift_ppm).expect("a clock does not go backwards")
    }

    fn local(&self, now: Instant) -> Instant {
        Instant((u128::from(now.0) * self.rate() / 1_000_000) as u64)
    }

    fn real(&self, span: Duration) -> Duration {
        Duration((u128::from(span.0) * 1_000_000).div_ceil(self.rate()) as u64)
    }
}

impl Io<Tenure> for NodeIo {
    fn me(&self) -> Candidate {
        self.me
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn now(&self) -> Instant {
        self.clock
    }

    fn rng(&mut self) -> &mut impl Rng {
        &mut self.rng
    }

    fn view(&self) -> impl View {
        &self.view
    }

    fn unicast(&mut self, to: MemberId, message: Message) {
        assert_ne!(to, self.me.id, "the network does not deliver a member's messages to itself");
        self.effects.push(Effect::Send { to, message });
    }

    fn multicast(&mut self, _: Message) {
        panic!("tenure sends to voters and nominees, never to all");
    }

    fn arm(&mut self, timer: Timer, after: Duration) {
        self.armed[timer as usize] += 1;
        self.effects.push(Effect::Arm { timer, after });
    }

    fn disarm(&mut self, timer: Timer) {
        self.armed[timer as usize] += 1;
    }

    fn save(&mut self, state: Durable) {
        self.saves += 1;
        self.effects.push(Effect::Save(state));
    }

    fn report(&mut self, outcome: TenureOutcome) {
        self.effects.push(Effect::Report(outcome));
    }
}
