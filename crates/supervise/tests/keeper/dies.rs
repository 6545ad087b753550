//! The death witness sends the last will of a worker after any death, once nothing of the worker is
//! left.

use rustix::process::{Pid, Signal};

use crate::kept::{Kept, kill};
use crate::processes::{SHORT, Voter, assert_gone, is_running};

/// Starts descendants that survive the worker and ignore TERM and HUP.
fn start_tree(kept: &mut Kept) -> [Pid; 3] {
    kept.tell(r#"start trap '' HUP TERM; eval "$TREE""#);
    kept.pids()
}

#[test]
fn last_will_is_sent_after_any_death_once_nothing_is_left() {
    for (death, code) in
        [("exit 0", 0), ("exit 7", 7), ("panic", 101), ("abort", 134), ("kill", 137)]
    {
        let voter = Voter::listen();
        let mut kept = Kept::start("entrust");
        let pids = start_tree(&mut kept);
        kept.deposit(&voter, "farewell");
        voter.hears_nothing(SHORT);
        assert!(pids.iter().all(|pid| is_running(*pid)));
        match death {
            "kill" => kill(kept.worker, Signal::KILL),
            told => kept.tell(told),
        }
        assert_eq!(voter.hears(), "farewell", "{death}");
        assert!(!is_running(kept.worker), "{death}");
        assert!(!pids.iter().any(|pid| is_running(*pid)), "{death}");
        assert_eq!(kept.code(), Some(code), "{death}");
    }
}

#[test]
fn latest_deposit_is_the_last_will() {
    for how in ["entrust", "follow"] {
        let voter = Voter::listen();
        let mut kept = Kept::start(how);
        for words in ["first", "second", "third"] {
            kept.deposit(&voter, words);
        }
        // `follow` may take a moment.
        voter.hears_nothing(SHORT);
        kill(kept.worker, Signal::KILL);
        assert_eq!(voter.hears(), "third", "{how}");
    }
}

#[test]
fn withdrawn_last_will_is_not_sent() {
    for how in ["entrust", "follow"] {
        let voter = Voter::listen();
        let mut kept = Kept::start(how);
        kept.deposit(&voter, "farewell");
        kept.take_back();
        voter.hears_nothing(SHORT);
        kill(kept.worker, Signal::KILL);
        assert_eq!(kept.code(), Some(137));
        voter.hears_nothing(SHORT);
    }
}

/// A closed connection to the death witness proves nothing.
#[test]
fn last_will_of_a_running_worker_is_not_sent() {
    let voter = Voter::listen();
    let mut kept = Kept::start("entrust");
    kept.deposit(&voter, "farewell");
    kept.tell("let go");
    assert_eq!(kept.line(), "let go");
    voter.hears_nothing(SHORT * 3);
    kill(kept.worker, Signal::KILL);
    assert_eq!(voter.hears(), "farewell");
}

#[test]
fn worker_dies_with_its_death_witness_and_nothing_is_sent() {
    let voter = Voter::listen();
    let mut kept = Kept::start("entrust");
    kept.deposit(&voter, "farewell");
    kill(kept.death_witness(), Signal::KILL);
    assert_gone(&[kept.worker]);
    voter.hears_nothing(SHORT);
}
