//! The claims of the lecture slides on leader election: the ring of Chang and Roberts, the modified
//! ring, and the bully algorithm.

mod bully;
mod modified_ring;
mod ring;
mod slides_figures;
mod slides_fixture;

use super::evidence::Verdict::{DoesNotHold, Holds, HoldsWithCorrection};
use super::{Claim, Document, Method};

pub(super) const DOCUMENT: Document = Document {
    key: "R",
    title: "Leader Election, lecture slides CSE 486/586 (University at Buffalo)",
    claims: CLAIMS,
    figures: slides_figures::FIGURES,
};

const CLAIMS: &[Claim] = &[
    Claim {
        id: "R1",
        source: "Ring-based election: analysis",
        says: "Ring, worst case: 3N-1 messages, turnaround time 3N-1",
        reading: "One initiator. The last member knows after 3N-2 message times; after 3N-1 the \
                  announcement is home. At best 2N messages, (5N-1)/2 in the mean.",
        method: Method::Exhaustive,
        on_record: Holds,
        evaluate: ring::r1,
    },
    Claim {
        id: "R2",
        source: "Ring-based election: correctness",
        says: "Ring, liveness: complete after 3N-1 messages",
        reading: "Any process may call, and several at once. If all do, 3N-1 is the least it can \
                  cost; N H_N + N is the mean, N(N+1)/2 + N the most. Only one initiator is bounded \
                  by 3N-1.",
        method: Method::Exhaustive,
        on_record: DoesNotHold,
        evaluate: ring::r2,
    },
    Claim {
        id: "R3",
        source: "Assumptions; ring-based election: correctness",
        says: "Ring, safety: the highest is elected; simultaneous elections yield a single leader",
        reading: "Correction: a member that starts an election must become a participant. In the \
                  text it does not, so its id may enter the ring twice, and the leader is \
                  declared elected twice. A participant discards smaller ids; `elected` ends \
                  participation.",
        method: Method::Exhaustive,
        on_record: HoldsWithCorrection,
        evaluate: ring::r3,
    },
    Claim {
        id: "R4",
        source: "Example: ring election",
        says: "Ring: may not terminate when a process fails during the election",
        reading: "The best member dies while its id circulates, and no member takes the id off \
                  the ring. The counterpart: it dies after sending `elected`, which circulates \
                  for ever, and all have elected a dead member. A member that dies while a \
                  message is on its way to it ends the election in silence.",
        method: Method::Exhaustive,
        on_record: Holds,
        evaluate: ring::r4,
    },
    Claim {
        id: "R5",
        source: "Modified ring election",
        says: "Modified ring: 2N messages",
        reading: "One initiator, no member dies. If the best dies after signing, 4N-3; if the \
                  initiator does, 3N-2 in the election round and 4N-2 in the coordinator round.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: modified_ring::r5,
    },
    Claim {
        id: "R6",
        source: "Algorithm 2; example: ring election",
        says: "Modified ring: coordinator missing from the list, so start anew; P3 is finally elected",
        reading: "P0 to P4, P2 starts, P4 dies between its signature and the coordinator message: \
                  5 + 4 + 4 + 4 = 17 messages.",
        method: Method::Exhaustive,
        on_record: Holds,
        evaluate: modified_ring::r6,
    },
    Claim {
        id: "R7",
        source: "Modified ring election",
        says: "Modified ring, initiator fails: its successor notices (how?), and starts a new election",
        reading: "It finds its own id in the list of an election that is not its own.",
        method: Method::Exhaustive,
        on_record: Holds,
        evaluate: modified_ring::r7,
    },
    Claim {
        id: "R8",
        source: "Modified ring election",
        says: "Modified ring, two initiators at once: the one with the lower id is discarded",
        reading: "By the higher initiator, when the other's list reaches it. k initiators cost \
                  N H_k + N in the mean.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: modified_ring::r8,
    },
    Claim {
        id: "R9",
        source: "Algorithm 2; what about that impossibility?",
        says: "Modified ring: a success if the coordinator signed; that it dies later is for the detector",
        reading: "A coordinator that dies after its second signature is elected, dead. That is a new \
                  failure: with a detector, a new election follows.",
        method: Method::Exhaustive,
        on_record: Holds,
        evaluate: modified_ring::r9,
    },
    Claim {
        id: "R10",
        source: "Analysis of the bully algorithm",
        says: "Bully, best case: N-2 messages, one message transmission time",
        reading: "N counts the dead coordinator. The second best knows that it is dead, and asks \
                  no member; if it asks, N-1 messages, and a time-out passes first.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: bully::r10,
    },
    Claim {
        id: "R11",
        source: "Analysis of the bully algorithm",
        says: "Bully, worst case: N-1 processes begin elections, O(N^2) messages",
        reading: "The lowest starts and the best is dead: N^2-N-1 with answers, N(N-1)/2 + N-2 \
                  without; N(2N-1)/6 + N-2 if any live member starts.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: bully::r11,
    },
    Claim {
        id: "R12",
        source: "Algorithm 3: bully algorithm",
        says: "Bully, synchronous: the best live process wins, also if coordinators fail meanwhile",
        reading: "Synchronous means that the time-outs bound a round trip. If they do not, a \
                  member that should have waited names itself.",
        method: Method::Simulation,
        on_record: Holds,
        evaluate: bully::r12,
    },
];
