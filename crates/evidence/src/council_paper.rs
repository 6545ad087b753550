//! The claims of a paper on electing a few representatives out of many hosts.

mod council_figures;
mod council_fixture;
mod known_group_size;
mod tables;
mod unknown_group_size;

#[cfg(test)]
mod tests;

use super::evidence::Verdict::{Holds, HoldsWithCorrection};
use super::{Claim, Document, Method};
use council_fixture::honest;

pub(super) const DOCUMENT: Document = Document {
    key: "C",
    title: "Distributed Council Election (Raz, Shavitt, Zhang, IEEE/ACM Transactions on Networking 2004)",
    claims: CLAIMS,
    figures: council_figures::FIGURES,
};

const CLAIMS: &[Claim] = &[
    Claim {
        id: "C1",
        source: "IV, figures 1 and 2",
        says: "Naive, n = 10,000: [4..8] succeeds with 0.697365 at c = 5.8, T = 1.43397, N = 8.31702; [1..1] with 0.367898, \
               T = 2.71815",
        reading: "As printed; all rounds count. For [1..1] at the c that succeeds most often. \
                  Simulated elections must reach the same numbers.",
        method: Method::Theory,
        on_record: Holds,
        evaluate: |budget, evidence| known_group_size::c1(&honest(budget), evidence),
    },
    Claim {
        id: "C2",
        source: "V, equations (4) and (5)",
        says: "The expected messages and rounds of the basic algorithm",
        reading: "(5) is right. (4) has a misprint: after an undershoot with m < L replies all n reply, which costs n + N(n), not \
                  m + N(n).",
        method: Method::Theory,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| known_group_size::c2(&honest(budget), evidence),
    },
    Claim {
        id: "C3",
        source: "V-A, figure 10",
        says: "Skip-Reset, [4..8]: T below 1.4, and N about 9.2 for n > 100",
        reading: "At c = 5.6, as in Figure 11. As N = c T, 9.2 messages and fewer than 1.4 rounds are c = 6.6 or more, where T is \
                  no longer least; at c = 5.6 it is 7.8.",
        method: Method::Theory,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| known_group_size::c3(&honest(budget), evidence),
    },
    Claim {
        id: "C4",
        source: "V-B, figures 11 and 14; I",
        says: "Choice takes about 1.1 rounds for [4..8], fewer than 1.6 for [1..1] and 1.001 for [1..8], and almost twice the \
               messages",
        reading: "If neither draw gives a council the centre takes the smaller that is above U, and starts over only if both are \
                  below L. Half as many messages again at c = 5.6, not twice as many.",
        method: Method::Theory,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| known_group_size::c4(&honest(budget), evidence),
    },
    Claim {
        id: "C5",
        source: "VI, equations (8) to (16), figure 13",
        says: "History: N = c T; for [1..1] and c = 1.1, T(6) = 2.313 and T(n) <= 2.467; the centre's memory is N <- N_c",
        reading: "The numbers hold. (16) charges an undershoot T(6), although everything must be \
                  repeated, and so its value is too low; T(n) is below even so. Line 8 of Figure \
                  13 must keep the smallest count above U: as printed, two undershoots in a row \
                  make all hosts reply.",
        method: Method::Theory,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| known_group_size::c5(&honest(budget), evidence),
    },
    Claim {
        id: "C6",
        source: "VI, figure 14",
        says: "[1..1]: history gains 5 to 6 % in T and a quarter of a percent in N, choice 40 % in T at 5 % more N",
        reading: "Each at the c that takes the fewest rounds, n = 10,000. History gains half as much in T and more in N; \
                  choice takes 14 % more messages.",
        method: Method::Theory,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| known_group_size::c6(&honest(budget), evidence),
    },
    Claim {
        id: "C7",
        source: "V",
        says: "Basic: c = L + 2(U-L)/3 is near the best for T, and U - (U-L)(U+1)/(L+U+n+1) approximates the best for N",
        reading: "Near the best: at most a tenth more. The first is. The second is not for large n, where it is U, which costs [4..8] two \
                  thirds more messages than need be. (The shared value for the fewest messages of [1..1] among 10,000, 2089.4, is \
                  of a search that stopped too early, at c = 1.95: with c = 1.983 they are 2001.7.)",
        method: Method::Theory,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| known_group_size::c7(&honest(budget), evidence),
    },
    Claim {
        id: "C8",
        source: "V, figure 6",
        says: "Basic: T is below 2 even for very large n; N is well below n/10 for large n, and grows more slowly than n",
        reading: "At the c that takes the fewest rounds. T is below 2 for [4..8] and wider ranges, not for [1..1]. N becomes a fixed \
                  part of n, as an undershoot makes all reply: 0.12 n for [4..8].",
        method: Method::Theory,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| known_group_size::c8(&honest(budget), evidence),
    },
    Claim {
        id: "C9",
        source: "VII, figure 15",
        says: "A number of hosts that is wrong by a factor of 10 costs at most one round more, and 10 times the messages if it is \
               too low; it pays to overestimate",
        reading: "Skip-Reset, [1..8], c = 5.6. A number that stays ten times too high costs 1.2 rounds; one that is halved after \
                  each undershoot, as in Figure 16, 0.7.",
        method: Method::Theory,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| unknown_group_size::c9(&honest(budget), evidence),
    },
    Claim {
        id: "C10",
        source: "VII-A, figure 17",
        says: "Unknown n, [1..8]: aggressive takes at most 4 rounds and 15 messages, conservative about 10 rounds at n = 10, \
               Bolot's masks over 13",
        reading: "n = 10 to 100,000, first estimate 100,000. Aggressive takes 4.05 rounds at n = 10. The messages are by the \
                  equations; by the pseudocode, where the centre never learns n, they are 15.2. Bolot's hosts keep their keys of \
                  16 bits.",
        method: Method::Theory,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| unknown_group_size::c10(&honest(budget), evidence),
    },
    Claim {
        id: "C11",
        source: "VII-B, equation (21)",
        says: "A loss q of replies is a c of c(1-q); a loss of multicasts is an overestimate; both have minor effect",
        reading: "Exact for the first draw. Later the centre draws with the number of replies \
                  that arrived, and more hosts are active. Minor: less than a round at a loss of \
                  0.3.",
        method: Method::Theory,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| unknown_group_size::c11(&honest(budget), evidence),
    },
    Claim {
        id: "C12",
        source: "VIII, table I",
        says: "Hosts remember 1 bit (basic, Skip-Reset), 3 (choice) or 2 (history); feedback takes log n bits, and 0, 1, 2 or 1 more",
        reading: "Measured from the memory of our hosts in elections, from our feedback as \
                  encoded for every count from 1 to 100,000, and from the first call of an \
                  agent, opened again. Choice needs 2 bits. They also carry protection against \
                  loss, replay and forgery, which the paper does not have: sessions and rounds \
                  are numbered, each call has the rules by which hosts reply, and is sealed.",
        method: Method::Exhaustive,
        on_record: Holds,
        evaluate: |budget, evidence| tables::c12(&honest(budget), evidence),
    },
    Claim {
        id: "C13",
        source: "VIII",
        says: "The algorithms can work continuously: below L a new election restarts. The paper \
               leaves open how to fill seats without one",
        reading: "Our addition: the seated hosts stay, and the others elect the [L-s..U-s] \
                  missing ones, with the best c for that. Three seats of four to eight are left, \
                  n = 10,000; and a council that is kept for 2,000 rounds.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: |budget, evidence| tables::c13(&honest(budget), evidence),
    },
];
