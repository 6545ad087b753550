//! Where the new user sits: at one of the hosts, in a directory of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::guide::Step;
use super::{NAMES, require};
use crate::Result;
use crate::field::ground::Ground;

/// Gives the host its name, and becomes the command line.
const SHELL: &str = r#"echo "$0" > /proc/sys/kernel/hostname && eval "exec $1""#;

/// A place at a host.
pub(super) struct Desk<'a> {
    ground: Ground<'a>,
    pub(super) host: usize,
    pub(super) directory: PathBuf,
}

impl<'a> Desk<'a> {
    /// With a new directory in `room`.
    pub(super) fn new(ground: Ground<'a>, host: usize, room: &Path) -> Result<Self> {
        let directory = room.join(NAMES[host]);
        fs::create_dir(&directory)?;
        Ok(Self {
            ground,
            host,
            directory,
        })
    }

    /// Types what the guide says, and sees what it shows. Returns what was printed.
    pub(super) fn follow(&self, step: &Step) -> Result<String> {
        let output = self.typed(step.command)?.output()?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr);
        require(output.status.success() && said.is_empty(), || {
            format!("{} ended with {}: {said}", step.command, output.status)
        })?;
        step.require_shown(&printed)?;
        Ok(printed)
    }

    /// A command line, as a shell of this host takes it. The process is the command's own.
    pub(super) fn typed(&self, line: &str) -> Result<Command> {
        let beside = self
            .ground
            .program
            .parent()
            .ok_or("the program is a file")?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::split_paths(&path);
        let path = std::env::join_paths([beside.to_owned()].into_iter().chain(path))?;
        // In a namespace of its own for the host's name, and not to outlive us, whatever ends us.
        let mut command = self.ground.hosts.command(self.host, "unshare");
        command
            .args(["--uts", "setpriv", "--pdeathsig", "KILL"])
            .args(["sh", "-c", SHELL, NAMES[self.host], line])
            .current_dir(&self.directory)
            .env("PATH", path)
            .stdin(Stdio::null());
        Ok(command)
    }
}
