//! The informal protocol of the introduction, and the gain of one cheater.
//!
//! All members flip; if the heads are odd, the active members that flipped heads stay active, else
//! those that flipped tails; if these are none, all. A cheater that sees its neighbours' flips
//! before it shows its own gets "slightly above `1/n`", the paper says: at `n = 4` it is half as
//! much again.
//!
//! The cheater's prospects depend on the number of other active members, and on its neighbours
//! being active: all members further away are equivalent. So there are about `4n` states. In each
//! the cheater takes the better flip for what it sees, and stages that change nothing are a fixed
//! point of one number.

use super::subset::heads_up_to;

/// The members whose heads are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parity {
    /// All members, as printed. Once a member that the cheater does not see is inactive, the parity
    /// is fair.
    Ring,
    /// The active members.
    Active,
}

/// The flips that the cheater sees before it chooses its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sees {
    /// The flips of both neighbours: a ring both ways.
    Both,
    /// The flip of the neighbour that comes clockwise: a ring with an agreed direction.
    Clockwise,
}

/// The probability that a cheater with the best choices is elected.
///
/// # Panics
/// If `n < 3`: two neighbours need three members.
pub fn best_cheater(n: usize, parity: Parity, sees: Sees) -> f64 {
    elected(n, parity, |table, value| match sees {
        Sees::Both => FLIPS
            .iter()
            .flat_map(|&left| FLIPS.map(|right| (left, right)))
            .map(|(left, right)| better(FLIPS.map(|own| table.at(left, right, own)), value))
            .fold(StageValue::NOTHING, |sum, it| sum.plus(it, 0.25)),
        Sees::Clockwise => FLIPS
            .iter()
            .map(|&left| {
                let choices = FLIPS.map(|own| {
                    let tails = StageValue::NOTHING.plus(table.at(left, 0, own), 0.5);
                    tails.plus(table.at(left, 1, own), 0.5)
                });
                better(choices, value)
            })
            .fold(StageValue::NOTHING, |sum, it| sum.plus(it, 0.5)),
    })
}

/// As [`best_cheater`], with the choices that the paper considers best: the opposite of its
/// neighbours' flips if they are the same, else a fair flip.
///
/// # Panics
/// If `n < 3`.
pub fn printed_cheater(n: usize, parity: Parity) -> f64 {
    elected(n, parity, |table, _| {
        let equal = [table.at(0, 0, 1), table.at(1, 1, 0)].map(|it| (it, 0.25));
        let fair = [(0, 1), (1, 0)]
            .into_iter()
            .flat_map(|(left, right)| FLIPS.map(|own| (table.at(left, right, own), 0.125)));
        let played = equal.into_iter().chain(fair);
        played.fold(StageValue::NOTHING, |sum, (it, part)| sum.plus(it, part))
    })
}

/// Tails and heads.
const FLIPS: [usize; 2] = [0, 1];

/// The value of a stage for the cheater.
#[derive(Clone, Copy, Debug)]
struct StageValue {
    /// The probability that nothing changes.
    unchanged: f64,
    /// The probability to win, by a stage that changes something.
    wins: f64,
}

impl StageValue {
    const NOTHING: Self = Self { unchanged: 0.0, wins: 0.0 };

    fn plus(self, other: Self, part: f64) -> Self {
        Self {
            unchanged: self.unchanged + part * other.unchanged,
            wins: self.wins + part * other.wins,
        }
    }

    /// The value if a stage that changes nothing is worth `value`.
    fn worth(self, value: f64) -> f64 {
        self.unchanged * value + self.wins
    }

    /// The value if the stage is repeated until something changes.
    fn repeated(self) -> f64 {
        if self.wins == 0.0 { 0.0 } else { self.wins / (1.0 - self.unchanged) }
    }
}

