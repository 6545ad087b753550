//! The quick start of the guide on three hosts, followed as a new user would. The test types what
//! the guide says, and compares the output with what the guide shows.

mod guide;
mod shell;

use std::fs;
use std::time::{Duration, Instant};

use hustings_testkit::Scratch;
use rustix::process::Signal;

use super::{FaultContext, NEXT_WITHIN};
use crate::Result;
use crate::testbed::PATIENCE;
use shell::{ReadPrograms, Shell};

/// The names of the three hosts in the guide.
const NAMES: [&str; 3] = ["alpha", "beta", "gamma"];

/// The commands of the guide, in order.
const KEYS: &str = "hustings keys generate";
const EXAMPLE: &str = "hustings config example > hustings.toml";
const CHMOD: &str = "chmod 600 hustings.toml";
const CHECK: &str = "hustings config check hustings.toml";
const AGENT: &str = "hustings agent --config hustings.toml";
const STATUS: &str = "hustings status";
const WATCH: &str = "hustings watch";
const STEP_DOWN: &str = "hustings step-down --group web --for 1m";

/// The file that the guide creates.
const FILE: &str = "hustings.toml";

/// The placeholder that the guide replaces with the key.
const ZEROS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

pub(super) fn walk(context: &FaultContext<'_>) -> Result<String> {
    let work_dir = Scratch::new("hustings-walk");
    let hosts: Vec<usize> = (0..NAMES.len()).collect();
    let shell = |&host: &usize| Shell::new(context.testbed, host, work_dir.path());
    let shells: Vec<Shell<'_>> = hosts.iter().map(shell).collect::<Result<_>>()?;

    configure(&shells[0])?;
    for other in &shells[1..] {
        fs::copy(shells[0].directory.join(FILE), other.directory.join(FILE))?;
    }

    let mut agents = ReadPrograms::default();
    for shell in &shells {
        agents.start(shell, AGENT)?;
    }
    agents.agree(&hosts, &hosts, PATIENCE)?;
    // A leader is established once it is unchallenged. Until then it gives way to a better
    // candidate.
    agents.listen_for(Duration::from_secs(1));
    let leader = agents.agree(&hosts, &hosts, PATIENCE)?;

    let survivors: Vec<usize> = hosts.into_iter().filter(|&it| it != leader).collect();
    shells[survivors[0]].follow(STATUS)?;
    let mut watches = ReadPrograms::default();
    for &host in &survivors {
        watches.start(&shells[host], WATCH)?;
    }
    watches.agree(&survivors, &[leader], PATIENCE)?;

    let killed = Instant::now();
    agents.signal(leader, Signal::KILL)?;
    let next = watches.agree(&survivors, &survivors, NEXT_WITHIN)?;
    let replaced = killed.elapsed();
    // On the next leader's own host the line says so. The guide shows the line of another host.
    let last: Vec<usize> = survivors.iter().copied().filter(|&it| it != next).collect();
    let lines = watches.lines(last[0]);
    let watch = guide::step(WATCH)?;
    // In between, the member may have named no leader, or itself.
    for line in [lines.first(), lines.last()].into_iter().flatten() {
        ensure!(watch.shows(line), "{WATCH} printed what the guide does not show: {line}");
    }

    let asked = Instant::now();
    shells[next].follow(STEP_DOWN)?;
    watches.agree(&survivors, &last, NEXT_WITHIN)?;
    Ok(format!(
        "a watch shows the next leader {} ms after a SIGKILL, and {} ms after a step-down",
        replaced.as_millis(),
        asked.elapsed().as_millis()
    ))
}

/// Creates one key and one configuration file for all hosts.
fn configure(shell: &Shell<'_>) -> Result<()> {
    let key = shell.follow(KEYS)?;
    shell.follow(EXAMPLE)?;
    shell.follow(CHMOD)?;
    let file = shell.directory.join(FILE);
    let text = fs::read_to_string(&file)?;
    ensure!(text.matches(ZEROS).count() == 1, "{FILE} has no place for the key:\n{text}");
    fs::write(&file, text.replace(ZEROS, key.trim()))?;
    shell.follow(CHECK)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{AGENT, CHECK, CHMOD, EXAMPLE, KEYS, STATUS, STEP_DOWN, WATCH, guide};

    #[test]
    fn test_types_the_commands_of_the_guide() {
        let walk = [KEYS, EXAMPLE, CHMOD, CHECK, AGENT, STATUS, WATCH, STEP_DOWN];
        let guide: Vec<&str> = guide::steps().iter().map(|step| step.command).collect();
        assert_eq!(guide, walk);
    }
}
