//! The program as a process: its streams, files and signals.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::run::{hustings, object, outcome, printed};

/// A path for a test's own file, with nothing there yet.
fn scratch(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
        Ok(()) | Err(_) => path,
    }
}

#[test]
fn reports_go_to_standard_output_and_errors_to_standard_error() {
    assert!(printed("theory bully").starts_with("bully, in theory: 100 members"));
    for arguments in ["sim bully --loss 1.5", "theory bully --loss 0.5"] {
        let outcome = outcome(arguments);
        assert_eq!(outcome.status.code(), Some(2), "hustings {arguments}");
        assert!(outcome.stdout.is_empty(), "hustings {arguments}");
        assert!(outcome.stderr.starts_with(b"error: "), "hustings {arguments}");
    }
}

#[test]
fn closed_pipe_is_no_error() {
    let mut program = hustings("sim bully --members 50 --runs 2000 --format csv")
        .spawn()
        .expect("the program starts");
    drop(program.stdout.take());
    let outcome = program.wait_with_output().expect("the program ends");
    assert_eq!(outcome.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&outcome.stderr), "");
}

#[test]
fn trace_has_every_message_of_the_first_run() {
    let path = scratch("trace.jsonl");
    let options = "sim bully --members 6 --loss 0.2 --view 0.8 --crash 0.02 --seed 5";
    let report = object(&format!("{options} --runs 1 --trace {}", path.display()));
    let text = fs::read_to_string(&path).expect("the trace was written");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is a JSON object"))
        .collect();
    let sent = lines.iter().filter(|line| line["kind"] == "send").count();
    assert_eq!(report["metrics"]["messages"]["max"], sent as f64, "{text}");
    assert!(lines.is_sorted_by_key(|line| line["time"].as_f64()), "time goes on: {text}");

    object(&format!("{options} --runs 40 --trace {}", path.display()));
    let again = fs::read_to_string(&path).expect("the trace was written");
    assert_eq!(text, again, "the first run is the same, however many follow");
}

/// The election by rounds is called by a client that is not a member but sends.
#[test]
fn trace_has_every_message_of_every_round() {
    let path = scratch("rounds.jsonl");
    let options = "sim probabilistic --members 30 --loss 0.5 --view 0.3 --seed 4 --runs 1 --trace";
    let report = object(&format!("{options} {}", path.display()));
    let text = fs::read_to_string(&path).expect("the trace was written");
    let lines = text.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("a line is a JSON object");
        line["kind"].as_str().expect("a kind").to_owned()
    });
    let kinds: Vec<String> = lines.collect();
    let metrics = &report["metrics"];
    for (kind, metric) in [("send", "unicasts"), ("multicast", "multicasts")] {
        let sent = kinds.iter().filter(|it| *it == kind).count();
        assert_eq!(metrics[metric]["max"], sent as f64, "{kind}");
    }
    let rounds = metrics["rounds"]["max"].as_f64().expect("a number");
    assert!(rounds > 1.0, "the seed has several rounds: {rounds}");
}

/// A group that announces its leader for ever is recorded until all members have heard it.
#[test]
fn trace_ends_with_the_election() {
    let path = scratch("announced.jsonl");
    let options = "sim suppress --members 6 --loss 0.3 --seed 5 --runs 1 --trace";
    let report = object(&format!("{options} {}", path.display()));
    let text = fs::read_to_string(&path).expect("the trace was written");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is a JSON object"))
        .collect();
    let delay = report["metrics"]["delay"]["max"].as_f64().expect("a delay");
    let time = |line: &Value| line["time"].as_f64().expect("a time");
    let sent =
        lines.iter().filter(|line| line["kind"] == "multicast" && time(line) <= delay).count();
    assert_eq!(report["metrics"]["messages"]["max"], sent as f64, "{text}");
    let last = lines.last().map(time).expect("something happened");
    assert!(delay <= last && last <= delay + 1.0, "{delay}: {text}");
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_is_a_failure_not_a_usage_error() {
    let traced = outcome("sim bully --runs 1 --trace /dev/full");
    assert_eq!(traced.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&traced.stderr),
        "error: --trace /dev/full: No space left on device (os error 28)\n"
    );
}

