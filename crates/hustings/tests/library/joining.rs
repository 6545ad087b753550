//! Errors that a new user of the library meets, and their messages.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hustings::{Group, GroupOptions};
use tokio::time::timeout;

use crate::unique;

const TTL: Duration = Duration::from_secs(2);
/// Far longer than anything here takes.
const ELECTION_TIMEOUT: Duration = Duration::from_secs(30);

/// A temporary directory, removed on drop.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let home = std::env::temp_dir().join(format!("hustings-{}", unique(name)));
        _ = std::fs::remove_dir_all(&home);
        Self(home)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

fn fenced(group: &str, voters: &[&str], ttl: Duration, state: &Path) -> GroupOptions {
    let joining = GroupOptions::on_this_host(&unique(group), "alpha");
    joining.fenced_by(voters, ttl, state)
}

async fn refused(joining: GroupOptions) -> String {
    let joined = timeout(ELECTION_TIMEOUT, Group::join(joining)).await;
    match joined.expect("it is told in time") {
        Ok(_) => panic!("it joined"),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn voter_without_a_file_is_refused_with_the_remedy() {
    let home = Home::new("no-file");
    let joining = fenced("no-file", &["alpha"], TTL, &home.0);
    let why = refused(joining.clone()).await;
    let is_named = why.contains("voter `alpha` cannot vote");
    assert!(is_named && why.contains("no such file"), "{why}");
    assert!(why.contains("call `GroupOptions::found_voter` once"), "{why}");
    assert!(why.contains("run `hustings voter init`"), "{why}");

    // With `must_vote` set to false the member joins without a vote, and waits.
    let mut without = joining;
    without.must_vote = false;
    let mut group = Group::join(without).await.expect("it joins");
    let waits = timeout(Duration::from_millis(500), group.tenure()).await;
    assert!(waits.is_err(), "nobody can have granted tenure");
    group.leave().await.unwrap();
}

#[tokio::test]
async fn member_that_looks_like_a_voter_by_another_name_is_refused() {
    let home = Home::new("other-name");
    let voters = ["alpha.example.org", "beta", "gamma"];
    let joining = fenced("other-name", &voters, TTL, &home.0);
    let why = refused(joining.clone()).await;
    let is_named = why.contains("this member, `alpha`, is not one of the voters");
    assert!(is_named && why.contains("--name alpha.example.org"), "{why}");
    assert!(why.contains("set `must_vote` to false"), "{why}");

    let mut without = joining;
    without.must_vote = false;
    let group = Group::join(without).await.expect("it joins");
    group.leave().await.unwrap();
    // A member need not be a voter.
    let joining = fenced("other-name", &["beta", "gamma", "delta"], TTL, &home.0);
    let group = Group::join(joining).await.expect("it joins");
    group.leave().await.unwrap();
}

#[tokio::test]
async fn voter_of_a_new_group_works_at_its_first_start_and_its_second() {
    let home = Home::new("twice");
    let mut last = None;
    for _ in 0..2 {
        let joining = fenced("twice", &["alpha"], Duration::from_millis(300), &home.0);
        joining.found_voter().expect("new, or as it was");
        let mut group = Group::join(joining).await.expect("it joins");
        let tenure = timeout(ELECTION_TIMEOUT, group.tenure()).await;
        let tenure = tenure.expect("in time").expect("it votes for itself");
        let fence = Some(tenure.fence());
        assert!(fence > last, "{fence:?} after {last:?}: it forgot");
        last = fence;
        drop(tenure);
        group.leave().await.unwrap();
    }
}

#[tokio::test]
async fn voter_of_another_list_or_a_damaged_file_is_refused() {
    let home = Home::new("another-list");
    let joining = fenced("another-list", &["alpha"], TTL, &home.0);
    joining.found_voter().unwrap();
    let others = fenced("another-list", &["alpha", "beta", "gamma"], TTL, &home.0);
    let why = others.found_voter().unwrap_err().to_string();
    assert!(why.contains("belong to another list of voters"), "{why}");
    let why = refused(others).await;
    assert!(why.contains("belong to another list of voters"), "{why}");

    let file = home.0.join(format!("{}.voter", joining.group));
    std::fs::write(&file, "a shopping list").unwrap();
    let why = joining.found_voter().unwrap_err().to_string();
    assert!(why.contains("is not a file of Hustings"), "{why}");
    let why = refused(joining).await;
    assert!(why.contains("is not a file of Hustings"), "{why}");
}

#[tokio::test]
async fn invalid_options_are_refused_as_by_the_program_without_writing() {
    let home = Home::new("bounds");
    let millis = Duration::from_millis;
    for (voters, ttl, says) in [
        (&["alpha"][..], millis(99), "ttl 99ms: too short: choose"),
        (&["alpha"], millis(3_600_001), "too long: choose from 100ms"),
        (&["alpha", "beta"], TTL, "2 voters (alpha, beta): name an odd"),
        (&[], TTL, "0 voters"),
        (&["alpha", "be ta", "c"], TTL, "`be ta`"),
        (&["alpha", "alpha", "c"], TTL, "is named twice"),
        (&["beta"], TTL, "`alpha` is not one of the voters"),
    ] {
        let joining = fenced("bounds", voters, ttl, &home.0);
        let why = joining.found_voter().unwrap_err().to_string();
        assert!(why.contains(says), "{why}");
        if voters != ["beta"] {
            let why = refused(joining).await;
            assert!(why.contains(says), "{why}");
        }
    }
    let mut joining = GroupOptions::on_this_host("a group", "alpha");
    assert!(refused(joining.clone()).await.contains("`a group`"));
    joining.group = unique("bounds");
    joining.join = vec!["somewhere".to_owned()];
    let why = refused(joining).await;
    assert!(why.contains("join `somewhere`: not a host"), "{why}");
    assert!(!home.0.exists(), "something was written");
}
