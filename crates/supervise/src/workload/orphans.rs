//! Kills what is left of a command when both its watchers were killed.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{getpid, set_child_subreaper};
use tokio::time::{Instant, sleep};

use crate::processes::{SWEEP_EVERY, Sweep, reap};

/// The time in which killed processes end, unless the system holds them up.
const ENDED_WITHIN: Duration = Duration::from_secs(10);

static ADOPTS: AtomicBool = AtomicBool::new(false);

/// Makes this process the last watcher of a command. Only for programs that start no processes
/// other than those of [`supervise`](super::supervise). If both guardian and warden of a command
/// are killed before either has noticed the other's death, every descendant of this process is
/// killed.
///
/// # Errors
/// If the system does not let this process adopt orphans.
pub fn adopt_orphans() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    ADOPTS.store(true, Ordering::Relaxed);
    Ok(())
}

/// Kills every descendant of this process, if it adopts orphans. Returns true if nothing is left.
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
