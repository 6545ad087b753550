//! A voter that loses its disk, and somebody who has recorded what it was told when it lost it before.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};

use rustix::process::Signal;

use super::{OPTIONS, STRANGER, Trial, require};
use crate::Result;
use crate::field::ground::{KEY, PATIENCE, PORT, voters};
use crate::field::hosts::this_program;
use crate::field::measure::now_ns;
use crate::field::members::Homes;

/// The voter whose disk is lost.
const LOST: usize = 0;

const VOTERS: usize = 3;

/// The answers to its first `voter init` are recorded on the wire. When its file is lost again while the two others are down,
/// they are sent again from another host. The second `voter init` must not take them for answers: the voter would begin below
/// what it promised in between.
pub(super) fn recorded_answers(trial: &Trial<'_>) -> Result<String> {
    let list = voters(VOTERS);
    let more = ["--voters", &list, "--ttl", "1s", "--key", KEY];
    let options = [OPTIONS, &more].concat();
    let homes = Homes::OneEach { port: PORT };
    let mut members = trial.ground.members(homes, VOTERS, &options);
    members.found()?;
    members.start_all()?;
    let everyone = members.everyone();
    members.held(&everyone, 0, PATIENCE)?;

    members.end(LOST, Signal::KILL)?;
    members.lose_promise(LOST)?;
    let recording = Recording(std::env::temp_dir().join(format!("hustings-{}-wire", now_ns())));
    let mut recorder = Wiretap::start(trial, LOST, &recording, &["--port", &PORT.to_string()])?;
    recorder.wait_until_it_listens()?;
    let first = members.init(LOST, "5s")?;
    require(first.status.success(), || {
        let said = String::from_utf8_lossy(&first.stderr).into_owned();
        format!("the voter could not be initialised with the others up: {said}")
    })?;
    drop(recorder);
    let recorded = fs::read_to_string(&recording.0)?.lines().count();
    require(recorded >= 4, || {
        format!("only {recorded} datagrams were recorded: two voters answer in two each")
    })?;

    // It votes again, and promises more than it was told.
    members.start(LOST)?;
    let before = members.held(&everyone, 0, PATIENCE)?;
    members.end(before.by, Signal::KILL)?;
    let others = members.all_but(before.by);
    members.held(&others, before.fence, PATIENCE)?;

    for &member in &others {
        members.end(member, Signal::KILL)?;
    }
    members.lose_promise(LOST)?;
    let target = trial.ground.place(LOST, PORT).to_string();
    let replayer = Wiretap::start(trial, STRANGER, &recording, &["--target", &target])?;
    let second = members.init(LOST, "3s")?;
    drop(replayer);
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    let expected = "0 of the 2 voters that are needed answered";
    require(
        second.status.code() == Some(1) && said.contains(expected),
        || {
            let printed = String::from_utf8_lossy(&second.stdout).into_owned();
            format!("with nobody there to answer the voter was told: {printed}{said}")
        },
    )?;
    Ok(format!("{recorded} datagrams sent again in vain"))
}

/// What was recorded, gone when dropped.
struct Recording(PathBuf);

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A process that records or sends again, and ends when dropped.
struct Wiretap(Child);

impl Wiretap {
    fn start(trial: &Trial<'_>, host: usize, file: &Recording, options: &[&str]) -> Result<Self> {
        let mut command = trial.ground.hosts.command(host, &this_program());
        command.arg("wiretap").arg("--file").arg(&file.0);
        let process = command.args(options).stdout(Stdio::piped()).spawn()?;
        Ok(Self(process))
    }

    fn wait_until_it_listens(&mut self) -> Result<()> {
        let output = self.0.stdout.as_mut().ok_or("it prints nothing")?;
        let mut line = String::new();
        match BufReader::new(output).read_line(&mut line)? {
            0 => Err("nothing can be recorded here".into()),
            _ => Ok(()),
        }
    }
}

impl Drop for Wiretap {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
