//! A store that was set back: what a clerk refuses, when it takes tenure again, and what it says.

use super::*;

/// A clerk of member 1 that held `seen` and gave it up, and a store that has counted no further than `count` since.
async fn set_back(seen: u64, count: u64) -> (Shop, Desk) {
    let shop = Shop::open(TTL);
    shop.books().count = seen - 1;
    let mut desk = Desk::new(&shop, 1);
    assert_eq!(desk.acquire().await, Fence(seen));
    desk.clerk.request(Request::Release);
    assert_eq!(desk.news().await, Word::Lost(Fence(seen)));
    pass(millis(100)).await;
    shop.books().count = count;
    (shop, desk)
}

#[tokio::test(start_paused = true)]
async fn a_store_set_back_is_refused_until_it_has_passed_the_mark() {
    let (shop, mut desk) = set_back(10, 7).await;
    desk.clerk.request(Request::Acquire);
    let mut noticed_at = clock();
    for told in [8, 9, 10] {
        let why = desk.shut_out().await;
        let says = format!("fence {told}, but 10 was seen before");
        assert!(why.contains(&says) && why.contains("raise `era`"), "{why}");
        assert_eq!(desk.held(), None);
        noticed_at = clock();
    }
    assert_eq!(desk.word().await, Word::ShutOut(None));
    assert_eq!(desk.news().await, Word::Gained(Fence(11)));
    let waited = clock() - noticed_at;
    assert!(
        waited >= TTL.into(),
        "a holder of before may work: {waited}"
    );
    assert!(waited < Duration::from(TTL + ANSWER_WITHIN), "{waited}");
    assert_eq!(
        desk.remembered(),
        [Fence(10), Fence(11)],
        "and nothing else"
    );
    assert_eq!(
        shop.books().asked.len(),
        2 + 3 * 2 + 1,
        "one attempt in a ttl"
    );
}

/// The mark is all that it needs to remember.
#[tokio::test(start_paused = true)]
async fn a_member_that_restarts_goes_by_its_mark() {
    let (shop, mut desk) = set_back(10, 8).await;
    desk.clerk.request(Request::Acquire);
    desk.shut_out().await;
    pass(millis(100)).await;
    let seen = desk.kept.lock().unwrap().last().cloned().unwrap();
    drop(desk);
    assert_eq!(seen.highest, Some(Fence(10)));
    let mut restarted = Desk::who_saw(seen.clone(), &shop, 1, 0, |_| Ok(()));
    restarted.clerk.request(Request::Acquire);
    let why = restarted.shut_out().await;
    assert!(why.contains("fence 10, but 10 was seen before"), "{why}");
    drop(restarted);
    // A later era is above all of this one.
    let mut raised = Desk::who_saw(seen, &shop, 3, 1, |_| Ok(()));
    assert_eq!(raised.acquire().await, Fence(era::begin(1) + 11));
}

/// It grants nothing, but tells how far it has counted.
#[tokio::test(start_paused = true)]
async fn a_store_that_tells_less_than_the_mark_is_refused_though_another_holds() {
    let shop = Shop::open(TTL);
    shop.books().count = 5;
    let mut other = Desk::new(&shop, 1);
    assert_eq!(other.acquire().await, Fence(6));
    let mut desk = Desk::with(&shop, 2, 0, Some(Fence(8)), |_| Ok(()));
    desk.clerk.request(Request::Acquire);
    assert_eq!(desk.refusal().await, "`1` holds tenure");
    let why = desk.shut_out().await;
    assert!(why.contains("fence 6, but 8 was seen before"), "{why}");
    pass(A_WHILE).await;
    other.clerk.request(Request::Release);
    assert_eq!(desk.news().await, Word::Gained(Fence(9)));
}

