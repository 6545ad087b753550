//! The traces of agents and their merge by `hustings trace`: in the simulator's format, and true.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use hustings_agent::identity::member_id;
use serde_json::Value;

use crate::process::{self, Program, hustings};

const NAMES: [&str; 3] = ["alpha", "beta", "gamma"];

/// A path for a test's own file, with nothing there yet.
fn scratch(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
        Ok(()) | Err(_) => path,
    }
}

/// Starts a member that records a trace. The first name has the highest priority.
fn member(group: &str, name: &str, protocol: &str, trace: &Path) -> Program {
    let priority = NAMES.iter().rev().position(|it| *it == name).unwrap_or(0);
    let mut member = process::start(&format!(
        "agent --events --group {group} --name {name} --priority {priority} --protocol {protocol} \
         --bind 127.0.0.1:0 --http off --trace {}",
        trace.display()
    ));
    member.until("up", |line| line["up"] == true);
    member
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("the trace was written");
    let parse = |line| serde_json::from_str(line).expect("a line is a JSON object");
    text.lines().map(parse).collect()
}

/// Runs a group that loses its leader to SIGKILL and the next one to a clean stop. Returns the
/// merged trace, and the events that each member printed.
fn play(protocol: &str) -> (PathBuf, Vec<Vec<Value>>) {
    let group = process::group(protocol);
    let files = NAMES.map(|name| scratch(&format!("{protocol}-{name}.jsonl")));
    let [mut alpha, mut beta, mut gamma] = {
        let enter = |at: usize| member(&group, NAMES[at], protocol, &files[at]);
        let mut alpha = enter(0);
        alpha.reaches("alpha leads", |line| line["leads"] == true);
        [alpha, enter(1), enter(2)]
    };
    beta.reaches("beta follows", |line| line["leader"] == "alpha");
    gamma.reaches("gamma follows", |line| line["leader"] == "alpha");
    alpha.kill();
    let is_another = |line: &Value| line["leader"].is_string() && line["leader"] != "alpha";
    beta.reaches("another leader", is_another);
    gamma.reaches("another leader", is_another);
    assert_eq!(beta.stop(), Some(0));
    // It is the last leader, even if it has led for a moment before.
    gamma.reaches("gamma leads", |line| line["leads"] == true);
    assert_eq!(gamma.stop(), Some(0));
    let merged = scratch(&format!("{protocol}-merged.jsonl"));
    let [a, b, c] = files.each_ref().map(|path| path.display());
    let outcome = hustings(&format!("trace {a} {b} {c} --out {}", merged.display()));
    assert_eq!(outcome.code, Some(0), "{}", outcome.said);
    assert_eq!(outcome.printed, "");
    let events = [alpha, beta, gamma].map(|mut program| program.printed());
    (merged, events.to_vec())
}

/// Returns the number of a member in the merged trace.
fn number(name: &str) -> u64 {
    let id = member_id(name);
    let is_lower = |other: &&&str| member_id(other) < id;
    NAMES.iter().filter(is_lower).count() as u64
}

/// Identities are strings, so that no program rounds them.
#[track_caller]
fn identity(value: &Value) -> u64 {
    let text = value.as_str().expect("an identity is a string");
    text.parse().expect("of digits")
}

/// Returns the leaders that each member named in the trace, change by change. A member that has
/// heard of a leader before it starts goes on to name it.
fn stories(trace: &[Value]) -> BTreeMap<u64, Vec<Option<u64>>> {
    let mut stories: BTreeMap<u64, Vec<Option<u64>>> = BTreeMap::new();
    for line in trace {
        let leader = match (&line["kind"], &line["outcome"]) {
            (kind, outcome) if kind == "outcome" && *outcome == "Vacant" => None,
            (kind, outcome) if kind == "outcome" && outcome["Nominee"].is_object() => {
                Some(identity(&outcome["Nominee"]["id"]))
            }
            _ => continue,
        };
        let member = identity(&line["member"]);
        let story = stories.entry(member).or_default();
        if story.last().copied().flatten() != leader {
            story.push(leader);
        }
    }
    stories
}

/// Checks that the merged trace and the printed events agree for each member.
#[track_caller]
fn tells_the_same_story(trace: &[Value], events: &[Vec<Value>]) {
    let stories = stories(trace);
    for (name, events) in NAMES.iter().zip(events) {
        let story = stories.get(&number(name)).expect("everyone named somebody");
        let mut changes = 0;
        for event in events.iter().filter(|event| event["changes"].is_u64()) {
            changes = event["changes"].as_u64().expect("a number") as usize;
            let leader = event["leader"].as_str().map(number);
            // Alpha was killed: its last change may have been printed and not yet recorded.
            match story.get(changes - 1) {
                Some(told) => assert_eq!(*told, leader, "{name}: {event}; {story:?}"),
                None => assert_eq!(*name, "alpha", "{event} is missing: {story:?}"),
            }
        }
        assert!(changes > 0, "{name} told nothing");
        assert!(story.len() <= changes, "{name} never told: {story:?}");
    }
    let of = |name: &str| stories[&number(name)].as_slice();
    assert_eq!(of("alpha").first(), Some(&Some(number("alpha"))));
    let gammas: Vec<u64> = of("gamma").iter().copied().flatten().collect();
    let mut after = gammas.iter().skip_while(|it| **it != number("alpha"));
    assert!(after.any(|it| *it != number("alpha")), "{gammas:?}");
}

/// Returns a line with every number as 0 and every flag as false: its keys, their order, and the
/// other values.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        shape.push_str(&rest[..at]);
        shape.push('0');
        let number = rest[at..].find(|c: char| !c.is_ascii_digit() && !"e.-".contains(c));
        rest = number.map_or("", |length| &rest[at + length..]);
    }
    shape.push_str(rest);
    shape.replace(":true", ":false")
}

