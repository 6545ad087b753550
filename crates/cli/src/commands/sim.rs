//! `hustings sim`: Monte Carlo experiments in the simulator.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;
use hustings_protocol::{Duration, Instant};
use hustings_sim::elections::Election;
use hustings_sim::measure::{Interruption, Runs, Study, measure};
use hustings_sim::trial::{Draws, Rounds, Stays, Tallies, Trial, time_needed};
use hustings_sim::{Scenario, Seeds};
use indicatif::{ProgressBar, ProgressStyle};

use crate::elections::{Choice, Described, PROTOCOLS, Poll, Probabilistic, Task, Wagner};
use crate::failure::{Failure, say};
use crate::interruption;
use crate::options::{Common, ConditionsExt, values};
use crate::report::{Findings, Parameters, Report};

/// Simulate an election many times and report its cost
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, subcommand_value_name = PROTOCOLS,
          subcommand_help_heading = "Protocols", disable_help_subcommand = true)]
pub(crate) struct Sim {
    #[command(subcommand)]
    protocol: Choice<SimOptions>,
}

const EXAMPLES: &str = "\
Examples:
  hustings sim chang-roberts --members 1000 --initiators all
  hustings sim bully --members 50 --crashed-leader --loss 0.1 --format json
  hustings sim modified-ring --members 5 --runs 1 --trace run.jsonl
  hustings sim suppress --members 1000 --loss 0.4 --loss-model correlated
  hustings sim suppress --rules field --churn die:30s,join:10s --loss 0.1
  hustings sim probabilistic --members 2000 --view 0.5 --crash 0.001 --loss 0.2
  hustings sim council --members 1000000 --seats 4..8 --estimate aggressive
  hustings sim wagner --members 25 --cheat df@3..6

`hustings sim PROTOCOL --help` lists the options, and what is measured.";

/// The options that only the simulator has.
#[derive(Debug, Args)]
#[command(next_help_heading = "Experiment", after_long_help = METRICS)]
pub(crate) struct SimOptions {
    /// Stop a run at this simulated time if the group is not at rest before. Default for rings: 20
    /// times the time once round, and for bully: 100 times both time-outs, each after the last line
    /// of the scenario. The announce family is never at rest. Without --until, --churn and
    /// --scenario its runs end when all members have heard the leader. Otherwise they last until
    /// this time, by default as long as it takes all members to hear the leader, or with --churn 10
    /// times the longest mean and at least 60 announce intervals. Not for probabilistic, which ends
    /// when no member calls another round, nor for council, bolot and wagner, which have
    /// --max-rounds
    #[arg(long, value_name = "DURATION", value_parser = values::some_time,
          allow_hyphen_values = true)]
    until: Option<Duration>,

    /// A script of events in each run, in addition to the other options. If it has a `start` line,
    /// only the members on that line start. Not for probabilistic, council, bolot and wagner
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,

    /// Record every event of the first run in this file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

const METRICS: &str = "\
Metrics, each with its mean, the 95 % confidence interval of the mean, minimum
and maximum. On rings and of the bully:
  messages        sent, lost ones included; a multicast counts as one
  unicasts        of these, to one member
  multicasts      of these, to all
  messages_KIND   of these, of each kind
  rounds          the most attempts that one member made in a row
  delay           seconds until the last member that is up came to its leader;
                  of those runs in which all that are up have one
  strong_success  all members that are up name the same leader, which is up
  weak_success    the largest fraction of them that does
  elected_best    strong success, and the leader is the best that is up
  finished        the run came to rest: neither --until nor a flood of messages ended it

Of the announce family; the first eight of those runs in which all members heard
the leader, which is the best, or, where the wake-up decides, the first to
announce itself:
  messages        sent until the last member heard the leader
  tmax            seconds until that announcement was sent
  delay           seconds until it was heard
  rounds          how many announcements the leader had made by then
  avg_rounds      how many of them a member needed on average
  first_round_messages
                  how many announced themselves at their wake-up
  first_round_tmax
                  seconds until the last of them did
  messages_by_tmax
                  sent until tmax
  converged       all members heard the leader
of suppression, the first three only, until everyone has spoken who will. And with
--until, --churn or --scenario:
  inconsistent    the fraction of the time after they first agreed in which not
                  all that are up name the same leader, which is up
  reestablishment seconds that such a disagreement lasts on average, in runs with any
  changes         how often a member named another leader than before, or none
  sent_KIND       messages of each kind sent in the whole run

Of the probabilistic election, which a client calls that is no member; the lowest
identity is the best:
  strong_success  all members that are up name the same leader, which is up
  weak_success    the largest fraction of them that names the same
  rounds          until nobody called another one
  unicasts, multicasts, messages
                  sent; messages: of both kinds
  messages_rounds_1_to_4
                  of these, before the fifth round: there all N may take part, which
                  is rare and takes about N^2 of them
  relay_members   how many took part in the first round, of about K
  detected        whether anybody called another round, or would have if there were
                  one; of those runs whose first round failed
  delay           seconds from the call to the end of the last round
  delay_in_rounds of these, without those for which members hesitated between rounds
                  (--hesitation), of which the paper says nothing
  estimate        with --group-size estimate: how large members took the group to be,
                  on average over those who came to a size; nobody else is drawn
  estimate_spread the standard deviation of that between them

