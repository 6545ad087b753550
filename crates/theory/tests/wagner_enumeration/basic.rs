//! The honest members of a ring as an arc, message by message, beside an arbitrary segment.
//!
//! The segment sends to the first of the arc, rightwards, and to the last, leftwards.

use hustings_theory::wagner::Ring;

/// The numbers of messages that each honest member has sent to its left and to its right, when none
/// has anything more to send.
pub(crate) struct Arc {
    left: Vec<usize>,
    right: Vec<usize>,
}

impl Arc {
    /// Honest members that got `rightwards` messages at the front, and `leftwards` at the end.
    fn after(honest: usize, rightwards: usize, leftwards: usize, ring: Ring) -> Self {
        let mut arc = Self { left: vec![0; honest], right: vec![0; honest] };
        loop {
            let mut is_quiet = true;
            for member in 0..honest {
                let from_left = match member {
                    0 => rightwards,
                    _ => arc.right[member - 1],
                };
                let from_right = match arc.left.get(member + 1) {
                    Some(sent) => *sent,
                    None => leftwards,
                };
                let both = from_left.min(from_right);
                let (left, right) = match ring {
                    Ring::BothWays => (both + 1, both + 1),
                    Ring::Clockwise => (from_left.min(from_right + 1), both + 1),
                };
                is_quiet &= (arc.left[member], arc.right[member]) == (left, right);
                arc.left[member] = left;
                arc.right[member] = right;
            }
            if is_quiet {
                return arc;
            }
        }
    }

    /// The fewest honest flips that a segment of `cheaters` has not seen when it must show the last
    /// of its own.
    pub(crate) fn fewest_hidden(n: usize, cheaters: usize, ring: Ring) -> usize {
        let honest = n - cheaters;
        let schedules = (0..cheaters).flat_map(|all| (0..=all).map(move |one| (one, all - one)));
        let hidden = schedules.map(|(rightwards, leftwards)| {
            let arc = Self::after(honest, rightwards, leftwards, ring);
            honest.saturating_sub(arc.left[0] + arc.right[honest - 1])
        });
        hidden.min().expect("a segment of one or more")
    }
}

/// The honest members' observations of all streams that a segment can send in one Basic round.
pub(crate) struct Watch {
    /// The number of streams that at least one member finds wrong.
    pub(crate) faults: u64,
    /// The least number of members that find such a stream wrong by themselves.
    pub(crate) fewest: u64,
}

impl Watch {
    pub(crate) fn all_streams(n: usize, cheaters: usize) -> Self {
        let honest = n - cheaters;
        let mut watch = Self { faults: 0, fewest: u64::MAX };
        for flips in 0..1_u32 << honest {
            for streams in 0..1_u32 << (2 * n) {
                let detect =
                    faults(&bits(flips, honest), &bits(streams, n), &bits(streams >> n, n));
                if detect > 0 {
                    watch.faults += 1;
                    watch.fewest = watch.fewest.min(detect);
                }
            }
        }
        watch
    }
}

fn bits(number: u32, count: usize) -> Vec<bool> {
    (0..count).map(|bit| number >> bit & 1 == 1).collect()
}

/// The number of honest members that find a fault.
fn faults(flips: &[bool], rightwards: &[bool], leftwards: &[bool]) -> u64 {
    let from_left = passed_on(flips.iter(), rightwards);
    let mut from_right = passed_on(flips.iter().rev(), leftwards);
    from_right.reverse();
    let members = flips.iter().zip(from_left.iter().zip(&from_right));
    let is_fault = |(flip, (left, right)): (&bool, (&Vec<bool>, &Vec<bool>))| {
        let n = left.len();
        let arrays_differ = (0..n - 1).any(|it| left[it] != right[n - 2 - it]);
        arrays_differ || left[n - 1] != *flip || right[n - 1] != *flip
    };
    members.filter(|it| is_fault(*it)).count() as u64
}

/// The messages that each member receives from one side: the first the incoming ones, each other
/// what the one before flipped and received.
fn passed_on<'a>(flips: impl Iterator<Item = &'a bool>, incoming: &[bool]) -> Vec<Vec<bool>> {
    let mut received = vec![incoming.to_vec()];
    for flip in flips {
        let before = received.last().expect("the first receives");
        let sent = std::iter::once(flip).chain(before).copied();
        let next = sent.take(incoming.len()).collect();
        received.push(next);
    }
    received.pop();
    received
}
