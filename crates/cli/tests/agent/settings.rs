//! The sources of an agent's settings and their precedence.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use hustings_testkit::{Scratch, run};

use crate::process::{self, Outcome, Program, command, finish, hustings};

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// Creates a file for one test, with these permissions.
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
fn options_override_environment_which_overrides_file_and_defaults() {
    let text = "name = \"by-file\"\nbind = \"127.0.0.1:1\"\n[[group]]\nname = \"web\"\nannounce = \"1s\"\n";
    let path = file("precedence.toml", 0o600, text);
    let check = format!("config check {}", path.display());
    let by_file = finish(&mut command(&check)).text();
    assert!(by_file.contains("member by-file: bind 127.0.0.1:1,"), "{by_file}");
    assert!(by_file.contains("announce 1s, suppress 5ms"), "{by_file}");
    assert!(by_file.contains("no key"), "{by_file}");
    let environment =
        [("HUSTINGS_NAME", "by-environment"), ("HUSTINGS_ANNOUNCE", "2s"), ("HUSTINGS_KEY", KEY)];
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
fn key_file_that_others_can_read_is_refused() {
    let text = "[[group]]\nname = \"web\"\nkey-file = \"open.key\"\n";
    let by_file = file("open.toml", 0o644, text);
    let inside = format!("[[group]]\nname = \"web\"\nkey = \"{KEY}\"\n");
    let check = |path: &PathBuf| hustings(&format!("config check {}", path.display()));
    for mode in [0o644, 0o640, 0o604] {
        let keys = file("open.key", mode, &format!("# ours\n{KEY}\n"));
        let complaint = format!(
            "{} has a key in it, and users other than its owner can read it: chmod 600 ",
            keys.display()
        );
        refused(&check(&by_file), 2, &complaint);
        let option = format!("agent --group web --key-file {}", keys.display());
        refused(&hustings(&option), 2, &complaint);
        refused(&check(&file("ajar.toml", mode, &inside)), 2, "chmod 600 ");
    }
    file("open.key", 0o600, &format!("# ours\n{KEY}\n"));
    for path in [by_file, file("shut.toml", 0o600, &inside)] {
        let outcome = check(&path);
        assert_eq!((outcome.code, outcome.said.as_str()), (Some(0), ""));
    }
}

#[test]
fn generated_key_file_is_readable_by_its_owner_only() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("made.key");
    let _ = fs::remove_file(&path); // left by an earlier run
    let make = || hustings(&format!("keys generate --out {}", path.display()));
    assert_eq!(make().text(), "");
    let mode = fs::metadata(&path).expect("it was made").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let key = fs::read_to_string(&path).expect("it is ours");
    refused(&make(), 2, "the file exists, and its key may be in use");
    assert_eq!(fs::read_to_string(&path).expect("it is ours"), key);
    assert!(key.len() == 65 && key.trim_end().bytes().all(|it| it.is_ascii_hexdigit()));
    let agent = format!(
        "config check {}",
        file("made.toml", 0o644, "[[group]]\nname = \"web\"\nkey-file = \"made.key\"\n").display()
    );
    assert!(hustings(&agent).text().contains("key set"));
}

#[test]
fn invalid_key_is_never_shown() {
    let bad = &KEY[1..];
    for outcome in [
        hustings(&format!("agent --group web --key {bad}")),
        finish(command("agent --group web").env("HUSTINGS_KEY", bad)),
    ] {
        refused(&outcome, 2, "not a key: 64 hexadecimal digits are needed");
        assert!(!outcome.said.contains(&bad[..8]), "{}", outcome.said);
    }
}

/// The members use an address of their own: the warning would also count frames of other tests.
#[test]
fn member_with_another_key_is_reported() {
    let group = process::group("keys");
    let options = "--bind 127.0.0.1:0 --http 127.0.0.1:0 --multicast 239.255.72.86:7402";
    let agent = |name: &str, key: &str| {
        process::member(&format!("--group {group} --name {name} --key {key} {options}"))
    };
    let mut alpha = agent("alpha", KEY);
    alpha.until_said_containing("alpha leads (this member)");
    let mut beta = agent("beta", &KEY.replace('0', "1"));
    for member in [&mut alpha, &mut beta] {
        let said = member.until_said_containing("is sealed under another key");
        let frame = format!("WARN group `{group}`: a frame from 127.0.0.1:");
        assert!(said.contains(&frame), "{said}");
    }
    let status = hustings(&format!("status --http {}", alpha.http())).text();
    let verdict = "health    warning: leads; no other member found yet; frames of this group under another key";
    assert!(status.contains(verdict), "{status}");
}

#[test]
fn second_agent_on_one_http_address_is_refused() {
    let mut alpha = process::agent(&process::group("first"), "alpha", "127.0.0.1:0");
    let http = alpha.http();
    let second = hustings(&format!("agent --group second --bind 127.0.0.1:0 --http {http}"));
    refused(
        &second,
        1,
        "another agent may use it: choose another address with --http, or --http off",
    );
    assert_eq!(alpha.stop(), Some(0));
    let nobody = hustings(&format!("status --http {http}"));
    refused(
        &nobody,
        1,
        &format!("error: no agent answers at {http}: is `hustings agent` running? (--http ADDR)\n"),
    );
}

