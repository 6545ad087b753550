//! The claims of a technical report on leader election in large groups, where a hash selects a few
//! members to decide.

mod analysis;
mod probabilistic_figures;
mod probabilistic_fixture;
mod simulations;
#[cfg(test)]
mod tests;
mod theorems;

use super::evidence::Verdict::{DoesNotHold, Holds, HoldsWithCorrection};
use super::{Claim, Document, Method};
use probabilistic_fixture::honest;

pub(super) const DOCUMENT: Document = Document {
    key: "P",
    title: "A Probabilistically Correct Leader Election Protocol for Large Groups (Gupta, van Renesse, Birman, \
            Cornell 2000)",
    claims: CLAIMS,
    figures: probabilistic_figures::FIGURES,
};

const CLAIMS: &[Claim] = &[
    Claim {
        id: "P1",
        source: "4, round success probabilities, figure 4",
        says: "A round succeeds with at least the product of five factors, whose peak is about 0.6 for K up to 65",
        reading: "View 0.4, losses and crashes 0.01, N = 10,000. The factors are approximations, not bounds: E1 takes a \
                  binomial law for a normal one, and P_m is the limit for many members. Their product is far below what \
                  rounds achieve all the same.",
        method: Method::Theory,
        on_record: Holds,
        evaluate: |budget, evidence| analysis::p1(&honest(budget), evidence),
    },
    Claim {
        id: "P2",
        source: "3.1 Relay phase; 4, E2",
        says: "Two relay members are joined with the view probability",
        reading: "An edge needs only one of the two to know the other, as section 3.1 has it: \
                  1-(1-v)^2. Measured with two relay members, which elect two leaders if they \
                  are not joined and prefer different ones.",
        method: Method::Simulation,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| analysis::p2(&honest(budget), evidence),
    },
    Claim {
        id: "P3",
        source: "4, round success probabilities",
        says: "E4 stays near 1 for N << p^(-3K_2/2), which is 10^107 for K = 40",
        reading: "The printed formula gives 10^117.6, and the exponent that E4 itself has is K_2/2: 10^39.2. Still more than \
                  any group.",
        method: Method::Theory,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| analysis::p3(&honest(budget), evidence),
    },
    Claim {
        id: "P4",
        source: "4, theorem 1",
        says: "E3, E4 and E5 imply that a round succeeds",
        reading: "One choice among the members that send final multicasts; each member fails or \
                  receives one; the leader does not fail. Measured in simulated rounds, with \
                  losses and crashes that make many fail.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: |budget, evidence| theorems::p4(&honest(budget), evidence),
    },
    Claim {
        id: "P5",
        source: "4, theorem 2",
        says: "A member notices a failed round and calls another, with a probability that goes \
               to 1 with N",
        reading: "The printed exponents are misplaced: as they stand the bound goes to 0. It \
                  should read 1-(1-(1-pf)(1-pm)^(3K_2/2))^N. That holds if a member that notices \
                  it reports it, at once or after a random delay; by the hash rule of figure 3 \
                  it goes to a limit below 1. Neither counts rounds with one leader of which a \
                  member hears nothing: if it missed the call as well, it does not notice, but \
                  in a large group another does.",
        method: Method::Simulation,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| theorems::p5(&honest(budget), evidence),
    },
    Claim {
        id: "P6",
        source: "4, theorems 3 to 5",
        says: "A round takes O(K^3) unicasts, at most m^3/2 for m relay members, O(K) multicasts, and O(K) times of a message",
        reading: "Read literally, figure 3 answers equal choices too, and two members that agree \
                  reply to each other until the time is over. If only worse choices are \
                  answered, the order holds, and the means stay below that of m^3/2; m^3/2 \
                  itself is no bound even then, as answers come on top. Theorem 5 has O(NK + N), \
                  as a message takes O(N) in its network: in times of a message that is O(K), \
                  whatever N is.",
        method: Method::Simulation,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| theorems::p6(&honest(budget), evidence),
    },
    Claim {
        id: "P7",
        source: "5, figure 5 (a)",
        says: "Strong success is very likely for losses up to 0.4, and weak success more so",
        reading: "N = 2000, K = 7, 14, 28, 56, N; very likely: above 0.9. It depends on which \
                  members call another round. By the hash rule of figure 3 most failures stay: \
                  too few members notice for one of them to have the right hash. With a \
                  randomised delay, which the report mentions, and if all call, the claim holds.",
        method: Method::Simulation,
        on_record: HoldsWithCorrection,
        evaluate: |budget, evidence| simulations::p7(&honest(budget), evidence),
    },
    Claim {
        id: "P8",
        source: "5, figure 5 (b) and (c)",
        says: "Rounds and messages stay few for losses up to 0.4",
        reading: "By either rule. Few rounds: no more than follow, on average, from how rarely rounds with a growing K fail. \
                  Few messages: fewer than members, where other elections take at least as many, says section 1; \
                  counted before the fifth round, in which all may take part.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: |budget, evidence| simulations::p8(&honest(budget), evidence),
    },
    Claim {
        id: "P9",
        source: "5, figure 5 (d) to (f)",
        says: "High success, one expected round and the same number of messages for N = 1000 to 6000",
        reading: "Losses and crashes 0.001, view 0.5, either rule. High: above 0.9. One round: to the nearest whole number. \
                  Ours goes to a million members.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: |budget, evidence| simulations::p9(&honest(budget), evidence),
    },
    Claim {
        id: "P10",
        source: "5, figure 5 (g) to (i)",
        says: "The protocol performs well with partial views, for view probabilities from 0.2 to 0.5",
        reading: "N = 5000, losses and crashes 0.001, either rule. Well: success above 0.9, and rounds and messages as few \
                  as in P8.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: |budget, evidence| simulations::p10(&honest(budget), evidence),
    },
    Claim {
        id: "P11",
        source: "5, on figure 5 (a) to (c)",
        says: "The graphs for varying p_fail are very similar to those for varying loss",
        reading: "None of the three is. Rounds and messages rise with loss. With p_fail there \
                  are no more rounds than those that fail by section 4 although their leader \
                  lives, and messages are nearer to the number with hardly any crashes. Strong \
                  success falls as 1 - p_fail: no member notices a crash of the leader in its \
                  round, and there is no other round. N = 2000, losses 0.001, by delay; each \
                  p_fail against a loss as high.",
        method: Method::Simulation,
        on_record: DoesNotHold,
        evaluate: |budget, evidence| simulations::p11(&honest(budget), evidence),
    },
    Claim {
        id: "P12",
        source: "4, round success probabilities",
        says: "The least probability of success depends on the failure and view probabilities, not on N",
        reading: "The parameters of figure 4, K = 24; by formula up to N = 10^9, and by simulated rounds.",
        method: Method::Theory,
        on_record: Holds,
        evaluate: |budget, evidence| analysis::p12(&honest(budget), evidence),
    },
];
