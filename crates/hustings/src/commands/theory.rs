//! `hustings theory`: the closed forms at the same parameters.

use clap::Args;

use crate::elections::{Choice, Election, PROTOCOLS, Task};
use crate::failure::Failure;
use crate::options::Common;
use crate::report::{Findings, Report};

/// Tell what an election costs on paper, by closed forms
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, subcommand_value_name = PROTOCOLS,
          subcommand_help_heading = "Protocols", disable_help_subcommand = true)]
pub(crate) struct Theory {
    #[command(subcommand)]
    protocol: Choice<NoOptions>,
}

const EXAMPLES: &str = "\
Examples:
  hustings theory chang-roberts --members 1000 --initiators all
  hustings theory bully --members 50 --crashed-leader --format json

The options are those of `hustings sim`, so that the same command line serves
both.";

/// Closed forms have no options of their own.
#[derive(Debug, Args)]
#[command(after_help = VALUES)]
pub(crate) struct NoOptions {}

const VALUES: &str = "\
Values have the names of the metrics of `hustings sim`. They hold without
faults: an option that the closed forms cannot honour, such as --loss above 0,
is an error. --runs, --seed and --threads change nothing here.";

impl Theory {
    pub(super) fn run(self) -> Result<(), Failure> {
        self.protocol.undertake(Compute)
    }
}

struct Compute;

impl Task<NoOptions> for Compute {
    fn run<E: Election>(self, election: E, common: &Common, _: &NoOptions) -> Result<(), Failure> {
        let conditions = common.conditions();
        let report = Report {
            protocol: E::NAME,
            sentence: format!("{}; {}", election.sentence(), conditions.sentence()),
            parameters: election.parameters().and(conditions.parameters()),
            findings: Findings::Computed {
                values: election.closed_form(&conditions)?,
            },
        };
        report.print(common.experiment.format)
    }
}
