//! Where a group leaves everything behind.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use crate::Result;
use crate::field::hosts::run;

/// Of a voter's disk.
const DISK_BYTES: u64 = 1024 * 1024;

/// What a voter's disk gives out at a time.
pub(super) const BLOCK_BYTES: usize = 1024;

/// A directory with a small disk for each voter, gone when dropped.
pub(super) struct Home {
    pub(super) path: PathBuf,
    /// What is mounted in it, in order.
    mounted: Vec<PathBuf>,
    /// Whether the disks can be made to refuse writes.
    disks_can_refuse: bool,
    /// Somebody may want to look into what went wrong.
    is_kept: bool,
}

impl Home {
    pub(super) fn make(name: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path)?;
        let mut home = Self {
            path,
            mounted: Vec::new(),
            disks_can_refuse: true,
            is_kept: false,
        };
        // In memory: voters wait for no disk of this machine.
        home.mount_at(home.images(), &mut tmpfs())?;
        Ok(home)
    }

    /// Whether the disks can be made to refuse writes.
    pub(super) fn disks_can_refuse(&self) -> bool {
        self.disks_can_refuse
    }

    /// Where the disk of a member is, if it votes.
    pub(super) fn disk(&self, member: &str) -> PathBuf {
        self.path.join(format!("disk.{member}"))
    }

    /// What disks are made of.
    fn images(&self) -> PathBuf {
        self.path.join("images")
    }

    /// A disk of its own: with a file system that can refuse writes to a file that is open, where there are loop devices.
    pub(super) fn mount(&mut self, voter: &str) -> Result<()> {
        if self.disks_can_refuse {
            match self.mount_image(voter) {
                Ok(()) => return Ok(()),
                Err(error) => println!("no voter's disk can be made to refuse writes: {error}"),
            }
            self.disks_can_refuse = false;
        }
        let mut mount = tmpfs();
        mount.args(["-o", &format!("size={DISK_BYTES}")]);
        self.mount_at(self.disk(voter), &mut mount)
    }

    fn mount_image(&mut self, voter: &str) -> Result<()> {
        let image = self.images().join(voter);
        File::create(&image)?.set_len(DISK_BYTES)?;
        let mut format = Command::new("mkfs.ext4");
        format.args(["-q", "-m", "0", "-O", "^has_journal"]);
        format.args(["-b", &BLOCK_BYTES.to_string()]);
        run(format.arg(&image))?;
        let mut mount = Command::new("mount");
        mount.args(["-o", "loop"]).arg(image);
        self.mount_at(self.disk(voter), &mut mount)
    }

    fn mount_at(&mut self, place: PathBuf, mount: &mut Command) -> Result<()> {
        fs::create_dir_all(&place)?;
        run(mount.arg(&place))?;
        self.mounted.push(place);
        Ok(())
    }

    /// It is not removed.
    pub(super) fn keep(&mut self) {
        self.is_kept = true;
        println!("kept: {}", self.path.display());
    }
}

fn tmpfs() -> Command {
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "tmpfs"]);
    mount
}

impl Drop for Home {
    fn drop(&mut self) {
        for place in self.mounted.iter().rev() {
            let _ = run(Command::new("umount").arg("--lazy").arg(place));
        }
        if !self.is_kept {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
