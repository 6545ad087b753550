//! Rules about the dependencies between crates.

use crate::{assert_none, root};
use serde_json::Value;
use std::fs;
use std::process::Command;

/// The crates of this workspace that each crate may use, in its tests too. There are no cycles.
const MAY_USE: &[(&str, &[&str])] = &[
    ("hustings-protocol", &[]),
    ("hustings-theory", &["hustings-protocol"]),
    ("hustings-sim", &["hustings-protocol", "hustings-theory"]),
    ("hustings-system", &["hustings-protocol"]),
    ("hustings-draw", &["hustings-protocol", "hustings-theory", "hustings-system"]),
    ("hustings-authority", &["hustings-protocol", "hustings-system", "hustings-fence"]),
    ("hustings-supervise", &["hustings-protocol", "hustings-system", "hustings-authority"]),
    (
        "hustings-node",
        &[
            "hustings-protocol",
            "hustings-theory",
            "hustings-authority",
            // Only in its tests, which read the calendar: see `node_has_no_clock_and_no_socket`.
            "hustings-system",
        ],
    ),
    (
        "hustings-agent",
        &[
            "hustings-protocol",
            "hustings-system",
            "hustings-authority",
            "hustings-node",
            "hustings-supervise",
            "hustings-fence",
        ],
    ),
    ("hustings-fence", &["hustings-protocol"]),
    (
        "hustings",
        &[
            "hustings-protocol",
            "hustings-theory",
            "hustings-sim",
            "hustings-system",
            "hustings-draw",
            "hustings-agent",
            "hustings-fence",
        ],
    ),
    (
        "hustings-evidence",
        &[
            "hustings-protocol",
            "hustings-theory",
            "hustings-sim",
            // One claim is about the size of a datagram.
            "hustings-agent",
        ],
    ),
    (
        "hustings-cli",
        &[
            "hustings",
            "hustings-draw",
            "hustings-evidence",
            "hustings-protocol",
            "hustings-theory",
            "hustings-sim",
            "hustings-system",
            "hustings-agent",
            "hustings-fence",
            // The demo starts agents and reads their lines.
            "hustings-testkit",
        ],
    ),
    ("hustings-model", &["hustings-protocol"]),
    (
        "hustings-benches",
        &["hustings-protocol", "hustings-theory", "hustings-sim", "hustings-node"],
    ),
    ("hustings-field", &["hustings-protocol", "hustings-sim", "hustings-testkit"]),
    ("hustings-testkit", &[]),
    ("xtask", &[]),
];

/// The external crates that the protocols may use outside their tests.
const PROTOCOL_MAY_USE: &[&str] = &["rand_core", "serde", "thiserror", "tinyvec"];

/// Crates with clocks, sockets or disks. A node must not depend on them.
const NODE_MUST_NOT_USE: &[&str] = &[
    "hustings-agent",
    "hustings-fence",
    "hustings-supervise",
    "hustings-system",
    "if-addrs",
    "rustix",
    "socket2",
];

/// The crates that run on real hosts with numbers of messages and disks, and keep overflow checks
/// in the release profile.
const CHECK_OVERFLOW: &[&str] =
    &["agent", "authority", "draw", "fence", "node", "protocol", "supervise", "system"];

struct Package {
    name: String,
    manifest: String,
    dependencies: Vec<Dependency>,
}

struct Dependency {
    name: String,
    is_ours: bool,
    is_for_tests: bool,
}

#[test]
fn crates_use_only_allowed_crates() {
    let mut broken = Vec::new();
    for package in packages() {
        let name = &package.name;
        let Some((_, allowed)) = MAY_USE.iter().find(|(user, _)| user == name) else {
            broken.push(format!("{name}: unknown here: say in MAY_USE what it may use"));
            continue;
        };
        // A crate's tests may enable its own features.
        let others = |used: &&Dependency| used.is_ours && used.name != *name;
        for used in package.dependencies.iter().filter(others) {
            if !allowed.contains(&used.name.as_str()) {
                broken.push(format!("{name} must not know {}", used.name));
            }
        }
    }
    assert_none(&broken);
}

