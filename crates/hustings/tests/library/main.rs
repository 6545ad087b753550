//! The library in the test's own process, as a user's program uses it.

mod joining;
mod waiting;

/// A group name that no other test and no other run uses.
fn unique(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}
