//! What the guide tells a new user to type, and what it says will be printed.

use super::{NAMES, require};
use crate::Result;

const QUICK_START: &str = include_str!("../../../../../docs/src/quick-start.md");
const SECTION: &str = "## On three hosts\n";

/// A command of the guide's.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) command: &'static str,
    /// Line by line.
    prints: Vec<&'static str>,
}

/// The step with this command.
pub(super) fn step(command: &str) -> Result<Step> {
    let step = steps().into_iter().find(|it| it.command == command);
    step.ok_or_else(|| format!("the quick start does not say `{command}`").into())
}

/// All steps, in the order of the guide.
pub(super) fn steps() -> Vec<Step> {
    let after = QUICK_START.split_once(SECTION).map_or("", |(_, it)| it);
    let section = after.split("\n## ").next().unwrap_or_default();
    // Every second part lies between two fences.
    let blocks = section.split("```").skip(1).step_by(2);
    let consoles = blocks.filter_map(|block| block.strip_prefix("console\n"));
    let mut steps: Vec<Step> = Vec::new();
    for line in consoles.flat_map(str::lines) {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step {
                command,
                prints: Vec::new(),
            }),
            (None, Some(step)) => step.prints.push(line),
            (None, None) => {} // printed by nothing that is typed here
        }
    }
    steps
}

impl Step {
    /// Fails unless `printed` is what the guide shows, but for names and numbers.
    pub(super) fn require_shown(&self, printed: &str) -> Result<()> {
        let is_shown = shapes(printed.lines()) == shapes(self.prints.iter().copied());
        require(is_shown, || {
            let shown = self.prints.join("\n");
            let command = self.command;
            format!("{command} printed\n{printed}\nand the quick start shows\n{shown}")
        })
    }

    /// Whether a line is one of those that the guide shows, but for names and numbers.
    pub(super) fn shows(&self, line: &str) -> bool {
        shapes(self.prints.iter().copied()).contains(&shape(line))
    }
}

fn shapes<'t>(lines: impl Iterator<Item = &'t str>) -> Vec<String> {
    lines.map(shape).collect()
}

/// A line without what differs from one group to the next: keys, numbers, and which member it is.
fn shape(line: &str) -> String {
    if line.len() == 64 && line.bytes().all(|it| it.is_ascii_hexdigit()) {
        return "KEY".to_owned();
    }
    let mut shape = String::new();
    for letter in line.chars() {
        match letter.is_ascii_digit() {
            true if shape.ends_with('0') => {}
            true => shape.push('0'),
            false => shape.push(letter),
        }
    }
    let unnamed = |shape: String, name: &&str| shape.replace(name, "MEMBER");
    let shape = NAMES.iter().fold(shape, unnamed);
    // Of whom a member has heard depends on who happened to speak.
    let heard = "MEMBER (heard 0.0 s ago)";
    shape.replace(&format!("{heard}, {heard}"), heard)
}

#[cfg(test)]
mod tests {
    use super::{Step, shape};

    #[test]
    fn lines_are_alike_but_for_names_and_numbers() {
        let check = |line: &str, expected: &str| assert_eq!(shape(line), expected);
        check(
            "group web: beta leads, at 10.0.0.2:38211",
            "group web: MEMBER leads, at 0.0.0.0:0",
        );
        check(
            "group web: gamma leads (this member)",
            "group web: MEMBER leads (this member)",
        );
        check(
            "  heard of  alpha (heard 0.1 s ago), gamma (heard 11.9 s ago)",
            "  heard of  MEMBER (heard 0.0 s ago)",
        );
        check(&"0a".repeat(32), "KEY");
        check(
            "  frames    40 sent, 0 heard",
            "  frames    0 sent, 0 heard",
        );
    }

    #[test]
    fn what_the_guide_does_not_show_is_told() {
        let step = Step {
            command: "hustings watch",
            prints: vec!["group web: beta leads", "group web: nobody leads"],
        };
        assert!(step.shows("group web: gamma leads"));
        assert!(!step.shows("group web: gamma is said to lead"));
        let swapped = "group web: nobody leads\ngroup web: alpha leads\n";
        assert!(step.require_shown(swapped).is_err());
        let told = "group web: alpha leads\ngroup web: nobody leads\n";
        assert!(step.require_shown(told).is_ok());
    }
}
