//! What a clerk makes of a store that answers late, twice, or with an old value.

mod memory;
mod set_back;

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration as StdDuration;

use hustings_protocol::{Duration, Instant, MemberId};
use tokio::sync::mpsc;

use super::fake::{Shop, clock, sleep_machine};
use super::{Clerk, Heard};
use crate::authority::{Cell, Fence, Held, Mark, Memory, Request, Seen, StoreTerms, Word, era};

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

/// A clerk, and what it tells.
struct Desk {
    clerk: Clerk,
    words: mpsc::UnboundedReceiver<(usize, Word)>,
    kept: Arc<Mutex<Vec<Seen>>>,
}

impl Desk {
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
        let seen = Seen {
            highest,
            ..Seen::default()
        };
        Self::who_saw(seen, shop, member, era, keep)
    }

    fn who_saw(
        seen: Seen,
        shop: &Shop,
        member: u64,
        era: u16,
        mut keep: impl FnMut(&Seen) -> io::Result<()> + Send + 'static,
    ) -> Self {
        let (sender, words) = mpsc::unbounded_channel();
        let kept = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&kept);
        let remember = Box::new(move |seen: &Seen| {
            keep(seen)?;
            list.lock().unwrap().push(seen.clone());
            Ok(())
        });
        let memory = Memory { seen, remember };
        let (store, words_to) = (shop.member(member), (7, sender));
        let clerk = Clerk::hire_by(clock, store, terms(era), memory, words_to);
        Self { clerk, words, kept }
    }

    /// Another member holds `fence`, and does not say by which store.
    fn hear(&self, fence: Fence) {
        self.hear_of(None, fence);
    }

    fn hear_of(&self, store: Option<Mark>, fence: Fence) {
        self.clerk.hear(Heard {
            by: OTHER,
            store,
            fence,
            holds: true,
        });
    }

    /// The highest fences that were kept, in order.
    fn remembered(&self) -> Vec<Fence> {
        let kept = self.kept.lock().unwrap();
        kept.iter().filter_map(|it| it.highest).collect()
    }

    async fn word(&mut self) -> Word {
        let word = tokio::time::timeout(A_WHILE, self.words.recv()).await;
        let (group, word) = word.expect("a word in time").expect("it is at work");
        assert_eq!(group, 7);
        word
    }

    /// The next word that is no refusal.
    async fn news(&mut self) -> Word {
        loop {
            match self.word().await {
                Word::Refused(_) | Word::ShutOut(_) => {}
                word => return word,
            }
        }
    }

    async fn refusal(&mut self) -> String {
        match self.word().await {
            Word::Refused(why) => why,
            word => panic!("{word:?} is no refusal"),
        }
    }

    /// Why it takes no tenure from its store from now on.
    async fn shut_out(&mut self) -> String {
        loop {
            match self.word().await {
                Word::Refused(_) => {}
                Word::ShutOut(Some(why)) => return why,
                word => panic!("{word:?}, and it is not shut out"),
            }
        }
    }

    async fn fault(&mut self) -> String {
        match self.news().await {
            Word::Failed(why) => why,
            word => panic!("{word:?} is no fault"),
        }
    }

    async fn acquire(&mut self) -> Fence {
        self.clerk.request(Request::Acquire);
        match self.news().await {
            Word::Gained(fence) => fence,
            word => panic!("{word:?}, not gained"),
        }
    }

    fn held(&self) -> Option<Held> {
        held(&self.clerk.cell())
    }
}

fn held(cell: &Cell) -> Option<Held> {
    cell.borrow().filter(|held| clock() < held.until)
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
    let mut desk = Desk::new(&shop, 1);
    let asked_at = clock();
    assert_eq!(desk.acquire().await, Fence(1));
    let until = desk.held().unwrap().until;
    // 10 s times 0.9998/1.0002.
    assert_eq!(until - asked_at, Duration(9_996_000_799));
    pass(TTL * 5).await;
    assert_eq!(desk.held().map(|held| held.fence), Some(Fence(1)));
    assert!(
        shop.books()
            .asked
            .iter()
            .filter(|it| **it == "renew")
            .count()
            >= 12
    );
    assert!(desk.clerk.reachable());
}

