//! Traces of agents and of the simulator, and scenarios.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::sample::Samples;

/// Identities of the members that recorded the traces. They follow from the names.
const ALPHA: &str = "3032560905890452387";
const BETA: &str = "206976639848125788";
const GAMMA: &str = "6169063817379178926";

fn lines(text: &str) -> Vec<Value> {
    let lines = text.lines().map(serde_json::from_str);
    lines.map(|line| line.expect("a line is JSON")).collect()
}

/// The number of lines of each kind.
fn kinds(lines: &[Value]) -> BTreeMap<&str, usize> {
    let mut kinds = BTreeMap::new();
    for line in lines {
        *kinds.entry(line["kind"].as_str().expect("a kind")).or_default() += 1;
    }
    kinds
}

/// The kind and the members of each line, in alphabetical order. Members are given by their places
/// in `ids`, in which each of them occurs, as a number or as a string.
#[track_caller]
fn steps(lines: &[Value], ids: &[&str]) -> Vec<String> {
    let place = |line: &Value, key: &str| {
        let id = line.get(key)?.to_string();
        let place = ids.iter().position(|it| *it == id.trim_matches('"'));
        Some(place.unwrap_or_else(|| panic!("an unknown member: {line}")))
    };
    let step = |line: &Value| {
        let members = ["member", "from", "to"].map(|key| place(line, key));
        format!("{} {members:?}", line["kind"])
    };
    let mut steps: Vec<String> = lines.iter().map(step).collect();
    steps.sort_unstable();
    steps
}

fn time(line: &Value) -> f64 {
    line["time"].as_f64().expect("a time")
}

/// The traces of one group become one, and no line is lost. Members are numbered in the order of
/// their identities.
#[track_caller]
fn assert_merged(protocol: &str, members: &[(&str, &str)]) {
    let samples = Samples::copy("agent_traces", &format!("trace_{protocol}"));
    let files: Vec<String> =
        members.iter().map(|(name, _)| format!("{protocol}-{name}.jsonl")).collect();
    let merged = samples.run(&format!("trace {}", files.join(" ")), &[]);
    let identities: Vec<&str> = members.iter().map(|(_, identity)| *identity).collect();
    let merged = merged.expect_code(0).expect_words(&identities);
    let recorded: String = files.iter().map(|file| samples.read(file)).collect();
    let (recorded, merged) = (lines(&recorded), lines(merged.printed()));
    assert_eq!(kinds(&recorded), kinds(&merged));
    assert_eq!(time(&merged[0]), 0.0);
    assert!(merged.is_sorted_by(|one, other| time(one) <= time(other)));
    let first = recorded.iter().map(time).fold(f64::INFINITY, f64::min);
    let last = recorded.iter().map(time).fold(0.0, f64::max);
    let length = time(merged.last().expect("a line"));
    assert!((length - (last - first)).abs() < 1e-6, "{length}");
    let numbers: Vec<String> = (0..members.len()).map(|it| it.to_string()).collect();
    let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
    assert_eq!(steps(&recorded, &identities), steps(&merged, &numbers));
}

#[test]
fn traces_of_suppress_are_merged() {
    let members = [("beta", BETA), ("alpha", ALPHA), ("gamma", GAMMA)];
    assert_merged("suppress", &members);
}

#[test]
fn traces_of_other_protocols_are_merged() {
    for protocol in ["bully", "chang-roberts", "modified-ring", "probabilistic"] {
        assert_merged(protocol, &[("beta", BETA), ("alpha", ALPHA)]);
    }
}

/// A scenario of today's simulator has the same kinds of lines at the same times as the sample.
#[track_caller]
fn assert_repeated(protocol: &str, options: &str) {
    let samples = Samples::copy("simulator", &format!("simulated_{protocol}"));
    let simulated = samples.run(&format!("sim {protocol} {options} --trace new.jsonl"), &[]);
    simulated.expect_code(0);
    let sample = lines(&samples.read(&format!("{protocol}.jsonl")));
    let new = lines(&samples.read("new.jsonl"));
    let facts = |lines: &[Value]| -> Vec<(Value, Value)> {
        let facts = lines.iter();
        facts.map(|it| (it["time"].clone(), it["kind"].clone())).collect()
    };
    assert_eq!(facts(&sample), facts(&new));
    // The command that merges traces reads all but the lines of the scenario, which no agent has.
    let mut agents = String::new();
    for line in sample.iter().filter(|line| line["kind"] != "scenario") {
        agents += &format!("{line}\n");
    }
    samples.write("agents.jsonl", &agents);
    let merged = samples.run("trace agents.jsonl", &[]).expect_code(0);
    assert_eq!(kinds(&lines(&agents)), kinds(&lines(merged.printed())));
    let refused = samples.run(&format!("trace {protocol}.jsonl"), &[]);
    let place = format!("{protocol}.jsonl:1");
    refused.expect_code(2).expect_words(&[&place]);
}

#[test]
fn scenario_with_every_verb_gives_the_sampled_trace() {
    let options = "--members 6 --scenario many-faults.txt --until 4s --runs 1";
    assert_repeated("bully", options);
}

#[test]
fn scenario_of_the_guide_gives_the_sampled_trace() {
    let options = "--members 5 --order ascending --scenario coordinator-dies.txt --runs 1";
    assert_repeated("modified-ring", options);
}
