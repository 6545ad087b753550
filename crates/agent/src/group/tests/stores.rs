//! Members that ask stores for tenure.

use std::time::Duration as StdDuration;

use hustings_protocol::Duration;
use hustings_protocol::tenure::{Fence, Request};
use tokio::sync::mpsc;
use tracing::Level;

use super::{Field, id};
use crate::authority::store::{Denied, Grant, Store};
use crate::authority::{Authority, Word, store_id};
use crate::group::{Group, Outbox};
use crate::logged::logged;

/// Far longer than anything here takes.
const A_WHILE: StdDuration = StdDuration::from_secs(10);

/// A store that grants tenure to whoever asks.
struct Generous {
    count: u64,
    identity: Option<u64>,
    /// Whether it was asked: before, it tells nothing of itself.
    was_asked: bool,
}

impl Generous {
    fn new(count: u64, identity: Option<u64>) -> Self {
        Self {
            count,
            identity,
            was_asked: false,
        }
    }
}

impl Store for Generous {
    async fn acquire(&mut self) -> Result<Grant, Denied> {
        self.was_asked = true;
        let (count, ttl) = (self.count, StdDuration::from_secs(3600));
        Ok(Grant { count, ttl })
    }
    async fn renew(&mut self) -> Result<StdDuration, Denied> {
        Err(Denied::Gone)
    }
    async fn release(&mut self) -> Result<(), Denied> {
        Ok(())
    }
    async fn freed(&mut self) -> Result<(), Denied> {
        std::future::pending().await
    }
    fn told(&self) -> Option<u64> {
        None
    }
    fn identity(&self) -> Option<u64> {
        self.identity.filter(|_| self.was_asked)
    }
    fn place(&self) -> String {
        "a store".to_owned()
    }
}

/// Two members whose stores are told apart by this, after each was granted tenure by its own. The second has the higher
/// fence.
async fn granted_by(identities: [Option<u64>; 2]) -> Field {
    granted([1, 2], identities).await
}

/// The same, with these fences.
async fn granted(counts: [u64; 2], identities: [Option<u64>; 2]) -> Field {
    heard_granted(counts, identities).await.0
}

type Told = mpsc::UnboundedReceiver<(usize, Word)>;

/// The same, and what the clerks tell from then on.
async fn heard_granted(counts: [u64; 2], identities: [Option<u64>; 2]) -> (Field, Told) {
    let mut field = Field::empty();
    let (words, mut told) = mpsc::unbounded_channel();
    for (count, identity) in counts.into_iter().zip(identities) {
        field.admit_by_store(0, Generous::new(count, identity), words.clone());
    }
    field.run(Duration::from_secs(1));
    for member in &mut field.members {
        member.ask_authority(field.now, Request::Acquire, &mut Outbox::new());
    }
    for _ in 0..2 {
        let (index, word) = told.recv().await.expect("the clerks are at work");
        let mut out = Outbox::new();
        field.members[index].on_word(field.now, &word, &mut out);
        field.post(index, out);
    }
    field.run(Duration::from_secs(1));
    (field, told)
}

#[tokio::test]
async fn a_holder_by_another_store_drives_nobody_out_and_both_say_so() {
    let field = granted_by([Some(7), Some(8)]).await;
    assert_eq!(field.leaders(), [0, 1]);
    for (it, other) in [(0, "`m1`"), (1, "`m0`")] {
        let whys = field.whys(it);
        let is_told = |why: &String| why.contains(other) && why.contains("another store");
        assert!(whys.iter().any(is_told), "{whys:?}");
    }
    // One store that has granted twice has lost what it counted: who holds the lower fence gives up. So it is taken
    // to be where a store tells nothing of itself.
    for identities in [[Some(7), Some(7)], [None, Some(7)], [Some(7), None]] {
        let field = granted_by(identities).await;
        assert_eq!(field.leaders(), [1], "{identities:?}");
        assert!(field.whys(0).iter().all(|it| !it.contains("another store")));
    }
}

/// A store that was set back, or a standby that lagged and was promoted beside its primary.
#[tokio::test]
async fn two_who_hold_one_fence_by_one_store_both_give_it_up_and_say_what_to_do() {
    let (mut field, mut told) = heard_granted([7, 7], [Some(1), Some(1)]).await;
    assert_eq!(field.leaders(), [] as [usize; 0]);
    for (it, other) in [(0, "`m1`"), (1, "`m0`")] {
        let whys = field.whys(it);
        let is_told = |why: &String| {
            why.contains(other) && why.contains("fence 7 as well") && why.contains("raise `era`")
        };
        assert!(whys.iter().any(is_told), "{whys:?}");
    }
    // The clerks release it, and take nothing more of that era, though the store grants to whoever asks.
    field.run(Duration::from_secs(20));
    for member in &mut field.members {
        member.ask_authority(field.now, Request::Acquire, &mut Outbox::new());
    }
    let mut have_said = [false; 2];
    while have_said != [true; 2] {
        let word = tokio::time::timeout(A_WHILE, told.recv()).await;
        match word.expect("both say so").expect("the clerks are at work") {
            (it, Word::ShutOut(Some(why))) => {
                have_said[it] |= why.contains("to this member and to another");
            }
            (it, word @ Word::Gained(_)) => panic!("{word:?} of {it}"),
            _ => {}
        }
    }
    assert_eq!(field.holders(), [] as [usize; 0]);
    // By two stores each goes on: there it is for the resource to tell.
    let field = granted([7, 7], [Some(1), Some(2)]).await;
    assert_eq!(field.leaders(), [0, 1]);
}

