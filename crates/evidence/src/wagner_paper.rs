//! The claims of a paper on a fair draw in a ring whose members may cheat.

mod draws;
mod faults;
#[cfg(test)]
mod tests;
mod wagner_figures;
mod wagner_fixture;

use super::evidence::Verdict::{Holds, HoldsWithCorrection};
use super::{Claim, Document, Method};
use wagner_fixture::obedient;

pub(super) const DOCUMENT: Document = Document {
    key: "W",
    title: "Randomized Fault-Detecting Leader Election in a Bi-Directional Ring (Wagner, University of Texas at San Antonio)",
    claims: CLAIMS,
    figures: wagner_figures::FIGURES,
};

const CLAIMS: &[Claim] = &[
    Claim {
        id: "W1",
        source: "1; theorem 1 (a)",
        says: "With floor(n/2) + 1 honest neighbours the coin is fair, whatever flips the others choose",
        reading: "For odd n the abstract is right and the text is not: it takes ceil(n/2) + 1. \
                  Measured in the draws of a segment that knows as many flips as possible before \
                  it shows the last of its own: it wins its fair share of them, or all.",
        method: Method::Simulation,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| faults::w1(&obedient(budget), evidence),
    },
    Claim {
        id: "W2",
        source: "theorem 1 (b)",
        says: "Inconsistent, changed, false and missing fault messages reach every honest member of the main segment",
        reading: "Segments of up to floor(n/2) - 1, each fault at a place drawn by chance; ours \
                  are longer segments, down to two honest members. A test of the simulator tries \
                  all messages that such a segment can send in the first Basic round on rings of \
                  4 to 6, complete or broken off, and all whole streams where two neighbours \
                  withhold their flips.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: |budget, evidence| faults::w2(&obedient(budget), evidence),
    },
    Claim {
        id: "W3",
        source: "theorem 1 (c)",
        says: "Simulated members are excluded by knowing n; a broken ring takes a limit on response time",
        reading: "A member that pretends to be one more is noticed unless the flips fit by \
                  chance, which is one case in 2^n a round.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: |budget, evidence| faults::w3(&obedient(budget), evidence),
    },
    Claim {
        id: "W4",
        source: "1",
        says: "The bounds on the number of cheaters are tight",
        reading: "A segment with one more member knows every flip before it shows its last, \
                  controls the coin, and wins every draw unnoticed.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: |budget, evidence| faults::w4(&obedient(budget), evidence),
    },
    Claim {
        id: "W5",
        source: "theorem 2 (a)",
        says: "Each honest member is elected with probability 1/n, and cheaters cannot alter that",
        reading: "In honest rings, and beside the largest segment that chooses its flips. The \
                  honest neighbour of the segment and the honest member farthest from it \
                  represent all. On small rings the best possible flips, by dynamic programming \
                  over all that cheaters can see, give them no more than their fair share.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: |budget, evidence| draws::w5(&obedient(budget), evidence),
    },
    Claim {
        id: "W6",
        source: "theorem 2 (a)",
        says: "Chosen flips and stalemates cannot prevent the election",
        reading: "One cheater cannot. Two neighbours can: if all active members are theirs, or \
                  theirs and one whose flip they see first, they flip the same coin for ever, \
                  and no message is wrong. Cheaters that show their flips one by one, and see \
                  more, stall twice their fair share of all draws. A limit on equal stages in a \
                  row makes it a fault.",
        method: Method::Simulation,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| draws::w6(&obedient(budget), evidence),
    },
    Claim {
        id: "W7",
        source: "theorem 3",
        says: "O(log n) rounds and O(n^2 log n) bits on average",
        reading: "Rounds over log2 n stay between two bounds from 8 to 1000 members; each takes 2 n^2 messages of one bit.",
        method: Method::Theory,
        on_record: Holds,
        evaluate: |budget, evidence| draws::w7(&obedient(budget), evidence),
    },
    Claim {
        id: "W8",
        source: "4, after theorem 3",
        says: "Simulations show at most ceil(log2 n) + 2 subsets",
        reading: "True of the mean. One single draw in four to six takes more.",
        method: Method::Simulation,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| draws::w8(&obedient(budget), evidence),
    },
    Claim {
        id: "W9",
        source: "5",
        says: "Two flips are expected in step 4, and a subset takes slightly less than three rounds",
        reading: "With the printed strict comparison a binary fraction a/2^d takes 2 + 2^(1-d) flips, and one half three. With >= \
                  no fraction takes more than two.",
        method: Method::Theory,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| draws::w9(&obedient(budget), evidence),
    },
    Claim {
        id: "W10",
        source: "1",
        says: "In the informal protocol a cheater gets slightly more than 1/n, by the opposite of equal neighbours",
        reading: "Slightly: by at most a tenth. That is so of large rings; of four the best cheater gets half as much again. And its \
                  best is not the opposite of its neighbours.",
        method: Method::Theory,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| draws::w10(&obedient(budget), evidence),
    },
    Claim {
        id: "W11",
        source: "2, (L), step 3",
        says: "Two active neighbours that do not show each other their flips cannot be held in a stalemate",
        reading: "Not by one of them. If two cheaters are the last, they need no other flip; see \
                  W6.",
        method: Method::Simulation,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| draws::w11(&obedient(budget), evidence),
    },
    Claim {
        id: "W12",
        source: "6",
        says: "Cheaters have two choices: to let each be elected with 1/n, or to let all know of a fault",
        reading: "The second is a veto. If the ring drew again after each fault, a member that \
                  vetoes until it is elected would win in the end: so the ring reports a fault \
                  and does not draw again.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: |budget, evidence| faults::w12(&obedient(budget), evidence),
    },
];
