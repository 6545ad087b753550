//! Running the program.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The program with these arguments, separated by blanks.
pub(crate) fn hustings(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hustings"));
    command
        .args(arguments.split_whitespace())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// What it does, once it has ended.
pub(crate) fn outcome(arguments: &str) -> Output {
    hustings(arguments).output().expect("the program starts")
}

/// What it prints on standard output when all goes well.
#[track_caller]
pub(crate) fn printed(arguments: &str) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = outcome(arguments);
    let complaint = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "hustings {arguments}: {complaint}");
    assert_eq!(complaint, "", "hustings {arguments}");
    String::from_utf8(stdout).expect("the program prints UTF-8")
}

/// The object that it prints with `--format json`.
#[track_caller]
pub(crate) fn object(arguments: &str) -> Value {
    let text = printed(&format!("{arguments} --format json"));
    serde_json::from_str(&text).expect("the program prints JSON")
}
