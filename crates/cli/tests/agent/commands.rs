//! `hustings demo`, `hustings run` and the examples, with real processes.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::process::{self, Program, command, finish, hustings};

/// `DEMOS=30 cargo test --test agent demo` runs 30 demos.
#[test]
fn demo_output_is_consistent_and_the_demo_ends_by_itself() {
    let demos = std::env::var("DEMOS").map_or(1, |it| it.parse().expect("a number"));
    for _ in 0..demos {
        let told = hustings("demo").text();
        assert!(!told.contains('\x1b'), "no colours where nobody sees them: {told}");
        check_story(&told);
    }
}

/// Checks that every line of the demo's output is consistent with the lines before it.
#[track_caller]
fn check_story(told: &str) {
    let mut story = Story { told, at: 0.0, leader: None, dead: None, killed: None, named: None };
    let mut fences: Vec<u64> = Vec::new();
    let mut steps = 0;
    for line in told.lines() {
        let Some((time, what)) = line.split_once(" s  ") else {
            continue;
        };
        let Ok(time) = time.trim().parse::<f64>() else {
            continue;
        };
        assert!(time >= story.at, "time goes back at `{line}`: {told}");
        story.at = time;
        steps += 1;
        fences.extend(story.step(what));
    }
    assert!((6..=10).contains(&steps), "{steps} steps: {told}");
    assert!(fences.is_sorted(), "{fences:?}: {told}");
    story.check_sum(&fences);
}

/// The state of the story up to the current line.
struct Story<'a> {
    told: &'a str,
    at: f64,
    leader: Option<&'a str>,
    dead: Option<&'a str>,
    killed: Option<f64>,
    named: Option<(&'a str, f64)>,
}

impl<'a> Story<'a> {
    /// Reads a line and returns the fence that it names.
    #[track_caller]
    fn step(&mut self, what: &'a str) -> Option<u64> {
        let told = self.told;
        let name = |text: &'a str| text.split([' ', ',']).next().expect("a name");
        let fence = |text: &str| {
            let (_, fence) = text.split_once("fence ").expect("a fence");
            let end = fence.find([':', ',']).expect("its end");
            fence[..end].parse::<u64>().expect("a number")
        };
        if let Some((_, victim)) = what.split_once("kill -9 ") {
            let (_, victim) = victim.split_once(": ").expect("who");
            assert_eq!(Some(name(victim)), self.leader, "the leader is killed: {told}");
            (self.dead, self.killed) = (self.leader.take(), Some(self.at));
            return None;
        }
        if let Some(next) = what.strip_prefix("the other four all name ") {
            self.span(what, " after the kill");
            self.named = Some((name(next), self.at));
            return None;
        }
        if what.ends_with(" starts again") {
            assert_eq!(Some(name(what)), self.dead.take(), "{told}");
            return None;
        }
        if what.contains(" gets SIGTERM: ") {
            assert_eq!(Some(name(what)), self.leader, "the leader is asked: {told}");
            (self.dead, self.killed) = (self.leader.take(), None);
            return None;
        }
        let leader = match what.strip_prefix("all five name ") {
            Some(leader) => {
                let follows = what.contains("a working leader is not replaced");
                assert_eq!(follows, Some(name(leader)) == self.leader, "{told}");
                name(leader)
            }
            None => {
                assert!(what.contains(" leads with fence "), "`{what}`: {told}");
                name(what)
            }
        };
        assert_ne!(Some(leader), self.dead, "the dead lead: {told}");
        if let Some(killed) = self.killed
            && what.ends_with(" after the kill")
        {
            let waited = self.span(what, " after the kill");
            if let Some((named, at)) = self.named {
                assert_eq!(named, leader, "{told}");
                assert!(at < self.at, "named when it led already: {told}");
                assert!(at - killed < waited, "{told}");
            }
        }
        self.leader = Some(leader);
        Some(fence(what))
    }

    /// Returns the span before these words in seconds, counted from the kill.
    #[track_caller]
    fn span(&self, what: &str, words: &str) -> f64 {
        let (before, _) = what.split_once(words).expect("a span");
        let (before, unit) = before.rsplit_once(' ').expect("a unit");
        let number = before.rsplit_once(' ').map_or(before, |(_, number)| number);
        let number: f64 = number.parse().expect("a number");
        let span = if unit == "ms" { number / 1e3 } else { number };
        let since = self.at - self.killed.expect("somebody was killed");
        assert!((span - since).abs() < 0.011, "{span}, {since}: {}", self.told);
        span
    }