/// Returns the subject of a line: lines with equal subjects must have equal shapes.
fn subject(line: &str) -> String {
    let line: Value = serde_json::from_str(line).expect("a line is a JSON object");
    let outcome = line["outcome"].as_object().and_then(|it| it.keys().next());
    let parts = [&line["kind"], &line["name"], &line["timer"]].map(|it| it.as_str());
    format!("{parts:?} {outcome:?}, {}", line["joined"].is_null())
}

/// Returns the simulator's trace of a group that loses its leader, gets it back and is left by
/// another.
fn simulated(test: &str, protocol: &str) -> String {
    let family = protocol.split(" ").next().unwrap_or_default();
    let scenario = scratch(&format!("{test}-{family}.txt"));
    let script = "at 0s start 0\nat 2s kill best\nat 5s restart 2\nat 8s leave 1\n";
    fs::write(&scenario, script).expect("files can be written");
    let trace = scratch(&format!("{test}-{family}-simulated.jsonl"));
    let (scenario, out) = (scenario.display(), trace.display());
    hustings(&format!(
        "sim {protocol} --members 3 --runs 1 --scenario {scenario} --until 12s --trace {out}"
    ))
    .text();
    fs::read_to_string(&trace).expect("the trace was written")
}

/// Checks that the merged trace has the simulator's kinds of lines, each with the same fields in
/// the same order.
#[track_caller]
fn looks_like_a_simulators(trace: &Path, protocol: &str, common: &[&str]) {
    let field = fs::read_to_string(trace).expect("the trace was written");
    // In the simulator only the bully has views.
    let simulated = simulated(protocol, "suppress") + &simulated(protocol, "bully --detect 10ms");
    let shapes: BTreeSet<String> = simulated.lines().map(shape).collect();
    let subjects: BTreeSet<String> = simulated.lines().map(subject).collect();
    let mut kinds = BTreeSet::new();
    for line in field.lines().filter(|it| subjects.contains(&subject(it))) {
        assert!(shapes.contains(&shape(line)), "{line}\n{shapes:#?}");
        let line: Value = serde_json::from_str(line).expect("a line is a JSON object");
        kinds.insert(line["kind"].as_str().expect("a text").to_owned());
    }
    for kind in common {
        assert!(kinds.contains(*kind), "no {kind} in {kinds:?}");
    }
    let kinds = |text: &str| -> BTreeSet<String> {
        let kind = |line| subject(line).split(',').next().map(str::to_owned);
        text.lines().filter_map(kind).collect()
    };
    let (field, simulated) = (kinds(&field), kinds(&simulated));
    assert!(field.is_subset(&simulated), "{field:?}, {simulated:?}");
}

#[track_caller]
fn is_in_order_and_begins_at_0(trace: &[Value]) {
    let times: Vec<f64> = trace.iter().filter_map(|it| it["time"].as_f64()).collect();
    assert_eq!(times.len(), trace.len());
    assert_eq!(times.first(), Some(&0.0));
    assert!(times.is_sorted(), "{times:?}");
    let members: BTreeSet<u64> = trace
        .iter()
        .filter(|it| !it["member"].is_null())
        .map(|it| identity(&it["member"]))
        .collect();
    assert_eq!(members, BTreeSet::from([0, 1, 2]));
}

#[test]
fn recorded_announce_election_reads_like_a_simulated_one() {
    let (merged, events) = play("suppress");
    let trace = lines(&merged);
    is_in_order_and_begins_at_0(&trace);
    tells_the_same_story(&trace, &events);
    let kinds = ["deliver", "multicast", "outcome", "scenario", "start", "timer"];
    looks_like_a_simulators(&merged, "suppress", &kinds);
}

#[test]
fn recorded_bully_election_reads_like_a_simulated_one() {
    let (merged, events) = play("bully");
    let trace = lines(&merged);
    is_in_order_and_begins_at_0(&trace);
    tells_the_same_story(&trace, &events);
    let kinds = ["deliver", "outcome", "scenario", "send", "start", "view"];
    looks_like_a_simulators(&merged, "bully", &kinds);
}

#[test]
fn restarted_member_appends_to_its_trace() {
    let group = process::group("again");
    let file = scratch("again.jsonl");
    for _ in 0..2 {
        let mut alpha = member(&group, "alpha", "suppress", &file);
        alpha.reaches("alpha leads", |line| line["leads"] == true);
        assert_eq!(alpha.stop(), Some(0));
    }
    let merged = hustings(&format!("trace {}", file.display()));
    let who = format!("member 0: {} (identity {})", file.display(), member_id("alpha"));
    assert_eq!(merged.said.trim_end(), who);
    let merged = merged.text();
    let count = |what: &str| merged.matches(what).count();
    assert_eq!(count("\"kind\":\"start\",\"member\":\"0\"}"), 2, "{merged}");
    assert_eq!(count("\"verb\":\"leave 0\""), 2, "{merged}");
}

#[test]
fn agent_with_a_full_trace_disk_reports_once_and_goes_on() {
    let group = process::group("full");
    let mut alpha = member(&group, "alpha", "suppress", Path::new("/dev/full"));
    alpha.until_said_containing("trace /dev/full: No space left on device (os error 28): recording stops, the agent goes on");
    alpha.reaches("alpha leads", |line| line["leads"] == true);
    let mut beta = process::agent(&group, "beta", "off");
    beta.until("beta follows", |line| line["leader"] == "alpha");
    let said = alpha.has_said();
    assert!(!said.iter().any(|line| line.contains("trace")), "{said:?}");
    assert_eq!(alpha.stop(), Some(0));
}
