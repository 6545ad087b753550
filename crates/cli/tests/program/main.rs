//! The program from outside: its output and its exit codes.

mod agreement;
mod chance;
mod process;
mod run;

/// Command lines with all their output, as text files. After a change,
/// `TRYCMD=overwrite cargo test -p hustings-cli transcripts` writes them anew, and a person reads
/// the difference.
#[test]
fn transcripts() {
    trycmd::TestCases::new().case("tests/transcripts/*.trycmd");
}
