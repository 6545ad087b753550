//! Tests of a lease client with a store that answers late, twice, or with an old value.

mod fake;
mod seen_fences;
mod set_back;

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration as StdDuration;

use hustings_protocol::{Duration, Instant, MemberId};
use tokio::sync::mpsc;

use super::{Heard, LeaseClient};
use crate::{
    Fence, Held, LeaseEvent, LeaseWatch, Request, Seen, SeenFences, StoreTag, StoreTerms, era,
};
use fake::{FakeStore, clock, sleep_machine};

const TTL: StdDuration = StdDuration::from_secs(10);
const ANSWER_WITHIN: StdDuration = StdDuration::from_secs(2);
const A_WHILE: StdDuration = StdDuration::from_secs(60);
/// Another member.
const OTHER: MemberId = MemberId(9);

fn terms(era: u16) -> StoreTerms {
    StoreTerms {
        member: "m".to_owned(),
        group: "g".to_owned(),
        ttl: TTL.into(),
        answer_within: ANSWER_WITHIN.into(),
        drift_ppm: 200,
        era,
    }
}

/// A client and its events.
struct Client {
    handle: LeaseClient,
    events: mpsc::UnboundedReceiver<(usize, LeaseEvent)>,
    kept: Arc<Mutex<Vec<Seen>>>,
}

impl Client {
    fn new(store: &FakeStore, member: u64) -> Self {
        Self::with(store, member, 0, None, |_| Ok(()))
    }

    fn with(
        store: &FakeStore,
        member: u64,
        era: u16,
        highest: Option<Fence>,
        keep: impl FnMut(&Seen) -> io::Result<()> + Send + 'static,
    ) -> Self {
        let high_water = Seen { highest, ..Seen::default() };
        Self::with_marks(high_water, store, member, era, keep)
    }

    fn with_marks(
        high_water: Seen,
        store: &FakeStore,
        member: u64,
        era: u16,
        mut keep: impl FnMut(&Seen) -> io::Result<()> + Send + 'static,
    ) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let kept = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&kept);
        let remember = Box::new(move |high_water: &Seen| {
            keep(high_water)?;
            list.lock().unwrap().push(high_water.clone());
            Ok(())
        });
        let seen_fences = SeenFences { high_water, remember };
        let (access, events_to) = (store.member(member), (7, sender));
        let handle =
            LeaseClient::spawn_with_clock(clock, access, terms(era), seen_fences, events_to);
        Self { handle, events, kept }
    }

    /// Reports that another member holds `fence`, without naming its store.
    fn hear(&self, fence: Fence) {
        self.hear_of(None, fence);
    }

    fn hear_of(&self, store: Option<StoreTag>, fence: Fence) {
        self.handle.hear(Heard { by: OTHER, store, fence, holds: true });
    }

    /// The highest fences that were persisted, in order.
    fn remembered(&self) -> Vec<Fence> {
        let kept = self.kept.lock().unwrap();
        kept.iter().filter_map(|it| it.highest).collect()
    }

    async fn event(&mut self) -> LeaseEvent {
        let event = tokio::time::timeout(A_WHILE, self.events.recv()).await;
        let (group, event) = event.expect("an event in time").expect("the client runs");
        assert_eq!(group, 7);
        event
    }

    /// The next event that is not a refusal.
    async fn news(&mut self) -> LeaseEvent {
        loop {
            match self.event().await {
                LeaseEvent::Refused(_)
                | LeaseEvent::ShutOut(_)
                | LeaseEvent::TakesNothingUntil(_) => {}
                event => return event,
            }
        }
    }

    async fn refusal(&mut self) -> String {
        match self.event().await {
            LeaseEvent::Refused(why) => why,
            event => panic!("{event:?} is no refusal"),
        }
    }

    /// The reason for which the client takes no tenure from its store.
    async fn shut_out(&mut self) -> String {
        loop {
            match self.event().await {
                LeaseEvent::Refused(_) => {}
                LeaseEvent::ShutOut(Some(why)) => return why,
                event => panic!("{event:?}, and it is not shut out"),
            }
        }
    }

    async fn fault(&mut self) -> String {
        match self.news().await {
            LeaseEvent::Failed(why) => why,
            event => panic!("{event:?} is no fault"),
        }
    }

    async fn acquire(&mut self) -> Fence {
        self.handle.request(Request::Acquire);
        match self.news().await {
            LeaseEvent::Gained(fence) => fence,
            event => panic!("{event:?}, not gained"),
        }
    }

    fn held(&self) -> Option<Held> {
        held(&self.handle.lease_watch())
    }
}

