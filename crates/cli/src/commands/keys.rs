//! `hustings keys`: secrets that the members of a group share.

use std::io::ErrorKind;
use std::path::PathBuf;

use clap::Subcommand;
use hustings_agent::seal::Key;
use hustings_system::secret_file::write_new;

use crate::failure::{Failure, print};

/// Create the secret key that the members of a group share
#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum Keys {
    /// Create a new key: 64 hexadecimal digits, drawn by the operating system
    Generate {
        /// Write the key to this new file, which only its owner can read. Default: print it
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}

impl Keys {
    pub(super) fn run(self) -> Result<(), Failure> {
        let Self::Generate { out } = self;
        let key = Key::generate().map_err(Failure::cannot("draw a key"))?;
        let text = String::from(key) + "\n";
        let Some(path) = &out else {
            return print(&text);
        };
        write_new(path, &text).map_err(|error| {
            let why = match error.kind() {
                ErrorKind::AlreadyExists => {
                    "the file exists, and its key may be in use: choose another file".to_owned()
                }
                _ => format!("cannot write the key: {error}"),
            };
            Failure::file("--out", path, why)
        })
    }
}
