//! A fleet: thousands of hosts in a hundred network namespaces, and a centre that does not know
//! their number.
//!
//! The module compares the elections of a council with theory, and shows what the centre does when
//! seated members die. It runs without loss, and with 10 % loss at each namespace. All hosts of a
//! namespace miss a message of the centre that the namespace loses.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use hustings_testkit::{DEADLINE, Process, Processes};

use super::hosts::{Hosts, address};
use super::table::{Report, Verdict};
use crate::Result;

/// The number of namespaces, and of hosts in each.
const NAMESPACES: usize = 100;
const HOSTS_EACH: usize = 20;

/// The largest distance of a mean from theory, in standard errors. One correct mean in twenty
/// thousand is farther away.
const FARTHEST: f64 = 4.5;

/// The percentages of packets that get lost.
const LOSSES: [u32; 2] = [0, 10];

/// The namespace of the centre.
const CENTRE: usize = 0;

/// Runs a fleet of hosts, twenty in each namespace, once for each loss.
pub(super) fn run(example: &Path) -> Result<()> {
    let mut report = Report::default();
    for percent in LOSSES {
        let hosts = Hosts::make(NAMESPACES + 1)?;
        let fleet = start(&hosts, example)?;
        if percent > 0 {
            hosts.lose(0..=NAMESPACES, percent)?;
        }
        measure(fleet, &hosts, example, percent, &mut report)?;
    }
    report.close()
}

/// Starts the processes of a fleet, by namespace. That of the centre is apart.
fn start(hosts: &Hosts, example: &Path) -> Result<Processes> {
    let mut fleet = Processes::new(NAMESPACES + 1);
    for index in CENTRE + 1..=NAMESPACES {
        let mut command = hosts.tied_command(index);
        command.arg(example).arg("hosts");
        command.args([&HOSTS_EACH.to_string(), &format!("h{index}"), &address(index)]);
        fleet.start(index, command.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
    }
    for _ in CENTRE + 1..=NAMESPACES {
        let line = fleet.next_line(DEADLINE).ok_or("not all processes come up")?;
        ensure!(line.text == "up", "namespace {}: {}", line.place, line.text);
    }
    Ok(fleet)
}

/// Lets the centre elect, and kills the members that it names.
fn measure(
    mut fleet: Processes,
    hosts: &Hosts,
    example: &Path,
    percent: u32,
    report: &mut Report,
) -> Result<()> {
    let members = NAMESPACES * HOSTS_EACH;
    let loss = f64::from(percent) / 100.0;
    let mut command = hosts.tied_command(CENTRE);
    command.arg(example).arg("centre");
    command.args([&members.to_string(), &address(CENTRE), &loss.to_string()]);
    let mut centre = Process::spawn(command.stdout(Stdio::piped()))?;
    let title =
        format!("{members} hosts, of which each loses {percent} % of what it should receive:");
    report.table(&title, &["mean", "from", "to", "most", "theory"]);
    for line in centre.lines()? {
        match line.split_once(' ') {
            Some(("kill", name)) => kill(&mut fleet, name)?,
            Some((what, rest)) if rest.starts_with("mean ") => {
                let values = rest.split(' ').skip(1).step_by(2);
                let cells: Vec<String> = values.map(str::to_owned).collect();
                report.row(what, &cells, &verdict(what, &cells));
            }
            _ => report.note(&line),
        }
    }
    ensure!(centre.wait()?.success(), "the centre failed");
    Ok(())
}

fn kill(fleet: &mut Processes, name: &str) -> Result<()> {
    let index = name.strip_prefix('h').and_then(|it| it.split_once('-'));
    let process = fleet.process(index.ok_or("a host's name")?.0.parse()?)?;
    writeln!(process.stdin.as_mut().ok_or("its input is piped")?, "{name}")?;
    Ok(())
}

/// Rounds and replies must agree with theory within the standard error, which the interval gives.
/// Theory does not predict the time of a round trip.
fn verdict(what: &str, cells: &[String]) -> Verdict {
    let values: Vec<f64> = cells.iter().filter_map(|it| it.parse().ok()).collect();
    match (what, &values[..]) {
        ("rounds" | "replies", [mean, from, to, _, theory]) => {
            let error = (to - from) / 2.0 / 1.96;
            let off = (mean - theory).abs() / error;
            Verdict::new(format!("{FARTHEST} errors off: {off:.1}"), off <= FARTHEST)
        }
        _ => Verdict::none(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::Report;
    use super::verdict;

    /// True if a row with these cells passes.
    fn passes(what: &str, cells: &[&str]) -> bool {
        let cells: Vec<String> = cells.iter().map(|it| (*it).to_owned()).collect();
        let mut report = Report::default();
        report.table("a fleet", &[]);
        report.row(what, &cells, &verdict(what, &cells));
        report.close().is_ok()
    }

    #[test]
    fn means_far_from_theory_fail() {
        // A standard error of 0.1.
        let interval = ["3.000", "2.804", "3.196", "6.000"];
        let by = |what, theory| passes(what, &[&interval[..], &[theory]].concat());
        for what in ["rounds", "replies"] {
            assert!(by(what, "3.440") && by(what, "2.560"), "{what}");
            assert!(!by(what, "3.460") && !by(what, "2.540"), "{what}");
        }
        assert!(by("seconds", "9.000"), "theory knows no round trips");
        assert!(passes("rounds", &interval), "there is no theory");
        assert!(!by("rounds", "NaN"), "no number");
    }
}