    /// Checks that the table at the end is consistent with the lines.
    #[track_caller]
    fn check_sum(&self, fences: &[u64]) {
        let told = self.told;
        let (story, sum) =
            told.split_once("\nTime until every survivor knew ").expect("it sums up");
        for (row, words) in [
            ("after the leader was killed", " after the kill"),
            ("of that, until they noticed", " after the kill;"),
            ("after the leader left", " after the signal"),
        ] {
            let row = sum.lines().find_map(|it| it.trim().strip_prefix(row));
            let line = story
                .lines()
                .find(|it| it.contains(words) && (words.ends_with(';') || !it.contains(';')));
            match (row, line) {
                (Some(row), Some(line)) => {
                    assert!(line.contains(&format!(" {}{words}", row.trim())), "{told}");
                }
                (row, line) => assert!(row.is_none() && line.is_none(), "{words}: {told}"),
            }
        }
        let (_, last) = sum.split_once("\nFences ").expect("a list");
        let (last, _) = last.split_once(':').expect("its end");
        let last = last.split(", ").map(|it| it.parse().expect("a number"));
        let last: Vec<u64> = last.collect();
        assert!(last.is_sorted_by(|one, next| one < next), "{told}");
        assert_eq!(last.len(), 3, "{told}");
        assert!(last.iter().all(|it| fences.contains(it)), "{told}");
    }
}

fn pid(text: &str) -> Pid {
    text.parse().ok().and_then(Pid::from_raw).expect("a number")
}

/// By then the guardian has ended the command and itself, both in time.
#[test]
fn member_paused_past_its_tenure_does_not_report_a_hung_guardian() {
    let group = process::group("stopped");
    let run = format!("run --http off --settle 0s {} -- sh -c", alone(&group));
    let mut program = process::start_with(&run, "echo $PPID; exec sleep 1000");
    for _ in 0..3 {
        let guardian = program.next_line("the guardian");
        program.pause();
        program.is_silent(Duration::from_secs(3)); // the tenure lasts two
        assert!(!Path::new("/proc").join(&guardian).exists(), "it has ended");
        program.resume();
    }
    program.next_line("it goes on");
    kill_process(program.pid(), Signal::TERM).expect("it runs");
    let (_, said) = program.ended_saying();
    assert!(said.contains("the command has started"), "{said}");
    assert!(!said.contains("guardian"), "{said}");
}

/// The options of a member that is its own only voter and is initialised.
fn alone(group: &str) -> String {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(group);
    let options = format!(
        "--group {group} --name a --bind 127.0.0.1:0 --voters a --ttl 2s --state {}",
        home.display()
    );
    hustings(&format!("voter init --new --within 1s {options}")).text();
    options
}

/// Both watchers are killed at the same moment.
#[test]
fn command_is_killed_after_both_watchers_are_killed() {
    let group = process::group("unseen");
    let run = format!("run --http off --at-end exit {} -- sh -c", alone(&group));
    let script = "echo $PPID; setsid sleep 1000 & echo $!; exec sleep 1000";
    let mut program = process::start_with(&run, script);
    let guardian = program.next_line("the guardian");
    let child = program.next_line("a child of the command");
    let stat = fs::read_to_string(format!("/proc/{guardian}/stat")).expect("it lives");
    let (_, stat) = stat.rsplit_once(')').expect("its name");
    let warden = pid(stat.split_whitespace().nth(1).expect("its parent"));
    // A command whose start was not reported yet would be started again.
    program.until_said_containing("the command has started");
    // Otherwise the warden would kill the rest.
    kill_process(warden, Signal::STOP).expect("it lives");
    for watcher in [pid(&guardian), warden] {
        kill_process(watcher, Signal::KILL).expect("it lives");
    }
    let (code, said) = program.ended_saying();
    assert_eq!(code, Some(137), "{said}");
    assert!(!Path::new("/proc").join(&child).exists(), "it has ended");
}

