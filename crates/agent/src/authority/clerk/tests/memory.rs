//! What a clerk makes of what others hold: what it keeps of it, when its disk fails too, and which store it takes for its own.

use std::sync::atomic::{AtomicBool, Ordering};

use hustings_protocol::tenure::counter;

use super::*;

/// How it is when all that it saw so far was `seen`.
fn restarted(shop: &Shop, seen: &Seen) -> Desk {
    Desk::who_saw(seen.clone(), shop, 1, 0, |_| Ok(()))
}

/// What it would find on its disk after a restart.
fn on_disk(desk: &Desk) -> Seen {
    let kept = desk.kept.lock().unwrap();
    kept.last().cloned().expect("it has kept something")
}

/// The store never told them here.
#[tokio::test(start_paused = true)]
async fn what_others_are_heard_to_hold_is_remembered_once_and_the_store_must_count_above_it() {
    for (count, is_granted) in [(8, false), (9, false), (10, true)] {
        let shop = Shop::open(TTL);
        shop.books().count = count;
        let mut desk = Desk::new(&shop, 1);
        for fence in [10, 10, 9, 10] {
            desk.hear(Fence(fence));
            pass(millis(100)).await;
        }
        assert_eq!(desk.remembered(), [Fence(10)]);
        assert!(shop.books().asked.is_empty());
        desk.clerk.request(Request::Acquire);
        if is_granted {
            assert_eq!(desk.news().await, Word::Gained(Fence(11)));
            continue;
        }
        let why = desk.shut_out().await;
        let told = format!("fence {}, but 10 was seen before", count + 1);
        assert!(why.contains(&told) && why.contains("raise `era`"), "{why}");
        assert_eq!(desk.news().await, Word::Gained(Fence(11)));
    }
}

/// The store is as it was: its answer is of before.
#[tokio::test(start_paused = true)]
async fn an_answer_that_was_under_way_when_a_higher_fence_was_heard_ends_no_era() {
    let told = Some(Mark::of(7));
    for (is_held, store) in [(true, None), (false, None), (true, told), (false, told)] {
        let shop = Shop::open(TTL);
        shop.books().identity = store.map(|_| 7);
        let mut other = Desk::new(&shop, 1);
        if is_held {
            assert_eq!(other.acquire().await, Fence(1));
        }
        shop.books().delays = (millis(0), millis(500));
        let mut desk = Desk::new(&shop, 2);
        desk.clerk.request(Request::Acquire);
        pass(millis(100)).await;
        {
            let mut books = shop.books();
            (books.count, books.holder) = (2, None);
        }
        drop(other);
        desk.hear_of(store, Fence(2));
        let gained = Word::Gained(Fence(3));
        assert_eq!(desk.news().await, gained, "{is_held} {store:?}");
    }
}

/// Neither can know which of both is in the right. The store is not told: work may still have to be ended.
#[tokio::test(start_paused = true)]
async fn a_fence_that_another_holds_too_is_the_last_of_its_era_and_counts_no_more() {
    let shop = Shop::open(TTL);
    let mut desk = Desk::new(&shop, 1);
    let fence = desk.acquire().await;
    let heard_at = clock();
    for _ in 0..2 {
        desk.hear(fence);
    }
    let by = OTHER;
    assert_eq!(desk.word().await, Word::Contested { by, fence });
    assert_eq!(desk.held(), None);
    assert_eq!(desk.word().await, Word::Lost(fence));
    let why = desk.shut_out().await;
    assert!(why.contains("to this member and to another"), "{why}");
    assert!(why.contains("raise `era`"), "{why}");
    assert_eq!(clock(), heard_at, "all of it at once");
    assert!(shop.books().holder.is_some(), "it runs out");
    pass(TTL * 3).await;
    assert_eq!(desk.remembered(), [fence, era::last(0)]);
    desk.clerk.request(Request::Acquire);
    pass(TTL * 3).await;
    assert_eq!(shop.books().asked, ["acquire"], "it asks no more");
    assert!(desk.words.try_recv().is_err(), "all was said");
}

/// Somebody has made it up. The next era is free all the same.
#[tokio::test(start_paused = true)]
async fn fence_of_a_later_era_ends_this_one_and_uses_up_no_other() {
    for made_up in [era::begin(1), era::last(era::LAST).0, u64::MAX] {
        for store in [None, Some(Mark(99))] {
            let shop = Shop::open(TTL);
            let mut desk = Desk::new(&shop, 1);
            let fence = desk.acquire().await;
            desk.hear_of(store, Fence(made_up));
            pass(TTL * 3).await;
            let seen = desk.kept.lock().unwrap().last().cloned();
            let seen = seen.expect("it is remembered");
            assert!(seen.highest <= Some(era::last(0)), "{made_up}");
            let heard = seen.heard.values().max();
            assert!(heard <= Some(&era::last(0)), "{made_up}");
            assert_eq!(seen.highest > Some(fence), store.is_none());
            shop.books().holder = None;
            let mut raised = Desk::who_saw(seen, &shop, 2, 1, |_| Ok(()));
            assert!(raised.acquire().await > era::last(0), "{made_up}");
        }
    }
}

