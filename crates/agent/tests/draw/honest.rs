//! Honest members.

use hustings_agent::draw::{NoDraw, NoTranscript, State};
use hustings_protocol::wagner::Wagner;

use crate::table::{Table, conclusions, leader};

/// Holds a draw among honest members.
async fn draws(members: usize, options: &str) {
    let mut table = Table::lay(members, options).await;
    let seats: Vec<_> = (0..members)
        .map(|place| table.seat(place, Wagner::new()))
        .collect();
    let accounts = conclusions(seats).await;
    let leader = leader(&accounts);
    for account in &accounts {
        let flips = u64::from(account.basic_rounds) * 2 * members as u64;
        assert_eq!(account.messages_sent, flips, "{account:?}");
    }
    let found = table.verify(0..members);
    assert!(found.is_clean(), "{found:?}");
    assert_eq!(found.leader.as_ref(), Some(&leader));
    // One transcript has everybody's signature.
    let found = table.verify([members - 1]);
    assert_eq!(found.leader, Some(leader), "{found:?}");
}

#[tokio::test]
async fn three_agree_with_a_direction() {
    draws(3, "direction = \"clockwise\"").await;
}

#[tokio::test]
async fn four_agree_with_the_printed_comparison() {
    draws(4, "compare = \"strict\"").await;
}

#[tokio::test]
async fn five_agree() {
    draws(5, "").await;
}

#[tokio::test]
async fn twenty_five_agree() {
    draws(25, "respond_within = \"60s\"").await;
}

#[tokio::test]
async fn nobody_draws_twice_under_one_number() {
    let mut table = Table::lay(4, "").await;
    let seats: Vec<_> = (0..4)
        .map(|place| table.seat(place, Wagner::new()))
        .collect();
    leader(&conclusions(seats).await);
    let again = table.part(2).check();
    assert!(
        matches!(again, Err(NoDraw::Transcript(NoTranscript::Exists(_)))),
        "{again:?}"
    );
    // Nor if the transcript is put away, or lost, or the ring file changed in anything else.
    let mut elsewhere = table.part(2);
    elsewhere.transcript = table.home.join("another.jsonl");
    elsewhere.ring.members[1].address = "another:1".to_owned();
    let again = elsewhere.check();
    assert!(matches!(again, Err(NoDraw::Drawn { .. })), "{again:?}");
    elsewhere.ring.number += 1;
    assert!(elsewhere.check().is_ok(), "a new number is a new draw");
}

#[tokio::test]
async fn a_transcript_that_has_no_place_is_refused_before_anybody_waits() {
    let table = Table::lay(4, "").await;
    let mut part = table.part(0);
    part.transcript = table.home.join("nowhere/m0.jsonl");
    let refused = part.check();
    assert!(
        matches!(refused, Err(NoDraw::Transcript(NoTranscript::Write { .. }))),
        "{refused:?}"
    );
}

/// No new file can be made there: better known before all are than when they have gathered.
#[tokio::test]
async fn a_transcript_that_is_a_link_is_refused_before_anybody_waits() {
    let table = Table::lay(4, "").await;
    std::fs::write(table.home.join("old.jsonl"), "").unwrap();
    for to in ["nowhere.jsonl", "old.jsonl"] {
        let part = table.part(0);
        let _ = std::fs::remove_file(&part.transcript); // of the last
        std::os::unix::fs::symlink(to, &part.transcript).unwrap();
        let refused = part.check();
        assert!(
            matches!(refused, Err(NoDraw::Transcript(NoTranscript::Exists(_)))),
            "{to}: {refused:?}"
        );
    }
}

/// Flips are nobody else's business while a draw lasts.
#[tokio::test]
async fn nobody_else_can_read_a_transcript() {
    use std::os::unix::fs::PermissionsExt;

    let mut table = Table::lay(4, "").await;
    let seats: Vec<_> = (0..4)
        .map(|place| table.seat(place, Wagner::new()))
        .collect();
    leader(&conclusions(seats).await);
    let metadata = std::fs::metadata(table.transcript(0)).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
}

/// What the member at 0 is told if, after it has looked and before all are there, `spoil` happens to its marks.
async fn with_spoiled_marks(spoil: impl FnOnce(&std::path::Path)) -> NoDraw {
    let mut table = Table::lay(4, "respond_within = \"5s\"").await;
    let part = table.part(0);
    let marks = part.marks.clone();
    let listener = table.listeners[0].take().unwrap();
    let failing = tokio::spawn(async move {
        let account = part.account();
        part.draw(listener, &account, std::future::pending()).await
    });
    tokio::task::yield_now().await;
    spoil(&marks);
    let others: Vec<_> = (1..4)
        .map(|place| table.seat(place, Wagner::new()))
        .collect();
    for account in conclusions(others).await {
        assert_eq!(account.state, State::Fault, "{account:?}");
    }
    assert!(!table.transcript(0).exists(), "nothing was drawn");
    failing.await.unwrap().unwrap_err()
}

