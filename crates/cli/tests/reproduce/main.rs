//! The claims of the source documents, each by its id: `hustings reproduce ID --quick` reaches the
//! recorded verdict.

mod claims;
mod command;

use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Runs `hustings reproduce` with these arguments, separated by blanks.
fn reproduce(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hustings"))
        .arg("reproduce")
        .args(arguments.split_whitespace())
        .stdin(Stdio::null())
        .output()
        .expect("the program starts")
}

/// Returns the object that it prints with `--format json` if every verdict is as recorded.
#[track_caller]
fn report(arguments: &str) -> Value {
    let Output { status, stdout, stderr } =
        reproduce(&format!("{arguments} --quick --format json"));
    let complaint = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "hustings reproduce {arguments} --quick: {complaint}");
    serde_json::from_slice(&stdout).expect("the program prints JSON")
}
