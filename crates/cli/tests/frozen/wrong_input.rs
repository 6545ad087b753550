//! Wrong input: the exit code, and the option, field or line that the message names.

use std::fs;

use crate::program::{Workplace, home};

/// One line of `commands/wrong_input.txt`.
struct Case<'a> {
    code: i32,
    names: Vec<&'a str>,
    command: &'a str,
}

/// Runs all cases. Returns one text for each that behaves differently.
pub(crate) fn failures() -> Vec<String> {
    let path = home().join("commands/wrong_input.txt");
    let text = fs::read_to_string(path).expect("the list of wrong input is readable");
    let lines = text.lines().filter(|it| !it.is_empty() && !it.starts_with('#'));
    let workplace = Workplace::new("wrong_input");
    let mut failures = Vec::new();
    for case in lines.map(Case::parse) {
        let outcome = workplace.run(case.command);
        let mut problems = Vec::new();
        if outcome.code != Some(case.code) {
            let new = outcome.code.map_or("none".to_owned(), |it| it.to_string());
            problems.push(format!("  exit code: recorded {}, new {new}", case.code));
        }
        // A verdict that something is wrong goes to standard output.
        let said = format!("{}\n{}", outcome.said, outcome.printed);
        let message = said.split("\nUsage:").next().unwrap_or_default();
        for name in case.names {
            if !is_named(message, name) {
                problems.push(format!("  the message does not name `{name}`: {message}"));
            }
        }
        if !problems.is_empty() {
            failures.push(format!("hustings {}\n{}", case.command, problems.join("\n")));
        }
    }
    failures
}

impl<'a> Case<'a> {
    fn parse(line: &'a str) -> Self {
        let mut parts = line.splitn(3, " | ");
        let mut next = || parts.next().expect("a line is CODE | NAMES | COMMAND").trim();
        Self {
            code: next().parse().expect("an exit code is a number"),
            names: next().split(", ").filter(|name| *name != "-").collect(),
            command: next(),
        }
    }
}

/// Returns true if a message has the name as a whole word. `line 3` also matches `FILE:3`.
fn is_named(message: &str, name: &str) -> bool {
    let number = ["line ", "column "].iter().find_map(|word| name.strip_prefix(word));
    has_word(message, name) || number.is_some_and(|it| has_word(message, &format!(":{it}")))
}

fn has_word(message: &str, word: &str) -> bool {
    let is_inner = |it: char| it.is_alphanumeric() || it == '-' || it == '_';
    message.match_indices(word).any(|(place, _)| {
        let before = message[..place].chars().next_back();
        let after = message[place + word.len()..].chars().next();
        (word.starts_with(':') || !before.is_some_and(is_inner)) && !after.is_some_and(is_inner)
    })
}

#[test]
fn names_are_whole_words() {
    assert!(is_named("for '--loss <P>'", "--loss"));
    assert!(!is_named("for '--loss-model'", "--loss"));
    assert!(is_named("web.toml:4: no such field", "line 4"));
    assert!(is_named("web.txt: line 4: no such verb", "line 4"));
    assert!(!is_named("web.toml:41: no such field", "line 4"));
    assert!(!is_named("group `website`", "web"));
}
