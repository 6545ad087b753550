//! The example and the guide show every field with its default.

use std::path::Path;

use super::settle;
use crate::config::example;
use crate::config::fields::{AGENT_FIELDS, Field, GROUP_FIELDS, all};
use crate::config::reference::as_in_file;

#[test]
fn example_is_accepted_and_shows_every_field() {
    let text = example();
    settle(&text).unwrap();
    let (agent, group) = text.split_once("\n[[group]]\n").unwrap();
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
    let text = example();
    let written: String = text
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(field) if is_default(field) => format!("{field}\n"),
            Some(_) | None => format!("{line}\n"),
        })
        .collect();
    let (example, written) = (settle(&text).unwrap(), settle(&written).unwrap());
    assert_eq!(format!("{example:?}"), format!("{written:?}"));
}

/// True if a line of the example, without its comment mark, sets a field to its default.
fn is_default(line: &str) -> bool {
    let Some((name, value)) = line.split_once(" = ") else {
        return false;
    };
    let value = value.trim_matches('"');
    all().any(|field| {
        let mut defaults = field.default.split([',', ';']);
        // `bind` is also the next free port. The others are not for the default protocol, or are for
        // an authority.
        field.name == name
            && !["bind", "bound", "k", "view", "target", "ttl", "era"].contains(&name)
            && defaults.any(|default| default == value)
    })
}

/// The tables of the guide stand between two comments. `GUIDE=write` rewrites them.
#[test]
fn guide_has_the_tables_of_all_fields() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/configuration.md");
    let written = std::fs::read_to_string(&path).unwrap();
    let mut guide = written.clone();
    for (name, fields) in [("agent", AGENT_FIELDS), ("group", GROUP_FIELDS)] {
        let [begin, end] =
            ["fields", "end of the fields"].map(|it| format!("<!-- {it}: {name} -->\n"));
        let (before, rest) = guide.split_once(&begin).expect("the guide marks its tables");
        let (_, after) = rest.split_once(&end).expect("the guide marks the ends of its tables");
        guide = format!("{before}{begin}{}{end}{after}", guide_table(fields));
    }
    if std::env::var_os("GUIDE").is_some_and(|it| it == "write") {
        std::fs::write(&path, guide).unwrap();
    } else {
        assert!(written == guide, "repeat this test with GUIDE=write, which writes:\n{guide}");
    }
}

/// Returns the table of the guide for `fields`.
fn guide_table(fields: &[Field]) -> String {
    let mut table = "| Field | Option | Default | Meaning |\n|---|---|---|---|\n".to_owned();
    for Field { name, help, default, option, .. } in fields.iter().filter(|it| it.name != "group") {
        let option = option.as_ref().map_or_else(String::new, |_| format!("`--{name}`"));
        let default = if default.is_empty() { "none" } else { default };
        let (default, help) = (as_in_file(default), as_in_file(help));
        table += &format!("| `{name}` | {option} | {default} | {help}. |\n");
    }
    table
}