#[test]
fn invalid_value_of_a_variable_is_reported_with_its_name() {
    for (variable, value, arguments, complaint) in [
        (
            "HUSTINGS_ANNOUNCE",
            "1ns",
            "agent --group web",
            "error: invalid value '1ns' for 'HUSTINGS_ANNOUNCE': too short: choose from 1ms to 1h\n",
        ),
        (
            "HUSTINGS_INSECURE",
            "perhaps",
            "run --group web -- env --insecure",
            "error: invalid value 'perhaps' for 'HUSTINGS_INSECURE': choose true (or yes, on, 1) or false (or no, off, 0)\n",
        ),
        (
            "HUSTINGS_LOG",
            "loud",
            "agent --group web",
            "error: invalid value 'loud' for 'HUSTINGS_LOG'\n",
        ),
        (
            "HUSTINGS_LISTEN",
            "1ms",
            "agent --group web",
            "error: HUSTINGS_LISTEN: group `web`: listen 1ms is not above announce 100ms",
        ),
        (
            "HUSTINGS_NAME",
            "a b",
            "agent --group web --bind 127.0.0.1:0",
            "error: HUSTINGS_NAME: name `a b`: ",
        ),
        (
            "HUSTINGS_HTTP",
            "off",
            "status",
            "error: invalid value 'off' for 'HUSTINGS_HTTP': an agent that does not listen for HTTP cannot answer: start it with an address, as in --http 127.0.0.1:7480, and give the same address here\n",
        ),
        (
            "HUSTINGS_GROUP",
            "a/b",
            "step-down",
            "error: HUSTINGS_GROUP `a/b` is not the name of a group",
        ),
    ] {
        let outcome = finish(command(arguments).env(variable, value));
        refused(&outcome, 2, complaint);
    }
    let by_option =
        finish(command("agent --group web --announce=1us").env("HUSTINGS_ANNOUNCE", "1ns"));
    refused(&by_option, 2, "invalid value '1us' for '--announce <DURATION>'");
}

#[test]
fn insecure_is_a_switch_in_the_environment_too() {
    let path = file("insecure.toml", 0o600, "bind = \"10.0.0.1:1\"\n[[group]]\nname = \"web\"\n");
    let check = |value: &str| {
        let check = format!("config check {}", path.display());
        finish(command(&check).env("HUSTINGS_INSECURE", value))
    };
    for yes in ["1", "true", "yes", "on"] {
        check(yes).text();
    }
    for no in ["0", "false", "no", "off"] {
        refused(&check(no), 2, "group `web` has no key");
    }
    refused(&check(""), 2, "HUSTINGS_INSECURE");
}

#[test]
fn misspelt_variable_causes_a_warning() {
    let environment = [("HUSTINGS_GRUOP", "web"), ("HUSTINGS_LEADER", "alpha")];
    for arguments in ["agent", "run -- true"] {
        let outcome = finish(command(arguments).envs(environment));
        refused(&outcome, 2, "error: no group to be a member of");
        let warning = "warning: HUSTINGS_GRUOP is not a variable of hustings and has no effect: did you mean HUSTINGS_GROUP?";
        assert_eq!(outcome.said.lines().next(), Some(warning));
        assert_eq!(outcome.said.matches("warning: ").count(), 1);
    }
}

#[test]
fn variable_that_is_not_text_is_named() {
    let nonsense = OsStr::from_bytes(b"\xff");
    let mut line = command("agent --group web");
    // A file name may be any bytes.
    line.env("HUSTINGS_KEY_FILE", nonsense);
    let outcome = finish(line.env("HUSTINGS_BIND", nonsense));
    refused(&outcome, 2, "error: HUSTINGS_BIND is not UTF-8 text: set it again\n");
    let outcome = finish(line.args(["--bind", "127.0.0.1:0", "--name"]).arg(nonsense));
    refused(&outcome, 2, "one or more arguments");
}

/// The program's file is newer than the calendar.
#[test]
fn calendar_before_the_build_is_warned_of_at_the_start() {
    let home = Scratch::new("hustings-calendar");
    let program = home.join("hustings");
    let copied = run(Command::new("cp").arg(env!("CARGO_BIN_EXE_hustings")).arg(&program));
    copied.expect("there is room for a copy");
    let file = fs::File::open(&program).expect("it was copied");
    let now = file.metadata().and_then(|it| it.modified()).expect("it has a time");
    file.set_modified(now + Duration::from_secs(86_400 * 21 / 2)).expect("it is ours");
    let group = process::group("calendar");
    let options = format!("agent --group {group} --name a --bind 127.0.0.1:0 --http off");
    let mut agent = Program::start(&mut hustings_testkit::command(&program, &options));
    agent.until_said_containing(
        "this host's calendar is 10 days before the day on which this program was built: set the clock",
    );
}
