//! The claims of a paper on a fair draw in a ring whose members may cheat.

mod draws;
mod faults;
mod wagner_figures;
mod wagner_fixture;
#[cfg(test)]
mod wagner_mutants;

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
        reading: "For odd n the abstract is right and the text is not: it takes ceil(n/2) + 1. Seen in whose draws a segment \
                  wins that knows as many flips as it can before it shows the last of its own: its part of them, or all.",
        method: Method::Simulation,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| faults::w1(&obedient(budget), evidence),
    },
    Claim {
        id: "W2",
        source: "theorem 1 (b)",
        says: "Inconsistent, changed, false and missing fault messages reach every honest member of the main segment",
        reading: "Segments of up to floor(n/2) - 1, each fault at a place drawn by chance; ours are longer segments, down to two \
                  honest members. A test of the simulator tries all that such a segment can say in the first Basic round on \
                  rings of 4 to 6, whole or broken off, and all whole streams where two neighbours withhold their flips.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: |budget, evidence| faults::w2(&obedient(budget), evidence),
    },
    Claim {
        id: "W3",
        source: "theorem 1 (c)",
        says: "Simulated members are excluded by knowing n; a broken ring takes a limit on response time",
        reading: "Whoever pretends to be one more is noticed unless the flips happen to fit, which is one case in 2^n a round.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: |budget, evidence| faults::w3(&obedient(budget), evidence),
    },
    Claim {
        id: "W4",
        source: "1",
        says: "The bounds on the number of cheaters are tight",
        reading: "One more knows every flip before it shows its last, owns the coin, and wins every draw unnoticed.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: |budget, evidence| faults::w4(&obedient(budget), evidence),
    },
    Claim {
        id: "W5",
        source: "theorem 2 (a)",
        says: "Each honest member is elected with probability 1/n, and cheaters cannot alter that",
        reading: "In honest rings, and beside the largest segment that chooses its flips. The honest neighbour of the segment \
                  and the one farthest from it stand for all. On small rings the best flips there are, by dynamic programming \
                  over all that cheaters can see, get them no more than their part.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: |budget, evidence| draws::w5(&obedient(budget), evidence),
    },
    Claim {
        id: "W6",
        source: "theorem 2 (a)",
        says: "Chosen flips and stalemates cannot prevent the election",
        reading: "One cheater cannot. Two neighbours can: where all that are active are theirs, or theirs and one whose flip they \
                  see first, they flip alike for ever, and no message is wrong. Those who show their flips one by one, and \
                  see more, hold up twice their part of all draws. A limit on equal stages in a row makes it a fault.",
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
        reading: "True of the mean. Of single draws, one in four to six takes more.",
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
        reading: "Not by one of them. Two cheaters that are the last need nobody's flip; see W6.",
        method: Method::Simulation,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| draws::w11(&obedient(budget), evidence),
    },
    Claim {
        id: "W12",
        source: "6",
        says: "Cheaters have two choices: to let each be elected with 1/n, or to let all know of a fault",
        reading: "The second is a veto. If the ring drew again after each fault, whoever vetoes until it is elected would be, \
                  sooner or later: so a fault is reported, and nobody draws again.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: |budget, evidence| faults::w12(&obedient(budget), evidence),
    },
];
