//! `cargo xtask reign`: holds thousands of probabilistic elections with tenure, in groups of
//! several sizes.

use crate::{Result, shell};
use clap::Args;

#[derive(Args)]
#[command(
    after_help = "A fifth of all messages is lost; in each election members crash, of those who vote, relay or are named \
                  one in four, and five voters grant tenure, who are hardly ever elected themselves. The run stops where \
                  two members hold at once or a fence does not rise. A shorter run is a part of `cargo test -p hustings-sim`."
)]
pub(crate) struct Options {
    /// Number of elections in each group
    #[arg(long, default_value_t = 10_000)]
    elections: u64,
    /// Sizes of the groups
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000])]
    members: Vec<u32>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut reign = shell::cargo([
        "run",
        "--release",
        "--quiet",
        "--package",
        "hustings-sim",
        "--example",
        "reign",
        "--",
    ]);
    reign.arg(options.elections.to_string());
    reign.args(options.members.iter().map(u32::to_string));
    shell::run(&mut reign)
}
