//! Tests of a store that was set back: refusals, resumption, and reports.

use super::*;

/// A client of member 1 that held `high_water` and released it, and a store whose count was set
/// back to `count`.
async fn set_back(high_water: u64, count: u64) -> (FakeStore, Client) {
    let store = FakeStore::open(TTL);
    store.state().count = high_water - 1;
    let mut client = Client::new(&store, 1);
    assert_eq!(client.acquire().await, Fence(high_water));
    client.handle.request(Request::Release);
    assert_eq!(client.news().await, LeaseEvent::Lost(Fence(high_water)));
    pass(millis(100)).await;
    store.state().count = count;
    (store, client)
}

#[tokio::test(start_paused = true)]
async fn store_set_back_is_refused_until_it_passes_the_mark() {
    let (store, mut client) = set_back(10, 7).await;
    client.handle.request(Request::Acquire);
    let mut noticed_at = clock();
    for last_count in [8, 9, 10] {
        let why = client.shut_out().await;
        let says = format!("fence {last_count}, but 10 was seen before");
        assert!(why.contains(&says) && why.contains("raise `era`"), "{why}");
        assert_eq!(client.held(), None);
        noticed_at = clock();
        if last_count > 8 {
            let until = noticed_at + TTL.into();
            assert_eq!(client.event().await, LeaseEvent::TakesNothingUntil(until));
        }
    }
    assert_eq!(client.event().await, LeaseEvent::ShutOut(None));
    assert_eq!(client.news().await, LeaseEvent::Gained(Fence(11)));
    let waited = clock() - noticed_at;
    assert!(waited >= TTL.into(), "a holder of before may work: {waited}");
    assert!(waited < Duration::from(TTL + ANSWER_WITHIN), "{waited}");
    assert_eq!(client.remembered(), [Fence(10), Fence(11)], "and nothing else");
    assert_eq!(store.state().asked.len(), 2 + 3 * 2 + 1, "one attempt in a ttl");
}

/// The mark is all that the member needs to persist.
#[tokio::test(start_paused = true)]
async fn restarted_member_keeps_its_mark() {
    let (store, mut client) = set_back(10, 8).await;
    client.handle.request(Request::Acquire);
    client.shut_out().await;
    pass(millis(100)).await;
    let high_water = client.kept.lock().unwrap().last().cloned().unwrap();
    drop(client);
    assert_eq!(high_water.highest, Some(Fence(10)));
    let mut restarted = Client::with_marks(high_water.clone(), &store, 1, 0, |_| Ok(()));
    restarted.handle.request(Request::Acquire);
    let why = restarted.shut_out().await;
    assert!(why.contains("fence 10, but 10 was seen before"), "{why}");
    drop(restarted);
    // Every fence of a later era is above those of this one.
    let mut raised = Client::with_marks(high_water, &store, 3, 1, |_| Ok(()));
    assert_eq!(raised.acquire().await, Fence(era::begin(1) + 11));
}

/// The store grants nothing, but reports its count.
#[tokio::test(start_paused = true)]
async fn count_below_the_mark_is_refused_while_another_member_holds() {
    let store = FakeStore::open(TTL);
    store.state().count = 5;
    let mut other = Client::new(&store, 1);
    assert_eq!(other.acquire().await, Fence(6));
    let mut client = Client::with(&store, 2, 0, Some(Fence(8)), |_| Ok(()));
    client.handle.request(Request::Acquire);
    assert_eq!(client.refusal().await, "`1` holds tenure");
    let why = client.shut_out().await;
    assert!(why.contains("fence 6, but 8 was seen before"), "{why}");
    pass(A_WHILE).await;
    other.handle.request(Request::Release);
    assert_eq!(client.news().await, LeaseEvent::Gained(Fence(9)));
}

/// The restored copy contains a lease that has not ended, and does not say how long it lasts.
#[tokio::test(start_paused = true)]
async fn lease_in_a_restored_copy_does_not_prolong_the_wait() {
    let store = FakeStore::open(TTL / 2);
    store.state().count = 5;
    let mut other = Client::new(&store, 1);
    assert_eq!(other.acquire().await, Fence(6));
    let mut client = Client::with(&store, 2, 0, Some(Fence(7)), |_| Ok(()));
    client.handle.request(Request::Acquire);
    client.shut_out().await;
    let noticed_at = clock();
    pass(TTL + ANSWER_WITHIN).await; // it has asked again
    other.handle.request(Request::Release);
    let why = client.shut_out().await;
    assert!(why.contains("fence 7, but 7 was seen before"), "{why}");
    assert!(clock() - noticed_at < Duration::from(TTL * 2), "{}", clock() - noticed_at);
    let until = clock() + TTL.into();
    assert_eq!(client.event().await, LeaseEvent::TakesNothingUntil(until));
    assert_eq!(client.event().await, LeaseEvent::ShutOut(None));
    assert_eq!(client.news().await, LeaseEvent::Gained(Fence(8)));
    assert!(clock() >= until, "a refused grant prolongs it");
}

