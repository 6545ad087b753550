//! Silence, and what transcripts show about it.

use hustings_protocol::Instant;
use hustings_protocol::wagner::fault::{Fault, FaultCause, Side};
use hustings_protocol::wagner::{Message, Wagner};

use super::{Held, all_sit, hear, signs};
use crate::session::{LAST_CALL, Session};
use crate::signed::Verdict;
use crate::transcript::Entry;
use crate::verify::{Verification, Weight};
use hustings_system::clock;

/// All members wait for each other, as after a network failure. The only member with a transcript
/// must not be blamed for that.
#[tokio::test]
async fn silence_that_all_report_is_blamed_on_no_member() {
    let (table, [(mut m0, _), ..]) = all_sit().await;
    m0.begin().ok().unwrap();
    for place in 1..4 {
        let fault =
            Verdict::Fault(Fault { place, round: 1, cause: FaultCause::Silence { side: None } });
        let statement = signs(&table, place, &m0, fault);
        m0.on_statement(Side::Left, &statement).ok().unwrap();
    }
    m0.on_silence().ok().unwrap();
    m0.close().ok().unwrap();
    let found = table.verify([0]);
    assert_eq!(found.findings.len(), 1, "{found:?}");
    assert_eq!(found.findings[0].weight, Weight::Open, "{found:?}");
    assert!(found.findings[0].who.is_empty(), "{found:?}");
}

/// The time of a statement must not be that of the entry before it.
#[tokio::test]
async fn received_statement_is_recorded_with_its_arrival_time() {
    let (table, [(mut m0, _), ..]) = all_sit().await;
    m0.begin().ok().unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let fault =
        Verdict::Fault(Fault { place: 1, round: 1, cause: FaultCause::Silence { side: None } });
    let statement = signs(&table, 1, &m0, fault);
    m0.on_silence().ok().unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    m0.on_statement(Side::Left, &statement).ok().unwrap();
    m0.close().ok().unwrap();
    let text = std::fs::read_to_string(table.transcript(0)).unwrap();
    let entries: Vec<Entry> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_theirs = |it: &Entry| matches!(it, Entry::Statement(it) if it.place == 1);
    let came = entries.iter().position(is_theirs).unwrap();
    assert!(matches!(entries[came - 1], Entry::Clock(_)), "{:?}", entries[came - 1]);
}

/// The waiting time is only the complaining member's claim. No member is reported as waiting unless
/// it said so itself.
#[tokio::test]
async fn lone_complaint_of_silence_is_reported_as_such() {
    let (table, [(mut m0, _), (mut m1, _), (mut m2, _), (mut m3, _)]) = all_sit().await;
    for session in [&mut m0, &mut m1, &mut m2, &mut m3] {
        session.begin().ok().unwrap();
    }
    // m3 does everything that is due except wait.
    for side in Side::BOTH {
        hear(&mut m3, side).await;
    }
    m3.on_silence().ok().unwrap();
    m3.close().ok().unwrap();
    for (session, side) in [(&mut m0, Side::Left), (&mut m2, Side::Right), (&mut m1, Side::Left)] {
        while session.verdict.is_none() {
            hear(session, side).await;
        }
        session.close().ok().unwrap();
    }
    let found = table.verify(0..4);
    assert_eq!(found.findings.len(), 1, "{found:?}");
    let open = &found.findings[0];
    assert_eq!(open.weight, Weight::Open, "{found:?}");
    let alone = "the draw ended only because m3 reported a silence above the limit. The members that it waited for, m0 and m2, had sent all that was due";
    assert!(open.what.contains(alone), "{found:?}");
    // m1 has received the message of m0 and nothing else, and neither m0 nor m2 has received one of
    // m1. On the links of m3 everything had arrived.
    let late = "Either m3 complained too early, which is a veto, or a message further on was late, one that was still on its way or one that had arrived by then (on the way was message 1 from m1 to m0 and message 1 from m1 to m2 and message 1 from m2 to m1). The waiting times";
    assert!(open.what.contains(late), "{found:?}");
    // Without the transcript of m1, of which no member received a message, all may have waited for
    // m1.
    let found = table.verify([0, 2, 3]);
    assert_eq!(found.findings.len(), 2, "{found:?}");
    for (finding, beside) in found.findings.iter().zip(["m2", "m0"]) {
        assert_eq!(finding.weight, Weight::Open, "{found:?}");
        let behind = format!(
            "{beside} waited in vain for m1 after 0 messages, which hands in no transcript, until m3, which waited behind {beside}, complained. No transcript shows any message of m1"
        );
        assert!(finding.what.contains(&behind), "{found:?}");
    }
}

