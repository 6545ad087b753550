//! `hustings trace`: merges the traces of several agents into one in the simulator's format.

mod identities;
mod merge;
mod source;

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::{Failure, say};
use merge::Merged;
use source::Source;

/// Merge the traces of several agents into one in the format of `hustings sim`
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Trace {
    /// Traces of members of one group: the files of `hustings agent --trace FILE`
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// The file for the merged trace. Default: standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

const AFTER_HELP: &str = include_str!("trace_help.txt").trim_ascii_end();

impl Trace {
    pub(super) fn run(self) -> Result<(), Failure> {
        if let Some(out) = &self.out
            && self.files.iter().any(|file| is_same(file, out))
        {
            let reason = "the file is one of the traces to merge: choose another";
            return Err(Failure::file("--out", out, reason));
        }
        let sources = self.files.iter().map(|path| Source::read(path));
        let merged = Merged::new(sources.collect::<Result<_, _>>()?);
        match &self.out {
            Some(path) => {
                let file = File::create(path).map_err(|why| Failure::file("--out", path, why))?;
                merged.write(BufWriter::new(file)).map_err(|error| {
                    Failure::Failed(format!("--out {}: {error}", path.display()))
                })?;
            }
            None => {
                let out = BufWriter::new(io::stdout().lock());
                merged.write(out).map_err(|error| Failure::output(&error))?;
            }
        }
        merged.notes.iter().for_each(|note| say(note));
        Ok(())
    }
}

/// Returns true if two paths name one existing file.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path| fs::canonicalize(path).ok();
    real(one).is_some_and(|one| Some(one) == real(other))
}
