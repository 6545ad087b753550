//! `cargo xtask field`: five hosts as network namespaces on one bridge, real agents, real faults, and
//! the tables of what they did. `cargo xtask test --only field` is made of the same parts.

mod assembly;
pub(crate) mod authorities;
pub(crate) mod bare;
pub(crate) mod barrage;
mod chance;
mod cost;
mod council;
mod crowd;
mod defaults;
pub(crate) mod faults;
mod ground;
mod heal;
mod hosts;
pub(crate) mod idle_connections;
mod keepalived;
mod load;
mod losses;
mod measure;
mod members;
mod protocols;
mod spread;
mod table;
mod tenure;
mod trials;
pub(crate) mod wiretap;

use std::path::PathBuf;

use clap::Args;

use crate::packages::{self, NeededBy};
use crate::{Result, shell};
use ground::{Ground, MEMBERS};
use hosts::Hosts;
use table::Report;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    cargo xtask field                             everything: about half an hour\n  \
    cargo xtask field --only SIGKILL --trials 10  one row\n  \
    cargo xtask field --only busy --seconds 600   the quick setting, ten minutes under load\n  \
    cargo xtask field --only 'host lost'          default options beside keepalived, and others\n  \
    cargo xtask field --only 'hustings run'       how soon the next command runs after a kill\n  \
    cargo xtask field --only tenure               how soon somebody holds tenure
  \
    cargo xtask field --tenure                    200 rounds of faults, and never two holders of tenure
  \
    cargo xtask field --council                   2,000 hosts, and a council of them
  \
    cargo xtask field --cost                      what tenure costs, by each authority and beside locks")]
pub(crate) struct Options {
    /// Trials of each kind
    #[arg(long, default_value_t = 30)]
    trials: u32,
    /// How long a group is watched under loss and under load
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Only the rows whose name contains this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Instead of all this: rounds of faults at random, in which no two members may ever hold tenure
    #[arg(long, conflicts_with_all = ["trials", "seconds", "only", "program"])]
    tenure: bool,
    /// How many
    #[arg(long, default_value_t = 200, requires = "tenure")]
    rounds: usize,
    /// The seed of the faults: to have the same ones again
    #[arg(long, requires = "tenure")]
    seed: Option<u64>,
    /// Instead of all this: what tenure costs by each authority, beside `etcdctl` and an advisory lock
    #[arg(long, conflicts_with_all = ["seconds", "tenure", "program"])]
    cost: bool,
    /// Instead of all this: a fleet of 2,000 hosts, and the elections of a council of them beside theory, without loss and
    /// with a tenth lost; --program is the example `fleet` then
    #[arg(long, conflicts_with_all = ["trials", "seconds", "only", "tenure", "cost"])]
    council: bool,
    /// How many hosts, twenty in each network namespace
    #[arg(long, default_value_t = 2_000, requires = "council", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(20..=2_000))]
    hosts: usize,
    /// Measure this program instead of building one
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

impl Options {
    /// Whether a row is asked for.
    fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|it| name.contains(it))
    }

    /// Of the rows `all`, those that are asked for.
    fn choose<'t, T>(&self, all: &'t [T], name: impl Fn(&T) -> &str) -> Vec<&'t T> {
        all.iter().filter(|it| self.wants(name(it))).collect()
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    packages::provide(NeededBy::Field)?;
    if options.cost {
        packages::provide(NeededBy::Cost)?;
    }
    if let Some(reason) = Hosts::missing() {
        return Err(reason.into());
    }
    if options.tenure {
        let hosts = Hosts::make(MEMBERS)?;
        return tenure::run(&hosts, options.rounds, options.seed);
    }
    if options.cost {
        return authorities::run(options);
    }
    if options.council {
        let example = match &options.program {
            Some(file) => file.canonicalize()?,
            None => release(&["--example", "fleet"], "examples/fleet")?,
        };
        return council::run(&example, options.hosts);
    }
    let program = match &options.program {
        Some(file) => file.canonicalize()?,
        None => program(Build::Release)?,
    };
    let hosts = Hosts::make(MEMBERS)?;
    let ground = Ground::new(&hosts, &program);
    let mut report = Report::default();
    trials::run(ground, options, &mut report)?;
    defaults::run(ground, options, &mut report)?;
    authorities::run_kills(ground, options, &mut report)?;
    losses::run(ground, options, &mut report)?;
    heal::run(ground, options, &mut report)?;
    tenure::figures(ground, options, &mut report)?;
    cost::run(ground, options, &mut report)?;
    load::run(ground, options, &mut report)?;
    crowd::run(ground, options, &mut report)?;
    protocols::run(ground, options, &mut report)?;
    assembly::run(&program, options, &mut report)?;
    report.close()
}

/// How the program is built.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Build {
    /// For figures.
    Release,
    /// For tests: most of it is there already.
    Dev,
}

/// Builds the program, and tells where it is.
fn program(made: Build) -> Result<PathBuf> {
    match made {
        Build::Release => release(&["--bin", "hustings"], "hustings"),
        Build::Dev => dev("hustings"),
    }
}

/// Builds `what` of the package, and tells where it is.
fn release(what: &[&str], file: &str) -> Result<PathBuf> {
    let mut command = shell::cargo(["build", "--release", "--package", "hustings"]);
    shell::run(command.args(what))?;
    built("release", file)
}

/// Builds all that tests need here, and tells where one of it is. As they themselves are built: a package alone, or without an
/// example, has its dependencies with other features, and all of them would be built once more.
fn dev(file: &str) -> Result<PathBuf> {
    let mut command = shell::cargo(["build", "--workspace"]);
    shell::run(command.args(["--bin", "hustings", "--example", "writer"]))?;
    built("debug", file)
}

fn built(directory: &str, file: &str) -> Result<PathBuf> {
    Ok(shell::target().join(directory).join(file).canonicalize()?)
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn rows_are_chosen_by_a_part_of_their_name() {
        let check = |only: Option<&str>, expected: &[&str]| {
            let options = Options {
                trials: 1,
                seconds: 1,
                only: only.map(str::to_owned),
                tenure: false,
                council: false,
                hosts: 0,
                rounds: 0,
                seed: None,
                cost: false,
                program: None,
            };
            let chosen: Vec<&str> = options
                .choose(&["cold start", "SIGKILL"], |name| name)
                .into_iter()
                .copied()
                .collect();
            assert_eq!(chosen, expected);
        };
        check(None, &["cold start", "SIGKILL"]);
        check(Some("KILL"), &["SIGKILL"]);
        check(Some("none such"), &[]);
    }
}
