//! `hustings config`: the agent's configuration file.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use hustings_agent::GroupConfig;
use hustings_agent::config::example;
use hustings_agent::config::names::{Doubt, NonVoter};

use crate::failure::{Failure, say};
use crate::options::agent_options::Overrides;

/// Check a configuration file, or print an example
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Config {
    #[command(subcommand)]
    task: Task,
}

const EXAMPLES: &str = "\
Examples:
  hustings config example > hustings.toml
  hustings config check hustings.toml";

#[derive(Debug, Subcommand)]
enum Task {
    /// Check that an agent could use the file, and describe what it would do
    Check(Box<Check>),
    /// Print a file with every field, its default and its meaning
    Example,
}

#[derive(Debug, Args)]
struct Check {
    /// The configuration file
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    overrides: Overrides,
}

impl Config {
    pub(super) fn run(self) -> Result<(), Failure> {
        let text = match self.task {
            Task::Check(check) => check.report()?,
            Task::Example => example(),
        };
        let printed = write!(std::io::stdout(), "{text}");
        printed.map_err(|error| Failure::output(&error))
    }
}

impl Check {
    fn report(&self) -> Result<String, Failure> {
        let config = self.overrides.config(Some(&self.file), None)?;
        for NonVoter { what, doubt } in config.non_voter_in() {
            match doubt {
                Doubt::Strong | Doubt::Some => say(&format!("warning: {what}")),
                Doubt::Slight => say(&format!("note: {what}")),
            }
        }
        let groups = config.groups.iter().map(GroupConfig::sentence);
        let mut worths: Vec<&str> = config.groups.iter().map(|it| it.authority.worth()).collect();
        worths.dedup();
        let lines: Vec<String> = [format!("{}: ok", self.file.display()), config.sentence()]
            .into_iter()
            .chain(groups)
            .chain(worths.into_iter().map(str::to_owned))
            .collect();
        Ok(lines.join("\n") + "\n")
    }
}
