//! `hustings theory`: evaluates the closed forms at the same parameters.

use clap::Args;

use crate::elections::{Choice, Settled};
use crate::failure::Failure;
use crate::report::{Findings, Report};

pub(super) const EXAMPLES: &str = include_str!("theory_help.txt").trim_ascii_end();

/// Closed forms have no options of their own.
#[derive(Debug, Args)]
#[command(after_help = VALUES)]
pub(crate) struct NoOptions {}

const VALUES: &str = include_str!("theory_values.txt").trim_ascii_end();

/// Computes the cost of an election by closed forms.
pub(super) fn run(protocol: Choice<NoOptions>) -> Result<(), Failure> {
    let Settled { election, setup, experiment, own: NoOptions {} } = protocol.settle()?;
    let form = election.closed_form(&setup)?;
    let report = Report {
        protocol: setup.protocol,
        sentence: format!("{}; {}", election.sentence_in_theory(), setup.sentence()),
        parameters: election.parameters().and(setup.parameters()),
        findings: Findings::Computed(form),
    };
    report.print(experiment.format)
}