Of council and bolot:
  rounds          until there is a council; where the centre knows the number of hosts, without
                  the poll that told it, except for --algorithm naive
  messages        replies sent in them, lost ones included
  feedbacks       multicasts of the centre in them
  seats           representatives that it has heard, in runs that were not given up
  success_first_round
                  the first round gave a council
  peak_replies    the most replies sent in one round: a storm, if they are many
Hosts are drawn by their number, with the same law, unless --engine says per-host.
With --churn, of the time that the council is kept: messages, feedbacks and
peak_replies as above, and
  others          heartbeats and their answers, seats, farewells
  changes         how often the council changed
  short           the part of the time in which it was too small
  most_seats      the most seats that the centre told of
  most_seated     the most hosts that took themselves for seated at one time

Of Wagner's ring; honest members are those that --cheat does not name:
  stages          choices of a subset of the active members
  flips           coins that all flip together, to choose
  basic_rounds    both, as far as the furthest honest member got
  messages        sent on the ring; bits: one each, and two to say that there is a fault
  delay           seconds until the last honest member came to its leader, or knew of
                  the fault
  elected         all honest members name the same leader, and none knows of a fault
  fault_detected  an honest member knows of a fault; by chance too: --stall-limit
  honest_informed of those draws, the fraction of the honest members that do
  fault_round     of those draws, the round in which it was first noticed
  leader_is_cheater
                  one of those that cheat is elected
  stalled         neither a leader nor a fault within --max-rounds

Lines of a scenario; members are numbered from 0, in ring order; elsewhere
the last is the best:
  at 0s     start 2        # calls an election
  at 250ms  kill 4         # crashes; 4,7 and 0-3 and best and all work too
  at 250ms  leave 4        # is stopped in good order, and may say goodbye
  at 1s     restart 4      # comes up again and starts, with what it had saved;
                           # `restart 4 fresh`: with nothing
  at 2s     cut 0-2 | 3,4  # nothing passes between the two; members not named
                           # are a third side
  at 2s     cut 1 -> 3     # nothing passes from 1 to 3
  at 3s     heal           # all cuts end
  at 4s     pause 1        # stands still
  at 5s     resume 1
  at 6s     drift 1 1.01   # its clock runs one hundredth fast

Ctrl-C stops the experiment: the runs done so far are reported, and the exit
code is 1. A second Ctrl-C ends the program at once.";

impl Sim {
    pub(super) fn run(self) -> Result<(), Failure> {
        self.protocol.undertake(Simulate)
    }
}

struct Simulate;

impl Task<SimOptions> for Simulate {
    fn run<D: Described>(
        self,
        described: &D,
        common: &Common,
        own: &SimOptions,
    ) -> Result<(), Failure> {
        described.require_room()?;
        let trial = own.trial(described.election(), common)?;
        let report = own.report(described, &trial);
        own.conduct(&trial, common, report, |seeds, interruption, out| {
            trial.record(seeds, interruption, out)
        })
    }

    fn run_in_rounds(
        self,
        election: &Probabilistic,
        common: &Common,
        own: &SimOptions,
    ) -> Result<(), Failure> {
        own.require_no_script(Probabilistic::NAME)?;
        let conditions = common.conditions();
        let rounds = Rounds::new(election.trial(&conditions)?);
        let report = Heading {
            protocol: Probabilistic::NAME,
            sentence: format!("{}; {}", election.sentence(), conditions.sentence()),
            parameters: election.parameters().and(conditions.parameters()),
        };
        own.conduct(&rounds, common, report, |seeds, interruption, out| {
            rounds.record(seeds, interruption, out)
        })
    }

    fn run_poll(self, poll: &Poll, common: &Common, own: &SimOptions) -> Result<(), Failure> {
        own.require_no_script(poll.name())?;
        let conditions = poll.conditions(common.conditions());
        let hosts = match poll.is_by_hosts(own.trace.is_some())? {
            true => Some(poll.by_hosts(conditions.mean_delay())?),
            false => None,
        };
        if poll.is_kept() && own.trace.is_some() {
            return Err(Failure::Usage(
                "--trace is of one election, not of a council that is kept (--churn): leave one out"
                    .to_owned(),
            ));
        }
        let report = Heading {
            protocol: poll.name(),
            sentence: format!("{}; {}", poll.sentence(), conditions.sentence()),
            parameters: poll.parameters().and(conditions.parameters()),
        };
        if let Some(stay) = hosts.as_ref().and_then(|it| poll.kept(it)) {
            return own.conduct(&Stays::new(stay), common, report, |_, _, _| Ok(()));
        }
        let tallies = Tallies::new(poll.simulated(hosts));
        own.conduct(&tallies, common, report, |seeds, interruption, out| {
            tallies.record(seeds, interruption, out)
        })
    }

