//! Groups with default options and some history, compared with keepalived at the same interval.

use std::time::Duration;

use super::keepalived::Routers;
use super::measure::now_ns;
use super::members::{Members, Placement};
use super::table::{Report, Spread, Verdict};
use super::testbed::{MEMBERS, PATIENCE, Testbed};
use crate::{Options, Result};

/// A member has measured the loss well enough two seconds after its start.
const SETTLES_IN: Duration = Duration::from_secs(3);

/// The number of times that the leader's host is lost in one group.
const ROUNDS: u32 = 10;

/// One row of the table: a group with default options and some history, or keepalived.
#[derive(Clone, Copy)]
enum DefaultsRow {
    /// The group started some seconds ago.
    ColdStart,
    /// One follower was restarted some seconds ago.
    FollowerRestarted,
    /// Each member was restarted, one after the other, the last one some seconds ago.
    AllRestarted,
    /// The leader's host was lost before and came back, at least once.
    EarlierRounds,
    /// The highest priority, and the difference to the next host's priority.
    Keepalived(u8, u8),
}

/// keepalived with the priorities with which it is fastest.
const FASTEST: &str = "keepalived: host lost, priorities 254 to 250";

const ROWS: &[(&str, DefaultsRow)] = &[
    ("defaults: host lost", DefaultsRow::ColdStart),
    ("defaults: host lost, a follower was restarted", DefaultsRow::FollowerRestarted),
    ("defaults: host lost, every member was restarted", DefaultsRow::AllRestarted),
    ("defaults: host lost, for the 2nd to 10th time", DefaultsRow::EarlierRounds),
    (FASTEST, DefaultsRow::Keepalived(254, 1)),
    ("keepalived: host lost, priorities 150 to 110", DefaultsRow::Keepalived(150, 10)),
];

/// Measures all rows in turn, trial by trial, so that other load on the machine affects all of
/// them. Then prints the table.
pub(super) fn run(testbed: Testbed<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let mut spreads: Vec<Spread> = vec![Spread::default(); ROWS.len()];
    for _ in 0..options.trials {
        for ((name, row), spread) in ROWS.iter().zip(&mut spreads) {
            if options.wants(name) && spread.count() < options.trials as usize {
                row.measure(testbed, spread)?;
            }
        }
    }
    let title = format!(
        "Until every survivor knows the new leader, or one is master, in milliseconds, {MEMBERS} hosts, announced every 100 ms:"
    );
    let rows = ROWS.iter().zip(spreads);
    let rows: Vec<_> = rows.map(|(&(name, row), spread)| (name, (row, spread))).collect();
    let fastest = rows.iter().find(|(name, _)| *name == FASTEST);
    let fastest = fastest.and_then(|(_, (_, spread))| spread.median());
    report.rows(options, &title, &Spread::HEADINGS, &rows, |(row, spread)| {
        let verdict = match (row, fastest) {
            (DefaultsRow::Keepalived(..), _) | (_, None) => Verdict::none(),
            (_, Some(most)) => {
                let is_met = spread.median().is_some_and(|it| it <= most);
                Verdict::new(format!("median {most:.1}, keepalived's"), is_met)
            }
        };
        Ok((spread.cells(), verdict))
    })?;
    Ok(())
}

impl DefaultsRow {
    fn measure(&self, testbed: Testbed<'_>, spread: &mut Spread) -> Result<()> {
        if let Self::Keepalived(highest, step) = *self {
            spread.add(Routers::start(testbed.hosts, highest, step)?.lose_master()?);
            return Ok(());
        }
        let mut members = testbed.members(Placement::OneEachByDefault, MEMBERS, &[]);
        members.start_all()?;
        let (leader, _) = members.agree_all(PATIENCE)?;
        match self {
            Self::ColdStart | Self::Keepalived(..) => {}
            Self::FollowerRestarted => {
                // By then the other members have run for long enough.
                members.listen_for(SETTLES_IN);
                let leader = members.leader_of(0).unwrap_or(leader);
                members.restart((leader + 1) % MEMBERS)?;
                members.agree_all(PATIENCE)?;
            }
            Self::AllRestarted => {
                for index in 0..MEMBERS {
                    members.restart(index)?;
                    members.agree_all(PATIENCE)?;
                }
            }
            Self::EarlierRounds => {
                lose_leader(testbed, &mut members)?;
                for _ in 2..ROUNDS {
                    spread.add(lose_leader(testbed, &mut members)?);
                }
            }
        }
        spread.add(lose_leader(testbed, &mut members)?);
        Ok(())
    }
}

/// Isolates the leader's host some seconds later and brings it back. Returns the milliseconds until
/// all others named another leader.
fn lose_leader(testbed: Testbed<'_>, members: &mut Members<'_>) -> Result<f64> {
    // The fault hits every point between two announcements equally often.
    members.listen_for(SETTLES_IN + Duration::from_micros(now_ns() % 100_000));
    let (leader, took_ms) = members.lose_leader()?;
    testbed.hosts.unfilter(leader)?;
    Ok(took_ms)
}
