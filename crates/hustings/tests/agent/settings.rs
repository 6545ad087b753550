//! What an agent is told, and by what.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::process::{self, Outcome, Program, command, finish, hustings};

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// A file of a test's own, with these permissions.
fn file(name: &str, mode: u32, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).expect("files can be written");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("they are ours");
    path
}

#[track_caller]
fn refused(outcome: &Outcome, code: i32, complaint: &str) {
    assert_eq!(outcome.code, Some(code), "{}", outcome.said);
    assert!(outcome.said.contains(complaint), "{}", outcome.said);
}

#[test]
fn options_go_before_the_environment_before_the_file_before_defaults() {
    let text = "name = \"by-file\"\nbind = \"127.0.0.1:1\"\n[[group]]\nname = \"web\"\nannounce = \"1s\"\n";
    let path = file("precedence.toml", 0o600, text);
    let check = format!("config check {}", path.display());
    let by_file = finish(&mut command(&check)).text();
    assert!(
        by_file.contains("member by-file: bind 127.0.0.1:1,"),
        "{by_file}"
    );
    assert!(by_file.contains("announce 1s, suppress 5ms"), "{by_file}");
    assert!(by_file.contains("no key"), "{by_file}");
    let environment = [
        ("HUSTINGS_NAME", "by-environment"),
        ("HUSTINGS_ANNOUNCE", "2s"),
        ("HUSTINGS_KEY", KEY),
    ];
    let by_environment = finish(command(&check).envs(environment)).text();
    assert!(
        by_environment.contains("member by-environment: bind 127.0.0.1:1,"),
        "{by_environment}"
    );
    assert!(by_environment.contains("announce 2s"), "{by_environment}");
    assert!(by_environment.contains("key set"), "{by_environment}");
    let by_option = finish(command(&format!("{check} --name by-option")).envs(environment)).text();
    assert!(by_option.contains("member by-option:"), "{by_option}");
}

#[test]
fn whoever_can_read_a_key_is_warned_of() {
    let keys = file("open.key", 0o644, &format!("# ours\n{KEY}\n"));
    let text = "[[group]]\nname = \"web\"\nkey-file = \"open.key\"\n";
    let check = |path: &PathBuf| hustings(&format!("config check {}", path.display()));
    let outcome = check(&file("open.toml", 0o644, text));
    assert_eq!(outcome.code, Some(0));
    let warning = format!(
        "warning: {} has a key in it, and every user",
        keys.display()
    );
    assert!(outcome.said.starts_with(&warning), "{}", outcome.said);
    let text = format!("[[group]]\nname = \"web\"\nkey = \"{KEY}\"\n");
    assert_eq!(check(&file("shut.toml", 0o600, &text)).said, "");
    assert!(
        check(&file("ajar.toml", 0o644, &text))
            .said
            .contains("chmod o-r")
    );
}

#[test]
fn a_bad_key_is_never_shown() {
    let bad = &KEY[1..];
    for outcome in [
        hustings(&format!("agent --group web --key {bad}")),
        finish(command("agent --group web").env("HUSTINGS_KEY", bad)),
    ] {
        refused(&outcome, 2, "not a key: 64 hexadecimal digits are needed");
        assert!(!outcome.said.contains(&bad[..8]), "{}", outcome.said);
    }
}

#[test]
fn two_agents_cannot_have_one_http_address() {
    let mut alpha = Program::agent(&process::group("first"), "alpha", "127.0.0.1:0");
    let http = alpha.http();
    let second = hustings(&format!(
        "agent --group second --bind 127.0.0.1:0 --http {http}"
    ));
    refused(
        &second,
        1,
        "does another agent run here? choose another with --http, or --http off",
    );
    assert_eq!(alpha.stop(), Some(0));
    let nobody = hustings(&format!("status --http {http}"));
    refused(
        &nobody,
        1,
        &format!("error: no agent answers at {http}: is `hustings agent` running? (--http ADDR)\n"),
    );
}
