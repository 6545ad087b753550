//! The contract of every store, whatever happens to it.

use std::time::Duration as StdDuration;

use hustings_agent::authority::store::Store;
use hustings_agent::authority::{Fence, Heard, Request, Seen, StoreTag};
use hustings_agent::clock;
use hustings_agent::identity::member_id;
use hustings_protocol::Duration;
use tokio::time::timeout;

use crate::agents::{Agents, NAMES};
use crate::common::named;
use crate::house::House;
use crate::member::{
    ANSWER_WITHIN, Group, Member, PATIENCE, TTL, first_to_gain, pass, terms, until,
};
use crate::proxy::Proxy;
use crate::watcher::Watcher;
use hustings_testkit::Scratch;

/// The longest delay between the end of a tenure that is not released and the next: the store looks
/// for expired leases only from time to time, members wait in doubt, and the machine may be busy.
const SLACK: Duration = Duration::from_secs(4);

/// Nothing happens to the store. All parts run at once, each in its own group.
pub(crate) async fn in_peace<H: House>() {
    let house = H::open().await;
    tokio::join!(
        one_of_three_holds_and_hands_over(&house),
        renewal_keeps_it(&house),
        the_dead_are_followed_when_their_time_is_over(&house),
        what_is_taken_away_is_over(&house),
        a_line_that_fails_ends_tenure_in_time(&house),
        late_answers_count_for_nothing(&house),
        a_line_that_was_cut_for_a_moment_costs_nothing(&house),
        what_is_carried_out_late_ends_no_later_tenure(&house),
    );
    assert_eq!(house.litter().await, Vec::<String>::new());
}

async fn three<H: House>(group: &Group<'_, H>) -> Vec<Member> {
    let mut members = Vec::new();
    for name in ["anna", "ben", "carla"] {
        members.push(group.member(name).await);
    }
    members
}

async fn one_of_three_holds_and_hands_over(house: &impl House) {
    let group = Group::new(house, "race");
    let mut members = three(&group).await;
    for member in &members {
        member.ask(Request::Acquire);
    }
    let (mut holder, mut fence) = first_to_gain(&mut members).await;
    for _ in 0..4 {
        // Long enough for the other members to be refused and to wait.
        pass(Duration(TTL.0 / 3)).await;
        let holding = members.iter().filter(|it| it.held().is_some()).count();
        assert_eq!(holding, 1);
        let ends = members[holder].held().expect("it is renewed").until;
        members[holder].release().await;
        let released_at = clock::now();
        let (next, higher) = first_to_gain(&mut members).await;
        let took = clock::now() - released_at;
        // Nothing but the release shows the others that they need not wait for the end.
        assert!(clock::now() < ends, "handed over after {took}");
        assert!(higher > fence && next != holder, "{higher} after {fence}");
        members[holder].ask(Request::Acquire);
        (holder, fence) = (next, higher);
    }
    leave(members).await;
    group.watcher.judge();
}

async fn renewal_keeps_it(house: &impl House) {
    let group = Group::new(house, "renewal");
    let mut holder = group.member("anna").await;
    let mut other = group.member("ben").await;
    let fence = holder.acquire().await;
    other.ask(Request::Acquire);
    other.refused("`anna` holds tenure").await;
    holder.ask(Request::Withdraw); // the tenure that it holds continues
    let first = holder.held().unwrap().until;
    pass(TTL * 3).await;
    let held = holder.held().expect("it is renewed");
    assert_eq!(held.fence, fence);
    assert!(held.until > first);
    assert_eq!(other.held(), None);
    leave(vec![other, holder]).await;
    group.watcher.judge();
}

async fn the_dead_are_followed_when_their_time_is_over(house: &impl House) {
    let group = Group::new(house, "death");
    let mut holder = group.member("anna").await;
    let mut next = group.member("ben").await;
    let fence = holder.acquire().await;
    next.ask(Request::Acquire);
    next.refused("holds tenure").await;
    let ends = holder.held().unwrap().until;
    drop(holder);
    let higher = next.gained().await;
    assert!(higher > fence);
    let late = clock::now() - ends;
    assert!(clock::now() >= ends && late < SLACK, "{late} after its end");
    leave(vec![next]).await;
    group.watcher.judge();
}

async fn what_is_taken_away_is_over(house: &impl House) {
    let group = Group::new(house, "person");
    let mut holder = group.member("anna").await;
    let fence = holder.acquire().await;
    house.take_away("person").await;
    let why = holder.refused("no longer knows").await;
    assert!(why.contains("tenure was not renewed"), "{why}");
    holder.lost(fence).await;
    assert!(holder.gained().await > fence);
    leave(vec![holder]).await;
    group.watcher.judge();
}

