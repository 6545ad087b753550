//! Every type of fault on the paper's list.

use hustings_draw::verify::{Finding, Weight};
use hustings_draw::{DrawStatus, State};
use hustings_protocol::wagner::Wagner;
use hustings_protocol::wagner::fault::FaultCause;
use hustings_sim::wagner::{Cheat, Segment};
use hustings_theory::wagner::stall::{StallLimit, false_alarm};

use crate::aborter::Aborter;
use crate::cheater::Cheater;
use crate::table::{Table, conclusions, leader};

/// The seat of the cheater, if there is one.
const SEAT: u32 = 2;

/// A limit that no honest member exceeds, even on a busy machine.
const PATIENT: &str = "respond_within = \"60s\"";

/// The words by which a member's transcript shows a flip that it inverted.
const OTHER_FLIP: [&str; 2] = ["it sent ", " where an honest member sends "];

/// A draw whose honest members have reached a conclusion.
struct Drawn {
    table: Table,
    members: usize,
    cheaters: Segment,
    honest: Vec<DrawStatus>,
}

/// Runs a draw with `cheaters` among honest members.
async fn draw(members: usize, options: &str, cheaters: Segment) -> Drawn {
    let mut table = Table::lay(members, options).await;
    let (mut honest, mut others) = (Vec::new(), Vec::new());
    for place in 0..members {
        match cheaters.holds(place as u32, members as u32) {
            true => {
                let segment = cheaters.clone();
                let cheater =
                    Cheater::new(place as u32, members as u32, table.ring.config, segment);
                others.push(table.seat(place, cheater));
            }
            false => honest.push(table.seat(place, Wagner::default())),
        }
    }
    let honest = conclusions(honest).await;
    // Honest members hear a cheater's last messages; some send none.
    for other in &mut others {
        let patience = std::time::Duration::from_secs(2);
        let _ = tokio::time::timeout(patience, &mut *other).await;
        other.abort();
    }
    Drawn { table, members, cheaters, honest }
}

fn alone(cheat: Cheat) -> Segment {
    Segment { cheat, from: SEAT, to: SEAT }
}

impl Drawn {
    fn honest_places(&self) -> impl Iterator<Item = usize> {
        let holds = |place: &usize| !self.cheaters.holds(*place as u32, self.members as u32);
        (0..self.members).filter(holds)
    }

    /// Asserts that all honest members know of a fault and name no leader.
    #[track_caller]
    fn is_known_to_all(&self) {
        for status in &self.honest {
            assert_eq!(status.state, State::Fault, "{status:?}");
            assert_eq!(status.leader, None);
        }
    }

    /// Returns the findings of the honest transcripts, which accuse no honest member.
    #[track_caller]
    fn accused(&self) -> Vec<Finding> {
        let found = self.table.verify(self.honest_places());
        assert_eq!(found.unusable, []);
        let cheater = format!("m{SEAT}");
        for finding in &found.findings {
            // Silence leaves one of two members under suspicion, and is never a proof.
            let is_it = match finding.weight {
                Weight::Either => finding.who.contains(&cheater),
                Weight::Proven | Weight::Unanswered => finding.who == [&*cheater],
                Weight::Open => finding.who.is_empty(),
            };
            assert!(is_it, "{found:?}");
        }
        found.findings
    }

    /// Asserts that the finding names the active members of a stall and the probability of chance.
    /// At least one of them stalls; the others sit beside the two that do.
    #[track_caller]
    fn tells_who_stalled(&self) {
        let accused = self.accused();
        let [open] = &accused[..] else {
            panic!("{accused:?}");
        };
        assert_eq!(open.weight, Weight::Open, "{accused:?}");
        let (active, rest) = open
            .what
            .strip_prefix("the active members ")
            .and_then(|it| it.split_once(" flipped the same coin 16 times in a row"))
            .unwrap_or_else(|| panic!("{accused:?}"));
        let active: Vec<&str> = active.split(" and ").collect();
        assert!(active.len() > 1, "{accused:?}");
        let near = ["m6", "m7", "m0", "m1"];
        assert!(active.iter().all(|it| near.contains(it)), "{accused:?}");
        assert!(active.iter().any(|it| near[1..3].contains(it)));
        let chance = false_alarm(self.members, StallLimit::new(16));
        assert!(rest.contains(&format!("{chance:.1e}")), "{accused:?}");
    }