#[test]
fn protocols_depend_only_on_the_listed_crates() {
    let packages = packages();
    let protocol = packages.iter().find(|package| package.name == "hustings-protocol");
    let used = &protocol.expect("the protocols are a crate").dependencies;
    let broken: Vec<String> = used
        .iter()
        .filter(|used| !used.is_for_tests && !PROTOCOL_MAY_USE.contains(&used.name.as_str()))
        .map(|used| format!("hustings-protocol must not depend on {}", used.name))
        .collect();
    assert_none(&broken);
}

#[test]
fn node_has_no_clock_and_no_socket() {
    let packages = packages();
    let node = packages.iter().find(|package| package.name == "hustings-node");
    let used = &node.expect("the node is a crate").dependencies;
    let broken: Vec<String> = used
        .iter()
        .filter(|used| !used.is_for_tests && NODE_MUST_NOT_USE.contains(&used.name.as_str()))
        .map(|used| format!("hustings-node must not depend on {}", used.name))
        .collect();
    assert_none(&broken);
}

#[test]
fn every_crate_inherits_the_lints_of_the_workspace() {
    let broken: Vec<String> = packages()
        .iter()
        .filter(|package| !inherits_lints(&package.manifest))
        .map(|package| {
            format!("{}: add `[lints]`, `workspace = true` to its Cargo.toml", package.name)
        })
        .collect();
    assert_none(&broken);
}

#[test]
fn inherited_lints_are_recognised() {
    assert!(inherits_lints("[package]\n\n[lints]\nworkspace = true\n"));
    assert!(inherits_lints("lints.workspace = true\n"));
    assert!(!inherits_lints("[dependencies]\nworkspace = true\n"));
    assert!(!inherits_lints("[lints]\nworkspace = false\n"));
}

fn inherits_lints(manifest: &str) -> bool {
    let lines: Vec<&str> =
        manifest.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.contains(&"lints.workspace = true")
        || lines.windows(2).any(|pair| pair == ["[lints]", "workspace = true"])
}

/// A number from a message or a disk that wraps around would be a fence or a time of the past.
#[test]
fn release_profile_keeps_overflow_checks() {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).expect("it is readable");
    let lines: Vec<&str> = workspace.lines().collect();
    let has_checks = |name: &&&str| {
        let profile = format!("[profile.release.package.hustings-{name}]");
        lines.windows(2).any(|pair| pair == [&profile, "overflow-checks = true"])
    };
    let broken = CHECK_OVERFLOW.iter().filter(|it| !has_checks(it));
    let broken = broken.map(|it| format!("Cargo.toml: hustings-{it} needs overflow checks"));
    assert_none(&broken.collect::<Vec<String>>());
}

/// Returns the members of the workspace from cargo's metadata.
fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    list(&metadata["packages"]).iter().map(package).collect()
}

fn package(json: &Value) -> Package {
    let manifest = fs::read_to_string(text(&json["manifest_path"]));
    Package {
        name: text(&json["name"]).to_owned(),
        manifest: manifest.expect("manifests are readable"),
        dependencies: list(&json["dependencies"])
            .iter()
            .map(dependency)
            // The tests of any crate may use it to start programs.
            .filter(|used| !(used.is_for_tests && used.name == "hustings-testkit"))
            .collect(),
    }
}

fn dependency(json: &Value) -> Dependency {
    Dependency {
        name: text(&json["name"]).to_owned(),
        is_ours: json["path"].is_string(),
        is_for_tests: json["kind"] == "dev",
    }
}

fn list(json: &Value) -> &[Value] {
    json.as_array().expect("a list in cargo's metadata")
}

fn text(json: &Value) -> &str {
    json.as_str().expect("a text in cargo's metadata")
}
