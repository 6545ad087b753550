//! The merge of several traces: on one clock, with members numbered as in the simulator.

use std::collections::{BTreeMap, BTreeSet};

use hustings_protocol::{Instant, MemberId};

use super::clocks::{nanoseconds, offsets};
use super::identities::identities;
use super::source::{Read, Source};

/// The merged trace of a group, with notes for its reader.
#[derive(Debug)]
pub(super) struct Merged {
    lines: Vec<Read>,
    notes: Vec<String>,
}

impl Merged {
    pub(super) fn new(mut sources: Vec<Source>) -> Self {
        let offsets = offsets(&sources);
        let numbers = number(&mut sources);
        let notes = notes(&sources, &offsets, &numbers);
        let mut timed: Vec<(i64, Read)> = Vec::new();
        for (source, offset) in sources.into_iter().zip(offsets) {
            let lines = source.lines.into_iter();
            timed.extend(lines.map(|line| (nanoseconds(&line) + offset, line)));
        }
        // The sort is stable: lines with equal times keep the order of the files and of the lines
        // within them.
        timed.sort_by_key(|(time, _)| *time);
        let first = timed.first().map_or(0, |(time, _)| *time);
        let mut lines = Vec::with_capacity(timed.len());
        for (time, mut line) in timed {
            line.time = Instant((time - first) as u64).as_secs_f64();
            identities(&mut line, &mut |id| {
                if let Some(number) = numbers.get(id) {
                    *id = MemberId(*number);
                }
            });
            lines.push(line);
        }
        Self { lines, notes }
    }

    pub(super) fn lines(&self) -> &[Read] {
        &self.lines
    }