/// What the store granted before it lost more may last for a ttl from then on.
#[tokio::test(start_paused = true)]
async fn store_that_is_set_back_again_prolongs_the_wait() {
    let store = FakeStore::open(TTL / 2);
    store.state().count = 5;
    let mut other = Client::new(&store, 1);
    assert_eq!(other.acquire().await, Fence(6));
    let mut client = Client::with(&store, 2, 0, Some(Fence(7)), |_| Ok(()));
    client.handle.request(Request::Acquire);
    client.shut_out().await;
    drop(other);
    (store.state().count, store.state().holder) = (3, None);
    let mut third = Client::new(&store, 3);
    assert_eq!(third.acquire().await, Fence(4));
    let why = client.shut_out().await;
    assert!(why.contains("fence 4, but 7 was seen before"), "{why}");
    let noticed_at = clock();
    third.handle.request(Request::Release);
    let why = client.shut_out().await;
    assert!(why.contains("fence 5, but 7 was seen before"), "{why}");
    assert!(clock() - noticed_at >= TTL.into(), "{}", clock() - noticed_at);
}

/// A member that did not know the mark has led meanwhile, above it.
#[tokio::test(start_paused = true)]
async fn member_follows_a_holder_above_the_mark() {
    let (store, mut client) = set_back(10, 9).await;
    client.handle.request(Request::Acquire);
    let why = client.shut_out().await;
    assert!(why.contains("fence 10, but 10 was seen before"), "{why}");
    pass(ANSWER_WITHIN).await; // the grant is released
    let mut other = Client::new(&store, 2);
    assert_eq!(other.acquire().await, Fence(11));
    client.hear(Fence(11));
    assert_eq!(client.event().await, LeaseEvent::ShutOut(None), "without a request");
    drop(other);
    assert_eq!(client.news().await, LeaseEvent::Gained(Fence(12)));
}

/// There may be two stores, one of which still renews a tenure that the other has forgotten.
#[tokio::test(start_paused = true)]
async fn nothing_is_taken_after_a_set_back_while_another_claims_tenure() {
    let (store, mut client) = set_back(10, 9).await;
    client.handle.request(Request::Acquire);
    client.shut_out().await;
    let mut heard_at = clock();
    for _ in 0..20 {
        pass(TTL / 3).await;
        client.hear(Fence(10));
        heard_at = clock();
    }
    assert_eq!(store.state().count, 10, "nothing was asked for");
    assert_eq!(client.news().await, LeaseEvent::Gained(Fence(11)));
    assert!(clock() - heard_at >= TTL.into());
}

/// Waiting does not show the count of the other store.
#[tokio::test(start_paused = true)]
async fn lower_count_from_a_store_with_another_identity_ends_the_era() {
    let store = FakeStore::open(TTL);
    (store.state().identity, store.state().count) = (Some(7), 9);
    let mut client = Client::new(&store, 1);
    client.acquire().await;
    pass(millis(100)).await;
    let high_water = client.kept.lock().unwrap().last().cloned().unwrap();
    drop(client);
    pass(TTL).await;
    (store.state().identity, store.state().count) = (Some(8), 9);
    let mut client = Client::with_marks(high_water, &store, 1, 0, |_| Ok(()));
    client.handle.request(Request::Acquire);
    let why = client.shut_out().await;
    assert!(why.contains("was replaced"), "{why}");
    pass(A_WHILE).await;
    assert_eq!((client.held(), store.state().count), (None, 10));
    let high_water = client.kept.lock().unwrap().last().cloned().unwrap();
    assert_eq!(high_water.highest, Some(era::last(0)));
    // The member reports it at its start and not at its nomination: until then the leader may fail.
    let mut restarted = Client::with_marks(high_water, &store, 1, 0, |_| Ok(()));
    let why = restarted.shut_out().await;
    assert!(why.contains("era 0 of group `g` is over"), "{why}");
}

