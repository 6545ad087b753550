//! Voters in the place of a store, as in the contract of `crates/agent/tests/authority`: all of them are killed and started
//! again, or paused past the ttl, while a member that is no voter holds by their votes.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::process::{self, Program};

const VOTERS: [&str; 3] = ["v", "w", "x"];
const MEMBERS: [&str; 2] = ["anna", "ben"];

/// Three voters that nobody elects, and two members that are no voters.
struct House {
    group: String,
    home: PathBuf,
    voters: Vec<Program>,
    members: Vec<Program>,
}

impl House {
    fn open(name: &str) -> Self {
        let home = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        // It may be there from a run before.
        let _ = fs::remove_dir_all(&home);
        let group = process::group(name);
        let mut house = Self {
            group,
            home,
            voters: Vec::new(),
            members: Vec::new(),
        };
        let init = |name| Program::start(&format!("voter init --new {}", house.options(name)));
        for mut voter in VOTERS.map(init) {
            voter.next_line("it begins");
        }
        // First: a voter that was alone with the others would be elected, and lead on.
        let member = |name| Program::member(&format!("--http off {}", house.options(name)));
        house.members = MEMBERS.map(member).into();
        house.members[0].until("a member is elected", |it| it["leader"].is_string());
        house.start_voters();
        house
    }

    fn options(&self, name: &str) -> String {
        let (group, home) = (&self.group, self.home.display());
        let priority = u8::from(!VOTERS.contains(&name));
        format!(
            "--group {group} --name {name} --priority {priority} --bind 127.0.0.1:0 --voters v,w,x --ttl 1s --state {home}/{name}"
        )
    }

    fn start_voters(&mut self) {
        let voter = |name| Program::member(&format!("--http off {}", self.options(name)));
        self.voters = VOTERS.map(voter).into();
    }

    /// Which of the members holds with a fence above `fence`, and with which.
    fn next_holder(&mut self, fence: u64) -> (usize, u64) {
        let names = |it: &Value| MEMBERS.iter().position(|name| it["leader"] == *name);
        let is_next = |it: &Value| it["fence"].as_u64() > Some(fence) && names(it).is_some();
        let told = self.members[0].until("somebody holds", is_next);
        let holder = names(&told).expect("as waited for");
        self.members[holder].reaches("it holds itself", |it| {
            it["leads"] == true && it["fence"] == told["fence"]
        });
        (holder, told["fence"].as_u64().expect("as waited for"))
    }

    /// No fence had two holders, and the fences of each rose.
    fn judge(mut self) {
        let mut holders = BTreeMap::new();
        for (member, program) in self.members.iter_mut().enumerate() {
            assert_eq!(program.stop(), Some(0));
            let mut last = 0;
            for line in program.printed() {
                if let (true, Some(fence)) = (line["leads"] == true, line["fence"].as_u64()) {
                    assert!(fence >= last, "{} after {last}: {line}", MEMBERS[member]);
                    last = fence;
                    let holder = *holders.entry(fence).or_insert(member);
                    assert_eq!(holder, member, "fence {fence} has two holders");
                }
            }
        }
        assert!(holders.len() > 1, "{holders:?}");
    }
}

#[test]
fn voters_that_are_all_killed_grant_nothing_and_then_only_higher_fences() {
    let mut house = House::open("voters-killed");
    let (holder, fence) = house.next_holder(0);
    for voter in &mut house.voters {
        voter.kill();
    }
    house.members[holder].until("it holds no longer", |it| it["leads"] == false);
    house.start_voters();
    house.next_holder(fence);
    house.judge();
}

/// Renewals of the one that held are waiting for them when they go on.
#[test]
fn voters_that_are_all_paused_past_the_ttl_revive_nothing() {
    let mut house = House::open("voters-paused");
    let (holder, fence) = house.next_holder(0);
    for voter in &house.voters {
        voter.pause();
    }
    house.members[holder].until("it holds no longer", |it| it["leads"] == false);
    for voter in &house.voters {
        voter.resume();
    }
    house.next_holder(fence);
    house.judge();
}