/// The group heard it just before it could see that its clerk had won, so the clerk alone can notice.
#[tokio::test]
async fn who_holds_what_another_was_heard_to_hold_gives_it_up_before_it_hears_so_again() {
    for theirs in [Fence(1), Fence(2)] {
        let (mut field, mut told) = heard_granted([1, 9], [Some(1), Some(2)]).await;
        assert_eq!(field.leaders(), [0, 1]);
        let store = store_id("store", Some(1));
        for fence in [Fence(0), theirs] {
            let authority = &field.members[0].tenancy.authority;
            authority.hear_fence(id(1), store, fence, true);
        }
        let mut is_told = false;
        while !is_told {
            let word = tokio::time::timeout(A_WHILE, told.recv()).await;
            let word = word.expect("it says so").expect("the clerks are at work");
            let (by, fence) = (id(1), theirs);
            is_told = word == (0, Word::Contested { by, fence });
            field.members[0].on_word(field.now, &word.1, &mut Outbox::new());
        }
        assert_eq!(field.leaders(), [1], "{theirs}");
        let now = field.now;
        assert_eq!(field.members[0].tenancy.authority.holds(now), None);
        let whys = field.whys(0);
        let say = |why: &String| why.contains(&format!("`m1` has fence {theirs}"));
        assert!(whys.iter().any(say), "{whys:?}");
    }
}

/// A disk that fails is told of as one of a voter's is.
#[tokio::test]
async fn what_a_clerk_says_that_a_person_must_see_to_is_shown() {
    let mut field = granted_by([Some(7), Some(8)]).await;
    let word = Word::Failed("disk full".to_owned());
    field.members[0].on_word(field.now, &word, &mut Outbox::new());
    assert!(field.whys(0).contains(&"disk full".to_owned()));
    assert_eq!(field.leaders(), [0, 1], "what is held goes on");
}

/// Nobody may ask for its status before the leader fails.
#[tokio::test]
async fn a_member_that_its_store_shuts_out_warns_at_once_and_shows_it_until_it_is_over() {
    let mut field = Field::empty();
    let (words, _told) = mpsc::unbounded_channel();
    field.admit_by_store(0, Generous::new(1, None), words);
    let now = field.now;
    let member = &mut field.members[0];
    let shut_out = |member: &Group| {
        let tenure = member.tenure_status(now).expect("it is fenced");
        let last = tenure.refusals.last().map(|it| it.why.clone());
        (tenure.shut_out, last)
    };
    assert_eq!(shut_out(member), (Some(false), None));
    let mut hear = |word| {
        let lines = logged(|| member.on_word(now, &word, &mut Outbox::new()));
        (lines, shut_out(member))
    };
    let said = |why: &str| Some(why.to_owned());
    let (lines, shown) = hear(Word::ShutOut(said("set back to 8")));
    let [(Level::WARN, line)] = &lines[..] else {
        panic!("no warning: {lines:?}");
    };
    assert!(
        line.ends_with("it cannot follow a leader that fails: set back to 8"),
        "{line}"
    );
    assert_eq!(shown, (Some(true), said("set back to 8")));
    let (lines, shown) = hear(Word::ShutOut(said("set back to 9")));
    assert!(
        lines.iter().all(|(level, _)| *level == Level::INFO),
        "{lines:?}"
    );
    assert_eq!(shown, (Some(true), said("set back to 9")));
    for _ in 0..20 {
        let (_, shown) = hear(Word::Refused("`other` holds tenure".to_owned()));
        assert_eq!(shown, (Some(true), said("set back to 9")), "it stays");
    }
    let (_, (is_shut_out, _)) = hear(Word::ShutOut(None));
    assert_eq!(is_shut_out, Some(false));
    assert!(field.members[0].counters.tenure_refusals >= 22);
}