/// If messages take time, the complaint of the opposite member reaches both neighbours of a silent
/// member just before they would have complained themselves.
#[tokio::test]
async fn silent_member_is_named_when_its_neighbours_were_told_first() {
    let (table, [(mut m0, _), (mut m1, _), (mut m2, _), (mut m3, _)]) = all_sit().await;
    for session in [&mut m0, &mut m1, &mut m2, &mut m3] {
        session.begin().ok().unwrap();
    }
    for (session, towards) in [(&mut m0, Side::Left), (&mut m2, Side::Right)] {
        hear(session, towards).await;
    }
    drop(m3);
    for (session, towards) in [(&mut m0, Side::Left), (&mut m2, Side::Right)] {
        hear(session, towards).await; // the link was closed
        hear(session, towards.opposite()).await;
    }
    for side in [Side::BOTH, Side::BOTH].concat() {
        hear(&mut m1, side).await;
    }
    m1.on_silence().ok().unwrap();
    m1.close().ok().unwrap();
    for (session, side) in [(&mut m0, Side::Right), (&mut m2, Side::Left)] {
        while session.verdict.is_none() {
            hear(session, side).await;
        }
        let Some(Verdict::Fault(fault)) = session.verdict else {
            panic!("{:?}", session.verdict);
        };
        assert_eq!(fault.cause, FaultCause::Told { side });
        session.close().ok().unwrap();
    }
    let found = table.verify(0..3);
    assert_eq!(found.findings.len(), 2, "{found:?}");
    for (finding, beside) in found.findings.iter().zip(["m0", "m2"]) {
        assert_eq!(finding.weight, Weight::Either, "{found:?}");
        assert_eq!(finding.who, [beside, "m3"], "{found:?}");
        let what = format!(
            "{beside} waited in vain for m3 after 1 message (its note about the link: it was closed), which hands in no transcript, until m1, which waited behind {beside}, complained"
        );
        assert!(finding.what.starts_with(&what), "{found:?}");
    }
}

/// Handles frames until all members have made a statement, and signs the transcript.
async fn end(session: &mut Session<Wagner>) {
    while !session.is_done() {
        let links = &mut session.links;
        let (side, frame) = tokio::select! {
            frame = links.left.receive(), if !session.traffic.left.broken => (Side::Left, frame),
            frame = links.right.receive(), if !session.traffic.right.broken => (Side::Right, frame),
        };
        session.on_frame(side, frame).ok().unwrap();
    }
    session.close().ok().unwrap();
}

async fn all_end(held: &mut [Held; 4]) {
    let [(m0, _), (m1, _), (m2, _), (m3, _)] = held;
    tokio::join!(end(m0), end(m1), end(m2), end(m3));
}

/// Asserts that no finding names a member with a transcript, or one of two members.
#[track_caller]
fn names_nobody_who_answers(found: &Verification) {
    for finding in &found.findings {
        let is_fair = match finding.weight {
            Weight::Open => finding.who.is_empty(),
            Weight::Unanswered => finding.who.iter().all(|it| found.missing.contains(it)),
            Weight::Proven | Weight::Either => false,
        };
        assert!(is_fair, "{found:?}");
    }
}

/// A message between m1 and its neighbours was delayed for nearly the whole timeout. The neighbours
/// waited and then went on. Before their messages reach m3, opposite, its timeout expires.
#[tokio::test]
async fn delay_elsewhere_does_not_blame_honest_neighbours() {
    let (table, mut held) = all_sit().await;
    for (session, _) in &mut held {
        session.begin().ok().unwrap();
    }
    for place in [3, 0, 2] {
        for side in Side::BOTH {
            hear(&mut held[place].0, side).await;
        }
    }
    held[3].0.on_silence().ok().unwrap();
    all_end(&mut held).await;
    let found = table.verify(0..4);
    assert_eq!(found.findings.len(), 2, "{found:?}");
    for (finding, beside) in found.findings.iter().zip(["m2", "m0"]) {
        assert_eq!(finding.weight, Weight::Open, "{found:?}");
        let sent =
            format!("m3 waited in vain for {beside} after 1 message, which reports that it sent ");
        assert!(finding.what.starts_with(&sent), "{found:?}");
        let late = format!("late on their link, or a member behind {beside} made {beside} wait");
        assert!(finding.what.contains(&late), "{found:?}");
    }
    // This holds for any subset of transcripts.
    for some in 1..16 {
        let found = table.verify((0..4).filter(|it| some & (1 << it) != 0));
        names_nobody_who_answers(&found);
    }
    // A transcript that was cut at the holder's first signature does not show which members were
    // silent to the end.
    let whole = std::fs::read_to_string(table.transcript(3)).unwrap();
    let is_own = |it: &str| it.contains("\"statement\"") && it.contains("\"place\":3");
    let lines: Vec<&str> = whole.lines().collect();
    let first = lines.iter().position(|it| is_own(it)).unwrap();
    std::fs::write(table.transcript(3), lines[..=first].join("\n")).unwrap();
    let found = table.verify([3]);
    assert_eq!((found.transcripts.len(), found.findings.len()), (1, 2));
    names_nobody_who_answers(&found);
}

