//! A command that runs on this host only while this member leads its group.
//!
//! Assumes   Linux, `/proc`, and that the program calls [`stage_main`] before all else
//! Promises  - The command runs only while this member leads, once at a time.
//!           - When the command ends, all its descendants have ended. They end with the agent, even
//!             if it is killed.
//!           - With [`LeaseBinding`] they have ended before the tenure does, even if two of agent,
//!             guardian and warden are stopped (STOP) or hang.
//!           - With [`LeaseBinding`] the tenure of a killed agent is released once the agent is
//!             proved dead and nothing is left of its command.
//!           - The agent notices within ten seconds any fault listed here that keeps the command
//!             from working.
//! Needs     no privileges, no control groups, no unsafe code
//!
//! The agent starts a chain of three processes, all from its own executable:
//!
//! ```text
//! agent ── warden ── guardian ── exec, which becomes the command
//! ```
//!
//! - The *guardian* adopts the orphans of the command's descendants, however they detach
//!   themselves. It receives orders on a socket that it shares with the agent. If the agent dies,
//!   the socket closes, and the guardian kills every descendant. It knows the end of the tenure,
//!   and enforces it without an order. It holds the agent's last will. It sends the last will when
//!   a pidfd that the agent opened on itself reports the agent's death; the closed socket is no
//!   proof. It kills a command that is stopped (STOP) for five seconds: such a command keeps other
//!   members from working.
//! - The *warden* adopts what the guardian leaves behind. If the guardian is killed, the command
//!   dies by its parent-death signal, and the warden kills the rest. If the warden is killed, the
//!   guardian kills the command with all its descendants, and ends. The agent may then start the
//!   command again, with both watchers. The warden has its own socket to the agent. It also knows
//!   the end of the tenure, and kills a guardian that is still running then.
//! - *exec* requests the parent-death signal, which only a process itself can do, and then becomes
//!   the command.
//!
//! The agent pings guardian and warden once a second (`heartbeat`). It sends CONT to a watcher that
//! does not answer for four seconds, because it may be stopped (STOP). It kills a watcher that does
//! not answer for nine seconds, and the other one ends the command. The agent kills a guardian that
//! is still running just before the tenure ends, or one second after the grace of a command that
//! was told to stop. If something has still not ended ten seconds later, no process knows what is
//! left. The agent reports this. The tenure is not released, but expires.
//!
//! The descriptors needed to kill the command are opened when the command starts, and killing is
//! retried until it works. So a command ends in time even on a host without free descriptors
//! ([`fd_limit`](crate::fd_limit)). Processes are killed by pidfd wherever their id could
//! belong to another process by now (`processes`).
//!
//! Limits:
//! - If guardian and warden are killed at the same moment, before either has noticed, the command
//!   dies, but its descendants do not. If the agent has called [`adopt_orphans`], it kills them.
//!   Otherwise, with [`LeaseBinding`], the agent releases nothing and starts nothing.
//! - If agent, guardian and warden are all stopped, no clock is left that ends the command with its
//!   tenure.
//! - A command that gains privileges loses its parent-death signal, and the guardian may not be
//!   able to kill it. Then no last will is sent.
//! - Processes that another program starts on behalf of a command, such as a service manager, are
//!   not its descendants.
//! - A machine that was suspended wakes the command at the same time as the guardian. Only the
//!   resource can refuse what the command does in that moment, by its fence.

mod deadline;
mod error;
mod guardian;
mod guardian_client;
mod guardian_timeout;
mod heartbeat;
mod ipc;
mod lease_binding;
mod program;
pub(crate) mod signals;
mod stages;
mod supervisor;
mod warden;

use std::ffi::OsString;
use std::pin::Pin;
use std::time::Duration;

pub use crate::watcher::adopt_orphans;
pub use error::Error;
pub use lease_binding::LeaseBinding;
pub use stages::stage_main;
pub use supervisor::supervise;

/// The command to run while this member leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// The program, by path or by a name in `PATH`, and its arguments. It must stay in the
    /// foreground: when this process ends, the command has ended, and the processes that it left
    /// behind are stopped.
    pub command: Vec<OsString>,
    /// The time for which this member must have led without interruption before the command starts.
    /// A member that has just become leader may learn of a better one in a moment.
    pub settle: Duration,
    /// The time that the command may take to end after it was told to stop. Then it is killed.
    pub grace: Duration,
    /// The reaction to a command that ends by itself.
    pub at_end: AtEnd,
}

impl Workload {
    /// Checks that the program exists and may be executed. A member should find this out at its
    /// start, not when it takes over.
    ///
    /// # Errors
    /// If the program cannot be run. [`Error::exit_code`] is the exit code that `env` would use:
    /// 127 if there is no such program, 126 if it may not be executed.
    pub fn check(&self) -> Result<(), Error> {
        program::check(self.command.first().ok_or(Error::NoCommand)?)
    }
}

/// The reaction to a command that ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtEnd {
    /// Ends the supervision with the command's exit code.
    Exit,
    /// Gives up leadership, and runs the command again after the next election.
    Resign,
    /// Starts the command again, after a pause that grows with each start up to a bound.
    Restart,
}

/// A request that this member give up leadership of a group. The receiver carries it out, even if
/// the requester has gone. A request that is dropped was not carried out, for example because the
/// agent ends.
pub struct StepDown(Pin<Box<dyn Future<Output = ()> + Send>>);

impl StepDown {
    /// Creates a request that `give_up` carries out. Nothing happens before that.
    pub fn new(give_up: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(Box::pin(give_up))
    }

    /// Gives up leadership. When this returns, the observers of the group have been notified.
    pub async fn carry_out(self) {
        self.0.await;
    }
}