/// The better of two choices; of equal ones the one that changes something sooner.
fn better([one, other]: [StageValue; 2], value: f64) -> StageValue {
    let gain = one.worth(value) - other.worth(value);
    if gain > 0.0 || (gain == 0.0 && one.unchanged <= other.unchanged) { one } else { other }
}

/// The other active members: the two neighbours (0 or 1 each), and the number further away.
#[derive(Clone, Copy, Debug)]
struct Others {
    left: usize,
    right: usize,
    far: usize,
}

impl Others {
    fn number(self) -> usize {
        self.left + self.right + self.far
    }

    fn place(self) -> usize {
        4 * self.far + 2 * self.left + self.right
    }
}

/// The prospects of one state, for each flip of the neighbours and the cheater.
struct Table([StageValue; 8]);

impl Table {
    fn at(&self, left: usize, right: usize, own: usize) -> StageValue {
        self.0[4 * left + 2 * right + own]
    }
}

/// The probability that the cheater is elected, if `play` chooses by a state's table and value.
fn elected(n: usize, parity: Parity, play: impl Fn(&Table, f64) -> StageValue) -> f64 {
    assert!(n >= 3, "ring of {n} members: a cheater with two neighbours needs three or more");
    let all_far = n - 3;
    let heads = heads_up_to(all_far);
    let mut values = vec![0.0; 4 * (all_far + 1)];
    for number in 0..n {
        for (left, right) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let far = number.checked_sub(left + right);
            let Some(far) = far.filter(|far| *far <= all_far) else {
                continue;
            };
            let others = Others { left, right, far };
            values[others.place()] = match number {
                0 => 1.0,
                _ => fixed_point(&prospects(others, &heads, parity, &values), &play),
            };
        }
    }
    let everybody = Others { left: 1, right: 1, far: all_far };
    values[everybody.place()]
}

/// The value of a state that a stage may leave unchanged: iterates over better choices until the
/// value no longer grows.
fn fixed_point(table: &Table, play: impl Fn(&Table, f64) -> StageValue) -> f64 {
    let mut value = 0.0;
    loop {
        let next = play(table, value).repeated();
        if next <= value {
            return value;
        }
        value = next;
    }
}

/// The value of a stage for each flip of the neighbours and the cheater, given the values of
/// smaller states and the distributions of the heads of the members far away.
fn prospects(others: Others, heads: &[Vec<f64>], parity: Parity, values: &[f64]) -> Table {
    let all_far = heads.len() - 1;
    // The parity of the inactive members that the cheater does not see.
    let unseen: &[(usize, f64)] = match parity {
        Parity::Ring if others.far < all_far => &[(0, 0.5), (1, 0.5)],
        Parity::Ring | Parity::Active => &[(0, 1.0)],
    };
    let counted = |is_active: usize, flip: usize| match parity {
        Parity::Ring => flip,
        Parity::Active => is_active * flip,
    };
    let stay = |is_active: usize, flip: usize, side: usize| is_active * usize::from(flip == side);

    let prospect = |left: usize, right: usize, own: usize| {
        let seen = own + counted(others.left, left) + counted(others.right, right);
        let mut prospect = StageValue::NOTHING;
        for (heads, weight) in heads[others.far].iter().enumerate() {
            for (odd, part) in unseen {
                let side = (seen + heads + odd) % 2;
                let next = Others {
                    left: stay(others.left, left, side),
                    right: stay(others.right, right, side),
                    far: if side == 1 { heads } else { others.far - heads },
                };
                let cheater_stays = own == side;
                let number = next.number() + usize::from(cheater_stays);
                if number == 0 || number == others.number() + 1 {
                    prospect.unchanged += weight * part;
                } else if cheater_stays {
                    prospect.wins += weight * part * values[next.place()];
                }
            }
        }
        prospect
    };
    let mut table = [StageValue::NOTHING; 8];
    for (place, entry) in table.iter_mut().enumerate() {
        *entry = prospect(place / 4, place / 2 % 2, place % 2);
    }
    Table(table)
}
