//! The bounds within which tenure is searched.

use crate::{Answers, Bounds, Clocks, Faults, Others};

const SMALL: Bounds = Bounds::small();
const DRIFTING: Bounds = Bounds::drifting();
const NONE: Faults = Faults::NONE;

/// No time passes: only order and loss vary.
const INSTANT: Bounds = Bounds { ticks: 0, ..SMALL };

/// Enough time for a tenure to be renewed, and to expire.
const RENEWAL: Bounds = Bounds { ttl: 2, max_ttl: 2, ticks: 3, proposals: 2, ..SMALL };

/// Bounds whose search takes seconds: a part of every test run.
pub fn quick() -> Vec<Bounds> {
    vec![
        Bounds { name: "two nominees", ..SMALL },
        Bounds { name: "release", faults: Faults { releases: 1, ..NONE }, ticks: 1, ..SMALL },
        Bounds { name: "transfer", faults: Faults { transfers: 1, ..NONE }, ticks: 1, ..SMALL },
        Bounds { name: "renewal", nominees: 1, ..RENEWAL },
        Bounds {
            name: "nominee restarts",
            nominees: 1,
            faults: Faults { nominee_restarts: 1, ..NONE },
            ..SMALL
        },
        Bounds {
            name: "voter restarts",
            ballots: Some(1),
            others: Others::informed_from(0),
            faults: Faults { voter_restarts: 1, ..NONE },
            ..SMALL
        },
        Bounds {
            name: "voter loses its disk",
            ballots: Some(1),
            others: Others::informed_from(0),
            faults: Faults { lost_disks: 1, ..NONE },
            ..SMALL
        },
        Bounds { name: "drift", others: Others::informed_from(2), ..DRIFTING },
        Bounds {
            name: "refusals",
            ballots: Some(1),
            others: Others::informed_from(0),
            answers: Answers::Majorities,
            ..INSTANT
        },
        Bounds {
            name: "voters that stand",
            nominees: 0,
            standing_voters: 2,
            answers: Answers::NoRefusals,
            ticks: 1,
            ..SMALL
        },
        Bounds { name: "three nominees", nominees: 3, ..INSTANT },
        Bounds { name: "five voters", voters: 5, ..INSTANT },
        Bounds {
            name: "recorded answers",
            faults: Faults { lost_disks: 1, ..NONE },
            recorded: Some(0),
            counters: 1,
            ballots: Some(1),
            others: Others { from: 2, knowing: 0 },
            answers: Answers::NoRefusals,
            ..SMALL
        },
        Bounds { name: "made-up counters", faults: Faults { forgeries: 1, ..NONE }, ..INSTANT },
        Bounds {
            name: "clocks beyond the bound",
            clocks: Clocks::BeyondTheBound,
            drift_ppm: 200_000,
            others: Others::informed_from(2),
            ..DRIFTING
        },
    ]
}

/// Bounds whose search takes minutes.
pub fn thorough() -> Vec<Bounds> {
    vec![
        Bounds { name: "two nominees, one by one", answers: Answers::NoRefusals, ..SMALL },
        Bounds {
            name: "refusals, one by one",
            ballots: Some(1),
            others: Others::informed_from(0),
            answers: Answers::OneByOne,
            ..INSTANT
        },
        Bounds { name: "refusals, two counters", answers: Answers::Majorities, ..INSTANT },
        Bounds { name: "three counters", counters: 3, ..SMALL },
        Bounds {
            name: "refusals, a tick",
            ballots: Some(1),
            others: Others::informed_from(0),
            answers: Answers::Majorities,
            ticks: 1,
            ..SMALL
        },
        Bounds { name: "renewal by two", ..RENEWAL },
        Bounds {
            name: "renewal by a greater ballot",
            nominees: 1,
            counters: 3,
            ballots: Some(2),
            proposals: 3,
            ttl: 2,
            max_ttl: 2,
            ticks: 1,
            first_promised: 2,
            answers: Answers::Majorities,
            ..SMALL
        },
        Bounds {
            name: "any member restarts",
            faults: Faults { voter_restarts: 1, nominee_restarts: 1, ..NONE },
            ..SMALL
        },
        Bounds {
            name: "release and transfer",
            counters: 3,
            faults: Faults { releases: 1, transfers: 1, ..NONE },
            ticks: 1,
            ..SMALL
        },
        Bounds { name: "two disks lost", faults: Faults { lost_disks: 2, ..NONE }, ..SMALL },
        Bounds {
            name: "two ttls, drift",
            shorter_ttl: Some(2),
            proposals: 2,
            others: Others::informed_from(1),
            ..DRIFTING
        },
        Bounds {
            name: "drift and restarts",
            faults: Faults { voter_restarts: 1, ..NONE },
            others: Others::informed_from(1),
            ..DRIFTING
        },
        Bounds {
            name: "voters that stand, and restart",
            nominees: 0,
            standing_voters: 2,
            counters: 3,
            ballots: Some(2),
            faults: Faults { voter_restarts: 1, ..NONE },
            answers: Answers::NoRefusals,
            ticks: 2,
            ..SMALL
        },
        Bounds { name: "three nominees, two ticks", nominees: 3, ..SMALL },
        Bounds { name: "five voters, two ticks", voters: 5, ..SMALL },
    ]
}
