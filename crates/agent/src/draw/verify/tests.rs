//! Transcripts that were made up afterwards, with the right keys.

#[path = "../../../tests/draw/table.rs"]
mod table;

use std::fs;

use hustings_protocol::wagner::fault::{Cause, Fault, Side};
use hustings_protocol::wagner::flips::Flip;
use hustings_protocol::wagner::{Message, Wagner};

use super::{Verification, Weight};
use crate::draw::bytes::Bytes;
use crate::draw::presence;
use crate::draw::said::{Conclusion, Statement, Verdict};
use crate::draw::transcript::{Chain, Entry};
use table::{Table, conclusions, leader};

/// What becomes of a draw of four if the member at `place` tells it as `lie` does, and signs that.
async fn with_lie(place: u32, lie: impl FnOnce(&mut Vec<Entry>)) -> Verification {
    let mut table = Table::lay(4, "").await;
    let seats: Vec<_> = (0..4)
        .map(|place| table.seat(place, Wagner::new()))
        .collect();
    leader(&conclusions(seats).await);
    let text = fs::read_to_string(table.transcript(place as usize)).unwrap();
    let mut entries: Vec<Entry> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    lie(&mut entries);
    let sitting = entries.iter().find_map(|it| match it {
        Entry::Gathered(seated) => presence::sitting(&table.ring, table.ring.digest(), seated),
        _ => None,
    });
    let mut chain = Chain::new();
    let mut told = String::new();
    for mut entry in entries {
        if let Entry::Statement(own) = &mut entry
            && own.place == place
        {
            let secret = &table.secrets[place as usize];
            let sitting = sitting.unwrap();
            let (entry, head) = chain.state();
            let conclusion = Conclusion {
                entry,
                head,
                ..own.content.clone()
            };
            *own = Statement::sign(secret, &sitting, conclusion);
        }
        chain.take(&entry);
        told += &(serde_json::to_string(&entry).unwrap() + "\n");
    }
    fs::write(table.transcript(place as usize), told).unwrap();
    table.verify(0..4)
}

fn turn(message: &mut Message) {
    if let Message::Flip(flip) = message {
        *flip = match flip {
            Flip::Heads => Flip::Tails,
            Flip::Tails => Flip::Heads,
        };
    }
}

#[tokio::test]
async fn the_truth_signed_again_is_the_truth() {
    let found = with_lie(1, |_| {}).await;
    assert!(found.is_clean(), "{found:?}");
}

#[tokio::test]
async fn a_flip_that_is_denied_afterwards_is_proven_by_the_neighbours_that_have_it_signed() {
    // The coin, and what was said of it to both sides: in itself a fine story.
    let found = with_lie(1, |entries| {
        let drew = entries
            .iter()
            .position(|it| matches!(it, Entry::Drew { .. }));
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
async fn chance_that_is_exchanged_afterwards_is_proven_too() {
    // The salt means nothing: but it is under what was signed.
    let found = with_lie(1, |entries| {
        for entry in entries {
            if let Entry::Drew { salt, .. } = entry {
                salt.0[0] ^= 1;
            }
        }
    })
    .await;
    assert!(
        found.findings.iter().any(|it| it.who == ["m1"]),
        "{found:?}"
    );
}

#[tokio::test]
async fn who_flips_otherwise_than_its_coin_is_convicted_by_its_own_transcript() {
    let found = with_lie(1, |entries| {
        let sent = entries.iter_mut().find_map(|it| match it {
            Entry::Sent {
                side: Side::Left,
                message,
            } => Some(message),
            _ => None,
        });
        turn(sent.unwrap());
    })
    .await;
    let conduct = |it: &super::Finding| it.what.contains("where an honest member sends");
    assert!(found.findings.iter().any(conduct), "{found:?}");
}

/// It may change its mind, or want to be able to say so.
#[tokio::test]
async fn whom_all_have_signed_is_elected_whatever_else_somebody_signed_before() {
    // The one whose transcript is read first.
    let found = with_lie(0, |entries| {
        let own = |it: &Entry| matches!(it, Entry::Statement(it) if it.place == 0);
        let at = entries.iter().position(own).unwrap();
        let mut other = entries[at].clone();
        if let Entry::Statement(statement) = &mut other {
            statement.content.verdict = Verdict::Elected {
                leader: 1,
                messages: 1,
            };
        }
        entries.insert(at, other);
    })
    .await;
    assert!(found.leader.is_some(), "{found:?}");
}

#[tokio::test]
async fn nobody_states_what_another_noticed_nor_who_is_elected_elsewhere() {
    let table = Table::lay(4, "").await;
    let (secret, sitting) = (&table.secrets[3], Bytes([5; 32]));
    let counts = |verdict| {
        let conclusion = Conclusion {
            place: 3,
            entry: 1,
            head: Bytes([0; 32]),
            verdict,
        };
        let statement = Statement::sign(secret, &sitting, conclusion);
        assert!(
            !statement.counts(&table.ring, Bytes([6; 32])),
            "another sitting"
        );
        statement.counts(&table.ring, sitting)
    };
    let fault = |place| {
        let side = Side::Left;
        let cause = Cause::Told { side };
        Verdict::Fault(Fault {
            place,
            round: 3,
            cause,
        })
    };
    let elected = |leader| Verdict::Elected {
        leader,
        messages: 9,
    };
    assert!(counts(fault(3)) && counts(elected(0)));
    for verdict in [fault(0), fault(u32::MAX), elected(4), elected(u32::MAX)] {
        assert!(!counts(verdict), "{verdict:?}");
    }
}
