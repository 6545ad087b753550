//! Errors that keep an agent from starting, and the messages that it prints.

use std::fs;
use std::process::{Command, Stdio};

use hustings_testkit::{DEADLINE, Outcome, Process, Scratch};

use super::{FaultContext, STRANGER, require};
use crate::Result;
use crate::hosts::address;

/// The time, in seconds, within which an agent either ends because it cannot start, or leads.
const SECONDS: &str = "3";

pub(super) fn port_in_use(context: &FaultContext<'_>) -> Result<String> {
    let options = ["--group", "door", "--insecure", "--http", "off"];
    let bind = format!("{}:7400", address(STRANGER));
    let agent = || {
        let mut agent = agent(context, &options);
        agent.args(["--bind", &bind, "--log", "error", "--events"]);
        agent
    };
    // The process is `timeout`, which forwards the signals that it can catch: not SIGKILL.
    let mut first = Process::spawn_terminated(agent().stdout(Stdio::piped()))?;
    let events = first.lines()?;
    events.recv_timeout(DEADLINE)?; // its first event: the agent is up
    let second = Outcome::of(&mut agent())?;
    let names_the_reason = second.said.contains("another process listens there");
    require(second.code == Some(1) && names_the_reason, || ended(&second))?;
    Ok(second.said.trim().to_owned())
}

pub(super) fn unresolvable_seed(context: &FaultContext<'_>) -> Result<String> {
    let bind = format!("{}:7400", address(STRANGER));
    let options = ["--group", "door", "--insecure", "--bind", &bind];
    let mut command = agent(context, &options);
    command.args(["--join", "nowhere.invalid:7400", "--events"]);
    let outcome = Outcome::of(&mut command)?;
    require(outcome.code == Some(0), || ended(&outcome))?;
    let (said, events) = (&outcome.said, &outcome.printed);
    require(said.contains("WARN") && said.contains("nowhere.invalid"), || {
        format!("no warning about an unresolvable seed: {said}")
    })?;
    require(events.contains("\"leads\":true"), || format!("it did not go on: {events}"))?;
    Ok("it leads a group of one".to_owned())
}

pub(super) fn missing_config(context: &FaultContext<'_>) -> Result<String> {
    let outcome = Outcome::of(&mut agent(context, &["--config", "/nowhere/hustings.toml"]))?;
    refused(&outcome, &["/nowhere/hustings.toml"])
}

pub(super) fn broken_config(context: &FaultContext<'_>) -> Result<String> {
    let home = Scratch::new("hustings-config");
    let file = home.join("hustings.toml");
    let path = file.to_string_lossy();
    fs::write(&file, "[[group]]\nname = \"web\"\nannounce = 100\n")?;
    let outcome = Outcome::of(&mut agent(context, &["--config", &path]))?;
    // The message must contain the line and the field.
    refused(&outcome, &[&format!("{path}:3"), "announce"])
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

/// Requires wrong use: exit code 2, and an error message that contains all of `words`.
fn refused(outcome: &Outcome, words: &[&str]) -> Result<String> {
    let said = outcome.said.trim();
    let is_refused = outcome.code == Some(2) && words.iter().all(|it| said.contains(it));
    require(is_refused, || ended(outcome))?;
    Ok(said.to_owned())
}

fn ended(outcome: &Outcome) -> String {
    format!("ended with {:?}: {}", outcome.code, outcome.said.trim())
}
