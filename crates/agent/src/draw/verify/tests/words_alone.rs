//! Members that hand in no transcript, and of whom others have what they signed.

use std::fs;

use hustings_protocol::wagner::Message;
use hustings_protocol::wagner::fault::{Cause, Fault, Side};
use hustings_protocol::wagner::flips::Flip;

use super::drawn;
use crate::draw::presence;
use crate::draw::said::{Conclusion, Statement, Verdict};
use crate::draw::table::Table;
use crate::draw::transcript::{Chain, Entry};
use crate::draw::verify::{Finding, Verification, Weight};

/// What the transcripts of all but the member at `place` show of a draw of four in which that one signed `verdict`.
async fn with_word(place: u32, verdict: Verdict) -> (Table, Verification) {
    let table = drawn().await;
    let digest = table.ring.digest();
    let mut told: Vec<(Vec<Entry>, Statement)> = Vec::new();
    for (at, secret) in (0..).zip(&table.secrets) {
        let text = fs::read_to_string(table.transcript(at as usize)).unwrap();
        let entries = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let (said, mut entries): (Vec<Entry>, Vec<Entry>) =
            entries.partition(|it| matches!(it, Entry::Statement(own) if own.place == at));
        // After the first statement nobody sends anything: so what others have of this member's history stands.
        entries.retain(|it| !matches!(it, Entry::Statement(_) | Entry::Broken { .. }));
        let Some(Entry::Gathered(seated)) = entries.get(1) else {
            panic!("nobody was there");
        };
        let sitting = presence::sitting(&table.ring, digest, seated).unwrap();
        let Some(Entry::Statement(own)) = said.first() else {
            panic!("m{at} signed nothing");
        };
        let (verdict, (entry, head)) = (
            if at == place { verdict } else { own.verdict },
            chain(&entries).state(),
        );
        let conclusion = Conclusion {
            place: at,
            entry,
            head,
            verdict,
        };
        told.push((entries, Statement::sign(secret, &sitting, conclusion)));
    }
    let said: Vec<Statement> = told.iter().map(|(_, said)| said.clone()).collect();
    for (at, (mut entries, own)) in (0..).zip(told) {
        let others = said.iter().filter(|it| it.place != at).cloned();
        entries.push(Entry::Statement(own.clone()));
        entries.extend(others.map(Entry::Statement));
        let (entry, head) = chain(&entries).state();
        let conclusion = Conclusion {
            entry,
            head,
            ..own.content
        };
        let seated = match &entries[1] {
            Entry::Gathered(seated) => presence::sitting(&table.ring, digest, seated).unwrap(),
            _ => panic!("nobody was there"),
        };
        let secret = &table.secrets[at as usize];
        entries.push(Entry::Statement(Statement::sign(
            secret, &seated, conclusion,
        )));
        let lines = entries.iter().map(|it| serde_json::to_string(it).unwrap());
        let lines: Vec<String> = lines.collect();
        fs::write(table.transcript(at as usize), lines.join("\n")).unwrap();
    }
    let found = table.verify((0..4).filter(|it| *it != place as usize));
    (table, found)
}

fn chain(entries: &[Entry]) -> Chain {
    let mut chain = Chain::new();
    for entry in entries {
        chain.take(entry);
    }
    chain
}

/// What is found of `member`, and that nothing is found of others.
#[track_caller]
fn of<'f>(member: &str, found: &'f Verification) -> Vec<&'f Finding> {
    assert_eq!(found.leader, None, "{found:?}");
    assert!(!found.findings.is_empty(), "{found:?}");
    for finding in &found.findings {
        assert_eq!(finding.who, [member], "{found:?}");
        assert_eq!(finding.weight, Weight::Unanswered, "{found:?}");
    }
    found.findings.iter().collect()
}

fn is_open(finding: &&Finding) -> bool {
    finding.what.contains("The draw is open")
}

#[tokio::test]
async fn a_result_of_ones_own_is_not_what_all_others_signed() {
    for place in [0, 3] {
        let own = Verdict::Elected {
            leader: 1,
            messages: 8000,
        };
        let (_table, found) = with_word(place, own).await;
        let found = of(&format!("m{place}"), &found);
        assert_eq!(found.len(), 2, "{found:?}");
        let another = "signed that m1 is elected after 8000 messages, where 3 of 4 signed";
        assert!(found[0].what.contains(another), "{found:?}");
        assert!(is_open(&found[1]), "{found:?}");
    }
}

#[tokio::test]
async fn a_fault_that_nobody_else_knows_of_is_a_veto_whatever_its_cause() {
    let side = Side::Left;
    let (sent, received) = (Flip::Heads, Flip::Tails);
    for cause in [
        Cause::Told { side },
        Cause::Disagreement {
            of: 1,
            from_left: sent,
            from_right: received,
        },
        Cause::OwnFlip {
            side,
            sent,
            received,
        },
        Cause::Nonsense {
            side,
            received: Message::Flip(sent),
        },
        Cause::OutOfTurn { side },
    ] {
        let fault = Fault {
            place: 3,
            round: 4,
            cause,
        };
        let (_table, found) = with_word(3, Verdict::Fault(fault)).await;
        let found = of("m3", &found);
        assert_eq!(found.len(), 2, "{cause:?}: {found:?}");
        let secret = "signed a fault that neither of its neighbours heard of";
        assert!(found[0].what.contains(secret), "{found:?}");
        assert!(is_open(&found[1]), "{found:?}");
    }
}

#[tokio::test]
async fn equal_flips_that_no_transcript_shows_are_a_word_and_no_fact() {
    let fault = Fault {
        place: 3,
        round: 4,
        cause: Cause::Stalled { stages: 40 },
    };
    let (_table, found) = with_word(3, Verdict::Fault(fault)).await;
    let found = of("m3", &found);
    let word =
        "signed that all active members flipped alike 40 times in a row, which no transcript";
    assert!(found[0].what.contains(word), "{found:?}");
    assert!(found.iter().any(is_open), "{found:?}");
}
