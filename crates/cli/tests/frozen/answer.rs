//! The answer to a command: its computed results as one JSON value without prose.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use crate::json;
use crate::program::Workplace;

/// The file that commands with `--trace` write.
const TRACE: &str = "run.jsonl";

/// The directory that commands with `--out` write.
const FIGURES: &str = "figures";

/// Keys of `reproduce --format json` whose strings are prose, with the reason why each may be
/// rewritten.
const PROSE: &[(&str, &str)] = &[
    ("document", "title of the source document"),
    ("source", "place in the document, for people to look it up"),
    ("says", "the claim in our words"),
    ("reading", "our interpretation of the claim"),
    ("what", "description of one check; its place in the list identifies it"),
    ("error", "reason why an experiment could not be run"),
];

/// Keys of `reproduce --format json` whose strings are sentences with measured numbers. The numbers
/// are compared in their order; the words between them may be rewritten.
const PROSE_WITH_NUMBERS: &[&str] = &["expected", "measured"];

/// Runs a command and returns its answer.
///
/// # Errors
/// If the command fails or prints something else than it is asked for.
pub(crate) fn to(command: &str, workplace: &Workplace) -> Result<Value, String> {
    let trace = workplace.cleared(TRACE);
    let figures = workplace.cleared(FIGURES);
    let outcome = workplace.run(command);
    if outcome.code != Some(0) {
        let (code, stderr) = (outcome.code, outcome.said);
        return Err(format!("exit code {code:?}: {stderr}"));
    }
    let has = |option: &str| command.contains(option);
    if has("--trace") {
        let text = fs::read_to_string(&trace).map_err(|error| format!("{TRACE}: {error}"))?;
        text.lines().map(json::parse).collect()
    } else if has("--out") {
        curves(&figures)
    } else if has("--format csv") {
        table(&outcome.printed)
    } else if has("reproduce") {
        Ok(without_prose(&json::parse(&outcome.printed)?, ""))
    } else if has("--format json") {
        json::parse(&outcome.printed)
    } else {
        Err("the command has none of --format json, --format csv, --trace and --out".to_owned())
    }
}

/// A table of comma-separated values as an object of rows, each an object of cells by column.
fn table(text: &str) -> Result<Value, String> {
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let columns = lines.next().ok_or("no line of headings")?;
    let mut rows = Map::new();
    for cells in lines {
        if cells.len() != columns.len() {
            return Err(format!("{cells:?} does not fit {columns:?}"));
        }
        let pairs = columns.iter().zip(&cells).skip(1);
        let row = pairs.map(|(column, cell)| ((*column).to_owned(), json::number(cell)));
        let earlier = rows.insert(cells[0].to_owned(), Value::Object(row.collect()));
        if earlier.is_some() {
            return Err(format!("two rows are called {}", cells[0]));
        }
    }
    let rows = [(columns[0].to_owned(), Value::Object(rows))];
    Ok(Value::Object(rows.into_iter().collect()))
}

/// The figures in a directory, each as the list of its shapes.
fn curves(directory: &Path) -> Result<Value, String> {
    let mut figures = Map::new();
    let entries = fs::read_dir(directory).map_err(|error| format!("{FIGURES}: {error}"))?;
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.extension().is_some_and(|extension| extension == "svg") {
            let svg = fs::read_to_string(&path).map_err(|error| error.to_string())?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            figures.insert(name.into_owned(), shapes(&svg).into_iter().collect());
        }
    }
    if figures.is_empty() {
        return Err("no figure was written".to_owned());
    }
    Ok(Value::Object(figures))
}

/// The corners of all lines and areas of a figure, up to the legend. The legend is the second
/// rectangle; its place depends on the length of its words.
fn shapes(svg: &str) -> Vec<String> {
    let drawn = svg.split("<rect").take(2);
    let shapes = drawn.flat_map(|part| part.split(" points=\"").skip(1));
    let corners = shapes.map(|shape| shape.split('"').next().unwrap_or_default());
    corners.map(|it| it.trim().to_owned()).collect()
}

/// Returns the value without the parts that may be rewritten. `key` is that of the value itself.
fn without_prose(value: &Value, key: &str) -> Value {
    match value {
        Value::String(text) if PROSE_WITH_NUMBERS.contains(&key) => {
            numbers(text).iter().map(|it| json::number(it)).collect()
        }
        Value::Array(items) => items.iter().map(|item| without_prose(item, key)).collect(),
        Value::Object(fields) => {
            let is_prose = |name: &str| PROSE.iter().any(|(key, _)| *key == name);
            let kept = fields.iter().filter(|(name, field)| !(is_prose(name) && field.is_string()));
            let kept = kept.map(|(name, field)| (name.clone(), without_prose(field, name)));
            Value::Object(kept.collect())
        }
        other => other.clone(),
    }
}

/// Returns the numbers in a sentence as written. A hyphen is a sign if a blank or a bracket
/// precedes it.
fn numbers(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let at = |place: usize| characters.get(place).copied().unwrap_or(' ');
    let mut numbers = Vec::new();
    let mut place = 0;
    while place < characters.len() {
        if !at(place).is_ascii_digit() {
            place += 1;
            continue;
        }
        let start = place;
        while at(place).is_ascii_digit()
            || at(place) == '.' && at(place + 1).is_ascii_digit()
            || at(place) == 'e' && (at(place + 1).is_ascii_digit() || at(place + 1) == '-')
            || at(place) == '-' && at(place - 1) == 'e'
        {
            place += 1;
        }
        let is_negative = start > 0
            && at(start - 1) == '-'
            && (start == 1 || matches!(at(start - 2), ' ' | '(' | '['));
        let start = if is_negative { start - 1 } else { start };
        numbers.push(characters[start..place].iter().collect());
    }
    numbers
}

#[test]
fn numbers_are_found_between_words() {
    let found = numbers("T = 1.3936, [4..8] -0.5 rounds (-2 to 3), P4 of 5-6, 1e-5 and 2e6.");
    assert_eq!(found, ["1.3936", "4", "8", "-0.5", "-2", "3", "4", "5", "6", "1e-5", "2e6"]);
}

#[test]
fn prose_is_left_out_and_its_numbers_are_kept() {
    let claim = json::parse(r#"{"id":"R4","says":"it ends","error":null,"measured":"2 of 3"}"#);
    let kept = without_prose(&claim.expect("JSON"), "");
    assert_eq!(json::write(&kept), r#"{"id":"R4","error":null,"measured":[2,3]}"#);
}

#[test]
fn tables_are_read_by_row_and_column() {
    let table = table("metric,mean,max\nmessages,1.5,\ndelay,2,3\n").expect("a table");
    assert_eq!(table["metric"]["messages"]["mean"], json::number("1.5"));
    assert_eq!(table["metric"]["delay"]["max"], json::number("3"));
}