/// A member that never heard of the mark has led meanwhile, above it.
#[tokio::test(start_paused = true)]
async fn a_member_follows_another_that_holds_above_the_mark() {
    let (shop, mut desk) = set_back(10, 9).await;
    desk.clerk.request(Request::Acquire);
    let why = desk.shut_out().await;
    assert!(why.contains("fence 10, but 10 was seen before"), "{why}");
    pass(ANSWER_WITHIN).await; // what was granted is given back
    let mut other = Desk::new(&shop, 2);
    assert_eq!(other.acquire().await, Fence(11));
    desk.hear(Fence(11));
    assert_eq!(desk.word().await, Word::ShutOut(None), "and nobody asked");
    drop(other);
    assert_eq!(desk.news().await, Word::Gained(Fence(12)));
}

/// There may be two stores, one of which still renews what the other has forgotten.
#[tokio::test(start_paused = true)]
async fn nothing_is_taken_from_a_store_set_back_while_another_is_heard_to_hold() {
    let (shop, mut desk) = set_back(10, 9).await;
    desk.clerk.request(Request::Acquire);
    desk.shut_out().await;
    let mut heard_at = clock();
    for _ in 0..20 {
        pass(TTL / 3).await;
        desk.hear(Fence(10));
        heard_at = clock();
    }
    assert_eq!(shop.books().count, 10, "nothing was asked for");
    assert_eq!(desk.news().await, Word::Gained(Fence(11)));
    assert!(clock() - heard_at >= TTL.into());
}

/// Waiting does not show how far another store has counted.
#[tokio::test(start_paused = true)]
async fn a_store_of_another_identity_that_counts_less_ends_the_era() {
    let shop = Shop::open(TTL);
    (shop.books().identity, shop.books().count) = (Some(7), 9);
    let mut desk = Desk::new(&shop, 1);
    desk.acquire().await;
    pass(millis(100)).await;
    let seen = desk.kept.lock().unwrap().last().cloned().unwrap();
    drop(desk);
    pass(TTL).await;
    (shop.books().identity, shop.books().count) = (Some(8), 9);
    let mut desk = Desk::who_saw(seen, &shop, 1, 0, |_| Ok(()));
    desk.clerk.request(Request::Acquire);
    let why = desk.shut_out().await;
    assert!(why.contains("is another store"), "{why}");
    pass(A_WHILE).await;
    assert_eq!((desk.held(), shop.books().count), (None, 10));
    let seen = desk.kept.lock().unwrap().last().cloned().unwrap();
    assert_eq!(seen.highest, Some(era::last(0)));
    // It says so when it comes up, and not when it is named: until then the leader may have failed.
    let mut restarted = Desk::who_saw(seen, &shop, 1, 0, |_| Ok(()));
    let why = restarted.shut_out().await;
    assert!(why.contains("era 0 of group `g` is over"), "{why}");
}

