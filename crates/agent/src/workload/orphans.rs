//! What is left of a command when both its watchers were killed.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{getpid, set_child_subreaper};
use tokio::time::{Instant, sleep};

use crate::processes::{SWEEP_EVERY, Sweep, reap};

/// What was killed has ended by then, or is held up by the system.
const ENDED_WITHIN: Duration = Duration::from_secs(10);

static ADOPTS: AtomicBool = AtomicBool::new(false);

/// Makes this process the last of a command's watchers. For programs that start no other processes than those of
/// [`supervise`](super::supervise): if both the guardian and the warden of a command are killed before either has noticed
/// the other's death, every process below this one is killed.
///
/// # Errors
/// If the system does not let this process adopt orphans.
pub fn adopt_orphans() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    ADOPTS.store(true, Ordering::Relaxed);
    Ok(())
}

/// Kills every process below this one, if it has adopted them. Returns whether nothing is left.
pub(super) async fn kill_orphans() -> bool {
    if !ADOPTS.load(Ordering::Relaxed) {
        return false;
    }
    let mut sweep = Sweep::begin();
    let until = Instant::now() + ENDED_WITHIN;
    while Instant::now() < until {
        match reap() {
            Ok(reaped) if !reaped.others => return true,
            Ok(_) => sweep.go(),
            Err(_) => return false,
        }
        sleep(SWEEP_EVERY.into()).await;
    }
    false
}
