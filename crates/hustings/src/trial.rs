//! One run of an election, and its record.

mod churn;
mod draws;
mod rounds;
mod tallies;

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hustings_protocol::{Duration, Instant, Merit, Protocol};
use hustings_sim::{
    Detection, Halt, JsonLines, Scenario, Scratch, Seeds, Setup, Summary, Trace, Verb, World,
    faults,
};

use crate::elections::{AccountOf, Election};
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::measure::{Experiment, Metric};
use crate::options::Conditions;
pub(crate) use churn::Churn;
use churn::Going;
pub(crate) use draws::Draws;
pub(crate) use rounds::Rounds;
pub(crate) use tallies::{Stays, Tallies};

/// How many mean delays pass between two looks at a run.
const DELAYS_BETWEEN_LOOKS: u64 = 4;

/// An election under its conditions: everything that decides a run, save its number.
pub(crate) struct Trial<E: Election> {
    pub(crate) election: E,
    pub(crate) conditions: Conditions,
    pub(crate) detection: Detection,
    /// What befalls the group besides what follows from the options.
    pub(crate) script: Scenario,
    /// How long a run lasts.
    pub(crate) course: Course,
    /// When to stop if the run does not end by itself.
    pub(crate) limit: Instant,
    pub(crate) seed: u64,
    /// Whether the user wants to stop.
    pub(crate) interruption: Interruption,
    /// What earlier runs left for later ones.
    pub(crate) memory: Memory<E::Protocol>,
}

/// How long a run lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Course {
    /// Until the election is over, if its observer can tell, or the group is at rest.
    UntilDecided,
    /// Until the limit, or the group is at rest: there is more to see than one election.
    UntilLimit,
}

/// Who watches a run, and what is left of the run when it has ended.
pub(crate) trait Observer<P: Protocol>: Trace<P> {
    /// What is left of a run.
    type Account: Account;

    /// Whether the election is over, where the group goes on for ever.
    fn has_seen_the_end(&self) -> bool;

    /// Takes stock of a run that has ended.
    fn account(self, run: Run) -> Self::Account;
}

/// What is left of a run.
pub(crate) trait Account: Send {
    /// What is to be said of all runs like this one, after "5 of 1000 runs".
    fn caveat(&self) -> Option<&'static str>;
}

/// The memory of runs that have ended: as many pieces as there were runs at one time.
pub(crate) struct Memory<P: Protocol>(Mutex<Vec<Scratch<P>>>);

impl<P: Protocol> Default for Memory<P> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<P: Protocol> Memory<P> {
    pub(crate) fn take(&self) -> Scratch<P> {
        self.pieces().pop().unwrap_or_default()
    }

    pub(crate) fn give_back(&self, scratch: Scratch<P>) {
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
    /// When.
    pub(crate) ended: Instant,
}

impl Account for Run {
    fn caveat(&self) -> Option<&'static str> {
        let flooded = "were stopped when messages multiplied without bound";
        (self.end == End::Flooded).then_some(flooded)
    }
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Nothing was left to happen.
    AtRest,
    /// The election was over.
    Decided,
    /// The time was up.
    TimeUp,
    /// Messages begot more messages than the memory could hold.
    Flooded,
    /// The user wants to stop: this is no whole run.
    Interrupted,
}

/// Something that befalls a run, by chance.
enum Strike {
    Crash(Verb),
    Going(Going),
}

impl<E: Election> Experiment for Trial<E> {
    type Account = AccountOf<E>;

    fn metrics(&self) -> Vec<Metric<AccountOf<E>>> {
        self.election.metrics(self.course)
    }

    fn run(&self, number: u64) -> Option<AccountOf<E>> {
        if self.interruption.is_raised() {
            return None;
        }
        let (run, observer) = self.observe(number);
        (run.end != End::Interrupted).then(|| observer.account(run))
    }
}

impl<E: Election> Trial<E> {
    /// Does the first run and writes down all that happens, one JSON object a line.
    pub(crate) fn record(&self, path: &Path) -> Result<(), Failure> {
        let trace = open(path)?;
        // Once to see how long it lasts, and once, the same, to write it down.
        let (run, _) = self.observe(0);
        let until = match run.end {
            End::Decided => run.ended,
            End::AtRest | End::TimeUp | End::Flooded | End::Interrupted => self.limit,
        };
        let (_, trace) = self.carry_out(0, until, |_| trace, |_| false);
        close(trace, path)
    }

    fn observe(&self, number: u64) -> (Run, E::Observer) {
        let course = self.course;
        let observer = |merits: &[Merit]| self.election.observer(merits, course);
        let is_over =
            |observer: &E::Observer| course == Course::UntilDecided && observer.has_seen_the_end();
        self.carry_out(number, self.limit, observer, is_over)
    }

