//! Elections by sets: bit `i` of a number stands for member `i`.

use hustings_theory::wagner::Compare;
use hustings_theory::wagner::informal::{Parity, Sees};

/// Bits of `t` beyond which the undecided part has no weight.
const MOST_BITS: u32 = 60;

/// Step 4 of (S) bit by bit: the expected flips, and the probability of `t < r`, for `r = heads /
/// active`.
pub(crate) fn compare_bits(heads: usize, active: usize, compare: Compare) -> (f64, f64) {
    let (heads, active) = (heads as u128, active as u128);
    let (mut flips, mut below) = (0.0, 0.0);
    let mut undecided = vec![0_u128];
    for bits in 1..=MOST_BITS {
        let weight = 0.5_f64.powi(bits as i32);
        flips += 2.0 * weight * undecided.len() as f64;
        let r = heads << bits;
        let is_above = |bits: u128| match compare {
            Compare::Strict => bits * active > r,
            Compare::NonStrict => bits * active >= r,
        };
        let is_below = |bits: u128| match compare {
            Compare::Strict => (bits + 1) * active < r,
            Compare::NonStrict => (bits + 1) * active <= r,
        };
        let longer = undecided.iter().flat_map(|it| [2 * it, 2 * it + 1]);
        let (decided, open) = longer.partition(|it| is_above(*it) || is_below(*it));
        let decided: Vec<u128> = decided;
        below += weight * decided.iter().filter(|it| is_below(**it)).count() as f64;
        undecided = open;
    }
    (flips, below)
}

/// All runs of an election, weighted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Election {
    pub(crate) stages: f64,
    pub(crate) flips: f64,
    /// Stages until one member is active, or two neighbours.
    pub(crate) stages_to_neighbours: f64,
    /// The probability that two neighbours are left.
    pub(crate) adjacent: f64,
    /// The probability of reaching the limit on equal stages in a row.
    pub(crate) alarm: f64,
    /// The probability that each member is elected.
    pub(crate) elected: Vec<f64>,
}

impl Election {
    fn add(&mut self, later: &Self, weight: f64) {
        self.stages += weight * later.stages;
        self.flips += weight * later.flips;
        self.stages_to_neighbours += weight * later.stages_to_neighbours;
        self.adjacent += weight * later.adjacent;
        self.alarm += weight * later.alarm;
        for (sum, elected) in self.elected.iter_mut().zip(&later.elected) {
            *sum += weight * elected;
        }
    }

    /// An election among `n`; with a limit, that number of equal stages in a row ends it.
    pub(crate) fn play(n: usize, compare: Compare, limit: Option<u32>) -> Self {
        let mut of: Vec<Self> = Vec::new();
        for active in 0..1_usize << n {
            let nothing = Self { elected: vec![0.0; n], ..Self::default() };
            let election = match active.count_ones() {
                0 => nothing,
                1 => {
                    let mut elected = nothing;
                    elected.elected[active.ilog2() as usize] = 1.0;
                    elected
                }
                // All subsets have smaller numbers.
                _ => Self::from(active, compare, limit, nothing, &of),
            };
            of.push(election);
        }
        of.swap_remove((1 << n) - 1)
    }

    fn from(
        active: usize,
        compare: Compare,
        limit: Option<u32>,
        nothing: Self,
        of: &[Self],
    ) -> Self {
        let n = nothing.elected.len();
        let mut stage = nothing.clone();
        stage.stages = 1.0;
        stage.stages_to_neighbours = 1.0;
        let mut equal = 0.0;
        let all_flips = 0.5_f64.powi(active.count_ones() as i32);
        for heads in subsets(active) {
            if heads == 0 || heads == active {
                equal += all_flips;
                continue;
            }
            let (count, all) = (heads.count_ones(), active.count_ones());
            let (flips, below) = compare_bits(count as usize, all as usize, compare);
            stage.flips += all_flips * flips;
            stage.add(&of[heads], all_flips * below);
            stage.add(&of[active & !heads], all_flips * (1.0 - below));
        }
        let mut election = nothing;
        let mut weight = 1.0;
        for _ in 0..limit.unwrap_or(200) {
            election.add(&stage, weight);
            weight *= equal;
        }
        if limit.is_some() {
            election.alarm += weight;
        }
        if are_neighbours(active, n) {
            election.adjacent = 1.0;
            election.stages_to_neighbours = 0.0;
        }
        election
    }
}

