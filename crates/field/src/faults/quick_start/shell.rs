//! A new user's shell on one of the hosts, in a directory of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::guide::Step;
use super::{NAMES, require};
use crate::Result;
use crate::testbed::Testbed;

/// Sets the host's name and executes the command line.
const SHELL: &str = r#"echo "$0" > /proc/sys/kernel/hostname && eval "exec $1""#;

/// A working directory on a host.
pub(super) struct Shell<'a> {
    testbed: Testbed<'a>,
    pub(super) host: usize,
    pub(super) directory: PathBuf,
}

impl<'a> Shell<'a> {
    /// Creates the directory in `work_dir`.
    pub(super) fn new(testbed: Testbed<'a>, host: usize, work_dir: &Path) -> Result<Self> {
        let directory = work_dir.join(NAMES[host]);
        fs::create_dir(&directory)?;
        Ok(Self { testbed, host, directory })
    }

    /// Runs a command of the guide and compares its output with the guide. Returns the output.
    pub(super) fn follow(&self, step: &Step) -> Result<String> {
        let output = self.command(step.command)?.output()?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr);
        require(output.status.success() && said.is_empty(), || {
            format!("{} ended with {}: {said}", step.command, output.status)
        })?;
        step.require_shown(&printed)?;
        Ok(printed)
    }

    /// Returns a command that runs `line` as a shell of this host would. The shell replaces itself
    /// with the command.
    pub(super) fn command(&self, line: &str) -> Result<Command> {
        let beside = self.testbed.program.parent().ok_or("the program is a file")?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::split_paths(&path);
        let path = std::env::join_paths([beside.to_owned()].into_iter().chain(path))?;
        // A separate UTS namespace holds the host's name. The process dies with this one, however
        // this one ends.
        let mut command = self.testbed.hosts.command(self.host, "unshare");
        command
            .args(["--uts", "setpriv", "--pdeathsig", "KILL"])
            .args(["sh", "-c", SHELL, NAMES[self.host], line])
            .current_dir(&self.directory)
            .env("PATH", path)
            .stdin(Stdio::null());
        Ok(command)
    }
}
