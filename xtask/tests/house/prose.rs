//! Rules about how the sources read: doc comments, phrases, names, and what ARCHITECTURE.md names.

use std::collections::BTreeMap;
use std::path::Path;

use crate::sources::{Source, is_test_file, outside_tests, sources};
use crate::{assert_none, root};

/// Words that no doc comment should open with: such a comment has no subject.
const QUESTION_WORDS: &[&str] = &[
    "What", "Who", "Whom", "Whose", "Whoever", "Whether", "How", "Where", "When", "Why", "Which",
    "So", "That", "Those", "None", "Not", "But", "Of",
];

/// The largest share of a crate's doc comments that may open with such a word, in percent.
const MOST_QUESTIONS_PERCENT: usize = 8;

/// Phrases that hide the subject or the number. `CONTRIBUTING.md` says what to write in their place.
const AVOIDED: &[&str] = &[
    "whoever",
    "whomever",
    "that one",
    "those who",
    "goes by its name",
    "go by its name",
    "is told",
    "is said",
    "is heard",
    "are told",
    "are said",
    "nobody",
    "somebody",
    "who asks",
    "who holds",
    "who leads",
    "who lives",
    "who calls",
    "who comes",
    "who gives",
    "who gets",
    "who is",
    "who has",
    "so many",
    "so long",
    "so much",
    "so often",
];

/// The most avoided phrases in all comments of the project. Some are correct English: "memory that
/// one election leaves to the next".
const MOST_AVOIDED: usize = 18;

/// Names that several types of one crate may share, because each names its part in a pattern.
const PATTERN_NAMES: &[&str] = &[
    "Config", "Message", "Timer", "Phase", "Request", "Options", "Error", "Input", "Output",
    "Event",
];

/// Files that several directories of one crate may share, because each has its part in a pattern.
const PATTERN_FILES: &[&str] = &["lib", "main", "mod", "config", "message", "error", "options"];

#[test]
fn doc_comments_open_with_a_subject_or_a_verb() {
    let mut crates: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for source in sources() {
        let (all, questions) = crates.entry(crate_of(&source.path)).or_default();
        for opening in doc_openings(&source.text) {
            *all += 1;
            *questions += usize::from(is_question(opening));
        }
    }
    let broken: Vec<String> = crates
        .into_iter()
        .filter(|(_, (all, questions))| questions * 100 > all * MOST_QUESTIONS_PERCENT)
        .map(|(name, (all, questions))| {
            format!(
                "{name}: {questions} of {all} doc comments open with a question word, more than {MOST_QUESTIONS_PERCENT} %: open with a noun or a verb"
            )
        })
        .collect();
    assert_none(&broken);
}

#[test]
fn comments_keep_clear_of_avoided_phrases() {
    let mut found = Vec::new();
    for Source { path, text } in sources() {
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim_start();
            if !line.starts_with("//") {
                continue;
            }
            let line = line.to_lowercase();
            let phrases = AVOIDED.iter().filter(|it| has_phrase(&line, it));
            found.extend(phrases.map(|it| format!("{}:{number}: `{it}`", path.display())));
        }
    }
    assert!(
        found.len() <= MOST_AVOIDED,
        "{} avoided phrases in comments, more than {MOST_AVOIDED}: name the subject or the number\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn no_crate_defines_a_type_name_twice() {
    let mut defined = Places::default();
    for Source { path, text } in sources() {
        if is_test_file(&path) {
            continue;
        }
        for (number, line) in outside_tests(&text) {
            if let Some(name) = type_name(line).filter(|it| !PATTERN_NAMES.contains(it)) {
                defined.add(&path, name, format!("{}:{number}", path.display()));
            }
        }
    }
    assert_none(&defined.twice());
}

#[test]
fn no_crate_has_two_files_of_one_name() {
    let mut files = Places::default();
    for Source { path, .. } in sources() {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if !is_test_file(&path) && !PATTERN_FILES.contains(&&*stem) {
            files.add(&path, &stem, path.display().to_string());
        }
    }
    assert_none(&files.twice());
}

/// The places of each name, by crate.
#[derive(Default)]
struct Places(BTreeMap<(String, String), Vec<String>>);

impl Places {
    fn add(&mut self, path: &Path, name: &str, place: String) {
        self.0.entry((crate_of(path), name.to_owned())).or_default().push(place);
    }

    /// Returns a complaint for each name that has two places.
    fn twice(&self) -> Vec<String> {
        let twice = self.0.iter().filter(|(_, places)| places.len() > 1);
        twice
            .map(|((_, name), places)| format!("`{name}`: {}: rename", places.join(", ")))
            .collect()
    }
}

