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

const AFTER_HELP: &str = "\
An agent with --trace records all actions of its member: one line of JSON for every message
that leaves (send, multicast) or arrives (deliver), every timer, every change of its view
and every outcome. The lines have members by their identities, of up to 20 digits, which
follow from their names. Times are seconds on the host's boot clock.

The merged lines are in the order of time; lines of the same time keep the order of the files.
Times begin at 0. Members are numbered 0, 1, 2, ... as in the simulator: in the order of their
identities, so that the ring and the winner of a tie do not change. A number replaces every
identity, also inside messages. A member that appears in the lines of others has a number even
if its own trace is missing. Standard error lists the members with their numbers.

Hosts that booted at different times have different clocks. Messages show that if they arrive
more than a second before or after they were sent. Then the times of the later files are moved
so that messages take as little time as possible, and a note reports it. Agents of one host
share its clock, and their times are not moved.

The last line of a killed agent may be incomplete; it is left out.

Examples:
  hustings agent --group web --name alpha --trace alpha.jsonl
  hustings trace alpha.jsonl beta.jsonl gamma.jsonl --out web.jsonl
  hustings trace *.jsonl | grep -e Vacant -e Standing";

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
