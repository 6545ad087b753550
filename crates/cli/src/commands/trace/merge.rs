//! The merge of several traces: on one clock, with members numbered as in the simulator.
//!
//! How far two clocks differ follows from the fastest message in each direction, as in NTP.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use hustings_protocol::trace::Kind;
use hustings_protocol::{Instant, MemberId};

use super::identities::identities;
use super::source::{Read, Source};

/// The merged trace of a group, with notes for its reader.
#[derive(Debug)]
pub(super) struct Merged {
    lines: Vec<Read>,
    /// Notes for people: the numbers of the members, and the lines that were left out or moved.
    pub(super) notes: Vec<String>,
}

impl Merged {
    pub(super) fn new(mut sources: Vec<Source>) -> Self {
        let offsets = offsets(&sources);
        let numbers = number(&mut sources);
        let notes = notes(&sources, &offsets, &numbers);
        let mut timed: Vec<(i64, Read)> = Vec::new();
        for (source, offset) in sources.into_iter().zip(offsets) {
            timed.extend(source.lines.into_iter().map(|line| (nanoseconds(&line) + offset, line)));
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

    /// Writes the lines.
    pub(super) fn write(&self, mut out: impl Write) -> io::Result<()> {
        for line in &self.lines {
            serde_json::to_writer(&mut out, line)?;
            writeln!(out)?;
        }
        out.flush()
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
    for Source { name, unfinished, .. } in sources {
        let left_out =
            |line| format!("note: {name}:{line}: the line is incomplete and was left out");
        notes.extend(unfinished.iter().map(left_out));
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
        let own = sources.iter().zip(&witnesses).filter(|(_, witnesses)| witnesses.contains(id));
        let own: Vec<&str> = own.map(|(source, _)| source.name.as_str()).collect();
        let trace = if own.is_empty() { "no trace of its own".to_owned() } else { own.join(", ") };
        notes.push(format!("member {number}: {trace} (identity {id})"));
    }
    notes
}

/// The limit in nanoseconds up to which two hosts count as having one clock. No message of an
/// election takes this long, and no two hosts boot within so short a time of each other. If a
/// message seems to take longer, or to arrive earlier than this before it was sent, the clocks
/// differ.
const MOST_ON_THE_WAY: i64 = 1_000_000_000;

/// The time of a line in nanoseconds.
fn nanoseconds(line: &Read) -> i64 {
    (line.time * 1e9).round() as i64
}

/// Returns the offset to add to each source's times to put all on one clock: that of the first
/// source, unless they share one.
fn offsets(sources: &[Source]) -> Vec<i64> {
    let shortest = shortest_ways(sources);
    let mut offsets: Vec<Option<i64>> = vec![None; sources.len()];
    for first in 0..sources.len() {
        if offsets[first].is_some() {
            continue;
        }
        // No source before it has a message in common with this one, so its clock stays as it is.
        offsets[first] = Some(0);
        let mut reached = vec![first];
        while let Some(from) = reached.pop() {
            for to in 0..sources.len() {
                if offsets[to].is_none()
                    && let Some(ahead) = ahead(&shortest, from, to)
                {
                    offsets[to] = offsets[from].map(|offset| offset - ahead);
                    reached.push(to);
                }
            }
        }
    }
    offsets.into_iter().map(Option::unwrap_or_default).collect()
}

/// Returns the lead of the clock of `to` over the clock of `from`, or `None` if no message tells.
fn ahead(shortest: &BTreeMap<(usize, usize), i64>, from: usize, to: usize) -> Option<i64> {
    let there = shortest.get(&(from, to)).copied();
    let back = shortest.get(&(to, from)).copied();
    let is_plausible = |way: i64| (-MOST_ON_THE_WAY..=MOST_ON_THE_WAY).contains(&way);
    if [there, back].into_iter().flatten().all(is_plausible) {
        return there.or(back).map(|_| 0);
    }
    match (there, back) {
        // The way there is assumed to take as long as the way back.
        (Some(there), Some(back)) => Some((there - back) / 2),
        (Some(there), None) => Some(there),
        (None, Some(back)) => Some(-back),
        (None, None) => None,
    }
}

/// Returns the shortest transit time from one source to another by their clocks. Only messages
/// without a duplicate count.
fn shortest_ways(sources: &[Source]) -> BTreeMap<(usize, usize), i64> {
    let mut sent = BTreeMap::new();
    for (source, line) in each_line(sources) {
        if matches!(line.kind, Kind::Send | Kind::Multicast)
            && let Some(letter) = letter(line, line.to)
        {
            let once = Some((source, nanoseconds(line)));
            sent.entry(letter).and_modify(|it| *it = None).or_insert(once);
        }
    }
    let mut shortest = BTreeMap::new();
    for (to, line) in each_line(sources) {
        if line.kind != Kind::Deliver {
            continue;
        }
        let letters = [line.to, None].map(|to| letter(line, to)); // as a unicast and as a multicast
        let known = letters.iter().flatten().find_map(|it| sent.get(it));
        if let Some(&Some((from, at))) = known
            && from != to
        {
            let took = nanoseconds(line) - at;
            let way = shortest.entry((from, to)).or_insert(took);
            *way = took.min(*way);
        }
    }
    shortest
}

fn each_line(sources: &[Source]) -> impl Iterator<Item = (usize, &Read)> {
    let numbered = sources.iter().enumerate();
    numbered.flat_map(|(number, source)| source.lines.iter().map(move |line| (number, line)))
}

/// Returns the key that identifies a message at its sender and at its receiver. The receiver is
/// `None` for a multicast.
fn letter(line: &Read, to: Option<MemberId>) -> Option<(MemberId, Option<MemberId>, String)> {
    // Serialisation cannot fail: the value was read from JSON.
    let message = serde_json::to_string(line.message.as_ref()?).ok()?;
    Some((line.from?, to, message))
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
        (String::from_utf8(text).unwrap(), merged.notes)
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
