//! Rules about the text of the sources.

use crate::{assert_none, root};
use std::fs;
use std::path::{Path, PathBuf};

const LONGEST_FILE_LINES: usize = 600;

pub(crate) struct Source {
    /// The path below the workspace's root.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

#[test]
fn no_file_is_longer_than_600_lines() {
    let mut broken = Vec::new();
    for Source { path, text } in sources() {
        let lines = text.lines().count();
        if lines > LONGEST_FILE_LINES {
            let path = path.display();
            broken.push(format!("{path}: {lines} lines, more than {LONGEST_FILE_LINES}: split it"));
        }
    }
    assert_none(&broken);
}

#[test]
fn no_unfinished_code_remains() {
    // The marks are split, so that this file does not break its own rule.
    let marks = [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("#[", "ignore")];
    let mut broken = Vec::new();
    for Source { path, text } in sources() {
        for (number, line) in numbered(&text) {
            if marks.iter().any(|mark| line.contains(mark)) {
                let path = path.display();
                broken.push(format!("{path}:{number}: finish it: {}", line.trim()));
            }
        }
    }
    assert_none(&broken);
}

#[test]
fn seeded_crates_do_not_allow_banned_items() {
    let replayed = ["protocol", "theory", "sim", "node"].map(|name| format!("crates/{name}/src"));
    let mut broken = Vec::new();
    for Source { path, text } in sources() {
        let is_replayed = replayed.iter().any(|home| path.starts_with(home));
        if is_replayed && text.contains("clippy::disallowed_") {
            let path = path.display();
            broken.push(format!("{path}: allows what clippy.toml bans"));
        }
    }
    assert_none(&broken);
}

#[test]
fn unwrap_is_used_only_in_tests() {
    let mut shipped = sources();
    shipped.retain(|source| is_shipped(&source.path));
    let tests: Vec<PathBuf> = shipped.iter().flat_map(test_modules).collect();
    let is_test = |path: &Path| tests.iter().any(|test| is_in_module(path, test));
    shipped.retain(|source| !is_test(&source.path));

    let mut broken = Vec::new();
    for Source { path, text } in &shipped {
        for (number, line) in outside_tests(text) {
            // Examples in the documentation count, because users copy them.
            if line.contains(".unwrap()") {
                let path = path.display();
                broken.push(format!(
                    "{path}:{number}: return an error, or expect() with the reason: {}",
                    line.trim()
                ));
            }
        }
    }
    assert_none(&broken);
}

#[test]
fn code_under_cfg_test_is_recognised() {
    let text = "\
fn a() {}
#[cfg(test)]
use b;
#[cfg(test)]
impl C {
    fn d() {
    }
}
fn e() {
    #[cfg(test)]
    f(
    );
    g();
}
#[cfg(test)]
#[path = \"h\"]
mod h {
    i!(\"
}
\");
    fn j() {}
}
";
    let seen: Vec<&str> = outside_tests(text).into_iter().map(|(_, line)| line).collect();
    assert_eq!(seen, ["fn a() {}", "fn e() {", "    g();", "}"]);
}

#[test]
fn files_of_test_modules_are_found() {
    let check = |path: &str, expected: &str| {
        let text = "mod a;\n#[cfg(test)]\nmod b;\n".to_owned();
        let source = Source { path: path.into(), text };
        assert_eq!(test_modules(&source), [Path::new(expected)]);
    };
    check("crates/x/src/lib.rs", "crates/x/src/b");
    check("crates/x/src/c/mod.rs", "crates/x/src/c/b");
    check("crates/x/src/c.rs", "crates/x/src/c/b");
}

/// Returns every Rust file of the project, sorted by path.
pub(crate) fn sources() -> Vec<Source> {
    let mut paths = Vec::new();
    collect(root(), &mut paths);
    paths.sort();
    let read = |path: PathBuf| Source {
        text: fs::read_to_string(&path).expect("sources are readable UTF-8"),
        path: path.strip_prefix(root()).expect("below the root").to_owned(),
    };
    paths.into_iter().map(read).collect()
}

fn collect(directory: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("directories are readable") {
        let path = entry.expect("entries are readable").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Cargo puts this tag into every directory that it builds in.
        let is_built = path.join("CACHEDIR.TAG").exists();
        if path.is_dir() && !name.starts_with('.') && !is_built {
            collect(&path, paths);
        } else if name.ends_with(".rs") {
            paths.push(path);
        }
    }
}

/// Returns true for files of tests, examples and benchmarks.
pub(crate) fn is_test_file(path: &Path) -> bool {
    let is_test = |part: &std::ffi::OsStr| {
        ["tests", "tests.rs", "examples", "benches"].iter().any(|it| part == *it)
    };
    path.iter().any(is_test)
}

/// True if a file is part of a crate's source: `crates/*/src`.
fn is_shipped(path: &Path) -> bool {
    path.starts_with("crates") && path.iter().nth(2).is_some_and(|part| part == "src")
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines())
}

/// The lines that are not under `#[cfg(test)]`, as rustfmt lays them out.
pub(crate) fn outside_tests(text: &str) -> Vec<(usize, &str)> {
    let mut outside = Vec::new();
    let mut lines = numbered(text);
    while let Some((number, line)) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            outside.push((number, line));
            continue;
        }
        let indent = indent_of(line);
        for (_, line) in lines.by_ref() {
            let item = line.trim();
            if item.starts_with("mod ") && item.ends_with('{') {
                // Clippy allows no code after a module of tests.
                return outside;
            }
            if indent_of(line) == indent && item.ends_with(['}', ';']) {
                break;
            }
        }
    }
    outside
}

/// Returns the files of `#[cfg(test)] mod name;`, without their extension.
fn test_modules(source: &Source) -> Vec<PathBuf> {
    let path = &source.path;
    let is_root = ["lib.rs", "main.rs", "mod.rs"].iter().any(|root| path.ends_with(root));
    let home = if is_root { path.with_file_name("") } else { path.with_extension("") };
    let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
    let declared = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]");
    let names = declared.filter_map(|pair| pair[1].strip_prefix("mod ")?.strip_suffix(';'));
    names.map(|name| home.join(name)).collect()
}

/// True if a file belongs to a module or to a module inside it.
fn is_in_module(path: &Path, module: &Path) -> bool {
    path == module.with_extension("rs") || path.starts_with(module)
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
