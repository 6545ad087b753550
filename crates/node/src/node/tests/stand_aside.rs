//! A nominee that cannot get tenure does not keep it from members that can.

use std::time::Duration as StdDuration;

use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::{Durable, Request, Saved};
use hustings_protocol::{Duration, Priority};
use tokio::sync::mpsc;

use super::tenure::TTL;
use super::{ALL, Field, LISTEN, address, announcing, entropy, id, name};
use crate::authority::store::{Grant, Store, StoreError};
use crate::authority::{Authority, InFlight, LeaseClient, LeaseEvents, SeenFences, StoreTerms};
use crate::config::{GroupConfig, QuorumConfig};
use crate::node::{Node, Outbox};

const FOUNDING: Saved = Saved::Initialised(Durable::FOUNDING);

impl Field {
    /// Runs for `span`, during which two members never hold tenure at once. Returns the successive
    /// leaders and their fences.
    pub(super) fn terms(&mut self, span: Duration) -> Vec<(usize, u64)> {
        let mut terms = Vec::new();
        let end = self.now + span;
        while self.now < end {
            self.run(Duration::from_millis(10));
            assert!(self.holders().len() < 2, "at {:?}", self.now);
            if let [leader] = self.leaders()[..]
                && let Some(fence) = self.fence(leader)
            {
                terms.push((leader, fence));
            }
        }
        terms.dedup();
        terms
    }

    fn set_healthy(&mut self, index: usize, is_healthy: bool) {
        let mut out = Outbox::new();
        let request = Request::Healthy(is_healthy);
        self.members[index].ask_authority(self.now, request, &mut out);
        self.post(index, out);
    }

    fn names(&self, nominee: usize, who: usize) -> bool {
        self.members[who].context.nominee == Some(id(nominee))
    }
}

/// It announces itself and asks for tenure, but receives no answers.
#[test]
fn leader_that_receives_nothing_is_succeeded() {
    for takeover in [Takeover::Never, Takeover::ByTheBetter] {
        // A holder that is not the nominee is succeeded by the nominee, which is another test.
        let fields = std::iter::repeat_with(|| Field::fenced(takeover));
        let is_named = |field: &Field| field.names(field.settled_on(&ALL).0, 4);
        let mut field = fields.take(100).find(is_named).expect("one is named");
        let (deaf, fence) = field.settled_on(&ALL);
        field.deaf = Some(deaf);
        let terms = field.terms(Duration::from_secs(10));
        let (next, higher) = *terms.last().expect("somebody leads");
        assert!(next != deaf && higher > fence, "{takeover:?}: {terms:?}");
        // Without a further change for the whole span.
        let terms = field.terms(Duration::from_secs(50));
        assert_eq!(terms, [(next, higher)], "{takeover:?}");
        field.deaf = None;
        let terms = field.terms(Duration::from_secs(20));
        assert!(terms.len() <= 2, "{terms:?}");
        field.settled_on(&ALL);
    }
}

#[test]
fn nominee_with_a_hanging_disk_stands_aside_with_the_reason() {
    for takeover in [Takeover::Never, Takeover::ByTheBetter] {
        let mut field = Field::empty();
        for priority in [9, 0, 0] {
            field.admit_fenced(takeover, priority, FOUNDING);
        }
        // The disk accepts writes and never reports that they are done.
        let hangs = field.disks[0].take();
        field.run(Duration::from_secs(3));
        let (leader, _) = field.settled_on(&ALL[1..3]);
        assert_ne!(leader, 0);
        let whys = field.whys(0);
        assert!(whys.iter().any(|it| it.contains("its own disk")), "{whys:?}");
        assert!(whys.iter().all(|it| !it.contains("do not answer")), "{whys:?}");
        // The member does not come back while the disk hangs,
        let before = field.settled_on(&ALL[1..3]);
        assert_eq!(field.terms(Duration::from_secs(30)), [before]);
        assert!(ALL[..3].iter().all(|it| !field.names(0, *it)));
        // and then does.
        field.disks[0] = hangs;
        field.save(0);
        field.run(Duration::from_secs(3));
        field.sides[leader] = 1;
        field.run(Duration::from_secs(3));
        let rest: Vec<usize> = (0..3).filter(|it| *it != leader).collect();
        field.run(Duration::from_secs(3));
        assert!(field.agreed(&rest).is_some());
        if takeover == Takeover::ByTheBetter {
            assert_eq!(field.leaders(), [0]);
        }
    }
}

