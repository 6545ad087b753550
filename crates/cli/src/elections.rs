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
use hustings_theory::announce::Variant;

use crate::failure::Failure;
use crate::options::{
    Common, ExperimentOptions, Named, Setup, SignedArg, one_of, require_closed_form, values,
};
use crate::report::Parameters;
use crate::simulation::Simulation;
use announce::{AnnounceListenOptions, AnnounceOptions, SuppressionOptions};
use bully::BullyOptions;
use polls::{BolotOptions, CouncilOptions};
use probabilistic::ProbabilisticOptions;
use rings::{ChangRobertsOptions, ModifiedRingOptions};
use wagner::WagnerOptions;

/// An election by one protocol with all options settled, as the command line presents it.
pub(crate) trait Described {
    /// The loss of unicasts, if the election's own options set it.
    fn reply_loss(&self) -> Option<f64> {
        None
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
    fn closed_form(&self, setup: &Setup) -> Result<ClosedForm, Failure>;

    /// Simulates the election and prints its cost.
    ///
    /// # Errors
    /// Names the setting that the simulator does not support or has no room for.
    fn simulate(&self, simulation: &Simulation) -> Result<(), Failure>;
}

/// The relative difference below which a printed value counts as equal, to allow for rounding.
const ROUNDING: f64 = 1e-9;

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

    /// Enters a value, or records that it is missing.
    fn enter(&mut self, name: &'static str, value: impl Into<Option<f64>>) {
        match value.into() {
            Some(value) => self.add([(name, value)]),
            None => self.missing.push(name),
        }
    }

    /// Enters a value, and beside it the printed one if the two differ.
    fn enter_beside(
        &mut self,
        name: &'static str,
        value: impl Into<Option<f64>>,
        printed: impl Into<Option<f64>>,
    ) {
        let (value, printed) = (value.into(), printed.into());
        self.enter(name, value);
        if let (Some(value), Some(printed)) = (value, printed)
            && (printed - value).abs() > ROUNDING * value.abs().max(1.0)
        {
            self.values.push((format!("{name}_printed"), printed));
        }
    }
}

/// The names of the protocols, for the usage line.
const PROTOCOLS: &str = "chang-roberts|modified-ring|bully|announce|suppress|earliest|suppression|announce-listen|probabilistic|council|bolot|wagner";

/// The protocols.
#[derive(Debug, Subcommand)]
#[command(subcommand_value_name = PROTOCOLS, subcommand_help_heading = "Protocols",
          disable_help_subcommand = true)]
pub(crate) enum Choice<O: Args> {
    /// Ring: the best identity travels once round and returns elected (Chang and Roberts)
    ChangRoberts(With<ChangRobertsOptions, O>),
    /// Ring: a list of identities travels round twice and skips dead members
    ModifiedRing(With<ModifiedRingOptions, O>),
    /// Every member knows every other: a member that no better member answers becomes the leader
    Bully(With<BullyOptions, O>),
    /// No list of members: a member that has heard of no better one announces itself, at once
    /// (LE-A)
    Announce(With<AnnounceOptions, O>),
    /// As announce, but each member first waits for its own time: far fewer messages, later (LE-S)
    Suppress(With<AnnounceOptions, O>),
    /// As suppress, but the first member to wake up wins: the fewest messages, an arbitrary leader
    /// (LE-M)
    Earliest(With<AnnounceOptions, O>),
    /// Baseline: a member that has heard no other by its wake-up speaks once (SUP)
    Suppression(With<SuppressionOptions, O>),
    /// Baseline: every member announces itself for ever (AL)
    AnnounceListen(With<AnnounceListenOptions, O>),
    /// Groups of any size: a few members drawn by a hash agree on a leader and tell all others
    Probabilistic(With<ProbabilisticOptions, O>),
    /// A few representatives out of any number of hosts: a centre multicasts, hosts draw whether to
    /// reply
    Council(With<CouncilOptions, O>),
    /// Baseline of council: fewer and fewer bits of a key have to be equal, until a host replies
    Bolot(With<BolotOptions, O>),
    /// Ring of members that do not trust each other: a fair draw, or all honest members learn of a
    /// fault
    Wagner(With<WagnerOptions, O>),
}

/// A protocol's own options together with the shared ones.
#[derive(Debug, Args)]
pub(crate) struct With<E: Args, O: Args> {
    #[command(flatten, next_help_heading = "Election")]
    election: E,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    own: O,
}

/// The election that the user chose, with all options settled. `O`: the command's own options.
pub(crate) struct Settled<O> {
    pub(crate) election: Box<dyn Described>,
    pub(crate) setup: Setup,
    pub(crate) experiment: ExperimentOptions,
    pub(crate) own: O,
}

impl<O: Args> Choice<O> {
    /// Settles the options of the election that the user chose.
    pub(crate) fn settle(self) -> Result<Settled<O>, Failure> {
        use Variant::{LeA, LeM, LeS};
        match self {
            Self::ChangRoberts(it) => it.settle("chang-roberts", ChangRobertsOptions::settle),
            Self::ModifiedRing(it) => it.settle("modified-ring", ModifiedRingOptions::settle),
            Self::Bully(it) => it.settle("bully", BullyOptions::settle),
            Self::Announce(it) => it.settle("announce", |it, setup| it.settle(LeA, setup)),
            Self::Suppress(it) => it.settle("suppress", |it, setup| it.settle(LeS, setup)),
            Self::Earliest(it) => it.settle("earliest", |it, setup| it.settle(LeM, setup)),
            Self::Suppression(it) => it.settle("suppression", SuppressionOptions::settle),
            Self::AnnounceListen(it) => it.settle("announce-listen", AnnounceListenOptions::settle),
            Self::Probabilistic(it) => it.settle("probabilistic", ProbabilisticOptions::settle),
            Self::Council(it) => it.settle("council", CouncilOptions::settle),
            Self::Bolot(it) => it.settle("bolot", BolotOptions::settle),
            Self::Wagner(it) => it.settle("wagner", WagnerOptions::settle),
        }
    }
}

impl<E: Args, O: Args> With<E, O> {
    fn settle<D: Described + 'static>(
        self,
        protocol: &'static str,
        settle: impl FnOnce(E, &Setup) -> Result<D, Failure>,
    ) -> Result<Settled<O>, Failure> {
        let Self { election, common, own } = self;
        let mut setup = common.setup(protocol);
        let election = settle(election, &setup)?;
        let unicast_loss = &mut setup.conditions.network.unicast_loss;
        *unicast_loss = election.reply_loss().unwrap_or(*unicast_loss);
        Ok(Settled { election: Box::new(election), setup, experiment: common.experiment, own })
    }
}

/// The members' handling of faults that the protocols' sources leave out.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct FaultRules {
    /// The time that a member waits for a message that is due (rings), or tolerates a leader that
    /// is not the best it knows (bully), before it calls an election again. Default: for ever, as
    /// in the sources
    #[arg(long = "patience", value_name = "DURATION", signed = values::some_time)]
    election_timeout: Option<Duration>,

    /// The handling of a message that contradicts a member's own view
    #[arg(long = "hearsay", value_parser = one_of::<Reports>(), default_value = "believed")]
    reports: Reports,
}

impl FaultRules {
    fn parameters(self) -> Parameters {
        Parameters::default()
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
        require_closed_form(&[(self.election_timeout.is_some(), "with --patience")])
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
