//! A partition that heals: the time until there is one leader, and whether it is the majority's.

use std::time::Duration;

use super::Options;
use super::measure::milliseconds;
use super::spread::Spread;
use super::table::{Report, Verdict};
use super::testbed::{MEMBERS, PATIENCE, Testbed};
use super::trials::USUAL;
use crate::Result;

/// The announce interval of [`USUAL`].
const ANNOUNCE_MS: f64 = 100.0;

/// The time that both sides have had a leader of their own when the partition heals.
const APART: Duration = Duration::from_secs(1);

/// The side of the partition that the leader is on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Majority,
    Minority,
}

struct Partition {
    name: &'static str,
    leader: Side,
}

const PARTITIONS: &[Partition] = &[
    Partition { name: "partition 2|3 heals, the leader was among the 3", leader: Side::Majority },
    Partition { name: "partition 2|3 heals, the leader was among the 2", leader: Side::Minority },
];

/// The result of one healed partition.
struct Healed {
    /// The number of announce intervals until all members named one leader.
    intervals: f64,
    is_majoritys: bool,
}

pub(super) fn run(testbed: Testbed<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let chosen = options.choose(PARTITIONS, |partition| partition.name);
    if chosen.is_empty() {
        return Ok(());
    }
    let title = "From the heal until all name one leader, in announce intervals; how often it is the \
                 majority's:";
    let headings = ["trials", "median", "p95", "max", "stayed"];
    let mut table = report.table(title, &headings);
    for partition in chosen {
        let mut spread = Spread::default();
        let mut stayed = 0;
        for _ in 0..options.trials {
            let healed = once(testbed, partition.leader);
            testbed.hosts.heal()?;
            let healed = healed?;
            spread.add(healed.intervals);
            stayed += u32::from(healed.is_majoritys);
        }
        let mut cells = spread.cells();
        cells.push(format!("{stayed}/{}", options.trials));
        let is_met = spread.max().is_some_and(|it| it <= 3.0) && stayed == options.trials;
        table.row(partition.name, &cells, &Verdict::new("max 3, always stays", is_met));
    }
    Ok(())
}

fn once(testbed: Testbed<'_>, side: Side) -> Result<Healed> {
    let (mut members, leader) = testbed.settled(USUAL)?;
    let everyone = members.everyone();
    let (few, many) = sides(leader, side);
    testbed.hosts.cut(&few, &many)?;
    members.agree(&few, &few, PATIENCE)?;
    members.agree(&many, &many, PATIENCE)?;
    members.listen_for(APART);
    members.agree(&few, &few, PATIENCE)?;
    let (working, _) = members.agree(&many, &many, PATIENCE)?;
    let before: usize = members.report_count(&many);
    let healed_ns = testbed.hosts.heal()?;
    let (leader, known) = members.agree(&everyone, &everyone, PATIENCE)?;
    Ok(Healed {
        intervals: milliseconds(healed_ns, known) / ANNOUNCE_MS,
        // The leader stayed if no member of the majority named another one, even for a moment.
        is_majoritys: leader == working && members.report_count(&many) == before,
    })
}

/// Returns two hosts and three hosts, with the leader on the given side.
fn sides(leader: usize, side: Side) -> (Vec<usize>, Vec<usize>) {
    let begin = match side {
        Side::Minority => leader,
        Side::Majority => leader + 1,
    };
    let around: Vec<usize> = (begin..begin + MEMBERS).map(|it| it % MEMBERS).collect();
    let (few, many) = around.split_at(2);
    (few.to_vec(), many.to_vec())
}

#[cfg(test)]
mod tests {
    use super::{Side, sides};

    #[test]
    fn leader_is_on_the_given_side() {
        for leader in 0..5 {
            let (few, many) = sides(leader, Side::Minority);
            assert!(few.contains(&leader) && few.len() == 2 && many.len() == 3);
            let (few, many) = sides(leader, Side::Majority);
            assert!(many.contains(&leader) && few.len() == 2 && many.len() == 3);
        }
    }
}
