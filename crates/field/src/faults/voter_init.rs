//! A voter loses its disk, and an attacker replays the answers that it received when it lost its
//! disk before.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use hustings_testkit::Process;
use rustix::process::Signal;

use super::{FaultContext, OPTIONS, STRANGER, require};
use crate::Result;
use crate::hosts::this_program;
use crate::measure::now_ns;
use crate::members::Placement;
use crate::testbed::{KEY, PATIENCE, PORT, voters};

/// The voter that loses its disk.
const LOST: usize = 0;

const VOTERS: usize = 3;

/// The test records the answers to the first `voter init` on the wire. The voter then loses its
/// file again while the two others are down, and another host replays the answers. The second
/// `voter init` must not accept them: the voter would restart below the fence that it promised in
/// between. Two guards refuse them: the dead voters answer no challenge, and the answers are bound
/// to an earlier question. Either guard is enough here; unit tests break each alone.
pub(super) fn recorded_answers(context: &FaultContext<'_>) -> Result<String> {
    let list = voters(VOTERS);
    let more = ["--voters", &list, "--ttl", "1s", "--key", KEY];
    let options = [OPTIONS, &more].concat();
    let placement = Placement::OneEach { port: PORT };
    let mut members = context.testbed.members(placement, VOTERS, &options);
    members.init_voters()?;
    members.start_all()?;
    let everyone = members.everyone();
    members.held(&everyone, 0, PATIENCE)?;

    members.end(LOST, Signal::KILL)?;
    members.lose_promise(LOST)?;
    let recording = Recording(std::env::temp_dir().join(format!("hustings-{}-wire", now_ns())));
    let mut recorder = Wiretap::start(context, LOST, &recording, &["--port", &PORT.to_string()])?;
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

    // The voter votes again, and promises higher fences than the recorded answers contain.
    members.start(LOST)?;
    let before = members.held(&everyone, 0, PATIENCE)?;
    members.end(before.by, Signal::KILL)?;
    let others = members.all_but(before.by);
    members.held(&others, before.fence, PATIENCE)?;

    for &member in &others {
        members.end(member, Signal::KILL)?;
    }
    members.lose_promise(LOST)?;
    let target = context.testbed.place(LOST, PORT).to_string();
    let replayer = Wiretap::start(context, STRANGER, &recording, &["--target", &target])?;
    let second = members.init(LOST, "3s")?;
    drop(replayer);
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    let expected = "0 of the 2 voters that are needed answered";
    require(second.status.code() == Some(1) && said.contains(expected), || {
        let printed = String::from_utf8_lossy(&second.stdout).into_owned();
        format!("with nobody there to answer the voter was told: {printed}{said}")
    })?;
    Ok(format!("{recorded} datagrams sent again in vain"))
}

/// A recording, which is removed when dropped.
struct Recording(PathBuf);

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A process that records or replays, and ends when dropped.
struct Wiretap(Process);

impl Wiretap {
    fn start(
        context: &FaultContext<'_>,
        host: usize,
        file: &Recording,
        options: &[&str],
    ) -> Result<Self> {
        let mut command = context.testbed.hosts.command(host, &this_program());
        command.arg("wiretap").arg("--file").arg(&file.0);
        let process = Process::spawn(command.args(options).stdout(Stdio::piped()))?;
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