    /// Asserts that the cheater's own transcript proves this breach.
    #[track_caller]
    fn is_proven(&self, breach: &[&str]) {
        let found = self.table.verify(0..self.members);
        assert_eq!(found.unusable, [], "the cheater signed its transcript");
        let proven: Vec<_> =
            found.findings.iter().filter(|it| it.weight == Weight::Proven).collect();
        assert!(!proven.is_empty(), "{found:?}");
        for finding in &proven {
            assert_eq!(finding.who, [format!("m{SEAT}")], "{found:?}");
        }
        let conduct = |it: &Finding| {
            let mut words = ["broke the protocol"].iter().chain(breach);
            words.all(|words| it.what.contains(words))
        };
        assert!(proven.into_iter().any(conduct), "{found:?}");
    }
}

#[tokio::test]
async fn im_heads_one_way_and_tails_the_other_is_proven_by_two_signatures() {
    let drawn = draw(5, PATIENT, alone(Cheat::InconsistentMessage)).await;
    drawn.is_known_to_all();
    let accused = drawn.accused();
    assert_eq!(accused[0].weight, Weight::Proven, "{accused:?}");
    assert!(accused[0].what.contains("the flip of m2 was shown as"));
    drawn.is_proven(&OTHER_FLIP);
    let found = drawn.table.verify(0..5).findings;
    assert!(found.contains(&accused[0]), "its own word changes nothing: {found:?}");
}

#[tokio::test]
async fn cm_changed_flip_leads_to_the_member_that_changed_it() {
    let drawn = draw(5, PATIENT, alone(Cheat::ChangeMessage)).await;
    drawn.is_known_to_all();
    let accused = drawn.accused();
    assert_eq!(accused[0].weight, Weight::Unanswered, "{accused:?}");
    assert!(accused[0].what.contains("in Basic round 1"), "{accused:?}");
    drawn.is_proven(&OTHER_FLIP);
}

#[tokio::test]
async fn br_silence_is_a_fault_after_the_limit() {
    let drawn = draw(5, "respond_within = \"3s\"", alone(Cheat::BrokenRing)).await;
    drawn.is_known_to_all();
    let is_silence = |it: &DrawStatus| {
        let fault = it.fault.as_ref().unwrap();
        matches!(fault.cause, FaultCause::Silence { .. })
    };
    assert!(drawn.honest.iter().any(is_silence), "{:?}", drawn.honest);
    let accused = drawn.accused();
    assert!(!accused.is_empty());
    for finding in &accused {
        // It was present to the end, and another member may have delayed it: its transcript would
        // show that.
        assert_eq!(finding.weight, Weight::Unanswered, "{accused:?}");
        assert!(finding.what.contains("waited in vain for m2"), "{accused:?}");
    }
    // At the end it hears of the fault and signs that, and thereby every step that it left out.
    drawn.is_proven(&["it did nothing where an honest member sends"]);
}

#[tokio::test]
async fn fm_false_fault_message_leads_back_to_its_sender() {
    let drawn = draw(5, PATIENT, alone(Cheat::FaultMessage)).await;
    drawn.is_known_to_all();
    let accused = drawn.accused();
    assert_eq!(accused[0].weight, Weight::Unanswered, "{accused:?}");
    assert!(accused[0].what.contains("fault"), "{accused:?}");
    // The message came round to the cheater, but it had signed its own before.
    drawn.is_proven(&["it sent a fault message to", "where an honest member sends"]);
}

#[tokio::test]
async fn nf_suppressed_fault_message_still_reaches_all_members() {
    let drawn = draw(6, PATIENT, alone(Cheat::NoFaultMessage)).await;
    drawn.is_known_to_all();
    assert!(!drawn.accused().is_empty());
    drawn.is_proven(&OTHER_FLIP);
}

