//! Tests of a lease client with a store that answers late, twice, or with an old value.

mod fence_log;
mod set_back;

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration as StdDuration;

use hustings_protocol::{Duration, Instant, MemberId};
use tokio::sync::mpsc;

use super::fake::{Shop, clock, sleep_machine};
use super::{Heard, LeaseClient};
use crate::{
    Fence, FenceLog, Held, LeaseEvent, LeaseWatch, Request, Seen, StoreTag, StoreTerms, era,
};

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
struct LeaseMachine {
    lease_client: LeaseClient,
    words: mpsc::UnboundedReceiver<(usize, LeaseEvent)>,
    kept: Arc<Mutex<Vec<Seen>>>,
}

impl LeaseMachine {
    fn new(shop: &Shop, member: u64) -> Self {
        Self::with(shop, member, 0, None, |_| Ok(()))
    }

    fn with(
        shop: &Shop,
        member: u64,
        era: u16,
        highest: Option<Fence>,
        keep: impl FnMut(&Seen) -> io::Result<()> + Send + 'static,
    ) -> Self {
        let high_water = Seen { highest, ..Seen::default() };
        Self::who_saw(high_water, shop, member, era, keep)
    }

    fn who_saw(
        high_water: Seen,
        shop: &Shop,
        member: u64,
        era: u16,
        mut keep: impl FnMut(&Seen) -> io::Result<()> + Send + 'static,
    ) -> Self {
        let (sender, words) = mpsc::unbounded_channel();
        let kept = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&kept);
        let remember = Box::new(move |high_water: &Seen| {
            keep(high_water)?;
            list.lock().unwrap().push(high_water.clone());
            Ok(())
        });
        let fence_log = FenceLog { high_water, remember };
        let (store, words_to) = (shop.member(member), (7, sender));
        let lease_client =
            LeaseClient::spawn_with_clock(clock, store, terms(era), fence_log, words_to);
        Self { lease_client, words, kept }
    }

    /// Reports that another member holds `fence`, without naming its store.
    fn hear(&self, fence: Fence) {
        self.hear_of(None, fence);
    }

    fn hear_of(&self, store: Option<StoreTag>, fence: Fence) {
        self.lease_client.hear(Heard { by: OTHER, store, fence, holds: true });
    }

    /// The highest fences that were persisted, in order.
    fn remembered(&self) -> Vec<Fence> {
        let kept = self.kept.lock().unwrap();
        kept.iter().filter_map(|it| it.highest).collect()
    }

    async fn word(&mut self) -> LeaseEvent {
        let word = tokio::time::timeout(A_WHILE, self.words.recv()).await;
        let (group, word) = word.expect("a word in time").expect("it is at work");
        assert_eq!(group, 7);
        word
    }

    /// The next event that is not a refusal.
    async fn news(&mut self) -> LeaseEvent {
        loop {
            match self.word().await {
                LeaseEvent::Refused(_) | LeaseEvent::ShutOut(_) => {}
                word => return word,
            }
        }
    }

    async fn refusal(&mut self) -> String {
        match self.word().await {
            LeaseEvent::Refused(why) => why,
            word => panic!("{word:?} is no refusal"),
        }
    }

    /// The reason for which the client takes no tenure from its store.
    async fn shut_out(&mut self) -> String {
        loop {
            match self.word().await {
                LeaseEvent::Refused(_) => {}
                LeaseEvent::ShutOut(Some(why)) => return why,
                word => panic!("{word:?}, and it is not shut out"),
            }
        }
    }

    async fn fault(&mut self) -> String {
        match self.news().await {
            LeaseEvent::Failed(why) => why,
            word => panic!("{word:?} is no fault"),
        }
    }

    async fn acquire(&mut self) -> Fence {
        self.lease_client.request(Request::Acquire);
        match self.news().await {
            LeaseEvent::Gained(fence) => fence,
            word => panic!("{word:?}, not gained"),
        }
    }

    fn held(&self) -> Option<Held> {
        held(&self.lease_client.lease_watch())
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
    let shop = Shop::open(TTL);
    shop.books().delays = (millis(500), millis(700));
    let mut lease_machine = LeaseMachine::new(&shop, 1);
    let asked_at = clock();
    assert_eq!(lease_machine.acquire().await, Fence(1));
    let until = lease_machine.held().unwrap().until;
    // 10 s times 0.9998/1.0002.
    assert_eq!(until - asked_at, Duration(9_996_000_799));
    pass(TTL * 5).await;
    assert_eq!(lease_machine.held().map(|held| held.fence), Some(Fence(1)));
    assert!(shop.books().asked.iter().filter(|it| **it == "renew").count() >= 12);
    assert!(lease_machine.lease_client.reachable());
}

