//! Transcripts whose files were edited: which ones count, and which line is named in the error.

use std::fs;

use hustings_protocol::wagner::fault::{Fault, FaultCause, Side};
use hustings_protocol::wagner::flips::Flip;

use super::{drawn, tell, turn};
use crate::signed::Verdict;
use crate::table::Table;
use crate::timestamp::Timestamp;
use crate::transcript::Entry;
use crate::verify::reading::Reading;
use crate::verify::verify;

/// The transcript of m0 with an entry of each kind, signed by m0.
fn of_each_kind(table: &Table) -> String {
    tell(table, 0, |entries| {
        let closing = entries.pop().unwrap();
        let why = "so it says".to_owned();
        entries.push(Entry::Broken { side: Side::Left, why });
        entries.extend([Entry::Silence, Entry::Withdrew]);
        let disagreement =
            FaultCause::Disagreement { of: 2, from_left: Flip::Heads, from_right: Flip::Tails };
        for cause in [FaultCause::Withdrawn, disagreement] {
            let mut fault = closing.clone();
            if let Entry::Statement(own) = &mut fault {
                own.content.verdict = Verdict::Fault(Fault { place: 0, round: 1, cause });
            }
            entries.push(fault);
        }
        entries.push(closing);
    });
    fs::read_to_string(table.transcript(0)).unwrap()
}

/// Variants of a line that a lenient parser would read as the same entry.
fn retold(line: &str) -> Vec<String> {
    let braces = line.match_indices('{').map(|(at, _)| at + 1);
    let mut told: Vec<String> =
        braces.map(|at| format!("{}\"elected\":3,{}", &line[..at], &line[at..])).collect();
    told.extend([format!(" {line}"), format!("{line} ")]);
    match line.starts_with('{') {
        true => told.push(line.replacen(':', ": ", 1)),
        false => told.push(format!("{{{line}:null}}")),
    }
    told
}

#[tokio::test]
async fn entry_not_exactly_as_written_does_not_count() {
    let table = drawn().await;
    let digest = table.ring.digest();
    let read = |text: &str| Reading::read(text.as_bytes(), &table.ring, digest);
    let text = of_each_kind(&table);
    assert!(read(&text).is_ok(), "{:?}", read(&text));
    let lines: Vec<&str> = text.lines().collect();
    let kinds = [
        "{\"transcript\"",
        "{\"gathered\"",
        "{\"clock\"",
        "\"began\"",
        "{\"drew\"",
        "{\"sent\"",
        "{\"heard\"",
        "{\"broken\"",
        "\"silence\"",
        "\"withdrew\"",
        "\"verdict\":{\"elected\"",
        "\"cause\":\"withdrawn\"",
        "\"cause\":{\"disagreement\"",
    ];
    let mut accepted = Vec::new();
    for kind in kinds {
        let at = lines.iter().position(|it| it.contains(kind)).unwrap();
        for told in retold(lines[at]) {
            let mut edited = lines.clone();
            edited[at] = &told;
            match read(&edited.join("\n")) {
                Ok(_) => accepted.push(told),
                Err(why) => {
                    let why = why.to_string();
                    assert!(why.starts_with(&format!("line {}: ", at + 1)), "{why}");
                }
            }
        }
    }
    assert!(accepted.is_empty(), "{accepted:#?}");
}

/// A member that signed a result and is then told of a fault signs the fault. Its final verdict is
/// shown with the time of the fault. The time is only its claim and may go back.
#[tokio::test]
async fn time_of_the_final_verdict_is_that_of_the_fault() {
    for signed_at in [Timestamp(u64::MAX), Timestamp(0)] {
        let table = drawn().await;
        tell(&table, 0, |entries| {
            let mut fault = entries.pop().unwrap();
            if let Entry::Statement(own) = &mut fault {
                own.content.verdict = Verdict::Fault(Fault {
                    place: 0,
                    round: 1,
                    cause: FaultCause::Silence { side: None },
                });
            }
            let later = entries.last().cloned().unwrap();
            entries.extend([Entry::Clock(signed_at), fault.clone(), later, fault]);
        });
        let found = table.verify([0]);
        let [told] = &found.transcripts[..] else {
            panic!("it counts: {found:?}");
        };
        assert!(told.verdict.contains("in Basic round 1"), "{found:?}");
        assert_eq!(told.times.unwrap().concluded, signed_at, "{found:?}");
    }
}

/// Mail programs change line ends, which carry no meaning.
#[tokio::test]
async fn line_ends_and_blank_lines_do_not_matter() {
    let table = drawn().await;
    let text = fs::read_to_string(table.transcript(0)).unwrap();
    let mailed = text.replace('\n', "\r\n\r\n");
    let read = Reading::read(mailed.as_bytes(), &table.ring, table.ring.digest());
    assert!(read.is_ok(), "{read:?}");
}

/// Adds a blank line before and after each line, so that an entry in line n moves to line 2n.
fn spaced(text: &str) -> String {
    text.lines().map(|line| format!("\n{line}\n")).collect()
}

