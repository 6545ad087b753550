//! Promises of voters, and the highest fences that members and resources have seen.

use hustings_agent::authority::{Fence, Seen, SeenFences, StoreTag};
use hustings_fence::{FenceGuard, GuardError};

use crate::sample::Samples;

/// Options with which a test agent meets no other member.
const ALONE: &str = "--bind 127.0.0.1:0 --multicast off --state state";

/// The options of the voter whose file is `used.voter`: it granted itself tenure four times, for
/// 500 ms each.
fn used(test: &str) -> (Samples, String) {
    let samples = Samples::copy("voters", test);
    samples.place("used.voter", "state/web.voter");
    let options = format!("--group web --name alpha --voters alpha {ALONE}");
    (samples, options)
}

#[test]
fn voter_file_has_its_counter_and_longest_ttl() {
    let (samples, options) = used("voter_file");
    let shown = samples.run(&format!("voter show {options}"), &[]);
    shown.expect_code(0).expect_words(&["alpha", "web", "4", "500ms"]);
}

#[test]
fn voter_file_of_a_new_group_promises_nothing() {
    let samples = Samples::copy("voters", "new_voter_file");
    samples.place("new.voter", "state/fresh.voter");
    let options = format!("--group fresh --name gamma --voters alpha,beta,gamma {ALONE}");
    let shown = samples.run(&format!("voter show {options}"), &[]);
    shown.expect_code(0).expect_words(&["gamma", "fresh", "0", "0s"]);
}

#[test]
fn voter_file_of_era_3_begins_above_all_fences_of_era_2() {
    let samples = Samples::copy("voters", "era_voter_file");
    samples.place("era_3.voter", "state/db.voter");
    let options = format!("--group db --name beta --voters alpha,beta,gamma {ALONE}");
    let shown = samples.run(&format!("voter show {options}"), &[]);
    let first = (3_u64 << 48).to_string();
    shown.expect_code(0).expect_words(&["beta", "db", &first, "2s"]);
}

#[test]
fn voter_file_of_other_voters_is_refused() {
    let (samples, options) = used("other_voters");
    let options = options.replace("--voters alpha", "--voters alpha,beta,gamma");
    let shown = samples.run(&format!("voter show {options}"), &[]);
    shown.expect_code(1).expect_words(&["state/web.voter"]);
}

#[test]
fn voter_file_of_another_member_is_refused() {
    let (samples, options) = used("another_voter");
    let options = options.replace("alpha", "beta");
    let shown = samples.run(&format!("voter show {options}"), &[]);
    shown.expect_code(1).expect_words(&["state/web.voter", "alpha", "beta"]);
}

/// The old promise counts: the next tenure has the next fence.
#[test]
fn voter_goes_on_above_the_fence_that_it_granted() {
    let (samples, options) = used("next_fence");
    let run = format!("run {options} --ttl 500ms --log off --at-end exit --");
    let run = samples.run(&run, &["printenv", "HUSTINGS_FENCE"]);
    assert_eq!(run.expect_code(0).printed(), "5\n");
    let shown = samples.run(&format!("voter show {options}"), &[]);
    shown.expect_code(0).expect_words(&["5"]);
}

#[test]
fn fence_log_of_a_store_has_fence_mark_and_other_stores() {
    let samples = Samples::copy("memory", "memory");
    let memory = SeenFences::on_disk(samples.path(), "web").expect("the memory is readable");
    let seen = Seen {
        highest: Some(Fence(4_294_967_337)),
        store: Some(StoreTag(0x5eed_0001)),
        heard: [
            (StoreTag(3), Fence(12)),
            (StoreTag(0xffff_fffe), Fence(18_446_744_073_709_551_614)),
        ]
        .into(),
    };
    assert_eq!(memory.high_water, seen);
}

#[test]
fn fence_log_without_a_store_file_has_its_fence() {
    let samples = Samples::copy("memory", "memory_of_fence");
    let memory = SeenFences::on_disk(samples.path(), "db").expect("the memory is readable");
    let seen = Seen { highest: Some(Fence(7)), ..Seen::default() };
    assert_eq!(memory.high_water, seen);
}

#[test]
fn fence_guard_refuses_fences_below_its_highest() {
    let samples = Samples::copy("memory", "fence_guard");
    let guard = FenceGuard::open_existing(samples.path().join("stock.guard"));
    let guard = guard.expect("the guard is readable");
    let highest = Fence(1_000_000_000_008);
    assert_eq!(guard.highest().expect("it has a fence"), highest);
    let refused = guard.check(Fence(highest.0 - 1));
    assert!(
        matches!(refused, Err(GuardError::Refused { highest: it, .. }) if it == highest),
        "{refused:?}"
    );
    guard.check(highest).expect("an equal fence may write");
    guard.check(Fence(highest.0 + 1)).expect("a higher fence may write");
}
