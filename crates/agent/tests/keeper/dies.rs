//! However the worker dies, the keeper speaks for it when nothing of it is left.

use rustix::process::{Pid, Signal};

use crate::kept::{Kept, kill};
use crate::processes::{SHORT, Voter, assert_gone, lives};

/// Descendants that the worker's end does not end, and that do not end when they are asked.
fn start_tree(kept: &mut Kept) -> [Pid; 3] {
    kept.tell(r#"start trap '' HUP TERM; eval "$TREE""#);
    kept.pids()
}

#[test]
fn a_worker_is_spoken_for_however_it_dies_when_nothing_is_left_of_it() {
    for (death, code) in [
        ("exit 0", 0),
        ("exit 7", 7),
        ("panic", 101),
        ("abort", 134),
        ("kill", 137),
    ] {
        let voter = Voter::listen();
        let mut kept = Kept::start("entrust");
        let pids = start_tree(&mut kept);
        kept.entrust(&voter, "farewell");
        voter.hears_nothing(SHORT);
        assert!(pids.iter().all(|pid| lives(*pid)));
        match death {
            "kill" => kill(kept.worker, Signal::KILL),
            told => kept.tell(told),
        }
        assert_eq!(voter.hears(), "farewell", "{death}");
        assert!(!lives(kept.worker), "{death}");
        assert!(!pids.iter().any(|pid| lives(*pid)), "{death}");
        assert_eq!(kept.code(), Some(code), "{death}");
    }
}

#[test]
fn the_last_words_are_those_that_were_entrusted_last() {
    for how in ["entrust", "follow"] {
        let voter = Voter::listen();
        let mut kept = Kept::start(how);
        for words in ["first", "second", "third"] {
            kept.entrust(&voter, words);
        }
        // What follows may take a moment.
        voter.hears_nothing(SHORT);
        kill(kept.worker, Signal::KILL);
        assert_eq!(voter.hears(), "third", "{how}");
    }
}

#[test]
fn what_was_taken_back_is_not_said() {
    for how in ["entrust", "follow"] {
        let voter = Voter::listen();
        let mut kept = Kept::start(how);
        kept.entrust(&voter, "farewell");
        kept.take_back();
        voter.hears_nothing(SHORT);
        kill(kept.worker, Signal::KILL);
        assert_eq!(kept.code(), Some(137));
        voter.hears_nothing(SHORT);
    }
}

/// That it closed its connection to the keeper is no proof of anything.
#[test]
fn a_worker_that_lives_is_not_spoken_for() {
    let voter = Voter::listen();
    let mut kept = Kept::start("entrust");
    kept.entrust(&voter, "farewell");
    kept.tell("let go");
    assert_eq!(kept.line(), "let go");
    voter.hears_nothing(SHORT * 3);
    kill(kept.worker, Signal::KILL);
    assert_eq!(voter.hears(), "farewell");
}

#[test]
fn a_worker_dies_with_its_keeper_and_nobody_speaks_for_it() {
    let voter = Voter::listen();
    let mut kept = Kept::start("entrust");
    kept.entrust(&voter, "farewell");
    kill(kept.keeper(), Signal::KILL);
    assert_gone(&[kept.worker]);
    voter.hears_nothing(SHORT);
}