/// A full disk is a failure. A reader that has gone changes no exit code: that is the verdict.
#[cfg(target_os = "linux")]
#[test]
fn report_that_cannot_be_written_is_a_failure_and_no_panic() {
    use std::path::Path;
    use std::process::Stdio;

    let voter = "--group g --name a --voters a,b,c --bind 127.0.0.1:0";
    let voter = format!("{voter} --state {}/shown-voter", env!("CARGO_TARGET_TMPDIR"));
    // A file that remains from an earlier run does as well.
    outcome(&format!("voter init --new --within 1s {voter}"));
    let check = "council --seats 2..3 --max-guess 100 --round 100ms --hosts hosts.txt --check";
    let (proved, refilled) = ("lottery 4 8 15 16 23 42", "lottery 1 2 3 5 8 13");
    let all = "alpha.jsonl beta.jsonl gamma.jsonl";
    for (samples, arguments, coin, code) in [
        ("council", format!("{check} proved.jsonl --public-coin"), Some(proved), 0),
        ("council", format!("{check} refilled.jsonl --public-coin"), Some(refilled), 3),
        ("draw", format!("draw verify --ring ring.toml {all} delta.jsonl"), None, 0),
        ("cheated_draw", format!("draw verify --ring ring.toml {all}"), None, 1),
        ("agent_traces", "trace bully-alpha.jsonl bully-beta.jsonl".to_owned(), None, 0),
        ("", "theory bully".to_owned(), None, 0),
        ("", "sim bully --runs 2".to_owned(), None, 0),
        ("", "config example".to_owned(), None, 0),
        ("", format!("voter show {voter}"), None, 0),
    ] {
        let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old_files/samples");
        let written_to = |stdout: Stdio| {
            let mut program = hustings(&arguments);
            program.args(coin).current_dir(home.join(samples)).stdout(stdout);
            let outcome = program.output().expect("the program starts");
            let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
            (outcome.status.code(), said)
        };
        let (ended, said) = written_to(Stdio::piped());
        assert_eq!(ended, Some(code), "{arguments}: {said}");
        let (_, closed) = std::io::pipe().expect("pipes can be made");
        let (ended, said) = written_to(closed.into());
        assert_eq!(ended, Some(code), "{arguments}: {said}");
        let full = fs::File::create("/dev/full").expect("there is a full device");
        let (ended, said) = written_to(full.into());
        assert_eq!(ended, Some(1), "{arguments}: {said}");
        let why = "error: cannot write the report: No space left on device (os error 28)\n";
        assert!(said.ends_with(why), "{arguments}: {said}");
    }
}

/// Interrupts `election` while it measures. Returns its report and the number of completed runs.
///
/// The program listens for signals before it writes the trace, and measures after it has written
/// it. Once a reader of the trace reaches its end, the program measures and can be interrupted.
#[cfg(unix)]
#[track_caller]
fn interrupted(election: &str, pipe: &str) -> (Value, u64) {
    use std::process::Command;

    let pipe = scratch(pipe);
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo starts").success());
    // Enough for minutes; if the signal had no effect, the test would still end, and fail.
    let asked = 20_000_000;
    let arguments =
        format!("{election} --runs {asked} --threads 1 --format json --trace {}", pipe.display());
    let program = hustings(&arguments).spawn().expect("the program starts");
    fs::read_to_string(&pipe).expect("the trace is read to its end");
    let killed = Command::new("kill").args(["-INT", &program.id().to_string()]).status();
    assert!(killed.expect("kill starts").success());

    let outcome = program.wait_with_output().expect("the program ends");
    assert_eq!(outcome.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&outcome.stdout).expect("a report in JSON");
    let done = report["runs"].as_u64().expect("a number of runs");
    assert!(done < asked, "{done} runs were done");
    assert_eq!(
        String::from_utf8_lossy(&outcome.stderr),
        format!("interrupted: {done} of {asked} runs\n")
    );
    (report, done)
}

#[cfg(unix)]
#[test]
fn interrupted_experiment_reports_completed_runs() {
    let (report, done) = interrupted("sim bully --members 20", "trace.pipe");
    let messages = &report["metrics"]["messages"];
    match done {
        0 => assert_eq!(*messages, Value::Null),
        _ => assert_eq!(messages["mean"], 417.0),
    }
}

#[cfg(unix)]
#[test]
fn interrupted_election_by_rounds_reports_completed_runs() {
    let (report, done) = interrupted("sim probabilistic --members 20", "rounds.pipe");
    let delay = &report["metrics"]["delay"];
    match done {
        0 => assert_eq!(*delay, Value::Null),
        _ => assert_eq!(delay["min"], 1.3),
    }
}
