//! The council election among a few hosts: theory against an enumeration of all cases.

mod play;

use hustings_theory::council::estimate::{Estimate, by_pseudocode};
use hustings_theory::council::{Algorithm, Cost, Election, Knowledge, Loss, Seats};
use play::{Answer, Game, play};

const LOSSES: [Loss; 4] = [
    Loss::NONE,
    Loss { reply: 0.2, multicast: 0.0 },
    Loss { reply: 0.0, multicast: 0.3 },
    Loss { reply: 0.4, multicast: 0.1 },
];

/// `L`, `U`, hosts, `c`.
const CASES: [(u64, u64, u64, f64); 6] = [
    (1, 1, 2, 1.1),
    (1, 1, 7, 0.9),
    (1, 2, 8, 2.7),
    (2, 3, 5, 2.2),
    (2, 4, 9, 3.0),
    (4, 4, 6, 4.5),
];

#[track_caller]
fn assert_played(what: &str, cost: Cost, game: &Game) {
    let score = play(game);
    for (name, got, played) in [
        ("rounds", cost.rounds, score.rounds),
        ("messages", cost.messages, score.messages),
        ("first round", cost.success_first_round, score.first_round),
    ] {
        assert!(
            (got - played).abs() <= 1e-10 * played,
            "{what}, {game:?}: {name} {got}, played {played}"
        );
    }
}

fn assert_algorithm(algorithm: Algorithm, answer: Answer, is_twice: bool) {
    for (least, most, hosts, c) in CASES {
        for loss in LOSSES {
            let seats = Seats { least, most };
            let election = Election { loss, ..Election::new(seats, hosts, algorithm, c) };
            let game = Game { seats, hosts, c, loss, answer, twice: is_twice, first: hosts as f64 };
            assert_played(&format!("{algorithm:?}"), election.cost(), &game);
        }
    }
}

#[test]
fn basic_agrees_with_enumeration() {
    assert_algorithm(Algorithm::Basic, Answer::Poll, false);
}

#[test]
fn skip_reset_agrees_with_enumeration() {
    assert_algorithm(Algorithm::SkipReset, Answer::Reset, false);
}

#[test]
fn choice_agrees_with_enumeration() {
    assert_algorithm(Algorithm::CHOICE, Answer::Reset, true);
}

#[test]
fn history_agrees_with_enumeration() {
    assert_algorithm(Algorithm::History, Answer::Retry, false);
}

/// A centre that uses a wrong number.
#[test]
fn wrong_number_agrees_with_enumeration() {
    for (least, most, hosts, c) in CASES {
        for taken in [0.5, 1.5, 4.0] {
            let (seats, first) = (Seats { least, most }, taken * hosts as f64);
            let election = Election {
                knowledge: Knowledge::Taken(first),
                ..Election::new(seats, hosts, Algorithm::SkipReset, c)
            };
            let game = Game {
                seats,
                hosts,
                c,
                loss: Loss::NONE,
                answer: Answer::Reset,
                twice: false,
                first,
            };
            assert_played("taken", election.cost(), &game);
        }
    }
}

/// Fig. 16, with a first estimate that is too high, or so low that counts correct it.
#[test]
fn estimate_agrees_with_enumeration() {
    for (least, most, hosts, c) in CASES {
        for loss in LOSSES {
            for first in [most as f64 + 0.5, 40.0] {
                for (algorithm, is_twice) in
                    [(Algorithm::SkipReset, false), (Algorithm::CHOICE, true)]
                {
                    let seats = Seats { least, most };
                    let election = Election {
                        knowledge: Knowledge::Estimated(Estimate::conservative(first)),
                        loss,
                        ..Election::new(seats, hosts, algorithm, c)
                    };
                    let game = Game {
                        seats,
                        hosts,
                        c,
                        loss,
                        answer: Answer::Halve,
                        twice: is_twice,
                        first,
                    };
                    let cost = by_pseudocode(&election).expect("an estimate with resets");
                    assert_played("estimate", cost, &game);
                }
            }
        }
    }
}

/// `V(m) = charge(m) + sum over i of Pr{i|m} V(i)` for `m > U` and 0 in the range, solved as one
/// system of `n + 1` equations. Below `L` it is `penalty + V(n)`.
fn as_one_system(seats: Seats, n: usize, c: f64, charge: f64, penalty: f64) -> f64 {
    let mut rows = Vec::new();
    for m in 0..=n {
        let mut row = vec![0.0; n + 2];
        row[m] = 1.0;
        if (m as u64) < seats.least {
            row[n] -= 1.0;
            row[n + 1] = penalty;
        } else if m as u64 > seats.most {
            for (i, it) in row.iter_mut().enumerate().take(m + 1) {
                *it -= pascal(m, i, c / m as f64);
            }
            row[n + 1] = charge;
        }
        rows.push(row);
    }
    solve(rows)[n]
}

/// Equation (1), by factors.
fn pascal(m: usize, i: usize, chance: f64) -> f64 {
    let ways = (0..i).map(|j| (m - j) as f64 / (j + 1) as f64);
    ways.product::<f64>() * chance.powi(i as i32) * (1.0 - chance).powi((m - i) as i32)
}

/// Gaussian elimination with pivots.
fn solve(mut rows: Vec<Vec<f64>>) -> Vec<f64> {
    let n = rows.len();
    for column in 0..n {
        let pivot = (column..n)
            .max_by(|one, other| rows[*one][column].abs().total_cmp(&rows[*other][column].abs()))
            .expect("a row is left");
        rows.swap(column, pivot);
        let pivot = rows[column].clone();
        for (index, row) in rows.iter_mut().enumerate() {
            let factor = row[column] / pivot[column];
            if index != column && factor != 0.0 {
                for (it, by) in row.iter_mut().zip(&pivot) {
                    *it -= factor * by;
                }
            }
        }
    }
    (0..n).map(|index| rows[index][n] / rows[index][index]).collect()
}

#[test]
fn equations_4_to_7_as_systems_of_all_their_unknowns() {
    for (least, most, c) in [(1, 1, 1.1), (4, 8, 5.6), (1, 8, 4.0), (8, 16, 12.0)] {
        for n in [20_usize, 60, 150] {
            let seats = Seats { least, most };
            let election = |algorithm| Election::new(seats, n as u64, algorithm, c).cost();
            let (basic, skip) = (election(Algorithm::Basic), election(Algorithm::SkipReset));
            for (what, got, charge, penalty) in [
                ("(4)", basic.messages, c, n as f64),
                ("(5)", basic.rounds, 1.0, 1.0),
                ("(6)", skip.messages, c, 0.0),
                ("(7)", skip.rounds, 1.0, 0.0),
            ] {
                let expected = as_one_system(seats, n, c, charge, penalty);
                assert!(
                    (got / expected - 1.0).abs() < 1e-9,
                    "{what}, {seats:?}, {n}: {got}, not {expected}"
                );
            }
        }
    }
}