/// Somebody has made it up: most of the era would be used up at once.
#[tokio::test(start_paused = true)]
async fn fence_far_above_all_that_is_known_does_not_count() {
    let by = OTHER;
    for (count, store) in [
        (0, None),
        (9, None),
        (0, Some(Mark(99))),
        (9, Some(Mark(99))),
    ] {
        let shop = Shop::open(TTL);
        shop.books().count = count;
        let mut desk = Desk::new(&shop, 1);
        let known = match count {
            0 => 0, // it has neither asked nor heard
            _ => desk.acquire().await.0,
        };
        let reach = Fence(known + counter::REACH);
        for fence in [Fence(reach.0 + 1), Fence(era::last(0).0 - 1), era::last(0)] {
            desk.hear_of(store, fence);
            let word = Word::OutOfReach { by, fence, reach };
            assert_eq!(desk.word().await, word, "{store:?}");
        }
        pass(TTL * 3).await;
        let kept = desk
            .kept
            .lock()
            .unwrap()
            .last()
            .cloned()
            .unwrap_or_default();
        assert_eq!(kept.highest.map_or(0, |it| it.0), known, "{store:?}");
        assert!(kept.heard.is_empty(), "{store:?}");
        assert_eq!(desk.held().is_some(), known > 0, "it goes on");
        assert!(desk.words.try_recv().is_err(), "all was said");
        // What is within reach counts, and what is within reach of that.
        for steps in [1, 2] {
            desk.hear_of(store, Fence(known + steps * counter::REACH));
            pass(millis(100)).await;
        }
        let kept = on_disk(&desk);
        let highest = kept.heard.values().max().copied().max(kept.highest);
        assert_eq!(
            highest,
            Some(Fence(known + 2 * counter::REACH)),
            "{store:?}"
        );
    }
}

/// A clerk whose disk ends a write each time it is told to.
fn with_a_slow_disk(shop: &Shop) -> (Desk, std::sync::mpsc::Sender<()>) {
    let (go_on, wait) = std::sync::mpsc::channel();
    let keep = move |_: &Seen| wait.recv().map_err(io::Error::other);
    (Desk::with(shop, 1, 0, None, keep), go_on)
}

