//! The tables of values computed independently: how they are read, and how theory is held to them.

use serde_json::Value;

/// What theory says of a point, and how far that may be off.
pub(crate) struct Said {
    /// None: nothing, which is a miss.
    pub(crate) value: Option<f64>,
    pub(crate) tolerance: f64,
}

pub(crate) fn points(table: &str) -> Vec<Value> {
    let table: Value = serde_json::from_str(table).expect("the table is JSON");
    let points = table["points"].as_array().expect("a list of points");
    points.clone()
}

/// Holds theory to every point that it is to say something of. There are `count`.
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
            value => missed.push(format!(
                "{}: {value:?}, not {expected} +- {tolerance}",
                point["id"]
            )),
        }
    }
    let misses = missed.len();
    assert!(missed.is_empty(), "{misses} missed\n{}", missed.join("\n"));
    assert_eq!(met, count);
}

pub(crate) fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name]
        .as_str()
        .unwrap_or_else(|| panic!("no text {name} in {object}"))
}

pub(crate) fn float(object: &Value, name: &str) -> f64 {
    object[name]
        .as_f64()
        .unwrap_or_else(|| panic!("no number {name} in {object}"))
}
