//! What may keep an agent from coming up, and what it says then.

use std::fs;
use std::io::Read;
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::{STRANGER, Trial, require};
use crate::Result;
use crate::field::hosts::address;

/// What an agent that cannot come up does in this time is to end, and one that can is to lead.
const SECONDS: &str = "3";

pub(super) fn port_in_use(trial: &Trial<'_>) -> Result<String> {
    let options = ["--group", "door", "--insecure", "--http", "off"];
    let bind = format!("{}:7400", address(STRANGER));
    let agent = || {
        let mut agent = agent(trial, &options);
        agent.args(["--bind", &bind, "--log", "error", "--events"]);
        agent
    };
    let mut first = agent().stdout(Stdio::piped()).spawn()?;
    if let Some(events) = &mut first.stdout {
        events.read_exact(&mut [0])?; // its first word: it is up
    }
    let second = agent().output();
    // Asked, and not killed: the process is that of `timeout`, which hands on only what it lives to hear.
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

pub(super) fn unresolvable_seed(trial: &Trial<'_>) -> Result<String> {
    let bind = format!("{}:7400", address(STRANGER));
    let options = ["--group", "door", "--insecure", "--bind", &bind];
    let mut command = agent(trial, &options);
    command.args(["--join", "nowhere.invalid:7400", "--events"]);
    let output = command.output()?;
    require(output.status.success(), || ended(&output))?;
    let said = String::from_utf8_lossy(&output.stderr);
    require(
        said.contains("WARN") && said.contains("nowhere.invalid"),
        || format!("an unresolvable seed is not warned of: {said}"),
    )?;
    let events = String::from_utf8_lossy(&output.stdout);
    require(events.contains("\"leads\":true"), || {
        format!("it did not go on: {events}")
    })?;
    Ok("it leads a group of one".to_owned())
}

pub(super) fn missing_config(trial: &Trial<'_>) -> Result<String> {
    let output = agent(trial, &["--config", "/nowhere/hustings.toml"]).output()?;
    refused(&output, &["/nowhere/hustings.toml"])
}

pub(super) fn broken_config(trial: &Trial<'_>) -> Result<String> {
    let file = std::env::temp_dir().join(format!("hustings-{}.toml", std::process::id()));
    let path = file.to_string_lossy().into_owned();
    fs::write(&file, "[[group]]\nname = \"web\"\nannounce = 100\n")?;
    let output = agent(trial, &["--config", &path]).output();
    fs::remove_file(&file)?;
    // The line and the field.
    refused(&output?, &[&format!("{path}:3"), "announce"])
}

/// An agent on the stranger's host, for a few seconds at most, then asked to stop.
fn agent(trial: &Trial<'_>, options: &[&str]) -> Command {
    let mut command = trial.ground.hosts.command(STRANGER, "timeout");
    command
        .args(["--preserve-status", SECONDS])
        .arg(trial.ground.program)
        .arg("agent")
        .args(options);
    command
}

/// Wrong use: exit code 2, and all of `words` said.
fn refused(output: &Output, words: &[&str]) -> Result<String> {
    let said = String::from_utf8_lossy(&output.stderr);
    let is_refused = output.status.code() == Some(2) && words.iter().all(|it| said.contains(it));
    require(is_refused, || ended(output))?;
    Ok(said.trim().to_owned())
}

fn ended(output: &Output) -> String {
    format!(
        "ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    )
}
