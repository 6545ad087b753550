//! `cargo xtask field`: runs real agents on five hosts, which are network namespaces on one bridge,
//! injects real faults, and prints tables of the results. `cargo xtask test --only field` uses the
//! same modules.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the field is the real world, and is timed by its clock"
)]

/// Returns an error with this message unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            return Err(format!($($message)+).into());
        }
    };
}

mod authorities;
mod baseline_loop;
mod chance;
mod cost;
mod council;
mod defaults;
mod failover;
mod false_failover;
mod faults;
mod hosts;
mod idle_client;
mod keepalived;
mod large_group;
mod measure;
mod members;
mod protocols;
mod table;
mod tenure;
mod testbed;
mod wiretap;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use hosts::Hosts;
use table::{Report, Spread};
use testbed::{MEMBERS, Testbed, release};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The exit code if the faults could not be tried on this machine.
const NOT_TRIED: u8 = 3;

/// Run real agents on five hosts (network namespaces), and print how fast they are
#[derive(Parser)]
#[command(
    bin_name = "cargo xtask field",
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
struct Arguments {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    subprocess: Option<Subprocess>,
}

/// A subcommand that runs as a process of its own.
#[derive(Subcommand)]
enum Subprocess {
    /// Try faults that must do no lasting harm: `cargo xtask test --only field`
    #[command(hide = true)]
    Faults(faults::Options),
    /// Record the datagrams that a host receives, or replay them
    #[command(hide = true)]
    Wiretap(wiretap::Options),
    /// Hold idle connections to an agent open
    #[command(hide = true)]
    IdleClient(idle_client::Options),
    /// Send or receive multicasts and do nothing else: the baseline for the cost tables
    #[command(hide = true)]
    BaselineLoop(baseline_loop::Options),
    /// Report its start and wait: the command that the field runs under tenure
    #[command(hide = true)]
    Worker(authorities::worker::Options),
}

fn main() -> ExitCode {
    let Arguments { options, subprocess } = Arguments::parse();
    let outcome = match subprocess {
        None => run(&options),
        Some(Subprocess::Faults(options)) => {
            if let Err(reason) = Hosts::probe() {
                eprintln!("{reason}");
                return NOT_TRIED.into();
            }
            faults::run(&options)
        }
        Some(Subprocess::Wiretap(options)) => wiretap::run(&options),
        Some(Subprocess::IdleClient(options)) => idle_client::run(&options),
        Some(Subprocess::BaselineLoop(options)) => baseline_loop::run(&options),
        Some(Subprocess::Worker(options)) => authorities::worker::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    cargo xtask field                             everything: about half an hour\n  \
    cargo xtask field --only SIGKILL --trials 10  one row\n  \
    cargo xtask field --only busy --seconds 600   the quick setting, ten minutes under load\n  \
    cargo xtask field --only 'host lost'          default options beside keepalived, and others\n  \
    cargo xtask field --only 'hustings run'       how soon the next command runs after a kill\n  \
    cargo xtask field --tenure                    200 rounds of faults, and never two holders of tenure
  \
    cargo xtask field --council                   2,000 hosts, and a council of them
  \
    cargo xtask field --cost                      what tenure costs, by each authority and beside locks")]
struct Options {
    /// Number of trials of each kind
    #[arg(long, default_value_t = 30)]
    trials: u32,
    /// Seconds for which a group is watched under loss and under load
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Run only the rows whose name contains this text
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Run this alone: rounds of random faults, during which no two members may ever hold tenure
    #[arg(long, conflicts_with_all = ["trials", "seconds", "only", "program"])]
    tenure: bool,
    /// Number of rounds
    #[arg(long, default_value_t = 200, requires = "tenure")]
    rounds: usize,
    /// Seed of the faults, to repeat the same ones
    #[arg(long, requires = "tenure")]
    seed: Option<u64>,
    /// Run this alone: the cost of tenure with each authority, beside `etcdctl` and an advisory
    /// lock
    #[arg(long, conflicts_with_all = ["seconds", "tenure", "program"])]
    cost: bool,
    /// Run this alone: a fleet of 2,000 hosts and elections of a council from them, compared with
    /// theory, without loss and with 10 % loss; --program then names the example `fleet`
    #[arg(long, conflicts_with_all = ["trials", "seconds", "only", "tenure", "cost"])]
    council: bool,
    /// Measure this program instead of building one
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

impl Options {
    /// True if the options ask for the row.
    fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|it| name.contains(it))
    }

    /// Repeats a trial as often as the options ask for. Returns the results.
    fn repeat(&self, mut trial: impl FnMut() -> Result<f64>) -> Result<Spread> {
        (0..self.trials).map(|_| trial()).collect()
    }

    /// Returns the rows in `all` that the options ask for.
    fn choose<'t, T>(&self, all: &'t [T], name: impl Fn(&T) -> &str) -> Vec<&'t T> {
        all.iter().filter(|it| self.wants(name(it))).collect()
    }
}

/// Takes the measurements that the options ask for, and prints the tables.
fn run(options: &Options) -> Result<()> {
    Hosts::probe()?;
    if options.tenure {
        return tenure::run(&Hosts::make(MEMBERS)?, options.rounds, options.seed);
    }
    if options.cost {
        return authorities::run(options);
    }
    let build = |what: &[&str], file| match &options.program {
        Some(program) => Ok(program.canonicalize()?),
        None => release(what, file),
    };
    if options.council {
        let fleet = ["--package", "hustings", "--example", "fleet"];
        return council::run(&build(&fleet, "examples/fleet")?);
    }
    let program = build(&["--bin", "hustings"], "hustings")?;
    let hosts = Hosts::make(MEMBERS)?;
    let testbed = Testbed::new(&hosts, &program);
    let mut report = Report::default();
    failover::run(testbed, options, &mut report)?;
    defaults::run(testbed, options, &mut report)?;
    authorities::kills(testbed, options, &mut report)?;
    failover::losses(testbed, options, &mut report)?;
    failover::partitions(testbed, options, &mut report)?;
    cost::run(testbed, options, &mut report)?;
    false_failover::run(testbed, options, &mut report)?;
    cost::run_agents(testbed, options, &mut report)?;
    protocols::run(testbed, options, &mut report)?;
    large_group::run(&program, options, &mut report)?;
    report.close()
}

#[cfg(test)]
mod tests {
    use super::Arguments;
    use clap::{CommandFactory, Parser};

    #[test]
    fn arguments_are_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn rows_are_chosen_by_part_of_their_name() {
        let check = |arguments: &[&str], expected: &[&str]| {
            let arguments = [&["field"], arguments].concat();
            let options = Arguments::parse_from(arguments).options;
            let chosen: Vec<&str> = options
                .choose(&["cold start", "SIGKILL"], |name| name)
                .into_iter()
                .copied()
                .collect();
            assert_eq!(chosen, expected);
        };
        check(&[], &["cold start", "SIGKILL"]);
        check(&["--only", "KILL"], &["SIGKILL"]);
        check(&["--only", "none such"], &[]);
    }

    #[test]
    fn unmet_requirement_fails_with_its_message() {
        let require = |holds: bool| -> crate::Result<()> {
            ensure!(holds, "too {}", "bad");
            Ok(())
        };
        assert!(require(true).is_ok());
        assert_eq!(require(false).expect_err("it does not hold").to_string(), "too bad");
    }
}
