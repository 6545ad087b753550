//! A voter loses its disk, and an attacker replays the answers that it received when it lost its
//! disk before.

use std::fs;

use hustings_testkit::Scratch;
use rustix::process::Signal;

use super::{FaultContext, OPTIONS, STRANGER};
use crate::Result;
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
    let home = Scratch::new("hustings-wire");
    let recording = home.join("recording");
    let recorder = context.wiretap(LOST, &recording, &["--port", &PORT.to_string()])?;
    let first = members.init(LOST, "5s")?;
    let said = first.said;
    ensure!(first.code == Some(0), "the voter could not be initialised with the others up: {said}");
    drop(recorder);
    let recorded = fs::read_to_string(&recording)?.lines().count();
    ensure!(
        recorded >= 4,
        "only {recorded} datagrams were recorded: two voters answer in two each"
    );

    // The voter votes again, and promises higher fences than the recorded answers contain.
    members.start(LOST)?;
    let (holder, fence) = members.held(&everyone, 0, PATIENCE)?;
    members.end(holder, Signal::KILL)?;
    let others = members.all_but(holder);
    members.held(&others, fence, PATIENCE)?;

    for &member in &others {
        members.end(member, Signal::KILL)?;
    }
    members.lose_promise(LOST)?;
    let target = context.testbed.place(LOST, PORT).to_string();
    let replayer = context.wiretap(STRANGER, &recording, &["--targets", &target])?;
    let second = members.init(LOST, "3s")?;
    drop(replayer);
    let (printed, said) = (second.printed, second.said);
    let expected = "0 of the 2 voters that are needed answered";
    ensure!(
        second.code == Some(1) && said.contains(expected),
        "without a voter that can answer, the command printed: {printed}{said}"
    );
    Ok(format!("{recorded} datagrams sent again in vain"))
}