#[tokio::test(start_paused = true)]
async fn grant_beyond_the_requested_ttl_is_not_used() {
    let shop = Shop::open(TTL * 3);
    let mut lease_machine = LeaseMachine::new(&shop, 1);
    let asked_at = clock();
    lease_machine.acquire().await;
    assert!(lease_machine.held().unwrap().until - asked_at < Duration::from(TTL));
}

#[tokio::test(start_paused = true)]
async fn silent_store_ends_tenure_in_time_and_its_late_answer_has_no_effect() {
    let shop = Shop::open(TTL);
    let mut lease_machine = LeaseMachine::new(&shop, 1);
    let first = lease_machine.acquire().await;
    shop.books().delays = (millis(0), A_WHILE);
    let why = lease_machine.refusal().await;
    assert!(why.contains("the shop did not answer in time"), "{why}");
    assert!(!lease_machine.lease_client.reachable());
    let until = lease_machine.held().unwrap().until;
    assert_eq!(lease_machine.news().await, LeaseEvent::Lost(first));
    assert!(clock() >= until && clock() - until < Duration::from_millis(300));
    assert_eq!(*lease_machine.lease_client.lease_watch().borrow(), None);

    shop.books().delays = (millis(0), millis(0));
    let LeaseEvent::Gained(second) = lease_machine.news().await else {
        panic!("the first word after that is of the next tenure")
    };
    assert!(second > first);
}

#[tokio::test(start_paused = true)]
async fn time_asleep_counts_towards_the_ttl() {
    let shop = Shop::open(TTL);
    let mut lease_machine = LeaseMachine::new(&shop, 1);
    let fence = lease_machine.acquire().await;
    let woken = tokio::time::Instant::now();
    sleep_machine(TTL);
    assert_eq!(lease_machine.held(), None, "whoever asks is told at once");
    assert_eq!(lease_machine.news().await, LeaseEvent::Lost(fence));
    assert!(woken.elapsed() <= super::NAP, "{:?}", woken.elapsed());
}

#[tokio::test(start_paused = true)]
async fn renewal_answered_after_a_suspend_is_too_late() {
    let shop = Shop::open(TTL);
    let mut lease_machine = LeaseMachine::new(&shop, 1);
    let fence = lease_machine.acquire().await;
    shop.books().delays = (millis(0), millis(100));
    while shop.books().asked.last() != Some(&"renew") {
        pass(millis(10)).await;
    }
    // The store has renewed it, and the machine is suspended before the answer arrives.
    let left = lease_machine.held().unwrap().until - clock();
    sleep_machine(StdDuration::from_nanos(left.0));
    assert_eq!(lease_machine.news().await, LeaseEvent::Lost(fence));
}

#[tokio::test(start_paused = true)]
async fn abandoned_request_is_released_before_the_next_one() {
    let shop = Shop::open(TTL);
    shop.books().delays = (millis(0), ANSWER_WITHIN * 2);
    let mut lease_machine = LeaseMachine::new(&shop, 1);
    lease_machine.lease_client.request(Request::Acquire);
    lease_machine.refusal().await;
    shop.books().delays = (millis(0), millis(0));
    assert_eq!(lease_machine.news().await, LeaseEvent::Gained(Fence(2)));
    assert_eq!(shop.books().asked[..3], ["acquire", "release", "acquire"]);
}