/// Three members hold fences that the store may forget, and each stops and restarts at random. No
/// fence is taken twice, and fences rise.
#[tokio::test(start_paused = true)]
async fn members_that_know_all_fences_reuse_none_after_set_backs() {
    use rand_core::{Rng, SeedableRng};
    let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(19);
    let store = FakeStore::open(TTL);
    let mut members: Vec<Client> = (1..=3).map(|it| Client::new(&store, it)).collect();
    let mut last = Fence(0);
    for _ in 0..200 {
        let at = usize::try_from(rng.next_u64() % 3).unwrap();
        if rng.next_u64().is_multiple_of(4) {
            let high_water = members[at].kept.lock().unwrap().last().cloned();
            let high_water = high_water.unwrap_or_default();
            members[at] = Client::with_marks(high_water, &store, at as u64 + 1, 0, |_| Ok(()));
        }
        let fence = members[at].acquire().await;
        assert!(fence > last, "{fence} after {last}");
        last = fence;
        for (other, member) in members.iter().enumerate() {
            if other != at {
                member.hear(fence);
            }
        }
        pass(millis(100)).await;
        members[at].handle.request(Request::Release);
        assert_eq!(members[at].news().await, LeaseEvent::Lost(fence));
        pass(millis(100)).await;
        let lost = rng.next_u64() % 5;
        let mut state = store.state();
        (state.count, state.holder) = (state.count.saturating_sub(lost), None);
    }
}

/// The leader never learnt of the mark. Without a warning, the group looks healthy until that
/// leader fails.
#[tokio::test(start_paused = true)]
async fn members_that_have_not_asked_warn_of_a_holder_below_the_mark() {
    let store = Some(StoreTag::of(7));
    let led = Seen { highest: Some(Fence(10)), store, ..Seen::default() };
    let listened = Seen { heard: [(StoreTag::of(7), Fence(10))].into(), ..Seen::default() };
    for (high_water, hears) in
        [(None, None), (None, store), (Some(led), store), (Some(listened), store)]
    {
        let store = FakeStore::open(TTL);
        let has_restarted = high_water.is_some();
        let mut client =
            Client::with_marks(high_water.unwrap_or_default(), &store, 1, 0, |_| Ok(()));
        if !has_restarted {
            client.hear_of(hears, Fence(10));
        }
        let began = clock();
        let why = loop {
            client.hear_of(hears, Fence(9));
            pass(millis(1_000)).await;
            if let Ok((_, event)) = client.events.try_recv() {
                break event;
            }
            assert!(clock() - began < (2 * TTL).into(), "{hears:?}: no event");
        };
        assert!(clock() - began >= TTL.into(), "a frame may be late");
        let LeaseEvent::ShutOut(Some(why)) = why else {
            panic!("{why:?}");
        };
        assert!(why.contains("holds fence 9 by the store, but 10 was seen before"), "{why}");
        client.hear_of(hears, Fence(9));
        pass(millis(100)).await;
        assert!(client.events.try_recv().is_err(), "it is said once");
        client.hear_of(hears, Fence(11));
        assert_eq!(client.event().await, LeaseEvent::ShutOut(None));
        assert!(store.state().asked.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn late_frames_of_a_former_holder_do_not_indicate_a_set_back() {
    let store = FakeStore::open(TTL);
    store.state().identity = Some(7);
    let mut client = Client::new(&store, 1);
    client.hear(Fence(10));
    // Single frames, far apart.
    for _ in 0..5 {
        client.hear(Fence(9));
        pass(TTL + millis(1_000)).await;
    }
    // Between frames of the holder.
    for _ in 0..30 {
        client.hear(Fence(9));
        pass(millis(500)).await;
        client.hear(Fence(10));
        pass(millis(500)).await;
    }
    // From a member that claims to have held the fence before.
    for _ in 0..30 {
        client.handle.hear(Heard { by: OTHER, store: None, fence: Fence(9), holds: false });
        pass(millis(1_000)).await;
    }
    assert!(client.events.try_recv().is_err());
    // From another store than the member's own.
    store.state().count = 10;
    assert_eq!(client.acquire().await, Fence(11));
    client.handle.request(Request::Release);
    assert_eq!(client.news().await, LeaseEvent::Lost(Fence(11)));
    for _ in 0..30 {
        client.hear_of(Some(StoreTag::of(8)), Fence(9));
        pass(millis(1_000)).await;
    }
    assert!(client.events.try_recv().is_err());
}

/// The blocking record may be removed, after which the store works as before.
#[tokio::test(start_paused = true)]
async fn blocked_store_is_reported_until_it_is_unblocked() {
    let store = FakeStore::open(TTL);
    store.state().block = Some("a key without a lease: delete it".to_owned());
    let mut client = Client::new(&store, 1);
    client.handle.request(Request::Acquire);
    assert_eq!(client.shut_out().await, "a key without a lease: delete it");
    pass(A_WHILE).await;
    assert!(client.events.try_recv().is_err(), "it is said once");
    assert!(client.handle.reachable() && !client.handle.is_held_elsewhere());
    assert!(!store.state().asked.contains(&"release"), "nothing is granted");
    store.state().block = None;
    assert_eq!(client.event().await, LeaseEvent::ShutOut(None));
    assert_eq!(client.news().await, LeaseEvent::Gained(Fence(1)));
}
