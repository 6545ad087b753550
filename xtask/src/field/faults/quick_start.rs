//! The guide's quick start on three hosts, walked as a new user would: what it says to type is typed, and what
//! it says will be printed is.

mod desk;
mod ensemble;
mod guide;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{Trial, require};
use crate::Result;
use crate::field::ground::PATIENCE;
use desk::Desk;
use ensemble::Ensemble;
use guide::Step;

/// What the guide calls its three hosts.
const NAMES: [&str; 3] = ["alpha", "beta", "gamma"];

/// What it says to type, in this order.
const KEYS: &str = "hustings keys generate";
const EXAMPLE: &str = "hustings config example > hustings.toml";
const CHMOD: &str = "chmod 600 hustings.toml";
const CHECK: &str = "hustings config check hustings.toml";
const AGENT: &str = "hustings agent --config hustings.toml";
const STATUS: &str = "hustings status";
const WATCH: &str = "hustings watch";
const STEP_DOWN: &str = "hustings step-down --group web --for 1m";

/// The file that it makes.
const FILE: &str = "hustings.toml";

/// What it says to put the key in place of.
const ZEROS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// How soon those who watch see the next leader.
const NEXT_WITHIN: Duration = Duration::from_secs(2);

pub(super) fn walk(trial: &Trial<'_>) -> Result<String> {
    let room = Room::make()?;
    let desks: Result<Vec<Desk<'_>>> = (0..NAMES.len())
        .map(|host| Desk::new(trial.ground, host, &room.0))
        .collect();
    let desks = desks?;
    let hosts: Vec<usize> = (0..desks.len()).collect();

    configure(&desks[0])?;
    for other in &desks[1..] {
        fs::copy(desks[0].directory.join(FILE), other.directory.join(FILE))?;
    }

    let mut agents = Ensemble::default();
    for desk in &desks {
        agents.start(desk, AGENT)?;
    }
    agents.agree(&hosts, &hosts, PATIENCE)?;
    // Until nobody challenges it a leader is not established, and gives way to a better one.
    agents.listen_for(Duration::from_secs(1));
    let leader = agents.agree(&hosts, &hosts, PATIENCE)?;

    let survivors: Vec<usize> = hosts.into_iter().filter(|&it| it != leader).collect();
    desks[survivors[0]].follow(&guide::step(STATUS)?)?;
    let mut watches = Ensemble::default();
    for &host in &survivors {
        watches.start(&desks[host], WATCH)?;
    }
    watches.agree(&survivors, &[leader], PATIENCE)?;

    let killed = Instant::now();
    agents.signal(leader, Signal::KILL)?;
    let next = watches.agree(&survivors, &survivors, NEXT_WITHIN)?;
    let replaced = killed.elapsed();
    // On the next leader's own host it says that, and the guide shows another one's.
    let last: Vec<usize> = survivors.iter().copied().filter(|&it| it != next).collect();
    as_shown(&guide::step(WATCH)?, &watches.lines(last[0]))?;

    let told = Instant::now();
    desks[next].follow(&guide::step(STEP_DOWN)?)?;
    watches.agree(&survivors, &last, NEXT_WITHIN)?;
    Ok(format!(
        "a watch shows the next leader {} ms after a SIGKILL, and {} ms after a step-down",
        replaced.as_millis(),
        told.elapsed().as_millis()
    ))
}

/// One key and one file for all.
fn configure(desk: &Desk<'_>) -> Result<()> {
    let key = desk.follow(&guide::step(KEYS)?)?;
    desk.follow(&guide::step(EXAMPLE)?)?;
    desk.follow(&guide::step(CHMOD)?)?;
    let file = desk.directory.join(FILE);
    let text = fs::read_to_string(&file)?;
    require(text.matches(ZEROS).count() == 1, || {
        format!("{FILE} has no place for the key:\n{text}")
    })?;
    fs::write(&file, text.replace(ZEROS, key.trim()))?;
    desk.follow(&guide::step(CHECK)?)?;
    Ok(())
}

/// A watch begins and ends as the guide shows. In between its member may have named nobody, or itself.
fn as_shown(step: &Step, lines: &[&str]) -> Result<()> {
    let ends = [lines.first(), lines.last()];
    match ends.into_iter().flatten().find(|line| !step.shows(line)) {
        None => Ok(()),
        Some(line) => Err(format!("{WATCH} printed what the guide does not show: {line}").into()),
    }
}

/// A directory that is gone when dropped.
struct Room(PathBuf);

impl Room {
    fn make() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("hustings-{}-walk", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever cleans up there.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::{AGENT, CHECK, CHMOD, EXAMPLE, KEYS, STATUS, STEP_DOWN, WATCH, guide};

    #[test]
    fn the_walk_runs_what_the_guide_says_to_type() {
        let walk = [KEYS, EXAMPLE, CHMOD, CHECK, AGENT, STATUS, WATCH, STEP_DOWN];
        let guide: Vec<&str> = guide::steps().iter().map(|step| step.command).collect();
        assert_eq!(guide, walk);
    }
}
