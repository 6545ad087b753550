//! The bounds within which tenure is searched.

use crate::{Answers, Clocks, Faults, Others, Setting};

const SMALL: Setting = Setting::small();
const DRIFTING: Setting = Setting::drifting();
const NONE: Faults = Faults::NONE;

/// No time passes: only order and loss vary.
const INSTANT: Setting = Setting { ticks: 0, ..SMALL };

/// Enough time for a tenure to be renewed, and to expire.
const RENEWAL: Setting = Setting { ttl: 2, max_ttl: 2, ticks: 3, proposals: 2, ..SMALL };

/// Bounds whose search takes seconds: a part of every test run.
pub fn quick() -> Vec<Setting> {
    vec![
        Setting { name: "two nominees", ..SMALL },
        Setting { name: "release", faults: Faults { releases: 1, ..NONE }, ticks: 1, ..SMALL },
        Setting { name: "transfer", faults: Faults { transfers: 1, ..NONE }, ticks: 1, ..SMALL },
        Setting { name: "renewal", nominees: 1, ..RENEWAL },
        Setting {
            name: "nominee restarts",
            nominees: 1,
            faults: Faults { nominee_restarts: 1, ..NONE },
            ..SMALL
        },
        Setting {
            name: "voter restarts",
            ballots: Some(1),
            others: Others::informed_from(0),
            faults: Faults { voter_restarts: 1, ..NONE },
            ..SMALL
        },
        Setting {
            name: "voter loses its disk",
            ballots: Some(1),
            others: Others::informed_from(0),
            faults: Faults { lost_disks: 1, ..NONE },
            ..SMALL
        },
        Setting { name: "drift", others: Others::informed_from(2), ..DRIFTING },
        Setting {
            name: "refusals",
            ballots: Some(1),
            others: Others::informed_from(0),
            answers: Answers::Majorities,
            ..INSTANT
        },
        Setting {
            name: "voters that stand",
            nominees: 0,
            standing_voters: 2,
            answers: Answers::NoRefusals,
            ticks: 1,
            ..SMALL
        },
        Setting { name: "three nominees", nominees: 3, ..INSTANT },
        Setting { name: "five voters", voters: 5, ..INSTANT },
        Setting {
            name: "recorded answers",
            faults: Faults { lost_disks: 1, ..NONE },
            recorded: Some(0),
            counters: 1,
            ballots: Some(1),
            others: Others { from: 2, knowing: 0 },
            answers: Answers::NoRefusals,
            ..SMALL
        },
        Setting { name: "made-up counters", faults: Faults { forgeries: 1, ..NONE }, ..INSTANT },
        Setting {
            name: "clocks beyond the bound",
            clocks: Clocks::BeyondTheBound,
            drift_ppm: 200_000,
            others: Others::informed_from(2),
            ..DRIFTING
        },
    ]
}

/// Bounds whose search takes minutes.
pub fn thorough() -> Vec<Setting> {
    vec![
        Setting { name: "two nominees, one by one", answers: Answers::NoRefusals, ..SMALL },
        Setting {
            name: "refusals, one by one",
            ballots: Some(1),
            others: Others::informed_from(0),
            answers: Answers::OneByOne,
            ..INSTANT
        },
        Setting { name: "refusals, two counters", answers: Answers::Majorities, ..INSTANT },
        Setting { name: "three counters", counters: 3, ..SMALL },
        Setting {
            name: "refusals, a tick",
            ballots: Some(1),
            others: Others::informed_from(0),
            answers: Answers::Majorities,
            ticks: 1,
            ..SMALL
        },
        Setting { name: "renewal by two", ..RENEWAL },
        Setting {
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
        Setting {
            name: "any member restarts",
            faults: Faults { voter_restarts: 1, nominee_restarts: 1, ..NONE },
            ..SMALL
        },
        Setting {
            name: "release and transfer",
            counters: 3,
            faults: Faults { releases: 1, transfers: 1, ..NONE },
            ticks: 1,
            ..SMALL
        },
        Setting { name: "two disks lost", faults: Faults { lost_disks: 2, ..NONE }, ..SMALL },
        Setting {
            name: "two ttls, drift",
            shorter_ttl: Some(2),
            proposals: 2,
            others: Others::informed_from(1),
            ..DRIFTING
        },
        Setting {
            name: "drift and restarts",
            faults: Faults { voter_restarts: 1, ..NONE },
            others: Others::informed_from(1),
            ..DRIFTING
        },
        Setting {
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
        Setting { name: "three nominees, two ticks", nominees: 3, ..SMALL },
        Setting { name: "five voters, two ticks", voters: 5, ..SMALL },
    ]
}
