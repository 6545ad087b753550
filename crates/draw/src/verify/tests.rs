//! Transcripts that were made up afterwards and signed with the right keys.

mod edited;
mod words_alone;

use std::fs;

use hustings_protocol::wagner::fault::{Fault, FaultCause, Side};
use hustings_protocol::wagner::flips::Flip;
use hustings_protocol::wagner::{Message, Wagner};

use super::reading::Reading;
use super::{RecordedSession, Verification, Weight, two_faced};
use crate::attestation;
use crate::bytes::Bytes;
use crate::signed::{Conclusion, LinkDirection, SignedMessage, Statement, Verdict};
use crate::table::{Table, conclusions, leader};
use crate::transcript::{Chain, Entry};

/// Holds an honest draw of four.
pub(super) async fn drawn() -> Table {
    let mut table = Table::lay(4, "").await;
    let seats: Vec<_> = (0..4).map(|place| table.seat(place, Wagner::default())).collect();
    leader(&conclusions(seats).await);
    table
}

/// Changes the transcript of the member at `place` with `lie`, and signs it again.
pub(super) fn tell(table: &Table, place: u32, lie: impl FnOnce(&mut Vec<Entry>)) {
    let text = fs::read_to_string(table.transcript(place as usize)).unwrap();
    let mut entries: Vec<Entry> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lie(&mut entries);
    let session = entries.iter().find_map(|it| match it {
        Entry::Met(seated) => attestation::session(&table.ring, table.ring.digest(), seated),
        _ => None,
    });
    let mut chain = Chain::default();
    let mut told = String::new();
    for mut entry in entries {
        if let Entry::Statement(own) = &mut entry
            && own.place == place
        {
            let secret = &table.secrets[place as usize];
            let (entry, head) = chain.state();
            let conclusion = Conclusion { entry, head, ..own.content.clone() };
            *own = Statement::sign(secret, &session.unwrap(), conclusion);
        }
        chain.take(&entry);
        told += &(serde_json::to_string(&entry).unwrap() + "\n");
    }
    fs::write(table.transcript(place as usize), told).unwrap();
}

/// Verifies a draw of four after the member at `place` changed and signed its transcript.
async fn with_lie(place: u32, lie: impl FnOnce(&mut Vec<Entry>)) -> Verification {
    let table = drawn().await;
    tell(&table, place, lie);
    table.verify(0..4)
}

/// Removes the statements of `places`, as if they had not reached the holder.
fn lose_statements(entries: &mut Vec<Entry>, places: &[u32]) {
    entries.retain(|it| !matches!(it, Entry::Statement(it) if places.contains(&it.place)));
}

pub(super) fn turn(message: &mut Message) {
    if let Message::Flip(flip) = message {
        *flip = match flip {
            Flip::Heads => Flip::Tails,
            Flip::Tails => Flip::Heads,
        };
    }
}

#[tokio::test]
async fn unchanged_transcript_signed_again_is_clean() {
    let found = with_lie(1, |_| {}).await;
    assert!(found.is_clean(), "{found:?}");
}

#[tokio::test]
async fn flip_denied_afterwards_is_disproved_by_the_neighbours() {
    // The random word and the messages about it are changed consistently.
    let found = with_lie(1, |entries| {
        let drew = entries.iter().position(|it| matches!(it, Entry::Drew { .. }));
        let drew = drew.unwrap();
        if let Entry::Drew { word, .. } = &mut entries[drew] {
            word.0[0] ^= 0x80;
        }
        for entry in &mut entries[drew + 1..=drew + 2] {
            if let Entry::Sent { message, .. } = entry {
                turn(message);
            }
        }
    })
    .await;
    let of = |it: &super::Finding| it.weight == Weight::Proven && it.who == ["m1"];
    let made_up = |it: &super::Finding| of(it) && it.what.contains("made up afterwards");
    assert!(found.findings.iter().any(made_up), "{found:?}");
    assert!(found.findings.iter().all(of), "{found:?}");
}

