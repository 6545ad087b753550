//! Disks that accept no more writes. A test that needs one runs itself again, in a process that has
//! it.

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable with the path of the file, for that process.
pub(crate) const PATH: &str = "HUSTINGS_TEST_PATH";

/// The file to use, if this is that process.
pub(crate) fn path_here() -> Option<PathBuf> {
    env::var_os(PATH).map(PathBuf::from)
}

/// Runs `test` again, with a limit of 4096 bytes on file sizes.
#[track_caller]
pub(crate) fn run_where_files_are_short(test: &str, path: &Path) {
    // The limit counts in 512 bytes; the signal would end the process.
    run(&["sh"], "trap '' XFSZ && ulimit -f 8", test, path);
}

/// Runs `test` again, on a disk of 8192 bytes around `path`. Reports if this is not possible here.
#[track_caller]
pub(crate) fn run_on_a_small_disk(test: &str, path: &Path) {
    let shells: [&[&str]; 2] =
        [&["unshare", "--mount", "sh"], &["unshare", "--map-root-user", "--mount", "sh"]];
    let mount = "mount -t tmpfs -o size=8k none \"$1\"";
    let home = path.parent().expect("a file lies in a directory");
    let can_mount = |shell: &&&[&str]| {
        let mut probe = command(shell, mount);
        let output = probe.arg("probe").arg(home).output();
        output.is_ok_and(|it| it.status.success())
    };
    match shells.iter().find(can_mount) {
        Some(shell) => run(shell, mount, test, path),
        // Not by a macro: the test harness would swallow the line.
        None => writeln!(io::stderr(), "{test}: NOT RUN: this process may not mount a disk")
            .expect("standard error takes a line"),
    }
}

#[track_caller]
fn run(shell: &[&str], preparation: &str, test: &str, path: &Path) {
    let script = format!("{preparation} && exec \"$0\" --exact \"$2\" --nocapture");
    let output = command(shell, &script)
        .arg(env::current_exe().expect("this process has a program"))
        .arg(path.parent().expect("a file lies in a directory"))
        .arg(test)
        .env(PATH, path)
        .output()
        .expect("there is a shell");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(said.contains("1 passed"), "no test {test}: {said}");
}

fn command(shell: &[&str], script: &str) -> Command {
    let mut command = Command::new(shell[0]);
    command.args(&shell[1..]).args(["-c", script]);
    command
}
