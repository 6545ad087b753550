//! The example and the guide show every field with its default.

use std::path::Path;

use super::settle;
use crate::config::file::{AGENT_FIELDS, EXAMPLE, Field, GROUP_FIELDS};

#[test]
fn example_is_accepted_and_shows_every_field() {
    settle(EXAMPLE).unwrap();
    let (agent, group) = EXAMPLE.split_once("\n[[group]]\n").unwrap();
    let shows = |text: &str, field: &Field| {
        let lines = text.lines().map(|line| line.trim_start_matches("# "));
        let mut names = lines.filter_map(|line| line.split_once(" = "));
        names.any(|(name, _)| name == field.name)
    };
    for field in AGENT_FIELDS.iter().filter(|field| field.name != "group") {
        assert!(shows(agent, field), "{}", field.name);
    }
    for field in GROUP_FIELDS {
        assert!(shows(group, field), "{}", field.name);
    }
}

#[test]
fn example_shows_the_defaults() {
    let written: String = EXAMPLE
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(field) if is_default(field) => format!("{field}\n"),
            Some(_) | None => format!("{line}\n"),
        })
        .collect();
    let (example, written) = (settle(EXAMPLE).unwrap(), settle(&written).unwrap());
    assert_eq!(format!("{example:?}"), format!("{written:?}"));
}

/// True if a line of the example, without its comment mark, sets a field to its default.
fn is_default(line: &str) -> bool {
    let Some((name, value)) = line.split_once(" = ") else {
        return false;
    };
    let value = value.split('#').next().unwrap_or_default();
    let value = value.trim().trim_matches('"');
    let mut fields = AGENT_FIELDS.iter().chain(GROUP_FIELDS);
    fields.any(|field| {
        let mut defaults = field.default.split(", or ");
        // These fields belong to other protocols than the default one, or to an authority.
        field.name == name
            && !["bound", "k", "view", "target", "ttl", "era"].contains(&name)
            && defaults.any(|default| default == value)
    })
}

#[test]
fn guide_has_every_field_with_its_default() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/configuration.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let (agent, group) = guide.split_once("## A group").unwrap();
    for (fields, part) in [(AGENT_FIELDS, agent), (GROUP_FIELDS, group)] {
        for Field { name, default, .. } in fields {
            let row = format!("| `{name}` | {default} |");
            assert!(part.lines().any(|line| line.starts_with(&row)), "{row}");
        }
    }
}