#[tokio::test]
async fn sp_simulated_member_is_found_unless_its_flips_happen_to_fit() {
    let mut found_out = 0;
    for _ in 0..3 {
        let drawn = draw(8, "respond_within = \"10s\"", alone(Cheat::SimulateProcessor)).await;
        let informed = drawn.honest.iter().filter(|it| it.fault.is_some()).count();
        assert!(informed == 0 || informed == drawn.honest.len());
        if informed > 0 && !drawn.accused().is_empty() {
            drawn.is_proven(&OTHER_FLIP);
            found_out += 1;
        }
    }
    assert!(found_out > 0);
}

#[tokio::test]
async fn df_chosen_flips_go_unnoticed_and_all_agree() {
    let drawn = draw(6, PATIENT, alone(Cheat::DeterministicFlip)).await;
    leader(&drawn.honest);
    assert_eq!(drawn.accused(), []);
    // It flips no coin. If it had recorded a fitting one before the messages that it heard, nothing
    // would be wrong.
    drawn.is_proven(&["it did nothing where an honest member flips a coin"]);
}

#[tokio::test]
async fn sm_one_cheater_alone_cannot_stall_a_draw() {
    let drawn = draw(6, PATIENT, alone(Cheat::StaleMate)).await;
    leader(&drawn.honest);
    assert_eq!(drawn.accused(), []);
}

#[tokio::test]
async fn sm_two_cheaters_that_stall_are_stopped_by_the_limit() {
    let two = Segment { cheat: Cheat::StaleMate, from: 7, to: 0 };
    // This many equal stages are hardly ever chance. Half of the draws go on to a leader that the
    // second staller does not learn of and does not sign.
    for _ in 0..20 {
        let options = "respond_within = \"4s\"\nstall_limit = 16";
        let drawn = draw(8, options, two.clone()).await;
        if drawn.honest[0].fault.is_none() {
            for status in &drawn.honest {
                assert_eq!(status.state, State::Unconfirmed, "{status:?}");
                assert_eq!(status.unconfirmed_by, ["m0"]);
            }
            continue;
        }
        drawn.is_known_to_all();
        let is_stall = |it: &DrawStatus| {
            let cause = it.fault.as_ref().unwrap().cause;
            matches!(cause, FaultCause::Stalled { stages: 16 })
        };
        assert!(drawn.honest.iter().any(is_stall), "{:?}", drawn.honest);
        drawn.tells_who_stalled();
        return;
    }
    panic!("twenty draws, and not one was held up");
}

/// As the guide says: it wins every completed draw, and every other draw names it.
#[tokio::test]
async fn member_that_is_silent_when_it_loses_wins_all_completed_draws() {
    let mut void = 0;
    let aborter = format!("m{SEAT}");
    for _ in 0..20 {
        let mut table = Table::lay(4, "respond_within = \"2s\"").await;
        let silent = table.seat(SEAT as usize, Aborter::default());
        let others = [0, 1, 3].map(|place| table.seat(place, Wagner::default()));
        let honest = conclusions(others).await;
        silent.abort();
        let leaders: Vec<_> = honest.iter().map(|it| it.leader.as_deref()).collect();
        let found = table.verify([0, 1, 3]);
        match leaders[0] {
            Some(leader) => {
                assert_eq!(leader, aborter);
                assert_eq!(found.leader.as_deref(), Some(leader));
            }
            None => {
                for status in &honest {
                    assert_eq!(status.state, State::Unconfirmed, "{status:?}");
                    assert_eq!(status.unconfirmed_by, [&*aborter], "{status:?}");
                }
                let [finding] = &found.findings[..] else {
                    panic!("{found:?}");
                };
                assert_eq!(finding.weight, Weight::Unanswered, "{found:?}");
                assert_eq!(finding.who, [&*aborter], "{found:?}");
                void += 1;
            }
        }
        assert!(leaders.iter().all(|it| *it == leaders[0]), "{leaders:?}");
        if void == 2 {
            return;
        }
    }
    panic!("of 20 draws {void} were void");
}
