//! What a voter's disk does to it must show: on a full one it promises as ever, on one that refuses writes it cannot.
//!
//! A voter writes only what it promises, and promises only to who would become the holder: while one member holds on, no
//! disk matters. So tenure is taken from its holder until the voter was asked, before the disk is mended.

use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::TTL_MS;
use super::check::Pause;
use super::round::{HOLDER_WITHIN, go_on};
use super::scene::Scene;
use crate::Result;
use crate::field::measure::now_ns;

/// One change of holders asks every voter, but what asks may be lost.
const MOST_CHANGES: usize = 5;

/// A holder that stands still for so long is replaced.
const PAUSE: Duration = Duration::from_millis(2 * TTL_MS);

/// A voter tries a disk that refused again by then.
const TRIED_AGAIN_WITHIN: Duration = Duration::from_secs(2);

/// Whether a voter says that its disk refuses to be written: when it should have promised, or when it was started.
pub(super) fn tells_of_refusal(line: &str) -> bool {
    let is_refused = line.contains("Operation not permitted");
    is_refused && (line.contains("cannot be written") || tells_of_no_vote(line))
}

/// Whether a voter says when it is started that it will not vote.
pub(super) fn tells_of_no_vote(line: &str) -> bool {
    line.contains("this voter does not vote")
}

/// Sees the voter promise more than it had when its disk was filled up, then makes space.
pub(super) fn mend_full(
    scene: &mut Scene<'_>,
    voter: usize,
    promised: &[u8],
) -> Result<Vec<Pause>> {
    let pauses = depose_until(
        scene,
        "a voter whose disk is full has saved nothing",
        |scene| Ok(scene.promised(voter)? != promised),
    )?;
    scene.free(voter)?;
    Ok(pauses)
}

/// Sees the voter say that its disk refuses, and the others go on; then sees it save again.
pub(super) fn mend_refusing(scene: &mut Scene<'_>, voter: usize) -> Result<Vec<Pause>> {
    let missing = "a voter whose disk refuses writes does not say so";
    let pauses = depose_until(scene, missing, |scene| {
        scene.has_logged(voter, tells_of_refusal)
    })?;
    require_holder(scene)?;
    let promised = scene.promised(voter)?;
    scene.accept_writes(voter)?;
    if scene.has_logged(voter, tells_of_no_vote)? {
        // It has looked at its disk once, when it was started.
        scene.kill(voter)?;
        scene.start(voter)?;
    } else {
        require_saved(scene, voter, &promised)?;
    }
    Ok(pauses)
}

/// Takes tenure from one holder after the other until it shows on the voter that it was asked. Returns their pauses.
fn depose_until(
    scene: &mut Scene<'_>,
    missing: &str,
    shows: impl Fn(&Scene<'_>) -> Result<bool>,
) -> Result<Vec<Pause>> {
    scene.start_all()?;
    let mut pauses = Vec::new();
    for _ in 0..MOST_CHANGES {
        if shows(scene)? {
            return Ok(pauses);
        }
        pauses.extend(depose(scene)?);
    }
    match shows(scene)? {
        true => Ok(pauses),
        false => Err(format!("{missing}, though {MOST_CHANGES} holders were stopped").into()),
    }
}

fn depose(scene: &Scene<'_>) -> Result<Option<Pause>> {
    let holder = require_holder(scene)?;
    let stopped = scene.signal(holder, Signal::STOP)?;
    thread::sleep(PAUSE);
    let pause = go_on(scene, holder, stopped)?;
    require_holder(scene)?;
    Ok(pause)
}

/// Who holds from now on.
fn require_holder(scene: &Scene<'_>) -> Result<usize> {
    let held = scene.held_after(now_ns(), HOLDER_WITHIN);
    let holder = held.and_then(|_| scene.holder());
    let (member, _) = holder.ok_or("all but one voter's disk is well, and nobody holds tenure")?;
    Ok(member)
}

fn require_saved(scene: &Scene<'_>, voter: usize, promised: &[u8]) -> Result<()> {
    let until = Instant::now() + TRIED_AGAIN_WITHIN;
    while scene.promised(voter)? == promised {
        if Instant::now() >= until {
            return Err("a voter whose disk refuses no longer does not save again".into());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{tells_of_no_vote, tells_of_refusal};

    #[test]
    fn a_refusal_is_told_from_a_lost_file_and_from_other_refusals() {
        let check = |line: &str, is_refusal: bool, is_no_vote: bool| {
            assert_eq!(tells_of_refusal(line), is_refusal, "{line}");
            assert_eq!(tells_of_no_vote(line), is_no_vote, "{line}");
        };
        check(
            "ERROR hustings_agent::group::tenancy: group `t`: /d/t.voter: cannot be written: Operation not permitted (os \
             error 1): check the disk and try again",
            true,
            false,
        );
        check(
            "ERROR hustings_agent::agent::offices: group `t`: this voter does not vote: /d/t.voter: Operation not permitted \
             (os error 1): check the path, its permissions and the disk, and then start this agent again",
            true,
            true,
        );
        check(
            "ERROR hustings_agent::agent::offices: group `t`: this voter does not vote: /d/t.voter: no such file: if \
             nothing was ever kept there create it, else find the disk that has it",
            false,
            true,
        );
        check(
            "INFO hustings_agent::group::tenancy: group `t`: no tenure yet: `h2` holds it",
            false,
            false,
        );
    }
}
