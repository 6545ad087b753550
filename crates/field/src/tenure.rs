//! Tenure on real hosts: writers that hold it in turn under random faults, and a check of the
//! records that they left.
//!
//! Every member writes to a shared log while it holds tenure, and records when it believes that it
//! holds. All hosts are namespaces of one machine and share its boot clock, so the beliefs of all
//! members can be compared.

mod evidence;
mod pause_between_receives;
mod round;
mod schedule;
mod state_dir;
mod tally;
mod writers;

use std::path::Path;
use std::time::Duration;

use super::hosts::Hosts;
use super::measure::now_ns;
use super::table::Report;
use super::testbed::{Testbed, dev};
use crate::Result;
use evidence::Evidence;
use round::RoundRecord;
use schedule::GroupPlan;
use tally::Tally;
use writers::Writers;

/// The duration of one grant of tenure.
const TTL_MS: u64 = 300;

/// The time within which a new group must have its first holder.
const FIRST_HOLDER_WITHIN: Duration = Duration::from_secs(10);

/// Runs `cargo xtask field --tenure`.
pub(super) fn run(hosts: &Hosts, rounds: usize, seed: Option<u64>) -> Result<()> {
    let seed = seed.unwrap_or_else(now_ns);
    println!("seed {seed}");
    let mut tally = Tally::default();
    let result = run_groups(hosts, seed, rounds, &mut tally);
    let mut report = Report::default();
    tally.print(&mut report);
    let outcome = result.and_then(|()| report.close());
    outcome.map_err(|error| replay(seed, rounds, &error))
}

/// Runs ten rounds as a part of the field tests. Returns a summary.
pub(super) fn ten_rounds(hosts: &Hosts) -> Result<String> {
    const ROUNDS: usize = 10;
    let seed = now_ns();
    let mut tally = Tally::default();
    let result = run_groups(hosts, seed, ROUNDS, &mut tally);
    let outcome = result.and_then(|()| tally.require_clean());
    outcome.map_err(|error| replay(seed, ROUNDS, &error))?;
    Ok(tally.in_words())
}

/// Runs the groups of a schedule one after the other.
fn run_groups(hosts: &Hosts, seed: u64, rounds: usize, tally: &mut Tally) -> Result<()> {
    // The development build has all assertions. Speed does not matter here.
    let (program, writer) = (dev("hustings")?, dev("examples/writer")?);
    let testbed = Testbed::new(hosts, &program);
    for plan in schedule::draw(seed, rounds) {
        let result = run_group(testbed, &writer, &plan, tally);
        hosts.heal()?;
        result?;
    }
    Ok(())
}

fn run_group(
    testbed: Testbed<'_>,
    writer: &Path,
    plan: &GroupPlan,
    tally: &mut Tally,
) -> Result<()> {
    let mut writers = Writers::create(testbed, writer, plan)?;
    writers.start_all()?;
    let first = writers.held_after(0, FIRST_HOLDER_WITHIN);
    first.ok_or("no member holds tenure of a new group")?;
    let mut records: Vec<RoundRecord> = Vec::new();
    let outcome = plan.rounds.iter().try_for_each(|round| {
        records.push(round::carry_out(&mut writers, round)?);
        Ok(())
    });
    writers.end_all();
    let evidence = Evidence::read(writers.state_dir.path())?;
    let is_clean = tally.add(&evidence, &records);
    if outcome.is_err() || !is_clean {
        writers.state_dir.keep();
    }
    outcome
}

/// Returns the error with the command that replays the run.
fn replay(seed: u64, rounds: usize, error: &dyn std::fmt::Display) -> Box<dyn std::error::Error> {
    format!("{error}\nthe same faults: cargo xtask field --tenure --rounds {rounds} --seed {seed}")
        .into()
}
