//! Runs in which a centre obtains a few replies out of many hosts. They are simulated by aggregate
//! counts or host by host.

use std::io::{self, Write};

use hustings_protocol::council::Council;
use hustings_theory::council::{Election, Loss};

use crate::council::{CouncilTrial, Stay, Upkeep, elect_traced, keep};
use crate::council_aggregate::{self, PollRun};
use crate::measure::{Account, Interruption, Metric, Study};
use crate::statistics::Kind;
use crate::{JsonLines, Memory, Scratch, Seeds, Silent};

/// The method of a centre to obtain a few replies, and its simulation.
#[derive(Debug, Clone)]
pub enum Poll {
    /// A council election, by aggregate counts.
    Council {
        /// The election.
        election: Election,
        /// The number of rounds after which the election is given up.
        most_rounds: u64,
    },
    /// Bolot's masks, by aggregate counts.
    Masks {
        /// The number of hosts.
        members: u64,
        /// The loss of messages.
        loss: Loss,
        /// The number of rounds after which the poll is given up.
        most_rounds: u64,
    },
    /// Either method, host by host.
    Hosts(CouncilTrial),
}

/// Runs of a poll.
pub struct Tallies {
    poll: Poll,
    /// The allocations of earlier runs, for reuse.
    memory: Memory<Council>,
}

/// Runs in which a council is maintained while hosts come and go.
pub struct Stays {
    stay: Stay,
    /// The allocations of earlier runs, for reuse.
    memory: Memory<Council>,
}

impl Stays {
    /// Creates runs of this stay.
    pub fn new(stay: Stay) -> Self {
        Self { stay, memory: Memory::default() }
    }
}

impl Account for Upkeep {
    fn caveat(&self) -> Option<&'static str> {
        (self.most_seats == 0).then_some("never had a council")
    }
}

impl Study for Stays {
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

    fn run(&self, seeds: Seeds, _: &Interruption) -> Option<Upkeep> {
        let (run, scratch) = keep(&self.stay, seeds, self.memory.take());
        self.memory.give_back(scratch);
        Some(run)
    }

    /// Writes nothing: a council that is kept has no trace.
    fn record(&self, _: Seeds, _: &Interruption, _: impl Write) -> io::Result<()> {
        Ok(())
    }
}

impl Account for PollRun {
    fn caveat(&self) -> Option<&'static str> {
        let given_up = "were given up after --max-rounds";
        self.seats.is_none().then_some(given_up)
    }
}

impl Tallies {
    /// Creates runs of this poll.
    pub fn new(poll: Poll) -> Self {
        Self { poll, memory: Memory::default() }
    }
}

impl Study for Tallies {
    type Account = PollRun;

    fn metrics(&self) -> Vec<Metric<PollRun>> {
        vec![
            Metric::number("rounds", |run: &PollRun| run.rounds as f64),
            Metric::number("messages", |run: &PollRun| run.messages as f64),
            // Every round begins with a feedback message.
            Metric::number("feedbacks", |run: &PollRun| run.rounds as f64),
            Metric::new("seats", Kind::Number, |run: &PollRun| run.seats.map(|seats| seats as f64)),
            Metric::share("success_first_round", PollRun::success_first_round),
            Metric::number("peak_replies", |run: &PollRun| run.peak_replies as f64),
        ]
    }

    fn run(&self, seeds: Seeds, interruption: &Interruption) -> Option<PollRun> {
        match &self.poll {
            Poll::Council { election, most_rounds } => {
                Some(council_aggregate::elect(election, *most_rounds, seeds))
            }
            Poll::Masks { members, loss, most_rounds } => {
                Some(council_aggregate::poll(*members, *loss, *most_rounds, seeds))
            }
            Poll::Hosts(trial) => {
                let goes_on = || !interruption.is_raised();
                let scratch = self.memory.take();
                let (run, Silent, scratch) = elect_traced(trial, seeds, scratch, Silent, goes_on);
                self.memory.give_back(scratch);
                // An interrupted run may be incomplete.
                goes_on().then(|| PollRun {
                    rounds: run.rounds,
                    messages: run.messages,
                    peak_replies: run.peak_replies,
                    seats: (run.seats > 0).then_some(run.seats.into()),
                })
            }
        }
    }

    fn record(&self, seeds: Seeds, interruption: &Interruption, out: impl Write) -> io::Result<()> {
        let Poll::Hosts(trial) = &self.poll else {
            return Ok(()); // aggregate counts have no messages
        };
        let goes_on = || !interruption.is_raised();
        let (trace, scratch) = (JsonLines::new(out), Scratch::default());
        let (_, trace, _) = elect_traced(trial, seeds, scratch, trace, goes_on);
        trace.finish().map(drop)
    }
}
