//! The agreement of the relay members on one choice (sections 3.1 and 4; claim P2).
//!
//! The relay graph has an edge between two relay members if one of them knows the other. Without
//! loss each of its components comes to one choice, the best of its members'.

use super::check_probability;
use crate::binomial::{any_of, complement_to};

/// The probability that a choice of one of two relay members reaches the other: at least `v (1-l) +
/// (1-v) v (1-l)^2`, for a view `v` and a loss `l` of unicasts.
///
/// Claim P2: two relay members are joined if at least one of them knows the other, `1 - (1 - v)^2`.
/// The paper says so, and then computes with `v`.
///
/// The member with the better choice sends it to the members that it knows. Otherwise the other
/// member, if it knows the first, has sent its own choice, and then gets the better one, in answer
/// or when the first comes to it: two unicasts must arrive. Later unicasts between the two may do
/// the same, so this is a lower bound. Without loss it is exact, and joins them.
///
/// # Panics
/// Unless view and loss are probabilities.
pub fn passage_probability(view: f64, unicast_loss: f64) -> f64 {
    check_probability("view", view);
    check_probability("unicast loss", unicast_loss);
    let arrives = 1.0 - unicast_loss;
    view * arrives * (1.0 + (1.0 - view) * arrives)
}

/// `P_m` as printed: a random graph with `members` vertices is connected with about `e^(-m
/// (1-p)^(m-1))`, for the edge probability `p`.
///
/// This is the probability that no vertex is isolated, for many vertices. The paper says that it
/// rises with `m`, but not at first: for an edge probability of 0.4 it falls from 0.37 at `m = 1`
/// to 0.30 at `m = 2`.
///
/// # Panics
/// Unless the edge has a probability and the number of vertices is 0 or more.
pub fn connected_printed(members: f64, edge: f64) -> f64 {
    check_probability("edge", edge);
    assert!(members >= 0.0, "a graph of {members} members: need 0 or more");
    if members == 0.0 {
        return 0.0;
    }
    (-members * complement_to(edge, members - 1.0)).exp()
}

/// The probability that a random graph with `members` vertices and edges of probability `edge` is
/// connected, exactly up to 1025 vertices; beyond, to 1e-6.
///
/// # Panics
/// Unless there are vertices and the edge has a probability.
pub fn connected(members: u64, edge: f64) -> f64 {
    check_probability("edge", edge);
    assert!(members >= 1, "a graph without members");
    Spread::new(edge, edge, members - 1).reaches(members - 1)
}

/// The probability that `members` relay members come to one choice, for any choice function: at
/// least that of a connected graph whose edges are the passages.
///
/// Take the member with the best choice. The choice spreads over one passage at a time, each pair
/// of members is tried only once, in one direction, and pairs are independent. So it reaches all at
/// least as likely as the graph of passages is connected. The worst case, as in the paper, is that
/// every member prefers another candidate at first.
///
/// # Panics
/// Unless there are members, and view and loss are probabilities.
pub fn agreement_bound(members: u64, view: f64, unicast_loss: f64) -> f64 {
    connected(members, passage_probability(view, unicast_loss))
}

/// As [`agreement_bound`] if all prefer the best member that they know, as in the paper's
/// simulation, in a group much larger than `members`. Exact if no unicast is lost, else a lower
/// bound.
///
/// Each relay member knows the best member of the group with probability `view`; if none does, the
/// next best takes its place. Given that some know it, all must hear of it from them.
///
/// # Panics
/// Unless there are members, and view and loss are probabilities.
pub fn agreement(members: u64, view: f64, unicast_loss: f64) -> f64 {
    assert!(members >= 1, "agreement of 0 members: need one or more");
    let passage = passage_probability(view, unicast_loss);
    agreement_by(&Spread::new(view, passage, members), members)
}

/// [`agreement`] with a given spread of news.
pub(super) fn agreement_by(spread: &Spread, members: u64) -> f64 {
    if members == 1 {
        return 1.0;
    }
    match any_of(spread.direct, members as f64) {
        0.0 => 0.0,
        known_to_any => (spread.reaches(members) / known_to_any).min(1.0),
    }
}

/// The number of members in the table; for more an expansion is good enough.
const TABULATED: u64 = 1024;

