//! Transcripts that were cut, edited, or belong to another draw or session.

use std::fs;

use hustings_draw::Timestamp;
use hustings_draw::verify::{Weight, verify};
use hustings_protocol::wagner::Wagner;

use crate::table::{Table, conclusions, leader};

async fn drawn() -> Table {
    let mut table = Table::lay(4, "").await;
    let seats: Vec<_> = (0..4).map(|place| table.seat(place, Wagner::default())).collect();
    leader(&conclusions(seats).await);
    table
}

/// The reason for which the transcript `text` does not count.
#[track_caller]
fn refused(table: &Table, text: &str) -> String {
    let found = verify(&table.ring, &[("x".to_owned(), text.as_bytes().to_vec())]);
    assert!(found.leader.is_none() && !found.is_clean());
    found.unusable[0].why.clone()
}

#[tokio::test]
async fn cut_or_edited_transcripts_do_not_count() {
    let table = drawn().await;
    let whole = fs::read_to_string(table.transcript(0)).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let signed = lines.iter().position(|it| it.contains("statement")).unwrap();
    let why = refused(&table, lines[0]);
    assert!(why.contains("does not list the members present"), "{why}");
    for cut in 2..signed {
        let why = refused(&table, &lines[..cut].join("\n"));
        assert!(why.contains("m0 has not signed it"), "{cut}: {why}");
    }
    assert!(refused(&table, "").contains("empty"));
    // Cut in the middle of a line.
    let cut = whole[..whole.len() / 2].rfind('\n').unwrap() + 20;
    let why = refused(&table, &whole[..cut]);
    assert!(why.contains("not an entry"), "{why}");
    // Each line left out, and each flip reversed.
    for at in 0..=signed {
        let without = [&lines[..at], &lines[at + 1..]].concat().join("\n");
        let why = refused(&table, &without);
        assert!(!why.is_empty(), "line {at}");
        let turned = match lines[at] {
            line if line.contains("heads") => line.replace("heads", "tails"),
            line => line.replace("tails", "heads"),
        };
        if turned != lines[at] {
            let mut edited = lines.clone();
            edited[at] = &turned;
            let why = refused(&table, &edited.join("\n"));
            let expected = match turned.contains("heard") {
                true => "does not fit",
                false => "did not sign the lines before this one",
            };
            assert!(why.contains(expected), "line {at}: {why}");
        }
    }
}

/// A draw by the program before transcripts had times, and its ring file.
const LAYOUT_2: (&str, [&str; 3]) = (
    include_str!("layout-2/ring.toml"),
    [
        include_str!("layout-2/m0.jsonl"),
        include_str!("layout-2/m1.jsonl"),
        include_str!("layout-2/m2.jsonl"),
    ],
);

#[test]
fn transcripts_without_times_still_count() {
    let (ring, transcripts) = LAYOUT_2;
    let ring = ring.parse().unwrap();
    let transcripts = transcripts.map(|it| (String::new(), it.as_bytes().to_vec()));
    let found = verify(&ring, &transcripts);
    assert!(found.is_clean(), "{found:?}");
    assert_eq!(found.transcripts.len(), 3);
    for it in &found.transcripts {
        assert_eq!(it.times, None);
    }
}

#[tokio::test]
async fn unknown_layout_is_reported_as_such() {
    let table = drawn().await;
    let text = fs::read_to_string(table.transcript(0)).unwrap();
    for version in ["0", "1", "4"] {
        let version = format!("\"version\":{version},\"more\":1");
        let other = text.replacen("\"version\":3", &version, 1);
        for other in [other.replacen("\"began\"", "\"began anew\"", 1), other] {
            let why = refused(&table, &other);
            assert!(why.starts_with("it has layout "), "{version}: {why}");
        }
    }
}

#[tokio::test]
async fn times_are_reported_by_each_holders_clock() {
    const HOUR: u64 = 3_600_000;
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64;
    let table = drawn().await;
    for it in table.verify(0..4).transcripts {
        let times = it.times.unwrap();
        let (Timestamp(began), last) = (times.began, times.last_message.unwrap());
        assert!(times.began <= last && last <= times.concluded, "{times:?}");
        // The wall clock may be set during the test.
        assert!(began.abs_diff(now) < HOUR, "{times:?}");
    }
}

#[tokio::test]
async fn transcripts_of_another_draw_do_not_count() {
    let (mut table, other) = (drawn().await, drawn().await);
    let foreign = fs::read_to_string(other.transcript(0)).unwrap();
    let why = refused(&table, &foreign);
    assert!(why.contains("on another ring"), "{why}");
    // With the digest replaced, its signatures are wrong.
    let (ours, theirs) = (table.ring.digest().to_string(), other.ring.digest().to_string());
    let why = refused(&table, &foreign.replace(&theirs, &ours));
    assert!(why.contains("signature of m"), "{why}");
    let own = fs::read_to_string(table.transcript(0)).unwrap();
    table.ring.number += 1;
    let why = refused(&table, &own);
    assert!(why.contains("draw 7 for chair on another ring"), "{why}");
}

