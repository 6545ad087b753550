//! Where a group leaves everything behind.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::Result;
use crate::field::hosts::run;

/// Of a voter's disk.
const DISK_BYTES: u64 = 64 * 1024;

/// A directory with a small disk for each voter, gone when dropped.
pub(super) struct Home {
    pub(super) path: PathBuf,
    disks: Vec<PathBuf>,
    /// Somebody may want to look into what went wrong.
    is_kept: bool,
}

impl Home {
    pub(super) fn make(name: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path)?;
        Ok(Self {
            path,
            disks: Vec::new(),
            is_kept: false,
        })
    }

    /// Where the disk of a member is, if it votes.
    pub(super) fn disk(&self, member: &str) -> PathBuf {
        self.path.join(format!("disk.{member}"))
    }

    pub(super) fn mount(&mut self, voter: &str) -> Result<()> {
        let disk = self.disk(voter);
        fs::create_dir(&disk)?;
        let size = format!("size={DISK_BYTES}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&disk);
        run(&mut mount)?;
        self.disks.push(disk);
        Ok(())
    }

    /// It is not removed.
    pub(super) fn keep(&mut self) {
        self.is_kept = true;
        println!("kept: {}", self.path.display());
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        for disk in &self.disks {
            let _ = run(Command::new("umount").arg("--lazy").arg(disk));
        }
        if !self.is_kept {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
