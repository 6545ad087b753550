//! Elections among very many hosts: how many hosts a draw leaves is a Poisson law then.

use super::{Cost, Election, Knowledge, Loss};

/// Where nothing is lost, so many hosts as make no difference to infinitely many in the fourteenth digit.
const MANY: u64 = 1_000_000_000_000_000;
/// The same in the eighth digit. Where replies are lost, all hosts are counted with an error as wide as its square root.
const MANY_UNHEARD: u64 = 1_000_000_000;

/// What an election costs as the number of hosts, which the centre knows, goes to infinity. The messages are infinite where an
/// undershoot makes all reply.
///
/// # Panics
/// If it is no election, see [`Election::cost`].
#[must_use]
pub fn cost(election: &Election) -> Cost {
    let cost = among_many(election).cost();
    let per_member = messages_per_member(election);
    Cost {
        messages: if per_member > 0.0 {
            f64::INFINITY
        } else {
            cost.messages
        },
        ..cost
    }
}

/// The messages for each host, as their number goes to infinity: claim C8. The basic algorithm takes `u/(1 - u)`, with `u`
/// for the probability that a draw comes to an undershoot before a council; the others nothing.
///
/// # Panics
/// If it is no election, see [`Election::cost`].
#[must_use]
pub fn messages_per_member(election: &Election) -> f64 {
    let many = among_many(election);
    let share = many.cost().messages / many.members as f64;
    // What does not grow with the group is a few dozen messages.
    if share < 1e-5 { 0.0 } else { share }
}

fn among_many(election: &Election) -> Election {
    Election {
        members: if election.loss == Loss::NONE {
            MANY
        } else {
            MANY_UNHEARD
        },
        knowledge: Knowledge::Known,
        ..*election
    }
}