/// An administrator ends a member's tenure at the store repeatedly, and the members do not receive
/// each other's messages. The guide states for how long two members may then hold tenure.
pub(crate) async fn ended_by_hand<H: House>() {
    const ROUNDS: u64 = 8;
    let house = H::open().await;
    let group = Group::new(&house, "hand");
    let [mut holder, mut other] = [group.member("anna").await, group.member("ben").await];
    let mut fence = holder.acquire().await;
    let mut longest = Duration::ZERO;
    for round in 0..ROUNDS {
        other.ask(Request::Acquire);
        other.refused("holds tenure").await;
        holder.ask(Request::Withdraw); // the tenure continues, and the member does not ask again
        pass(Duration(TTL.0 / 3 / ROUNDS * round)).await; // at varying times between two renewals
        house.end("hand").await;
        let gained = async { (other.gained().await, clock::now()) };
        let lost = async {
            holder.lost(fence).await;
            clock::now()
        };
        let ((higher, from), to) = tokio::join!(gained, lost);
        assert!(higher > fence, "{higher} after {fence}");
        longest = longest.max(if from < to { to - from } else { Duration::ZERO });
        fence = higher;
        std::mem::swap(&mut holder, &mut other);
    }
    println!("two held for {longest} at most, at a ttl of {TTL}, in {ROUNDS} rounds");
    // The next renewal begins a third of a ttl after the last, and is answered in time.
    assert!(longest < Duration(TTL.0 / 3) + ANSWER_WITHIN, "{longest}");
    leave(vec![holder, other]).await;
}

async fn a_line_that_fails_ends_tenure_in_time(house: &impl House) {
    let group = Group::new(house, "line");
    let mut holder = group.member("anna").await;
    let mut other = group.member("ben").await;
    let fence = holder.acquire().await;
    other.ask(Request::Acquire);
    other.refused("holds tenure").await;
    holder.proxy.freeze();
    holder.refused("did not answer in time").await;
    assert!(!holder.lease_client.reachable());
    holder.lost(fence).await;
    let higher = other.gained().await;
    assert!(higher > fence);
    // The requests that were under way arrive now, and find another holder.
    holder.proxy.open();
    holder.refused("`ben` holds tenure").await;
    assert!(holder.lease_client.reachable());
    assert_eq!(holder.held(), None);
    assert_eq!(other.held().map(|it| it.fence), Some(higher));
    leave(vec![holder, other]).await;
    group.watcher.judge();
}

async fn late_answers_count_for_nothing(house: &impl House) {
    let group = Group::new(house, "late");
    let mut holder = group.member("anna").await;
    let fence = holder.acquire().await;
    holder.proxy.slow_answers((ANSWER_WITHIN * 2).into());
    holder.lost(fence).await;
    pass(TTL).await;
    assert_eq!(holder.held(), None, "a late grant was taken");
    holder.proxy.open();
    assert!(holder.gained().await > fence);
    leave(vec![holder]).await;
    group.watcher.judge();
}

async fn a_line_that_was_cut_for_a_moment_costs_nothing(house: &impl House) {
    let group = Group::new(house, "cut");
    let mut holder = group.member("anna").await;
    let fence = holder.acquire().await;
    for _ in 0..2 {
        holder.proxy.cut();
        pass(Duration::from_millis(300)).await;
        holder.proxy.open();
        pass(TTL).await;
    }
    assert_eq!(holder.held().map(|it| it.fence), Some(fence));
    leave(vec![holder]).await;
    group.watcher.judge();
}

async fn what_is_carried_out_late_ends_no_later_tenure(house: &impl House) {
    const MOMENT: StdDuration = StdDuration::from_millis(300);
    let proxy = Proxy::before(house.port()).await;
    let mut store = house.store(&terms("overdue", "anna", 0), proxy.port());
    // The connection is already open, so that the requests themselves are under way.
    let mut last = store.acquire().await.unwrap().count;
    for is_release in [false, true] {
        proxy.freeze_old();
        let given_up = match is_release {
            true => timeout(MOMENT, store.release()).await.is_err(),
            false => timeout(MOMENT, store.acquire()).await.is_err(),
        };
        assert!(given_up, "it was answered on a frozen line");
        store.release().await.unwrap();
        let count = store.acquire().await.unwrap().count;
        assert!(count > last);
        proxy.open();
        tokio::time::sleep(MOMENT).await;
        assert!(store.renew().await.is_ok(), "release: {is_release}");
        last = count;
    }
    store.release().await.unwrap();
}