/// The spread of news that reaches each member directly with one probability, and from each to each
/// other with another.
///
/// Of `n` members take one. Those that it can exchange news with are `k`, itself included. They
/// must be connected, one of them must get the news directly, and the rest must get it among
/// themselves. So with `C(k)` for a connected graph, the direct probability `d` and the passage `q`
///
/// ```text
/// R(n) = sum over k = 1..n of binomial(n-1, k-1) C(k) (1 - (1-d)^k) (1-q)^(k(n-k)) R(n-k)
/// ```
///
/// and `C(n+1) = R(n)` for `d = q`. All terms are positive. The usual recurrence, 1 minus the sum
/// over smaller components, is shorter but loses all digits for a sparse graph of a hundred
/// members.
pub(super) struct Spread {
    direct: f64,
    passage: f64,
    /// `R`, from 0 on.
    reached: Vec<f64>,
}

impl Spread {
    /// Valid for any number of members, fast for up to `members`.
    pub(super) fn new(direct: f64, passage: f64, members: u64) -> Self {
        let most = members.min(TABULATED) as usize;
        let each = |of: fn(f64, f64) -> f64, chance: f64| -> Vec<f64> {
            (0..=most).map(|number| of(chance, number as f64)).collect()
        };
        let cut = each(complement_to, passage);
        let to_any_by_passage = each(any_of, passage);
        let mut connected = vec![0.0, 1.0];
        for n in 1..most {
            let next = reaching(n, &cut, &to_any_by_passage, &connected, &connected[1..]);
            connected.push(next);
        }
        let to_any_directly = each(any_of, direct);
        let mut reached = vec![1.0];
        for n in 1..=most {
            reached.push(reaching(n, &cut, &to_any_directly, &connected, &reached));
        }
        Self { direct, passage, reached }
    }

    /// `R(n)`: the probability that the news reaches all of `n` members.
    pub(super) fn reaches(&self, n: u64) -> f64 {
        match self.reached.get(n as usize) {
            Some(chance) => chance.min(1.0),
            None if n <= TABULATED => Self::new(self.direct, self.passage, n).reaches(n),
            None => self.reaches_many(n as f64),
        }
    }

    /// For many members: the news misses a member if it reaches none at all, or if isolated members
    /// or pairs exist. These are nearly independent: `e^-(their mean number)`, corrected for pairs
    /// of isolated members. From 1025 members on it errs by less than 1e-6.
    fn reaches_many(&self, n: f64) -> f64 {
        let missed = 1.0 - self.direct;
        let apart = |cuts: f64| complement_to(self.passage, cuts);
        let pairs = n * (n - 1.0) / 2.0;
        let nobody = complement_to(self.direct, n);
        let alone = n * missed * apart(n - 1.0);
        let two_alone = pairs * missed.powi(2) * apart(2.0 * n - 3.0);
        let in_pair = pairs * self.passage * missed.powi(2) * apart(2.0 * n - 4.0);
        (-(nobody + alone + in_pair - (two_alone - alone * alone / 2.0))).exp()
    }
}

/// `R(n)`, given `(1-q)^i` in `cut`, `1 - (1-d)^k` in `to_any`, `C` and `R` below `n`.
///
/// The number of ways `binomial(n-1, k-1) (1-q)^(k(n-k))` is carried on from both ends inwards.
/// There it may become 0, and is then negligible.
fn reaching(n: usize, cut: &[f64], to_any: &[f64], connected: &[f64], reached: &[f64]) -> f64 {
    let term = |k: usize| connected[k] * to_any[k] * reached[n - k];
    let half = n / 2;
    let mut sum = 0.0;
    let mut ways = cut[n - 1];
    for k in 1..=half {
        if k > 1 {
            ways *= (n - k + 1) as f64 / (k - 1) as f64 * cut[n + 1 - 2 * k];
        }
        sum += ways * term(k);
    }
    ways = 1.0;
    for k in (half + 1..=n).rev() {
        sum += ways * term(k);
        ways *= (k - 1) as f64 / (n - k + 1) as f64 * cut[2 * k - n - 1];
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{Spread, TABULATED};

    /// The worst case is a mean of about two isolated members.
    #[test]
    fn expansion_agrees_with_the_end_of_the_table() {
        for passage in [0.003, 0.004, 0.005, 0.006, 0.007, 0.008, 0.01, 0.03] {
            for direct in [passage, 0.1, 0.5, 0.9] {
                let spread = Spread::new(direct, passage, TABULATED);
                let (exact, expanded) =
                    (spread.reaches(TABULATED), spread.reaches_many(TABULATED as f64));
                let error = (exact - expanded).abs();
                assert!(error < 1e-6, "{direct}, {passage}: {exact}, {expanded}");
            }
        }
    }

    #[test]
    fn table_for_few_members_extends_to_more() {
        let (few, many) = (Spread::new(0.3, 0.1, 2), Spread::new(0.3, 0.1, 50));
        for n in 0..=50 {
            assert_eq!(few.reaches(n), many.reaches(n));
        }
    }
}
