//! The protocols of `sim` and `theory`, each with its own options, and the one place that
//! dispatches on the choice between them.

mod announce;
mod bully;
mod council;
mod probabilistic;
mod rings;
mod wagner;

use clap::{Args, Subcommand};
use hustings_protocol::Duration;
use hustings_protocol::config::Reports;
use hustings_sim::elections::Election;

use crate::failure::Failure;
use crate::options::{Common, Conditions, Named, no_closed_form, one_of, values};
use crate::report::Parameters;
pub(crate) use council::Poll;
pub(crate) use probabilistic::Probabilistic;
pub(crate) use wagner::Wagner;

/// An election by one protocol with all options settled, as the command line presents it.
pub(crate) trait Described {
    /// The simulator's type for the election.
    type Election: Election;

    /// Returns the election for the simulator.
    fn election(&self) -> Self::Election;

    /// The protocol's name on the command line.
    fn name(&self) -> &'static str;

    /// Checks that a run fits into memory.
    ///
    /// # Errors
    /// Names the option that asks for too much.
    fn require_room(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// All settings, for the record.
    fn parameters(&self) -> Parameters;

    /// The settings in one sentence for people.
    fn sentence(&self) -> String;

    /// Evaluates the closed form of the election's cost.
    ///
    /// # Errors
    /// If there is no closed form under these conditions.
    fn closed_form(&self, conditions: &Conditions) -> Result<ClosedForm, Failure>;
}

/// The cost of an election by its closed form.
#[derive(Debug, Default)]
pub(crate) struct ClosedForm {
    /// The known values by name, in the order of display.
    pub(crate) values: Vec<(String, f64)>,
    /// The metrics without a value under these conditions.
    pub(crate) missing: Vec<&'static str>,
}

fn named<const COUNT: usize>(values: [(&str, f64); COUNT]) -> Vec<(String, f64)> {
    values.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// A task that runs with any election. `O`: the task's own options.
pub(crate) trait Task<O> {
    /// Runs the task.
    fn run<D: Described>(self, described: &D, common: &Common, own: &O) -> Result<(), Failure>;

    /// Runs the task with the election that proceeds in rounds.
    fn run_in_rounds(
        self,
        election: &Probabilistic,
        common: &Common,
        own: &O,
    ) -> Result<(), Failure>;

    /// Runs the task with a centre that elects a few of many hosts.
    fn run_poll(self, poll: &Poll, common: &Common, own: &O) -> Result<(), Failure>;

    /// Runs the task with the draw, in which members may cheat.
    fn run_draw(self, draw: &Wagner, common: &Common, own: &O) -> Result<(), Failure>;
}

/// The names of the protocols, for the usage line.
pub(crate) const PROTOCOLS: &str = "chang-roberts|modified-ring|bully|announce|suppress|earliest|suppression|announce-listen|probabilistic|council|bolot|wagner";

/// The protocols.
#[derive(Debug, Subcommand)]
pub(crate) enum Choice<O: Args> {
    /// Ring: the best identity travels once round and returns elected (Chang and Roberts)
    ChangRoberts(With<rings::ChangRobertsOptions, O>),
    /// Ring: a list of identities travels round twice and skips dead members
    ModifiedRing(With<rings::ModifiedRingOptions, O>),
    /// Every member knows every other: a member that no better member answers becomes the leader
    Bully(With<bully::BullyOptions, O>),
    /// No list of members: a member that has heard of no better one announces itself, at once
    /// (LE-A)
    Announce(With<announce::LeAOptions, O>),
    /// As announce, but each member first waits for its own time: far fewer messages, later (LE-S)
    Suppress(With<announce::LeSOptions, O>),
    /// As suppress, but the first member to wake up wins: the fewest messages, an arbitrary leader
    /// (LE-M)
    Earliest(With<announce::LeMOptions, O>),
    /// Baseline: a member that has heard no other by its wake-up speaks once (SUP)
    Suppression(With<announce::SuppressionOptions, O>),
    /// Baseline: every member announces itself for ever (AL)
    AnnounceListen(With<announce::AnnounceListenOptions, O>),
    /// Groups of any size: a few members drawn by a hash agree on a leader and tell all others
    Probabilistic(With<probabilistic::Options, O>),
    /// A few representatives out of any number of hosts: a centre multicasts, hosts draw whether to
    /// reply
    Council(With<council::Options, O>),
    /// Baseline of council: fewer and fewer bits of a key have to be equal, until a host replies
    Bolot(With<council::BolotOptions, O>),
    /// Ring of members that do not trust each other: a fair draw, or all honest members learn of a
    /// fault
    Wagner(With<wagner::Options, O>),
}

/// A protocol's own options together with the shared ones.
#[derive(Debug, Args)]
pub(crate) struct With<E: Args, O: Args> {
    #[command(flatten)]
    election: E,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    own: O,
}

impl<O: Args> Choice<O> {
    /// Runs `task` with the election that the user chose.
    pub(crate) fn undertake(self, task: impl Task<O>) -> Result<(), Failure> {
        match self {
            Self::ChangRoberts(with) => {
                let election = with.election.settle(&with.common.conditions())?;
                task.run(&election, &with.common, &with.own)
            }
            Self::ModifiedRing(with) => {
                let election = with.election.settle(&with.common.conditions())?;
                task.run(&election, &with.common, &with.own)
            }
            Self::Bully(with) => {
                let election = with.election.settle(&with.common.conditions())?;
                task.run(&election, &with.common, &with.own)
            }
            Self::Announce(with) => {
                let election = with.election.settle(&with.common.conditions())?;
                task.run(&election, &with.common, &with.own)
            }
            Self::Suppress(with) => {
                let election = with.election.settle(&with.common.conditions())?;
                task.run(&election, &with.common, &with.own)
            }
            Self::Earliest(with) => {
                let election = with.election.settle(&with.common.conditions())?;
                task.run(&election, &with.common, &with.own)
            }
            Self::Suppression(with) => {
                let election = with.election.settle(&with.common.conditions())?;
                task.run(&election, &with.common, &with.own)
            }
            Self::AnnounceListen(with) => {
                let election = with.election.settle(&with.common.conditions())?;
                task.run(&election, &with.common, &with.own)
            }
            Self::Probabilistic(with) => {
                let election = with.election.settle(&with.common.conditions())?;
                task.run_in_rounds(&election, &with.common, &with.own)
            }
            Self::Council(with) => {
                let poll = with.election.settle(&with.common.conditions())?;
                task.run_poll(&poll, &with.common, &with.own)
            }
            Self::Bolot(with) => {
                let poll = with.election.settle(&with.common.conditions())?;
                task.run_poll(&poll, &with.common, &with.own)
            }
            Self::Wagner(with) => {
                let draw = with.election.settle(&with.common.conditions())?;
                task.run_draw(&draw, &with.common, &with.own)
            }
        }
    }
}

/// The members' handling of faults that the protocols' sources leave out.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Caution {
    /// The time that a member waits for a message that is due (rings), or tolerates a leader that
    /// is not the best it knows (bully), before it calls an election again. Default: for ever, as
    /// in the sources
    #[arg(long = "patience", value_name = "DURATION", value_parser = values::some_time,
          allow_hyphen_values = true)]
    election_timeout: Option<Duration>,

    /// The handling of a message that contradicts a member's own view
    #[arg(long = "hearsay", value_parser = one_of::<Reports>(), default_value = "believed")]
    reports: Reports,
}

