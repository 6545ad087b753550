//! Elections among very many hosts: the number of hosts that a draw leaves is then Poisson
//! distributed.

use super::{Cost, Election, Knowledge, Loss};

/// Without loss, this number of hosts equals infinitely many in fourteen digits.
const MANY: u64 = 1_000_000_000_000_000;
/// The same in eight digits. If replies are lost, the count of all hosts has an error on the order
/// of its square root.
const MANY_UNHEARD: u64 = 1_000_000_000;

/// The cost of an election as the number of hosts, which the centre knows, goes to infinity. The
/// messages are infinite if an undershoot makes all reply.
///
/// # Panics
/// If the election is invalid, see [`Election::cost`].
pub fn cost(election: &Election) -> Cost {
    let cost = among_many(election).cost();
    let per_member = messages_per_member(election);
    Cost { messages: if per_member > 0.0 { f64::INFINITY } else { cost.messages }, ..cost }
}

/// The messages per host, as their number goes to infinity: claim C8. The basic algorithm takes
/// `u/(1 - u)`, with `u` for the probability that a draw comes to an undershoot before a council;
/// the others nothing.
///
/// # Panics
/// If the election is invalid, see [`Election::cost`].
pub fn messages_per_member(election: &Election) -> f64 {
    let many = among_many(election);
    let share = many.cost().messages / many.members as f64;
    // The part that does not grow with the group is a few dozen messages.
    if share < 1e-5 { 0.0 } else { share }
}

fn among_many(election: &Election) -> Election {
    Election {
        members: if election.loss == Loss::NONE { MANY } else { MANY_UNHEARD },
        knowledge: Knowledge::Known,
        ..*election
    }
}
