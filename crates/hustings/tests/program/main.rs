//! The program, from outside: what it prints, and with what code it exits.

mod agreement;
mod chance;
mod process;
mod run;

/// Command lines with all that they print, as text files. After a change, `TRYCMD=overwrite cargo test
/// -p hustings transcripts` writes them anew, and a person reads the difference.
#[test]
fn transcripts() {
    trycmd::TestCases::new().case("tests/transcripts/*.trycmd");
}
