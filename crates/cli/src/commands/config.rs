//! `hustings config`: the agent's configuration file.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use hustings_agent::GroupConfig;
use hustings_agent::config::example;
use hustings_agent::config::non_voter::{Doubt, NonVoter};

use crate::failure::{Failure, print, say};
use crate::options::agent_options::Overrides;

/// Check a configuration file, or print an example
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) enum Config {
    /// Check that an agent could use the file, and describe what it would do
    Check {
        /// The configuration file
        #[arg(value_name = "FILE")]
        file: PathBuf,

        #[command(flatten)]
        overrides: Box<Overrides>,
    },
    /// Print a file with every field, its default and its meaning
    Example,
}

const EXAMPLES: &str = "\
Examples:
  hustings config example > hustings.toml
  hustings config check hustings.toml";

impl Config {
    pub(super) fn run(self) -> Result<(), Failure> {
        print(&match self {
            Self::Check { file, overrides } => report(&file, &overrides)?,
            Self::Example => example(),
        })
    }
}

fn report(file: &Path, overrides: &Overrides) -> Result<String, Failure> {
    let config = overrides.config(Some(file), None)?;
    for NonVoter { what, doubt } in config.non_voter_in() {
        match doubt {
            Doubt::Strong | Doubt::Some => say(&format!("warning: {what}")),
            Doubt::Slight => say(&format!("note: {what}")),
        }
    }
    let groups = config.groups.iter().map(GroupConfig::sentence);
    let mut worths: Vec<&str> = config.groups.iter().map(|it| it.authority.worth()).collect();
    worths.dedup();
    let lines: Vec<String> = [format!("{}: ok", file.display()), config.sentence()]
        .into_iter()
        .chain(groups)
        .chain(worths.into_iter().map(str::to_owned))
        .collect();
    Ok(lines.join("\n") + "\n")
}