    /// Notes for people: the numbers of the members, and the lines that were left out or moved.
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// Numbers the members in the order of identities. That is the order of the ring, and it breaks
/// ties.
fn number(sources: &mut [Source]) -> BTreeMap<MemberId, u64> {
    let mut known = BTreeSet::new();
    for line in sources.iter_mut().flat_map(|source| &mut source.lines) {
        identities(line, &mut |id| {
            known.insert(*id);
        });
    }
    known.into_iter().zip(0..).collect()
}

fn notes(sources: &[Source], offsets: &[i64], numbers: &BTreeMap<MemberId, u64>) -> Vec<String> {
    let mut notes = Vec::new();
    for source in sources {
        for line in &source.unfinished {
            let name = &source.name;
            notes.push(format!("note: {name}:{line}: the line is incomplete and was left out"));
        }
    }
    for (source, offset) in sources.iter().zip(offsets).filter(|(_, it)| **it != 0) {
        let (name, seconds) = (&source.name, *offset as f64 / 1e9);
        notes.push(format!(
            "note: {name}: its clock differs from that of {}: its times are moved by \
             {seconds:.3} s",
            sources[0].name
        ));
    }
    let witnesses: Vec<BTreeSet<MemberId>> = sources.iter().map(Source::witnesses).collect();
    for (id, number) in numbers {
        let own = sources.iter().zip(&witnesses);
        let own = own.filter(|(_, witnesses)| witnesses.contains(id));
        let own: Vec<&str> = own.map(|(source, _)| source.name.as_str()).collect();
        let trace = if own.is_empty() { "no trace of its own".to_owned() } else { own.join(", ") };
        notes.push(format!("member {number}: {trace} (identity {id})"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::{Merged, Source};

    fn merge(files: &[(&str, &str)]) -> (String, Vec<String>) {
        let parse = |(name, text): &(&str, &str)| {
            Source::parse((*name).to_owned(), text.as_bytes()).unwrap()
        };
        let merged = Merged::new(files.iter().map(parse).collect());
        let mut text = Vec::new();
        merged.write(&mut text).unwrap();
        (String::from_utf8(text).unwrap(), merged.notes().to_vec())
    }

    /// A trace as an earlier release wrote it, with identities as numbers.
    const GREAT: &str = "\
{\"time\":100.5,\"kind\":\"start\",\"member\":18446744073709551615}
{\"time\":100.5,\"kind\":\"view\",\"member\":18446744073709551615,\"joined\":70}
{\"time\":100.7,\"kind\":\"deliver\",\"from\":70,\"to\":18446744073709551615,\"name\":\"election\",\"message\":{\"Election\":{\"sender\":{\"priority\":70,\"id\":70}}}}
{\"time\":100.9,\"kind\":\"view\",\"member\":18446744073709551615,\"left\":5}
{\"time\":101.0,\"kind\":\"scenario\",\"verb\":\"leave 18446744073709551615\"}
";
    const SMALL: &str = "\
{\"time\":100.25,\"kind\":\"start\",\"member\":\"70\"}
{\"time\":100.6,\"kind\":\"send\",\"from\":\"70\",\"to\":\"18446744073709551615\",\"name\":\"election\",\"message\":{\"Election\":{\"sender\":{\"priority\":70,\"id\":\"70\"}}}}
{\"time\":100.9,\"kind\":\"outcome\",\"member\":\"70\",\"outcome\":{\"Nominee\":{\"priority\":70,\"id\":\"70\"}}}
";

    #[test]
    fn members_are_numbered_by_identity_and_times_begin_at_0() {
        let (text, notes) = merge(&[("great", GREAT), ("small", SMALL)]);
        assert_eq!(
            text,
            "\
{\"time\":0.0,\"kind\":\"start\",\"member\":\"1\"}
{\"time\":0.25,\"kind\":\"start\",\"member\":\"2\"}
{\"time\":0.25,\"kind\":\"view\",\"member\":\"2\",\"joined\":\"1\"}
{\"time\":0.35,\"kind\":\"send\",\"from\":\"1\",\"to\":\"2\",\"name\":\"election\",\"message\":{\"Election\":{\"sender\":{\"priority\":70,\"id\":\"1\"}}}}
{\"time\":0.45,\"kind\":\"deliver\",\"from\":\"1\",\"to\":\"2\",\"name\":\"election\",\"message\":{\"Election\":{\"sender\":{\"priority\":70,\"id\":\"1\"}}}}
{\"time\":0.65,\"kind\":\"view\",\"member\":\"2\",\"left\":\"0\"}
{\"time\":0.65,\"kind\":\"outcome\",\"member\":\"1\",\"outcome\":{\"Nominee\":{\"priority\":70,\"id\":\"1\"}}}
{\"time\":0.75,\"kind\":\"scenario\",\"verb\":\"leave 2\"}
"
        );
        assert_eq!(
            notes,
            [
                "member 0: no trace of its own (identity 5)",
                "member 1: small (identity 70)",
                "member 2: great (identity 18446744073709551615)",
            ]
        );
    }

    #[test]
    fn lines_with_equal_times_keep_the_order_of_the_files() {
        let one = "{\"time\":1.0,\"kind\":\"start\",\"member\":\"1\"}\n";
        let two = "{\"time\":1.0,\"kind\":\"start\",\"member\":\"2\"}\n";
        let at_0 =
            |number| format!("{{\"time\":0.0,\"kind\":\"start\",\"member\":\"{number}\"}}\n");
        assert_eq!(merge(&[("1", one), ("2", two)]).0, at_0(0) + &at_0(1));
        assert_eq!(merge(&[("2", two), ("1", one)]).0, at_0(1) + &at_0(0));
    }

    #[test]
    fn trace_of_the_simulator_is_unchanged() {
        let recorded = include_str!("../../../tests/transcripts/scenarios.out/run.jsonl");
        let lines = recorded.lines();
        let lines = lines.filter(|line| !line.contains("\"scenario\""));
        let trace: String = lines.map(|line| format!("{line}\n")).collect();
        assert!(trace.lines().count() > 5, "{trace}");
        assert_eq!(merge(&[("run", &trace)]).0, trace);
    }

    #[test]
    fn clock_offsets_are_found_by_messages_and_corrected() {
        for (late, moved) in [(3600.0, "-3600.000"), (-50.0, "50.000")] {
            let lines = SMALL.lines().map(|line| {
                let (time, rest) =
                    line.strip_prefix("{\"time\":").unwrap().split_once(',').unwrap();
                let time: f64 = time.parse().unwrap();
                format!("{{\"time\":{:?},{rest}\n", time + late)
            });
            let small: String = lines.collect();
            let (text, notes) = merge(&[("great", GREAT), ("small", &small)]);
            // One message from small to great; its transit time is taken to be zero.
            let note = format!(
                "note: small: its clock differs from that of great: its times are moved by {moved} s"
            );
            let at = |kind: &str| {
                let line = text.lines().find(|line| line.contains(kind)).unwrap();
                line.split(',').next().unwrap().to_owned()
            };
            assert_eq!(at("\"send\""), at("\"deliver\""), "{text}");
            let shift: f64 = moved.parse::<f64>().unwrap() + 0.1;
            let expected = note.replace(moved, &format!("{shift:.3}"));
            assert_eq!(notes[0], expected);
        }
    }
}
