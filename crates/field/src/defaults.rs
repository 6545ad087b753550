//! Groups with default options and some history, compared with keepalived at the same interval.

use std::time::Duration;

use rustix::process::Signal;

use super::Options;
use super::keepalived::Routers;
use super::measure::{milliseconds, now_ns};
use super::members::{Members, Placement};
use super::spread::{self, Spread};
use super::table::{Report, Verdict};
use super::testbed::{MEMBERS, PATIENCE, Testbed};
use crate::Result;

/// A member has measured the loss well enough two seconds after its start.
const SETTLES_IN: Duration = Duration::from_secs(3);

/// The number of times that the leader's host is lost in one group.
const ROUNDS: u32 = 10;

/// The history of the group before its leader's host is lost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// The group started some seconds ago.
    ColdStart,
    /// One follower was restarted some seconds ago.
    FollowerRestarted,
    /// Each member was restarted, one after the other, the last one some seconds ago.
    AllRestarted,
    /// Its leader's host was lost before and came back, at least once.
    EarlierRounds,
}

/// One row of the table: a group with default options, or keepalived.
enum DefaultsRow {
    Group(&'static str, Before),
    /// The highest priority, and the difference to the next host's priority.
    Keepalived(&'static str, u8, u8),
}

/// keepalived with the priorities with which it is fastest.
const FASTEST: &str = "keepalived: host lost, priorities 254 to 250";

const ROWS: &[DefaultsRow] = &[
    DefaultsRow::Group("defaults: host lost", Before::ColdStart),
    DefaultsRow::Group("defaults: host lost, a follower was restarted", Before::FollowerRestarted),
    DefaultsRow::Group("defaults: host lost, every member was restarted", Before::AllRestarted),
    DefaultsRow::Group("defaults: host lost, for the 2nd to 10th time", Before::EarlierRounds),
    DefaultsRow::Keepalived(FASTEST, 254, 1),
    DefaultsRow::Keepalived("keepalived: host lost, priorities 150 to 110", 150, 10),
];

impl DefaultsRow {
    fn name(&self) -> &'static str {
        match self {
            Self::Group(name, _) | Self::Keepalived(name, ..) => name,
        }
    }
}

/// Measures all rows in turn, trial by trial, so that other load on the machine affects all of
/// them. Then prints the table.
pub(super) fn run(testbed: Testbed<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let chosen = options.choose(ROWS, |row| row.name());
    if chosen.is_empty() {
        return Ok(());
    }
    let mut spreads = vec![Spread::default(); chosen.len()];
    for _ in 0..options.trials {
        for (row, spread) in chosen.iter().zip(&mut spreads) {
            if spread.count() < options.trials as usize {
                row.measure(testbed, spread)?;
            }
        }
    }
    let title = format!(
        "Until every survivor knows the new leader, or one is master, in milliseconds, {MEMBERS} hosts, announced every 100 ms:"
    );
    let mut table = report.table(&title, &spread::HEADINGS);
    let fastest = chosen.iter().position(|row| row.name() == FASTEST);
    let most = fastest.and_then(|it| spreads[it].median());
    for (row, spread) in chosen.iter().zip(&spreads) {
        let verdict = match (row, most) {
            (DefaultsRow::Group(..), Some(most)) => {
                let is_met = spread.median().is_some_and(|it| it <= most);
                Verdict::new(format!("median {most:.1}, keepalived's"), is_met)
            }
            _ => Verdict::none(),
        };
        table.row(row.name(), &spread.cells(), &verdict);
    }
    Ok(())
}

impl DefaultsRow {
    fn measure(&self, testbed: Testbed<'_>, spread: &mut Spread) -> Result<()> {
        match *self {
            Self::Keepalived(_, highest, step) => {
                let routers = Routers::start(testbed.hosts, highest, step)?;
                spread.add(routers.lose_master()?);
            }
            Self::Group(_, before) => {
                let placement = Placement::OneEachByDefault;
                let mut members = testbed.members(placement, MEMBERS, &[]);
                members.start_all()?;
                let everyone = members.everyone();
                members.agree(&everyone, &everyone, PATIENCE)?;
                before.happen(testbed, &mut members)?;
                if before == Before::EarlierRounds {
                    for _ in 1..ROUNDS {
                        spread.add(lose_leader(testbed, &mut members)?);
                    }
                } else {
                    spread.add(lose_leader(testbed, &mut members)?);
                }
            }
        }
        Ok(())
    }
}

impl Before {
    fn happen(self, testbed: Testbed<'_>, members: &mut Members<'_>) -> Result<()> {
        match self {
            Self::ColdStart => {}
            Self::FollowerRestarted => {
                // By then the other members have run for long enough.
                members.listen_for(SETTLES_IN);
                let leader = members.leader_of(0).ok_or("nobody leads")?;
                restart(members, (leader + 1) % MEMBERS)?;
            }
            Self::AllRestarted => {
                for index in members.everyone() {
                    restart(members, index)?;
                }
            }
            Self::EarlierRounds => _ = lose_leader(testbed, members)?,
        }
        Ok(())
    }
}

/// Kills and starts a member, and waits until all agree again.
fn restart(members: &mut Members<'_>, index: usize) -> Result<()> {
    members.end(index, Signal::KILL)?;
    members.start(index)?;
    let everyone = members.everyone();
    members.agree(&everyone, &everyone, PATIENCE)?;
    Ok(())
}

/// Isolates the leader's host some seconds later and brings it back. Returns the milliseconds until
/// all others named another leader.
fn lose_leader(testbed: Testbed<'_>, members: &mut Members<'_>) -> Result<f64> {
    // The fault hits every point between two announcements equally often.
    members.listen_for(SETTLES_IN + Duration::from_micros(now_ns() % 100_000));
    let everyone = members.everyone();
    let (leader, _) = members.agree(&everyone, &everyone, PATIENCE)?;
    let survivors = members.all_but(leader);
    let began = testbed.hosts.isolate(leader)?;
    let agreed = members.agree(&survivors, &survivors, PATIENCE);
    testbed.hosts.unfilter(leader)?;
    Ok(milliseconds(began, agreed?.1))
}
