//! Draws among honest members, and the checks before a draw.

use hustings_draw::{NoDraw, NoTranscript, State};
use hustings_protocol::wagner::Wagner;

use crate::table::{Table, conclusions, leader};

/// Holds a draw among honest members.
async fn draws(members: usize, options: &str) {
    let mut table = Table::lay(members, options).await;
    let seats: Vec<_> = (0..members).map(|place| table.seat(place, Wagner::default())).collect();
    let accounts = conclusions(seats).await;
    let leader = leader(&accounts);
    for status in &accounts {
        let flips = u64::from(status.basic_rounds) * 2 * members as u64;
        assert_eq!(status.messages_sent, flips, "{status:?}");
    }
    let found = table.verify(0..members);
    assert!(found.is_clean(), "{found:?}");
    assert_eq!(found.leader.as_ref(), Some(&leader));
    // One transcript contains the signatures of all members.
    let found = table.verify([members - 1]);
    assert_eq!(found.leader, Some(leader), "{found:?}");
}

#[tokio::test]
async fn three_members_agree_on_a_clockwise_ring() {
    draws(3, "direction = \"clockwise\"").await;
}

#[tokio::test]
async fn four_members_agree_with_strict_comparison() {
    draws(4, "compare = \"strict\"").await;
}

#[tokio::test]
async fn five_members_agree() {
    draws(5, "").await;
}

#[tokio::test]
async fn twenty_five_members_agree() {
    draws(25, "respond_within = \"60s\"").await;
}

#[tokio::test]
async fn second_draw_under_one_number_is_refused() {
    let mut table = Table::lay(4, "").await;
    let seats: Vec<_> = (0..4).map(|place| table.seat(place, Wagner::default())).collect();
    leader(&conclusions(seats).await);
    let again = table.participant(2).check();
    assert!(matches!(again, Err(NoDraw::Transcript(NoTranscript::Exists(_)))), "{again:?}");
    // This holds even if the transcript was moved or lost, or other parts of the ring file changed.
    let mut elsewhere = table.participant(2);
    elsewhere.transcript = table.home.join("another.jsonl");
    elsewhere.ring.members[1].address = "another:1".to_owned();
    let again = elsewhere.check();
    assert!(matches!(again, Err(NoDraw::Drawn { .. })), "{again:?}");
    elsewhere.ring.number += 1;
    assert!(elsewhere.check().is_ok(), "a new number is a new draw");
}

#[tokio::test]
async fn transcript_in_a_missing_directory_is_refused_early() {
    let table = Table::lay(4, "").await;
    let mut participant = table.participant(0);
    participant.transcript = table.home.join("nowhere/m0.jsonl");
    let refused = participant.check();
    assert!(matches!(refused, Err(NoDraw::Transcript(NoTranscript::Write { .. }))), "{refused:?}");
}

/// No new file can be created there. The member must learn this before the rendezvous.
#[tokio::test]
async fn transcript_path_that_is_a_symlink_is_refused_early() {
    let table = Table::lay(4, "").await;
    std::fs::write(table.home.join("old.jsonl"), "").unwrap();
    for to in ["nowhere.jsonl", "old.jsonl"] {
        let participant = table.participant(0);
        let _ = std::fs::remove_file(&participant.transcript); // left by the previous iteration
        std::os::unix::fs::symlink(to, &participant.transcript).unwrap();
        let refused = participant.check();
        assert!(
            matches!(refused, Err(NoDraw::Transcript(NoTranscript::Exists(_)))),
            "{to}: {refused:?}"
        );
    }
}

/// A transcript contains flips, which must stay secret while a draw lasts.
#[tokio::test]
async fn transcript_is_readable_only_by_its_owner() {
    use std::os::unix::fs::PermissionsExt;

    let mut table = Table::lay(4, "").await;
    let seats: Vec<_> = (0..4).map(|place| table.seat(place, Wagner::default())).collect();
    leader(&conclusions(seats).await);
    let metadata = std::fs::metadata(table.transcript(0)).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
}

/// The error of the member at place 0 if `spoil` changes its markers after its check and before all
/// are present.
async fn with_spoiled_marks(spoil: impl FnOnce(&std::path::Path)) -> NoDraw {
    let mut table = Table::lay(4, "respond_within = \"5s\"").await;
    let participant = table.participant(0);
    let marks = participant.marks.clone();
    let listener = table.listeners[0].take().unwrap();
    let failing = tokio::spawn(async move {
        let status = participant.status();
        participant.draw(listener, &status, std::future::pending()).await
    });
    tokio::task::yield_now().await;
    spoil(&marks);
    let others: Vec<_> = (1..4).map(|place| table.seat(place, Wagner::default())).collect();
    for status in conclusions(others).await {
        assert_eq!(status.state, State::Fault, "{status:?}");
    }
    assert!(!table.transcript(0).exists(), "nothing was drawn");
    failing.await.unwrap().unwrap_err()
}

