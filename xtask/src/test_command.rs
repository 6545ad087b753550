//! `cargo xtask test`: everything that must hold before a change is merged, the fastest steps
//! first.

use crate::packages::{Missing, NeededBy};
use crate::shell::{Console, WORKSPACE, cargo};
use crate::steps::{self, Outcome, Phase};
use crate::suites::{self, STORES, Suites};
use crate::{Result, packages, programs};
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

    /// In the field step, try only the faults whose name contains this text
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    fault: String,

    /// Number of wrong packets that the field step sends to an agent
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    packets: u64,
}

/// The number of tests that run at once in suites that wait. It is two for each processor of a
/// small machine, because none of them needs one for long.
const AT_ONCE: usize = 4;

/// The steps, in the order in which they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Step {
    /// Every file is formatted
    Fmt,
    /// No lint warns, in code, tests and examples
    Clippy,
    /// Every test builds, and all programs that tests start
    Build,
    /// Tests that start agents and servers, or wait for sockets and clocks; includes `authorities`
    /// if the stores are installed
    Processes,
    /// All other tests, including those in the documentation
    Tests,
    /// The documentation builds without a warning
    Docs,
    /// Dependencies: their licences, sources and bans
    Deny,
    /// Real agents on hosts of their own withstand every fault; skipped where network namespaces
    /// are not allowed
    Field,
    /// Real etcd and PostgreSQL grant tenure while killed, paused, restored, or behind failing
    /// connections; a part of `processes`
    Authorities,
    /// Dependencies: known vulnerabilities; runs only on request
    Advisories,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let phases = options.phases();
    let steps: Vec<Step> = phases.iter().flat_map(Phase::steps).collect();
    let is_run = |step: Step| steps.contains(&step);
    let mut chores = Vec::new();
    if is_run(Step::Field) {
        chores.push(NeededBy::Test);
    }
    if is_run(Step::Processes) || is_run(Step::Authorities) {
        chores.push(NeededBy::Authorities);
    }
    let missing = Missing::of(&chores);
    missing.announce();
    if (is_run(Step::Deny) || is_run(Step::Advisories))
        && let Some(announcement) = packages::deny_announcement()
    {
        println!("going to be built: {announcement}");
    }
    missing.install()?;
    let repeat = |step| format!("cargo xtask test --only {step}");
    let carry_out = |step, console: &mut Console| carry_out(step, options, &missing, console);
    steps::run(&phases, carry_out, repeat)
}

impl Options {
    fn phases(&self) -> Vec<Phase<Step>> {
        let alone = |step| Phase { front: vec![step], behind: Vec::new() };
        if let Some(step) = self.only {
            return vec![alone(step)];
        }
        let mut phases = vec![
            alone(Step::Fmt),
            alone(Step::Clippy),
            alone(Step::Build),
            // Alone: on two processors, steps beside it delay servers and agents by seconds.
            alone(Step::Processes),
            Phase { front: vec![Step::Tests], behind: vec![Step::Docs, Step::Deny] },
            alone(Step::Field),
        ];
        if self.advisories {
            phases.push(alone(Step::Advisories));
        }
        phases
    }
}

fn carry_out(
    step: Step,
    options: &Options,
    missing: &Missing,
    console: &mut Console,
) -> Result<Outcome> {
    match step {
        Step::Fmt => console.run(&mut cargo(["fmt", "--all", "--check"]))?,
        Step::Clippy => {
            let strictly = ["--all-targets", "--", "-D", "warnings"];
            console.run(cargo(["clippy"]).args(WORKSPACE).args(strictly))?;
        }
        Step::Build => console.run(&mut suites::build())?,
        Step::Processes => return run_processes(missing, console),
        Step::Authorities => {
            if let Some(reason) = missing.for_chore(NeededBy::Authorities) {
                return Err(reason.into());
            }
            console.run(&mut suites::build())?;
            console.run(&mut suites::test([STORES].into_iter(), AT_ONCE))?;
        }
        Step::Tests => {
            let threads = std::thread::available_parallelism()?.get();
            let suites = Suites::find()?;
            let mut tests = suites::test(suites.computing(), threads);
            console.run(tests.args(["--lib", "--bins"]))?;
            console.run(cargo(["test", "--doc"]).args(WORKSPACE))?;
        }
        Step::Field => {
            if let Some(reason) = missing.for_chore(NeededBy::Test) {
                return Ok(Outcome::Skipped(reason));
            }
            return programs::faults(&options.fault, options.packets);
        }
        Step::Docs => console
            .run(cargo(["doc", "--no-deps"]).args(WORKSPACE).env("RUSTDOCFLAGS", "-D warnings"))?,
        Step::Deny => {
            console.say(
                "(known vulnerabilities need the network: cargo xtask test --only advisories)",
            );
            return check_dependencies(&["bans", "licenses", "sources"], console);
        }
        Step::Advisories => return check_dependencies(&["advisories"], console),
    }
    Ok(Outcome::Passed)
}

/// Runs the suites that wait. Leaves out the stores' suite if the stores are missing.
fn run_processes(missing: &Missing, console: &mut Console) -> Result<Outcome> {
    let without_stores = missing.for_chore(NeededBy::Authorities);
    let suites = Suites::find()?;
    // Some suites start examples. Cargo builds examples only together with all tests.
    console.run(&mut suites::build())?;
    console.run(&mut suites::test(suites.waiting(without_stores.is_none()), AT_ONCE))?;
    Ok(match without_stores {
        None => Outcome::Passed,
        Some(reason) => Outcome::Partly(format!("no etcd and PostgreSQL: {reason}")),
    })
}

fn check_dependencies(subjects: &[&str], console: &mut Console) -> Result<Outcome> {
    match packages::deny_command(console) {
        Ok(mut command) => {
            console.run(command.arg("check").args(subjects))?;
            Ok(Outcome::Passed)
        }
        Err(error) => {
            console.say(&error.to_string());
            let reason = "cargo-deny is missing and could not be built, see above".to_owned();
            Ok(Outcome::Skipped(reason))
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
    use super::{Options, Phase, Step};

    fn check(only: Option<Step>, advisories: bool, expected: &str) {
        let options = Options { only, advisories, fault: String::new(), packets: 0 };
        let phases = options.phases();
        let steps = phases.iter().flat_map(Phase::steps);
        let names: Vec<String> = steps.map(|step| step.to_string()).collect();
        assert_eq!(names.join(" "), expected);
    }

    #[test]
    fn all_steps_run_unless_one_is_selected() {
        let all = "fmt clippy build processes tests docs deny field";
        check(None, false, all);
        check(None, true, &format!("{all} advisories"));
        check(Some(Step::Docs), false, "docs");
        check(Some(Step::Advisories), false, "advisories");
    }
}
