//! Generates the wrong versions of tenure: its source text, with the lines replaced that
//! `wrong/*.diff` name.
//!
//! Each version is one file. The text before the first file name is its description. Under a file
//! name, lines that begin with `-` must occur in that file, consecutively and exactly once; lines
//! that begin with `+` replace them. Indentation is ignored. An empty line ends a replacement.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The modules of which a version has its own copy. It shares all others, so that all versions
/// exchange the same messages.
const OWN: &[&str] = &["nominee", "poll", "query", "voter"];

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let home = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let protocol = home.join("../protocol/src");
    let wrong = home.join("wrong");
    for watched in ["wrong", "../protocol/src/tenure", "../protocol/src/tenure.rs"] {
        println!("cargo::rerun-if-changed={watched}");
    }
    let mut versions: Vec<PathBuf> =
        fs::read_dir(wrong)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    versions.sort();
    let mut text = String::new();
    let mut names = Vec::new();
    for version in versions {
        let name = version.file_stem().ok_or("a version has a name")?;
        let name = name.to_string_lossy().replace('-', "_");
        let described = |error| format!("{}: {error}", version.display());
        let made = make(&protocol, &fs::read_to_string(&version)?).map_err(described)?;
        writeln!(text, "{}pub mod {name} {{\n{}\n}}\n", made.description, made.code)?;
        names.push(name);
    }
    writeln!(text, "crate::sut::impl_sut!({});", names.join(", "))?;
    let version = |name: &String| {
        let title = name.replace('_', "-");
        format!("crate::storm::Version::of::<{name}::Tenure>(\"{title}\")")
    };
    let versions: Vec<String> = names.iter().map(version).collect();
    writeln!(
        text,
        "pub(crate) const VERSIONS: &[crate::storm::Version] = &[{}];",
        versions.join(", ")
    )?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("wrong.rs"), text)?;
    Ok(())
}

struct WrongVersion {
    /// The documentation of its module.
    description: String,
    code: String,
}

fn make(protocol: &Path, diff: &str) -> Result<WrongVersion> {
    let mut files = BTreeMap::new();
    files.insert("tenure.rs".to_owned(), fs::read_to_string(protocol.join("tenure.rs"))?);
    for part in OWN {
        let file = format!("{part}.rs");
        let text = fs::read_to_string(protocol.join("tenure").join(&file))?;
        files.insert(file, text);
    }
    let mut description = String::new();
    let mut file = None;
    let mut exchange = Exchange::default();
    for line in diff.lines().chain([""]) {
        if let Some(old) = line.strip_prefix('-') {
            exchange.old.push(old.trim().to_owned());
        } else if let Some(new) = line.strip_prefix('+') {
            exchange.new.push(new.to_owned());
        } else if line.ends_with(".rs") {
            let text = files.get_mut(line);
            file = Some(text.ok_or_else(|| format!("{line} is not a file of a version"))?);
        } else if line.is_empty() {
            let exchange = std::mem::take(&mut exchange);
            if let Some(text) = &mut file
                && !exchange.old.is_empty()
            {
                **text = exchange.make(text)?;
            }
        } else if file.is_none() {
            writeln!(description, "/// {line}")?;
        } else {
            return Err(format!("unexpected line `{line}`").into());
        }
    }
    let code = assemble(&files);
    Ok(WrongVersion { description, code })
}

#[derive(Default)]
struct Exchange {
    old: Vec<String>,
    new: Vec<String>,
}

impl Exchange {
    fn make(&self, text: &str) -> Result<String> {
        let lines: Vec<&str> = text.lines().collect();
        let is_here = |window: &&[&str]| window.iter().zip(&self.old).all(|(a, b)| a.trim() == b);
        let places: Vec<usize> = lines
            .windows(self.old.len())
            .enumerate()
            .filter(|(_, window)| is_here(window))
            .map(|(at, _)| at)
            .collect();
        let [at] = places[..] else {
            let count = places.len();
            return Err(format!("found {count} times, not once:\n{}", self.old.join("\n")).into());
        };
        let mut changed: Vec<&str> = lines[..at].to_vec();
        changed.extend(self.new.iter().map(String::as_str));
        changed.extend(&lines[at + self.old.len()..]);
        Ok(changed.join("\n"))
    }
}

/// Assembles one module from all files. It refers to the other protocols by the name of their
/// crate.
fn assemble(files: &BTreeMap<String, String>) -> String {
    let mut code = String::new();
    for line in files["tenure.rs"].lines() {
        let is_public = line.starts_with("pub ");
        let module = line.strip_prefix("pub ").unwrap_or(line);
        let module = module.strip_prefix("mod ").and_then(|it| it.strip_suffix(';'));
        let shared = line
            .strip_prefix("pub use ")
            .and_then(|it| it.split_once("::"))
            .filter(|(module, _)| !OWN.contains(module));
        match (module, shared) {
            (Some(module), _) if OWN.contains(&module) => {
                let text = &files[&format!("{module}.rs")];
                code += &format!("mod {module} {{\n{text}\n}}\n");
            }
            (Some(module), _) if is_public => {
                code += &format!("pub use hustings_protocol::tenure::{module};\n");
            }
            (Some(_), _) => {} // a shared module
            (None, Some((_, names))) => {
                code += &format!("pub use hustings_protocol::tenure::{names}\n");
            }
            (None, None) => {
                code += line;
                code += "\n";
            }
        }
    }
    code.replace("crate::", "hustings_protocol::")
}
