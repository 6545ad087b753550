//! The worker's side of the death witness.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::net::sockopt::socket_peercred;
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};
use rustix::stdio::{dup2_stdin, dup2_stdout};
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;

use crate::watcher::own_executable;
use crate::{fd_passing, last_will};
use hustings_authority::LastWill;

/// The environment variable that tells the worker the process id of its death witness. Descendants
/// of the worker inherit it, without effect.
const DEATH_WITNESS: &str = "HUSTINGS_KEEPER";

/// The program proper, as the child of its death witness.
#[derive(Debug)]
pub struct Worker {
    death_witness: UnixStream,
}

impl Worker {
    /// Deposits a last will with the death witness, in place of any earlier one. An empty last will
    /// withdraws it.
    ///
    /// Blocks if the death witness is stopped (STOP) for long.
    ///
    /// # Errors
    ///
    /// If the death witness has ended. Then this process is about to die.
    pub fn deposit(&mut self, last_will: &LastWill) -> io::Result<()> {
        let line = format!("{}\n", last_will::to_line(last_will));
        self.death_witness.write_all(line.as_bytes())
    }

    /// Deposits each last will that `last_will` publishes. To be called within a runtime.
    ///
    /// # Errors
    ///
    /// As [`Worker::deposit`].
    pub async fn follow(self, mut last_will: watch::Receiver<LastWill>) -> io::Result<()> {
        self.death_witness.set_nonblocking(true)?;
        let mut death_witness = tokio::net::UnixStream::from_std(self.death_witness)?;
        last_will.mark_changed();
        while last_will.changed().await.is_ok() {
            let line = format!("{}\n", last_will::to_line(&last_will.borrow_and_update()));
            death_witness.write_all(line.as_bytes()).await?;
        }
        // The sender is gone: the last will that was deposited last remains.
        Ok(())
    }

    /// Starts the worker of this process and passes it standard input and output. So a reader of
    /// the output sees its end when the worker has closed it. Deposits arrive on the returned
    /// socket.
    pub(super) fn start() -> io::Result<(Child, UnixStream)> {
        let (socket, theirs) = fd_passing::pair(io::stdin().as_fd(), None)?;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        let nothing = File::options().read(true).write(true).open("/dev/null")?;
        dup2_stdin(&nothing)?;
        dup2_stdout(&nothing)?;
        let mut arguments = std::env::args_os();
        let name = arguments.next().unwrap_or_else(|| "/proc/self/exe".into());
        let worker = own_executable(&name)
            .args(arguments)
            .env(DEATH_WITNESS, getpid().to_string())
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::from(output))
            .spawn()?;
        Ok((worker, socket))
    }

    /// Returns the worker if this process was started as one.
    pub(super) fn of_this_process() -> io::Result<Option<Self>> {
        let Some(death_witness) = std::env::var_os(DEATH_WITNESS).and_then(|pid| parse(&pid))
        else {
            return Ok(None);
        };
        if !is_death_witness(death_witness) {
            return Ok(None);
        }
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // If the death witness died before that call, no signal will come.
        if getppid() != Some(death_witness) {
            return Err(io::Error::other("its death witness has ended"));
        }
        let handed = fd_passing::receive()?;
        dup2_stdin(handed.input)?;
        name_as_called()?;
        Ok(Some(Self { death_witness: handed.socket }))
    }
}

/// True if the death witness with this process id has started this process as its worker. A
/// descendant of a worker inherits the id, and is adopted by the death witness when orphaned. But
/// its standard input is not the socket.
fn is_death_witness(death_witness: Pid) -> bool {
    socket_peercred(io::stdin()).is_ok_and(|peer| peer.pid == death_witness)
}

fn parse(pid: &OsStr) -> Option<Pid> {
    Pid::from_raw(pid.to_str()?.parse().ok()?)
}

/// Sets the process name, which would otherwise be "exe" from the path of the executable.
fn name_as_called() -> io::Result<()> {
    let called = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&called).file_name().unwrap_or_default();
    if let Ok(name) = std::ffi::CString::new(name.as_bytes()) {
        rustix::thread::set_name(&name)?;
    }
    Ok(())
}