#[tokio::test]
async fn a_mark_that_appears_before_the_draw_begins_is_that_of_a_draw() {
    let failed = with_spoiled_marks(|marks| {
        std::fs::write(marks.join("chair 7"), "").unwrap();
    });
    let failed = failed.await;
    assert!(matches!(failed, NoDraw::Drawn { .. }), "{failed:?}");
}

#[tokio::test]
async fn marks_that_cannot_be_left_any_more_are_no_sign_of_a_draw() {
    let failed = with_spoiled_marks(|marks| {
        std::fs::remove_dir(marks).unwrap();
        std::fs::write(marks, "").unwrap();
    });
    let failed = failed.await;
    assert!(matches!(failed, NoDraw::NoMark { .. }), "{failed:?}");
}

/// Root may write anywhere: so these are places where nobody can.
#[tokio::test]
async fn a_disk_that_would_refuse_does_so_before_anybody_waits() {
    let table = Table::lay(4, "").await;
    let mut part = table.part(0);
    part.transcript = "/proc/self/m0.jsonl".into();
    let refused = part.check();
    assert!(
        matches!(refused, Err(NoDraw::Transcript(NoTranscript::Write { .. }))),
        "{refused:?}"
    );
    // A file in the place of the directory is no mark of a draw.
    for marks in ["file", "file/m0.drawn"] {
        let mut part = table.part(0);
        std::fs::write(table.home.join("file"), "").unwrap();
        part.marks = table.home.join(marks);
        let refused = part.check();
        assert!(
            matches!(refused, Err(NoDraw::NoPlaceForMark { .. })),
            "{marks}: {refused:?}"
        );
    }
    let part = table.part(0);
    assert!(part.check().is_ok());
    let left = std::fs::read_dir(&table.home).unwrap();
    let left: Vec<_> = left.map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "the file and the directory: {left:?}");
}

#[tokio::test]
async fn who_finds_no_place_for_its_transcript_as_the_draw_begins_tells_the_others() {
    let mut table = Table::lay(4, "respond_within = \"5s\"").await;
    let mut part = table.part(0);
    let home = table.home.join("m0");
    std::fs::create_dir(&home).unwrap();
    part.transcript = home.join("m0.jsonl");
    let listener = table.listeners[0].take().unwrap();
    let failing = tokio::spawn(async move {
        let account = part.account();
        part.draw(listener, &account, std::future::pending()).await
    });
    // It has looked, and now waits for the others.
    tokio::task::yield_now().await;
    std::fs::remove_dir(&home).unwrap();
    let others: Vec<_> = (1..4)
        .map(|place| table.seat(place, Wagner::new()))
        .collect();
    for account in conclusions(others).await {
        assert_eq!(account.state, State::Fault, "{account:?}");
    }
    let failed = failing.await.unwrap();
    assert!(
        matches!(failed, Err(NoDraw::Transcript(NoTranscript::Write { .. }))),
        "{failed:?}"
    );
    let found = table.verify(1..4);
    let withdrew = |it: &hustings_agent::draw::verify::Finding| it.what.contains("withdrew");
    assert!(found.findings.iter().any(withdrew), "{found:?}");
}

#[tokio::test]
async fn who_withdraws_ends_the_draw_for_all() {
    let mut table = Table::lay(5, "").await;
    let part = table.part(0);
    let listener = table.listeners[0].take().unwrap();
    let mut seats: Vec<_> = (1..5)
        .map(|place| table.seat(place, Wagner::new()))
        .collect();
    seats.push(tokio::spawn(async move {
        let account = part.account();
        let mut told = account.subscribe();
        let begun = async move {
            let begun = told.wait_for(|it| it.state != State::Gathering).await;
            drop(begun.unwrap());
        };
        part.draw(listener, &account, begun).await
    }));
    let accounts = conclusions(seats).await;
    for account in &accounts {
        assert_eq!(account.state, State::Fault, "{account:?}");
    }
    let found = table.verify(0..5);
    assert!(!found.is_clean() && found.leader.is_none());
    let withdrawn = &found.transcripts[0].verdict;
    assert!(withdrawn.contains("it withdrew before"), "{withdrawn}");
    // It did what it may, and everybody's transcript has that, signed by it.
    for found in [found, table.verify([2])] {
        assert_eq!(found.findings.len(), 1, "{found:?}");
        assert_eq!(found.findings[0].who, ["m0"], "{found:?}");
        assert!(found.findings[0].what.contains("withdrew"), "{found:?}");
    }
}
