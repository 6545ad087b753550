//! The recorded answers: read and compared, or written anew.

use std::collections::{BTreeMap, BTreeSet};
use std::{env, fs};

use serde_json::Value;

use crate::program::{Workplace, home};
use crate::renames::Renames;
use crate::{answer, compare, json};

/// Compares all answers of one list, or records them anew if FROZEN says so. Returns one text for
/// each command whose answer differs.
pub(crate) fn failures(name: &str) -> Vec<String> {
    let commands = commands(name);
    let workplace = Workplace::new(name);
    if is_overwriting() {
        record(name, &commands, &workplace);
        return Vec::new();
    }
    let mut recorded = read(name);
    let renames = Renames::read();
    let mut failures = Vec::new();
    for command in &commands {
        let problem = match (recorded.remove(command), answer::to(command, &workplace)) {
            (None, _) => "  no answer is recorded".to_owned(),
            (Some(_), Err(error)) => format!("  {error}"),
            (Some(old), Ok(new)) => compare::differences(&renames.apply(&old, ""), &new),
        };
        if !problem.is_empty() {
            failures.push(format!("hustings {command}\n{problem}"));
        }
    }
    let unlisted = recorded.into_keys();
    failures.extend(unlisted.map(|it| format!("hustings {it}\n  is recorded, and not listed")));
    failures
}

/// The command lines of `commands/NAME.txt`, each once.
fn commands(name: &str) -> Vec<String> {
    let path = home().join(format!("commands/{name}.txt"));
    let text = fs::read_to_string(path).expect("the list of commands is readable");
    let lines = text.lines().filter(|it| !it.is_empty() && !it.starts_with('#'));
    let commands: Vec<String> = lines.map(str::to_owned).collect();
    let mut seen = BTreeSet::new();
    for command in &commands {
        assert!(seen.insert(command), "{name}.txt lists twice: {command}");
    }
    commands
}

/// The answers of `recorded/NAME.jsonl`, by command.
fn read(name: &str) -> BTreeMap<String, Value> {
    let path = home().join(format!("recorded/{name}.jsonl"));
    let text = fs::read_to_string(path).expect("the recorded answers are readable");
    let entries = text.lines().map(|line| {
        let mut entry = json::parse(line).expect("a recorded answer is JSON");
        let command = entry["command"].as_str().expect("a command").to_owned();
        (command, entry["answer"].take())
    });
    entries.collect()
}

fn record(name: &str, commands: &[String], workplace: &Workplace) {
    let mut text = String::new();
    for command in commands {
        let answer = answer::to(command, workplace)
            .unwrap_or_else(|error| panic!("hustings {command}: {error}"));
        let (command, answer) = (Value::from(command.as_str()), json::write(&answer));
        text += &format!("{{\"command\":{command},\"answer\":{answer}}}\n");
    }
    let path = home().join(format!("recorded/{name}.jsonl"));
    fs::write(path, text).expect("the answers can be written");
}

fn is_overwriting() -> bool {
    match env::var("FROZEN").as_deref() {
        Err(_) => false,
        Ok("overwrite") => true,
        Ok(other) => panic!("FROZEN={other}: choose overwrite, or leave it out to compare"),
    }
}

#[test]
fn every_rename_occurs_in_a_recorded_answer() {
    if is_overwriting() {
        return;
    }
    let renames = Renames::read();
    for entry in fs::read_dir(home().join("recorded")).expect("recorded/ is readable") {
        let path = entry.expect("entries are readable").path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        for answer in read(&name).values() {
            renames.apply(answer, "");
        }
    }
    let unused = renames.unused();
    assert!(
        unused.is_empty(),
        "renamed_keys.txt: no recorded answer has the old name: {}",
        unused.join(", ")
    );
}
