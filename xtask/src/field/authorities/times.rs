//! How long it takes until a command runs: from a cold start, and after each kind of blow.

use std::thread;
use std::time::Duration;

use super::contender::{Blow, Contender};
use super::contest::{Contest, Ring};
use super::moment;
use super::worker::Beginning;
use crate::Result;
use crate::field::measure::{milliseconds, now_ns};
use crate::field::spread::Spread;
use crate::field::table::{Table, Verdict};

pub(super) const HEADINGS: [&str; 7] = [
    "trials", "median", "p95", "max", "tenure:", "p95", "overlaps",
];

/// Until whoever was started is a member, a voter that was started votes again, and all is quiet.
const SETTLES_IN: Duration = Duration::from_millis(900);

/// Until a client whose command was killed has ended.
const ENDS_WITHIN: Duration = Duration::from_millis(150);

/// Many trials of one kind.
#[derive(Default)]
struct Tried {
    command: Spread,
    /// Until tenure, where its log tells.
    tenure: Spread,
    /// How often the former one's command still ran.
    overlaps: u32,
}

/// Carries out the trials of a contender, and prints their rows.
pub(super) fn run(
    ring: Ring<'_>,
    contender: Contender,
    trials: u32,
    table: &mut Table<'_>,
) -> Result<()> {
    let mut cold = Tried::default();
    let mut after: Vec<(Blow, Tried)> = contender
        .blows()
        .iter()
        .map(|blow| (*blow, Tried::default()))
        .collect();
    match contender {
        Contender::EtcdElect => at_once(ring, contender, trials, &mut cold, &mut after)?,
        _ => {
            for _ in 0..trials {
                let (mut contest, mut holder) = begin(ring, contender, &mut cold)?;
                for (blow, tried) in &mut after {
                    let former = latest(&mut contest, holder)?;
                    let struck = contest.strike(former, *blow)?;
                    holder = follow(&mut contest, former, struck, tried)?;
                    contest.make_good(former, *blow)?;
                    thread::sleep(ENDS_WITHIN);
                    contest.start_the_ended()?;
                }
            }
        }
    }
    let name = contender.name();
    table.row(
        &format!("{name}: cold start"),
        &cold.cells(),
        &Verdict::none(),
    );
    for (blow, tried) in &after {
        let name = format!("{name}: {}", blow.name(contender));
        table.row(&name, &tried.cells(), &verdict(contender, *blow, tried));
    }
    Ok(())
}

/// Trials that take a minute each: all of them in the same minute, each in a contest of its own.
fn at_once(
    ring: Ring<'_>,
    contender: Contender,
    trials: u32,
    cold: &mut Tried,
    after: &mut [(Blow, Tried)],
) -> Result<()> {
    for (blow, tried) in after {
        let mut struck = Vec::new();
        for _ in 0..trials {
            let (mut contest, holder) = begin(ring, contender, cold)?;
            let holder = latest(&mut contest, holder)?;
            let at = contest.strike(holder, *blow)?;
            struck.push((contest, holder, at));
        }
        for (contest, holder, at) in &mut struck {
            follow(contest, *holder, *at, tried)?;
        }
    }
    Ok(())
}

/// A contest, and the first whose command ran.
fn begin<'a>(
    ring: Ring<'a>,
    contender: Contender,
    cold: &mut Tried,
) -> Result<(Contest<'a>, Beginning)> {
    let mut contest = Contest::new(ring, contender, contender.ttl())?;
    let began = now_ns();
    contest.start_all()?;
    let first = contest.next()?;
    cold.add(&contest, began, first)?;
    Ok((contest, first))
}

/// Waits until all is quiet. Returns whose command runs then.
fn latest(contest: &mut Contest<'_>, holder: Beginning) -> Result<Beginning> {
    // In the middle of an interval as often as at its end.
    let pause = SETTLES_IN + Duration::from_micros(now_ns() % 100_000);
    thread::sleep(pause);
    let mut holder = holder;
    while let Some(later) = contest.desk.arrived()? {
        holder = later;
    }
    match contest.desk.is_at_work(holder) {
        true => Ok(holder),
        false => Err(format!("the command of member {} has ended", holder.member).into()),
    }
}

/// Waits for the next one's command.
fn follow(
    contest: &mut Contest<'_>,
    former: Beginning,
    struck: u64,
    tried: &mut Tried,
) -> Result<Beginning> {
    let next = contest.next()?;
    if contest.desk.is_at_work(former) {
        tried.overlaps += 1;
    }
    if next.member == former.member {
        return Err(format!("member {} follows itself", next.member).into());
    }
    tried.add(contest, struck, next)?;
    Ok(next)
}

impl Tried {
    fn add(&mut self, contest: &Contest<'_>, from: u64, beginning: Beginning) -> Result<()> {
        self.command.add(milliseconds(from, beginning.at_ns));
        if let Some(tenure) = moment::of_tenure(&contest.log(beginning.member))? {
            self.tenure.add(milliseconds(from, tenure));
        }
        Ok(())
    }

    fn cells(&self) -> Vec<String> {
        let mut cells = self.command.cells();
        // Without the count, which is the same, and the maximum.
        cells.extend_from_slice(&self.tenure.cells()[1..3]);
        cells.push(self.overlaps.to_string());
        cells
    }
}

/// What the members' own voters have to come to, until tenure.
fn verdict(contender: Contender, blow: Blow, tried: &Tried) -> Verdict {
    let spread = &tried.tenure;
    let (demand, most, reached) = match (contender, blow) {
        (Contender::Quorum, Blow::Command | Blow::Client) => ("median 20", 20.0, spread.median()),
        (Contender::Quorum, Blow::Host) => ("p95 320", 320.0, spread.quantile(0.95)),
        _ if contender.is_ours() => {
            return Verdict::new("0 overlaps", tried.overlaps == 0);
        }
        _ => return Verdict::none(),
    };
    let is_met = reached.is_some_and(|it| it <= most) && tried.overlaps == 0;
    Verdict::new(format!("{demand}, 0 overlaps"), is_met)
}