/// A disk takes its time, and meanwhile somebody else says that it holds the very same.
#[tokio::test(start_paused = true)]
async fn a_fence_that_another_is_heard_to_hold_before_it_is_shown_is_not_shown() {
    let shop = Shop::open(TTL);
    let (mut desk, disk) = with_a_slow_disk(&shop);
    desk.clerk.request(Request::Acquire);
    while shop.books().asked.is_empty() {
        tokio::task::yield_now().await;
    }
    tokio::task::yield_now().await;
    desk.hear(Fence(1));
    tokio::task::yield_now().await;
    for _ in 0..4 {
        disk.send(()).unwrap();
    }
    let why = desk.shut_out().await;
    assert!(why.contains("fence 1, but 1 was seen before"), "{why}");
    assert_eq!(*desk.clerk.cell().borrow(), None);
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_kept_is_tried_again_with_growing_pauses_and_is_a_fault_each_time() {
    let shop = Shop::open(TTL);
    let is_broken = Arc::new(AtomicBool::new(true));
    let disk = Arc::clone(&is_broken);
    let keep = move |_: &Seen| match disk.load(Ordering::SeqCst) {
        true => Err(io::Error::other("disk full")),
        false => Ok(()),
    };
    let mut desk = Desk::with(&shop, 1, 0, None, keep);
    desk.hear(Fence(10));
    let mut failed_at = Vec::new();
    for _ in 0..9 {
        let why = desk.fault().await;
        assert!(why.contains("could not be remembered: disk full"), "{why}");
        failed_at.push(clock());
        desk.hear(Fence(10 + failed_at.len() as u64)); // more of it hurries nothing
    }
    let pauses = failed_at.windows(2).map(|it| (it[1] - it[0]).0);
    let pauses: Vec<u64> = pauses.map(|it| it / 10_000_000 * 10).collect();
    assert_eq!(
        pauses,
        [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]
    );

    is_broken.store(false, Ordering::SeqCst);
    pass(A_WHILE).await;
    assert_eq!(desk.remembered(), [Fence(19)]);
    assert!(desk.words.try_recv().is_err(), "there is no more to say");
    // The next failure is a first one again.
    is_broken.store(true, Ordering::SeqCst);
    desk.hear(Fence(20));
    desk.fault().await;
    is_broken.store(false, Ordering::SeqCst);
    pass(millis(600)).await;
    assert_eq!(desk.remembered(), [Fence(19), Fence(20)]);
}

#[tokio::test(start_paused = true)]
async fn a_grant_is_judged_by_what_was_heard_though_it_could_not_be_kept() {
    let shop = Shop::open(TTL);
    shop.books().count = 5;
    let keep = |_: &Seen| Err(io::Error::other("disk full"));
    let mut desk = Desk::with(&shop, 1, 0, None, keep);
    desk.hear(Fence(10));
    desk.fault().await;
    desk.clerk.request(Request::Acquire);
    let why = desk.shut_out().await;
    assert!(why.contains("fence 6, but 10 was seen before"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_hangs_is_told_of_when_the_grant_is_over_and_until_it_answers() {
    let shop = Shop::open(TTL);
    let (mut desk, disk) = with_a_slow_disk(&shop);
    desk.clerk.request(Request::Acquire);
    for _ in 0..300 {
        if desk.clerk.is_stuck() {
            break;
        }
        // Time does not pass by itself while a thread is at work.
        tokio::time::advance(TTL / 100).await;
    }
    assert!(desk.clerk.is_stuck(), "for three ttls");
    let why = desk.fault().await;
    assert!(why.contains("the disk hangs"), "{why}");
    desk.clerk.request(Request::Withdraw);
    for _ in 0..1_000 {
        disk.send(()).unwrap();
    }
    pass(TTL).await;
    assert!(!desk.clerk.is_stuck());
    assert_eq!(desk.held(), None);
}

/// A request that comes while the disk is at work.
#[tokio::test(start_paused = true)]
async fn what_is_being_kept_when_something_else_is_asked_is_tried_again_too() {
    let shop = Shop::open(TTL);
    let (go_on, wait) = std::sync::mpsc::channel();
    let keep = move |_: &Seen| wait.recv().map_err(io::Error::other)?;
    let mut desk = Desk::with(&shop, 1, 0, None, keep);
    desk.hear(Fence(10));
    tokio::task::yield_now().await;
    desk.clerk.request(Request::Withdraw);
    tokio::task::yield_now().await;
    go_on.send(Err(io::Error::other("disk full"))).unwrap();
    assert!(desk.fault().await.contains("disk full"));
    go_on.send(Ok(())).unwrap();
    pass(millis(600)).await;
    assert_eq!(desk.remembered(), [Fence(10)]);
}

/// Its own store has not told which it is when the fence is heard.
#[tokio::test(start_paused = true)]
async fn a_fence_by_another_store_is_not_held_against_its_own() {
    let [own, another] = [7, 8].map(|it| Some(Mark::of(it)));
    for (heard_of, tells, is_granted) in [
        (own, Some(7), false),
        (another, Some(7), true),
        (None, Some(7), false),
        // It may be any.
        (another, None, false),
    ] {
        for restarts in [false, true] {
            let shop = Shop::open(TTL);
            (shop.books().identity, shop.books().count) = (tells, 4);
            let mut desk = Desk::new(&shop, 1);
            desk.hear_of(heard_of, Fence(10));
            pass(millis(100)).await;
            if restarts {
                desk = restarted(&shop, &on_disk(&desk));
            }
            desk.clerk.request(Request::Acquire);
            match desk.word().await {
                Word::Gained(fence) => assert_eq!((fence, is_granted), (Fence(5), true)),
                Word::ShutOut(Some(why)) => {
                    assert!(why.contains("fence 5, but 10 was seen before"), "{why}");
                    assert!(!is_granted, "{heard_of:?} {tells:?}");
                    pass(millis(100)).await;
                    assert_eq!(on_disk(&desk).highest, Some(Fence(10)));
                }
                word => panic!("{word:?}"),
            }
        }
    }
}

/// What was told is remembered, so what is heard of that store counts when it is heard; though the store is away.
#[tokio::test(start_paused = true)]
async fn who_restarts_knows_its_store_before_that_answers() {
    let shop = Shop::open(TTL);
    shop.books().identity = Some(7);
    let mut desk = Desk::new(&shop, 1);
    assert_eq!(desk.acquire().await, Fence(1));
    let desk = restarted(&shop, &on_disk(&desk));
    for (store, fence) in [(7, 10), (8, 20)] {
        desk.hear_of(Some(Mark::of(store)), Fence(fence));
    }
    pass(millis(100)).await;
    let seen = on_disk(&desk);
    assert_eq!(
        (seen.highest, seen.store),
        (Some(Fence(10)), Some(Mark::of(7)))
    );
    assert_eq!(seen.heard, [(Mark::of(8), Fence(20))].into());
    assert_eq!(shop.books().asked, ["acquire"], "nobody asked it again");
}

/// Before that it was on the wrong store.
#[tokio::test(start_paused = true)]
async fn who_is_given_another_store_goes_by_what_that_one_tells() {
    let shop = Shop::open(TTL);
    shop.books().identity = Some(7);
    let seen = Seen {
        highest: None,
        store: Some(Mark::of(8)),
        heard: [(Mark::of(7), Fence(10))].into(),
    };
    let mut desk = restarted(&shop, &seen);
    desk.clerk.request(Request::Acquire);
    let why = desk.shut_out().await;
    assert!(why.contains("fence 1, but 10 was seen before"), "{why}");
    pass(millis(100)).await;
    assert_eq!(on_disk(&desk).store, Some(Mark::of(7)));
}