#[tokio::test(start_paused = true)]
async fn withdrawn_attempt_is_released() {
    let shop = Shop::open(TTL);
    shop.books().delays = (millis(100), millis(1_000));
    let mut lease_machine = LeaseMachine::new(&shop, 1);
    lease_machine.lease_client.request(Request::Acquire);
    pass(millis(500)).await;
    lease_machine.lease_client.request(Request::Withdraw);
    pass(TTL).await;
    assert!(shop.books().holder.is_none());
    assert_eq!(shop.books().asked, ["acquire", "release"]);
    assert!(lease_machine.words.try_recv().is_err(), "it was never gained");
}

#[tokio::test(start_paused = true)]
async fn request_that_arrives_twice_is_granted_once() {
    let shop = Shop::open(TTL);
    shop.books().twice = true;
    let mut lease_machine = LeaseMachine::new(&shop, 1);
    let first = lease_machine.acquire().await;
    assert_eq!((first, shop.books().count), (Fence(1), 2));
    // The store records the second grant, so the first cannot be renewed.
    assert_eq!(lease_machine.news().await, LeaseEvent::Lost(first));
    shop.books().twice = false;
    assert_eq!(lease_machine.news().await, LeaseEvent::Gained(Fence(3)));
}

#[tokio::test(start_paused = true)]
async fn store_that_counts_beyond_an_era_is_not_asked_again() {
    let shop = Shop::open(TTL);
    shop.books().count = era::begin(1) - 1;
    let mut lease_machine = LeaseMachine::new(&shop, 1);
    lease_machine.lease_client.request(Request::Acquire);
    let why = lease_machine.shut_out().await;
    assert!(why.contains("more than an era has: raise `era`"), "{why}");
    pass(A_WHILE).await;
    assert_eq!(shop.books().asked, ["acquire", "release"]);
    assert_eq!(lease_machine.remembered(), [era::last(0)]);
    lease_machine.words.try_recv().expect_err("all was said");
}

