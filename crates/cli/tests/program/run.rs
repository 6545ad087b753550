//! Helpers to run the program.

use std::process::{Command, Output};

use serde_json::Value;

/// The program with these arguments, separated by blanks.
pub(crate) fn hustings(arguments: &str) -> Command {
    hustings_testkit::command(env!("CARGO_BIN_EXE_hustings"), arguments)
}

/// Runs the program to its end.
pub(crate) fn outcome(arguments: &str) -> Output {
    hustings(arguments).output().expect("the program starts")
}

/// Returns the standard output of a successful run.
#[track_caller]
pub(crate) fn printed(arguments: &str) -> String {
    let Output { status, stdout, stderr } = outcome(arguments);
    let complaint = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "hustings {arguments}: {complaint}");
    assert_eq!(complaint, "", "hustings {arguments}");
    String::from_utf8(stdout).expect("the program prints UTF-8")
}

/// Returns the object that the program prints with `--format json`.
#[track_caller]
pub(crate) fn object(arguments: &str) -> Value {
    let text = printed(&format!("{arguments} --format json"));
    serde_json::from_str(&text).expect("the program prints JSON")
}