#[tokio::test]
async fn random_word_exchanged_afterwards_is_detected() {
    // The salt has no meaning, but the signed hash covers it.
    let found = with_lie(1, |entries| {
        for entry in entries {
            if let Entry::Drew { salt, .. } = entry {
                salt.0[0] ^= 1;
            }
        }
    })
    .await;
    assert!(found.findings.iter().any(|it| it.who == ["m1"]), "{found:?}");
}

#[tokio::test]
async fn flip_that_differs_from_the_random_word_is_detected() {
    let found = with_lie(1, |entries| {
        let sent = entries.iter_mut().find_map(|it| match it {
            Entry::Sent { side: Side::Left, message } => Some(message),
            _ => None,
        });
        turn(sent.unwrap());
    })
    .await;
    let conduct = |it: &super::Finding| it.what.contains("where an honest member sends");
    assert!(found.findings.iter().any(conduct), "{found:?}");
}

#[tokio::test]
async fn leader_signed_by_all_is_elected_despite_another_result() {
    // The transcript of m0 is read first.
    let found = with_lie(0, |entries| {
        let own = |it: &Entry| matches!(it, Entry::Statement(it) if it.place == 0);
        let at = entries.iter().position(own).unwrap();
        let mut other = entries[at].clone();
        if let Entry::Statement(statement) = &mut other {
            statement.content.verdict = Verdict::Elected { leader: 1, messages: 1 };
        }
        entries.insert(at, other);
    })
    .await;
    assert!(found.leader.is_some(), "{found:?}");
    // An honest member does not sign two results.
    let several = |it: &super::Finding| it.what.contains("signed several results");
    let several: Vec<_> = found.findings.iter().filter(|it| several(it)).collect();
    assert_eq!(several.len(), 1, "{found:?}");
    assert_eq!(several[0].who, ["m0"]);
    assert_eq!(several[0].weight, Weight::Proven);
}

/// Members that forward nothing can prevent all members from collecting the signatures, although
/// all have signed.
#[tokio::test]
async fn scattered_signatures_count_when_shown_together() {
    let table = drawn().await;
    tell(&table, 0, |it| lose_statements(it, &[2, 3]));
    tell(&table, 2, |it| lose_statements(it, &[0, 1]));
    for alone in [0, 2] {
        let found = table.verify([alone]);
        assert_eq!(found.leader, None, "{found:?}");
        assert_eq!(found.findings.len(), 1, "{found:?}");
        let open = &found.findings[0];
        assert_eq!(open.weight, Weight::Unanswered);
        assert_eq!(open.who, [["m2", "m3"], ["m0", "m1"]][usize::from(alone == 2)]);
        assert!(open.what.contains("The draw is open"), "{open:?}");
    }
    // The changed transcripts contradict what the two members signed during the draw. But together
    // they hold all signatures under the result.
    let found = table.verify([0, 2]);
    assert!(found.leader.is_some(), "{found:?}");
}

#[tokio::test]
async fn result_that_one_member_withholds_is_open_until_shown() {
    let table = drawn().await;
    for place in 0..3 {
        tell(&table, place, |it| lose_statements(it, &[3]));
    }
    let found = table.verify([0]);
    assert_eq!(found.leader, None, "{found:?}");
    assert_eq!(found.findings[0].who, ["m3"], "{found:?}");
    let found = table.verify([0, 3]);
    assert!(found.leader.is_some(), "{found:?}");
}

/// The statement matches the transcript's history, but the transcript has another entry in its
/// place.
#[tokio::test]
async fn statement_missing_from_its_own_transcript_is_proven() {
    let table = drawn().await;
    let text = fs::read_to_string(table.transcript(1)).unwrap();
    let entries = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let entries: Vec<Entry> = entries.collect();
    let own = |it: &Entry| matches!(it, Entry::Statement(it) if it.place == 1);
    let at = entries.iter().position(own).unwrap();
    // The member replaces its statement with another entry.
    tell(&table, 1, |it| {
        it[at] = Entry::Broken { side: Side::Left, why: "so it says".to_owned() };
    });
    let found = table.verify([0, 1]);
    let another = |it: &super::Finding| {
        it.weight == Weight::Proven
            && it.who == ["m1"]
            && it.what.contains("signed a transcript of ")
    };
    assert!(found.findings.iter().any(another), "{found:?}");
}

