//! The paper's equations that are wrong or only bounds, as printed.

use super::draw::{Descend, Passage, Rules};
use super::plain::Plain;
use super::{Algorithm, Cost, Election, Knowledge, Loss, Seats};
use crate::binomial::law;

/// Equation (4) as printed: an undershoot with `m` replies is charged `m` messages, and not the `n`
/// of the poll that follows it (claim C2).
///
/// # Panics
/// If the election is invalid, see [`Election::cost`]; losses and estimates are ignored.
pub fn basic_messages(election: &Election) -> f64 {
    let election = Election { loss: Loss::NONE, ..election.if_known() };
    election.check();
    let chance = election.c / election.members as f64;
    let mut machine = Plain::new(Rules::of(&election));
    let whole = machine.opening(election.members, chance).whole();
    (whole.messages + whole.last_replies) / (1.0 - whole.undershoot)
}

/// Equation (21), and the remark on lost feedback before it: as if `c` were `c (1 - q)`, and the
/// number of hosts were overestimated by `1/(1 - p)` (claim C11). Exact for the first draw.
///
/// The messages are the replies sent, `1/(1 - q)` times those heard.
///
/// # Panics
/// If the election is invalid, see [`Election::cost`].
pub fn with_loss(election: &Election) -> Cost {
    election.check();
    let Loss { reply, multicast } = election.loss;
    let knowledge = match election.knowledge {
        Knowledge::Known if multicast > 0.0 => {
            Knowledge::Taken(election.members as f64 / (1.0 - multicast))
        }
        Knowledge::Taken(members) => Knowledge::Taken(members / (1.0 - multicast)),
        as_it_is @ (Knowledge::Known | Knowledge::Estimated(_)) => as_it_is,
    };
    let cost =
        Election { c: election.c * (1.0 - reply), loss: Loss::NONE, knowledge, ..*election }.cost();
    Cost { messages: cost.messages / (1.0 - reply), ..cost }
}

/// Equation (14): Chernoff's bound on the probability that a draw leaves more than `(1 + delta) c`
/// hosts.
pub fn chernoff_bound(c: f64, delta: f64) -> f64 {
    ((delta - (1.0 + delta) * (1.0 + delta).ln()) * c).exp()
}

/// Inequality (16), solved for `T(n)`: the bound on the rounds of the history algorithm for one
/// seat among very many hosts. The paper's example is `c = 1.1` and `delta = 5`.
///
/// It charges an undershoot like a small overshoot, `T((1 + delta) c)`, but in truth the election
/// starts over: see [`rounds_bound_corrected`] (claim C5).
///
/// # Panics
/// Unless `c` is above 0 and below 2.
pub fn rounds_bound(c: f64, delta: f64) -> f64 {
    let beyond = chernoff_bound(c, delta);
    (1.0 + (1.0 - beyond - c * (-c).exp()) * rounds_of_few(c, delta)) / (1.0 - beyond)
}

/// The same with an undershoot charged `T(n)`.
///
/// # Panics
/// Unless `c` is above 0 and below 2.
pub fn rounds_bound_corrected(c: f64, delta: f64) -> f64 {
    let (beyond, nobody) = (chernoff_bound(c, delta), (-c).exp());
    let few = (1.0 - beyond - nobody * (1.0 + c)) * rounds_of_few(c, delta);
    (1.0 + few) / (1.0 - beyond - nobody)
}

/// `T((1 + delta) c)`, rounded down.
fn rounds_of_few(c: f64, delta: f64) -> f64 {
    let one = Seats { least: 1, most: 1 };
    let few = ((1.0 + delta) * c) as u64;
    let election = Election::new(one, few.max(1), Algorithm::History, c);
    election.cost().rounds
}

/// The history algorithm with line 8 of Fig. 13 as printed (claim C5): the centre remembers its
/// last count, whatever it is. So after two undershoots in a row it sends a number below `L`, and
/// all hosts reply.
///
/// # Panics
/// If the election is invalid, see [`Election::cost`]; losses and estimates are ignored.
pub fn literal_history(election: &Election) -> Cost {
    let election = Election { loss: Loss::NONE, ..election.if_known() };
    election.check();
    if election.members <= election.seats.most {
        return election.cost();
    }
    let mut literal = Literal { election, table: Vec::new() };
    let (all, elected) = literal.from(election.members);
    let again = all.undershoot / (1.0 - all.undershoot);
    let members = election.members as f64;
    Cost {
        rounds: all.rounds + again * (1.0 + all.rounds),
        messages: all.messages + again * (members + all.messages),
        success_first_round: elected,
    }
}

/// The courses from some number of active hosts to a council, or until all reply: the undershoot of
/// a passage.
struct Literal {
    election: Election,
    table: Vec<Passage>,
}

impl Literal {
    /// The course from `active` hosts on, and the probability of a council in the next round.
    fn from(&mut self, active: u64) -> (Passage, f64) {
        let seats = self.election.seats;
        let next = law(active, self.election.c / active as f64);
        let below = next.iter().map(|(number, _)| *number);
        let most = below.filter(|number| *number < active).max().unwrap_or(0);
        while self.table.len() as u64 <= most {
            let active = self.table.len() as u64;
            let is_council = active <= seats.most;
            let course = if is_council { Passage::default() } else { self.from(active).0 };
            self.table.push(course);
        }
        let share_of = |is_such: &dyn Fn(u64) -> bool| -> f64 {
            let such = next.iter().filter(|(number, _)| is_such(*number));
            such.map(|(_, weight)| weight).sum()
        };
        let undershoot = share_of(&|number| number < seats.least);
        let mut course = Passage::round(self.election.c);
        for (number, weight) in
            next.iter().filter(|(number, _)| (seats.most + 1..active).contains(number))
        {
            course.add(*weight, &self.table[*number as usize]);
        }
        // After a first undershoot the same draw comes again; after a second one all reply.
        let twice = 1.0 + undershoot;
        let factor = 1.0 / (1.0 - twice * share_of(&|number| number == active));
        let course = Passage {
            rounds: factor * twice * course.rounds,
            messages: factor * twice * course.messages,
            undershoot: factor * (twice * course.undershoot + undershoot * undershoot),
            last_replies: 0.0,
        };
        (course, share_of(&|number| seats.contain(number)))
    }
}