#[tokio::test]
async fn marker_that_appears_before_the_draw_counts_as_drawn() {
    let failed = with_spoiled_marks(|marks| {
        std::fs::write(marks.join("chair 7"), "").unwrap();
    });
    let failed = failed.await;
    assert!(matches!(failed, NoDraw::Drawn { .. }), "{failed:?}");
}

#[tokio::test]
async fn marker_directory_that_disappears_is_not_a_marker() {
    let failed = with_spoiled_marks(|marks| {
        std::fs::remove_dir(marks).unwrap();
        std::fs::write(marks, "").unwrap();
    });
    let failed = failed.await;
    assert!(matches!(failed, NoDraw::NoMark { .. }), "{failed:?}");
}

/// Root may write anywhere, so the test uses paths at which no user can create files.
#[tokio::test]
async fn unwritable_paths_are_refused_before_the_rendezvous() {
    let table = Table::lay(4, "").await;
    let mut participant = table.participant(0);
    participant.transcript = "/proc/self/m0.jsonl".into();
    let refused = participant.check();
    assert!(matches!(refused, Err(NoDraw::Transcript(NoTranscript::Write { .. }))), "{refused:?}");
    // A file in the place of the directory is not a marker.
    for marks in ["file", "file/m0.drawn"] {
        let mut participant = table.participant(0);
        std::fs::write(table.home.join("file"), "").unwrap();
        participant.marks = table.home.join(marks);
        let refused = participant.check();
        assert!(matches!(refused, Err(NoDraw::NoPlaceForMark { .. })), "{marks}: {refused:?}");
    }
    let participant = table.participant(0);
    assert!(participant.check().is_ok());
    let left = std::fs::read_dir(&table.home).unwrap();
    let left: Vec<_> = left.map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "the file and the directory: {left:?}");
}

#[tokio::test]
async fn transcript_failure_at_the_start_is_reported_to_others() {
    let mut table = Table::lay(4, "respond_within = \"5s\"").await;
    let mut participant = table.participant(0);
    let home = table.home.join("m0");
    std::fs::create_dir(&home).unwrap();
    participant.transcript = home.join("m0.jsonl");
    let listener = table.listeners[0].take().unwrap();
    let failing = tokio::spawn(async move {
        let status = participant.status();
        participant.draw(listener, &status, std::future::pending()).await
    });
    // The member has made its checks and waits for the others.
    tokio::task::yield_now().await;
    std::fs::remove_dir(&home).unwrap();
    let others: Vec<_> = (1..4).map(|place| table.seat(place, Wagner::default())).collect();
    for status in conclusions(others).await {
        assert_eq!(status.state, State::Fault, "{status:?}");
    }
    let failed = failing.await.unwrap();
    assert!(matches!(failed, Err(NoDraw::Transcript(NoTranscript::Write { .. }))), "{failed:?}");
    let found = table.verify(1..4);
    let withdrew = |it: &hustings_draw::verify::Finding| it.what.contains("withdrew");
    assert!(found.findings.iter().any(withdrew), "{found:?}");
}

#[tokio::test]
async fn withdrawal_ends_the_draw_for_all() {
    let mut table = Table::lay(5, "").await;
    let participant = table.participant(0);
    let listener = table.listeners[0].take().unwrap();
    let mut seats: Vec<_> = (1..5).map(|place| table.seat(place, Wagner::default())).collect();
    seats.push(tokio::spawn(async move {
        let status = participant.status();
        let mut told = status.subscribe();
        let begun = async move {
            let begun = told.wait_for(|it| it.state != State::Rendezvous).await;
            drop(begun.unwrap());
        };
        participant.draw(listener, &status, begun).await
    }));
    let accounts = conclusions(seats).await;
    for status in &accounts {
        assert_eq!(status.state, State::Fault, "{status:?}");
    }
    let found = table.verify(0..5);
    assert!(!found.is_clean() && found.leader.is_none());
    let withdrawn = &found.transcripts[0].verdict;
    assert!(withdrawn.contains("it withdrew before"), "{withdrawn}");
    // The withdrawal is allowed, and every transcript contains the member's signature under it.
    for found in [found, table.verify([2])] {
        assert_eq!(found.findings.len(), 1, "{found:?}");
        assert_eq!(found.findings[0].who, ["m0"], "{found:?}");
        assert!(found.findings[0].what.contains("withdrew"), "{found:?}");
    }
}
