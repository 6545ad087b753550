//! The warden: the process between agent and guardian, which kills what is left when the guardian is
//! gone.
//!
//! Promises  - Nothing of the command is left when the guardian has been killed.
//!           - A guardian that still runs just before the tenure ends is killed. It is stopped
//!             (STOP) or hangs, and so is the agent, which would have killed it earlier.
//!           - If the agent has ended, the guardian has to kill the command, and the warden keeps
//!             sending it CONT until it ends

use std::ffi::OsString;
use std::io;

use rustix::process::{Pid, Signal};

use super::deadline::Deadline;
use super::ipc::{Order, Report, tell};
use super::stages::{GUARDIAN, stage_command};
use crate::processes::{SWEEP_EVERY, send};
use crate::watcher::{self, WatchedChild, Watcher};
use crate::{fd_limit, fd_passing};
use hustings_system::clock;

/// Starts the guardian, and returns when neither it nor any process that it left behind runs.
pub(super) fn run_warden(grace_millis: u64, command: &[OsString]) -> io::Result<()> {
    let poller = watcher::begin(c"hustings-warden")?;
    let fd_passing::Handed { socket, input, .. } = fd_passing::receive()?;
    let mut watcher = Watcher::new(poller, socket);
    let mut deadline = None;
    // Orders that the agent wrote before it started this process have arrived by now.
    follow_orders(&mut watcher, &mut deadline);
    let guardian = stage_command(GUARDIAN, grace_millis, command).stdin(input).spawn()?;
    let mut guardian = WatchedChild::new(Pid::from_child(&guardian));
    while guardian.reap()? {
        let last_chance = deadline.map(Deadline::last_chance_at);
        let is_last = last_chance.is_some_and(|time| time <= clock::now());
        let has_ended = guardian.ending.is_some();
        if !has_ended {
            // The guardian is a child that has not been reaped, so no other process can have its
            // id.
            if is_last {
                send(guardian.pid, Signal::KILL);
            } else if watcher.peer.has_ended {
                send(guardian.pid, Signal::CONT);
            }
        }
        let is_sweeping = has_ended || is_last || watcher.peer.has_ended;
        let again_at = if is_sweeping { Some(clock::now() + SWEEP_EVERY) } else { last_chance };
        watcher.wait(again_at)?;
        follow_orders(&mut watcher, &mut deadline);
    }
    Ok(())
}

/// Carries out the orders for the warden. All others are for the guardian.
fn follow_orders(watcher: &mut Watcher, deadline: &mut Option<Deadline>) {
    for line in watcher.peer.arrived() {
        match line.parse() {
            Ok(Order::Until(until)) => *deadline = Some(until),
            Ok(Order::Ping) => _ = tell(&watcher.peer.socket, &Report::Alive),
            // A higher limit than expected harms only a few old programs.
            Ok(Order::SoftLimit(files)) => _ = fd_limit::set_soft_limit(files),
            Ok(Order::Stop(_) | Order::Pass(_) | Order::LastWill(_)) | Err(_) => {}
        }
    }
}
