//! Two answers side by side: where they differ, by JSON path.

use serde_json::Value;

use crate::json;

/// The number of differences that are shown for one command.
const MOST_SHOWN: usize = 5;

/// The longest value that is shown, in characters.
const MOST_CHARACTERS: usize = 160;

/// The differences between a recorded answer and a new one, one on each line. Empty if there is
/// none.
pub(crate) fn differences(recorded: &Value, new: &Value) -> String {
    let mut found = Vec::new();
    collect("", Some(recorded), Some(new), &mut found);
    let rest = found.len().saturating_sub(MOST_SHOWN);
    found.truncate(MOST_SHOWN);
    if rest > 0 {
        found.push(format!("  and {rest} more"));
    }
    found.join("\n")
}

fn collect(path: &str, recorded: Option<&Value>, new: Option<&Value>, found: &mut Vec<String>) {
    if recorded == new {
        return;
    }
    match (recorded, new) {
        (Some(Value::Object(old)), Some(Value::Object(fields))) => {
            for (key, value) in old {
                let path = format!("{path}.{key}");
                collect(&path, Some(value), fields.get(key), found);
            }
            for (key, value) in fields.iter().filter(|(key, _)| !old.contains_key(*key)) {
                collect(&format!("{path}.{key}"), None, Some(value), found);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(items))) => {
            for place in 0..old.len().max(items.len()) {
                let path = format!("{path}[{place}]");
                collect(&path, old.get(place), items.get(place), found);
            }
        }
        (recorded, new) => {
            let path = path.strip_prefix('.').unwrap_or(path);
            found.push(format!("  at {path}: recorded {}, new {}", shown(recorded), shown(new)));
        }
    }
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "nothing".to_owned();
    };
    let text = json::write(value);
    if text.chars().count() <= MOST_CHARACTERS {
        return text;
    }
    text.chars().take(MOST_CHARACTERS).chain("...".chars()).collect()
}

#[test]
fn differences_name_path_and_both_values() {
    let old = json::parse(r#"{"a":{"mean":1.0,"max":2},"b":[1,2],"c":null}"#).expect("JSON");
    let new = json::parse(r#"{"a":{"mean":1.5,"max":2},"b":[1],"d":true,"c":null}"#).expect("JSON");
    assert_eq!(
        differences(&old, &new),
        "  at a.mean: recorded 1.0, new 1.5\n\
         \x20 at b[1]: recorded 2, new nothing\n\
         \x20 at d: recorded nothing, new true"
    );
    assert_eq!(differences(&old, &old), "");
}
