//! Faults of a voter's disk, and the check that they have an effect. A voter with a full disk still
//! saves its promises. A voter whose disk refuses writes cannot.
//!
//! A voter writes only when it promises, and it promises only to a new holder. While one member
//! keeps tenure, no disk is written. Therefore holders are deposed until the voter was asked,
//! before the disk is repaired.

use std::thread;
use std::time::Duration;

use hustings_testkit::poll;
use rustix::process::Signal;

use super::TTL_MS;
use super::check::Pause;
use super::round::{HOLDER_WITHIN, go_on};
use super::writers::Writers;
use crate::Result;
use crate::measure::now_ns;

/// One change of holders asks every voter, but a request may be lost.
const MOST_CHANGES: usize = 5;

/// A holder that is stopped for this long is replaced.
const PAUSE: Duration = Duration::from_millis(2 * TTL_MS);

/// The time within which a voter tries a disk again that refused a write.
const TRIED_AGAIN_WITHIN: Duration = Duration::from_secs(2);

/// True if a voter logs that its disk refuses writes, either when it should have promised or at
/// startup.
pub(super) fn logs_refusal(line: &str) -> bool {
    let is_refused = line.contains("Operation not permitted");
    is_refused && (line.contains("cannot be written") || logs_no_vote(line))
}

/// True if a voter logs at startup that it will not vote.
pub(super) fn logs_no_vote(line: &str) -> bool {
    line.contains("this voter does not vote")
}

/// Waits until the voter has promised more than when its disk became full, then frees space.
pub(super) fn mend_full(
    writers: &mut Writers<'_>,
    voter: usize,
    promised: &[u8],
) -> Result<Vec<Pause>> {
    let pauses =
        depose_until(writers, "a voter whose disk is full has saved nothing", |writers| {
            Ok(writers.promised(voter)? != promised)
        })?;
    writers.free(voter)?;
    Ok(pauses)
}

/// Waits until the voter reports the refusal and the others have a holder. Then lets the disk
/// accept writes and waits until the voter saves again.
pub(super) fn mend_refusing(writers: &mut Writers<'_>, voter: usize) -> Result<Vec<Pause>> {
    let missing = "a voter whose disk refuses writes does not say so";
    let pauses = depose_until(writers, missing, |writers| writers.has_logged(voter, logs_refusal))?;
    require_holder(writers)?;
    let promised = writers.promised(voter)?;
    writers.accept_writes(voter)?;
    if writers.has_logged(voter, logs_no_vote)? {
        // The voter checks its disk only once, at startup.
        writers.kill(voter);
        writers.start(voter)?;
    } else {
        let saved = poll(TRIED_AGAIN_WITHIN, || match writers.promised(voter) {
            Ok(now) if now == promised => None,
            read => Some(read),
        });
        saved.ok_or("a voter whose disk refuses no longer does not save again")??;
    }
    Ok(pauses)
}

/// Deposes one holder after the other until `shows` holds, which means that the voter was asked.
/// Returns the pauses of the holders.
fn depose_until(
    writers: &mut Writers<'_>,
    missing: &str,
    shows: impl Fn(&Writers<'_>) -> Result<bool>,
) -> Result<Vec<Pause>> {
    writers.start_all()?;
    let mut pauses = Vec::new();
    for _ in 0..MOST_CHANGES {
        if shows(writers)? {
            return Ok(pauses);
        }
        pauses.extend(depose(writers)?);
    }
    ensure!(shows(writers)?, "{missing}, though {MOST_CHANGES} holders were stopped");
    Ok(pauses)
}

fn depose(writers: &Writers<'_>) -> Result<Option<Pause>> {
    let holder = require_holder(writers)?;
    let stopped = writers.signal(holder, Signal::STOP)?;
    thread::sleep(PAUSE);
    let pause = go_on(writers, holder, stopped)?;
    require_holder(writers)?;
    Ok(pause)
}

/// Returns the member that holds tenure from now on.
fn require_holder(writers: &Writers<'_>) -> Result<usize> {
    let held = writers.held_after(now_ns(), HOLDER_WITHIN);
    Ok(held.ok_or("all but one voter's disk is well, and no member holds tenure")?.0)
}

#[cfg(test)]
mod tests {
    use super::{logs_no_vote, logs_refusal};

    #[test]
    fn disk_refusal_is_distinguished_from_a_lost_file() {
        let check = |line: &str, is_refusal: bool, is_no_vote: bool| {
            assert_eq!(logs_refusal(line), is_refusal, "{line}");
            assert_eq!(logs_no_vote(line), is_no_vote, "{line}");
        };
        check(
            "ERROR hustings_node::group::tenure: group `t`: /d/t.voter: cannot be written: Operation not permitted (os \
             error 1): check the disk and try again",
            true,
            false,
        );
        check(
            "ERROR hustings_agent::agent::lease_backends: group `t`: this voter does not vote: /d/t.voter: Operation not permitted \
             (os error 1): check the path, its permissions and the disk, and then start this agent again",
            true,
            true,
        );
        check(
            "ERROR hustings_agent::agent::lease_backends: group `t`: this voter does not vote: /d/t.voter: no such file: if \
             nothing was ever kept there create it, else find the disk that has it",
            false,
            true,
        );
        check(
            "INFO hustings_node::group::tenure: group `t`: no tenure yet: `h2` holds it",
            false,
            false,
        );
    }
}
