//! A command that runs on this host only while this member leads its group.
//!
//! Assumes   Linux, `/proc`, and that the program calls [`stage_main`] before all else
//! Promises  the command runs only while this member leads, once at a time; when it ends, all its descendants
//!           have ended; they end with the agent, even if that is killed. With [`Fencing`]: they have ended
//!           before the tenure does, even if two of agent, guardian and warden are stopped (STOP) or hang; and an agent
//!           that is killed is spoken for, when it is proved dead and nothing is left of its command. Whatever keeps the
//!           command from working, of all that is listed here, the agent notices within ten seconds
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
//!   it is dead; that the socket has ended is no proof. A command that is stopped (STOP) for five seconds is killed: it
//!   keeps others from working.
//! - The *warden* adopts what the guardian leaves behind. If the guardian is killed, the command dies by
//!   its parent-death signal, and the warden kills the rest. If the warden is killed, the guardian kills the
//!   command with all its descendants, and ends: the agent may start the command anew, with two watchers. The warden has a
//!   socket of its own to the agent. It knows when the tenure ends, too, and kills a guardian that is still there then.
//! - *exec* asks for the parent-death signal, which only a process itself can do, and then becomes the command.
//!
//! The agent pings guardian and warden once a second (`heartbeat`). One that does not answer for four seconds is continued,
//! as it may be stopped (STOP); one that does not answer for nine is killed, and the other one ends the command. Just before
//! the tenure ends, or a second after the grace of a command that was told to stop, a guardian that is still there is killed at
//! once. If something has still not ended ten seconds later, no process knows what is left: the agent says so, and tenure is not
//! given up, it runs out.
//!
//! What kills the command is opened when the command starts, and tried again until it works: a host without free descriptors
//! ([`descriptors`](crate::descriptors)) ends a command in time. Processes are killed by a pidfd wherever their number could
//! have been given to another process (`processes`).
//!
//! Limits. If guardian and warden are killed at the same moment, before either has noticed, the command dies, but not what it
//! has started, unless the agent has called [`adopt_orphans`]: then the agent kills it. Else, with [`Fencing`], the agent gives
//! nothing up and starts nothing. If agent, guardian and warden are all stopped, no clock is left that ends the command with
//! its tenure. A command that gains privileges loses its parent-death signal, and may be beyond the guardian's power to kill:
//! then no last words are sent. What a command has others start for it, such as a service manager, is none of its descendants.
//! And a machine that was suspended wakes the command as soon as the guardian: what a command does in that moment only the
//! resource can refuse, by its fence.

mod back_off;
mod deadline;
mod error;
mod fencing;
mod guard;
mod guardian;
mod heartbeat;
mod launch;
mod lines;
mod orphans;
mod patience;
mod program;
pub(crate) mod signals;
mod stages;
mod supervisor;
mod terms;

use std::ffi::OsString;
use std::time::Duration;

pub use error::Error;
pub use fencing::Fencing;
pub use orphans::adopt_orphans;
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

impl Workload {
    /// Whether there is such a program as the command names, and it may be executed. Better found out when a member comes
    /// up than when it is to take over.
    ///
    /// # Errors
    /// If not. [`Error::exit_code`] is what `env` would exit with: 127 if there is no such program, 126 if it may not be
    /// executed.
    pub fn check(&self) -> Result<(), Error> {
        program::check(self.command.first().ok_or(Error::NoCommand)?)
    }
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