/// Three members, all of which may hold a fence that the store has forgotten, and each of which is stopped and restarted
/// at random: no fence is taken twice, and fences rise.
#[tokio::test(start_paused = true)]
async fn members_that_know_all_fences_take_none_twice_however_often_a_store_is_set_back() {
    use rand_core::{Rng, SeedableRng};
    let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(19);
    let shop = Shop::open(TTL);
    let mut members: Vec<Desk> = (1..=3).map(|it| Desk::new(&shop, it)).collect();
    let mut last = Fence(0);
    for _ in 0..200 {
        let at = usize::try_from(rng.next_u64() % 3).unwrap();
        if rng.next_u64().is_multiple_of(4) {
            let seen = members[at].kept.lock().unwrap().last().cloned();
            let seen = seen.unwrap_or_default();
            members[at] = Desk::who_saw(seen, &shop, at as u64 + 1, 0, |_| Ok(()));
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
        members[at].clerk.request(Request::Release);
        assert_eq!(members[at].news().await, Word::Lost(fence));
        pass(millis(100)).await;
        let lost = rng.next_u64() % 5;
        let mut books = shop.books();
        (books.count, books.holder) = (books.count.saturating_sub(lost), None);
    }
}

/// The leader never heard of the mark. If the others say nothing, the group looks healthy until that leader fails.
#[tokio::test(start_paused = true)]
async fn a_holder_below_the_mark_is_warned_of_by_members_that_have_not_asked() {
    let store = Some(Mark::of(7));
    let led = Seen {
        highest: Some(Fence(10)),
        store,
        ..Seen::default()
    };
    let listened = Seen {
        heard: [(Mark::of(7), Fence(10))].into(),
        ..Seen::default()
    };
    for (seen, hears) in [
        (None, None),
        (None, store),
        (Some(led), store),
        (Some(listened), store),
    ] {
        let shop = Shop::open(TTL);
        let has_restarted = seen.is_some();
        let mut desk = Desk::who_saw(seen.unwrap_or_default(), &shop, 1, 0, |_| Ok(()));
        if !has_restarted {
            desk.hear_of(hears, Fence(10));
        }
        let began = clock();
        let why = loop {
            desk.hear_of(hears, Fence(9));
            pass(millis(1_000)).await;
            if let Ok((_, word)) = desk.words.try_recv() {
                break word;
            }
            assert!(clock() - began < (2 * TTL).into(), "{hears:?}: no word");
        };
        assert!(clock() - began >= TTL.into(), "a frame may be late");
        let Word::ShutOut(Some(why)) = why else {
            panic!("{why:?}");
        };
        assert!(
            why.contains("holds fence 9 by the store, but 10 was seen before"),
            "{why}"
        );
        desk.hear_of(hears, Fence(9));
        pass(millis(100)).await;
        assert!(desk.words.try_recv().is_err(), "it is said once");
        desk.hear_of(hears, Fence(11));
        assert_eq!(desk.word().await, Word::ShutOut(None));
        assert!(shop.books().asked.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn late_frames_of_a_former_holder_are_no_sign_of_a_store_set_back() {
    let shop = Shop::open(TTL);
    shop.books().identity = Some(7);
    let mut desk = Desk::new(&shop, 1);
    desk.hear(Fence(10));
    // Now and then one.
    for _ in 0..5 {
        desk.hear(Fence(9));
        pass(TTL + millis(1_000)).await;
    }
    // Between frames of the holder.
    for _ in 0..30 {
        desk.hear(Fence(9));
        pass(millis(500)).await;
        desk.hear(Fence(10));
        pass(millis(500)).await;
    }
    // By a member that says that it holds no more.
    for _ in 0..30 {
        desk.clerk.hear(Heard {
            by: OTHER,
            store: None,
            fence: Fence(9),
            holds: false,
        });
        pass(millis(1_000)).await;
    }
    assert!(desk.words.try_recv().is_err());
    // By another store than its own.
    shop.books().count = 10;
    assert_eq!(desk.acquire().await, Fence(11));
    desk.clerk.request(Request::Release);
    assert_eq!(desk.news().await, Word::Lost(Fence(11)));
    for _ in 0..30 {
        desk.hear_of(Some(Mark::of(8)), Fence(9));
        pass(millis(1_000)).await;
    }
    assert!(desk.words.try_recv().is_err());
}

/// What stands in the way may be removed, and then it is as if it had never been there.
#[tokio::test(start_paused = true)]
async fn what_blocks_a_store_is_told_until_it_is_gone() {
    let shop = Shop::open(TTL);
    shop.books().block = Some("a key without a lease: delete it".to_owned());
    let mut desk = Desk::new(&shop, 1);
    desk.clerk.request(Request::Acquire);
    assert_eq!(desk.shut_out().await, "a key without a lease: delete it");
    pass(A_WHILE).await;
    assert!(desk.words.try_recv().is_err(), "it is said once");
    assert!(desk.clerk.reachable() && !desk.clerk.is_held_elsewhere());
    assert!(
        !shop.books().asked.contains(&"release"),
        "nothing is granted"
    );
    shop.books().block = None;
    assert_eq!(desk.word().await, Word::ShutOut(None));
    assert_eq!(desk.news().await, Word::Gained(Fence(1)));
}