#[test]
fn voter_with_a_hanging_disk_reports_it_without_nomination() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    assert_eq!(field.settled_on(&ALL).0, 0);
    field.disks[2] = None;
    field.step_down(0);
    field.run(Duration::from_secs(2));
    let whys = field.whys(2);
    assert!(whys.iter().any(|it| it.contains("its own disk")), "{whys:?}");
    assert_eq!(field.leaders(), [1]);
}

#[test]
fn member_that_cannot_work_is_succeeded_until_it_can() {
    for takeover in [Takeover::Never, Takeover::ByTheBetter] {
        let mut field = Field::fenced(takeover);
        let (former, fence) = field.settled_on(&ALL);
        field.set_healthy(former, false);
        field.run(TTL * 2 + LISTEN);
        let (next, higher) = field.settled_on(&ALL);
        assert!(next != former && higher > fence);
        // It is never named again, not even for a moment.
        for _ in 0..400 {
            field.run(Duration::from_millis(100));
            assert!(ALL.iter().all(|it| !field.names(former, *it)));
        }
        assert_eq!(field.settled_on(&ALL), (next, higher));
        field.set_healthy(former, true);
        field.run(Duration::from_secs(3));
        let (last, _) = field.settled_on(&ALL);
        if takeover == Takeover::ByTheBetter {
            assert_eq!(last, former);
        }
    }
}

#[test]
fn member_that_can_never_work_is_not_named_for_long() {
    let mut field = Field::empty();
    for priority in [9, 0, 0] {
        field.admit_fenced(Takeover::ByTheBetter, priority, FOUNDING);
        field.set_healthy(0, false);
    }
    field.run(Duration::from_secs(2));
    assert_ne!(field.settled_on(&ALL[..3]).0, 0);
    let whys = field.whys(0);
    assert!(whys.iter().any(|it| it.contains("unhealthy")), "{whys:?}");
}

/// It is alone, so no other member could lead.
#[test]
fn lone_member_leads_again_once_it_can_work() {
    let mut field = Field::empty();
    field.admit_fenced_by(&[0], Takeover::Never, 0, FOUNDING);
    field.run(Duration::from_secs(1));
    assert_eq!(field.holders(), [0]);
    field.set_healthy(0, false);
    field.run(Duration::from_secs(20));
    assert!(field.holders().is_empty());
    field.set_healthy(0, true);
    field.run(Duration::from_secs(2));
    assert_eq!(field.holders(), [0]);
}

#[test]
fn nominee_with_too_long_a_ttl_stands_aside() {
    const STEP: Duration = Duration::from_millis(10);
    for ttl in [TTL * 2, Duration::from_secs(3600)] {
        let mut field = Field::empty();
        for _ in 0..3 {
            field.admit_fenced(Takeover::ByTheBetter, 0, FOUNDING);
        }
        field.run(Duration::from_secs(1));
        let quorum = QuorumConfig { voters: (0..3).map(name).collect(), ttl, state: None };
        let (member, given) = field.member_by(3, quorum, Takeover::ByTheBetter, 9, FOUNDING);
        field.admit_member(member, Some(given), &[], 0);
        // It is better than the leader, which makes room for it.
        let mut vacant = Duration::ZERO;
        for _ in 0..3_000 {
            field.run(STEP);
            if field.holders().is_empty() {
                vacant = vacant + STEP;
            }
        }
        assert!(vacant < Duration::from_secs(1), "{vacant}");
        assert_ne!(field.settled_on(&ALL[..4]).0, 3);
        let whys = field.whys(3);
        assert!(whys.iter().any(|it| it.contains("the same ttl")), "{whys:?}");
    }
}

/// The voters are gone for minutes. The remaining members take turns and give the reason now and
/// then. One of them leads soon after the voters are back.
#[test]
fn a_member_leads_soon_after_the_voters_are_back() {
    for (gone, sides) in [12, 60, 67, 74, 81, 88, 300]
        .into_iter()
        .flat_map(|gone| [(gone, [1, 2, 3, 0, 0]), (gone, [1, 2, 3, 4, 5])])
    {
        let mut field = Field::fenced(Takeover::Never);
        field.sides = sides.to_vec();
        field.run(Duration::from_secs(gone));
        assert!(field.holders().is_empty());
        let whys = field.whys(3);
        assert!(whys.len() <= 2, "{whys:?}");
        field.sides.fill(0);
        let terms = field.terms(Duration::from_secs(12));
        assert!(!terms.is_empty(), "after {gone} s apart as {sides:?}");
        field.settled_on(&ALL);
    }
}