/// m0 sent nothing while it waited, and had not received the complaint of m3. So something between
/// the two took longer than the timeout.
#[tokio::test]
async fn two_neighbours_that_both_complain_are_named_together() {
    // m0 complains of m3 too in the first case. In the second case it complains of m1, which was
    // told of the fault.
    for (heard, weights) in [
        (Side::Right, [Weight::Either, Weight::Either]),
        (Side::Left, [Weight::Open, Weight::Either]),
    ] {
        let (table, mut held) = all_sit().await;
        for (session, _) in &mut held {
            session.begin().ok().unwrap();
        }
        hear(&mut held[0].0, heard).await;
        hear(&mut held[3].0, Side::Left).await;
        for place in [0, 3] {
            held[place].0.on_silence().ok().unwrap();
        }
        all_end(&mut held).await;
        let found = table.verify(0..4);
        assert_eq!(found.findings.len(), 2, "{found:?}");
        for (finding, weight) in found.findings.iter().zip(weights) {
            assert_eq!(finding.weight, weight, "{found:?}");
            if weight == Weight::Either {
                let mut who = finding.who.clone();
                who.sort();
                assert_eq!(who, ["m0", "m3"], "{found:?}");
            }
        }
    }
}

/// m0 leaves when m2, opposite, has begun. m1 and m3, which lost their link to m0, do not begin and
/// have no transcript.
#[tokio::test]
async fn member_that_may_never_have_begun_is_not_named() {
    let (table, [m0, m1, (mut m2, _), m3]) = all_sit().await;
    drop((m0, m1, m3));
    m2.begin().ok().unwrap();
    for side in Side::BOTH {
        hear(&mut m2, side).await; // the link was closed
    }
    m2.on_silence().ok().unwrap();
    end(&mut m2).await;
    let found = table.verify([2]);
    assert_eq!(found.findings.len(), 2, "{found:?}");
    names_nobody_who_answers(&found);
    for (finding, beside) in found.findings.iter().zip(["m1", "m3"]) {
        let what = format!("{beside} never began because another member left at that moment");
        assert!(finding.what.contains(&what), "{found:?}");
    }
}

/// A member that was stopped for longer than the timeout finds the timeout expired and answers
/// unread.
#[tokio::test]
async fn stopped_member_reads_pending_frames_before_it_complains() {
    let (_table, [(mut m0, _), (mut m1, _), ..]) = all_sit().await;
    m1.begin().ok().unwrap();
    m0.begin().ok().unwrap();
    m0.on_overdue().ok().unwrap();
    assert_eq!(m0.verdict, None, "it has not looked");
    // The last call has expired, and the member was stopped again in between.
    m0.last_call = m0.last_call.map(|it| Instant(it.0 - 3 * LAST_CALL.0));
    m0.on_overdue().ok().unwrap();
    assert_eq!(m0.verdict, None, "it has not looked");
    assert!(m0.due() > Some(clock::now()) && m0.due() < m0.ring_driver.due());
    hear(&mut m0, Side::Right).await;
    assert_eq!(m0.due(), m0.ring_driver.due(), "an answer has come");
    // Now there is no answer. A host that is delayed repeatedly needs several calls.
    while m0.verdict.is_none() {
        m0.on_overdue().ok().unwrap();
    }
    let side = Some(Side::Left);
    let cause = FaultCause::Silence { side };
    assert!(matches!(m0.verdict, Some(Verdict::Fault(it)) if it.cause == cause));
}

#[tokio::test]
async fn signed_reason_without_a_transcript_is_reported() {
    let (table, mut held) = all_sit().await;
    for (session, _) in &mut held {
        session.begin().ok().unwrap();
    }
    let m0 = &mut held[0].0;
    let (side, message) = (Side::Right, Message::Withheld);
    let sent = m0.transcript.add(&Entry::Sent { side, message });
    m0.send(side, message, sent.unwrap());
    all_end(&mut held).await;
    let found = table.verify([0, 2, 3]);
    let of_m1 = found.findings.iter().find(|it| it.who == ["m1"]);
    let of_m1 = of_m1.unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!(of_m1.weight, Weight::Unanswered, "{found:?}");
    let reason = "signed the reason, but do not show it: \"m1, in Basic round 1: m0 sent no flip, which the protocol does not allow there\"";
    assert!(of_m1.what.contains(reason), "{found:?}");
}
