//! The flips that cheaters have shown and seen, by the numbers of messages that they have sent to
//! either side.

use hustings_protocol::wagner::Ring;

/// The flips that are known at one point of a round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sight {
    /// The cheaters' flips that are shown.
    pub(crate) shown: u32,
    /// The flips of others that the cheaters see, after all possible answers.
    pub(crate) seen: u32,
    /// The number of messages from the left by then.
    pub(crate) from_left: u32,
    /// The number of messages from the right by then.
    pub(crate) from_right: u32,
}

/// The known flips at every point of a round, for one set of active members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sights {
    cheaters: u32,
    all: Vec<Sight>,
    /// The positions of all members that do not cheat.
    others: u32,
}

impl Sights {
    /// The table for the first `cheaters` of `members`, where the member at `pair` and the next do
    /// not show each other their flips.
    pub(super) fn new(members: u32, cheaters: u32, ring: Ring, pair: Option<u32>) -> Self {
        let counts = (0..=cheaters).flat_map(|left| (0..=cheaters).map(move |right| (left, right)));
        let sight = |(left, right)| {
            // The first does not show its flip to the right, nor the second to the left.
            let (hidden_right, hidden_left) = match pair {
                Some(first) => (1 << first, 1 << ((first + 1) % members)),
                None => (0, 0),
            };
            let (from_left, from_right) = answers(members, cheaters, ring, left, right);
            let to_left = places(0, left);
            let to_right = places(cheaters - right, cheaters);
            let came_right = places(members - from_left.min(members - cheaters), members);
            let came_left = places(cheaters, cheaters + from_right.min(members - cheaters));
            Sight {
                shown: to_left & !hidden_left | to_right & !hidden_right,
                seen: came_right & !hidden_right | came_left & !hidden_left,
                from_left,
                from_right,
            }
        };
        Self { cheaters, all: counts.map(sight).collect(), others: places(cheaters, members) }
    }

    pub(super) fn of(&self, left: u32, right: u32) -> Sight {
        self.all[(left * (self.cheaters + 1) + right) as usize]
    }

    /// True if they can see the flips of all others before they have shown all of theirs.
    pub(super) fn shows_all_in_time(&self) -> bool {
        let own = places(0, self.cheaters);
        let in_time = |it: &Sight| it.shown != own && it.seen == self.others;
        self.all.iter().any(in_time)
    }
}

/// The positions from `from` up to but excluding `to`.
fn places(from: u32, to: u32) -> u32 {
    (1 << to) - (1 << from)
}

/// The numbers of messages from the left and from the right after all possible answers, if the
/// cheaters have sent `left` and `right` messages.
fn answers(members: u32, cheaters: u32, ring: Ring, left: u32, right: u32) -> (u32, u32) {
    let others = (members - cheaters) as usize;
    // The numbers of messages that each of the others has sent to its left and to its right. The
    // first of them is the cheaters' right neighbour.
    let mut sent = vec![(0, 0); others];
    loop {
        let before = sent.clone();
        for at in 0..others {
            let from_left = if at == 0 { right } else { sent[at - 1].1 };
            let from_right = sent.get(at + 1).map_or(left, |(to_left, _)| *to_left);
            let both = from_left.min(from_right);
            let to_left = match ring {
                Ring::BothWays => both + 1,
                Ring::Clockwise => from_left.min(from_right + 1),
            };
            sent[at] = (to_left, both + 1);
        }
        if sent == before {
            return (sent[others - 1].1, sent[0].0);
        }
    }
}
