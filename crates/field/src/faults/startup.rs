//! Errors that keep an agent from starting, and the messages that it prints.

use std::fs;
use std::process::{Command, Stdio};

use hustings_testkit::{DEADLINE, Outcome, Process, Scratch};

use super::{FaultContext, STRANGER};
use crate::Result;
use crate::hosts::address;
use crate::testbed::PORT;

/// The time, in seconds, within which an agent either ends because it cannot start, or leads.
const SECONDS: &str = "3";

const DOOR: [&str; 3] = ["--group", "door", "--insecure"];

pub(super) fn port_in_use(context: &FaultContext<'_>) -> Result<String> {
    let agent = || {
        let mut agent = agent(context, &DOOR);
        agent.args(["--bind", &bind(), "--http", "off", "--log", "error", "--events"]);
        agent
    };
    // The process is `timeout`, which forwards the signals that it can catch: not SIGKILL.
    let mut first = Process::spawn_terminated(agent().stdout(Stdio::piped()))?;
    let events = first.lines()?;
    events.recv_timeout(DEADLINE)?; // its first event: the agent is up
    expect(&mut agent(), 1, &["another process listens there"])
}

pub(super) fn unresolvable_seed(context: &FaultContext<'_>) -> Result<String> {
    let mut command = agent(context, &DOOR);
    command.args(["--bind", &bind(), "--join", "nowhere.invalid:7400", "--events"]);
    let Outcome { code, said, printed } = Outcome::of(&mut command)?;
    ensure!(code == Some(0), "ended with {code:?}: {}", said.trim());
    let is_warned = said.contains("WARN") && said.contains("nowhere.invalid");
    ensure!(is_warned, "no warning about an unresolvable seed: {said}");
    ensure!(printed.contains("\"leads\":true"), "it did not go on: {printed}");
    Ok("it leads a group of one".to_owned())
}

pub(super) fn missing_config(context: &FaultContext<'_>) -> Result<String> {
    let file = "/nowhere/hustings.toml";
    expect(&mut agent(context, &["--config", file]), 2, &[file])
}

pub(super) fn broken_config(context: &FaultContext<'_>) -> Result<String> {
    let home = Scratch::new("hustings-config");
    let file = home.join("hustings.toml");
    let path = file.to_string_lossy();
    fs::write(&file, "[[group]]\nname = \"web\"\nannounce = 100\n")?;
    // The message must contain the line and the field.
    let mut command = agent(context, &["--config", &path]);
    expect(&mut command, 2, &[&format!("{path}:3"), "announce"])
}

fn bind() -> String {
    format!("{}:{PORT}", address(STRANGER))
}

/// Starts an agent on the extra host. It runs for a few seconds at most, and then receives SIGTERM.
fn agent(context: &FaultContext<'_>, options: &[&str]) -> Command {
    let mut command = context.testbed.hosts.command(STRANGER, "timeout");
    command
        .args(["--preserve-status", SECONDS])
        .arg(context.testbed.program)
        .arg("agent")
        .args(options);
    command
}

/// Requires an exit code, and messages on standard error that contain all of `words`. Returns the
/// messages.
fn expect(command: &mut Command, code: i32, words: &[&str]) -> Result<String> {
    let Outcome { code: ended_with, said, .. } = Outcome::of(command)?;
    let is_expected = ended_with == Some(code) && words.iter().all(|it| said.contains(it));
    ensure!(is_expected, "ended with {ended_with:?}: {}", said.trim());
    Ok(said.trim().to_owned())
}
