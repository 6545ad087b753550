//! Rounds, replies, and the success of the first round: measured, and exactly as in theory.

use hustings_protocol::council::{Algorithm, Estimate, Knowledge, Pick, Reset, Search, Seats};
use hustings_theory::council::estimate::by_pseudocode;
use hustings_theory::council::{self as theory, Cost, Election, Loss, by_evidence};

use crate::{assert_mean, measure, trial};

const RUNS: u64 = 4_000;
pub(crate) const FOUR_TO_EIGHT: Seats = Seats::new(4, 8);
pub(crate) const ONE: Seats = Seats::new(1, 1);
const ONE_TO_EIGHT: Seats = Seats::new(1, 8);

pub(crate) const ALL: [Algorithm; 7] = [
    Algorithm::Naive,
    Algorithm::Basic,
    Algorithm::SkipReset,
    Algorithm::CHOICE,
    Algorithm::Choice(Pick::First, Reset::Skipped),
    Algorithm::Choice(Pick::SmallestOvershoot, Reset::Polled),
    Algorithm::HISTORY,
];

pub(crate) fn election(hosts: u32, seats: Seats, algorithm: Algorithm, c: f64) -> Election {
    let algorithm = match algorithm {
        Algorithm::Naive => theory::Algorithm::Naive,
        Algorithm::Basic => theory::Algorithm::Basic,
        Algorithm::SkipReset => theory::Algorithm::SkipReset,
        Algorithm::Choice(it, then) => theory::Algorithm::Choice(it, then),
        Algorithm::History { .. } => theory::Algorithm::History,
        Algorithm::Priority | Algorithm::Bolot => {
            panic!("theory has no {algorithm:?} of this kind")
        }
    };
    let seats = theory::Seats { least: u64::from(seats.least), most: u64::from(seats.most) };
    Election::new(seats, u64::from(hosts), algorithm, c)
}

#[track_caller]
fn compare(what: &str, means: &crate::Means, cost: Cost) {
    assert_mean(&format!("{what}: rounds"), &means.rounds, cost.rounds);
    assert_mean(&format!("{what}: messages"), &means.messages, cost.messages);
    let success = &means.success;
    assert_mean(&format!("{what}: success"), success, cost.success_first_round);
}

#[test]
fn known_numbers_cost_what_theory_says() {
    for (seats, c) in [(FOUR_TO_EIGHT, 5.6), (ONE, 1.1), (FOUR_TO_EIGHT, 8.0)] {
        for algorithm in ALL {
            let trial = trial(300, seats, algorithm, Knowledge::Told(300), c);
            let cost = election(300, seats, algorithm, c).cost();
            let what = format!("{algorithm:?} {seats:?} {c}");
            compare(&what, &measure(&trial, 1, RUNS), cost);
        }
    }
}

#[test]
fn polled_numbers_cost_what_theory_says() {
    for algorithm in ALL {
        if algorithm == Algorithm::Naive {
            continue; // its poll counts as a round
        }
        let trial = trial(200, FOUR_TO_EIGHT, algorithm, Knowledge::Polled, 5.6);
        let cost = election(200, FOUR_TO_EIGHT, algorithm, 5.6).cost();
        let what = format!("{algorithm:?}, polled");
        compare(&what, &measure(&trial, 2, RUNS), cost);
    }
}

#[test]
fn deeper_history_changes_nothing_without_churn() {
    let deep = Algorithm::History { depth: 4 };
    let trial = trial(200, ONE, deep, Knowledge::Told(200), 1.1);
    let cost = election(200, ONE, deep, 1.1).cost();
    compare("depth 4", &measure(&trial, 3, RUNS), cost);
}

#[test]
fn c11_loss_costs_what_theory_says_exactly() {
    for (reply, multicast) in [(0.2, 0.0), (0.0, 0.2), (0.3, 0.1)] {
        for algorithm in ALL {
            // Two draws with loss take theory long if many seats are wanted.
            let (hosts, seats, c) = match algorithm {
                Algorithm::Choice(_, _) => (50, ONE, 1.1),
                _ => (300, FOUR_TO_EIGHT, 5.6),
            };
            let mut trial = trial(hosts, seats, algorithm, Knowledge::Told(hosts), c);
            (trial.reply_loss, trial.multicast_loss) = (reply, multicast);
            let election = Election {
                loss: Loss { reply, multicast },
                ..election(hosts, seats, algorithm, c)
            };
            let what = format!("{algorithm:?}, loss {reply} and {multicast}");
            compare(&what, &measure(&trial, 4, RUNS), election.cost());
        }
    }
}

#[test]
fn wrong_number_of_hosts_costs_what_theory_says() {
    for (taken, seats) in [(100, FOUR_TO_EIGHT), (3_000, ONE_TO_EIGHT)] {
        let told = Knowledge::Told(taken);
        let trial = trial(300, seats, Algorithm::SkipReset, told, 5.6);
        let election = Election {
            knowledge: theory::Knowledge::Taken(f64::from(taken)),
            ..election(300, seats, Algorithm::SkipReset, 5.6)
        };
        let what = format!("{taken} for 300");
        compare(&what, &measure(&trial, 5, RUNS), election.cost());
    }
}