#[test]
fn architecture_names_paths_that_exist_and_every_crate() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md"));
    let text = text.expect("ARCHITECTURE.md is readable");
    let mut broken = Vec::new();
    for path in named_paths(&text) {
        if !root().join(path).exists() {
            broken.push(format!("ARCHITECTURE.md names `{path}`, which is not there"));
        }
    }
    for entry in std::fs::read_dir(root().join("crates")).expect("crates/ is readable") {
        let name = entry.expect("entries are readable").file_name();
        let heading = format!("### `crates/{}`", name.to_string_lossy());
        if !text.lines().any(|line| line.starts_with(&heading)) {
            broken.push(format!("ARCHITECTURE.md has no section `{heading}`"));
        }
    }
    assert_none(&broken);
}

#[test]
fn openings_phrases_types_and_paths_are_recognised() {
    let text = "//! What it is.\n//! More.\n\n/// Sends.\nfn a() {}\n    /// Who asks.\n";
    let openings: Vec<&str> = doc_openings(text).collect();
    assert_eq!(openings, ["What it is.", "Sends.", "Who asks."]);
    assert!(is_question("What it is.") && !is_question("Whatever it is."));
    assert!(has_phrase("// who asks, waits", "who asks"));
    assert!(!has_phrase("// who askstwice", "who asks"));
    assert!(has_phrase("// of so many seeds", "so many"));
    assert!(!has_phrase("// so long that no renewal happens", "so long"));
    assert!(!has_phrase("// runs as `nobody`", "nobody"));
    let mut places = Places::default();
    for (path, name) in [("crates/x/src/a.rs", "A"), ("crates/y/src/a.rs", "A")] {
        places.add(Path::new(path), name, path.to_owned());
    }
    assert_eq!(places.twice(), [""; 0]);
    places.add(Path::new("crates/x/src/b.rs"), "A", "crates/x/src/b.rs".to_owned());
    assert_eq!(places.twice(), ["`A`: crates/x/src/a.rs, crates/x/src/b.rs: rename"]);
    assert_eq!(type_name("    pub(crate) struct Peer<'a> {"), Some("Peer"));
    assert_eq!(type_name("enum Way {"), Some("Way"));
    assert_eq!(type_name("let enum_like = 1;"), None);
    let paths: Vec<&str> = named_paths("see `crates/x/src/y.rs`, `z.rs` and `docs/`").collect();
    assert_eq!(paths, ["crates/x/src/y.rs", "docs/"]);
}

/// The crate that a path lies in: `crates/NAME`, or the first directory.
fn crate_of(path: &Path) -> String {
    let parts = if path.starts_with("crates") { 2 } else { 1 };
    let parts: Vec<_> = path.iter().take(parts).map(|it| it.to_string_lossy()).collect();
    parts.join("/")
}

/// The first line of each doc comment.
fn doc_openings(text: &str) -> impl Iterator<Item = &str> {
    let mut is_inside = false;
    text.lines().filter_map(move |line| {
        let doc = line.trim_start();
        let doc = doc.strip_prefix("///").or_else(|| doc.strip_prefix("//!"));
        let opens = doc.is_some() && !is_inside;
        is_inside = doc.is_some();
        doc.filter(|_| opens).map(str::trim)
    })
}

fn is_question(opening: &str) -> bool {
    let word = opening.split(|it: char| !it.is_alphanumeric()).next();
    word.is_some_and(|word| QUESTION_WORDS.contains(&word))
}

/// Finds `phrase` in `line` as whole words. "So long that" names a consequence, and what stands
/// between backticks is code.
fn has_phrase(line: &str, phrase: &str) -> bool {
    let is_word = |it: Option<char>| it.is_some_and(|it| it.is_alphanumeric() || it == '`');
    line.match_indices(phrase).any(|(at, _)| {
        let rest = &line[at + phrase.len()..];
        let has_consequence = phrase.starts_with("so ")
            && [" that", " as "].iter().any(|word| rest.starts_with(word));
        !is_word(line[..at].chars().next_back())
            && !is_word(rest.chars().next())
            && !has_consequence
    })
}

/// The name of the type that a line defines.
fn type_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1.trim_start(),
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let kinds = ["struct ", "enum ", "trait ", "union "];
    let name = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    name.split(|it: char| !it.is_alphanumeric() && it != '_').next()
}

/// The paths between backticks that begin at the root of the project.
fn named_paths(text: &str) -> impl Iterator<Item = &str> {
    let roots = ["crates/", "benches/", "docs/", "xtask/"];
    let quoted = text.split('`').skip(1).step_by(2);
    let paths = quoted.filter(move |it| roots.iter().any(|root| it.starts_with(root)));
    paths.filter(|it| !it.contains(['*', ' ', '{', '<']))
}
