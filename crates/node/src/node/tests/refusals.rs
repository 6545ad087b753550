//! The reasons that a nominee gives for having no tenure.

use hustings_protocol::Duration;
use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::{Durable, Refused, Saved};

use super::tenure::TTL;
use super::{ALL, Field, id};
use crate::config::QuorumConfig;
use hustings_testkit::logged;

/// The best member has lost its own disk, and one other voter is away: one of the two votes that
/// are needed is granted.
#[test]
fn reason_names_the_uninitialised_voter() {
    let founding = Saved::Initialised(Durable::FOUNDING);
    for (saved, blank) in [
        ([Saved::Missing, founding, founding], "m0"),
        ([founding, Saved::Missing, founding], "m1"),
        ([Saved::Missing, Saved::Missing, founding], "m0, m1"),
    ] {
        let mut field = Field::empty();
        for (saved, priority) in saved.into_iter().zip([3, 2, 1]) {
            field.admit_fenced(Takeover::ByTheBetter, priority, saved);
        }
        field.sides[2] = 1;
        field.run(Duration::from_secs(3));
        let status = field.members[0].tenure_status(field.now);
        let refusals = status.expect("it is fenced").refusals;
        let said = format!("a usable voter's file: {blank}: the log");
        assert!(refusals.iter().any(|it| it.why.contains(&said)), "{said}: {refusals:?}");
    }
}

#[test]
fn member_refused_because_of_its_name_learns_so() {
    let field = Field::fenced(Takeover::ByTheBetter);
    let (leader, _) = field.settled_on(&ALL);
    let why = field.members[leader].in_words(Refused::Held { holder: id(leader), lasts: TTL });
    assert!(why.starts_with("`m0` holds it, which is this member's own name"), "{why}");
    // A voter has a name even if no frame of it has arrived.
    let stranger = Field::empty();
    let (member, _given) =
        stranger.fenced_member(4, &[0, 1, 2], Takeover::Never, 0, Saved::Missing);
    let why = member.in_words(Refused::Held { holder: id(1), lasts: TTL });
    assert_eq!(why, "`m1` holds it");
}

/// All voters have restarted, and say for how long they grant nothing. The waiting member does not
/// report them as gone.
#[test]
fn voters_in_quarantine_are_not_reported_as_silent() {
    let mut field = Field::empty();
    let granted = Durable { longest_ttl: Duration::from_secs(20), ..Durable::FOUNDING };
    for priority in [3, 2, 1] {
        field.admit_fenced(Takeover::Never, priority, Saved::Initialised(granted));
    }
    let mut whys = Vec::new();
    for _ in 0..18 {
        field.run(Duration::from_secs(1));
        whys.extend((0..3).flat_map(|it| field.whys(it)));
    }
    assert!(whys.iter().any(|it| it.contains("may last for")), "{whys:?}");
    assert!(whys.iter().all(|it| !it.contains("do not answer")), "{whys:?}");
    field.run(Duration::from_secs(10));
    field.settled_on(&ALL[..3]);
}

#[test]
fn misnamed_voter_calls_itself_this_member() {
    let mut field = Field::empty();
    let quorum = QuorumConfig {
        voters: ["m0.example.org", "m1", "m2"].map(str::to_owned).into(),
        ttl: field.ttl,
        state: None,
    };
    let saved = Saved::Initialised(Durable::FOUNDING);
    let (member, given) = field.member_by(0, quorum, Takeover::Never, 0, saved);
    field.admit_member(member, Some(given), &[], 0);
    let lines = logged(|| field.run(Duration::from_secs(20)));
    let count = |text: &str| lines.iter().filter(|(_, it)| it.contains(text)).count();
    assert!(count("this member is called `m0`, which is no voter") > 0);
    for (text, expected) in [
        ("a member called `m0` is here", 0),
        ("voter `m0.example.org` is not found yet", 0),
        ("voter `m1` is not found yet", 1),
        ("voter `m2` is not found yet", 1),
        ("the network may drop multicasts", 1),
    ] {
        assert_eq!(count(text), expected, "{text}: {lines:#?}");
    }
}
