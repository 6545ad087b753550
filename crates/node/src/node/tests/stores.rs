//! Members that get tenure from a store.

use std::time::Duration as StdDuration;

use hustings_protocol::Duration;
use hustings_protocol::tenure::{Fence, Request};
use tokio::sync::mpsc;
use tracing::Level;

use super::{Field, id};
use crate::authority::store::{Grant, Store, StoreError};
use crate::authority::{Authority, LeaseEvent, store_id};
use crate::node::{Node, Outbox};
use hustings_testkit::logged;

/// Far longer than any step of a test here.
const A_WHILE: StdDuration = StdDuration::from_secs(10);

/// A store that grants every request.
struct Generous {
    count: u64,
    identity: Option<u64>,
    /// True after the first request. Before, the store reports no identity.
    was_asked: bool,
}

impl Generous {
    fn new(count: u64, identity: Option<u64>) -> Self {
        Self { count, identity, was_asked: false }
    }
}

impl Store for Generous {
    async fn acquire(&mut self) -> Result<Grant, StoreError> {
        self.was_asked = true;
        let (count, ttl) = (self.count, StdDuration::from_secs(3600));
        Ok(Grant { count, ttl })
    }
    async fn renew(&mut self) -> Result<StdDuration, StoreError> {
        Err(StoreError::Gone)
    }
    async fn release(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
    async fn wait_released(&mut self) -> Result<(), StoreError> {
        std::future::pending().await
    }
    fn last_count(&self) -> Option<u64> {
        None
    }
    fn identity(&self) -> Option<u64> {
        self.identity.filter(|_| self.was_asked)
    }
    fn place(&self) -> String {
        "a store".to_owned()
    }
}

/// Two members after each got tenure from its own store, with these identities. The second has the
/// higher fence.
async fn granted_by(identities: [Option<u64>; 2]) -> Field {
    granted([1, 2], identities).await
}

/// As [`granted_by`], with these fences.
async fn granted(counts: [u64; 2], identities: [Option<u64>; 2]) -> Field {
    heard_granted(counts, identities).await.0
}

impl Field {
    fn inform(&mut self, index: usize, event: &LeaseEvent) {
        self.act(index, |member, now, out| member.on_lease_event(now, event, out));
    }
}

type Told = mpsc::UnboundedReceiver<(usize, LeaseEvent)>;

/// As [`granted`], with the later events of the lease clients.
async fn heard_granted(counts: [u64; 2], identities: [Option<u64>; 2]) -> (Field, Told) {
    let mut field = Field::empty();
    let (last_will, mut told) = mpsc::unbounded_channel();
    for (count, identity) in counts.into_iter().zip(identities) {
        field.admit_by_store(0, Generous::new(count, identity), last_will.clone());
    }
    field.run(Duration::from_secs(1));
    for member in &mut field.members {
        member.ask_authority(field.now, Request::Acquire, &mut Outbox::new());
    }
    for _ in 0..2 {
        let (index, word) = told.recv().await.expect("the clerks are at work");
        let mut out = Outbox::new();
        field.members[index].on_lease_event(field.now, &word, &mut out);
        field.post(index, out);
    }
    field.run(Duration::from_secs(1));
    (field, told)
}

#[tokio::test]
async fn holder_by_another_store_unseats_no_member_and_is_reported() {
    let field = granted_by([Some(7), Some(8)]).await;
    assert_eq!(field.leaders(), [0, 1]);
    for (it, other) in [(0, "`m1`"), (1, "`m0`")] {
        let whys = field.whys(it);
        let is_told = |why: &String| why.contains(other) && why.contains("another store");
        assert!(whys.iter().any(is_told), "{whys:?}");
    }
    // One store that granted twice has lost its count: the member with the lower fence gives up. A
    // store without an identity is treated in the same way.
    for identities in [[Some(7), Some(7)], [None, Some(7)], [Some(7), None]] {
        let field = granted_by(identities).await;
        assert_eq!(field.leaders(), [1], "{identities:?}");
        assert!(field.whys(0).iter().all(|it| !it.contains("another store")));
    }
}

/// A store that was set back, or a standby that lagged and was promoted beside its primary.
#[tokio::test]
async fn two_holders_of_one_fence_both_give_up_and_name_the_remedy() {
    let (mut field, mut told) = heard_granted([7, 7], [Some(1), Some(1)]).await;
    assert_eq!(field.leaders(), [] as [usize; 0]);
    for (it, other) in [(0, "`m1`"), (1, "`m0`")] {
        let whys = field.whys(it);
        let is_told = |why: &String| {
            why.contains(other) && why.contains("fence 7 as well") && why.contains("raise `era`")
        };
        assert!(whys.iter().any(is_told), "{whys:?}");
    }
    // The lease clients release it and accept no further fence of that era, although the store
    // grants every request.
    field.run(Duration::from_secs(20));
    for member in &mut field.members {
        member.ask_authority(field.now, Request::Acquire, &mut Outbox::new());
    }
    let mut have_said = [false; 2];
    while have_said != [true; 2] {
        let word = tokio::time::timeout(A_WHILE, told.recv()).await;
        match word.expect("both say so").expect("the clerks are at work") {
            (it, LeaseEvent::ShutOut(Some(why))) => {
                have_said[it] |= why.contains("to this member and to another");
            }
            (it, word @ LeaseEvent::Gained(_)) => panic!("{word:?} of {it}"),
            _ => {}
        }
    }
    assert_eq!(field.holders(), [] as [usize; 0]);
    // With two stores each member goes on: the resource has to decide.
    let field = granted([7, 7], [Some(1), Some(2)]).await;
    assert_eq!(field.leaders(), [0, 1]);
}

/// The group heard the fence just before it could see that its lease client had won, so that only
/// the client can notice.
#[tokio::test]
async fn holder_of_a_fence_heard_before_gives_it_up_at_once() {
    for theirs in [Fence(1), Fence(2)] {
        let (mut field, mut told) = heard_granted([1, 9], [Some(1), Some(2)]).await;
        assert_eq!(field.leaders(), [0, 1]);
        let store = store_id("store", Some(1));
        for fence in [Fence(0), theirs] {
            let authority = field.members[0].tenure.authority();
            authority.hear_fence(id(1), store, fence, true);
        }
        let mut is_told = false;
        while !is_told {
            let word = tokio::time::timeout(A_WHILE, told.recv()).await;
            let word = word.expect("it says so").expect("the clerks are at work");
            let (by, fence) = (id(1), theirs);
            is_told = word == (0, LeaseEvent::Contested { by, fence });
            field.members[0].on_lease_event(field.now, &word.1, &mut Outbox::new());
        }
        assert_eq!(field.leaders(), [1], "{theirs}");
        let now = field.now;
        assert_eq!(field.members[0].tenure.authority().holds(now), None);
        let whys = field.whys(0);
        let say = |why: &String| why.contains(&format!("`m1` has fence {theirs}"));
        assert!(whys.iter().any(say), "{whys:?}");
    }
}

/// A failing disk is reported in the same way as a voter's.
#[tokio::test]
async fn lease_clients_warnings_for_the_operator_are_shown() {
    let mut field = granted_by([Some(7), Some(8)]).await;
    let word = LeaseEvent::Failed("disk full".to_owned());
    field.members[0].on_lease_event(field.now, &word, &mut Outbox::new());
    assert!(field.whys(0).contains(&"disk full".to_owned()));
    assert_eq!(field.leaders(), [0, 1], "what is held goes on");
}

/// An operator may not look at the status before the leader fails.
#[tokio::test]
async fn member_shut_out_by_its_store_warns_at_once_until_it_is_over() {
    let mut field = Field::empty();
    let (last_will, _told) = mpsc::unbounded_channel();
    field.admit_by_store(0, Generous::new(1, None), last_will);
    let now = field.now;
    let member = &mut field.members[0];
    let shut_out = |member: &Node| {
        let tenure = member.tenure_status(now).expect("it is fenced");
        let last = tenure.refusals.last().map(|it| it.why.clone());
        (tenure.shut_out, last)
    };
    assert_eq!(shut_out(member), (Some(false), None));
    let mut hear = |word| {
        let lines = logged(|| member.on_lease_event(now, &word, &mut Outbox::new()));
        (lines, shut_out(member))
    };
    let said = |why: &str| Some(why.to_owned());
    let (lines, shown) = hear(LeaseEvent::ShutOut(said("set back to 8")));
    let [(Level::WARN, line)] = &lines[..] else {
        panic!("no warning: {lines:?}");
    };
    assert!(line.ends_with("it cannot succeed a leader that fails: set back to 8"), "{line}");
    assert_eq!(shown, (Some(true), said("set back to 8")));
    let (lines, shown) = hear(LeaseEvent::ShutOut(said("set back to 9")));
    assert!(lines.iter().all(|(level, _)| *level == Level::INFO), "{lines:?}");
    assert_eq!(shown, (Some(true), said("set back to 9")));
    for _ in 0..20 {
        let (_, shown) = hear(LeaseEvent::Refused("`other` holds tenure".to_owned()));
        assert_eq!(shown, (Some(true), said("set back to 9")), "it stays");
    }
    let (_, (is_shut_out, _)) = hear(LeaseEvent::ShutOut(None));
    assert_eq!(is_shut_out, Some(false));
    assert!(field.members[0].emit.counters.tenure_refusals >= 22);
}

/// It is refused a fence a second time, a ttl after the first: another member may ask meanwhile.
#[tokio::test]
async fn nominee_of_a_store_that_stays_set_back_lets_another_ask() {
    let mut field = Field::empty();
    let (last_will, _told) = mpsc::unbounded_channel();
    for priority in [9, 0] {
        field.admit_by_store(priority, Generous::new(1, None), last_will.clone());
    }
    field.run(Duration::from_secs(1));
    let names = |field: &Field| [0, 1].map(|it| field.members[it].context.nominee);
    assert_eq!(names(&field), [Some(id(0)); 2]);
    field.inform(0, &LeaseEvent::ShutOut(Some("set back to 8".to_owned())));
    field.run(Duration::from_millis(500));
    assert_eq!(names(&field), [Some(id(0)); 2], "what was granted before may last");
    field.inform(0, &LeaseEvent::ShutOut(Some("set back to 9".to_owned())));
    let ttl = Duration::from_secs(4);
    let until = field.now + ttl;
    field.inform(0, &LeaseEvent::TakesNothingUntil(until));
    let aside = field.members[0].status(field.now).aside.expect("it stands aside");
    assert_eq!(aside.why.as_deref(), Some("set back to 9"));
    field.run(Duration::from_secs(1));
    assert_eq!(names(&field), [Some(id(1)); 2]);
    // The other one is down: the first is named again before it may ask.
    field.sides[1] = 1;
    field.run(until - field.now);
    assert_eq!(field.members[0].context.nominee, Some(id(0)));
    assert_eq!(field.members[0].status(field.now).aside, None);
    // A follower has nothing to make room for.
    field.sides[1] = 0;
    field.run(Duration::from_secs(1));
    let [nominee, _] = names(&field);
    let follower = usize::from(nominee == Some(id(0)));
    let later = field.now + ttl;
    field.inform(follower, &LeaseEvent::TakesNothingUntil(later));
    assert_eq!(field.members[follower].status(field.now).aside, None);
}

/// The leader never learned of the higher fence, because it was down when that was granted.
#[tokio::test]
async fn leader_below_the_high_water_mark_is_warned_of() {
    let mut field = Field::empty();
    let (last_will, mut told) = mpsc::unbounded_channel();
    for (ttl, count) in [(Duration::from_millis(50), 0), (Duration::from_secs(60), 9)] {
        let store = Generous::new(count, Some(7));
        field.admit_by_store_for(ttl, 0, store, last_will.clone());
    }
    field.run(Duration::from_secs(1));
    let authority = field.members[0].tenure.authority();
    authority.hear_fence(id(5), store_id("store", Some(7)), Fence(10), false);
    field.members[1].ask_authority(field.now, Request::Acquire, &mut Outbox::new());
    let word = told.recv().await.expect("the clerks are at work");
    assert_eq!(word, (1, LeaseEvent::Gained(Fence(9))));
    let mut out = Outbox::new();
    field.members[1].on_lease_event(field.now, &word.1, &mut out);
    field.post(1, out);
    let warned = async {
        loop {
            field.run(Duration::from_secs(1));
            tokio::time::sleep(StdDuration::from_millis(20)).await;
            if let Ok(word) = told.try_recv() {
                return word;
            }
        }
    };
    match tokio::time::timeout(A_WHILE, warned).await {
        Ok((0, LeaseEvent::ShutOut(Some(why)))) => assert!(why.contains("holds fence 9"), "{why}"),
        word => panic!("{word:?}"),
    }
}

/// "No tenure yet" would make an operator look for a leader that is there.
#[tokio::test]
async fn failed_renewal_is_a_warning_while_tenure_lasts() {
    let mut field = granted_by([Some(7), Some(8)]).await;
    let now = field.now;
    let word = LeaseEvent::Refused("tenure was not renewed: no answer".to_owned());
    let lines = logged(|| field.members[0].on_lease_event(now, &word, &mut Outbox::new()));
    let [(Level::WARN, line)] = &lines[..] else {
        panic!("no warning: {lines:?}");
    };
    assert!(line.contains("still holds tenure with fence 1, for "), "{line}");
    assert!(line.ends_with(": tenure was not renewed: no answer"), "{line}");

    let (last_will, _told) = mpsc::unbounded_channel();
    field.admit_by_store(0, Generous::new(1, None), last_will);
    let lines = logged(|| field.members[2].on_lease_event(now, &word, &mut Outbox::new()));
    let [(Level::INFO, line)] = &lines[..] else {
        panic!("{lines:?}");
    };
    assert!(line.contains("no tenure yet: "), "{line}");
}

/// The first member has heard of the holder. The store then loses its count, and the member asks
/// it. The member knows the store's identity once the store answers.
#[tokio::test]
async fn member_accepts_only_fences_above_those_it_heard() {
    for (own, theirs, is_taken) in [
        (6, 1, false),
        (7, 1, false),
        (8, 1, true),
        // The fence was of another store.
        (6, 2, true),
    ] {
        let mut field = Field::empty();
        let (last_will, mut told) = mpsc::unbounded_channel();
        for (priority, count, identity) in [(0, own, 1), (9, 7, theirs)] {
            let store = Generous::new(count, Some(identity));
            field.admit_by_store(priority, store, last_will.clone());
        }
        field.run(Duration::from_secs(1));
        for index in [1, 0] {
            let mut out = Outbox::new();
            field.members[index].ask_authority(field.now, Request::Acquire, &mut out);
            field.post(index, out);
            let (whose, word) = told.recv().await.expect("the clerks are at work");
            assert_eq!(whose, index);
            match (&word, index == 1 || is_taken) {
                (LeaseEvent::Gained(_), true) => {}
                (LeaseEvent::ShutOut(Some(why)), false) => {
                    assert!(why.contains("7 was seen"), "{why}");
                }
                _ => panic!("{own}: {word:?} of {index}"),
            }
            let mut out = Outbox::new();
            field.members[index].on_lease_event(field.now, &word, &mut out);
            field.post(index, out);
            field.run(Duration::from_secs(1));
        }
    }
}

/// The lease client may take its time to inform the store. Work that began meanwhile would go on
/// after another member was granted tenure.
#[tokio::test]
async fn member_does_not_lead_while_its_release_is_under_way() {
    let mut field = granted_by([Some(7), Some(8)]).await;
    field.step_down(0);
    assert_eq!(field.holders(), [0, 1], "the clerk has not been at work yet");
    assert_eq!(field.leaders(), [1]);
    field.run(Duration::from_secs(1));
    assert_eq!(field.leaders(), [1]);
}

#[tokio::test]
async fn authorities_are_distinguished_before_a_store_answers() {
    let field = granted_by([None, Some(7)]).await;
    let [untold, told] = [0, 1].map(|it| field.members[it].tenure.authority());
    let etcd = |identity| store_id("etcd", identity);
    for theirs in [etcd(None), etcd(Some(7)), 0, 12_345] {
        assert!(!untold.is_also(theirs) && !told.is_also(theirs), "{theirs}");
        assert!(!Authority::Nobody.is_also(theirs) || theirs == 0);
    }
    let like = |identity| store_id("store", identity);
    assert!(untold.is_also(like(None)) && untold.is_also(like(Some(8))));
    assert!(told.is_also(like(None)) && !told.is_also(like(Some(8))));
}

#[tokio::test]
async fn invented_fence_is_counted() {
    let (mut field, mut told) = heard_granted([1, 9], [Some(1), Some(2)]).await;
    let far = Fence(1 << 40);
    for expected in 1..=3 {
        let authority = field.members[0].tenure.authority();
        authority.hear_fence(id(1), store_id("store", Some(1)), far, true);
        let word = tokio::time::timeout(A_WHILE, told.recv()).await;
        let (index, word) = word.expect("it says so").expect("the clerks are at work");
        field.members[index].on_lease_event(field.now, &word, &mut Outbox::new());
        let counters = &field.members[0].emit.counters;
        assert_eq!(counters.far_fences, expected, "{word:?}");
    }
    assert_eq!(field.leaders(), [0, 1], "it goes on");
}
