//! The table of renames, applied to recorded answers before they are compared.

use std::cell::Cell;
use std::fs;

use serde_json::{Map, Value};

use crate::program::home;

/// One line of `renamed_keys.txt`.
struct Rename {
    old: String,
    new: String,
    /// The key of the object or value in which the rename holds; everywhere if `None`.
    under: Option<String>,
    is_used: Cell<bool>,
}

/// The whole table.
pub(crate) struct Renames(Vec<Rename>);

impl Renames {
    /// Reads `renamed_keys.txt`.
    pub(crate) fn read() -> Self {
        let path = home().join("renamed_keys.txt");
        Self::parse(&fs::read_to_string(path).expect("renamed_keys.txt is readable"))
    }

    fn parse(text: &str) -> Self {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or(""));
        let lines = lines.map(str::trim).filter(|line| !line.is_empty());
        Self(lines.map(Rename::parse).collect())
    }

    /// The value with all renames applied, each key and string at most once. `key` is that of the
    /// value itself, empty at the top.
    pub(crate) fn apply(&self, value: &Value, key: &str) -> Value {
        match value {
            Value::String(text) => Value::String(self.new_name(text, key).to_owned()),
            Value::Array(items) => items.iter().map(|item| self.apply(item, key)).collect(),
            Value::Object(fields) => {
                let mut renamed = Map::new();
                for (name, field) in fields {
                    let new = self.new_name(name, key).to_owned();
                    let earlier = renamed.insert(new.clone(), self.apply(field, name));
                    assert!(
                        earlier.is_none(),
                        "renamed_keys.txt: two keys of one object become `{new}`: restrict one with `under`"
                    );
                }
                Value::Object(renamed)
            }
            other => other.clone(),
        }
    }

    fn new_name<'a>(&'a self, name: &'a str, under: &str) -> &'a str {
        let holds = |rename: &&Rename| {
            rename.old == name && rename.under.as_deref().is_none_or(|key| key == under)
        };
        let Some(rename) = self.0.iter().find(holds) else {
            return name;
        };
        rename.is_used.set(true);
        &rename.new
    }

    /// The lines that no call of [`apply`](Self::apply) has used.
    pub(crate) fn unused(&self) -> Vec<String> {
        let unused = self.0.iter().filter(|rename| !rename.is_used.get());
        unused.map(|rename| format!("{} -> {}", rename.old, rename.new)).collect()
    }
}

impl Rename {
    fn parse(line: &str) -> Self {
        let parsed = line.split_once(" -> ").map(|(old, rest)| {
            let (new, under) = match rest.split_once(" under ") {
                Some((new, under)) => (new, Some(under.trim().to_owned())),
                None => (rest, None),
            };
            (old.trim().to_owned(), new.trim().to_owned(), under)
        });
        let Some((old, new, under)) = parsed else {
            panic!("renamed_keys.txt: `{line}`: write OLD -> NEW, or OLD -> NEW under KEY");
        };
        Self { old, new, under, is_used: Cell::new(false) }
    }
}

#[test]
fn renames_apply_to_keys_and_strings_and_only_under_their_key() {
    let renames = Renames::parse("# none\nmerit -> priority\nid -> identity under leader # one\n");
    let old = serde_json::json!({"merit": {"id": "merit"}, "leader": [{"id": "id"}]});
    let new = serde_json::json!({"priority": {"id": "priority"}, "leader": [{"identity": "id"}]});
    assert_eq!(renames.apply(&old, ""), new);
    assert!(renames.unused().is_empty());
    let unused = Renames::parse("nothing -> anything");
    assert_eq!(unused.apply(&old, ""), old);
    assert_eq!(unused.unused(), ["nothing -> anything"]);
}