/// A member works, and the election names another one: the nominee waits, and stays the nominee.
#[test]
fn nominee_that_waits_for_a_holder_keeps_waiting() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    let (former, _) = field.settled_on(&ALL);
    let work = field.members[former].in_flight().begin();
    field.admit_fenced(Takeover::ByTheBetter, 99, Saved::Missing);
    field.run(Duration::from_secs(1));
    for _ in 0..400 {
        field.run(Duration::from_millis(100));
        assert!(ALL.iter().all(|it| field.names(5, *it)));
    }
    drop(work);
    let mut out = Outbox::new();
    field.members[former].leave_tenure(field.now, &mut out);
    field.post(former, out);
    field.run(Duration::from_secs(1));
    assert_eq!(field.settled_on(&ALL).0, 5);
}

/// A store that gives the same answer to every request.
struct Mute(StoreError);

impl Store for Mute {
    async fn acquire(&mut self) -> Result<Grant, StoreError> {
        Err(self.0.clone())
    }
    async fn renew(&mut self) -> Result<StdDuration, StoreError> {
        Err(self.0.clone())
    }
    async fn release(&mut self) -> Result<(), StoreError> {
        Err(self.0.clone())
    }
    async fn wait_released(&mut self) -> Result<(), StoreError> {
        std::future::pending().await
    }
    fn last_count(&self) -> Option<u64> {
        None
    }
    fn identity(&self) -> Option<u64> {
        None
    }

    fn place(&self) -> String {
        "a store".to_owned()
    }
}

#[tokio::test]
async fn nominee_refused_by_its_store_stands_aside() {
    let held = StoreError::Held { holder: "x".to_owned(), lasts: None };
    let silent = StoreError::Unavailable("no route".to_owned());
    let refused = StoreError::Refused("raise `era`".to_owned());
    for (denied, stands_aside, answered) in
        [(silent, true, false), (held, false, true), (refused, true, true)]
    {
        let mut field = Field::empty();
        let (last_will, mut told) = mpsc::unbounded_channel();
        for priority in [9, 0] {
            field.admit_by_store(priority, Mute(denied.clone()), last_will.clone());
        }
        field.run(Duration::from_secs(1));
        assert!(field.names(0, 1));
        // The lease client has asked, and the store has refused.
        told.recv().await.expect("a refusal");
        let mut names_another = false;
        for _ in 0..80 {
            field.run(Duration::from_millis(100));
            names_another |= !field.names(0, 1);
        }
        assert_eq!(names_another, stands_aside, "{denied:?}");
        let is_reachable = field.members[0].tenure.authority().is_reachable();
        assert_eq!(is_reachable, Some(answered), "{denied:?}");
    }
}

impl Field {
    /// Starts a member that asks `store` for tenure.
    pub(super) fn admit_by_store(
        &mut self,
        priority: u64,
        store: impl Store,
        last_will: LeaseEvents,
    ) {
        // On this host's clock: no renewal happens meanwhile.
        self.admit_by_store_for(Duration::from_secs(3600), priority, store, last_will);
    }

    /// As [`Field::admit_by_store`], with this ttl.
    pub(super) fn admit_by_store_for(
        &mut self,
        ttl: Duration,
        priority: u64,
        store: impl Store,
        last_will: LeaseEvents,
    ) {
        let index = self.members.len();
        let terms = StoreTerms {
            member: name(index),
            group: "test".to_owned(),
            ttl,
            answer_within: TTL,
            drift_ppm: 200,
            era: 0,
        };
        let lease_client =
            LeaseClient::spawn(store, terms, SeenFences::in_memory(), index, last_will);
        let (fenced, _) =
            self.fenced_member(index, &[9], Takeover::Never, priority, Saved::Missing);
        let config = GroupConfig {
            priority: Priority(priority),
            protocol: announcing(Takeover::Never),
            ..fenced.context.config
        };
        let name = name(index);
        let store = Authority::Store { name: "store", lease_client };
        let granted = (store, InFlight::default());
        let port = address(index).port();
        let member =
            Node::new(config, &name, port, self.now, None, granted, entropy(self.now, port));
        self.admit_member(member, None, &[], 0);
    }
}
