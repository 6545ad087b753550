//! The tables of values computed independently: reading them, and checking theory against them.

use serde_json::Value;

/// The theory's value of a point, and its tolerance.
pub(crate) struct Said {
    /// `None`: no value, which is a failure.
    pub(crate) value: Option<f64>,
    pub(crate) tolerance: f64,
}

pub(crate) fn points(table: &str) -> Vec<Value> {
    let table: Value = serde_json::from_str(table).expect("the table is JSON");
    let points = table["points"].as_array().expect("a list of points");
    points.clone()
}

/// Checks theory against every point for which it has a value. There must be `count`.
#[track_caller]
pub(crate) fn assert_met(table: &str, count: usize, theory: impl Fn(&Value) -> Option<Said>) {
    let mut met = 0;
    let mut missed = Vec::new();
    for point in points(table) {
        let Some(Said { value, tolerance }) = theory(&point) else {
            continue;
        };
        let expected = float(&point, "expected");
        match value {
            Some(value) if (value - expected).abs() <= tolerance => met += 1,
            value => {
                missed.push(format!("{}: {value:?}, not {expected} +- {tolerance}", point["id"]));
            }
        }
    }
    let misses = missed.len();
    assert!(missed.is_empty(), "{misses} missed\n{}", missed.join("\n"));
    assert_eq!(met, count);
}

pub(crate) fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_else(|| panic!("no text {name} in {object}"))
}

pub(crate) fn float(object: &Value, name: &str) -> f64 {
    object[name].as_f64().unwrap_or_else(|| panic!("no number {name} in {object}"))
}
