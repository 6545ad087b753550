//! Tenure on real hosts: writers that hold it in turn, faults at random, and a look at all that they left behind.
//!
//! Every member writes to a shared log while it holds, and writes down when it believes to hold. All hosts are
//! namespaces of one machine and have its boot clock in common, so the beliefs of all of them can be compared.

mod check;
mod disks;
mod evidence;
mod figures;
mod home;
mod round;
mod scene;
mod schedule;
mod stall;
mod tally;

use std::path::PathBuf;
use std::time::Duration;

use super::hosts::Hosts;
use super::measure::now_ns;
use super::table::Report;
use super::{Build, dev, program};
use crate::Result;
use evidence::Evidence;
use round::Course;
use scene::{Programs, Scene};
use schedule::Life;
use tally::Tally;

pub(super) use figures::run as figures;

/// How long tenure is granted at a time.
const TTL_MS: u64 = 300;

/// From the start of a group until it has its first holder.
const FIRST_HOLDER_WITHIN: Duration = Duration::from_secs(10);

/// `cargo xtask field --tenure`.
pub(super) fn run(hosts: &Hosts, rounds: usize, seed: Option<u64>) -> Result<()> {
    let seed = seed.unwrap_or_else(now_ns);
    println!("seed {seed}");
    let mut tally = Tally::default();
    let lived = live_through(hosts, seed, rounds, &mut tally);
    let mut report = Report::default();
    tally.print(&mut report);
    let outcome = lived.and_then(|()| report.close());
    outcome.map_err(|error| replay(seed, rounds, &error))
}

/// Ten rounds, as a part of the field tests. Returns what is worth telling.
pub(super) fn ten_rounds(hosts: &Hosts) -> Result<String> {
    const ROUNDS: usize = 10;
    let seed = now_ns();
    let mut tally = Tally::default();
    let lived = live_through(hosts, seed, ROUNDS, &mut tally);
    let outcome = lived.and_then(|()| tally.require_clean());
    outcome.map_err(|error| replay(seed, ROUNDS, &error))?;
    Ok(tally.in_words())
}

/// The program that writes while it holds tenure, built if need be.
pub(super) fn writer() -> Result<PathBuf> {
    dev("examples/writer")
}

/// Lives of groups, one after the other.
fn live_through(hosts: &Hosts, seed: u64, rounds: usize, tally: &mut Tally) -> Result<()> {
    // With all assertions: it is not speed that is looked for.
    let programs = Programs {
        hustings: &program(Build::Dev)?,
        writer: &writer()?,
    };
    for life in schedule::draw(seed, rounds) {
        let lived = live(hosts, programs, &life, tally);
        hosts.heal()?;
        lived?;
    }
    Ok(())
}

fn live(hosts: &Hosts, programs: Programs<'_>, life: &Life, tally: &mut Tally) -> Result<()> {
    let mut scene = Scene::set(hosts, programs, life)?;
    scene.start_all()?;
    let first = scene.held_after(0, FIRST_HOLDER_WITHIN);
    first.ok_or("nobody holds tenure of a new group")?;
    let mut courses: Vec<Course> = Vec::new();
    let mut outcome = Ok(());
    for round in &life.rounds {
        match round::carry_out(&mut scene, round) {
            Ok(course) => courses.push(course),
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
    }
    scene.end_all()?;
    let evidence = Evidence::read(scene.home())?;
    let is_clean = tally.add(&evidence, &courses);
    if outcome.is_err() || !is_clean {
        scene.keep();
    }
    outcome
}

/// What failed, and how to try it once more.
fn replay(seed: u64, rounds: usize, error: &dyn std::fmt::Display) -> Box<dyn std::error::Error> {
    format!("{error}\nthe same faults: cargo xtask field --tenure --rounds {rounds} --seed {seed}")
        .into()
}
