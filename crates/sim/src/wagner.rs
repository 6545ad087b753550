//! Draws on Wagner's ring, among honest members and segments of neighbours that cheat together.

mod cheat;
mod fast_draws;
mod seat;

pub use cheat::{Aim, Cheat, NoScheme, Scheme, Segment};
pub use fast_draws::FastDraws;
pub use seat::{Note, Seat, Setting};

use hustings_protocol::wagner::leader::Leader;
use hustings_protocol::wagner::{Config, Ring, Wagner};
use hustings_protocol::{Duration, Instant, MemberId, Priority};

use crate::{Detection, Halt, Network, Scratch, Seeds, Setup, Silent, Trace, World};

/// The parameters of one draw.
#[derive(Debug, Clone)]
pub struct DrawTrial {
    /// The number of members.
    pub members: u32,
    /// The configuration of the honest members.
    pub config: Config,
    /// The cheating segments. Different segments know nothing of each other.
    pub cheaters: Vec<Segment>,
    /// The delay of every message.
    pub hop: Duration,
    /// The probability that a message is lost, which counts as a fault.
    pub loss: f64,
    /// The limit of a draw that does not end, in Basic rounds.
    pub most_rounds: u32,
}

/// The result of a draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DrawRun {
    /// The member that all honest members have seen elected, if none knows of a fault.
    pub leader: Option<MemberId>,
    /// Calls of Subset, by the honest member that progressed furthest.
    pub stages: u32,
    /// Calls of Coin Flip.
    pub flips: u32,
    /// Flips sent from neighbour to neighbour, and withheld ones.
    pub flip_messages: u64,
    /// Fault messages.
    pub fault_messages: u64,
    /// The number of honest members.
    pub honest: u32,
    /// The number of honest members that know of a fault.
    pub informed: u32,
    /// The Basic round in which an honest member first noticed a fault.
    pub fault_round: Option<u32>,
    /// True if a cheater is elected.
    pub leader_is_cheater: bool,
    /// The time at which the last honest member came to its conclusion.
    pub delay: Duration,
}

impl DrawRun {
    /// True if an honest member knows of a fault.
    pub fn fault_detected(&self) -> bool {
        self.informed > 0
    }

    /// True if the draw went on without end or stopped: neither a leader nor a fault.
    pub fn stalled(&self) -> bool {
        self.leader.is_none() && !self.fault_detected()
    }

    /// All messages.
    pub fn messages(&self) -> u64 {
        self.flip_messages + self.fault_messages
    }

    /// One bit per flip; a fault message takes two.
    pub fn bits(&self) -> u64 {
        self.flip_messages + 2 * self.fault_messages
    }
}

/// Executes one run.
///
/// # Panics
/// If the cheaters are not on the ring, or leave fewer than two others.
pub fn draw(trial: &DrawTrial, seeds: Seeds, scratch: Scratch<Seat>) -> (DrawRun, Scratch<Seat>) {
    let (run, Silent, scratch) = draw_traced(trial, seeds, scratch, Silent, || true);
    (run, scratch)
}

/// Executes one run and records it. `goes_on` is called often; if it returns false, the run stops.
///
/// # Panics
/// As [`draw`].
pub fn draw_traced<T: Trace<Seat>>(
    trial: &DrawTrial,
    seeds: Seeds,
    scratch: Scratch<Seat>,
    trace: T,
    goes_on: impl Fn() -> bool,
) -> (DrawRun, T, Scratch<Seat>) {
    let mut world = world(trial, seeds, scratch, trace);
    for member in 0..trial.members {
        world.start(member);
    }
    let round = round_time(trial);
    // A fault takes one more round trip of the ring, and a member may have waited for an answer
    // first.
    let slack = round + trial.config.respond_within.unwrap_or(Duration::ZERO);
    let limit = Instant::START + round * u64::from(trial.most_rounds) + slack;
    while goes_on() && world.now() < limit {
        if world.run_until(limit.min(world.now() + round)) == Halt::Quiet {
            break;
        }
    }
    let run = summarise(trial, &world);
    let (trace, scratch) = world.retire();
    (run, trace, scratch)
}

fn world<T: Trace<Seat>>(
    trial: &DrawTrial,
    seeds: Seeds,
    scratch: Scratch<Seat>,
    trace: T,
) -> World<Seat, T> {
    let setup = Setup {
        priorities: vec![Priority(0); trial.members as usize],
        network: Network::lossy(trial.hop, trial.loss, 0.0),
        detection: Detection::Never,
        view: 1.0,
    };
    let setting =
        Setting { honest: trial.config, members: trial.members, cheaters: trial.cheaters.clone() };
    let told = setting.clone();
    let make = move |boot: crate::Boot<Seat>| Seat::of(boot.me.id, &told);
    World::within(scratch, setup, setting, seeds, trace, make)
}

/// The duration of a Basic round among honest members.
fn round_time(trial: &DrawTrial) -> Duration {
    let hops = match trial.config.ring {
        Ring::BothWays => trial.members,
        Ring::Clockwise => 2 * trial.members,
    };
    trial.hop * u64::from(hops)
}

fn summarise<T: Trace<Seat>>(trial: &DrawTrial, world: &World<Seat, T>) -> DrawRun {
    let seats = (0..).zip(world.members());
    let honest =
        || seats.clone().filter_map(|(place, seat)| seat.honest().map(|member| (place, member)));
    let count =
        |what: &dyn Fn(&Wagner) -> bool| honest().filter(|(_, member)| what(member)).count() as u32;
    let (members, informed) = (count(&|_| true), count(&|it| it.fault().is_some()));
    let first = honest().next().and_then(|(_, member)| member.elected());
    let agree = count(&|it| it.elected() == first) == members;
    let leader = first.filter(|_| agree);
    let furthest = honest()
        .filter_map(|(_, member)| member.progress())
        .max_by_key(|leader| leader.stages() + leader.flips());
    let concluded = honest().filter_map(|(place, _)| world.nominee(place));
    let last = concluded.map(|(_, at)| at).max();
    let tally = world.tally();
    DrawRun {
        leader,
        stages: furthest.map_or(0, Leader::stages),
        flips: furthest.map_or(0, Leader::flips),
        flip_messages: tally.unicasts[0],
        fault_messages: tally.unicasts[1],
        honest: members,
        informed,
        fault_round: honest()
            .filter_map(|(_, member)| member.fault())
            .map(|fault| fault.round)
            .min(),
        leader_is_cheater: leader.is_some_and(|MemberId(id)| {
            let holds = |segment: &Segment| segment.holds(id as u32, trial.members);
            trial.cheaters.iter().any(holds)
        }),
        delay: last.unwrap_or(world.now()) - Instant::START,
    }
}
