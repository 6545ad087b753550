//! One run of an election, and its trace.

mod churn;
mod draws;
mod rounds;
mod tallies;

use std::io::{self, Write};

use hustings_protocol::{Duration, Instant, Priority};

use crate::elections::{AccountOf, Election, Extent, Observer};
use crate::measure::{Account, Interruption, Metric, Study};
use crate::{
    Conditions, Detection, Halt, JsonLines, Memory, Scenario, Seeds, Setup, Summary, Trace, Verb,
    World, conditions,
};
pub use churn::Churn;
use churn::ChurnEvent;
pub use draws::Draws;
pub use rounds::Rounds;
pub use tallies::{Poll, Stays, Tallies};

/// The number of mean delays between two checks of a run.
const DELAYS_BETWEEN_LOOKS: u64 = 4;

/// An election under its conditions: everything that determines a run, except its seeds.
pub struct Trial<E: Election> {
    /// The election.
    pub election: E,
    /// The network and the faults.
    pub conditions: Conditions,
    /// The failure detection.
    pub detection: Detection,
    /// The scripted events, in addition to those that follow from the conditions.
    script: Scenario,
    course: Course,
    /// The time at which a run stops if it does not end before.
    pub limit: Instant,
    /// The allocations of earlier runs, for reuse.
    memory: Memory<E::Protocol>,
}

/// The condition that ends a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// The run ends when the election is over, if its observer can tell, or when the group is at
    /// rest.
    UntilDecided,
    /// The run ends at the limit or when the group is at rest. It covers more than one election.
    UntilLimit,
}

/// The result of a run.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// The state of the group at the end.
    pub summary: Summary,
    /// The reason for which the run ended.
    pub end: End,
    /// The time at which it ended.
    pub ended: Instant,
}

impl Account for Run {
    fn caveat(&self) -> Option<&'static str> {
        let flooded = "were stopped when messages multiplied without bound";
        (self.end == End::Flooded).then_some(flooded)
    }
}

/// The reason for which a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// No event was left.
    AtRest,
    /// The election was over.
    Decided,
    /// The time limit was reached.
    TimeUp,
    /// Messages multiplied without bound. The run was stopped before it exhausted the memory.
    Flooded,
    /// An interruption was requested: the run is incomplete.
    Interrupted,
}

/// A random fault in a run.
enum RandomFault {
    Crash(Verb),
    ChurnEvent(ChurnEvent),
}

impl<E: Election> Study for Trial<E> {
    type Account = AccountOf<E>;

    fn metrics(&self) -> Vec<Metric<AccountOf<E>>> {
        self.election.metrics(self.course)
    }

    fn run(&self, seeds: Seeds, interruption: &Interruption) -> Option<AccountOf<E>> {
        let (run, observer) = self.observe(seeds, interruption);
        (run.end != End::Interrupted).then(|| observer.account(run))
    }

    fn record(&self, seeds: Seeds, interruption: &Interruption, out: impl Write) -> io::Result<()> {
        // The first run finds the duration. The second repeats it exactly and writes the trace.
        let (run, _) = self.observe(seeds, interruption);
        let until = match run.end {
            End::Decided => run.ended,
            End::AtRest | End::TimeUp | End::Flooded | End::Interrupted => self.limit,
        };
        let trace = JsonLines::new(out);
        let (_, trace) = self.carry_out(seeds, interruption, until, |_| trace, |_| false);
        trace.finish().map(drop)
    }
}

/// Returns the default duration of a run. The election begins anew with the last line of the
/// script, and is over by then.
pub fn time_needed<E: Election>(election: &E, script: &Scenario) -> Duration {
    let times = script.lines().iter().map(|(at, _)| *at);
    let last = times.max().unwrap_or(Instant::START) - Instant::START;
    last + election.extent().long_enough
}

impl<E: Election> Trial<E> {
    /// Creates a trial of an election under conditions, with a script of additional events. Runs
    /// last `until`, or as long as the election needs if that is `None`.
    pub fn new(
        election: E,
        conditions: Conditions,
        script: Scenario,
        until: Option<Duration>,
    ) -> Self {
        let nothing_follows = script.lines().is_empty() && election.churn().is_none();
        let course = if nothing_follows && until.is_none() {
            Course::UntilDecided
        } else {
            Course::UntilLimit
        };
        let until = until.unwrap_or_else(|| time_needed(&election, &script));
        Self {
            election,
            conditions,
            detection: conditions.detection(E::DETECTION),
            script,
            course,
            limit: Instant::START + until,
            memory: Memory::default(),
        }
    }

    fn observe(&self, seeds: Seeds, interruption: &Interruption) -> (Run, E::Observer) {
        let course = self.course;
        let observer = |priorities: &[Priority]| self.election.observer(priorities, course);
        let is_over =
            |observer: &E::Observer| course == Course::UntilDecided && observer.has_seen_the_end();
        self.carry_out(seeds, interruption, self.limit, observer, is_over)
    }

