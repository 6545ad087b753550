//! A command that runs on this host only while this member leads its group.
//!
//! Assumes   Linux, `/proc`, and that the program calls [`stage_main`] before all else
//! Promises  the command runs only while this member leads, once at a time; when it ends, all its descendants
//!           have ended; they end with the agent, even if that is killed. With [`Fencing`]: they have ended
//!           before the tenure does, even if the agent is stopped (STOP) or hangs; and an agent that is killed is
//!           spoken for, when it is proved dead and nothing is left of its command
//! Needs     no privileges, no control groups, no unsafe code
//!
//! The agent starts three processes in a row, all of them its own executable:
//!
//! ```text
//! agent ── warden ── guardian ── exec, which becomes the command
//! ```
//!
//! - The *guardian* adopts what the command's descendants leave behind, however they detach themselves. The
//!   socket that it shares with the agent brings it orders. If the agent dies, the socket ends, and the
//!   guardian kills every descendant. It knows when the tenure ends, and keeps to it without being told. It has
//!   the agent's last words, and sends them once a file that the agent has opened on itself (a pidfd) says that
//!   it is dead; that the socket has ended is no proof.
//! - The *warden* adopts what the guardian leaves behind. If somebody kills the guardian, the command dies by
//!   its parent-death signal, and the warden kills the rest. If somebody kills the warden, the guardian kills the
//!   command with all its descendants, and ends: the agent may start the command anew, with two watchers.
//! - *exec* asks for the parent-death signal, which only a process itself can do, and then becomes the command.
//!
//! A guardian that is stopped (STOP) or hangs is killed by the agent: half of its margin before the tenure ends, or a
//! second after the grace of a command that was told to stop. If the warden then does not end either, nobody knows
//! what is left: after ten seconds the agent says so, and tenure is not given up, it runs out.
//!
//! Limits. Whoever kills warden and guardian at the same moment, before either has noticed, or while they start, kills
//! the command, but not what it has started: with [`Fencing`] the agent then gives nothing up and starts nothing.
//! Whoever stops (STOP) both agent and guardian stops both clocks that end the command with its tenure; whoever stops
//! the guardian and kills the warden keeps the agent from finding the guardian. A command that gains privileges loses
//! its parent-death signal, and may be beyond the guardian's power to kill: then no last words are
//! sent. What a command has others start for it, such as a service manager, is none of its descendants. And a machine
//! that was suspended wakes the command as soon as the guardian: what a command does in that moment only the resource
//! can refuse, by its fence.

mod back_off;
mod deadline;
mod error;
mod fencing;
mod guard;
mod guardian;
mod launch;
mod lines;
mod patience;
pub(crate) mod signals;
mod stages;
mod supervisor;
mod terms;

use std::ffi::OsString;
use std::time::Duration;

pub use error::Error;
pub use fencing::Fencing;
pub use stages::stage_main;
pub use supervisor::supervise;

/// What to run while this member leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// The program, by path or by a name that `PATH` has, and its arguments. It must stay in the foreground:
    /// when this process ends, the command has ended, and what it left behind is stopped.
    pub command: Vec<OsString>,
    /// How long this member must have led without a break before the command is started: who has only just taken
    /// itself for the leader may be told better in a moment.
    pub settle: Duration,
    /// How long the command may take to end after it was asked to. Then it is killed.
    pub grace: Duration,
    /// What to do when the command ends by itself.
    pub at_end: AtEnd,
}

/// What to do when the command ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtEnd {
    /// End too, with its exit code.
    Exit,
    /// Give up leadership, and run it again when elected again.
    Resign,
    /// Start it again, after a pause that grows with each start up to a bound.
    Restart,
}
