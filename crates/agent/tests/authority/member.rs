//! A member of a group: its lease client, its connection to the store, and the events of the
//! client.

use std::sync::{Arc, Mutex};
use std::time::Duration as StdDuration;

use hustings_agent::authority::store::Store;
use hustings_agent::authority::{
    Fence, Held, LeaseClient, LeaseEvent, Request, Seen, SeenFences, StoreTerms, holds,
};
use hustings_agent::clock;
use hustings_protocol::{Duration, Instant};
use tokio::sync::mpsc;

use crate::house::House;
use crate::proxy::Proxy;
use crate::watcher::Watcher;

/// etcd grants no less than two seconds.
pub(crate) const TTL: Duration = Duration::from_secs(3);
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_millis(900);

/// Far longer than anything here takes. A test that takes longer has failed.
pub(crate) const PATIENCE: StdDuration = StdDuration::from_secs(30);

/// A group at a store, and its watcher.
pub(crate) struct Group<'a, H> {
    house: &'a H,
    name: &'a str,
    pub(crate) watcher: Watcher,
}

pub(crate) struct Member {
    name: String,
    pub(crate) lease_client: LeaseClient,
    pub(crate) proxy: Proxy,
    last_will: mpsc::UnboundedReceiver<(usize, LeaseEvent)>,
    /// The high-water mark that the lease client stored.
    pub(crate) remembered: Arc<Mutex<Seen>>,
}

impl<'a, H: House> Group<'a, H> {
    pub(crate) fn new(house: &'a H, name: &'a str) -> Self {
        Self { house, name, watcher: Watcher::new() }
    }

    pub(crate) async fn member(&self, name: &str) -> Member {
        self.member_of_era(name, 0, Seen::default()).await
    }

    pub(crate) async fn member_of_era(&self, name: &str, era: u16, high_water: Seen) -> Member {
        let terms = terms(self.name, name, era);
        terms.check().unwrap();
        let proxy = Proxy::before(self.house.port()).await;
        let store = self.house.store(&terms, proxy.port());
        let member = Member::spawn(store, terms, proxy, high_water);
        self.watcher.add(member.lease_client.lease_watch());
        member
    }
}

pub(crate) fn terms(group: &str, member: &str, era: u16) -> StoreTerms {
    StoreTerms {
        member: member.to_owned(),
        group: group.to_owned(),
        ttl: TTL,
        answer_within: ANSWER_WITHIN,
        drift_ppm: 200,
        era,
    }
}

impl Member {
    fn spawn(store: impl Store, terms: StoreTerms, proxy: Proxy, high_water: Seen) -> Self {
        let (sender, last_will) = mpsc::unbounded_channel();
        let remembered = Arc::new(Mutex::new(high_water.clone()));
        let seen_fences = Arc::clone(&remembered);
        let remember = Box::new(move |high_water: &Seen| {
            *seen_fences.lock().unwrap() = high_water.clone();
            Ok(())
        });
        let seen_fences = SeenFences { high_water, remember };
        Self {
            name: terms.member.clone(),
            lease_client: LeaseClient::spawn(store, terms, seen_fences, 0, sender),
            proxy,
            last_will,
            remembered,
        }
    }

    pub(crate) fn ask(&self, request: Request) {
        self.lease_client.request(request);
    }

    pub(crate) fn held(&self) -> Option<Held> {
        holds(&self.lease_client.lease_watch())
    }

    /// Discards the events up to now.
    pub(crate) fn forget_words(&mut self) {
        while self.last_will.try_recv().is_ok() {}
    }

    async fn word(&mut self, wanted: &str) -> LeaseEvent {
        let word = tokio::time::timeout(PATIENCE, self.last_will.recv()).await;
        let name = &self.name;
        let (_, word) = word
            .unwrap_or_else(|_| panic!("{name} waits for {wanted} in vain"))
            .expect("its clerk is at work");
        word
    }

    pub(crate) async fn gained(&mut self) -> Fence {
        loop {
            match self.word("tenure").await {
                LeaseEvent::Gained(fence) => return fence,
                LeaseEvent::Refused(_)
                | LeaseEvent::ShutOut(_)
                | LeaseEvent::TakesNothingUntil(_) => {}
                word => panic!("{}: {word:?}, though it had not gained", self.name),
            }
        }
    }

    pub(crate) async fn acquire(&mut self) -> Fence {
        self.ask(Request::Acquire);
        self.gained().await
    }

    pub(crate) async fn lost(&mut self, fence: Fence) {
        loop {
            match self.word("the end of its tenure").await {
                LeaseEvent::Lost(lost) => return assert_eq!(lost, fence, "{}", self.name),
                LeaseEvent::Refused(_) => {}
                word => panic!("{}: {word:?}, but it holds already", self.name),
            }
        }
    }

    /// Waits for a refusal whose text contains `what`.
    pub(crate) async fn refused(&mut self, what: &str) -> String {
        loop {
            match self.word(what).await {
                LeaseEvent::Refused(why) | LeaseEvent::ShutOut(Some(why)) if why.contains(what) => {
                    return why;
                }
                LeaseEvent::Refused(_)
                | LeaseEvent::ShutOut(_)
                | LeaseEvent::TakesNothingUntil(_) => {}
                word => {
                    panic!("{}: {word:?}, and no refusal that says {what}", self.name)
                }
            }
        }
    }

    pub(crate) async fn release(&mut self) {
        let fence = self.held().expect("it holds").fence;
        self.ask(Request::Release);
        self.lost(fence).await;
    }
}

/// Waits for a time by the clock that members use.
pub(crate) async fn pass(time: Duration) {
    until(clock::now() + time).await;
}

pub(crate) async fn until(moment: Instant) {
    while clock::now() < moment {
        let left = moment - clock::now();
        tokio::time::sleep(left.into()).await;
    }
}

/// Returns the first of several members to gain tenure, and its fence.
pub(crate) async fn first_to_gain(members: &mut [Member]) -> (usize, Fence) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        for (index, member) in members.iter_mut().enumerate() {
            while let Ok((_, word)) = member.last_will.try_recv() {
                if let LeaseEvent::Gained(fence) = word {
                    return (index, fence);
                }
            }
        }
        assert!(tokio::time::Instant::now() < deadline, "nobody gains");
        tokio::time::sleep(StdDuration::from_millis(2)).await;
    }
}
