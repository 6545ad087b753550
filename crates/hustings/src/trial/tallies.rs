//! Runs in which a centre gets a few answers out of many hosts, by their tallies or host by host.

use std::path::Path;

use hustings_protocol::council::Council;
use hustings_sim::council::{self, Stay, Trial, Upkeep, elect_traced, keep};
use hustings_sim::council_tally::Run;
use hustings_sim::statistics::Kind;
use hustings_sim::{Scratch, Seeds, Silent};

use super::{Account, Memory, close, open};
use crate::elections::Poll;
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::measure::{Experiment, Metric};

/// Everything that decides a run, save its number.
pub(crate) struct Tallies {
    pub(crate) poll: Poll,
    /// What a run is host by host. None: tallies alone are drawn.
    pub(crate) hosts: Option<Trial>,
    /// What earlier runs left for later ones.
    pub(crate) memory: Memory<Council>,
    pub(crate) seed: u64,
    /// Whether the user wants to stop.
    pub(crate) interruption: Interruption,
}

/// Runs in which a council is kept while hosts come and go.
pub(crate) struct Stays {
    pub(crate) stay: Stay,
    pub(crate) tallies: Tallies,
}

impl Account for Upkeep {
    fn caveat(&self) -> Option<&'static str> {
        (self.most_seats == 0).then_some("never had a council")
    }
}

impl Experiment for Stays {
    type Account = Upkeep;

    fn metrics(&self) -> Vec<Metric<Upkeep>> {
        vec![
            Metric::number("messages", |run: &Upkeep| run.messages as f64),
            Metric::number("feedbacks", |run: &Upkeep| run.feedbacks as f64),
            Metric::number("peak_replies", |run: &Upkeep| run.peak_replies as f64),
            Metric::number("others", |run: &Upkeep| run.others as f64),
            Metric::number("changes", |run: &Upkeep| run.changes as f64),
            Metric::number("short", |run: &Upkeep| run.short),
            Metric::number("most_seats", |run: &Upkeep| f64::from(run.most_seats)),
            Metric::number("most_seated", |run: &Upkeep| f64::from(run.most_seated)),
        ]
    }

    fn run(&self, number: u64) -> Option<Upkeep> {
        if self.tallies.interruption.is_raised() {
            return None;
        }
        let seeds = Seeds::new(self.tallies.seed, number);
        let (run, scratch) = keep(&self.stay, seeds, self.tallies.memory.take());
        self.tallies.memory.give_back(scratch);
        Some(run)
    }
}

impl Account for Run {
    fn caveat(&self) -> Option<&'static str> {
        let given_up = "were given up after --max-rounds";
        self.seats.is_none().then_some(given_up)
    }
}

impl Tallies {
    /// Does the first run and writes down all that happens, one JSON object a line.
    pub(crate) fn record(&self, path: &Path, trial: &Trial) -> Result<(), Failure> {
        let (seeds, scratch) = (Seeds::new(self.seed, 0), Scratch::default());
        let goes_on = || !self.interruption.is_raised();
        let (_, trace, _) = elect_traced(trial, seeds, scratch, open(path)?, goes_on);
        close(trace, path)
    }

    fn by_hosts(&self, trial: &Trial, seeds: Seeds) -> Option<Run> {
        let goes_on = || !self.interruption.is_raised();
        let scratch = self.memory.take();
        let (run, Silent, scratch) = elect_traced(trial, seeds, scratch, Silent, goes_on);
        self.memory.give_back(scratch);
        goes_on().then(|| tallied(&run)) // else it may have been cut off
    }
}

fn tallied(run: &council::Run) -> Run {
    Run {
        rounds: run.rounds,
        messages: run.messages,
        peak_replies: run.peak_replies,
        seats: (run.seats > 0).then_some(run.seats.into()),
    }
}

impl Experiment for Tallies {
    type Account = Run;

    fn metrics(&self) -> Vec<Metric<Run>> {
        vec![
            Metric::number("rounds", |run: &Run| run.rounds as f64),
            Metric::number("messages", |run: &Run| run.messages as f64),
            // Every round begins with one.
            Metric::number("feedbacks", |run: &Run| run.rounds as f64),
            Metric::new("seats", Kind::Number, |run: &Run| {
                run.seats.map(|seats| seats as f64)
            }),
            Metric::share("success_first_round", Run::success_first_round),
            Metric::number("peak_replies", |run: &Run| run.peak_replies as f64),
        ]
    }

    fn run(&self, number: u64) -> Option<Run> {
        if self.interruption.is_raised() {
            return None;
        }
        let seeds = Seeds::new(self.seed, number);
        match &self.hosts {
            Some(trial) => self.by_hosts(trial, seeds),
            None => Some(self.poll.tally(seeds)),
        }
    }
}
