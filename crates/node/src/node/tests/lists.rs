//! Members with different lists of voters.

use hustings_protocol::Duration;
use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::{Durable, Request, Saved};
use tokio::sync::mpsc;

use super::{ALL, ANNOUNCE, DELAY, Field, name};
use crate::control::Told;
use crate::node::Outbox;

/// Three members vote for each other, and a fourth is its own only voter: it grants itself tenure.
#[test]
fn holder_under_another_voter_list_is_not_the_holder() {
    let mut field = Field::empty();
    let founding = Saved::Initialised(Durable::FOUNDING);
    for _ in 0..3 {
        field.admit_fenced(Takeover::Never, 0, founding);
    }
    field.run(Duration::from_secs(1));
    let (leader, fence) = field.settled_on(&ALL[..3]);
    // Its fence is higher, by its own count.
    let later = Saved::Initialised(Durable { counter: 1_000, ..Durable::FOUNDING });
    field.admit_fenced_by(&[3], Takeover::Never, 99, later);
    let mut out = Outbox::new();
    field.members[3].ask_authority(field.now, Request::Acquire, &mut out);
    field.post(3, out);
    field.save(3);
    for _ in 0..50 {
        field.run(Duration::from_millis(100));
        // Each list has a majority of its own.
        assert_eq!(field.holders(), [leader, 3]);
        for it in 0..3 {
            let status = field.members[it].tenure_status(field.now);
            let status = status.expect("it is fenced");
            let shown = (status.holder, status.fence);
            assert_eq!(shown, (Some(name(leader)), Some(fence)), "{it}");
        }
    }
    for it in 0..3 {
        let told = |it: &&String| it.contains("`m3` holds tenure by another list of voters");
        assert_eq!(field.whys(it).iter().filter(told).count(), 1);
    }
    let told = format!("`{}` holds tenure by another list", name(leader));
    assert!(field.whys(3).iter().any(|it| it.contains(&told)));
    // There is no warning about a member that is gone.
    field.sides[3] = 1;
    field.run(Duration::from_secs(15));
    assert!(field.whys(1).iter().all(|it| !it.contains("another list")));
}

/// A member that is its own only voter has no other voter to ask for promises. Members that vote by
/// another list, and follow silently, report their presence.
#[test]
fn lone_voter_learns_of_voters_with_another_list() {
    let mut field = Field::empty();
    for _ in 0..3 {
        let founding = Saved::Initialised(Durable::FOUNDING);
        field.admit_fenced(Takeover::Never, 0, founding);
    }
    field.run(Duration::from_secs(1));
    let (leader, _) = field.settled_on(&ALL[..3]);
    field.sides[leader] = 1; // the holder would be heard in any case
    field.admit_fenced_by(&[3], Takeover::Never, 0, Saved::Missing);
    let (telling, mut told) = mpsc::unbounded_channel();
    let mut out = Outbox::new();
    field.members[3].voter_query(field.now, telling, &mut out);
    field.post(3, out);
    field.run(DELAY * 4);
    let mut heard: Vec<String> = std::iter::from_fn(|| told.try_recv().ok())
        .map(|it| match it {
            Told::Another { member, .. } | Told::Unproven { member, .. } => member,
            Told::Voter { .. } => panic!("nobody else votes by its list"),
        })
        .collect();
    heard.sort();
    heard.dedup();
    let others = (0..3).filter(|it| *it != leader).map(name);
    assert_eq!(heard, others.collect::<Vec<_>>());
}

/// Its last announcement says that it holds tenure no longer.
#[test]
fn member_that_released_tenure_is_not_reported_as_holder() {
    let mut field = Field::empty();
    let founding = Saved::Initialised(Durable::FOUNDING);
    for _ in 0..3 {
        field.admit_fenced(Takeover::Never, 0, founding);
    }
    field.run(Duration::from_secs(1));
    let (leader, held) = field.settled_on(&ALL[..3]);
    field.admit_fenced_by(&[3], Takeover::Never, 0, Saved::Missing);
    let (telling, mut told) = mpsc::unbounded_channel();
    let mut out = Outbox::new();
    field.members[3].voter_query(field.now, telling, &mut out);
    field.post(3, out);
    let mut said = Vec::new();
    for is_over in [false, true] {
        if is_over {
            field.step_down(leader);
        }
        field.run(ANNOUNCE);
        while let Ok(it) = told.try_recv() {
            match it {
                Told::Another { member, fence, holds }
                    if member == name(leader) && fence == Some(held) =>
                {
                    said.push(holds);
                }
                Told::Another { .. } | Told::Unproven { .. } => {}
                Told::Voter { .. } => panic!("nobody else votes by its list"),
            }
        }
    }
    assert!(said.contains(&true), "{said:?}");
    assert_eq!(said.last(), Some(&false), "{said:?}");
}
