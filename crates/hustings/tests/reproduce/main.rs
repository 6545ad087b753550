//! The claims of the source documents, each by its id: `hustings reproduce ID --quick` comes to the
//! verdict on record.

mod claims;
mod command;

use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// What `hustings reproduce` does with these arguments, separated by blanks.
fn reproduce(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hustings"))
        .arg("reproduce")
        .args(arguments.split_whitespace())
        .stdin(Stdio::null())
        .output()
        .expect("the program starts")
}

/// The object that it prints with `--format json` when all is as on record.
#[track_caller]
fn report(arguments: &str) -> Value {
    let Output {
        status,
        stdout,
        stderr,
    } = reproduce(&format!("{arguments} --quick --format json"));
    let complaint = String::from_utf8_lossy(&stderr);
    assert!(
        status.success(),
        "hustings reproduce {arguments} --quick: {complaint}"
    );
    serde_json::from_slice(&stdout).expect("the program prints JSON")
}
