//! One run of an election, and its record.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hustings_protocol::{Duration, Instant, Protocol};
use hustings_sim::{
    Detection, Halt, JsonLines, Scenario, Scratch, Seeds, Setup, Silent, Summary, Trace, Verb,
    World, faults,
};

use crate::elections::Election;
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::options::Conditions;

/// How many mean delays pass between two looks at a run.
const DELAYS_BETWEEN_LOOKS: u64 = 4;

/// An election under its conditions: everything that decides a run, save its number.
pub(crate) struct Trial<E: Election> {
    pub(crate) election: E,
    pub(crate) conditions: Conditions,
    pub(crate) detection: Detection,
    /// What befalls the group besides what follows from the options.
    pub(crate) script: Scenario,
    /// When to stop if the group does not come to rest by itself.
    pub(crate) limit: Instant,
    pub(crate) seed: u64,
    /// Whether the user wants to stop.
    pub(crate) interruption: Interruption,
    /// What earlier runs left for later ones.
    pub(crate) memory: Memory<E::Protocol>,
}

/// The memory of runs that have ended: as many pieces as there were runs at one time.
pub(crate) struct Memory<P: Protocol>(Mutex<Vec<Scratch<P>>>);

impl<P: Protocol> Default for Memory<P> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<P: Protocol> Memory<P> {
    fn take(&self) -> Scratch<P> {
        self.pieces().pop().unwrap_or_default()
    }

    fn give_back(&self, scratch: Scratch<P>) {
        self.pieces().push(scratch);
    }

    fn pieces(&self) -> MutexGuard<'_, Vec<Scratch<P>>> {
        // Emptied memory is good memory, whatever happened to the run that left it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What became of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    /// What is known at its end.
    pub(crate) summary: Summary,
    /// Why it ended.
    pub(crate) end: End,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Nothing was left to happen.
    AtRest,
    /// The time was up.
    TimeUp,
    /// Messages begot more messages than the memory could hold.
    Flooded,
    /// The user wants to stop: this is no whole run.
    Interrupted,
}

impl<E: Election> Trial<E> {
    /// Does run number `number`; nothing comes of it if the user wants to stop.
    pub(crate) fn run(&self, number: u64) -> Option<Run> {
        if self.interruption.is_raised() {
            return None;
        }
        let (run, Silent) = self.run_traced(number, Silent);
        (run.end != End::Interrupted).then_some(run)
    }

    /// Does the first run and writes down all that happens, one JSON object a line.
    pub(crate) fn record(&self, path: &Path) -> Result<(), Failure> {
        let file = File::create(path).map_err(|error| Failure::file("--trace", path, error))?;
        let (_, trace) = self.run_traced(0, JsonLines::new(BufWriter::new(file)));
        let written = trace.finish().map(drop);
        written.map_err(|error| Failure::Failed(format!("--trace {}: {error}", path.display())))
    }

    fn run_traced<T: Trace<E::Protocol>>(&self, number: u64, trace: T) -> (Run, T) {
        let seeds = Seeds::new(self.seed, number);
        let election = self.election;
        let (merits, opening) = election.layout(seeds);
        let setup = Setup {
            merits,
            network: self.conditions.network,
            detection: self.detection,
            view: self.conditions.view,
        };
        let make = move |boot| election.member(boot);
        let memory = self.memory.take();
        let mut world = World::within(memory, setup, election.config(), seeds, trace, make);
        self.open(&mut world, &opening);
        let end = self.run_through_crashes(&mut world, seeds);
        let halt = match end {
            End::AtRest => Halt::Quiet,
            End::TimeUp | End::Flooded | End::Interrupted => Halt::Limit,
        };
        let summary = Summary::of(&world, halt);
        let (trace, scratch) = world.retire();
        self.memory.give_back(scratch);
        (Run { summary, end }, trace)
    }

    /// Enters what befalls the group. A script that says who starts replaces who would.
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

    /// Runs to the end, letting members crash until the group has come to rest: what would strike
    /// it afterwards is no part of the election.
    fn run_through_crashes<T: Trace<E::Protocol>>(
        &self,
        world: &mut World<E::Protocol, T>,
        seeds: Seeds,
    ) -> End {
        let crashes = faults::crashes(
            self.election.members(),
            self.conditions.crash,
            self.election.round(),
            self.limit,
            seeds,
        );
        let mut crashes = crashes.lines().to_vec();
        crashes.sort_by_key(|(at, _)| *at);
        for (at, crash) in crashes {
            let just_before = Instant(at.0.saturating_sub(1));
            if let Some(end) = self.run_until(just_before, world) {
                return end;
            }
            world.schedule(at, crash);
        }
        self.run_until(self.limit, world).unwrap_or(End::TimeUp)
    }

    /// Runs until `limit`, with a look at the world now and then. Tells why, if it ended before.
    fn run_until<T: Trace<E::Protocol>>(
        &self,
        limit: Instant,
        world: &mut World<E::Protocol, T>,
    ) -> Option<End> {
        let stretch: Duration = self.conditions.mean_delay() * DELAYS_BETWEEN_LOOKS;
        let mut sent = messages(world);
        while world.now() < limit {
            let halt = world.run_until(limit.min(world.now() + stretch));
            if halt == Halt::Quiet {
                return Some(End::AtRest);
            }
            if self.interruption.is_raised() {
                return Some(End::Interrupted);
            }
            let sent_before = std::mem::replace(&mut sent, messages(world));
            if sent - sent_before > self.election.flood() {
                return Some(End::Flooded);
            }
        }
        None
    }
}

/// How many messages were sent so far.
fn messages<P: Protocol, T: Trace<P>>(world: &World<P, T>) -> u64 {
    let tally = world.tally();
    tally.unicasts.iter().chain(&tally.multicasts).sum()
}