fn held(lease_watch: &LeaseWatch) -> Option<Held> {
    lease_watch.borrow().filter(|held| clock() < held.until)
}

async fn pass(time: StdDuration) {
    tokio::time::sleep(time).await;
}

fn millis(millis: u64) -> StdDuration {
    StdDuration::from_millis(millis)
}

#[tokio::test(start_paused = true)]
async fn tenure_counts_from_before_the_request_and_is_renewed() {
    let store = FakeStore::open(TTL);
    store.state().delays = (millis(500), millis(700));
    let mut client = Client::new(&store, 1);
    let asked_at = clock();
    assert_eq!(client.acquire().await, Fence(1));
    let until = client.held().unwrap().until;
    // 10 s times 0.9998/1.0002.
    assert_eq!(until - asked_at, Duration(9_996_000_799));
    pass(TTL * 5).await;
    assert_eq!(client.held().map(|held| held.fence), Some(Fence(1)));
    assert!(store.state().asked.iter().filter(|it| **it == "renew").count() >= 12);
    assert!(client.handle.reachable());
}

#[tokio::test(start_paused = true)]
async fn grant_beyond_the_requested_ttl_is_not_used() {
    let store = FakeStore::open(TTL * 3);
    let mut client = Client::new(&store, 1);
    let asked_at = clock();
    client.acquire().await;
    assert!(client.held().unwrap().until - asked_at < Duration::from(TTL));
}

#[tokio::test(start_paused = true)]
async fn silent_store_ends_tenure_in_time_and_its_late_answer_has_no_effect() {
    let store = FakeStore::open(TTL);
    let mut client = Client::new(&store, 1);
    let first = client.acquire().await;
    store.state().delays = (millis(0), A_WHILE);
    let why = client.refusal().await;
    assert!(why.contains("the store did not answer in time"), "{why}");
    assert!(!client.handle.reachable());
    let until = client.held().unwrap().until;
    assert_eq!(client.news().await, LeaseEvent::Lost(first));
    assert!(clock() >= until && clock() - until < Duration::from_millis(300));
    assert_eq!(*client.handle.lease_watch().borrow(), None);

    store.state().delays = (millis(0), millis(0));
    let LeaseEvent::Gained(second) = client.news().await else {
        panic!("the next event is the next tenure")
    };
    assert!(second > first);
}

#[tokio::test(start_paused = true)]
async fn time_asleep_counts_towards_the_ttl() {
    let store = FakeStore::open(TTL);
    let mut client = Client::new(&store, 1);
    let fence = client.acquire().await;
    let woken = tokio::time::Instant::now();
    sleep_machine(TTL);
    assert_eq!(client.held(), None, "each reader sees it at once");
    assert_eq!(client.news().await, LeaseEvent::Lost(fence));
    assert!(woken.elapsed() <= super::NAP, "{:?}", woken.elapsed());
}

#[tokio::test(start_paused = true)]
async fn renewal_answered_after_a_suspend_is_too_late() {
    let store = FakeStore::open(TTL);
    let mut client = Client::new(&store, 1);
    let fence = client.acquire().await;
    store.state().delays = (millis(0), millis(100));
    while store.state().asked.last() != Some(&"renew") {
        pass(millis(10)).await;
    }
    // The store has renewed it, and the machine is suspended before the answer arrives.
    let left = client.held().unwrap().until - clock();
    sleep_machine(StdDuration::from_nanos(left.0));
    assert_eq!(client.news().await, LeaseEvent::Lost(fence));
}

