//! `hustings theory`: the closed forms at the same parameters.

mod probabilistic;

use clap::{Args, Subcommand};

use crate::elections::{Choice, ClosedForm, Election, Task};
use crate::failure::Failure;
use crate::options::Common;
use crate::report::{Findings, Report};

/// Tell what an election costs on paper, by closed forms
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, subcommand_value_name = PROTOCOLS,
          subcommand_help_heading = "Protocols", disable_help_subcommand = true)]
pub(crate) struct Theory {
    #[command(subcommand)]
    protocol: Protocols,
}

/// The names of the protocols, for the usage line.
const PROTOCOLS: &str = "chang-roberts|modified-ring|bully|announce|suppress|earliest|suppression|announce-listen|probabilistic";

/// The protocols.
#[derive(Debug, Subcommand)]
enum Protocols {
    #[command(flatten)]
    Elections(Choice<NoOptions>),
    /// Groups of any size: a few members drawn by a hash agree on a leader, and tell all
    Probabilistic(probabilistic::Probabilistic),
}

const EXAMPLES: &str = "\
Examples:
  hustings theory chang-roberts --members 1000 --initiators all
  hustings theory bully --members 50 --crashed-leader --format json
  hustings theory suppress --members 1000000 --loss 0.4 --listen-interval 3s
  hustings theory probabilistic --members 10000 --target 0.999 --view 0.4 --loss 0.1

The options are those of `hustings sim`, so that the same command line serves
both.";

/// Closed forms have no options of their own.
#[derive(Debug, Args)]
#[command(after_help = VALUES)]
pub(crate) struct NoOptions {}

const VALUES: &str = "\
Values have the names of the metrics of `hustings sim`, times are in seconds. An
option that the closed forms cannot honour, such as --crash above 0, is an error;
where only some metrics have no closed form they are left out, and named. On rings
and for the bully nothing may be lost. --runs, --seed and --threads change nothing
here.

Of the announce family there are also, with T_L where they depend on it:
  NAME_printed               what the chapter's formula gives, where it is wrong
  inconsistent_false         the fraction of time that one listener misses a
                             leader that is there; `inconsistent`: that any does
  reestablishment_false      how long it then takes to hear of it
  reestablishment_departure  from the leader's crash until the N - 1 others have
                             heard its successor
  join_greater, join_lesser  from the arrival of a late joiner, the last of the N,
                             until all others have heard it; until it has heard
                             the leader
  first_round_messages_without_delay
                             uncorrelated loss, if messages took no time";

impl Theory {
    pub(super) fn run(self) -> Result<(), Failure> {
        match self.protocol {
            Protocols::Elections(choice) => choice.undertake(Compute),
            Protocols::Probabilistic(probabilistic) => probabilistic.run(),
        }
    }
}

struct Compute;

impl Task<NoOptions> for Compute {
    fn run<E: Election>(self, election: E, common: &Common, _: &NoOptions) -> Result<(), Failure> {
        let conditions = common.conditions();
        let ClosedForm { values, missing } = election.closed_form(&conditions)?;
        let report = Report {
            protocol: election.name(),
            sentence: format!("{}; {}", election.sentence(), conditions.sentence()),
            parameters: election.parameters().and(conditions.parameters()),
            findings: Findings::Computed { values, missing },
        };
        report.print(common.experiment.format)
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, Subcommand};

    use super::{PROTOCOLS, Protocols};

    #[test]
    fn the_usage_line_names_every_protocol() {
        let command = Protocols::augment_subcommands(Command::new("theory"));
        let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        assert_eq!(names.join("|"), PROTOCOLS);
    }
}