impl Caution {
    fn parameters(self) -> Parameters {
        Parameters::new()
            .with("patience", self.election_timeout.map(|span| span.to_string()))
            .with("hearsay", self.reports.name())
    }

    /// Lists the settings that depart from the sources.
    fn sentence(self) -> String {
        let election_timeout = self.election_timeout.map(|span| format!(", patience {span}"));
        let reports = match self.reports {
            Reports::Trusted => "",
            Reports::CheckedAgainstView => ", hearsay checked",
        };
        election_timeout.unwrap_or_default() + reports
    }

    /// Checks that no member calls an election because of a time-out.
    fn require_endless_patience(self) -> Result<(), Failure> {
        match self.election_timeout {
            Some(_) => Err(no_closed_form("with --patience")),
            None => Ok(()),
        }
    }
}

/// The values of an election without faults, in the order of the metrics: every message is a
/// unicast, the first attempt succeeds, and all members name the best. `delay` is in seconds.
fn without_faults(messages: f64, kinds: &[(&str, f64)], delay: f64) -> ClosedForm {
    let value = |name: &str, value: f64| (name.to_owned(), value);
    let mut values =
        vec![value("messages", messages), value("unicasts", messages), value("multicasts", 0.0)];
    values.extend(kinds.iter().map(|(kind, count)| (format!("messages_{kind}"), *count)));
    values.extend([
        value("rounds", 1.0),
        value("delay", delay),
        value("strong_success", 1.0),
        value("weak_success", 1.0),
        value("elected_best", 1.0),
    ]);
    ClosedForm { values, missing: Vec::new() }
}

#[cfg(test)]
mod tests {
    use clap::{Command, Subcommand};

    use super::{Choice, Common, PROTOCOLS};

    #[test]
    fn usage_line_names_every_protocol() {
        let command = Choice::<Common>::augment_subcommands(Command::new("sim"));
        let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        assert_eq!(names.join("|"), PROTOCOLS);
    }
}
