//! `cargo xtask draws`: holds fair draws over real sockets of this host, and measures their speed.

use crate::{Result, shell};
use clap::Args;

#[derive(Args)]
#[command(
    after_help = "All members sit in one thread of one process: hosts of their own share the work, and wait for the \
                        network between them instead."
)]
pub(crate) struct Options {
    /// Number of members: 25 in the paper
    #[arg(long, default_value_t = 25)]
    members: u32,
    /// Number of draws
    #[arg(long, default_value_t = 100)]
    draws: u32,
    /// Let the first member be silent whenever it loses, and count the outcomes of the draws
    /// instead
    #[arg(long)]
    abort: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut draws = shell::cargo([
        "run",
        "--release",
        "--quiet",
        "--package",
        "hustings",
        "--example",
        "draws",
        "--",
    ]);
    draws.arg(options.members.to_string());
    draws.arg(options.draws.to_string());
    draws.args(options.abort.then_some("abort"));
    shell::run(&mut draws)
}
