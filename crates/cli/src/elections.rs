//! The protocols of `sim` and `theory`, each with its own options, and the one place that
//! dispatches on the choice between them.

mod announce;
mod bully;
mod polls;
mod probabilistic;
mod rings;
mod wagner;

use clap::{Args, Subcommand};
use hustings_protocol::Duration;
use hustings_protocol::config::Reports;

use crate::failure::Failure;
use crate::options::{
    Common, Conditions, ExperimentOptions, Named, no_closed_form, one_of, values,
};
use crate::report::Parameters;
use crate::simulation::Simulation;

/// An election by one protocol with all options settled, as the command line presents it.
pub(crate) trait Described {
    /// The protocol's name on the command line.
    fn name(&self) -> &'static str;

    /// Returns the conditions that the election's own options leave of the given ones.
    fn conditions(&self, given: Conditions) -> Conditions {
        given
    }

    /// All settings, for the record.
    fn parameters(&self) -> Parameters;

    /// The settings in one sentence for people.
    fn sentence(&self) -> String;

    /// The settings on which the closed form depends, in one sentence for people.
    fn sentence_in_theory(&self) -> String {
        self.sentence()
    }

    /// Evaluates the closed form of the election's cost.
    ///
    /// # Errors
    /// If there is no closed form under these conditions.
    fn closed_form(&self, conditions: &Conditions) -> Result<ClosedForm, Failure>;

    /// Simulates the election and prints its cost.
    ///
    /// # Errors
    /// Names the setting that the simulator does not support or has no room for.
    fn simulate(&self, simulation: &Simulation) -> Result<(), Failure>;
}

/// The cost of an election by its closed form.
#[derive(Debug, Default)]
pub(crate) struct ClosedForm {
    /// The known values by name, in the order of display.
    pub(crate) values: Vec<(String, f64)>,
    /// The metrics without a value under these conditions.
    pub(crate) missing: Vec<&'static str>,
}

impl ClosedForm {
    fn of<const COUNT: usize>(values: [(&str, f64); COUNT]) -> Self {
        let mut form = Self::default();
        form.add(values);
        form
    }

    fn add<const COUNT: usize>(&mut self, values: [(&str, f64); COUNT]) {
        self.values.extend(values.map(|(name, value)| (name.to_owned(), value)));
    }
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
    Announce(With<announce::AnnounceOptions, O>),
    /// As announce, but each member first waits for its own time: far fewer messages, later (LE-S)
    Suppress(With<announce::AnnounceOptions, O>),
    /// As suppress, but the first member to wake up wins: the fewest messages, an arbitrary leader
    /// (LE-M)
    Earliest(With<announce::AnnounceOptions, O>),
    /// Baseline: a member that has heard no other by its wake-up speaks once (SUP)
    Suppression(With<announce::SuppressionOptions, O>),
    /// Baseline: every member announces itself for ever (AL)
    AnnounceListen(With<announce::AnnounceListenOptions, O>),
    /// Groups of any size: a few members drawn by a hash agree on a leader and tell all others
    Probabilistic(With<probabilistic::ProbabilisticOptions, O>),
    /// A few representatives out of any number of hosts: a centre multicasts, hosts draw whether to
    /// reply
    Council(With<polls::CouncilOptions, O>),
    /// Baseline of council: fewer and fewer bits of a key have to be equal, until a host replies
    Bolot(With<polls::BolotOptions, O>),
    /// Ring of members that do not trust each other: a fair draw, or all honest members learn of a
    /// fault
    Wagner(With<wagner::WagnerOptions, O>),
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

/// The election that the user chose, with all options settled. `O`: the command's own options.
pub(crate) struct Settled<O> {
    pub(crate) election: Box<dyn Described>,
    pub(crate) conditions: Conditions,
    pub(crate) experiment: ExperimentOptions,
    pub(crate) own: O,
}

impl<O: Args> Choice<O> {
    /// Settles the options of the election that the user chose.
    pub(crate) fn settle(self) -> Result<Settled<O>, Failure> {
        match self {
            Self::ChangRoberts(with) => with.settle(rings::ChangRobertsOptions::settle),
            Self::ModifiedRing(with) => with.settle(rings::ModifiedRingOptions::settle),
            Self::Bully(with) => with.settle(bully::BullyOptions::settle),
            Self::Announce(with) => with.settle(announce::AnnounceOptions::announce),
            Self::Suppress(with) => with.settle(announce::AnnounceOptions::suppress),
            Self::Earliest(with) => with.settle(announce::AnnounceOptions::earliest),
            Self::Suppression(with) => with.settle(announce::SuppressionOptions::settle),
            Self::AnnounceListen(with) => with.settle(announce::AnnounceListenOptions::settle),
            Self::Probabilistic(with) => with.settle(probabilistic::ProbabilisticOptions::settle),
            Self::Council(with) => with.settle(polls::CouncilOptions::settle),
            Self::Bolot(with) => with.settle(polls::BolotOptions::settle),
            Self::Wagner(with) => with.settle(wagner::WagnerOptions::settle),
        }
    }
}

impl<E: Args, O: Args> With<E, O> {
    fn settle<D: Described + 'static>(
        self,
        settle: impl FnOnce(&E, &Conditions) -> Result<D, Failure>,
    ) -> Result<Settled<O>, Failure> {
        let given = self.common.conditions();
        let election = settle(&self.election, &given)?;
        Ok(Settled {
            conditions: election.conditions(given),
            election: Box::new(election),
            experiment: self.common.experiment,
            own: self.own,
        })
    }
}

/// The members' handling of faults that the protocols' sources leave out.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct FaultRules {
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

impl FaultRules {
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
    let mut form =
        ClosedForm::of([("messages", messages), ("unicasts", messages), ("multicasts", 0.0)]);
    form.values.extend(kinds.iter().map(|(kind, count)| (format!("messages_{kind}"), *count)));
    form.add([
        ("rounds", 1.0),
        ("delay", delay),
        ("strong_success", 1.0),
        ("weak_success", 1.0),
        ("elected_best", 1.0),
    ]);
    form
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
