//! One trace file, parsed and checked.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hustings_protocol::tenure::TenureOutcome;
use hustings_protocol::trace::{AnyOutcome, Kind, Line};
use hustings_protocol::{ElectionOutcome, MemberId, Refused};

use super::json::Json;
use crate::failure::Failure;

/// A parsed line.
pub(super) type Read = Line<Json>;

/// The verb of the only scenario line that an agent writes: a member leaves.
const LEAVE: &str = "leave ";

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
        let text = fs::read(path).map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
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
        match source.lines.is_empty() {
            true => Err(format!("{}: no line of a trace in it", source.name)),
            false => Ok(source),
        }
    }

    /// Checks that a line can follow the lines before it.
    fn check(&self, line: &Read) -> Result<(), String> {
        if let Some(field) = line.lacks() {
            return Err(format!(
                "not a line of a trace: {field} is missing, which a line of its kind has"
            ));
        }
        if !(0.0..=1e9).contains(&line.time) {
            return Err(format!(
                "not a line of a trace: time {} is no number of seconds since a boot",
                line.time
            ));
        }
        let before = self.lines.last().map_or(0.0, |line| line.time);
        if line.time < before {
            return Err(format!(
                "time goes back from {before} s to {} s: the host was booted in between; cut the file in two here, \
                 and merge one of them",
                line.time
            ));
        }
        let verb = line.verb.as_deref().filter(|_| line.kind == Kind::Scenario);
        match verb {
            Some(verb) if leaver(verb).is_none() => Err(format!(
                "scenario `{verb}`: no agent does that; a simulator's trace is one already, and its members have \
                 their numbers"
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the members that recorded this trace, usually one.
    pub(super) fn witnesses(&self) -> BTreeSet<MemberId> {
        self.lines.iter().filter_map(Line::witness).collect()
    }
}

/// Passes every identity in a line to `each`, which may replace it.
pub(super) fn identities(line: &mut Read, each: &mut impl FnMut(&mut MemberId)) {
    let plain = [&mut line.member, &mut line.from, &mut line.to, &mut line.joined, &mut line.left];
    plain.into_iter().flatten().for_each(&mut *each);
    match &mut line.outcome {
        Some(AnyOutcome::Election(ElectionOutcome::Nominee(nominee))) => each(&mut nominee.id),
        Some(AnyOutcome::Tenure(TenureOutcome::Refused(Refused::Held { holder, .. }))) => {
            each(holder);
        }
        Some(_) | None => {} // these name nobody
    }
    if let Some(message) = &mut line.message {
        message.identities(each);
    }
    if let Some(mut id) = line.verb.as_deref().and_then(leaver) {
        each(&mut id);
        line.verb = Some(format!("{LEAVE}{id}"));
    }
}

/// Returns the member that leaves.
fn leaver(verb: &str) -> Option<MemberId> {
    verb.strip_prefix(LEAVE)?.parse().ok().map(MemberId)
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
                "not a line of a trace: timer is missing, which a line of its kind has",
            ),
            (
                r#"{"time":-1.0,"kind":"start","member":1}"#,
                "not a line of a trace: time -1 is no number of seconds since a boot",
            ),
            (
                r#"{"time":2.25,"kind":"start","member":1}"#,
                "time goes back from 2.5 s to 2.25 s: the host was booted in between; cut the file in two here, \
                 and merge one of them",
            ),
            (
                r#"{"time":3.0,"kind":"scenario","verb":"kill 3"}"#,
                "scenario `kill 3`: no agent does that; a simulator's trace is one already, and its members have \
                 their numbers",
            ),
        ] {
            refused(&format!("{start}\n{line}\n"), &format!("a.jsonl:2: {complaint}"));
        }
        refused("", "a.jsonl: no line of a trace in it");
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