/// The leader never learnt of the higher fence, as it was down when that was granted.
#[tokio::test]
async fn a_leader_below_the_mark_is_warned_of_while_it_says_that_it_holds() {
    let mut field = Field::empty();
    let (words, mut told) = mpsc::unbounded_channel();
    for (ttl, count) in [(Duration::from_millis(50), 0), (Duration::from_secs(60), 9)] {
        let store = Generous::new(count, Some(7));
        field.admit_by_store_for(ttl, 0, store, words.clone());
    }
    field.run(Duration::from_secs(1));
    let authority = &field.members[0].tenancy.authority;
    authority.hear_fence(id(5), store_id("store", Some(7)), Fence(10), false);
    field.members[1].ask_authority(field.now, Request::Acquire, &mut Outbox::new());
    let word = told.recv().await.expect("the clerks are at work");
    assert_eq!(word, (1, Word::Gained(Fence(9))));
    let mut out = Outbox::new();
    field.members[1].on_word(field.now, &word.1, &mut out);
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
        Ok((0, Word::ShutOut(Some(why)))) => assert!(why.contains("holds fence 9"), "{why}"),
        word => panic!("{word:?}"),
    }
}

/// "No tenure yet" would send whoever reads it to look for a leader that is there.
#[tokio::test]
async fn a_renewal_that_fails_is_a_warning_of_a_member_that_still_holds() {
    let mut field = granted_by([Some(7), Some(8)]).await;
    let now = field.now;
    let word = Word::Refused("tenure was not renewed: no answer".to_owned());
    let lines = logged(|| field.members[0].on_word(now, &word, &mut Outbox::new()));
    let [(Level::WARN, line)] = &lines[..] else {
        panic!("no warning: {lines:?}");
    };
    assert!(
        line.contains("still holds tenure with fence 1, for "),
        "{line}"
    );
    assert!(
        line.ends_with(": tenure was not renewed: no answer"),
        "{line}"
    );

    let (words, _told) = mpsc::unbounded_channel();
    field.admit_by_store(0, Generous::new(1, None), words);
    let lines = logged(|| field.members[2].on_word(now, &word, &mut Outbox::new()));
    let [(Level::INFO, line)] = &lines[..] else {
        panic!("{lines:?}");
    };
    assert!(line.contains("no tenure yet: "), "{line}");
}

/// The first has heard who holds, and asks the store after that has lost its count. It knows which store that is when it
/// answers.
#[tokio::test]
async fn who_has_heard_a_fence_takes_none_that_is_not_above_it() {
    for (own, theirs, is_taken) in [
        (6, 1, false),
        (7, 1, false),
        (8, 1, true),
        // That was another store.
        (6, 2, true),
    ] {
        let mut field = Field::empty();
        let (words, mut told) = mpsc::unbounded_channel();
        for (merit, count, identity) in [(0, own, 1), (9, 7, theirs)] {
            let store = Generous::new(count, Some(identity));
            field.admit_by_store(merit, store, words.clone());
        }
        field.run(Duration::from_secs(1));
        for index in [1, 0] {
            let mut out = Outbox::new();
            field.members[index].ask_authority(field.now, Request::Acquire, &mut out);
            field.post(index, out);
            let (whose, word) = told.recv().await.expect("the clerks are at work");
            assert_eq!(whose, index);
            match (&word, index == 1 || is_taken) {
                (Word::Gained(_), true) => {}
                (Word::ShutOut(Some(why)), false) => assert!(why.contains("7 was seen"), "{why}"),
                _ => panic!("{own}: {word:?} of {index}"),
            }
            let mut out = Outbox::new();
            field.members[index].on_word(field.now, &word, &mut out);
            field.post(index, out);
            field.run(Duration::from_secs(1));
        }
    }
}

/// The store is told by a clerk, which may take its time. Whoever began to work meanwhile would work after another one
/// was granted tenure.
#[tokio::test]
async fn who_gives_up_what_a_store_granted_does_not_lead_until_the_store_knows() {
    let mut field = granted_by([Some(7), Some(8)]).await;
    field.step_down(0);
    assert_eq!(
        field.holders(),
        [0, 1],
        "the clerk has not been at work yet"
    );
    assert_eq!(field.leaders(), [1]);
    field.run(Duration::from_secs(1));
    assert_eq!(field.leaders(), [1]);
}

#[tokio::test]
async fn stores_of_two_kinds_and_voters_are_told_apart_though_a_store_has_told_nothing() {
    let field = granted_by([None, Some(7)]).await;
    let [untold, told] = [0, 1].map(|it| &field.members[it].tenancy.authority);
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
async fn fence_that_was_made_up_is_counted() {
    let (mut field, mut told) = heard_granted([1, 9], [Some(1), Some(2)]).await;
    let far = Fence(1 << 40);
    for expected in 1..=3 {
        let authority = &field.members[0].tenancy.authority;
        authority.hear_fence(id(1), store_id("store", Some(1)), far, true);
        let word = tokio::time::timeout(A_WHILE, told.recv()).await;
        let (index, word) = word.expect("it says so").expect("the clerks are at work");
        field.members[index].on_word(field.now, &word, &mut Outbox::new());
        let counters = &field.members[0].counters;
        assert_eq!(counters.far_fences, expected, "{word:?}");
    }
    assert_eq!(field.leaders(), [0, 1], "it goes on");
}
