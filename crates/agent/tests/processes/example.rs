//! Programs that tests run.

use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

/// The executable of an example, which cargo builds beside the tests, but not if asked for one test alone.
pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test is a file");
    let profile = test.parent().and_then(Path::parent);
    let profile = profile.expect("tests lie in a directory of the profile's");
    let program = profile.join("examples").join(name);

    let remedy = "build it: cargo build -p hustings-agent --examples";
    let built = modified(&program).expect(remedy);
    let sources = fs::read_to_string(program.with_extension("d")).expect(remedy);
    for source in sources.split_whitespace() {
        let is_newer = modified(Path::new(source)).is_ok_and(|time| time > built);
        assert!(!is_newer, "{source} is newer than {program:?}: {remedy}");
    }
    program
}

fn modified(path: &Path) -> io::Result<SystemTime> {
    fs::metadata(path)?.modified()
}
