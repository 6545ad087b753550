//! Tables whose entries are identified by name: each belongs to a family, its id with each number
//! replaced by `#`.

use serde_json::Value;
use std::collections::BTreeMap;

/// Checks theory against every entry of a table except those whose ids begin with one of the given
/// prefixes. Each must have a formula, and there must be `count`.
#[track_caller]
pub(crate) fn assert_met(
    table: &str,
    count: usize,
    of_runs: &[&str],
    formula: impl Fn(&str, &Value) -> Option<f64>,
) {
    let table: Value = serde_json::from_str(table).expect("the table is JSON");
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    let mut missed = Vec::new();
    for point in table["points"].as_array().expect("a list of points") {
        let id = point["id"].as_str().expect("an id");
        if of_runs.iter().any(|start| id.starts_with(start)) {
            continue;
        }
        let family = family(id);
        let got = formula(&family, &point["params"])
            .unwrap_or_else(|| panic!("{id}: no formula for the family {family}"));
        let expected = point["value"].as_f64().expect("a value");
        let tolerance = point["tol_exact"].as_f64().expect("a tolerance");
        if (got - expected).abs() <= tolerance {
            *met.entry(family).or_default() += 1;
        } else {
            missed.push(format!("{id}: {got}, not {expected} +- {tolerance}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    assert_eq!(met.values().sum::<usize>(), count, "{met:?}");
}

/// The id with each number replaced by `#`.
pub(crate) fn family(id: &str) -> String {
    let mut family = String::new();
    for c in id.chars() {
        if !c.is_ascii_digit() {
            family.push(c);
        } else if !family.ends_with('#') {
            family.push('#');
        }
    }
    family
}

/// A parameter of an entry.
pub(crate) fn number(params: &Value, name: &str) -> u64 {
    params[name].as_u64().unwrap_or_else(|| panic!("no number {name} in {params}"))
}