#[tokio::test]
async fn ring_file_with_another_key_does_not_verify() {
    let mut table = drawn().await;
    let own = fs::read_to_string(table.transcript(0)).unwrap();
    let before = table.ring.digest().to_string();
    table.ring.members[1].key = hustings_draw::Secret::generate().unwrap().public();
    let passed_off = own.replace(&before, &table.ring.digest().to_string());
    let why = refused(&table, &passed_off);
    assert!(why.contains("the signature of m"), "{why}");
}

/// A draw that all members held twice, against the rule, and the transcripts of the first session.
async fn drawn_twice() -> (Table, Vec<Vec<u8>>) {
    let mut table = drawn().await;
    let first = (0..4).map(|place| fs::read(table.transcript(place)).unwrap());
    let first = first.collect();
    for place in 0..4 {
        fs::remove_file(table.transcript(place)).unwrap();
        fs::remove_dir_all(table.participant(place).marks).unwrap();
        let address = &table.ring.members[place].address;
        table.listeners[place] = Some(tokio::net::TcpListener::bind(address).await.unwrap());
    }
    let seats: Vec<_> = (0..4).map(|place| table.seat(place, Wagner::default())).collect();
    leader(&conclusions(seats).await);
    (table, first)
}

#[tokio::test]
async fn sessions_of_one_draw_are_not_compared() {
    let (table, first) = drawn_twice().await;
    let second: Vec<_> = (0..4).map(|place| fs::read(table.transcript(place)).unwrap()).collect();
    let twice = |it: &hustings_draw::verify::Finding| it.what.contains("two sittings");
    // Covers neighbours, and members with a missing one between them.
    for places in [&[1, 2, 3][..], &[2], &[2, 3], &[1, 3]] {
        let mut read = vec![("first".to_owned(), first[0].clone())];
        read.extend(places.iter().map(|it| (format!("m{it}"), second[*it].clone())));
        let found = verify(&table.ring, &read);
        // The only findings are that the members took part twice.
        assert_eq!(found.findings.len(), 4, "{found:?}");
        assert!(found.findings.iter().all(twice), "{found:?}");
        assert_ne!(found.transcripts[0].session, found.transcripts[1].session);
    }
    // If both sessions elected the same leader, it stands. Otherwise there is no leader.
    let name = |read: &[u8]| verify(&table.ring, &[("x".to_owned(), read.to_vec())]).leader;
    let (one, other) = (name(&first[0]), name(&second[2]));
    assert!(one.is_some() && other.is_some());
    let both = [("first".to_owned(), first[0].clone()), ("second".to_owned(), second[2].clone())];
    let expected = one.filter(|_| name(&first[0]) == other);
    assert_eq!(verify(&table.ring, &both).leader, expected);
}

#[tokio::test]
async fn messages_of_another_session_do_not_count() {
    let (table, first) = drawn_twice().await;
    let first = String::from_utf8(first[0].clone()).unwrap();
    let second = fs::read_to_string(table.transcript(0)).unwrap();
    let mut passed_off: Vec<&str> = first.lines().collect();
    // The attestations of the second session, and the messages of the first.
    passed_off[1] = second.lines().nth(1).unwrap();
    let why = refused(&table, &passed_off.join("\n"));
    assert!(why.contains("the signature of m"), "{why}");
}

/// Any owner of a copy can cut a transcript. It counts if the holder had signed once by then.
#[tokio::test]
async fn transcript_cut_by_others_convicts_no_member() {
    let table = drawn().await;
    let read = |place: usize| fs::read_to_string(table.transcript(place)).unwrap();
    let all: Vec<_> = (0..4).map(|place| (format!("m{place}"), read(place).into_bytes())).collect();
    let whole = read(0);
    let lines: Vec<&str> = whole.lines().collect();
    let signed =
        lines.iter().position(|it| it.contains("statement") && it.contains("\"place\":0")).unwrap();
    let cut = ("cut".to_owned(), lines[..=signed].join("\n").into_bytes());
    for several in
        [[all.clone(), vec![cut.clone()]].concat(), [vec![cut.clone()], all.clone()].concat()]
    {
        let found = verify(&table.ring, &several);
        assert!(found.is_clean(), "{found:?}");
    }
    let without = [vec![cut], all[1..].to_vec()].concat();
    let found = verify(&table.ring, &without);
    let is_proof = |it: &hustings_draw::verify::Finding| it.weight == Weight::Proven;
    assert!(!found.findings.iter().any(is_proof), "{found:?}");
    assert!(found.leader.is_some(), "{found:?}");
}
