//! A nominee that cannot get tenure does not keep it from those who can.

use std::time::Duration as StdDuration;

use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::{Durable, Request, Saved};
use hustings_protocol::{Duration, Merit};
use tokio::sync::mpsc;

use super::tenancy::TTL;
use super::{ALL, Field, LISTEN, address, announcing, entropy, id, name};
use crate::authority::store::{Denied, Grant, Store};
use crate::authority::{Authority, Clerk, Memory, Occupancy, StoreTerms, Words};
use crate::config::{GroupConfig, QuorumConfig};
use crate::group::{Group, Outbox};

const FOUNDING: Saved = Saved::Initialised(Durable::FOUNDING);

impl Field {
    /// Runs for `span`, in which never two hold. Returns who led with which fence, one after the other.
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
        self.members[who].nominee == Some(id(nominee))
    }
}

/// It announces itself, and asks; nothing comes back.
#[test]
fn a_leader_that_hears_nobody_is_succeeded() {
    for takeover in [Takeover::Never, Takeover::ByTheBetter] {
        // Who holds while another is named is succeeded by that one: not what is asked here.
        let fields = std::iter::repeat_with(|| Field::fenced(takeover));
        let is_named = |field: &Field| field.names(field.settled_on(&ALL).0, 4);
        let mut field = fields.take(100).find(is_named).expect("one is named");
        let (deaf, fence) = field.settled_on(&ALL);
        field.deaf = Some(deaf);
        let terms = field.terms(Duration::from_secs(10));
        let (next, higher) = *terms.last().expect("somebody leads");
        assert!(next != deaf && higher > fence, "{takeover:?}: {terms:?}");
        // For as long as it lasts, and undisturbed.
        let terms = field.terms(Duration::from_secs(50));
        assert_eq!(terms, [(next, higher)], "{takeover:?}");
        field.deaf = None;
        let terms = field.terms(Duration::from_secs(20));
        assert!(terms.len() <= 2, "{terms:?}");
        field.settled_on(&ALL);
    }
}

