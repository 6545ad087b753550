//! `cargo xtask model`: takes tenure through every run of every setting, and prints how many there were.

use crate::{Result, shell};
use clap::Args;

#[derive(Args)]
#[command(
    after_help = "The quick settings, and the wrong versions that must be caught, are a part of \
                        `cargo test -p hustings-model`."
)]
pub(crate) struct Options {
    /// Only the settings whose name contains this
    #[arg(default_value = "", hide_default_value = true)]
    setting: String,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut search = shell::cargo([
        "run",
        "--release",
        "--quiet",
        "--package",
        "hustings-model",
        "--",
    ]);
    shell::run(search.arg(&options.setting))
}