#[tokio::test(start_paused = true)]
async fn abandoned_request_is_released_before_the_next_one() {
    let store = FakeStore::open(TTL);
    store.state().delays = (millis(0), ANSWER_WITHIN * 2);
    let mut client = Client::new(&store, 1);
    client.handle.request(Request::Acquire);
    client.refusal().await;
    store.state().delays = (millis(0), millis(0));
    assert_eq!(client.news().await, LeaseEvent::Gained(Fence(2)));
    assert_eq!(store.state().asked[..3], ["acquire", "release", "acquire"]);
}

#[tokio::test(start_paused = true)]
async fn withdrawn_attempt_is_released() {
    let store = FakeStore::open(TTL);
    store.state().delays = (millis(100), millis(1_000));
    let mut client = Client::new(&store, 1);
    client.handle.request(Request::Acquire);
    pass(millis(500)).await;
    client.handle.request(Request::Withdraw);
    pass(TTL).await;
    assert!(store.state().holder.is_none());
    assert_eq!(store.state().asked, ["acquire", "release"]);
    assert!(client.events.try_recv().is_err(), "it was never gained");
}

#[tokio::test(start_paused = true)]
async fn request_that_arrives_twice_is_granted_once() {
    let store = FakeStore::open(TTL);
    store.state().twice = true;
    let mut client = Client::new(&store, 1);
    let first = client.acquire().await;
    assert_eq!((first, store.state().count), (Fence(1), 2));
    // The store records the second grant, so the first cannot be renewed.
    assert_eq!(client.news().await, LeaseEvent::Lost(first));
    store.state().twice = false;
    assert_eq!(client.news().await, LeaseEvent::Gained(Fence(3)));
}

#[tokio::test(start_paused = true)]
async fn store_that_counts_beyond_an_era_is_not_asked_again() {
    let store = FakeStore::open(TTL);
    store.state().count = era::begin(1) - 1;
    let mut client = Client::new(&store, 1);
    client.handle.request(Request::Acquire);
    let why = client.shut_out().await;
    assert!(why.contains("more than an era has: raise `era`"), "{why}");
    pass(A_WHILE).await;
    assert_eq!(store.state().asked, ["acquire", "release"]);
    assert_eq!(client.remembered(), [era::last(0)]);
    client.events.try_recv().expect_err("all was said");
}

