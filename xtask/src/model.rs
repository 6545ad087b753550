//! `cargo xtask model`: explores every run of tenure in every setting, and prints the number of
//! states.

use crate::{Result, shell};
use clap::Args;

#[derive(Args)]
#[command(
    after_help = "The quick settings, and the wrong versions that must be caught, are a part of \
                        `cargo test -p hustings-model`."
)]
pub(crate) struct Options {
    /// Only the settings whose name contains this text
    #[arg(default_value = "", hide_default_value = true)]
    setting: String,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut search =
        shell::cargo(["run", "--release", "--quiet", "--package", "hustings-model", "--"]);
    shell::run(search.arg(&options.setting))
}
