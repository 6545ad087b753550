//! Rules about the text of the sources.

use crate::{assert_none, root};
use std::fs;
use std::path::{Path, PathBuf};

const LONGEST_FILE_LINES: usize = 600;

struct Source {
    /// From the workspace's root.
    path: PathBuf,
    text: String,
}

#[test]
fn no_file_is_longer_than_a_sitting() {
    let mut broken = Vec::new();
    for Source { path, text } in sources() {
        let lines = text.lines().count();
        if lines > LONGEST_FILE_LINES {
            let path = path.display();
            broken.push(format!(
                "{path}: {lines} lines, more than {LONGEST_FILE_LINES}: split it"
            ));
        }
    }
    assert_none(&broken);
}

#[test]
fn nothing_is_left_for_later() {
    // In two halves, so that this file does not break its own rule.
    let marks = [
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("#[", "ignore"),
    ];
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
fn what_is_replayed_from_a_seed_keeps_the_bans() {
    let replayed = ["protocol", "theory", "sim"].map(|name| format!("crates/{name}/src"));
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
fn only_tests_unwrap() {
    let mut shipped = sources();
    shipped.retain(|source| is_shipped(&source.path));
    let tests: Vec<PathBuf> = shipped.iter().flat_map(test_modules).collect();
    let is_test = |path: &Path| tests.iter().any(|test| is_in_module(path, test));
    shipped.retain(|source| !is_test(&source.path));

    let mut broken = Vec::new();
    for Source { path, text } in &shipped {
        for (number, line) in outside_tests(text) {
            // Examples in the documentation count: users copy them.
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
fn code_under_cfg_test_is_told_from_the_rest() {
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
    let seen: Vec<&str> = outside_tests(text)
        .into_iter()
        .map(|(_, line)| line)
        .collect();
    assert_eq!(seen, ["fn a() {}", "fn e() {", "    g();", "}"]);
}

#[test]
fn files_of_test_modules_are_found() {
    let check = |path: &str, expected: &str| {
        let text = "mod a;\n#[cfg(test)]\nmod b;\n".to_owned();
        let source = Source {
            path: path.into(),
            text,
        };
        assert_eq!(test_modules(&source), [Path::new(expected)]);
    };
    check("crates/x/src/lib.rs", "crates/x/src/b");
    check("crates/x/src/c/mod.rs", "crates/x/src/c/b");
    check("crates/x/src/c.rs", "crates/x/src/c/b");
}

/// Every Rust file of the project, in the order of their paths.
fn sources() -> Vec<Source> {
    let mut paths = Vec::new();
    collect(root(), &mut paths);
    paths.sort();
    let read = |path: PathBuf| Source {
        text: fs::read_to_string(&path).expect("sources are readable UTF-8"),
        path: path
            .strip_prefix(root())
            .expect("below the root")
            .to_owned(),
    };
    paths.into_iter().map(read).collect()
}

fn collect(directory: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("directories are readable") {
        let path = entry.expect("entries are readable").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Cargo puts this tag into every directory it builds in.
        let is_built = path.join("CACHEDIR.TAG").exists();
        if path.is_dir() && !name.starts_with('.') && !is_built {
            collect(&path, paths);
        } else if name.ends_with(".rs") {
            paths.push(path);
        }
    }
}

/// Whether a file is part of what users get: `crates/*/src`.
fn is_shipped(path: &Path) -> bool {
    path.starts_with("crates") && path.iter().nth(2).is_some_and(|part| part == "src")
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines())
}

/// The lines that are not under `#[cfg(test)]`, as rustfmt lays them out.
fn outside_tests(text: &str) -> Vec<(usize, &str)> {
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
                // Clippy lets nothing follow a module of tests.
                return outside;
            }
            if indent_of(line) == indent && item.ends_with(['}', ';']) {
                break;
            }
        }
    }
    outside
}

/// The files of `#[cfg(test)] mod name;`, without their extension.
fn test_modules(source: &Source) -> Vec<PathBuf> {
    let path = &source.path;
    let is_root = ["lib.rs", "main.rs", "mod.rs"]
        .iter()
        .any(|root| path.ends_with(root));
    let home = if is_root {
        path.with_file_name("")
    } else {
        path.with_extension("")
    };
    let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
    let declared = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]");
    let names = declared.filter_map(|pair| pair[1].strip_prefix("mod ")?.strip_suffix(';'));
    names.map(|name| home.join(name)).collect()
}

/// Whether a file is that of a module, or of a module inside it.
fn is_in_module(path: &Path, module: &Path) -> bool {
    path == module.with_extension("rs") || path.starts_with(module)
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
