//! Tests of claimed fences: persistence, failing disks, and the identity of the client's own store.

use std::sync::atomic::{AtomicBool, Ordering};

use hustings_protocol::tenure::counter;

use super::*;

/// A client that restarts with the record `high_water`.
fn restarted(store: &FakeStore, high_water: &Seen) -> Client {
    Client::with_marks(high_water.clone(), store, 1, 0, |_| Ok(()))
}

/// The record that the client would find after a restart.
fn on_disk(client: &Client) -> Seen {
    let kept = client.kept.lock().unwrap();
    kept.last().cloned().expect("it has kept something")
}

/// The store never reported these fences to this client.
#[tokio::test(start_paused = true)]
async fn claimed_fence_is_persisted_once_and_bounds_the_store() {
    for (count, is_granted) in [(8, false), (9, false), (10, true)] {
        let store = FakeStore::open(TTL);
        store.state().count = count;
        let mut client = Client::new(&store, 1);
        for fence in [10, 10, 9, 10] {
            client.hear(Fence(fence));
            pass(millis(100)).await;
        }
        assert_eq!(client.remembered(), [Fence(10)]);
        assert!(store.state().asked.is_empty());
        client.handle.request(Request::Acquire);
        if is_granted {
            assert_eq!(client.news().await, LeaseEvent::Gained(Fence(11)));
            continue;
        }
        let why = client.shut_out().await;
        let last_count = format!("fence {}, but 10 was seen before", count + 1);
        assert!(why.contains(&last_count) && why.contains("raise `era`"), "{why}");
        assert_eq!(client.news().await, LeaseEvent::Gained(Fence(11)));
    }
}

/// The store was not set back: its answer is older than the claim.
#[tokio::test(start_paused = true)]
async fn answer_under_way_when_a_higher_fence_is_claimed_ends_no_era() {
    let own = Some(StoreTag::of(7));
    for (is_held, tag) in [(true, None), (false, None), (true, own), (false, own)] {
        let store = FakeStore::open(TTL);
        store.state().identity = tag.map(|_| 7);
        let mut other = Client::new(&store, 1);
        if is_held {
            assert_eq!(other.acquire().await, Fence(1));
        }
        store.state().delays = (millis(0), millis(500));
        let mut client = Client::new(&store, 2);
        client.handle.request(Request::Acquire);
        pass(millis(100)).await;
        {
            let mut state = store.state();
            (state.count, state.holder) = (2, None);
        }
        drop(other);
        client.hear_of(tag, Fence(2));
        let gained = LeaseEvent::Gained(Fence(3));
        assert_eq!(client.news().await, gained, "{is_held} {tag:?}");
    }
}

/// Neither member can know which of them is right. The tenure is not released, because work may
/// still have to be stopped.
#[tokio::test(start_paused = true)]
async fn fence_also_claimed_by_another_member_ends_the_era() {
    let store = FakeStore::open(TTL);
    let mut client = Client::new(&store, 1);
    let fence = client.acquire().await;
    let heard_at = clock();
    for _ in 0..2 {
        client.hear(fence);
    }
    let by = OTHER;
    assert_eq!(client.event().await, LeaseEvent::Contested { by, fence });
    assert_eq!(client.held(), None);
    assert_eq!(client.event().await, LeaseEvent::Lost(fence));
    let why = client.shut_out().await;
    assert!(why.contains("to this member and to another"), "{why}");
    assert!(why.contains("raise `era`"), "{why}");
    assert_eq!(clock(), heard_at, "all of it at once");
    assert!(store.state().holder.is_some(), "it runs out");
    pass(TTL * 3).await;
    assert_eq!(client.remembered(), [fence, era::last(0)]);
    client.handle.request(Request::Acquire);
    pass(TTL * 3).await;
    assert_eq!(store.state().asked, ["acquire"], "it asks no more");
    assert!(client.events.try_recv().is_err(), "all was said");
}

/// The fence is forged. The next era must remain usable.
#[tokio::test(start_paused = true)]
async fn fence_of_a_later_era_ends_only_this_era() {
    for made_up in [era::begin(1), era::last(era::LAST).0, u64::MAX] {
        for tag in [None, Some(StoreTag(99))] {
            let store = FakeStore::open(TTL);
            let mut client = Client::new(&store, 1);
            let fence = client.acquire().await;
            client.hear_of(tag, Fence(made_up));
            pass(TTL * 3).await;
            let high_water = client.kept.lock().unwrap().last().cloned();
            let high_water = high_water.expect("it is remembered");
            assert!(high_water.highest <= Some(era::last(0)), "{made_up}");
            let heard = high_water.heard.values().max();
            assert!(heard <= Some(&era::last(0)), "{made_up}");
            assert_eq!(high_water.highest > Some(fence), tag.is_none());
            store.state().holder = None;
            let mut raised = Client::with_marks(high_water, &store, 2, 1, |_| Ok(()));
            assert!(raised.acquire().await > era::last(0), "{made_up}");
        }
    }
}