#[test]
fn a_nominee_whose_disk_hangs_leaves_the_floor_to_another_and_says_why() {
    for takeover in [Takeover::Never, Takeover::ByTheBetter] {
        let mut field = Field::empty();
        for merit in [9, 0, 0] {
            field.admit_fenced(takeover, merit, FOUNDING);
        }
        // It takes what it is given, and never says that it has.
        let hangs = field.disks[0].take();
        field.run(Duration::from_secs(3));
        let (leader, _) = field.settled_on(&ALL[1..3]);
        assert_ne!(leader, 0);
        let whys = field.whys(0);
        assert!(
            whys.iter().any(|it| it.contains("its own disk")),
            "{whys:?}"
        );
        assert!(
            whys.iter().all(|it| !it.contains("do not answer")),
            "{whys:?}"
        );
        // It does not come back for as long as that lasts,
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
fn a_voter_whose_disk_hangs_says_so_though_it_is_not_named() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    assert_eq!(field.settled_on(&ALL).0, 0);
    field.disks[2] = None;
    field.step_down(0);
    field.run(Duration::from_secs(2));
    let whys = field.whys(2);
    assert!(
        whys.iter().any(|it| it.contains("its own disk")),
        "{whys:?}"
    );
    assert_eq!(field.leaders(), [1]);
}

#[test]
fn who_cannot_work_is_succeeded_and_comes_back_when_it_can() {
    for takeover in [Takeover::Never, Takeover::ByTheBetter] {
        let mut field = Field::fenced(takeover);
        let (former, fence) = field.settled_on(&ALL);
        field.set_healthy(former, false);
        field.run(TTL * 2 + LISTEN);
        let (next, higher) = field.settled_on(&ALL);
        assert!(next != former && higher > fence);
        // It is not named again, not for a moment.
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
fn who_could_never_work_is_not_named_for_long() {
    let mut field = Field::empty();
    for merit in [9, 0, 0] {
        field.admit_fenced(Takeover::ByTheBetter, merit, FOUNDING);
        field.set_healthy(0, false);
    }
    field.run(Duration::from_secs(2));
    assert_ne!(field.settled_on(&ALL[..3]).0, 0);
    let whys = field.whys(0);
    assert!(whys.iter().any(|it| it.contains("cannot work")), "{whys:?}");
}

/// Alone as it is, nobody else could lead.
#[test]
fn who_stands_alone_leads_again_when_it_can_work() {
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
fn a_nominee_whose_ttl_is_too_long_for_the_voters_leaves_the_floor_to_another() {
    const STEP: Duration = Duration::from_millis(10);
    for ttl in [TTL * 2, Duration::from_secs(3600)] {
        let mut field = Field::empty();
        for _ in 0..3 {
            field.admit_fenced(Takeover::ByTheBetter, 0, FOUNDING);
        }
        field.run(Duration::from_secs(1));
        let quorum = QuorumConfig {
            voters: (0..3).map(name).collect(),
            ttl,
            state: None,
        };
        let (member, given) = field.member_by(3, quorum, Takeover::ByTheBetter, 9, FOUNDING);
        field.admit_member(member, Some(given), &[], 0);
        // It is better than the one that leads, which makes room for it.
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
        assert!(
            whys.iter().any(|it| it.contains("the same ttl")),
            "{whys:?}"
        );
    }
}

/// The voters are gone for minutes. Whoever is left takes turns, says why now and then, and one leads soon after they
/// are back.
#[test]
fn those_who_are_left_without_voters_lead_soon_after_they_are_back() {
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

/// Somebody works, and the election names another: that one waits, and stays.
#[test]
fn who_waits_for_a_holder_goes_on_to_wait() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    let (former, _) = field.settled_on(&ALL);
    let work = field.members[former].occupancy().begin();
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

/// A store that answers everything alike.
struct Mute(Denied);

impl Store for Mute {
    async fn acquire(&mut self) -> Result<Grant, Denied> {
        Err(self.0.clone())
    }
    async fn renew(&mut self) -> Result<StdDuration, Denied> {
        Err(self.0.clone())
    }
    async fn release(&mut self) -> Result<(), Denied> {
        Err(self.0.clone())
    }
    async fn freed(&mut self) -> Result<(), Denied> {
        std::future::pending().await
    }
    fn told(&self) -> Option<u64> {
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
async fn a_nominee_whose_store_is_silent_or_refuses_it_leaves_the_floor_to_another() {
    let held = Denied::Held {
        holder: "x".to_owned(),
        lasts: None,
    };
    let silent = Denied::Unavailable("no route".to_owned());
    let refused = Denied::Refused("raise `era`".to_owned());
    for (denied, stands_aside, answered) in [
        (silent, true, false),
        (held, false, true),
        (refused, true, true),
    ] {
        let mut field = Field::empty();
        let (words, mut told) = mpsc::unbounded_channel();
        for merit in [9, 0] {
            field.admit_by_store(merit, Mute(denied.clone()), words.clone());
        }
        field.run(Duration::from_secs(1));
        assert!(field.names(0, 1));
        // The clerk has asked, and was told.
        told.recv().await.expect("a refusal");
        let mut names_another = false;
        for _ in 0..80 {
            field.run(Duration::from_millis(100));
            names_another |= !field.names(0, 1);
        }
        assert_eq!(names_another, stands_aside, "{denied:?}");
        let is_reachable = field.members[0].tenancy.authority.is_reachable();
        assert_eq!(is_reachable, Some(answered), "{denied:?}");
    }
}

impl Field {
    /// A member comes up that asks `store` for tenure.
    pub(super) fn admit_by_store(&mut self, merit: u64, store: impl Store, words: Words) {
        // On this host's clock: none is renewed meanwhile.
        self.admit_by_store_for(Duration::from_secs(3600), merit, store, words);
    }

    /// The same, with this ttl.
    pub(super) fn admit_by_store_for(
        &mut self,
        ttl: Duration,
        merit: u64,
        store: impl Store,
        words: Words,
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
        let clerk = Clerk::hire(store, terms, Memory::fleeting(), index, words);
        let (fenced, _) = self.fenced_member(index, &[9], Takeover::Never, merit, Saved::Missing);
        let config = GroupConfig {
            merit: Merit(merit),
            protocol: announcing(Takeover::Never),
            ..fenced.config
        };
        let name = name(index);
        let store = Authority::Store {
            name: "store",
            clerk,
        };
        let granted = (store, Occupancy::default());
        let port = address(index).port();
        let member = Group::new(
            config,
            &name,
            port,
            self.now,
            None,
            granted,
            entropy(self.now, port),
        );
        self.admit_member(member, None, &[], 0);
    }
}