/// The distribution of the number of `active` that stay, at place `k - 1`.
pub(crate) fn survivors_of(active: usize) -> Vec<f64> {
    let mut law = vec![0.0; active];
    let all = (1_usize << active) - 1;
    let weight = 0.5_f64.powi(active as i32);
    for heads in 0..=all {
        let count = heads.count_ones() as usize;
        if count == 0 || count == active {
            law[active - 1] += weight;
        } else {
            let (_, below) = compare_bits(count, active, Compare::Strict);
            law[count - 1] += weight * below;
            law[active - count - 1] += weight * (1.0 - below);
        }
    }
    law
}

fn subsets(set: usize) -> impl Iterator<Item = usize> {
    (0..=set).filter(move |it| it & !set == 0)
}

fn are_neighbours(set: usize, n: usize) -> bool {
    (0..n).any(|it| set == 1 << it | 1 << ((it + 1) % n))
}

/// The result of a stage: nothing new, or a value.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    unchanged: f64,
    worth: f64,
}

/// The best `P(elected)` of member 0 against the informal protocol. Its neighbours are `n - 1`,
/// whose flip comes clockwise, and 1.
pub(crate) fn informal_cheater(n: usize, parity: Parity, sees: Sees) -> f64 {
    let mut worth = vec![0.0; 1 << n];
    worth[1] = 1.0;
    for active in (3..1_usize << n).step_by(2) {
        let turn = |left: usize, right: usize, own: usize| {
            let mut turn = Turn::default();
            let mut weight = 0.0;
            for flips in 0..1_usize << n {
                let sits = |member: usize| flips >> member & 1;
                if sits(n - 1) != left || sits(1) != right || sits(0) != own {
                    continue;
                }
                weight += 1.0;
                let counted = match parity {
                    Parity::Ring => flips,
                    Parity::Active => flips & active,
                };
                let next = match counted.count_ones() % 2 {
                    1 => active & flips,
                    _ => active & !flips,
                };
                if next == 0 || next == active {
                    turn.unchanged += 1.0;
                } else {
                    turn.worth += worth[next];
                }
            }
            Turn { unchanged: turn.unchanged / weight, worth: turn.worth / weight }
        };
        let turns: Vec<Turn> = (0..8).map(|it| turn(it >> 2, it >> 1 & 1, it & 1)).collect();
        worth[active] = iterate(0.0, |value| {
            let of = |place: usize| turns[place].unchanged * value + turns[place].worth;
            match sees {
                Sees::Both => (0..4).map(|it| of(2 * it).max(of(2 * it + 1))).sum::<f64>() / 4.0,
                Sees::Clockwise => {
                    let own = |left: usize, own: usize| of(4 * left + own) + of(4 * left + 2 + own);
                    (0..2).map(|it| own(it, 0).max(own(it, 1))).sum::<f64>() / 4.0
                }
            }
        });
    }
    worth[(1 << n) - 1]
}

/// The greatest probability that members `0..cheaters` make an election endless without a wrong
/// message. They see the flips of their neighbours, unless a neighbour and a cheater are the
/// only two active.
pub(crate) fn stalling(n: usize, cheaters: usize) -> f64 {
    let (left, right) = (n - 1, cheaters);
    let theirs = (1_usize << cheaters) - 1;
    let mut worth = vec![0.0; 1 << n];
    for active in 1..1_usize << n {
        if active.count_ones() < 2 {
            continue;
        }
        let shows = |neighbour: usize, end: usize| active != 1 << neighbour | 1 << end;
        let seen =
            usize::from(shows(left, 0)) << left | usize::from(shows(right, cheaters - 1)) << right;
        // For each set of seen flips, and each of their own.
        let mut turns = vec![vec![Turn::default(); 1 << cheaters]; 1 << n];
        let weight = 0.5_f64.powi((n - cheaters) as i32);
        for flips in 0..1_usize << n {
            let turn = &mut turns[flips & seen][flips & theirs];
            let heads = flips & active;
            if heads == 0 || heads == active {
                turn.unchanged += weight;
                continue;
            }
            let part = f64::from(heads.count_ones()) / f64::from(active.count_ones());
            let later = part * worth[heads] + (1.0 - part) * worth[active & !heads];
            turn.worth += weight * later;
        }
        worth[active] = iterate(1.0, |value| {
            let best = |turns: &Vec<Turn>| {
                let worths = turns.iter().map(|it| it.unchanged * value + it.worth);
                worths.fold(0.0, f64::max)
            };
            turns.iter().map(best).sum()
        });
    }
    worth[(1 << n) - 1]
}

/// The fixed point to which `next` converges.
fn iterate(from: f64, next: impl Fn(f64) -> f64) -> f64 {
    let mut value = from;
    for _ in 0..10_000 {
        let after = next(value);
        if (after - value).abs() < 1e-16 {
            break;
        }
        value = after;
    }
    value
}
