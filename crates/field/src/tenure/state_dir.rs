//! The directory of a group's files.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use hustings_testkit::{Scratch, run};

use crate::Result;

/// The size of a voter's disk.
const DISK_BYTES: u64 = 1024 * 1024;

/// The block size of a voter's disk.
pub(super) const BLOCK_BYTES: usize = 1024;

/// A directory with a small disk for each voter, removed when dropped.
pub(super) struct StateDir {
    home: Scratch,
    /// The mount points in it, in order.
    mounted: Vec<PathBuf>,
    /// True if the disks can be made to refuse writes.
    pub(super) disks_can_refuse: bool,
}

impl StateDir {
    pub(super) fn make() -> Result<Self> {
        let home = Scratch::new("hustings-tenure");
        let mut state_dir = Self { home, mounted: Vec::new(), disks_can_refuse: true };
        // The images are in memory, so that voters do not wait for the machine's disk.
        state_dir.mount_at(state_dir.images(), &mut tmpfs())?;
        Ok(state_dir)
    }

    pub(super) fn path(&self) -> &Path {
        self.home.path()
    }

    /// Returns the directory of a member. It is a disk of its own if the member votes.
    pub(super) fn disk(&self, member: &str) -> PathBuf {
        self.home.join(&format!("disk.{member}"))
    }

    /// The directory of the disk images.
    fn images(&self) -> PathBuf {
        self.home.join("images")
    }

    /// Mounts a disk for a voter. Where loop devices exist, its file system can refuse writes to an
    /// open file.
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

    /// Keeps the directory when this value is dropped.
    pub(super) fn keep(&mut self) {
        self.home.keep();
        println!("kept: {}", self.path().display());
    }
}

fn tmpfs() -> Command {
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "tmpfs"]);
    mount
}

impl Drop for StateDir {
    fn drop(&mut self) {
        for place in self.mounted.iter().rev() {
            let _ = run(Command::new("umount").arg("--lazy").arg(place));
        }
    }
}
