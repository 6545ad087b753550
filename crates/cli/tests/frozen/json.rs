//! JSON whose numbers keep their text, so that they are compared digit by digit.
//!
//! A parser that turns `0.1` into a floating-point number may map two texts to one number. Here
//! every number is kept as a string that starts with [`MARK`].

use serde_json::Value;

/// The first character of a string that holds a number: one that the program never prints.
pub(crate) const MARK: char = '\u{E000}';

/// Parses one JSON text.
///
/// # Errors
/// If it is not JSON.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(&marked(text)).map_err(|error| format!("not JSON: {error}: {text}"))
}

/// Writes a value on one line, numbers as they were read.
pub(crate) fn write(value: &Value) -> String {
    let (text, start) = (value.to_string(), format!("\"{MARK}"));
    let mut parts = text.split(&start);
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (number, rest) = part.split_once('"').expect("a string ends with a quotation mark");
        written.push_str(number);
        written.push_str(rest);
    }
    written
}

/// A number as a value.
pub(crate) fn number(text: &str) -> Value {
    Value::String(format!("{MARK}{text}"))
}

/// The text with every number outside strings turned into a marked string.
fn marked(text: &str) -> String {
    let mut marked = String::with_capacity(text.len() * 2);
    let mut characters = text.chars().peekable();
    let mut in_string = false;
    while let Some(character) = characters.next() {
        if !in_string && (character == '-' || character.is_ascii_digit()) {
            marked.push('"');
            marked.push(MARK);
            marked.push(character);
            while let Some(next) = characters.next_if(|it| is_part_of_number(*it)) {
                marked.push(next);
            }
            marked.push('"');
            continue;
        }
        marked.push(character);
        if character == '"' {
            in_string = !in_string;
        } else if in_string && character == '\\' {
            marked.extend(characters.next());
        }
    }
    marked
}

fn is_part_of_number(character: char) -> bool {
    character.is_ascii_digit() || matches!(character, '.' | 'e' | 'E' | '+' | '-')
}

#[test]
fn numbers_keep_every_digit() {
    let text = r#"{"a":[1,1.0,-0.10000000000000001,1e-7,null],"b":"5 \" 6","c":{"d":true}}"#;
    let value = parse(text).expect("JSON");
    assert_eq!(write(&value), text);
    assert_ne!(parse("1").expect("JSON"), parse("1.0").expect("JSON"));
    assert_ne!(parse("0.1").expect("JSON"), parse("0.10000000000000001").expect("JSON"));
    assert_ne!(parse("5").expect("JSON"), parse("\"5\"").expect("JSON"));
    assert_eq!(parse("-2.5").expect("JSON"), number("-2.5"));
}