    fn run_draw(self, draw: &Wagner, common: &Common, own: &SimOptions) -> Result<(), Failure> {
        own.require_no_script(Wagner::NAME)?;
        let conditions = common.conditions();
        let draws = Draws::new(draw.trial(&conditions)?);
        let report = Heading {
            protocol: Wagner::NAME,
            sentence: format!("{}; {}", draw.sentence(), conditions.sentence()),
            parameters: draw.parameters().and(conditions.parameters()),
        };
        own.conduct(&draws, common, report, |seeds, interruption, out| {
            draws.record(seeds, interruption, out)
        })
    }
}

/// A report without its findings and their seed.
struct Heading {
    protocol: &'static str,
    sentence: String,
    parameters: Parameters,
}

/// Returns a progress bar, hidden if standard error is not a terminal.
fn progress_of(runs: u64) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {eta} left");
    let bar = ProgressBar::new(runs).with_style(style.expect("the template is well-formed"));
    bar.tick();
    bar
}

/// A hundred years, the longest duration that an option accepts. With this limit, times in a run
/// never overflow.
const LONGEST_RUN: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

impl SimOptions {
    /// Records the first run if `--trace` asks for it, executes all runs and prints the report.
    fn conduct(
        &self,
        study: &impl Study,
        common: &Common,
        heading: Heading,
        record: impl FnOnce(Seeds, &Interruption, BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let options = &common.experiment;
        let interruption = interruption::watch()?;
        if let Some(path) = &self.trace {
            let file = File::create(path).map_err(|error| Failure::file("--trace", path, error))?;
            let seeds = Seeds::new(options.seed, 0);
            record(seeds, &interruption, BufWriter::new(file))
                .map_err(|error| Failure::Failed(format!("--trace {}: {error}", path.display())))?;
        }
        let runs = Runs { count: options.runs, seed: options.seed, threads: options.threads };
        let progress = progress_of(runs.count);
        let measurement = measure(study, runs, &interruption, || progress.inc(1))
            .map_err(|error| Failure::Failed(error.to_string()))?;
        progress.finish_and_clear();
        let done = measurement.runs;
        let report = Report {
            protocol: heading.protocol,
            sentence: heading.sentence,
            parameters: heading.parameters.with("seed", runs.seed),
            findings: Findings::Measured {
                runs: done,
                seed: runs.seed,
                metrics: measurement.metrics,
            },
        };
        report.print(options.format)?;
        for (caveat, runs) in measurement.caveats {
            say(&format!("note: {runs} of {done} runs {caveat}"));
        }
        if done < runs.count {
            return Err(Failure::Interrupted { done, asked: runs.count });
        }
        Ok(())
    }

    /// Refuses `--scenario` and `--until` for a protocol that does not support them.
    fn require_no_script(&self, protocol: &str) -> Result<(), Failure> {
        let asked = [("--until", self.until.is_some()), ("--scenario", self.scenario.is_some())];
        match asked.iter().find(|(_, is_asked_for)| *is_asked_for) {
            Some((option, _)) => Err(Failure::Usage(format!(
                "{protocol} cannot be simulated with {option}: leave it out"
            ))),
            None => Ok(()),
        }
    }

    fn trial<E: Election>(&self, election: E, common: &Common) -> Result<Trial<E>, Failure> {
        let script = match &self.scenario {
            Some(path) => read_scenario(path, election.members())?,
            None => Scenario::default(),
        };
        let until = self.until.unwrap_or_else(|| time_needed(&election, &script));
        if until > LONGEST_RUN {
            return Err(Failure::Usage(format!(
                "a run of up to {:.0} years is too long: choose fewer members, an earlier scenario, \
                 a shorter --delay, or an --until of at most 876000h",
                until.as_secs_f64() / (365.0 * 24.0 * 3600.0)
            )));
        }
        Ok(Trial::new(election, common.conditions(), script, self.until))
    }

    fn report<E: Election>(&self, described: &impl Described, trial: &Trial<E>) -> Heading {
        let script = self.scenario.as_ref().map(|path| path.display().to_string());
        let until = trial.limit - Instant::START;
        let scenario = script.as_ref().map(|path| format!(", scenario {path}"));
        Heading {
            protocol: described.name(),
            sentence: format!(
                "{}; {}{}",
                described.sentence(),
                trial.conditions.sentence(),
                scenario.unwrap_or_default()
            ),
            // Every setting in effect, except the number of threads, on which no result depends.
            parameters: described
                .parameters()
                .and(trial.conditions.parameters())
                .with("detect", values::show_detection(trial.detection))
                .with("until", until.to_string())
                .with("scenario", script),
        }
    }
}

fn read_scenario(path: &Path, members: u32) -> Result<Scenario, Failure> {
    let refuse = |reason: String| Failure::file("--scenario", path, reason);
    let text = fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
    let scenario: Scenario =
        text.parse().map_err(|error: hustings_sim::ScenarioError| refuse(error.to_string()))?;
    scenario.check(members as usize).map_err(|error| refuse(error.to_string()))?;
    Ok(scenario)
}
