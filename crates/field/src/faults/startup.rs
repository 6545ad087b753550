//! Errors that keep an agent from starting, and the messages that it prints.

use std::fs;
use std::io::Read;
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

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
    let mut first = agent().stdout(Stdio::piped()).spawn()?;
    if let Some(events) = &mut first.stdout {
        events.read_exact(&mut [0])?; // its first event: the agent is up
    }
    let second = agent().output();
    // SIGTERM, not SIGKILL: the process is `timeout`, which can only forward signals that it can
    // catch.
    kill_process(Pid::from_child(&first), Signal::TERM)?;
    first.wait()?;
    let second = second?;
    let said = String::from_utf8_lossy(&second.stderr);
    require(
        second.status.code() == Some(1) && said.contains("another process listens there"),
        || ended(&second),
    )?;
    Ok(said.trim().to_owned())
}

pub(super) fn unresolvable_seed(context: &FaultContext<'_>) -> Result<String> {
    let bind = format!("{}:7400", address(STRANGER));
    let options = ["--group", "door", "--insecure", "--bind", &bind];
    let mut command = agent(context, &options);
    command.args(["--join", "nowhere.invalid:7400", "--events"]);
    let output = command.output()?;
    require(output.status.success(), || ended(&output))?;
    let said = String::from_utf8_lossy(&output.stderr);
    require(said.contains("WARN") && said.contains("nowhere.invalid"), || {
        format!("an unresolvable seed is not warned of: {said}")
    })?;
    let events = String::from_utf8_lossy(&output.stdout);
    require(events.contains("\"leads\":true"), || format!("it did not go on: {events}"))?;
    Ok("it leads a group of one".to_owned())
}

pub(super) fn missing_config(context: &FaultContext<'_>) -> Result<String> {
    let output = agent(context, &["--config", "/nowhere/hustings.toml"]).output()?;
    refused(&output, &["/nowhere/hustings.toml"])
}

pub(super) fn broken_config(context: &FaultContext<'_>) -> Result<String> {
    let file = std::env::temp_dir().join(format!("hustings-{}.toml", std::process::id()));
    let path = file.to_string_lossy().into_owned();
    fs::write(&file, "[[group]]\nname = \"web\"\nannounce = 100\n")?;
    let output = agent(context, &["--config", &path]).output();
    fs::remove_file(&file)?;
    // The message must contain the line and the field.
    refused(&output?, &[&format!("{path}:3"), "announce"])
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
fn refused(output: &Output, words: &[&str]) -> Result<String> {
    let said = String::from_utf8_lossy(&output.stderr);
    let is_refused = output.status.code() == Some(2) && words.iter().all(|it| said.contains(it));
    require(is_refused, || ended(output))?;
    Ok(said.trim().to_owned())
}

fn ended(output: &Output) -> String {
    format!("ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim())
}
