//! Rules about the crates, and who may know whom.

use crate::{assert_none, root};
use serde_json::Value;
use std::fs;
use std::process::Command;

/// Which crates of ours each crate may use, in its tests too. Arrows point one way.
const MAY_USE: &[(&str, &[&str])] = &[
    ("hustings-protocol", &[]),
    ("hustings-theory", &["hustings-protocol"]),
    ("hustings-sim", &["hustings-protocol", "hustings-theory"]),
    (
        "hustings-agent",
        &["hustings-protocol", "hustings-theory", "hustings-fence"],
    ),
    ("hustings-fence", &["hustings-protocol"]),
    (
        "hustings",
        &[
            "hustings-protocol",
            "hustings-theory",
            "hustings-sim",
            "hustings-agent",
            "hustings-fence",
        ],
    ),
    ("hustings-model", &["hustings-protocol"]),
    (
        "hustings-benches",
        &[
            "hustings-protocol",
            "hustings-theory",
            "hustings-sim",
            "hustings-agent",
        ],
    ),
    ("xtask", &[]),
];

/// All that the protocols may use of the world outside, save in their tests.
const PROTOCOL_MAY_USE: &[&str] = &["rand_core", "serde"];

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
fn arrows_between_crates_point_one_way() {
    let mut broken = Vec::new();
    for package in packages() {
        let name = &package.name;
        let Some((_, allowed)) = MAY_USE.iter().find(|(user, _)| user == name) else {
            broken.push(format!(
                "{name}: unknown here: say in MAY_USE what it may use"
            ));
            continue;
        };
        for used in package.dependencies.iter().filter(|used| used.is_ours) {
            if !allowed.contains(&used.name.as_str()) {
                broken.push(format!("{name} must not know {}", used.name));
            }
        }
    }
    assert_none(&broken);
}

#[test]
fn the_protocols_depend_on_chance_and_serde_alone() {
    let packages = packages();
    let protocol = packages
        .iter()
        .find(|package| package.name == "hustings-protocol");
    let used = &protocol.expect("the protocols are a crate").dependencies;
    let broken: Vec<String> = used
        .iter()
        .filter(|used| !used.is_for_tests && !PROTOCOL_MAY_USE.contains(&used.name.as_str()))
        .map(|used| format!("hustings-protocol must not depend on {}", used.name))
        .collect();
    assert_none(&broken);
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    let broken: Vec<String> = packages()
        .iter()
        .filter(|package| !inherits_lints(&package.manifest))
        .map(|package| {
            format!(
                "{}: add `[lints]`, `workspace = true` to its Cargo.toml",
                package.name
            )
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
    let lines: Vec<&str> = manifest
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines.contains(&"lints.workspace = true")
        || lines
            .windows(2)
            .any(|pair| pair == ["[lints]", "workspace = true"])
}

/// The members of the workspace, as cargo sees them.
fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--offline",
            "--no-deps",
            "--format-version",
            "1",
        ])
        .current_dir(root())
        .output()
        .expect("cargo starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    list(&metadata["packages"]).iter().map(package).collect()
}

fn package(json: &Value) -> Package {
    let manifest = fs::read_to_string(text(&json["manifest_path"]));
    Package {
        name: text(&json["name"]).to_owned(),
        manifest: manifest.expect("manifests are readable"),
        dependencies: list(&json["dependencies"]).iter().map(dependency).collect(),
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
