//! Members that hand in no transcript, but whose statements other members received.

use std::fs;

use hustings_protocol::wagner::Message;
use hustings_protocol::wagner::fault::{Fault, FaultCause, Side};
use hustings_protocol::wagner::flips::Flip;

use super::drawn;
use crate::attestation;
use crate::signed::{Conclusion, Statement, Verdict};
use crate::table::Table;
use crate::transcript::{Chain, Entry};
use crate::verify::{Finding, Verification, Weight};

/// Verifies a draw of four without the transcript of the member at `place`, after changing the
/// verdict that this member signed.
async fn with_word(place: u32, verdict: Verdict) -> (Table, Verification) {
    let table = drawn().await;
    let digest = table.ring.digest();
    let mut told: Vec<(Vec<Entry>, Statement)> = Vec::new();
    for (at, secret) in (0..).zip(&table.secrets) {
        let text = fs::read_to_string(table.transcript(at as usize)).unwrap();
        let entries = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let (signed, mut entries): (Vec<Entry>, Vec<Entry>) =
            entries.partition(|it| matches!(it, Entry::Statement(own) if own.place == at));
        // No member sends a message after its first statement, so the history that others hold of
        // this member stays valid.
        entries.retain(|it| !matches!(it, Entry::Statement(_) | Entry::Broken { .. }));
        let Some(Entry::Met(seated)) = entries.get(1) else {
            panic!("no attestations");
        };
        let session = attestation::session(&table.ring, digest, seated).unwrap();
        let Some(Entry::Statement(own)) = signed.first() else {
            panic!("m{at} signed nothing");
        };
        let (verdict, (entry, head)) =
            (if at == place { verdict } else { own.verdict }, chain(&entries).state());
        let conclusion = Conclusion { place: at, entry, head, verdict };
        told.push((entries, Statement::sign(secret, &session, conclusion)));
    }
    let signed: Vec<Statement> = told.iter().map(|(_, signed)| signed.clone()).collect();
    for (at, (mut entries, own)) in (0..).zip(told) {
        let others = signed.iter().filter(|it| it.place != at).cloned();
        entries.push(Entry::Statement(own.clone()));
        entries.extend(others.map(Entry::Statement));
        let (entry, head) = chain(&entries).state();
        let conclusion = Conclusion { entry, head, ..own.content };
        let seated = match &entries[1] {
            Entry::Met(seated) => attestation::session(&table.ring, digest, seated).unwrap(),
            _ => panic!("no attestations"),
        };
        let secret = &table.secrets[at as usize];
        entries.push(Entry::Statement(Statement::sign(secret, &seated, conclusion)));
        let lines = entries.iter().map(|it| serde_json::to_string(it).unwrap());
        let lines: Vec<String> = lines.collect();
        fs::write(table.transcript(at as usize), lines.join("\n")).unwrap();
    }
    let found = table.verify((0..4).filter(|it| *it != place as usize));
    (table, found)
}

fn chain(entries: &[Entry]) -> Chain {
    let mut chain = Chain::default();
    for entry in entries {
        chain.take(entry);
    }
    chain
}

/// Returns the findings about `member`, and asserts that there are no others.
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
async fn result_that_differs_from_all_others_is_reported() {
    for place in [0, 3] {
        let own = Verdict::Elected { leader: 1, messages: 8000 };
        let (_table, found) = with_word(place, own).await;
        let found = of(&format!("m{place}"), &found);
        assert_eq!(found.len(), 2, "{found:?}");
        let another = "signed that m1 is elected after 8000 messages, where 3 of 4 signed";
        assert!(found[0].what.contains(another), "{found:?}");
        assert!(is_open(&found[1]), "{found:?}");
    }
}

#[tokio::test]
async fn fault_unknown_to_all_others_is_reported_as_a_veto() {
    let side = Side::Left;
    let (sent, received) = (Flip::Heads, Flip::Tails);
    for cause in [
        FaultCause::Told { side },
        FaultCause::Disagreement { of: 1, from_left: sent, from_right: received },
        FaultCause::OwnFlip { side, sent, received },
        FaultCause::Nonsense { side, received: Message::Flip(sent) },
        FaultCause::OutOfTurn { side },
    ] {
        let fault = Fault { place: 3, round: 4, cause };
        let (_table, found) = with_word(3, Verdict::Fault(fault)).await;
        let found = of("m3", &found);
        assert_eq!(found.len(), 2, "{cause:?}: {found:?}");
        let secret = "signed a fault that reached neither of its neighbours";
        assert!(found[0].what.contains(secret), "{found:?}");
        assert!(is_open(&found[1]), "{found:?}");
    }
}

#[tokio::test]
async fn stall_that_no_transcript_shows_is_reported_as_a_claim() {
    let fault = Fault { place: 3, round: 4, cause: FaultCause::Stalled { stages: 40 } };
    let (_table, found) = with_word(3, Verdict::Fault(fault)).await;
    let found = of("m3", &found);
    let word = "signed that all active members flipped the same coin 40 times in a row, which no transcript";
    assert!(found[0].what.contains(word), "{found:?}");
    assert!(found.iter().any(is_open), "{found:?}");
}
