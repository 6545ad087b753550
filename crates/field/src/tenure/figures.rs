//! The time until a member holds tenure: the first holder, and the next one after the holder is
//! lost.

use rustix::process::Signal;

use super::TTL_MS;
use crate::Options;
use crate::Result;
use crate::measure::milliseconds;
use crate::members::{Held, Members};
use crate::spread::{self, Spread};
use crate::table::{Report, Verdict};
use crate::testbed::{MEMBERS, PATIENCE, Testbed, voters};
use crate::trials::USUAL;

/// One row of the table.
struct TenureTrial {
    name: &'static str,
    begins: Begins,
    /// The limit on p95, beyond the ttl; `None` if the row is for information.
    beyond_ttl_ms: Option<f64>,
}

/// The event from which the time is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begins {
    /// All members are up.
    WithTheGroup,
    /// Every packet that the holder's host sends or should receive is dropped.
    WhenTheHostIsLost,
    /// The holder's process is killed, and no guardian reports that its work has stopped.
    WhenTheProcessDies,
}

const TRIALS: &[TenureTrial] = &[
    TenureTrial {
        name: "tenure-start: the first of a new group",
        begins: Begins::WithTheGroup,
        beyond_ttl_ms: None,
    },
    TenureTrial {
        name: "tenure-host-lost: the next elsewhere",
        begins: Begins::WhenTheHostIsLost,
        beyond_ttl_ms: Some(20.0),
    },
    TenureTrial {
        name: "tenure-sigkill: the next, nobody speaks for the dead",
        begins: Begins::WhenTheProcessDies,
        beyond_ttl_ms: Some(20.0),
    },
];

pub(crate) fn run(testbed: Testbed<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let chosen = options.choose(TRIALS, |trial| trial.name);
    if chosen.is_empty() {
        return Ok(());
    }
    let title = format!(
        "Until a member holds tenure, in milliseconds, {MEMBERS} hosts that all vote, ttl {TTL_MS} ms:"
    );
    let mut table = report.table(&title, &spread::HEADINGS);
    for trial in chosen {
        let mut spread = Spread::default();
        for _ in 0..options.trials {
            spread.add(trial.begins.once(testbed)?);
        }
        table.row(trial.name, &spread.cells(), &trial.verdict(&spread));
    }
    Ok(())
}

impl TenureTrial {
    fn verdict(&self, spread: &Spread) -> Verdict {
        let Some(beyond) = self.beyond_ttl_ms else {
            return Verdict::none();
        };
        let most = TTL_MS as f64 + beyond;
        let is_met = spread.quantile(0.95).is_some_and(|it| it <= most);
        Verdict::new(format!("p95 {most}"), is_met)
    }
}

impl Begins {
    /// Runs one trial with a group of its own. Returns milliseconds.
    fn once(self, testbed: Testbed<'_>) -> Result<f64> {
        let (mut members, first) = founded(testbed)?;
        if self == Self::WithTheGroup {
            let up = members.up_ns().ok_or("nobody came up")?;
            return Ok(milliseconds(up, first.since_ns));
        }
        members.settle();
        let everyone = members.everyone();
        let holder = members.held(&everyone, 0, PATIENCE)?;
        let others = members.all_but(holder.by);
        let began = match self {
            Self::WhenTheProcessDies => members.end(holder.by, Signal::KILL)?,
            Self::WhenTheHostIsLost | Self::WithTheGroup => testbed.hosts.isolate(holder.by)?,
        };
        let next = members.held(&others, holder.fence, PATIENCE);
        testbed.hosts.unfilter(holder.by)?;
        Ok(milliseconds(began, next?.since_ns))
    }
}

/// Returns a new group and its first holder.
fn founded(testbed: Testbed<'_>) -> Result<(Members<'_>, Held)> {
    let (voters, ttl) = (voters(MEMBERS), format!("{TTL_MS}ms"));
    let options = [USUAL, &["--voters", &voters, "--ttl", &ttl]].concat();
    let mut members = testbed.group(&options);
    members.init_voters()?;
    members.start_all()?;
    let everyone = members.everyone();
    let first = members.held(&everyone, 0, PATIENCE)?;
    // All members are up and have reported.
    members.agree(&everyone, &everyone, PATIENCE)?;
    Ok((members, first))
}
