//! The files of a writer: the shared log, and the times at which it believed to hold tenure.

use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hustings::Group;
use hustings::agent::{authority, clock};
use hustings::fence::{Fence, FenceGuard, GuardError, WriteError};

/// The interval at which the belief is recorded.
const ASK_EVERY: Duration = Duration::from_micros(500);

/// The shared log with its fence guard.
pub(crate) struct Ledger {
    name: String,
    guard: FenceGuard,
    log: File,
    refused: File,
}

impl Ledger {
    pub(crate) fn open(home: &Path, name: &str) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            name: name.to_owned(),
            guard: FenceGuard::open(home.join("guard"))?,
            log: end_of(&home.join("log"))?,
            refused: end_of(&home.join("refused"))?,
        })
    }

    /// Writes a line. If a writer with a higher fence came first, the refused line goes to another
    /// file.
    pub(crate) fn write(&self, fence: Fence) -> Result<(), WriteError<io::Error>> {
        match self.guard.write(fence, || self.add(&self.log, fence)) {
            Err(WriteError::Guard(GuardError::Refused { .. })) => {
                self.add(&self.refused, fence).map_err(WriteError::Write)
            }
            done => done,
        }
    }

    fn add(&self, mut file: &File, fence: Fence) -> io::Result<()> {
        let (now, name) = (clock::now().0, &self.name);
        file.write_all(format!("{fence} {now} {name}\n").as_bytes())
    }
}

/// The record of the times at which this member believed to hold tenure.
pub(crate) struct Witness(File);

impl Witness {
    pub(crate) fn begin(home: &Path, name: &str) -> io::Result<Self> {
        let file = format!("belief.{name}.{}", std::process::id());
        end_of(&home.join(file)).map(Self)
    }

    /// Checks for tenure, and records a positive answer before the caller acts on it.
    pub(crate) fn ask(&self, holds: impl FnOnce() -> Option<Fence>) -> io::Result<Option<Fence>> {
        let asked = clock::now().0;
        let held = holds();
        let told = clock::now().0;
        if let Some(fence) = held {
            let line = format!("{fence} {asked} {told}\n");
            (&self.0).write_all(line.as_bytes())?;
        }
        Ok(held)
    }

    /// Checks repeatedly in a thread of its own.
    pub(crate) fn watch(self: Arc<Self>, group: &Group, name: &str) -> Result<(), Box<dyn Error>> {
        let fencing = group.agent().fencing(name);
        let cell = fencing.ok_or("nobody grants tenure")?.tenure;
        thread::spawn(move || {
            let holds = || authority::holds(&cell).map(|held| held.fence);
            while self.ask(holds).is_ok() {
                thread::sleep(ASK_EVERY);
            }
            std::process::exit(1); // the belief cannot be recorded
        });
        Ok(())
    }
}

fn end_of(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(path)
}
