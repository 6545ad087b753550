//! Checks that clippy.toml takes effect: code that breaks a ban does not pass clippy.

use crate::root;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Each ban, and code that breaks it.
const BREACHES: &[(&str, &str)] = &[
    ("std::time::Instant", "type A = std::time::Instant;"),
    ("std::time::SystemTime", "type B = std::time::SystemTime;"),
    ("std::collections::HashMap", "type C = std::collections::HashMap<u8, u8>;"),
    ("std::collections::HashSet", "type D = std::collections::HashSet<u8>;"),
    ("std::hash::RandomState", "type E = std::hash::RandomState;"),
    ("std::time::Instant::now", "fn f() { _ = std::time::Instant::now(); }"),
    ("std::time::SystemTime::now", "fn g() { _ = std::time::SystemTime::now(); }"),
    ("std::thread::sleep", "fn h() { std::thread::sleep(core::time::Duration::ZERO); }"),
    ("rand::rng", "fn i() { rand::rng(); }"),
    ("rand::random", "fn j() { rand::random(); }"),
];

/// Code that breaks no ban.
const LAWFUL: &str = "type Z = std::collections::BTreeMap<u8, core::time::Duration>;";

#[test]
fn every_ban_is_tested() {
    let banned = clippy_toml();
    let banned = banned
        .lines()
        .filter_map(|line| line.trim().strip_prefix("{ path = \"")?.split('"').next());
    assert_eq!(banned.collect::<BTreeSet<_>>(), breached());
}

#[test]
fn clippy_refuses_every_breach_and_accepts_other_code() {
    let code = BREACHES.iter().map(|(_, code)| *code).chain([LAWFUL]);
    let code: String = code.map(|item| format!("pub {item}\n")).collect();
    let refused = refused(&code);
    assert_eq!(refused.iter().map(String::as_str).collect::<BTreeSet<_>>(), breached());
}

fn breached() -> BTreeSet<&'static str> {
    BREACHES.iter().map(|(ban, _)| *ban).collect()
}

fn clippy_toml() -> String {
    fs::read_to_string(root().join("clippy.toml")).expect("clippy.toml is readable")
}

/// Returns the bans that `code` breaks, according to clippy.
fn refused(code: &str) -> BTreeSet<String> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clippy-bans");
    // A substitute for rand, so that no download is needed.
    write(&home.join("rand/Cargo.toml"), "package = { name = \"rand\", edition = \"2024\" }");
    write(&home.join("rand/src/lib.rs"), "pub fn rng() {} pub fn random() {}");
    write(
        &home.join("Cargo.toml"),
        "package = { name = \"offender\", edition = \"2024\" }\n\
         dependencies = { rand = { path = \"rand\" } }\n\
         workspace = {}",
    );
    write(&home.join("src/lib.rs"), code);
    write(&home.join("clippy.toml"), &clippy_toml());

    let output = Command::new(env!("CARGO"))
        .args(["clippy", "--offline", "--message-format=json"])
        .args(["--", "-D", "warnings"])
        .current_dir(&home)
        .env("CARGO_TARGET_DIR", home.join("target"))
        .env_remove("CLIPPY_CONF_DIR")
        .output()
        .expect("cargo clippy starts");
    assert!(!output.status.success(), "clippy let all of it pass");
    let said = String::from_utf8(output.stdout).expect("clippy writes UTF-8");
    said.lines().filter_map(refused_path).collect()
}

/// Returns the path in "use of a disallowed type `std::time::Instant`", if the message is of that
/// kind.
fn refused_path(said: &str) -> Option<String> {
    let said: Value = serde_json::from_str(said).expect("clippy writes JSON");
    let message = &said["message"];
    let text = message["message"].as_str()?;
    let (_, rest) = text.split_once("use of a disallowed ")?;
    assert_eq!(message["level"], "error", "{text}");
    Some(rest.split('`').nth(1)?.to_owned())
}

fn write(file: &Path, text: &str) {
    let directory = file.parent().expect("a file lies in a directory");
    fs::create_dir_all(directory).expect("directories can be made");
    fs::write(file, text).expect("files can be written");
}