#[tokio::test(start_paused = true)]
async fn fences_claimed_by_other_members_count() {
    let shop = Shop::open(TTL);
    shop.books().count = 9;
    let mut other = LeaseMachine::new(&shop, 1);
    assert_eq!(other.acquire().await, Fence(10));
    let mut lease_machine = LeaseMachine::new(&shop, 2);
    lease_machine.lease_client.request(Request::Acquire);
    assert_eq!(lease_machine.refusal().await, "`1` holds tenure");
    pass(millis(100)).await;
    assert_eq!(lease_machine.remembered(), [Fence(10)]);
    drop(other);
    {
        let mut books = shop.books();
        (books.count, books.holder) = (4, None);
    }
    let why = lease_machine.shut_out().await;
    assert!(why.contains("fence 5, but 10 was seen before"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn fence_is_persisted_before_it_is_published() {
    let shop = Shop::open(TTL);
    let mut lease_machine =
        LeaseMachine::with(&shop, 1, 0, None, |_| Err(io::Error::other("disk full")));
    lease_machine.lease_client.request(Request::Acquire);
    let why = lease_machine.fault().await;
    assert!(why.contains("could not be remembered"), "{why}");
    assert!(why.contains("disk full"), "{why}");
    assert!(lease_machine.lease_client.is_stuck());
    assert_eq!(*lease_machine.lease_client.lease_watch().borrow(), None);
    lease_machine.lease_client.request(Request::Withdraw);
    lease_machine.lease_client.finish().await;
    assert!(shop.books().holder.is_none(), "it was given back");

    let mut good = LeaseMachine::new(&shop, 2);
    let fence = good.acquire().await;
    assert_eq!(good.remembered(), [fence]);
    assert!(!good.lease_client.is_stuck());
}

#[tokio::test(start_paused = true)]
async fn withdrawn_tenure_continues_and_released_tenure_ends() {
    let shop = Shop::open(TTL);
    let mut lease_machine = LeaseMachine::new(&shop, 1);
    let fence = lease_machine.acquire().await;
    lease_machine.lease_client.request(Request::Withdraw);
    pass(TTL * 3).await;
    assert_eq!(lease_machine.held().map(|held| held.fence), Some(fence));
    lease_machine.lease_client.request(Request::Release);
    assert_eq!(lease_machine.news().await, LeaseEvent::Lost(fence));
    assert_eq!(*lease_machine.lease_client.lease_watch().borrow(), None, "shown before it is told");
    lease_machine.lease_client.finish().await;
    assert!(shop.books().holder.is_none());
    assert_eq!(shop.books().asked.last(), Some(&"release"));
}

#[tokio::test(start_paused = true)]
async fn transfer_without_tenure_keeps_candidacy_and_with_tenure_ends_it() {
    let shop = Shop::open(TTL);
    let transfer = Request::Transfer { to: MemberId(2) };
    let mut first = LeaseMachine::new(&shop, 1);
    let fence = first.acquire().await;
    let mut second = LeaseMachine::new(&shop, 2);
    second.lease_client.request(Request::Acquire);
    second.lease_client.request(transfer);
    first.lease_client.request(transfer);
    assert_eq!(first.news().await, LeaseEvent::Lost(fence));
    assert_eq!(second.news().await, LeaseEvent::Gained(Fence(2)));
    pass(TTL * 2).await;
    assert_eq!(first.held(), None);
}

#[tokio::test(start_paused = true)]
async fn unhealthy_member_neither_acquires_nor_renews() {
    let shop = Shop::open(TTL);
    let mut lease_machine = LeaseMachine::new(&shop, 1);
    lease_machine.lease_client.request(Request::Healthy(false));
    lease_machine.lease_client.request(Request::Acquire);
    pass(A_WHILE).await;
    assert!(shop.books().asked.is_empty());
    lease_machine.lease_client.request(Request::Healthy(true));
    let fence = lease_machine.acquire().await;
    lease_machine.lease_client.request(Request::Healthy(false));
    assert_eq!(lease_machine.news().await, LeaseEvent::Lost(fence));
    assert!(!shop.books().asked.contains(&"renew"));
}

#[tokio::test(start_paused = true)]
async fn revoked_tenure_is_lost_at_the_next_renewal() {
    let shop = Shop::open(TTL);
    let mut lease_machine = LeaseMachine::new(&shop, 1);
    let fence = lease_machine.acquire().await;
    let until = lease_machine.held().unwrap().until;
    shop.books().holder = None;
    let why = lease_machine.refusal().await;
    assert!(why.contains("no longer knows"), "{why}");
    assert_eq!(lease_machine.news().await, LeaseEvent::Lost(fence));
    assert!(clock() < until);
    assert_eq!(lease_machine.news().await, LeaseEvent::Gained(Fence(2)));
}

#[tokio::test(start_paused = true)]
async fn unreleased_tenure_expires_when_its_member_leaves() {
    let shop = Shop::open(TTL);
    let mut lease_machine = LeaseMachine::new(&shop, 1);
    lease_machine.acquire().await;
    let lease_watch = lease_machine.lease_client.lease_watch();
    let until: Instant = held(&lease_watch).unwrap().until;
    lease_machine.lease_client.finish().await;
    assert_eq!(shop.books().asked, ["acquire"]);
    assert_eq!(held(&lease_watch).unwrap().until, until);
    pass(TTL).await;
    assert_eq!(held(&lease_watch), None);
}

/// The client may ask any number of times: nothing was granted that needs a release.
#[tokio::test(start_paused = true)]
async fn refusal_is_reported_once_and_counts_as_an_answer() {
    let shop = Shop::open(TTL);
    let why = "the shop refuses: no rights: get some";
    shop.books().refusal = Some(why.to_owned());
    let mut lease_machine = LeaseMachine::new(&shop, 1);
    lease_machine.lease_client.request(Request::Acquire);
    assert_eq!(lease_machine.refusal().await, why);
    pass(A_WHILE).await;
    assert!(shop.books().asked.contains(&"release"));
    assert!(lease_machine.words.try_recv().is_err(), "it says something else");
    assert!(lease_machine.lease_client.reachable());
    shop.books().refusal = None;
    assert_eq!(lease_machine.acquire().await, Fence(1));
}
