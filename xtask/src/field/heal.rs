//! A partition that heals: one leader again, and which.

use std::time::Duration;

use super::Options;
use super::ground::{Ground, MEMBERS, PATIENCE};
use super::measure::milliseconds;
use super::spread::Spread;
use super::table::{Report, Verdict};
use super::trials::USUAL;
use crate::Result;

/// The announce interval of [`USUAL`].
const ANNOUNCE_MS: f64 = 100.0;

/// Both sides have lived with their leaders for so long when the partition heals.
const APART: Duration = Duration::from_secs(1);

/// On which side of the partition the leader is.
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
    Partition {
        name: "partition 2|3 heals, the leader was among the 3",
        leader: Side::Majority,
    },
    Partition {
        name: "partition 2|3 heals, the leader was among the 2",
        leader: Side::Minority,
    },
];

/// How a partition healed.
struct Healed {
    /// After how many announce intervals all named one leader.
    intervals: f64,
    is_majoritys: bool,
}

pub(super) fn run(ground: Ground<'_>, options: &Options, report: &mut Report) -> Result<()> {
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
            let healed = once(ground, partition.leader);
            ground.hosts.heal()?;
            let healed = healed?;
            spread.add(healed.intervals);
            stayed += u32::from(healed.is_majoritys);
        }
        let mut cells = spread.cells();
        cells.push(format!("{stayed}/{}", options.trials));
        let is_met = spread.max().is_some_and(|it| it <= 3.0) && stayed == options.trials;
        table.row(
            partition.name,
            &cells,
            &Verdict::new("max 3, always stays", is_met),
        );
    }
    Ok(())
}

fn once(ground: Ground<'_>, side: Side) -> Result<Healed> {
    let (mut members, leader) = ground.settled(USUAL)?;
    let everyone = members.everyone();
    let (few, many) = sides(leader, side);
    ground.hosts.cut(&few, &many)?;
    members.agree(&few, &few, PATIENCE)?;
    members.agree(&many, &many, PATIENCE)?;
    members.listen_for(APART);
    members.agree(&few, &few, PATIENCE)?;
    let (working, _) = members.agree(&many, &many, PATIENCE)?;
    let before: usize = members.said(&many);
    let healed_ns = ground.hosts.heal()?;
    let (leader, known) = members.agree(&everyone, &everyone, PATIENCE)?;
    Ok(Healed {
        intervals: milliseconds(healed_ns, known) / ANNOUNCE_MS,
        // It stayed if nobody of the majority named another one, not even for a while.
        is_majoritys: leader == working && members.said(&many) == before,
    })
}

/// Two hosts and three, the leader among those where it should be.
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
    fn the_leader_is_where_it_should_be() {
        for leader in 0..5 {
            let (few, many) = sides(leader, Side::Minority);
            assert!(few.contains(&leader) && few.len() == 2 && many.len() == 3);
            let (few, many) = sides(leader, Side::Majority);
            assert!(many.contains(&leader) && few.len() == 2 && many.len() == 3);
        }
    }
}
