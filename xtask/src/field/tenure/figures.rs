//! How soon somebody holds tenure: the first, and the next one after the holder was lost.

use rustix::process::Signal;

use super::TTL_MS;
use crate::Result;
use crate::field::Options;
use crate::field::ground::{Ground, MEMBERS, PATIENCE, voters};
use crate::field::measure::milliseconds;
use crate::field::members::{Held, Members};
use crate::field::spread::{self, Spread};
use crate::field::table::{Report, Verdict};
use crate::field::trials::USUAL;

/// One row of the table.
struct Trial {
    name: &'static str,
    begins: Begins,
    /// What p95 has to come to beyond the ttl; none if the row is for information.
    beyond_ttl_ms: Option<f64>,
}

/// From when time is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begins {
    /// All members were up.
    WithTheGroup,
    /// All that the holder's host sends or should receive vanishes.
    WhenTheHostIsLost,
    /// The holder's process dies, and nobody is there to say that it has stopped its work.
    WhenTheProcessDies,
}

const TRIALS: &[Trial] = &[
    Trial {
        name: "tenure-start: the first of a new group",
        begins: Begins::WithTheGroup,
        beyond_ttl_ms: None,
    },
    Trial {
        name: "tenure-host-lost: the next elsewhere",
        begins: Begins::WhenTheHostIsLost,
        beyond_ttl_ms: Some(20.0),
    },
    Trial {
        name: "tenure-sigkill: the next, nobody speaks for the dead",
        begins: Begins::WhenTheProcessDies,
        beyond_ttl_ms: Some(20.0),
    },
];

pub(crate) fn run(ground: Ground<'_>, options: &Options, report: &mut Report) -> Result<()> {
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
            spread.add(trial.begins.once(ground)?);
        }
        table.row(trial.name, &spread.cells(), &trial.verdict(&spread));
    }
    Ok(())
}

impl Trial {
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
    /// One trial, with a group of its own. Returns milliseconds.
    fn once(self, ground: Ground<'_>) -> Result<f64> {
        let (mut members, first) = founded(ground)?;
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
            Self::WhenTheHostIsLost | Self::WithTheGroup => ground.hosts.isolate(holder.by)?,
        };
        let next = members.held(&others, holder.fence, PATIENCE);
        ground.hosts.unfilter(holder.by)?;
        Ok(milliseconds(began, next?.since_ns))
    }
}

/// A group that was just founded, and its first holder.
fn founded(ground: Ground<'_>) -> Result<(Members<'_>, Held)> {
    let (voters, ttl) = (voters(MEMBERS), format!("{TTL_MS}ms"));
    let options = [USUAL, &["--voters", &voters, "--ttl", &ttl]].concat();
    let mut members = ground.group(&options);
    members.found()?;
    members.start_all()?;
    let everyone = members.everyone();
    let first = members.held(&everyone, 0, PATIENCE)?;
    // All are up, and have said so.
    members.agree(&everyone, &everyone, PATIENCE)?;
    Ok((members, first))
}
