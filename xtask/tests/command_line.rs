//! The output and exit codes of `cargo xtask` for right and wrong use.

use std::process::Command;

fn check(arguments: &[&str], code: i32, said: &[&str]) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).output().expect("xtask starts");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("xtask writes UTF-8");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}:\n{text}");
    for expected in said {
        assert!(text.contains(expected), "{arguments:?} does not say {expected:?}:\n{text}");
    }
}

#[test]
fn help_lists_steps_and_examples() {
    check(&["--help"], 0, &["cargo xtask", "test", "Exit codes"]);
    let steps = [
        "fmt",
        "clippy",
        "build",
        "processes",
        "tests",
        "docs",
        "deny",
        "field",
        "authorities",
        "advisories",
    ];
    check(&["test", "--help"], 0, &steps);
    check(&["test", "--help"], 0, &["cargo xtask test --only clippy"]);
}

#[test]
fn wrong_use_ends_with_exit_code_2() {
    check(&[], 2, &["Usage: cargo xtask"]);
    check(&["tset"], 2, &["unrecognized subcommand"]);
    check(&["test", "--fast"], 2, &["unexpected argument '--fast'"]);
    check(&["test", "--only", "lint"], 2, &["invalid value 'lint'", "possible values: fmt"]);
    check(&["test", "--only", "fmt", "--advisories"], 2, &["cannot be used with"]);
}
