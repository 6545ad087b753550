//! The test suites of the workspace, in two classes: suites that compute, and suites that mostly
//! wait.

use crate::Result;
use crate::shell::{WORKSPACE, cargo};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// The suite that needs etcd and PostgreSQL.
pub(crate) const STORES: &str = "authority";

/// Suites whose tests start processes or wait for sockets and clocks. They leave the processors
/// idle most of the time.
const WAITING: &[&str] =
    &["agent", "council", "draw", "keeper", "library", "loopback", "workload", STORES];

/// The names of the workspace's suites. Each is a test target of one or more crates.
pub(crate) struct Suites(BTreeSet<String>);

impl Suites {
    /// Reads the suites from cargo's metadata.
    pub(crate) fn find() -> Result<Self> {
        let metadata = ["metadata", "--no-deps", "--format-version", "1"];
        let output = cargo(metadata).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        let metadata: Value = serde_json::from_slice(&output.stdout)?;
        let packages = metadata["packages"].as_array().into_iter().flatten();
        let targets = packages.flat_map(|it| it["targets"].as_array().into_iter().flatten());
        let tests = targets.filter(|it| it["kind"][0] == "test");
        let names = tests.filter_map(|it| it["name"].as_str());
        Ok(Self(names.map(str::to_owned).collect()))
    }

    /// Returns the suites that wait. Leaves out the stores' suite unless the stores are installed.
    pub(crate) fn waiting(&self, has_stores: bool) -> impl Iterator<Item = &str> {
        let waiting = self.0.iter().map(String::as_str);
        waiting.filter(move |it| WAITING.contains(it) && (has_stores || *it != STORES))
    }

    /// Returns the suites that compute.
    pub(crate) fn computing(&self) -> impl Iterator<Item = &str> {
        let all = self.0.iter().map(String::as_str);
        all.filter(|it| !WAITING.contains(it))
    }
}

/// Returns the command that builds all tests, and the programs and examples that they start.
pub(crate) fn build() -> Command {
    let mut command = cargo(["test", "--no-run"]);
    command.args(WORKSPACE);
    command
}

/// Returns the command that runs some suites, `threads` tests at a time unless `RUST_TEST_THREADS`
/// is set.
pub(crate) fn test<'a>(suites: impl Iterator<Item = &'a str>, threads: usize) -> Command {
    let mut command = cargo(["test"]);
    command.args(WORKSPACE);
    command.args(suites.flat_map(|name| ["--test", name]));
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        command.env("RUST_TEST_THREADS", threads.to_string());
    }
    command
}

#[cfg(test)]
mod tests {
    use super::{STORES, Suites, WAITING};

    #[test]
    fn every_suite_runs_once() {
        let suites = Suites::find().expect("cargo knows its targets");
        let with_stores = suites.waiting(true).count();
        assert_eq!(with_stores, WAITING.len(), "a suite of WAITING is gone");
        assert_eq!(suites.waiting(false).count(), with_stores - 1);
        assert!(suites.waiting(true).any(|it| it == STORES));
        assert_eq!(with_stores + suites.computing().count(), suites.0.len());
        assert!(suites.computing().any(|it| it == "house"));
    }
}