/// Messages of a link count only if they are complete and in their sender's order, even if they are
/// signed.
#[tokio::test]
async fn messages_left_out_or_out_of_order_do_not_count() {
    let why = |found: &Verification| {
        let [refused] = &found.unusable[..] else {
            panic!("{found:?}");
        };
        refused.why.clone()
    };
    let of_m0 = |it: &Entry| {
        matches!(it, Entry::Heard { side: Side::Left, .. }) // the left neighbour of m1
    };
    let misplaced = "a message is missing, or was received twice";
    let found = with_lie(1, |entries| {
        let first = entries.iter().position(of_m0).unwrap();
        entries.remove(first);
    })
    .await;
    assert!(why(&found).contains(misplaced), "{found:?}");
    // m0 conspires, and signs its second message with the entry of its first.
    let table = drawn().await;
    let secret = &table.secrets[0];
    tell(&table, 1, |entries| {
        let Entry::Met(seated) = &entries[1] else {
            panic!("no attestations");
        };
        let session = attestation::session(&table.ring, table.ring.digest(), seated).unwrap();
        let (from, to) = (0, 1);
        let mut heard = entries.iter_mut().filter_map(|it| match it {
            Entry::Heard { side: Side::Left, signed } => Some(signed),
            _ => None,
        });
        let (first, second) = (heard.next().unwrap(), heard.next().unwrap());
        let mut numbered = second.content.clone();
        numbered.entry = first.entry;
        *second = SignedMessage::sign(secret, &LinkDirection { session, from, to }, numbered);
    });
    let found = table.verify([1]);
    assert!(why(&found).contains(misplaced), "{found:?}");
}

/// Two neighbours that conspire can claim any id for the link between them.
#[tokio::test]
async fn member_that_attests_two_links_on_one_side_is_convicted() {
    let table = drawn().await;
    let digest = table.ring.digest();
    let read = || {
        let content = fs::read(table.transcript(0)).unwrap();
        Reading::read(&content, &table.ring, digest).unwrap()
    };
    let mut other = read();
    if let Entry::Met(seated) = &mut other.entries[1] {
        seated[2].content.right.0[0] ^= 1;
        seated[3].content.left.0[0] ^= 1;
    }
    let alone = |reading| RecordedSession { id: Bytes([0; 32]), readings: vec![Some(reading)] };
    assert_eq!(two_faced(&table.ring, &[alone(read()), alone(read())]), []);
    let found = two_faced(&table.ring, &[alone(read()), alone(other)]);
    let who: Vec<_> = found.iter().flat_map(|it| &it.who).collect();
    assert_eq!(who, ["m2", "m3"], "{found:?}");
}

#[tokio::test]
async fn statement_about_another_members_fault_or_no_member_is_invalid() {
    let table = Table::lay(4, "").await;
    let (secret, session) = (&table.secrets[3], Bytes([5; 32]));
    let counts = |verdict| {
        let conclusion = Conclusion { place: 3, entry: 1, head: Bytes([0; 32]), verdict };
        let statement = Statement::sign(secret, &session, conclusion);
        assert!(!statement.counts(&table.ring, Bytes([6; 32])), "another sitting");
        statement.counts(&table.ring, session)
    };
    let fault = |place| {
        let side = Side::Left;
        let cause = FaultCause::Told { side };
        Verdict::Fault(Fault { place, round: 3, cause })
    };
    let elected = |leader| Verdict::Elected { leader, messages: 9 };
    assert!(counts(fault(3)) && counts(elected(0)));
    for verdict in [fault(0), fault(u32::MAX), elected(4), elected(u32::MAX)] {
        assert!(!counts(verdict), "{verdict:?}");
    }
}
