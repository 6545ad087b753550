//! The elections that can be held, each with its own options, and the one place where the choice
//! between them is made.

mod announce;
mod bully;
mod classic;
mod council;
mod probabilistic;
mod rings;
mod wagner;

use std::fmt::Debug;

use clap::{Args, Subcommand, ValueEnum};
use hustings_protocol::config::Hearsay;
use hustings_protocol::{Duration, Merit, Protocol};
use hustings_sim::{Boot, Detection, Scenario, Seeds};
use serde::Serialize;

use crate::failure::Failure;
use crate::measure::Metric;
use crate::options::{Common, Conditions, name_of, no_closed_form, values};
use crate::report::Parameters;
use crate::trial::{Churn, Course, Observer};
pub(crate) use council::Poll;
pub(crate) use probabilistic::Probabilistic;
pub(crate) use wagner::Wagner;

/// An election by one protocol, all its options settled.
pub(crate) trait Election: Copy + Send + Sync + 'static {
    /// Whose members take part.
    type Protocol: Protocol<Message: Serialize + Send, Timer: Debug> + Send;
    /// Who watches its runs.
    type Observer: Observer<Self::Protocol>;
    /// How members learn that others come and go, as the protocol's source assumes.
    const DETECTION: Detection;

    /// The protocol's name on the command line.
    fn name(&self) -> &'static str;

    /// How many members there are, up or down.
    fn members(&self) -> u32;

    /// One attempt without faults: what crashes are counted by.
    fn round(&self) -> Duration;

    /// A time after which waiting for the end is in vain.
    fn long_enough(&self) -> Duration;

    /// The time in which something happens where it is longer than a few delays.
    fn pace(&self) -> Duration {
        Duration::ZERO
    }

    /// More messages than the protocol has any use for within a few delays, or its pace: faults make
    /// them beget each other.
    fn flood(&self) -> u64;

    /// Makes sure that a run fits into memory.
    ///
    /// # Errors
    /// Names the option that asks for too much.
    fn require_room(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Who has which merit, and who starts.
    fn layout(&self, seeds: Seeds) -> (Vec<Merit>, Scenario);

    /// How the members are configured, all alike.
    fn config(&self) -> <Self::Protocol as Protocol>::Config;

    /// A member that comes up.
    fn member(&self, boot: Boot<Self::Protocol>) -> Self::Protocol;

    /// Who comes and goes.
    fn churn(&self) -> Churn {
        Churn::default()
    }

    /// Who watches a run among members of these merits.
    fn observer(&self, merits: &[Merit], course: Course) -> Self::Observer;

    /// What is measured, in the order in which it is shown.
    fn metrics(&self, course: Course) -> Vec<Metric<AccountOf<Self>>>;

    /// All that was chosen, for the record.
    fn parameters(&self) -> Parameters;

    /// What is worth saying of it.
    fn sentence(&self) -> String;

    /// What the election costs on paper.
    ///
    /// # Errors
    /// If there is no closed form under these conditions.
    fn closed_form(&self, conditions: &Conditions) -> Result<ClosedForm, Failure>;
}

/// What is left of a run of an election.
pub(crate) type AccountOf<E> =
    <<E as Election>::Observer as Observer<<E as Election>::Protocol>>::Account;

/// What an election costs on paper.
#[derive(Debug, Default)]
pub(crate) struct ClosedForm {
    /// The values that are known, by name, in the order in which they are shown.
    pub(crate) values: Vec<(String, f64)>,
    /// The metrics that have none under these conditions.
    pub(crate) missing: Vec<&'static str>,
}

/// Values by name, in this order.
fn named<const COUNT: usize>(values: [(&str, f64); COUNT]) -> Vec<(String, f64)> {
    values
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
}

/// What is to be done with an election, whichever it is. `O`: the task's own options.
pub(crate) trait Task<O> {
    /// Does it.
    fn run<E: Election>(self, election: E, common: &Common, own: &O) -> Result<(), Failure>;

    /// Does it with the election that goes round by round.
    fn run_in_rounds(
        self,
        election: &Probabilistic,
        common: &Common,
        own: &O,
    ) -> Result<(), Failure>;

    /// Does it with a centre that gets a few answers out of many hosts.
    fn run_poll(self, poll: &Poll, common: &Common, own: &O) -> Result<(), Failure>;

    /// Does it with the draw, in which members may cheat.
    fn run_draw(self, draw: &Wagner, common: &Common, own: &O) -> Result<(), Failure>;
}

/// The names of the protocols, for the usage line.
pub(crate) const PROTOCOLS: &str = "chang-roberts|modified-ring|bully|announce|suppress|earliest|suppression|announce-listen|probabilistic|council|bolot|wagner";