#[tokio::test(start_paused = true)]
async fn fences_claimed_by_other_members_count() {
    let store = FakeStore::open(TTL);
    store.state().count = 9;
    let mut other = Client::new(&store, 1);
    assert_eq!(other.acquire().await, Fence(10));
    let mut client = Client::new(&store, 2);
    client.handle.request(Request::Acquire);
    assert_eq!(client.refusal().await, "`1` holds tenure");
    pass(millis(100)).await;
    assert_eq!(client.remembered(), [Fence(10)]);
    drop(other);
    {
        let mut state = store.state();
        (state.count, state.holder) = (4, None);
    }
    let why = client.shut_out().await;
    assert!(why.contains("fence 5, but 10 was seen before"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn fence_is_persisted_before_it_is_published() {
    let store = FakeStore::open(TTL);
    let mut client = Client::with(&store, 1, 0, None, |_| Err(io::Error::other("disk full")));
    client.handle.request(Request::Acquire);
    let why = client.fault().await;
    assert!(why.contains("could not be stored"), "{why}");
    assert!(why.contains("disk full"), "{why}");
    assert!(client.handle.is_stuck());
    assert_eq!(*client.handle.lease_watch().borrow(), None);
    client.handle.request(Request::Withdraw);
    client.handle.finish().await;
    assert!(store.state().holder.is_none(), "it was given back");

    let mut good = Client::new(&store, 2);
    let fence = good.acquire().await;
    assert_eq!(good.remembered(), [fence]);
    assert!(!good.handle.is_stuck());
}

#[tokio::test(start_paused = true)]
async fn withdrawn_tenure_continues_and_released_tenure_ends() {
    let store = FakeStore::open(TTL);
    let mut client = Client::new(&store, 1);
    let fence = client.acquire().await;
    client.handle.request(Request::Withdraw);
    pass(TTL * 3).await;
    assert_eq!(client.held().map(|held| held.fence), Some(fence));
    client.handle.request(Request::Release);
    assert_eq!(client.news().await, LeaseEvent::Lost(fence));
    assert_eq!(*client.handle.lease_watch().borrow(), None, "published before the event");
    client.handle.finish().await;
    assert!(store.state().holder.is_none());
    assert_eq!(store.state().asked.last(), Some(&"release"));
}

#[tokio::test(start_paused = true)]
async fn transfer_without_tenure_keeps_candidacy_and_with_tenure_ends_it() {
    let store = FakeStore::open(TTL);
    let transfer = Request::Transfer { to: MemberId(2) };
    let mut first = Client::new(&store, 1);
    let fence = first.acquire().await;
    let mut second = Client::new(&store, 2);
    second.handle.request(Request::Acquire);
    second.handle.request(transfer);
    first.handle.request(transfer);
    assert_eq!(first.news().await, LeaseEvent::Lost(fence));
    assert_eq!(second.news().await, LeaseEvent::Gained(Fence(2)));
    pass(TTL * 2).await;
    assert_eq!(first.held(), None);
}

#[tokio::test(start_paused = true)]
async fn unhealthy_member_neither_acquires_nor_renews() {
    let store = FakeStore::open(TTL);
    let mut client = Client::new(&store, 1);
    client.handle.request(Request::Healthy(false));
    client.handle.request(Request::Acquire);
    pass(A_WHILE).await;
    assert!(store.state().asked.is_empty());
    client.handle.request(Request::Healthy(true));
    let fence = client.acquire().await;
    client.handle.request(Request::Healthy(false));
    assert_eq!(client.news().await, LeaseEvent::Lost(fence));
    assert!(!store.state().asked.contains(&"renew"));
}

#[tokio::test(start_paused = true)]
async fn revoked_tenure_is_lost_at_the_next_renewal() {
    let store = FakeStore::open(TTL);
    let mut client = Client::new(&store, 1);
    let fence = client.acquire().await;
    let until = client.held().unwrap().until;
    store.state().holder = None;
    let why = client.refusal().await;
    assert!(why.contains("no longer knows"), "{why}");
    assert_eq!(client.news().await, LeaseEvent::Lost(fence));
    assert!(clock() < until);
    assert_eq!(client.news().await, LeaseEvent::Gained(Fence(2)));
}

#[tokio::test(start_paused = true)]
async fn unreleased_tenure_expires_when_its_member_leaves() {
    let store = FakeStore::open(TTL);
    let mut client = Client::new(&store, 1);
    client.acquire().await;
    let lease_watch = client.handle.lease_watch();
    let until: Instant = held(&lease_watch).unwrap().until;
    client.handle.finish().await;
    assert_eq!(store.state().asked, ["acquire"]);
    assert_eq!(held(&lease_watch).unwrap().until, until);
    pass(TTL).await;
    assert_eq!(held(&lease_watch), None);
}

/// The client may ask any number of times: nothing was granted that needs a release.
#[tokio::test(start_paused = true)]
async fn refusal_is_reported_once_and_counts_as_an_answer() {
    let store = FakeStore::open(TTL);
    let why = "the store refuses: no rights: get some";
    store.state().refusal = Some(why.to_owned());
    let mut client = Client::new(&store, 1);
    client.handle.request(Request::Acquire);
    assert_eq!(client.refusal().await, why);
    pass(A_WHILE).await;
    assert!(store.state().asked.contains(&"release"));
    assert!(client.events.try_recv().is_err(), "it says something else");
    assert!(client.handle.reachable());
    store.state().refusal = None;
    assert_eq!(client.acquire().await, Fence(1));
}