/// The reason for which the edited transcript of m1, with added blank lines, does not count.
async fn refused_when_spaced(edit: impl FnOnce(&mut Vec<Entry>)) -> String {
    let table = drawn().await;
    let text = fs::read_to_string(table.transcript(1)).unwrap();
    let entries = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut entries: Vec<Entry> = entries.collect();
    edit(&mut entries);
    let lines = entries.iter().map(|it| String::from_utf8(it.line()).unwrap());
    let edited = spaced(&lines.collect::<Vec<_>>().join("\n"));
    let read = Reading::read(edited.as_bytes(), &table.ring, table.ring.digest());
    read.unwrap_err().to_string()
}

#[tokio::test]
async fn unusable_entry_is_reported_with_its_line() {
    fn first(entries: &mut [Entry], is_it: fn(&Entry) -> bool) -> (usize, &mut Entry) {
        let at = entries.iter().position(is_it).unwrap();
        (at, &mut entries[at])
    }
    type Edit = (fn(&mut Vec<Entry>) -> usize, &'static str);
    let edits: [Edit; 7] = [
        (
            |it| {
                it.remove(0);
                0
            },
            "does not begin with the entry that names its draw",
        ),
        (
            |it| {
                it.remove(1);
                1
            },
            "does not list the members present",
        ),
        (
            |it| {
                let Entry::Met(seated) = &mut it[1] else {
                    panic!("no attestations");
                };
                seated[2].signature.0[0] ^= 1;
                1
            },
            "the signature of m2",
        ),
        (
            |it| {
                it.insert(2, it[0].clone());
                2
            },
            "a second time",
        ),
        (
            |it| {
                let (at, heard) = first(it, |it| matches!(it, Entry::Heard { .. }));
                if let Entry::Heard { signed, .. } = heard {
                    signed.content.number += 1;
                }
                at
            },
            "a message is missing",
        ),
        (
            |it| {
                let (at, heard) = first(it, |it| matches!(it, Entry::Heard { .. }));
                if let Entry::Heard { signed, .. } = heard {
                    signed.signature.0[0] ^= 1;
                }
                at
            },
            "the signature of m",
        ),
        (
            |it| {
                let (at, stated) =
                    first(it, |it| matches!(it, Entry::Statement(it) if it.place != 1));
                if let Entry::Statement(statement) = stated {
                    statement.signature.0[0] ^= 1;
                }
                at
            },
            "the signature of m",
        ),
    ];
    for (edit, expected) in edits {
        let mut at = 0;
        let why = refused_when_spaced(|it| at = edit(it)).await;
        let line = format!("line {}: ", 2 * (at + 1));
        assert!(why.starts_with(&line) && why.contains(expected), "{at}: {why}");
    }
}

#[tokio::test]
async fn edit_before_a_signature_is_reported_with_its_line() {
    let table = drawn().await;
    let text = fs::read_to_string(table.transcript(1)).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let drew = lines.iter().position(|it| it.contains("drew")).unwrap();
    lines.remove(drew);
    let own = |it: &&str| it.contains("statement") && it.contains("\"place\":1");
    let signed = lines.iter().position(own).unwrap();
    let edited = spaced(&lines.join("\n"));
    let read = Reading::read(edited.as_bytes(), &table.ring, table.ring.digest());
    let why = read.unwrap_err().to_string();
    let expected = format!("line {}: m1 did not sign", 2 * (signed + 1));
    assert!(why.starts_with(&expected), "{why}");
}

#[tokio::test]
async fn protocol_violation_is_reported_with_its_line() {
    let table = drawn().await;
    let mut at = 0;
    tell(&table, 1, |it| {
        let sent = |it: &Entry| matches!(it, Entry::Sent { .. });
        at = it.iter().position(sent).unwrap();
        if let Entry::Sent { message, .. } = &mut it[at] {
            turn(message);
        }
    });
    let text = fs::read_to_string(table.transcript(1)).unwrap();
    let spaced = ("x".to_owned(), spaced(&text).into_bytes());
    let found = verify(&table.ring, &[spaced]);
    let what: Vec<&str> = found.findings.iter().map(|it| &*it.what).collect();
    let expected = format!("protocol: line {}: ", 2 * (at + 1));
    assert!(what.iter().any(|it| it.contains(&expected)), "{what:?}");
}

#[tokio::test]
async fn entry_after_the_last_signature_is_reported_with_its_line() {
    let table = drawn().await;
    let whole = fs::read_to_string(table.transcript(0)).unwrap();
    let signed = whole.lines().count();
    let added = String::from_utf8(Entry::Silence.line()).unwrap();
    let found = verify(&table.ring, &[("x".to_owned(), format!("{whole}{added}\n").into_bytes())]);
    let why = &found.unusable[0].why;
    let expected = format!("m0 has not signed it beyond line {signed}: ");
    assert!(why.contains(&expected), "{why}");
}