/// The protocols.
#[derive(Debug, Subcommand)]
pub(crate) enum Choice<O: Args> {
    /// Ring: the best identity goes once round and comes home elected (Chang and Roberts)
    ChangRoberts(With<rings::ChangRobertsOptions, O>),
    /// Ring: a list of identities goes round twice, and steps over the dead
    ModifiedRing(With<rings::ModifiedRingOptions, O>),
    /// Everyone knows everyone: whoever gets no answer from anyone better is the leader
    Bully(With<bully::BullyOptions, O>),
    /// No list of members: whoever has heard of nobody better announces itself, at once (LE-A)
    Announce(With<announce::LeAOptions, O>),
    /// As announce, but each waits for a time of its own first: far fewer messages, later (LE-S)
    Suppress(With<announce::LeSOptions, O>),
    /// As suppress, and the first to wake up wins: the fewest messages, but the leader is anyone (LE-M)
    Earliest(With<announce::LeMOptions, O>),
    /// Baseline: whoever has heard nobody by its wake-up speaks, once (SUP)
    Suppression(With<announce::SuppressionOptions, O>),
    /// Baseline: everyone announces itself for ever (AL)
    AnnounceListen(With<announce::AnnounceListenOptions, O>),
    /// Groups of any size: a few members drawn by a hash agree on a leader, and tell all
    Probabilistic(With<probabilistic::Options, O>),
    /// A few representatives out of any number of hosts: a centre multicasts, hosts draw whether to reply
    Council(With<council::Options, O>),
    /// Baseline of council: fewer and fewer bits of a key have to be equal, until somebody replies
    Bolot(With<council::BolotOptions, O>),
    /// Ring of members who do not trust each other: a fair draw, or everyone honest knows of a fault
    Wagner(With<wagner::Options, O>),
}

/// A protocol's own options and those that all share.
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
    /// Does `task` with the election that the user chose.
    pub(crate) fn undertake(self, task: impl Task<O>) -> Result<(), Failure> {
        match self {
            Self::ChangRoberts(with) => {
                let election = with.election.settle(&with.common.conditions())?;
                task.run(election, &with.common, &with.own)
            }
            Self::ModifiedRing(with) => {
                let election = with.election.settle(&with.common.conditions())?;
                task.run(election, &with.common, &with.own)
            }
            Self::Bully(with) => {
                let election = with.election.settle(&with.common.conditions())?;
                task.run(election, &with.common, &with.own)
            }
            Self::Announce(with) => {
                let election = with.election.settle(&with.common.conditions())?;
                task.run(election, &with.common, &with.own)
            }
            Self::Suppress(with) => {
                let election = with.election.settle(&with.common.conditions())?;
                task.run(election, &with.common, &with.own)
            }
            Self::Earliest(with) => {
                let election = with.election.settle(&with.common.conditions())?;
                task.run(election, &with.common, &with.own)
            }
            Self::Suppression(with) => {
                let election = with.election.settle(&with.common.conditions())?;
                task.run(election, &with.common, &with.own)
            }
            Self::AnnounceListen(with) => {
                let election = with.election.settle(&with.common.conditions())?;
                task.run(election, &with.common, &with.own)
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

/// What members do about faults that the protocols' sources leave out.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Caution {
    /// How long a member waits for a message that is due (rings), or puts up with a leader that is
    /// not the best it knows (bully), before it calls an election again. Default: for ever, as in
    /// the sources
    #[arg(long, value_name = "DURATION", value_parser = values::some_time,
          allow_hyphen_values = true)]
    patience: Option<Duration>,

    /// What a member does with a message that contradicts its own view
    #[arg(long, value_enum, default_value_t = Trust::Believed)]
    hearsay: Trust,
}

/// What a member does with a message that contradicts its own view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Trust {
    /// Believes it, as in the sources
    Believed,
    /// Refuses to name who is gone, or worse than the leader it sees
    Checked,
}

impl Caution {
    fn hearsay(self) -> Hearsay {
        match self.hearsay {
            Trust::Believed => Hearsay::Believed,
            Trust::Checked => Hearsay::Checked,
        }
    }

    /// What waiting adds to the time after which waiting for the end is in vain.
    fn slack(self) -> Duration {
        self.patience
            .map_or(Duration::ZERO, |patience| patience * 10)
    }

    fn parameters(self) -> Parameters {
        Parameters::new()
            .with("patience", self.patience.map(|span| span.to_string()))
            .with("hearsay", name_of(&self.hearsay))
    }

    /// What departs from the sources.
    fn sentence(self) -> String {
        let patience = self.patience.map(|span| format!(", patience {span}"));
        let hearsay = match self.hearsay {
            Trust::Believed => "",
            Trust::Checked => ", hearsay checked",
        };
        patience.unwrap_or_default() + hearsay
    }

    /// Makes sure that nobody calls an election only because of waiting.
    fn require_endless_patience(self) -> Result<(), Failure> {
        match self.patience {
            Some(_) => Err(no_closed_form("with --patience")),
            None => Ok(()),
        }
    }
}

/// The values of an election without faults, in the order of the metrics: every message is a
/// unicast, the first attempt succeeds, and all name the best. `delay` is in seconds.
fn without_faults(messages: f64, kinds: &[(&str, f64)], delay: f64) -> ClosedForm {
    let value = |name: &str, value: f64| (name.to_owned(), value);
    let mut values = vec![
        value("messages", messages),
        value("unicasts", messages),
        value("multicasts", 0.0),
    ];
    values.extend(
        kinds
            .iter()
            .map(|(kind, count)| (format!("messages_{kind}"), *count)),
    );
    values.extend([
        value("rounds", 1.0),
        value("delay", delay),
        value("strong_success", 1.0),
        value("weak_success", 1.0),
        value("elected_best", 1.0),
    ]);
    ClosedForm {
        values,
        missing: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, Subcommand};

    use super::{Choice, Common, PROTOCOLS};

    #[test]
    fn the_usage_line_names_every_protocol() {
        let command = Choice::<Common>::augment_subcommands(Command::new("sim"));
        let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        assert_eq!(names.join("|"), PROTOCOLS);
    }
}
