//! The house rules as tests. Each failure names the place and the remedy.

mod clippy_bans;
mod crates;
mod prose;
mod sources;

use std::path::Path;

fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask lies in the workspace's root")
}

/// Fails with one line for each broken rule.
#[track_caller]
fn assert_none(broken: &[String]) {
    assert!(broken.is_empty(), "house rules broken:\n{}", broken.join("\n"));
}
