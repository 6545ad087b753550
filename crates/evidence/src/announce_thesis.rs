//! The claims of a thesis chapter on leader election by announcing, listening and suppressing:
//! LE-A, LE-S, LE-M.

mod beyond;
mod comparison;
mod delay;
mod listening;
mod messages;
mod printed_rounds;
mod recurrence;
mod reestablishment;
mod thesis_figures;
mod thesis_fixture;

use super::evidence::Verdict::{DoesNotHold, Holds, HoldsWithCorrection};
use super::{Claim, Document, Method};

pub(super) const DOCUMENT: Document = Document {
    key: "L",
    title: "Leader Election, chapter 5 of Why Multicast Protocols (Don't) Scale (Schooler, Caltech 2000)",
    claims: CLAIMS,
    figures: thesis_figures::FIGURES,
};

const CLAIMS: &[Claim] = &[
    Claim {
        id: "L1",
        source: "5.3.1.1 Leadership delay, no loss",
        says: "Delay without loss: D for LE-A, E[t_s] + D for LE-S, whatever N",
        reading: "T_S = T_A = 1 and D = 0.1, as in all of the chapter's figures; from the start until the \
                  last member has heard the leader.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: delay::l1,
    },
    Claim {
        id: "L2",
        source: "5.3.1.2 Leadership delay, correlated loss",
        says: "Correlated loss: T_A l/(1-l) more, whatever N",
        reading: "A lost announcement is lost to all: the leader repeats itself until one arrives.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: delay::l2,
    },
    Claim {
        id: "L3",
        source: "5.3.1.3 Leadership delay, uncorrelated loss",
        says: "Uncorrelated loss: T_A times an alternating sum over N more",
        reading: "The sum counts attempts, of which the first costs no T_A, and N receivers, \
                  although the leader is not a receiver. Correct is T_A times the sum over i >= \
                  1 of 1-(1-l^i)^(N-1), whose terms are all positive; the alternating ones \
                  cancel to nothing in doubles from N = 50 on.",
        method: Method::Simulation,
        on_record: HoldsWithCorrection,
        evaluate: delay::l3,
    },
    Claim {
        id: "L4",
        source: "5.4.1 Comparison with Suppression; 5.6 Summary",
        says: "Uncorrelated loss: the delay depends on N, but levels off as N grows",
        reading: "It does not level off: it grows like ln N/ln(1/l), by the same amount for every factor of ten.",
        method: Method::Theory,
        on_record: DoesNotHold,
        evaluate: delay::l4,
    },
    Claim {
        id: "L5",
        source: "5.3.2 Re-establishment, leader departure",
        says: "The leader leaves: T_L + 2D + E[t_s] - E[t_d], the same for all three kinds of loss",
        reading: "The same without loss and with correlated loss. With uncorrelated loss it is \
                  longer: the successor must reach all others, and members whose timers still \
                  run do not listen to it. The leader leaves at a uniformly random time of an \
                  interval.",
        method: Method::Simulation,
        on_record: HoldsWithCorrection,
        evaluate: reestablishment::l5,
    },
    Claim {
        id: "L6",
        source: "5.3.2 False departure; 5.3.4 Inconsistent state",
        says: "False departure: astray for T_A/(1-l) - T_L, a fraction 1 - (1-l) T_L/T_A of the time",
        reading: "Right without loss. With loss both turn negative as soon as T_L is sensible, since they average \
                  over timers that never expire. Given one that does: T_A (k + 1/(1-l)) - T_L with \
                  k = floor(T_L/T_A), and a fraction l^k for T_L = k T_A.",
        method: Method::Simulation,
        on_record: HoldsWithCorrection,
        evaluate: listening::l6,
    },
    Claim {
        id: "L7",
        source: "5.3.2 Late joiners",
        says: "A greater joiner takes as long as an election; a lesser one until it hears the leader",
        reading: "The brackets are ceilings; for arrivals at uniformly random times, T_A/2. With \
                  uncorrelated loss a greater one needs one T_A less than printed, and a lesser \
                  one is a single receiver: l/(1-l), not the sum for all.",
        method: Method::Simulation,
        on_record: HoldsWithCorrection,
        evaluate: reestablishment::l7,
    },
    Claim {
        id: "L8",
        source: "5.3.3.1 Number of messages, no loss",
        says: "Messages of LE-S in T_S, no loss: N P(D) and an integral",
        reading: "The number of members that announce themselves at their wake-up. The number of \
                  messages until all have heard the leader, repetitions included, is our \
                  addition.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: messages::l8,
    },
    Claim {
        id: "L9",
        source: "5.3.3.2 Number of messages, correlated loss",
        says: "Messages of LE-S in T_S, correlated loss: N P(D)/(1-l) and an integral",
        reading: "The last step of the derivation puts 1/(1-l) with the wrong term: it belongs to the integral.",
        method: Method::Simulation,
        on_record: HoldsWithCorrection,
        evaluate: messages::l9,
    },
    Claim {
        id: "L10",
        source: "5.3.3.3 Number of messages, uncorrelated loss",
        says: "Q(i, n): the law of the messages of the first round, uncorrelated loss, D = 0",
        reading: "Wrong from n = 3 on: processes that have sent woke early, and the formula lets \
                  them wake at any time. Correct: condition on the first to wake, Q(i,n) = (1/n) \
                  sum over k < n and b of Binomial(b; n-1-k, l) Q(i-1, k+b).",
        method: Method::Simulation,
        on_record: HoldsWithCorrection,
        evaluate: recurrence::l10,
    },
    Claim {
        id: "L11",
        source: "5.3.3.3 Number of messages, uncorrelated loss",
        says: "Q(i, n, r), S(n, r) and their sum: the messages of all rounds, uncorrelated loss, D = 0",
        reading: "They contradict each other: the probabilities of a round do not add up to 1, \
                  Q(2, 2) is not Q(2, 2, 1), each round is weighted by its number, and i = N is \
                  left out; with it, a single process would have no end of costs. No formula \
                  replaces them; N = 2 costs 2/(1-l) - 1/2, and for more there is the simulator, \
                  here up to a million members.",
        method: Method::Simulation,
        on_record: DoesNotHold,
        evaluate: messages::l11,
    },
    Claim {
        id: "L12",
        source: "5.1 Programs 5.1 and 5.2, line 6",
        says: "A listener resets its timer when a message's address is greater than its leader's",
        reading: "To the letter the leader's own heartbeats reset nothing, and every listener \
                  misses a live leader. It must be greater or equal.",
        method: Method::Simulation,
        on_record: HoldsWithCorrection,
        evaluate: listening::l12,
    },
    Claim {
        id: "L13",
        source: "5.4.1, figures 5.6 and 5.7",
        says: "Without loss LE-S is slower and costs more than SUP; its delay does not depend on N",
        reading: "SUP ends with its last message, LE-S when the announcement is sent that all \
                  have heard.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: comparison::l13,
    },
    Claim {
        id: "L14",
        source: "5.4.1, figures 5.8 to 5.10",
        says: "Uncorrelated loss is the worst case, for time and messages; with correlated loss \
               N does not matter",
        reading: "For groups of three or more, LE-S and SUP; with two members there is one \
                  receiver, and both kinds of loss are the same.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: comparison::l14,
    },
    Claim {
        id: "L15",
        source: "5.4.2, figure 5.11",
        says: "Loss 0.4: LE-S converges faster than AL from N = 200 on",
        reading: "In the model as stated AL is E[t_s] faster for every N. The figure uses a loss \
                  that is adjusted to the traffic and defined elsewhere. We show the loss that \
                  this takes, and the length of messages at which collisions would cause it.",
        method: Method::Simulation,
        on_record: DoesNotHold,
        evaluate: comparison::l15,
    },
    Claim {
        id: "L16",
        source: "5.4.3, figure 5.12",
        says: "In the first round LE-M behaves like SUP",
        reading: "The time of the last message that a member sends at its wake-up, and the \
                  number of these messages.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: comparison::l16,
    },
    Claim {
        id: "L17",
        source: "5.4.3, figure 5.13",
        says: "Under loss LE-M beats LE-S, and SUP bounds both from below",
        reading: "In time and in messages, for both kinds of loss.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: comparison::l17,
    },
    Claim {
        id: "L18",
        source: "5.4.3 Leader selection criteria",
        says: "Exponential wake-ups cost fewer messages, under certain conditions",
        reading: "Density proportional to e^(10 t/T_S). The condition is a large group; and the leader is known \
                  later, since most wake late.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: messages::l18,
    },
    Claim {
        id: "L19",
        source: "5.4.4 General trends",
        says: "T_A >= T_S + D; T_L = k T_A, above what is lost on average, avoids false departures",
        reading: "Below T_S + D members repeat themselves before they can have heard the leader; T_A = T_S of the \
                  figures is below. To exceed the average is not enough: a listener is astray for l^k of the time, \
                  so k follows from the loss and the number of listeners.",
        method: Method::Simulation,
        on_record: HoldsWithCorrection,
        evaluate: listening::l19,
    },
    Claim {
        id: "L20",
        source: "5.4.3 Leader selection criteria; 5.7 Future work",
        says: "Worth trying: wake-up by merit, byes, queries, several leaders, k by the loss",
        reading: "All built. A better member wakes earlier; a leader that leaves announces it as \
                  often as the loss requires; a joiner asks, at once or after its wake-up; the \
                  best k lead; T_L follows the loss measured.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: beyond::l20,
    },
];
