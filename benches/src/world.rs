//! The same workloads through the simulator.

use hustings_protocol::chang_roberts::{ChangRoberts, Config};
use hustings_protocol::{
    Duration, Input, Instant, Io, Message, NoOutcome, NoRequest, Priority, Protocol, Simulated,
    Timer,
};
use hustings_sim::classics::Layout;
use hustings_sim::wheel::{Due, Wheel};
use hustings_sim::{Delay, Detection, Network, Scratch, Seeds, Setup, Silent, Stream, World};

use crate::skeleton::exponential;

const FOREVER: Instant = Instant(u64::MAX - 1);

fn setup(priorities: Vec<Priority>, network: Network) -> Setup {
    Setup { priorities, network, detection: Detection::Never, view: 1.0 }
}

/// Memory for one election after the other, as in `hustings sim`.
pub(crate) type Memory = Scratch<ChangRoberts>;

/// Holds one Chang-Roberts election; returns the number of delivered messages.
pub(crate) fn ring(layout: &Layout, delay: Delay, memory: &mut Memory) -> u64 {
    let (priorities, scenario) = layout.clone().scenario();
    let setup = setup(priorities, Network::perfect(delay));
    let make = |_| ChangRoberts::default();
    let memory_left = std::mem::take(memory);
    let seeds = Seeds::new(1, 0);
    let mut world = World::within(memory_left, setup, Config::paper(), seeds, Silent, make);
    world.follow(&scenario);
    world.run_until(FOREVER);
    let delivered = world.tally().delivered;
    *memory = world.retire().1;
    delivered
}

/// Member 0 announces once a second; the others re-arm a timer at each announcement.
struct Beacon {
    expired: u32,
}

#[derive(Clone, Copy)]
struct Announcement(u32);

impl Message for Announcement {
    const KINDS: &'static [&'static str] = &["announcement"];

    fn kind(&self) -> usize {
        0
    }
}

#[derive(Clone, Copy)]
enum BeaconTimer {
    Announce,
    Listen,
}

impl Timer for BeaconTimer {
    const ALL: &'static [Self] = &[Self::Announce, Self::Listen];

    fn index(self) -> usize {
        self as usize
    }
}

impl Protocol for Beacon {
    type Config = ();
    type Message = Announcement;
    type Timer = BeaconTimer;
    type Durable = ();
    type Outcome = NoOutcome;
    type Request = NoRequest;

    #[inline(always)]
    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match input {
            Input::Start | Input::Timer(BeaconTimer::Announce) => {
                io.multicast(Announcement(self.expired));
                io.arm(BeaconTimer::Announce, Duration::from_secs(1));
            }
            Input::Message { message, .. } => {
                std::hint::black_box(message.0);
                io.arm(BeaconTimer::Listen, Duration::from_secs(3));
            }
            Input::Timer(BeaconTimer::Listen) => self.expired += 1,
            Input::ViewChanged(_) | Input::Leave => {}
        }
    }
}

impl Simulated for Beacon {}

/// One announcement per second to each listener, until about `messages` were delivered.
pub(crate) fn beacon(listeners: u32, loss: f64, delay: Delay, messages: u64) -> u64 {
    let network = Network { multicast_loss: loss, ..Network::perfect(delay) };
    let priorities = (0..=u64::from(listeners)).map(Priority).collect();
    let mut world =
        World::new(setup(priorities, network), (), Seeds::new(1, 0), |_| Beacon { expired: 0 });
    world.start(0);
    let seconds = (messages as f64 / (f64::from(listeners) * (1.0 - loss))).ceil();
    world.run_until(Instant::START + Duration::from_secs_f64(seconds - 0.5));
    world.tally().delivered
}

/// The queue alone under a hold model.
pub(crate) fn hold(pending: u64, operations: u64) -> u64 {
    let mut rng = Seeds::new(1, 0).rng(Stream::Network);
    let mut wheel = Wheel::new();
    for entry in 0..pending {
        wheel.push(Instant::START, Instant(exponential(&mut rng)), entry);
    }
    let mut done = 0;
    while done < operations {
        match wheel.due() {
            Due::At(_) => {
                if let Some((at, entry)) = wheel.pop() {
                    wheel.push(at, Instant(at.0 + exponential(&mut rng)), entry);
                    done += 1;
                }
            }
            Due::NotBefore(_) => wheel.open(),
            Due::Never => break,
        }
    }
    done
}
