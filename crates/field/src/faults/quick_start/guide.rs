//! The commands that the guide tells a new user to type, and the output that it shows.

use super::NAMES;
use crate::Result;

const QUICK_START: &str = include_str!("../../../../../docs/src/quick-start.md");
const SECTION: &str = "## On three hosts\n";

/// A command of the guide.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) command: &'static str,
    /// The shown output, line by line.
    prints: Vec<&'static str>,
}

/// Returns the step with this command.
pub(super) fn step(command: &str) -> Result<Step> {
    let step = steps().into_iter().find(|it| it.command == command);
    step.ok_or_else(|| format!("the quick start does not say `{command}`").into())
}

/// Returns all steps in the order of the guide.
pub(super) fn steps() -> Vec<Step> {
    let after = QUICK_START.split_once(SECTION).map_or("", |(_, it)| it);
    let section = after.split("\n## ").next().unwrap_or_default();
    // Every second part lies between two code fences.
    let blocks = section.split("```").skip(1).step_by(2);
    let consoles = blocks.filter_map(|block| block.strip_prefix("console\n"));
    let mut steps: Vec<Step> = Vec::new();
    for line in consoles.flat_map(str::lines) {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command, prints: Vec::new() }),
            (None, Some(step)) => step.prints.push(line),
            (None, None) => {} // output without a command in this section
        }
    }
    steps
}

impl Step {
    /// Fails unless `printed` is the output that the guide shows, apart from names and numbers.
    pub(super) fn require_shown(&self, printed: &str) -> Result<()> {
        let is_shown = shapes(printed.lines()) == shapes(self.prints.iter().copied());
        let (command, shown) = (self.command, self.prints.join("\n"));
        ensure!(is_shown, "{command} printed\n{printed}\nand the quick start shows\n{shown}");
        Ok(())
    }

    /// True if the guide shows this line, apart from names and numbers.
    pub(super) fn shows(&self, line: &str) -> bool {
        shapes(self.prints.iter().copied()).contains(&shape(line))
    }
}

fn shapes<'t>(lines: impl Iterator<Item = &'t str>) -> Vec<String> {
    lines.map(shape).collect()
}

/// Returns a line without the parts that differ between groups: keys, numbers, and member names.
fn shape(line: &str) -> String {
    if line.len() == 64 && line.bytes().all(|it| it.is_ascii_hexdigit()) {
        return "KEY".to_owned();
    }
    let mut shape = String::new();
    for letter in line.chars() {
        if !letter.is_ascii_digit() {
            shape.push(letter);
        } else if !shape.ends_with('0') {
            shape.push('0');
        }
    }
    let unnamed = |shape: String, name: &&str| shape.replace(name, "MEMBER");
    let shape = NAMES.iter().fold(shape, unnamed);
    // The number of members that a member has received from varies.
    let heard = "MEMBER (heard 0.0 s ago)";
    shape.replace(&format!("{heard}, {heard}"), heard)
}

#[cfg(test)]
mod tests {
    use super::{Step, shape};

    #[test]
    fn shape_ignores_names_and_numbers() {
        let check = |line: &str, expected: &str| assert_eq!(shape(line), expected);
        check("group web: beta leads, at 10.0.0.2:38211", "group web: MEMBER leads, at 0.0.0.0:0");
        check("group web: gamma leads (this member)", "group web: MEMBER leads (this member)");
        check(
            "  heard of  alpha (heard 0.1 s ago), gamma (heard 11.9 s ago)",
            "  heard of  MEMBER (heard 0.0 s ago)",
        );
        check(&"0a".repeat(32), "KEY");
        check("  frames    40 sent, 0 heard", "  frames    0 sent, 0 heard");
    }

    #[test]
    fn output_that_the_guide_does_not_show_is_rejected() {
        let step = Step {
            command: "hustings watch",
            prints: vec!["group web: beta leads", "group web: no leader"],
        };
        assert!(step.shows("group web: gamma leads"));
        assert!(!step.shows("group web: gamma is said to lead"));
        let swapped = "group web: no leader\ngroup web: alpha leads\n";
        assert!(step.require_shown(swapped).is_err());
        let told = "group web: alpha leads\ngroup web: no leader\n";
        assert!(step.require_shown(told).is_ok());
    }
}