#[tokio::test(start_paused = true)]
async fn what_a_store_grants_beyond_what_it_was_asked_for_is_not_used() {
    let shop = Shop::open(TTL * 3);
    let mut desk = Desk::new(&shop, 1);
    let asked_at = clock();
    desk.acquire().await;
    assert!(desk.held().unwrap().until - asked_at < Duration::from(TTL));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_falls_silent_ends_tenure_in_time_and_its_late_answer_revives_nothing() {
    let shop = Shop::open(TTL);
    let mut desk = Desk::new(&shop, 1);
    let first = desk.acquire().await;
    shop.books().delays = (millis(0), A_WHILE);
    let why = desk.refusal().await;
    assert!(why.contains("the shop did not answer in time"), "{why}");
    assert!(!desk.clerk.reachable());
    let until = desk.held().unwrap().until;
    assert_eq!(desk.news().await, Word::Lost(first));
    assert!(clock() >= until && clock() - until < Duration::from_millis(300));
    assert_eq!(*desk.clerk.cell().borrow(), None);

    shop.books().delays = (millis(0), millis(0));
    let Word::Gained(second) = desk.news().await else {
        panic!("the first word after that is of the next tenure")
    };
    assert!(second > first);
}

#[tokio::test(start_paused = true)]
async fn time_asleep_counts() {
    let shop = Shop::open(TTL);
    let mut desk = Desk::new(&shop, 1);
    let fence = desk.acquire().await;
    let woken = tokio::time::Instant::now();
    sleep_machine(TTL);
    assert_eq!(desk.held(), None, "whoever asks is told at once");
    assert_eq!(desk.news().await, Word::Lost(fence));
    assert!(woken.elapsed() <= super::NAP, "{:?}", woken.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_is_answered_after_a_sleep_comes_too_late() {
    let shop = Shop::open(TTL);
    let mut desk = Desk::new(&shop, 1);
    let fence = desk.acquire().await;
    shop.books().delays = (millis(0), millis(100));
    while shop.books().asked.last() != Some(&"renew") {
        pass(millis(10)).await;
    }
    // The store has renewed it, and the machine sleeps before it hears so.
    let left = desk.held().unwrap().until - clock();
    sleep_machine(StdDuration::from_nanos(left.0));
    assert_eq!(desk.news().await, Word::Lost(fence));
}

#[tokio::test(start_paused = true)]
async fn what_was_given_up_is_released_before_anything_else_is_asked_for() {
    let shop = Shop::open(TTL);
    shop.books().delays = (millis(0), ANSWER_WITHIN * 2);
    let mut desk = Desk::new(&shop, 1);
    desk.clerk.request(Request::Acquire);
    desk.refusal().await;
    shop.books().delays = (millis(0), millis(0));
    assert_eq!(desk.news().await, Word::Gained(Fence(2)));
    assert_eq!(shop.books().asked[..3], ["acquire", "release", "acquire"]);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_withdrawn_is_released() {
    let shop = Shop::open(TTL);
    shop.books().delays = (millis(100), millis(1_000));
    let mut desk = Desk::new(&shop, 1);
    desk.clerk.request(Request::Acquire);
    pass(millis(500)).await;
    desk.clerk.request(Request::Withdraw);
    pass(TTL).await;
    assert!(shop.books().holder.is_none());
    assert_eq!(shop.books().asked, ["acquire", "release"]);
    assert!(desk.words.try_recv().is_err(), "it was never gained");
}

#[tokio::test(start_paused = true)]
async fn what_arrives_twice_at_the_store_is_granted_once_here() {
    let shop = Shop::open(TTL);
    shop.books().twice = true;
    let mut desk = Desk::new(&shop, 1);
    let first = desk.acquire().await;
    assert_eq!((first, shop.books().count), (Fence(1), 2));
    // The store holds the second against the first, so that one cannot be renewed.
    assert_eq!(desk.news().await, Word::Lost(first));
    shop.books().twice = false;
    assert_eq!(desk.news().await, Word::Gained(Fence(3)));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_counts_beyond_an_era_is_asked_no_more_until_the_era_is_raised() {
    let shop = Shop::open(TTL);
    shop.books().count = era::begin(1) - 1;
    let mut desk = Desk::new(&shop, 1);
    desk.clerk.request(Request::Acquire);
    let why = desk.shut_out().await;
    assert!(why.contains("more than an era has: raise `era`"), "{why}");
    pass(A_WHILE).await;
    assert_eq!(shop.books().asked, ["acquire", "release"]);
    assert_eq!(desk.remembered(), [era::last(0)]);
    desk.words.try_recv().expect_err("all was said");
}

#[tokio::test(start_paused = true)]
async fn the_fences_of_others_count_too() {
    let shop = Shop::open(TTL);
    shop.books().count = 9;
    let mut other = Desk::new(&shop, 1);
    assert_eq!(other.acquire().await, Fence(10));
    let mut desk = Desk::new(&shop, 2);
    desk.clerk.request(Request::Acquire);
    assert_eq!(desk.refusal().await, "`1` holds tenure");
    pass(millis(100)).await;
    assert_eq!(desk.remembered(), [Fence(10)]);
    drop(other);
    {
        let mut books = shop.books();
        (books.count, books.holder) = (4, None);
    }
    let why = desk.shut_out().await;
    assert!(why.contains("fence 5, but 10 was seen before"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_fence_is_remembered_before_it_is_shown_or_not_shown_at_all() {
    let shop = Shop::open(TTL);
    let mut desk = Desk::with(&shop, 1, 0, None, |_| Err(io::Error::other("disk full")));
    desk.clerk.request(Request::Acquire);
    let why = desk.fault().await;
    assert!(why.contains("could not be remembered"), "{why}");
    assert!(why.contains("disk full"), "{why}");
    assert!(desk.clerk.is_stuck());
    assert_eq!(*desk.clerk.cell().borrow(), None);
    desk.clerk.request(Request::Withdraw);
    desk.clerk.finish().await;
    assert!(shop.books().holder.is_none(), "it was given back");

    let mut good = Desk::new(&shop, 2);
    let fence = good.acquire().await;
    assert_eq!(good.remembered(), [fence]);
    assert!(!good.clerk.is_stuck());
}

#[tokio::test(start_paused = true)]
async fn what_is_held_goes_on_when_withdrawn_and_ends_when_released() {
    let shop = Shop::open(TTL);
    let mut desk = Desk::new(&shop, 1);
    let fence = desk.acquire().await;
    desk.clerk.request(Request::Withdraw);
    pass(TTL * 3).await;
    assert_eq!(desk.held().map(|held| held.fence), Some(fence));
    desk.clerk.request(Request::Release);
    assert_eq!(desk.news().await, Word::Lost(fence));
    assert_eq!(*desk.clerk.cell().borrow(), None, "shown before it is told");
    desk.clerk.finish().await;
    assert!(shop.books().holder.is_none());
    assert_eq!(shop.books().asked.last(), Some(&"release"));
}

#[tokio::test(start_paused = true)]
async fn who_has_nothing_to_hand_over_stands_on_and_who_has_stops() {
    let shop = Shop::open(TTL);
    let transfer = Request::Transfer { to: MemberId(2) };
    let mut first = Desk::new(&shop, 1);
    let fence = first.acquire().await;
    let mut second = Desk::new(&shop, 2);
    second.clerk.request(Request::Acquire);
    second.clerk.request(transfer);
    first.clerk.request(transfer);
    assert_eq!(first.news().await, Word::Lost(fence));
    assert_eq!(second.news().await, Word::Gained(Fence(2)));
    pass(TTL * 2).await;
    assert_eq!(first.held(), None);
}

#[tokio::test(start_paused = true)]
async fn who_cannot_work_neither_tries_nor_renews() {
    let shop = Shop::open(TTL);
    let mut desk = Desk::new(&shop, 1);
    desk.clerk.request(Request::Healthy(false));
    desk.clerk.request(Request::Acquire);
    pass(A_WHILE).await;
    assert!(shop.books().asked.is_empty());
    desk.clerk.request(Request::Healthy(true));
    let fence = desk.acquire().await;
    desk.clerk.request(Request::Healthy(false));
    assert_eq!(desk.news().await, Word::Lost(fence));
    assert!(!shop.books().asked.contains(&"renew"));
}

#[tokio::test(start_paused = true)]
async fn what_is_taken_away_is_lost_at_the_next_renewal() {
    let shop = Shop::open(TTL);
    let mut desk = Desk::new(&shop, 1);
    let fence = desk.acquire().await;
    let until = desk.held().unwrap().until;
    shop.books().holder = None;
    let why = desk.refusal().await;
    assert!(why.contains("no longer knows"), "{why}");
    assert_eq!(desk.news().await, Word::Lost(fence));
    assert!(clock() < until);
    assert_eq!(desk.news().await, Word::Gained(Fence(2)));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_released_runs_out_when_its_member_goes() {
    let shop = Shop::open(TTL);
    let mut desk = Desk::new(&shop, 1);
    desk.acquire().await;
    let cell = desk.clerk.cell();
    let until: Instant = held(&cell).unwrap().until;
    desk.clerk.finish().await;
    assert_eq!(shop.books().asked, ["acquire"]);
    assert_eq!(held(&cell).unwrap().until, until);
    pass(TTL).await;
    assert_eq!(held(&cell), None);
}

/// Whatever it asks, and however often: nothing was granted that could not be released.
#[tokio::test(start_paused = true)]
async fn what_a_store_refuses_is_told_once_and_the_store_has_answered() {
    let shop = Shop::open(TTL);
    let why = "the shop refuses: no rights: get some";
    shop.books().refusal = Some(why.to_owned());
    let mut desk = Desk::new(&shop, 1);
    desk.clerk.request(Request::Acquire);
    assert_eq!(desk.refusal().await, why);
    pass(A_WHILE).await;
    assert!(shop.books().asked.contains(&"release"));
    assert!(desk.words.try_recv().is_err(), "it says something else");
    assert!(desk.clerk.reachable());
    shop.books().refusal = None;
    assert_eq!(desk.acquire().await, Fence(1));
}