/// The store is killed while a member holds tenure, and comes back after the ttl. Then it is killed
/// and comes back at once.
pub(crate) async fn killed<H: House>() {
    let mut house = H::open().await;
    let (mut members, watcher, mut holder, mut fence) = held_by_one_of_three(&house).await;
    for is_gone_for_long in [true, false] {
        let ends = members[holder].held().unwrap().until;
        house.server().kill();
        if is_gone_for_long {
            members[holder].lost(fence).await;
            assert!(clock::now() - ends < TTL, "not in time");
            until(ends + TTL).await;
            assert!(members.iter().all(|it| it.held().is_none()));
        }
        house.restart().await;
        if is_gone_for_long {
            let (next, higher) = first_to_gain(&mut members).await;
            assert!(higher > fence);
            (holder, fence) = (next, higher);
        }
        pass(TTL * 2).await;
    }
    let holding = members.iter().filter(|it| it.held().is_some()).count();
    assert_eq!(holding, 1);
    leave(members).await;
    watcher.judge();
}

/// The store is paused beyond the ttl while requests of all members are under way, and resumes.
pub(crate) async fn paused<H: House>() {
    let mut house = H::open().await;
    let (mut members, watcher, holder, fence) = held_by_one_of_three(&house).await;
    let ends = members[holder].held().unwrap().until;
    house.server().pause();
    members[holder].lost(fence).await;
    assert!(clock::now() - ends < TTL, "not in time");
    until(ends + TTL).await;
    assert!(members.iter().all(|it| it.held().is_none()));
    house.server().resume();
    let (_, higher) = first_to_gain(&mut members).await;
    assert!(higher > fence);
    pass(TTL * 2).await;
    leave(members).await;
    watcher.judge();
}

/// The store loses its counter. Members that have seen a higher fence refuse lower ones. This holds
/// for a former holder, and for a member that only received the fence from others, running or
/// restarted. A higher era is above all fences that were seen.
pub(crate) async fn restored<H: House>() {
    let mut house = H::open().await;
    let watcher;
    let remembered;
    {
        begin(&house, "restored").await;
        house.copy().await;
        let group = Group::new(&house, "restored");
        let mut member = group.member("anna").await;
        let listener = group.member("ben").await;
        for _ in 0..4 {
            let fence = member.acquire().await;
            let store = member.lease_client.identity().map(StoreTag::of);
            assert!(store.is_some(), "it has told which it is");
            let by = member_id("anna");
            let holds = true;
            listener.lease_client.hear(Heard { by, store, fence, holds });
            pass(Duration::from_millis(50)).await; // long enough to be observed
            member.release().await;
        }
        remembered = [&member, &listener].map(|it| it.remembered.lock().unwrap().clone());
        leave(vec![member, listener]).await;
        watcher = group.watcher;
    }
    assert!(remembered[0].highest.is_some());
    let heard = remembered[1].heard.values().copied();
    assert!(
        remembered[0].highest.into_iter().eq(heard),
        "what was heard is kept too: {remembered:?}"
    );
    house.restore().await;
    let group = Group::new(&house, "restored");
    let mut last = Seen::default();
    for (name, high_water) in ["anna", "ben"].into_iter().zip(remembered) {
        let mut member = group.member_of_era(name, 0, high_water).await;
        member.ask(Request::Acquire);
        let why = member.refused("raise `era`").await;
        assert!(why.contains("was seen before"), "{why}");
        pass(TTL).await;
        assert_eq!(member.held(), None);
        last = member.remembered.lock().unwrap().clone();
        leave(vec![member]).await;
    }

    let highest = last.highest;
    let mut raised = group.member_of_era("anna", 1, last).await;
    let fence = raised.acquire().await;
    assert!(Some(fence) > highest, "{fence}");
    pass(Duration::from_millis(50)).await;
    leave(vec![raised]).await;
    watcher.judge();
    group.watcher.judge();
}

/// Acquires and releases tenure of `group` once. From then on the store has the group's data and
/// its own identity.
pub(crate) async fn begin(house: &impl House, group: &str) {
    let mut early = house.store(&terms(group, "early", 0), house.port());
    early.acquire().await.unwrap();
    early.release().await.unwrap();
}

/// As `restored`, with whole agents: one holds tenure, and the others have never asked the store.
pub(crate) async fn restored_under_agents<H: House>(name: &str) {
    let group = named("listeners", name);
    let mut house = H::open().await;
    begin(&house, &group).await;
    house.copy().await;
    // The fence that the restored store issues stays below the known one for many attempts, however
    // the store counts.
    for _ in 0..12 {
        begin(&house, &group).await;
    }
    // The first member is nominated from the beginning, so that no other asks.
    let first = |name: &str| match name == NAMES[0] {
        true => "priority = 9".to_owned(),
        false => String::new(),
    };
    let mut agents = Agents::start_as(&house, &group, first).await;
    let (holder, held) = agents.next(None).await;
    agents.all_know(held.fence).await; // the holder repeats its fence once a second
    house.restore().await;
    agents.die(holder).await;
    agents.all_refuse("was seen before").await;
    agents.ends_for_good().await;
    agents.leave().await;
}

