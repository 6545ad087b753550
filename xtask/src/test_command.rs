//! `cargo xtask test`: all that must hold before a change goes in, the quickest answers first.

use crate::field::faults;
use crate::packages::{self, NeededBy};
use crate::shell::{self, cargo};
use crate::steps::{self, Outcome};
use crate::{Result, deny};
use clap::{Args, ValueEnum};
use std::fmt;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    cargo xtask test                before you send a change\n  \
    cargo xtask test --only clippy  while you work on one thing\n\n\
    The first step that fails ends the run, and tells how to repeat just that step.")]
pub(crate) struct Options {
    /// Run one step alone
    #[arg(long, value_name = "STEP")]
    only: Option<Step>,

    /// Check the dependencies for known vulnerabilities too (needs the network)
    #[arg(long, conflicts_with = "only")]
    advisories: bool,

    /// Of the field step, only the faults whose name contains this
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    fault: String,

    /// How many wrong packets the field step throws at an agent
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    packets: u64,
}

/// What brings the stores.
const STORES: &str = "hustings-agent/etcd,hustings-agent/postgres";

/// In the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Step {
    /// Every file is formatted
    Fmt,
    /// No lint warns, in code, tests and examples
    Clippy,
    /// Every test passes, those in the documentation too
    Tests,
    /// Real etcd and PostgreSQL grant tenure, killed, paused, restored, and behind lines that fail
    Authorities,
    /// Real agents on hosts of their own bear every fault; skipped where network namespaces are not
    /// allowed
    Field,
    /// The documentation builds without a warning
    Docs,
    /// Dependencies: their licences, sources and bans
    Deny,
    /// Dependencies: known vulnerabilities; not run unless asked for
    Advisories,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let steps = options.steps();
    if steps.contains(&Step::Field) {
        packages::provide(NeededBy::Test)?;
    }
    if steps.contains(&Step::Authorities) {
        packages::provide(NeededBy::Authorities)?;
    }
    let repeat = |step| format!("cargo xtask test --only {step}");
    let carry_out = |step| carry_out(step, options);
    steps::run(&steps, carry_out, repeat)
}

impl Options {
    fn steps(&self) -> Vec<Step> {
        match self.only {
            Some(step) => vec![step],
            None => {
                let wanted = |step: &Step| match step {
                    Step::Advisories => self.advisories,
                    Step::Fmt | Step::Clippy | Step::Tests | Step::Field => true,
                    Step::Authorities | Step::Docs | Step::Deny => true,
                };
                let all = Step::value_variants().iter().copied();
                all.filter(wanted).collect()
            }
        }
    }
}

fn carry_out(step: Step, options: &Options) -> Result<Outcome> {
    match step {
        Step::Fmt => shell::run(&mut cargo(["fmt", "--all", "--check"]))?,
        Step::Clippy => shell::run(&mut cargo([
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]))?,
        Step::Tests => shell::run(
            // Those of processes and sockets wait most of the time: more of them than there are cores.
            cargo(["test", "--workspace"]).env("RUST_TEST_THREADS", test_threads().to_string()),
        )?,
        Step::Authorities => check_authorities()?,
        Step::Field => return faults::run(&options.fault, options.packets),
        Step::Docs => shell::run(
            cargo(["doc", "--workspace", "--no-deps"])
                .args(["--features", STORES])
                .env("RUSTDOCFLAGS", "-D warnings"),
        )?,
        Step::Deny => {
            println!(
                "(known vulnerabilities need the network: cargo xtask test --only advisories)"
            );
            return check_dependencies(&["bans", "licenses", "sources"]);
        }
        Step::Advisories => return check_dependencies(&["advisories"]),
    }
    Ok(Outcome::Passed)
}

/// Twice as many as there are cores, or as the environment says.
fn test_threads() -> usize {
    let set = std::env::var("RUST_TEST_THREADS").ok();
    let set = set.and_then(|it| it.parse().ok());
    set.unwrap_or_else(|| 2 * std::thread::available_parallelism().map_or(1, usize::from))
}

/// The features that bring stores are off by default, so all that is checked of the rest is checked here.
fn check_authorities() -> Result<()> {
    // Of the whole workspace, or dependencies would be built once more, with other features.
    let stores = ["--workspace", "--features", STORES];
    let lints = ["--all-targets", "--", "-D", "warnings"];
    shell::run(cargo(["clippy"]).args(stores).args(lints))?;
    // Voters are processes.
    shell::run(
        cargo(["build"])
            .args(stores)
            .args(["--example", "configured"]),
    )?;
    // They wait for their stores most of the time: more of them than there are cores.
    let tests = ["--test", "authority", "--", "--test-threads", "8"];
    shell::run(cargo(["test"]).args(stores).args(tests))
}

fn check_dependencies(subjects: &[&str]) -> Result<Outcome> {
    match deny::command() {
        Ok(mut command) => {
            shell::run(command.arg("check").args(subjects))?;
            Ok(Outcome::Passed)
        }
        Err(error) => {
            println!("{error}");
            let reason = "cargo-deny is missing and could not be built, see above".to_owned();
            Ok(Outcome::Skipped { reason })
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value().expect("no step is hidden");
        out.pad(value.get_name())
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, Step};

    fn check(only: Option<Step>, advisories: bool, expected: &str) {
        let options = Options {
            only,
            advisories,
            fault: String::new(),
            packets: 0,
        };
        let steps = options.steps();
        let names: Vec<String> = steps.iter().map(Step::to_string).collect();
        assert_eq!(names.join(" "), expected);
    }

    #[test]
    fn all_steps_run_unless_one_is_chosen() {
        check(None, false, "fmt clippy tests authorities field docs deny");
        check(
            None,
            true,
            "fmt clippy tests authorities field docs deny advisories",
        );
        check(Some(Step::Docs), false, "docs");
        check(Some(Step::Advisories), false, "advisories");
    }
}