#[test]
fn c10_estimates_cost_what_theory_says() {
    let estimates = [
        (Estimate::conservative(65_536), 1.0, 2.0, 65_536.0),
        (Estimate::aggressive(100_000), 0.7, 1.0, 1e5),
    ];
    let cases = [
        (Algorithm::Naive, (0.0, 0.0)),
        (Algorithm::Naive, (0.2, 0.1)),
        (Algorithm::Basic, (0.0, 0.0)),
        (Algorithm::SkipReset, (0.0, 0.0)),
        (Algorithm::SkipReset, (0.2, 0.1)),
        (Algorithm::CHOICE, (0.0, 0.0)),
        (Algorithm::HISTORY, (0.0, 0.0)),
        (Algorithm::HISTORY, (0.2, 0.1)),
    ];
    for (estimate, alpha, beta, first) in estimates {
        for (algorithm, (reply, multicast)) in cases {
            let knowledge = Knowledge::Estimated(estimate);
            let mut trial = trial(700, ONE_TO_EIGHT, algorithm, knowledge, 5.6);
            (trial.reply_loss, trial.multicast_loss) = (reply, multicast);
            let election = Election {
                knowledge: theory::Knowledge::Estimated(theory::Estimate { alpha, beta, first }),
                loss: Loss { reply, multicast },
                ..election(700, ONE_TO_EIGHT, algorithm, 5.6)
            };
            // The basic algorithm has no pseudocode with an estimate: the equations apply.
            let cost = match algorithm {
                Algorithm::Basic => election.cost(),
                _ => by_pseudocode(&election).expect("an estimate with resets"),
            };
            let what = format!("{algorithm:?}, {estimate:?}, loss {reply}");
            compare(&what, &measure(&trial, 6, RUNS), cost);
        }
    }
}

#[test]
fn field_search_costs_what_theory_says_and_less_than_the_papers() {
    let estimates = [
        (Estimate::conservative(65_536), 1.0, 2.0, 65_536.0),
        (Estimate::aggressive(100_000), 0.7, 1.0, 1e5),
    ];
    for (estimate, alpha, beta, first) in estimates {
        for (algorithm, reply, seats, c) in [
            (Algorithm::SkipReset, 0.0, FOUR_TO_EIGHT, 6.1),
            (Algorithm::SkipReset, 0.2, FOUR_TO_EIGHT, 6.1),
            (Algorithm::SkipReset, 0.0, ONE, 1.1),
            (Algorithm::HISTORY, 0.0, ONE_TO_EIGHT, 5.6),
        ] {
            let mut trial = trial(700, seats, algorithm, Knowledge::Estimated(estimate), c);
            trial.config.search = Search::Guarded;
            trial.reply_loss = reply;
            let election = Election {
                knowledge: theory::Knowledge::Estimated(theory::Estimate { alpha, beta, first }),
                loss: Loss { reply, multicast: 0.0 },
                ..election(700, seats, algorithm, c)
            };
            let cost = by_evidence(&election).expect("one draw a round");
            let what = format!("{algorithm:?} {seats:?}, {estimate:?}, loss {reply}");
            let means = measure(&trial, 7, RUNS / 2);
            assert_mean(&format!("{what}: rounds"), &means.rounds, cost.rounds);
            assert_mean(&format!("{what}: messages"), &means.messages, cost.messages);
            let printed = by_pseudocode(&election).expect("an estimate with resets");
            assert!(cost.messages < printed.messages, "{what}: {cost:?} {printed:?}");
        }
    }
}

/// After 20 comes 8.1, which as a whole number is not above 8 seats: the centre makes all reply.
/// And after 2 comes 1.6, which would be 2 again: with one seat all reply then.
#[test]
fn field_search_ends_with_a_poll_of_all() {
    let estimate = Knowledge::Estimated(Estimate::aggressive(20));
    let (alpha, beta, first) = (0.7, 1.0, 20.0);
    for (members, seats, c) in
        [(5, FOUR_TO_EIGHT, 6.0), (9, FOUR_TO_EIGHT, 6.0), (1, ONE, 1.1), (3, ONE, 1.1)]
    {
        let algorithm = Algorithm::SkipReset;
        let mut trial = trial(members, seats, algorithm, estimate, c);
        trial.config.search = Search::Guarded;
        let election = Election {
            knowledge: theory::Knowledge::Estimated(theory::Estimate { alpha, beta, first }),
            ..election(members, seats, algorithm, c)
        };
        let cost = by_evidence(&election).expect("one draw a round");
        let means = measure(&trial, 8, RUNS / 2);
        let what = format!("{members} hosts, {seats:?}");
        assert_mean(&format!("{what}: rounds"), &means.rounds, cost.rounds);
        assert_mean(&format!("{what}: messages"), &means.messages, cost.messages);
    }
}