/// The store is set back by one tenure, and the leader is killed; then the next leader too. Each
/// time another member soon leads with a new fence, and the first member to notice reports it at
/// once. Members keep their high-water marks in `state`.
pub(crate) async fn set_back_by_one_tenure<H: House>(name: &str) {
    let vacant_for = set_back::<H>(&named("set-back", name), false).await;
    // The time to notice the death, to be refused once, to wait a ttl, and to ask again.
    assert!(vacant_for < TTL * 2 + SLACK, "nobody led for {vacant_for}");
}

/// As `set_back_by_one_tenure`, and the restored copy contains a lease that has not ended. The
/// first member to notice is refused again when that lease has ended, and then lets the other one
/// ask at once.
pub(crate) async fn set_back_to_a_live_lease<H: House>(name: &str) {
    let vacant_for = set_back::<H>(&named("live-lease", name), true).await;
    assert!(vacant_for < TTL * 2 + SLACK, "nobody led for {vacant_for}");
}

/// Returns the time without a leader after the store was set back. If `has_lease`, the copy
/// contains a lease that has not ended.
async fn set_back<H: House>(group: &str, has_lease: bool) -> Duration {
    for _ in 0..5 {
        if let Some(vacant_for) = set_back_once::<H>(group, has_lease).await {
            return vacant_for;
        }
    }
    panic!("no member noticed that the store was set back, in any of five attempts");
}

/// Returns nothing if no member notices. Two members ask at the same moment then, and one withdraws:
/// the fence that was granted to it is given back, and the other one gets a fence above its mark.
async fn set_back_once<H: House>(group: &str, has_lease: bool) -> Option<Duration> {
    let mut house = H::open().await;
    let home = Scratch::new("hustings-authority");
    let mut early = house.store(&terms(group, "early", 0), house.port());
    early.acquire().await.unwrap();
    if !has_lease {
        early.release().await.unwrap();
    }
    house.copy().await;
    let mut agents = Agents::start_in(&house, group, &home).await;
    let (first, held) = agents.next(None).await;
    agents.all_know(held.fence).await;
    // In this order. Otherwise the holder might ask once more and notice first.
    house.halt().await;
    agents.die(first).await;
    agents.forget_lease(first);
    // Members ask as soon as the store is back, and are shut out for only one ttl. The observation
    // therefore starts first.
    let restored = async {
        house.restore().await;
        clock::now()
    };
    let noticed = agents.one_is_shut_out("was seen before", held.fence);
    let (restored_at, is_noticed) = tokio::join!(restored, noticed);
    if !is_noticed {
        agents.leave().await;
        return None;
    }
    if has_lease {
        agents.one_makes_room("was seen before").await;
    }
    let (second, next) = agents.next(Some(held.fence)).await;
    let vacant_for = clock::now() - restored_at;
    println!("{group}: fence {} after {}: {vacant_for}", next.fence, held.fence);

    agents.all_know(next.fence).await;
    agents.die(second).await;
    let died_at = clock::now();
    let (_, last) = agents.next(Some(next.fence)).await;
    let took = clock::now() - died_at;
    println!("{group}: fence {} after {}: {took}", last.fence, next.fence);
    assert!(took < TTL * 2 + SLACK, "nobody led for {took}");
    agents.leave().await;
    Some(vacant_for)
}

/// Every client of one store sees the same identity, and it differs from that of the other store.
pub(crate) async fn told_apart<H: House>(houses: &[H; 2]) {
    let mut last_count = Vec::new();
    for house in houses {
        let mut identities = Vec::new();
        for name in ["anna", "ben"] {
            let mut store = house.store(&terms("told", name, 0), house.port());
            assert_eq!(store.identity(), None, "it has not told yet");
            let _ = store.acquire().await; // the second is refused
            identities.push(store.identity().expect("it has told"));
        }
        assert_eq!(identities[0], identities[1]);
        last_count.push(identities[0]);
    }
    assert_ne!(last_count[0], last_count[1]);
}

/// Returns three members and their watcher, the index of the holder, and its fence.
pub(crate) async fn held_by_one_of_three(
    house: &impl House,
) -> (Vec<Member>, Watcher, usize, Fence) {
    let group = Group::new(house, "faults");
    let mut members = three(&group).await;
    for member in &members {
        member.ask(Request::Acquire);
    }
    let (holder, fence) = first_to_gain(&mut members).await;
    pass(Duration(TTL.0 / 3)).await;
    (members, group.watcher, holder, fence)
}

/// Releases all tenures and waits until the store has recorded it.
pub(crate) async fn leave(members: Vec<Member>) {
    for Member { lease_client, proxy, .. } in members {
        lease_client.request(Request::Release);
        let gone = timeout(PATIENCE, lease_client.finish()).await;
        gone.expect("a clerk that was released goes");
        drop(proxy);
    }
}