/// The fence is forged: it would use up most of the era at once.
#[tokio::test(start_paused = true)]
async fn fence_far_above_all_known_fences_is_ignored() {
    let by = OTHER;
    for (count, tag) in [(0, None), (9, None), (0, Some(StoreTag(99))), (9, Some(StoreTag(99)))] {
        let store = FakeStore::open(TTL);
        store.state().count = count;
        let mut client = Client::new(&store, 1);
        let known = match count {
            0 => 0, // it has neither asked nor received a claim
            _ => client.acquire().await.0,
        };
        let reach = Fence(known + counter::REACH);
        for fence in [Fence(reach.0 + 1), Fence(era::last(0).0 - 1), era::last(0)] {
            client.hear_of(tag, fence);
            let event = LeaseEvent::OutOfReach { by, fence, reach };
            assert_eq!(client.event().await, event, "{tag:?}");
        }
        pass(TTL * 3).await;
        let kept = client.kept.lock().unwrap().last().cloned().unwrap_or_default();
        assert_eq!(kept.highest.map_or(0, |it| it.0), known, "{tag:?}");
        assert!(kept.heard.is_empty(), "{tag:?}");
        assert_eq!(client.held().is_some(), known > 0, "it goes on");
        assert!(client.events.try_recv().is_err(), "all was said");
        // A fence within reach counts, and extends the reach.
        for steps in [1, 2] {
            client.hear_of(tag, Fence(known + steps * counter::REACH));
            pass(millis(100)).await;
        }
        let kept = on_disk(&client);
        let highest = kept.heard.values().max().copied().max(kept.highest);
        assert_eq!(highest, Some(Fence(known + 2 * counter::REACH)), "{tag:?}");
    }
}

/// A client whose disk completes a write each time the test signals it.
fn with_a_slow_disk(store: &FakeStore) -> (Client, std::sync::mpsc::Sender<()>) {
    let (go_on, wait) = std::sync::mpsc::channel();
    let keep = move |_: &Seen| wait.recv().map_err(io::Error::other);
    (Client::with(store, 1, 0, None, keep), go_on)
}

/// The disk is slow, and meanwhile another member claims the same fence.
#[tokio::test(start_paused = true)]
async fn fence_claimed_elsewhere_before_publication_is_not_published() {
    let store = FakeStore::open(TTL);
    let (mut client, disk) = with_a_slow_disk(&store);
    client.handle.request(Request::Acquire);
    while store.state().asked.is_empty() {
        tokio::task::yield_now().await;
    }
    tokio::task::yield_now().await;
    client.hear(Fence(1));
    tokio::task::yield_now().await;
    for _ in 0..4 {
        disk.send(()).unwrap();
    }
    let why = client.shut_out().await;
    assert!(why.contains("fence 1, but 1 was seen before"), "{why}");
    assert_eq!(*client.handle.lease_watch().borrow(), None);
}

#[tokio::test(start_paused = true)]
async fn failed_write_is_retried_with_growing_pauses_and_reported() {
    let store = FakeStore::open(TTL);
    let is_broken = Arc::new(AtomicBool::new(true));
    let disk = Arc::clone(&is_broken);
    let keep = move |_: &Seen| match disk.load(Ordering::SeqCst) {
        true => Err(io::Error::other("disk full")),
        false => Ok(()),
    };
    let mut client = Client::with(&store, 1, 0, None, keep);
    client.hear(Fence(10));
    let mut failed_at = Vec::new();
    for _ in 0..9 {
        let why = client.fault().await;
        assert!(why.contains("could not be stored: disk full"), "{why}");
        failed_at.push(clock());
        client.hear(Fence(10 + failed_at.len() as u64)); // further claims do not hasten the retry
    }
    let pauses = failed_at.windows(2).map(|it| (it[1] - it[0]).0);
    let pauses: Vec<u64> = pauses.map(|it| it / 10_000_000 * 10).collect();
    assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);

    is_broken.store(false, Ordering::SeqCst);
    pass(A_WHILE).await;
    assert_eq!(client.remembered(), [Fence(19)]);
    assert!(client.events.try_recv().is_err(), "there is no more to say");
    // After a success the pauses start from the shortest again.
    is_broken.store(true, Ordering::SeqCst);
    client.hear(Fence(20));
    client.fault().await;
    is_broken.store(false, Ordering::SeqCst);
    pass(millis(600)).await;
    assert_eq!(client.remembered(), [Fence(19), Fence(20)]);
}