/// Programs that wait for files with `select` cannot use more.
#[test]
fn command_gets_the_original_limit_of_open_files() {
    let group = process::group("files");
    let run =
        command(&format!("run --group {group} --name a --bind 127.0.0.1:0 --log error -- sh -c"));
    let mut limited = std::process::Command::new("sh");
    limited
        .args(["-c", "ulimit -Sn 200; exec \"$0\" \"$@\""])
        .arg(run.get_program())
        .args(run.get_args())
        .arg(
            "ulimit -Sn; grep 'open files' /proc/$AGENT/limits; exec sleep 1000"
                .replace("$AGENT", "$(cut -d' ' -f4 /proc/$(cut -d' ' -f4 /proc/$PPID/stat)/stat)"),
        )
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut program = Program::start(&mut limited);
    assert_eq!(program.next_line("the command's limit"), "200");
    let own = program.next_line("the agent's limit");
    let own: Vec<&str> = own.split_whitespace().collect();
    let [soft, hard] = [own[3], own[4]].map(|it| it.parse::<u64>().expect("a number"));
    assert_eq!(soft, hard.min(65_536));
}

#[test]
fn command_runs_on_one_member_and_moves_when_that_member_is_killed() {
    let group = process::group("run");
    let script = "echo lead by $HUSTINGS_LEADER; exec sleep 1000";
    let mut first = process::start_with(
        &format!("run --group {group} --name first --priority 1 --bind 127.0.0.1:0 -- sh -c"),
        script,
    );
    first.until_printed("lead by first");
    let mut second = process::start_with(
        &format!("run --group {group} --name second --bind 127.0.0.1:0 -- sh -c"),
        script,
    );
    second.until_said_containing("first leads, at");
    first.kill();
    second.until_printed("lead by second");
    assert_eq!(second.stop(), Some(128 + 15), "the command's own end");
}

#[test]
fn run_exits_with_the_exit_code_of_the_command() {
    let group = process::group("code");
    let ended = hustings(&format!("run --group {group} --name a --bind 127.0.0.1:0 -- false"));
    assert_eq!(ended.code, Some(1), "{}", ended.said);
    let missing = hustings(&format!(
        "run --group {group} --name a --bind 127.0.0.1:0 -- no-such-command-here"
    ));
    assert_eq!(missing.code, Some(127), "{}", missing.said);
    assert!(missing.said.contains("no-such-command-here"), "{}", missing.said);
    assert!(!missing.said.contains("is up at"), "before it takes part");
    let denied =
        hustings(&format!("run --group {group} --name a --bind 127.0.0.1:0 -- /etc/passwd"));
    assert_eq!(denied.code, Some(126), "{}", denied.said);
    assert!(!denied.said.contains("is up at"), "before it takes part");
}

/// Runs an example to its end and returns its output.
fn run_example(name: &str) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_hustings")).parent();
    let examples = programs.expect("in a directory").join("examples");
    let example = examples.join(name);
    // Cargo builds the example beside the tests, but not if one test alone is built.
    assert!(
        example.exists(),
        "there is no {}: build it: cargo build -p hustings --examples",
        example.display()
    );
    finish(&mut Command::new(example)).text()
}

#[test]
fn late_write_of_a_paused_writer_is_refused() {
    let said = run_example("paused_writer");
    let fence = |line: &str| line.rsplit(' ').next()?.parse::<u64>().ok();
    let lines: Vec<&str> = said.lines().collect();
    let [red, stopped, blue, wrote, goes_on, refused, written] = lines[..] else {
        panic!("seven lines: {said}");
    };
    assert!(red.starts_with("red holds tenure"), "{said}");
    assert!(stopped.starts_with("red is stopped"), "{said}");
    assert!(blue.starts_with("blue holds tenure"), "{said}");
    assert!(fence(blue) > fence(red), "{said}");
    assert!(wrote.starts_with("blue wrote"), "{said}");
    assert_eq!(goes_on, "red goes on");
    assert!(refused.starts_with("red was refused"), "{said}");
    assert_eq!(written, "written: blue");
}

#[test]
fn example_elects_resigns_and_ends() {
    let said = run_example("elect");
    let mut lines = said.lines();
    let leader = lines.next().expect("a leader");
    assert!(["red leads", "green leads", "blue leads"].contains(&leader), "{said}");
    assert_eq!(lines.next(), Some("it leads no more"));
    assert_eq!(lines.next(), None);
}

#[test]
fn example_is_short() {
    let example = include_str!("../../../hustings/examples/elect.rs");
    assert!(example.lines().count() < 40);
}