    fn carry_out<T: Trace<E::Protocol>>(
        &self,
        number: u64,
        limit: Instant,
        trace: impl FnOnce(&[Merit]) -> T,
        is_over: impl Fn(&T) -> bool,
    ) -> (Run, T) {
        let seeds = Seeds::new(self.seed, number);
        let election = self.election;
        let (merits, opening) = election.layout(seeds);
        let trace = trace(&merits);
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
        let end = self.run_through_strikes(&mut world, seeds, limit, &is_over);
        let halt = match end {
            End::AtRest => Halt::Quiet,
            End::Decided | End::TimeUp | End::Flooded | End::Interrupted => Halt::Limit,
        };
        let run = Run {
            summary: Summary::of(&world, halt),
            end,
            ended: world.now(),
        };
        let (trace, scratch) = world.retire();
        self.memory.give_back(scratch);
        (run, trace)
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

    /// Runs to the end, letting members crash, go and come until the group has come to rest: what
    /// would strike it afterwards is no part of the election.
    fn run_through_strikes<T: Trace<E::Protocol>>(
        &self,
        world: &mut World<E::Protocol, T>,
        seeds: Seeds,
        limit: Instant,
        is_over: &impl Fn(&T) -> bool,
    ) -> End {
        for (at, strike) in self.strikes(seeds) {
            let just_before = Instant(at.0.saturating_sub(1)).min(limit);
            if let Some(end) = self.run_until(just_before, world, is_over) {
                return end;
            }
            match strike {
                Strike::Crash(verb) => world.schedule(at, verb),
                Strike::Going(going) => self.send_away(going, at, world),
            }
        }
        self.run_until(limit, world, is_over).unwrap_or(End::TimeUp)
    }

    /// What chance has in store, by time.
    fn strikes(&self, seeds: Seeds) -> Vec<(Instant, Strike)> {
        let crashes = faults::crashes(
            self.election.members(),
            self.conditions.crash,
            self.election.round(),
            self.limit,
            seeds,
        );
        let crashes = crashes.lines().iter().cloned();
        let goings = self.election.churn().goings(self.limit, seeds).into_iter();
        let mut strikes: Vec<(Instant, Strike)> = crashes
            .map(|(at, verb)| (at, Strike::Crash(verb)))
            .chain(goings.map(|(at, going)| (at, Strike::Going(going))))
            .collect();
        strikes.sort_by_key(|(at, _)| *at);
        strikes
    }

    /// Lets somebody go at `at`, and come back.
    fn send_away<T: Trace<E::Protocol>>(
        &self,
        going: Going,
        at: Instant,
        world: &mut World<E::Protocol, T>,
    ) {
        if let Some((who, verb)) = Churn::decide(going, world) {
            let keep_state = true;
            world.schedule(at, verb);
            let back = at + self.election.churn().absence;
            world.schedule(back, Verb::Restart { who, keep_state });
        }
    }

    /// How much time passes between two looks at a run.
    fn stretch(&self) -> Duration {
        let delays = self.conditions.mean_delay() * DELAYS_BETWEEN_LOOKS;
        delays.max(self.election.pace())
    }

    /// Runs until `limit`, with a look at the world now and then. Tells why, if it ended before.
    fn run_until<T: Trace<E::Protocol>>(
        &self,
        limit: Instant,
        world: &mut World<E::Protocol, T>,
        is_over: &impl Fn(&T) -> bool,
    ) -> Option<End> {
        let stretch = self.stretch();
        let mut sent = messages(world);
        while world.now() < limit {
            let halt = world.run_until(limit.min(world.now() + stretch));
            if halt == Halt::Quiet {
                return Some(End::AtRest);
            }
            if self.interruption.is_raised() {
                return Some(End::Interrupted);
            }
            if is_over(world.trace()) {
                return Some(End::Decided);
            }
            let sent_before = std::mem::replace(&mut sent, messages(world));
            if sent - sent_before > self.election.flood() {
                return Some(End::Flooded);
            }
        }
        None
    }
}

/// A record in a new file.
fn open(path: &Path) -> Result<JsonLines<BufWriter<File>>, Failure> {
    let file = File::create(path).map_err(|error| Failure::file("--trace", path, error))?;
    Ok(JsonLines::new(BufWriter::new(file)))
}

/// Makes sure that all of the record is in the file.
fn close(trace: JsonLines<BufWriter<File>>, path: &Path) -> Result<(), Failure> {
    let written = trace.finish().map(drop);
    written.map_err(|error| Failure::Failed(format!("--trace {}: {error}", path.display())))
}

/// How many messages were sent so far.
fn messages<P: Protocol, T: Trace<P>>(world: &World<P, T>) -> u64 {
    let tally = world.tally();
    tally.unicasts.iter().chain(&tally.multicasts).sum()
}
