//! Duplicate names and forged announcements.

use hustings_protocol::announce::{Announce, Message};
use hustings_protocol::{Candidate, ElectionOutcome, Input, MemberId};
use hustings_sim::{Seeds, Stream};

use crate::desk::{announcement, seat};
use crate::group::{ANNOUNCE, field};
use crate::kin::Kin;
use crate::support::{below, choose};
use crate::{Verdict, require};

/// A member that hears itself announced, in this incarnation or a later one, falls silent for ever
/// and reports the reason. An earlier incarnation of its own has no effect.
pub(crate) fn duplicate_name_silences_a_member<P: Kin>(seed: u64) -> Verdict {
    let rng = &mut Seeds::new(seed, 0).rng(Stream::Faults);
    let mut desk = seat::<P>(Candidate::new(3, below(5, rng)), field(), Some(4), seed);
    desk.tell(Input::Start);
    desk.wait(ANNOUNCE.mul_f64(below(300, rng) as f64 / 100.0));
    if choose(&[true, false], rng) {
        desk.hear(0, announcement(0, 9, 1, 1, true));
    }
    let before = desk.member.honest().clone();
    let earlier = 1 + below(4, rng) as u32;
    desk.hear(3, announcement(3, below(9, rng), earlier, 1, true));
    desk.hear(3, Message::Bye { incarnation: 9 });
    require(*desk.member.honest() == before, || {
        format!("incarnation {earlier} changed incarnation 5")
    })?;
    let later = 5 + below(3, rng) as u32;
    desk.hear(3, announcement(3, below(9, rng), later, 1, false));
    let reported = desk.papers.outcomes.last().copied();
    require(reported == Some(ElectionOutcome::DuplicateIdentity), || {
        format!("{reported:?}, although incarnation 5 hears incarnation {later}")
    })?;
    let said = desk.papers.said.len();
    for input in [0, 1, 2] {
        match input {
            0 => desk.hear(0, announcement(0, 9, 1, 2, true)),
            1 => desk.hear(0, Message::Query),
            _ => desk.tell(Input::Leave),
        }
        desk.tell(Input::Start);
        desk.wait(ANNOUNCE * 20);
    }
    require(
        desk.papers.said.len() == said
            && (desk.running(), desk.names()) == (0, None)
            && desk.member.honest().follows().next().is_none(),
        || "it continues after it heard its own identity".to_owned(),
    )
}

/// An announcement in the name of another member is ignored; it does not silence that member
/// either.
#[test]
fn announcement_in_another_name_is_ignored() {
    let mut desk = seat::<Announce>(Candidate::new(3, 1), field(), None, 0);
    desk.tell(Input::Start);
    desk.wait(ANNOUNCE);
    let before = desk.member.clone();
    for (from, id) in [(5, 7), (5, 3), (3, 7)] {
        desk.hear(from, announcement(id, 9, 9, 9, true));
        assert_eq!(desk.member, before, "{from} spoke for {id}");
    }
    desk.hear(7, announcement(7, 9, 9, 9, true));
    assert_eq!(desk.names(), Some(MemberId(7)), "a member may announce itself");
}

/// If two members have one identity, the one with more incarnations stays; of equals at least one
/// goes.
#[test]
fn one_of_two_members_with_one_name_is_refused() {
    for (one, other, left) in [(4, 2, [true, false]), (2, 4, [false, true])] {
        let me = Candidate::new(3, 1);
        let mut desks = [one, other].map(|saved| {
            let mut desk = seat::<Announce>(me, field(), Some(saved), u64::from(saved));
            desk.tell(Input::Start);
            desk.wait(ANNOUNCE);
            desk
        });
        for (from, to) in [(0, 1), (1, 0)] {
            let last = desks[from].papers.said.last().map(|(_, message)| *message);
            desks[to].hear(3, last.expect("it leads"));
        }
        assert_eq!(desks.map(|desk| desk.member.leads()), left);
    }
}
