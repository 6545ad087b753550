//! Silence, and what transcripts show of it.

use hustings_protocol::Instant;
use hustings_protocol::wagner::fault::{Cause, Fault, Side};
use hustings_protocol::wagner::{Message, Wagner};

use super::{Held, all_sit, hear, signs};
use crate::clock;
use crate::draw::said::Verdict;
use crate::draw::sitting::{LAST_CALL, Sitting};
use crate::draw::transcript::Entry;
use crate::draw::verify::{Verification, Weight};

/// Everybody waits for everybody, as after a break in the network: of whom there is a transcript is no worse than the others.
#[tokio::test]
async fn silence_of_which_all_complain_is_nobodys_that_is_known() {
    let (table, [(mut m0, _), ..]) = all_sit().await;
    m0.begin().ok().unwrap();
    for place in 1..4 {
        let fault = Verdict::Fault(Fault {
            place,
            round: 1,
            cause: Cause::Silence { side: None },
        });
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

/// When a signature came is not when something came before it.
#[tokio::test]
async fn what_others_have_signed_stands_in_the_transcript_with_the_time_at_which_it_came() {
    let (table, [(mut m0, _), ..]) = all_sit().await;
    m0.begin().ok().unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let fault = Verdict::Fault(Fault {
        place: 1,
        round: 1,
        cause: Cause::Silence { side: None },
    });
    let statement = signs(&table, 1, &m0, fault);
    m0.on_silence().ok().unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    m0.on_statement(Side::Left, &statement).ok().unwrap();
    m0.close().ok().unwrap();
    let text = std::fs::read_to_string(table.transcript(0)).unwrap();
    let entries: Vec<Entry> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let is_theirs = |it: &Entry| matches!(it, Entry::Statement(it) if it.place == 1);
    let came = entries.iter().position(is_theirs).unwrap();
    assert!(
        matches!(entries[came - 1], Entry::Clock(_)),
        "{:?}",
        entries[came - 1]
    );
}

/// Of time there is nobody's word but its own. But nobody is said to have waited who has not said so.
#[tokio::test]
async fn who_alone_complains_of_silence_is_told_as_that() {
    let (table, [(mut m0, _), (mut m1, _), (mut m2, _), (mut m3, _)]) = all_sit().await;
    for sitting in [&mut m0, &mut m1, &mut m2, &mut m3] {
        sitting.begin().ok().unwrap();
    }
    // m3 does all that is due but wait.
    for side in Side::BOTH {
        hear(&mut m3, side).await;
    }
    m3.on_silence().ok().unwrap();
    m3.close().ok().unwrap();
    for (sitting, side) in [
        (&mut m0, Side::Left),
        (&mut m2, Side::Right),
        (&mut m1, Side::Left),
    ] {
        while sitting.verdict.is_none() {
            hear(sitting, side).await;
        }
        sitting.close().ok().unwrap();
    }
    let found = table.verify(0..4);
    assert_eq!(found.findings.len(), 1, "{found:?}");
    let open = &found.findings[0];
    assert_eq!(open.weight, Weight::Open, "{found:?}");
    let alone = "the word of m3 alone ended the draw: that there was silence for too long. m0 and m2, for whom they waited, had sent all that was due";
    assert!(open.what.contains(alone), "{found:?}");
    // m1 has heard m0 and nothing else, and neither m0 nor m2 has heard m1; on the links of m3 all had come.
    let late = "m3 complained too early, which is a veto, or further on a message was late, one that was still on its way or one that had come by then (on the way was message 1 from m1 to m0 and message 1 from m1 to m2 and message 1 from m2 to m1): of time";
    assert!(open.what.contains(late), "{found:?}");
    // Without the transcript of m1, of whom nobody heard anything, it may have been m1 for whom all waited.
    let found = table.verify([0, 2, 3]);
    assert_eq!(found.findings.len(), 2, "{found:?}");
    for (finding, beside) in found.findings.iter().zip(["m2", "m0"]) {
        assert_eq!(finding.weight, Weight::Open, "{found:?}");
        let behind = format!(
            "{beside} waited in vain for m1 after 0 messages, who hands in no transcript, until m3, who waited behind {beside}, complained. Not a word of m1"
        );
        assert!(finding.what.contains(&behind), "{found:?}");
    }
}

/// Where messages take time the complaint of the one opposite comes to both neighbours of a silent one just before they would have
/// complained themselves.
#[tokio::test]
async fn who_is_silent_is_named_though_both_its_neighbours_were_told_before_they_complained() {
    let (table, [(mut m0, _), (mut m1, _), (mut m2, _), (mut m3, _)]) = all_sit().await;
    for sitting in [&mut m0, &mut m1, &mut m2, &mut m3] {
        sitting.begin().ok().unwrap();
    }
    for (sitting, towards) in [(&mut m0, Side::Left), (&mut m2, Side::Right)] {
        hear(sitting, towards).await;
    }
    drop(m3);
    for (sitting, towards) in [(&mut m0, Side::Left), (&mut m2, Side::Right)] {
        hear(sitting, towards).await; // that the link was closed
        hear(sitting, towards.opposite()).await;
    }
    for side in [Side::BOTH, Side::BOTH].concat() {
        hear(&mut m1, side).await;
    }
    m1.on_silence().ok().unwrap();
    m1.close().ok().unwrap();
    for (sitting, side) in [(&mut m0, Side::Right), (&mut m2, Side::Left)] {
        while sitting.verdict.is_none() {
            hear(sitting, side).await;
        }
        let Some(Verdict::Fault(fault)) = sitting.verdict else {
            panic!("{:?}", sitting.verdict);
        };
        assert_eq!(fault.cause, Cause::Told { side });
        sitting.close().ok().unwrap();
    }
    let found = table.verify(0..3);
    assert_eq!(found.findings.len(), 2, "{found:?}");
    for (finding, beside) in found.findings.iter().zip(["m0", "m2"]) {
        assert_eq!(finding.weight, Weight::Either, "{found:?}");
        assert_eq!(finding.who, [beside, "m3"], "{found:?}");
        let what = format!(
            "{beside} waited in vain for m3 after 1 message (of the link it says: it was closed), who hands in no transcript, until m1, who waited behind {beside}, complained"
        );
        assert!(finding.what.starts_with(&what), "{found:?}");
    }
}

/// Listens until all have spoken, and signs the whole.
async fn end(sitting: &mut Sitting<Wagner>) {
    while !sitting.is_done() {
        let links = &mut sitting.links;
        let (side, frame) = tokio::select! {
            frame = links.left.hear(), if !sitting.left.broken => (Side::Left, frame),
            frame = links.right.hear(), if !sitting.right.broken => (Side::Right, frame),
        };
        sitting.on_frame(side, frame).ok().unwrap();
    }
    sitting.close().ok().unwrap();
}

async fn all_end(held: &mut [Held; 4]) {
    let [(m0, _), (m1, _), (m2, _), (m3, _)] = held;
    tokio::join!(end(m0), end(m1), end(m2), end(m3));
}

/// Nobody is named of whom there is a transcript, nor two of whom one should have done it.
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

/// A message was held up between m1 and its neighbours for nearly as long as an answer may take. They waited, and then went on; but
/// before what they say reaches m3, opposite, its time is up.
#[tokio::test]
async fn a_message_that_was_late_elsewhere_makes_two_of_no_honest_neighbours() {
    let (table, mut held) = all_sit().await;
    for (sitting, _) in &mut held {
        sitting.begin().ok().unwrap();
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
            format!("m3 waited in vain for {beside} after 1 message, who says that it sent ");
        assert!(finding.what.starts_with(&sent), "{found:?}");
        let late =
            format!("late on their link, or {beside} was kept waiting by somebody behind it");
        assert!(finding.what.contains(&late), "{found:?}");
    }
    // Whoever's transcripts are missing.
    for some in 1..16 {
        let found = table.verify((0..4).filter(|it| some & (1 << it) != 0));
        names_nobody_who_answers(&found);
    }
    // One that was cut where its holder had signed first does not show who was silent to the end.
    let whole = std::fs::read_to_string(table.transcript(3)).unwrap();
    let is_own = |it: &str| it.contains("\"statement\"") && it.contains("\"place\":3");
    let lines: Vec<&str> = whole.lines().collect();
    let first = lines.iter().position(|it| is_own(it)).unwrap();
    std::fs::write(table.transcript(3), lines[..=first].join("\n")).unwrap();
    let found = table.verify([3]);
    assert_eq!((found.transcripts.len(), found.findings.len()), (1, 2));
    names_nobody_who_answers(&found);
}

/// m0 has sent nothing for as long as it waits, and had not heard that m3 complains: so between them something took longer.
#[tokio::test]
async fn who_complains_of_one_that_has_waited_as_long_is_one_of_two_with_it() {
    // Of m3 as well, or of m1, who is told.
    for (heard, weights) in [
        (Side::Right, [Weight::Either, Weight::Either]),
        (Side::Left, [Weight::Open, Weight::Either]),
    ] {
        let (table, mut held) = all_sit().await;
        for (sitting, _) in &mut held {
            sitting.begin().ok().unwrap();
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

/// m0 goes when m2, opposite, has begun; m1 and m3, who have lost it, do not begin, and never have a transcript.
#[tokio::test]
async fn who_may_never_have_begun_is_not_one_of_two() {
    let (table, [m0, m1, (mut m2, _), m3]) = all_sit().await;
    drop((m0, m1, m3));
    m2.begin().ok().unwrap();
    for side in Side::BOTH {
        hear(&mut m2, side).await; // that the link was closed
    }
    m2.on_silence().ok().unwrap();
    end(&mut m2).await;
    let found = table.verify([2]);
    assert_eq!(found.findings.len(), 2, "{found:?}");
    names_nobody_who_answers(&found);
    for (finding, beside) in found.findings.iter().zip(["m1", "m3"]) {
        let what = format!("{beside} never began, as somebody else was gone just then");
        assert!(finding.what.contains(&what), "{found:?}");
    }
}

/// A member that was stopped for longer than others may take to answer finds its time up, and their answers unread.
#[tokio::test]
async fn who_was_stopped_reads_what_has_come_before_it_complains() {
    let (_table, [(mut m0, _), (mut m1, _), ..]) = all_sit().await;
    m1.begin().ok().unwrap();
    m0.begin().ok().unwrap();
    m0.on_overdue().ok().unwrap();
    assert_eq!(m0.verdict, None, "it has not looked");
    // The last call is over, and the member was stopped again meanwhile.
    m0.last_call = m0.last_call.map(|it| Instant(it.0 - 3 * LAST_CALL.0));
    m0.on_overdue().ok().unwrap();
    assert_eq!(m0.verdict, None, "it has not looked");
    assert!(m0.due() > Some(clock::now()) && m0.due() < m0.seat.due());
    hear(&mut m0, Side::Right).await;
    assert_eq!(m0.due(), m0.seat.due(), "an answer has come");
    // Now there is none; a host that is held up again and again takes as many calls.
    while m0.verdict.is_none() {
        m0.on_overdue().ok().unwrap();
    }
    let side = Some(Side::Left);
    let cause = Cause::Silence { side };
    assert!(matches!(m0.verdict, Some(Verdict::Fault(it)) if it.cause == cause));
}

/// What it signed that it noticed is told, though it does not show it.
#[tokio::test]
async fn the_reason_of_who_hands_in_nothing_is_told_if_it_signed_one() {
    let (table, mut held) = all_sit().await;
    for (sitting, _) in &mut held {
        sitting.begin().ok().unwrap();
    }
    let m0 = &mut held[0].0;
    let (side, message) = (Side::Right, Message::Withheld);
    let sent = m0.transcript.add(&Entry::Sent { side, message });
    m0.say(side, message, sent.unwrap());
    all_end(&mut held).await;
    let found = table.verify([0, 2, 3]);
    let of_m1 = found.findings.iter().find(|it| it.who == ["m1"]);
    let of_m1 = of_m1.unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!(of_m1.weight, Weight::Unanswered, "{found:?}");
    let reason = "signed why, but do not show it: \"m1, in Basic round 1: m0 sent no flip, which has no place there\"";
    assert!(of_m1.what.contains(reason), "{found:?}");
}