#[tokio::test(start_paused = true)]
async fn unpersisted_claim_still_bounds_a_grant() {
    let store = FakeStore::open(TTL);
    store.state().count = 5;
    let keep = |_: &Seen| Err(io::Error::other("disk full"));
    let mut client = Client::with(&store, 1, 0, None, keep);
    client.hear(Fence(10));
    client.fault().await;
    client.handle.request(Request::Acquire);
    let why = client.shut_out().await;
    assert!(why.contains("fence 6, but 10 was seen before"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn hanging_disk_is_reported_when_the_grant_expires() {
    let store = FakeStore::open(TTL);
    let (mut client, disk) = with_a_slow_disk(&store);
    client.handle.request(Request::Acquire);
    for _ in 0..300 {
        if client.handle.is_stuck() {
            break;
        }
        // Virtual time does not advance while a thread is running.
        tokio::time::advance(TTL / 100).await;
    }
    assert!(client.handle.is_stuck(), "for three ttls");
    let why = client.fault().await;
    assert!(why.contains("the disk hangs"), "{why}");
    client.handle.request(Request::Withdraw);
    for _ in 0..1_000 {
        disk.send(()).unwrap();
    }
    pass(TTL).await;
    assert!(!client.handle.is_stuck());
    assert_eq!(client.held(), None);
}

/// The request arrives during a write.
#[tokio::test(start_paused = true)]
async fn write_interrupted_by_a_request_is_retried() {
    let store = FakeStore::open(TTL);
    let (go_on, wait) = std::sync::mpsc::channel();
    let keep = move |_: &Seen| wait.recv().map_err(io::Error::other)?;
    let mut client = Client::with(&store, 1, 0, None, keep);
    client.hear(Fence(10));
    tokio::task::yield_now().await;
    client.handle.request(Request::Withdraw);
    tokio::task::yield_now().await;
    go_on.send(Err(io::Error::other("disk full"))).unwrap();
    assert!(client.fault().await.contains("disk full"));
    go_on.send(Ok(())).unwrap();
    pass(millis(600)).await;
    assert_eq!(client.remembered(), [Fence(10)]);
}

/// The client's own store has not reported its identity when the claim arrives.
#[tokio::test(start_paused = true)]
async fn fence_of_another_store_does_not_bound_the_own_store() {
    let [own, another] = [7, 8].map(|it| Some(StoreTag::of(it)));
    for (heard_of, tells, is_granted) in [
        (own, Some(7), false),
        (another, Some(7), true),
        (None, Some(7), false),
        // The store has no identity, so every claim may concern it.
        (another, None, false),
    ] {
        for restarts in [false, true] {
            let store = FakeStore::open(TTL);
            (store.state().identity, store.state().count) = (tells, 4);
            let mut client = Client::new(&store, 1);
            client.hear_of(heard_of, Fence(10));
            pass(millis(100)).await;
            if restarts {
                client = restarted(&store, &on_disk(&client));
            }
            client.handle.request(Request::Acquire);
            match client.event().await {
                LeaseEvent::Gained(fence) => assert_eq!((fence, is_granted), (Fence(5), true)),
                LeaseEvent::ShutOut(Some(why)) => {
                    assert!(why.contains("fence 5, but 10 was seen before"), "{why}");
                    assert!(!is_granted, "{heard_of:?} {tells:?}");
                    pass(millis(100)).await;
                    assert_eq!(on_disk(&client).highest, Some(Fence(10)));
                }
                event => panic!("{event:?}"),
            }
        }
    }
}

/// The identity is persisted, so claims for that store count on receipt, even if the store is
/// unreachable.
#[tokio::test(start_paused = true)]
async fn restarted_member_knows_its_store_before_the_store_answers() {
    let store = FakeStore::open(TTL);
    store.state().identity = Some(7);
    let mut client = Client::new(&store, 1);
    assert_eq!(client.acquire().await, Fence(1));
    let client = restarted(&store, &on_disk(&client));
    for (store, fence) in [(7, 10), (8, 20)] {
        client.hear_of(Some(StoreTag::of(store)), Fence(fence));
    }
    pass(millis(100)).await;
    let high_water = on_disk(&client);
    assert_eq!((high_water.highest, high_water.store), (Some(Fence(10)), Some(StoreTag::of(7))));
    assert_eq!(high_water.heard, [(StoreTag::of(8), Fence(20))].into());
    assert_eq!(store.state().asked, ["acquire"], "it is not asked again");
}

/// The member was configured with the wrong store before.
#[tokio::test(start_paused = true)]
async fn member_moved_to_another_store_follows_its_count() {
    let store = FakeStore::open(TTL);
    store.state().identity = Some(7);
    let high_water = Seen {
        highest: None,
        store: Some(StoreTag::of(8)),
        heard: [(StoreTag::of(7), Fence(10))].into(),
    };
    let mut client = restarted(&store, &high_water);
    client.handle.request(Request::Acquire);
    let why = client.shut_out().await;
    assert!(why.contains("fence 1, but 10 was seen before"), "{why}");
    pass(millis(100)).await;
    assert_eq!(on_disk(&client).store, Some(StoreTag::of(7)));
}