    fn carry_out<T: Trace<E::Protocol>>(
        &self,
        seeds: Seeds,
        interruption: &Interruption,
        limit: Instant,
        trace: impl FnOnce(&[Priority]) -> T,
        is_over: impl Fn(&T) -> bool,
    ) -> (Run, T) {
        let election = self.election;
        let (priorities, opening) = election.layout(seeds);
        let trace = trace(&priorities);
        let setup = Setup {
            priorities,
            network: self.conditions.network,
            detection: self.detection,
            view: self.conditions.view,
        };
        let make = move |boot| election.member(boot);
        let memory = self.memory.take();
        let mut world = World::within(memory, setup, election.config(), seeds, trace, make);
        self.open(&mut world, &opening);
        let end = self.run_through_faults(&mut world, seeds, limit, &is_over, interruption);
        let halt = match end {
            End::AtRest => Halt::Quiet,
            End::Decided | End::TimeUp | End::Flooded | End::Interrupted => Halt::Limit,
        };
        let run = Run { summary: Summary::of(&world, halt), end, ended: world.now() };
        let (trace, scratch) = world.retire();
        self.memory.give_back(scratch);
        (run, trace)
    }

    /// Schedules the opening and the script. If the script starts members, it replaces the starts
    /// of the opening.
    fn open<T: Trace<E::Protocol>>(&self, world: &mut World<E::Protocol, T>, opening: &Scenario) {
        let is_start = |verb: &Verb| matches!(verb, Verb::Start(_));
        let script_starts = self.script.lines().iter().any(|(_, verb)| is_start(verb));
        for (at, verb) in opening.lines() {
            if !(script_starts && is_start(verb)) {
                world.schedule(*at, verb.clone());
            }
        }
        world.follow(&self.script);
    }

    /// Runs to the end, with random crashes, departures and returns until the group has come to
    /// rest. Later faults are no part of the election.
    fn run_through_faults<T: Trace<E::Protocol>>(
        &self,
        world: &mut World<E::Protocol, T>,
        seeds: Seeds,
        limit: Instant,
        is_over: &impl Fn(&T) -> bool,
        interruption: &Interruption,
    ) -> End {
        for (at, fault) in self.faults_in_order(seeds) {
            let just_before = Instant(at.0.saturating_sub(1)).min(limit);
            if let Some(end) = self.run_until(just_before, world, is_over, interruption) {
                return end;
            }
            match fault {
                RandomFault::Crash(verb) => world.schedule(at, verb),
                RandomFault::ChurnEvent(event) => self.send_away(event, at, world),
            }
        }
        self.run_until(limit, world, is_over, interruption).unwrap_or(End::TimeUp)
    }

    /// Returns the random faults, ordered by time.
    fn faults_in_order(&self, seeds: Seeds) -> Vec<(Instant, RandomFault)> {
        let Extent { members, round, .. } = self.election.extent();
        let crash = self.conditions.crash;
        let crashes = conditions::crashes(members, crash, round, self.limit, seeds);
        let churn_events = self.election.churn().events(self.limit, seeds).into_iter();
        let mut faults_in_order: Vec<(Instant, RandomFault)> = crashes
            .into_iter()
            .map(|(at, verb)| (at, RandomFault::Crash(verb)))
            .chain(churn_events.map(|(at, event)| (at, RandomFault::ChurnEvent(event))))
            .collect();
        faults_in_order.sort_by_key(|(at, _)| *at);
        faults_in_order
    }

    /// Lets a member depart at `at` and return later.
    fn send_away<T: Trace<E::Protocol>>(
        &self,
        event: ChurnEvent,
        at: Instant,
        world: &mut World<E::Protocol, T>,
    ) {
        if let Some((who, verb)) = Churn::decide(event, world) {
            let keep_state = true;
            world.schedule(at, verb);
            let back = at + self.election.churn().absence;
            world.schedule(back, Verb::Restart { who, keep_state });
        }
    }

    /// Runs until `limit` and checks the world at intervals. Returns the reason if the run ended
    /// before.
    fn run_until<T: Trace<E::Protocol>>(
        &self,
        limit: Instant,
        world: &mut World<E::Protocol, T>,
        is_over: &impl Fn(&T) -> bool,
        interruption: &Interruption,
    ) -> Option<End> {
        let Extent { pace, flood, .. } = self.election.extent();
        let stretch = pace.max(self.conditions.mean_delay() * DELAYS_BETWEEN_LOOKS);
        let mut sent = world.tally().sent();
        while world.now() < limit {
            let halt = world.run_until(limit.min(world.now() + stretch));
            if halt == Halt::Quiet {
                return Some(End::AtRest);
            }
            if interruption.is_raised() {
                return Some(End::Interrupted);
            }
            if is_over(world.trace()) {
                return Some(End::Decided);
            }
            let sent_before = std::mem::replace(&mut sent, world.tally().sent());
            if sent - sent_before > flood {
                return Some(End::Flooded);
            }
        }
        None
    }
}
