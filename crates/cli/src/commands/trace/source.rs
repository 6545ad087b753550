//! One trace file, parsed and checked.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hustings_protocol::MemberId;
use hustings_protocol::trace::{Kind, Line};
use serde_json::Value;

use super::identities::{identities, leaver};
use crate::failure::Failure;

/// A parsed line.
pub(super) type Read = Line<Value>;

/// One trace file.
#[derive(Debug)]
pub(super) struct Source {
    /// The name by which the user gave the file.
    pub(super) name: String,
    pub(super) lines: Vec<Read>,
    /// The numbers of the lines whose writer was interrupted.
    pub(super) unfinished: Vec<usize>,
}

impl Source {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let text = fs::read(path).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
        Self::parse(name, &text).map_err(Failure::Usage)
    }

    /// Parses the text of the file called `name`.
    pub(super) fn parse(name: String, text: &[u8]) -> Result<Self, String> {
        let mut source = Self { name, lines: Vec::new(), unfinished: Vec::new() };
        for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            if line.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice::<Read>(line) {
                Ok(mut line) => {
                    // Numeric identities of earlier releases become strings, so that a message is
                    // the same in all files.
                    identities(&mut line, &mut |_| {});
                    let checked = source.check(&line);
                    checked.map_err(|why| format!("{}:{number}: {why}", source.name))?;
                    source.lines.push(line);
                }
                // An agent that was killed in the middle of a line began a new line when it
                // restarted.
                Err(error) if error.is_eof() => source.unfinished.push(number),
                Err(error) => {
                    let (why, column) = (error.to_string(), error.column());
                    let why = why.rsplit_once(" at line ").map_or(&*why, |(why, _)| why);
                    return Err(format!(
                        "{}:{number}: column {column}: not a line of a trace: {why}",
                        source.name
                    ));
                }
            }
        }
        if source.lines.is_empty() {
            Err(format!("{}: the file has no line of a trace", source.name))
        } else {
            Ok(source)
        }
    }

    /// Checks that a line can follow the lines before it.
    fn check(&self, line: &Read) -> Result<(), String> {
        if let Some(field) = line.lacks() {
            return Err(format!("not a line of a trace: {field} is missing"));
        }
        if !(0.0..=1e9).contains(&line.time) {
            return Err(format!(
                "not a line of a trace: time {} is not a number of seconds since a boot",
                line.time
            ));
        }
        let before = self.lines.last().map_or(0.0, |line| line.time);
        if line.time < before {
            return Err(format!(
                "time goes back from {before} s to {} s, because the host was booted in between: \
                 split the file here, and merge one part",
                line.time
            ));
        }
        match line.verb.as_deref().filter(|_| line.kind == Kind::Scenario) {
            Some(verb) if leaver(verb).is_none() => Err(format!(
                "scenario `{verb}`: no agent writes that, so this is a trace of the simulator: it \
                 is complete, and its members are numbered already"
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the members that recorded this trace, usually one.
    pub(super) fn witnesses(&self) -> BTreeSet<MemberId> {
        self.lines.iter().filter_map(Line::witness).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[track_caller]
    fn refused(text: &str, complaint: &str) {
        let source = Source::parse("a.jsonl".to_owned(), text.as_bytes());
        assert_eq!(source.unwrap_err(), complaint, "of:\n{text}");
    }

    #[test]
    fn invalid_trace_is_refused_with_its_line() {
        let start = r#"{"time":2.5,"kind":"start","member":1}"#;
        for (line, complaint) in [
            ("hello", "column 1: not a line of a trace: expected value"),
            (
                r#"{"time_ns":1,"member":"alpha","up":true}"#,
                "column 10: not a line of a trace: unknown field `time_ns`, expected one of `time`, `kind`, \
                 `member`, `from`, `to`, `name`, `message`, `timer`, `joined`, `left`, `outcome`, `verb`",
            ),
            (
                r#"{"time":3.0,"kind":"dance"}"#,
                "column 26: not a line of a trace: unknown variant `dance`, expected one of `start`, `send`, \
                 `multicast`, `lost`, `deliver`, `timer`, `view`, `outcome`, `scenario`",
            ),
            (
                r#"{"time":3.0,"kind":"timer","member":1}"#,
                "not a line of a trace: timer is missing",
            ),
            (
                r#"{"time":-1.0,"kind":"start","member":1}"#,
                "not a line of a trace: time -1 is not a number of seconds since a boot",
            ),
            (
                r#"{"time":2.25,"kind":"start","member":1}"#,
                "time goes back from 2.5 s to 2.25 s, because the host was booted in between: split the file here, \
                 and merge one part",
            ),
            (
                r#"{"time":3.0,"kind":"scenario","verb":"kill 3"}"#,
                "scenario `kill 3`: no agent writes that, so this is a trace of the simulator: it is complete, and its \
                 members are numbered already",
            ),
        ] {
            refused(&format!("{start}\n{line}\n"), &format!("a.jsonl:2: {complaint}"));
        }
        refused("", "a.jsonl: the file has no line of a trace");
    }

    #[test]
    fn unfinished_lines_are_left_out_anywhere() {
        let start = r#"{"time":2.5,"kind":"start","member":1}"#;
        let text = format!("{start}\n{}\n{start}\n{}", &start[..20], &start[..9]);
        let source = Source::parse("a.jsonl".to_owned(), text.as_bytes()).unwrap();
        assert_eq!(source.lines.len(), 2);
        assert_eq!(source.unfinished, [2, 4]);
    }
}
