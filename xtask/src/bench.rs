//! `cargo xtask bench`: the simulator against a plain hand-written loop, in one run.
//!
//! Three tables: CPU time per message as a ratio (times alone say little on a busy machine),
//! instructions per message (which no neighbour can disturb), and memory at a million members.

use crate::packages::{self, NeededBy};
use crate::{Result, shell};
use std::path::PathBuf;
use std::process::Command;

/// What instructions are counted of, and the most that a message may cost in the simulator.
const COUNTED: &[(&str, f64)] = &[
    ("w1-one-1e3", 110.0),
    ("w1-all-1e3", 110.0),
    ("w2", 230.0),
    ("w3", 800.0),
];

/// A short and a long run: their difference leaves out what every process costs.
const SHORT: u64 = 200_000;
const LONG: u64 = 2_200_000;

const MOST_MEGABYTES: u64 = 150;

pub(crate) fn run() -> Result<()> {
    packages::provide(NeededBy::Bench)?;
    let build = ["build", "--release", "--package", "hustings-benches"];
    shell::run(&mut shell::cargo(build))?;
    println!("\nCPU time per delivered message, set-up included (at most 2 x):");
    let ratios = shell::run(Command::new(program()).args(["--at-most", "2"]));
    println!("\nInstructions per delivered message, set-up included:");
    println!(
        "{:<14} {:>8} {:>10} {:>8}",
        "workload", "skeleton", "simulator", "at most"
    );
    let mut exceeded = Vec::new();
    for &(workload, most) in COUNTED {
        let skeleton = instructions(workload, "skeleton")?;
        let simulator = instructions(workload, "world")?;
        println!("{workload:<14} {skeleton:>8.1} {simulator:>10.1} {most:>8}");
        if simulator > most {
            exceeded.push(format!("{workload}: {simulator:.1} instructions a message"));
        }
    }
    let peak = measure(Command::new(program()).args(["one", "w1-all-1e6", "world", "1"]))?.1 / 1024;
    println!("\nMemory, a million members, all initiating: {peak} MB (at most {MOST_MEGABYTES})");
    if peak > MOST_MEGABYTES {
        exceeded.push(format!("{peak} MB"));
    }
    if !exceeded.is_empty() {
        return Err(format!("over the limit: {}", exceeded.join(", ")).into());
    }
    ratios
}

fn program() -> PathBuf {
    shell::target().join("release").join("hustings-benches")
}

/// Instructions per message, by the difference of two runs.
fn instructions(workload: &str, side: &str) -> Result<f64> {
    let (few, cheap) = count(workload, side, SHORT)?;
    let (many, dear) = count(workload, side, LONG)?;
    Ok((dear - cheap) as f64 / (many - few) as f64)
}

/// Messages delivered and instructions spent in a run of about `messages`.
fn count(workload: &str, side: &str, messages: u64) -> Result<(u64, u64)> {
    let profile = shell::target().join("callgrind.out");
    let mut command = Command::new("valgrind");
    command
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(program())
        .args(["one", workload, side, &messages.to_string()]);
    let (delivered, _) = measure(&mut command)?;
    let written = std::fs::read_to_string(&profile)?;
    let total = written
        .lines()
        .find_map(|line| line.strip_prefix("totals: "));
    let total = total.ok_or("the profile has no totals line")?;
    Ok((delivered, total.trim().parse()?))
}

/// What one side of a workload prints: messages delivered, and peak memory in kB.
fn measure(command: &mut Command) -> Result<(u64, u64)> {
    let output = command.output()?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{}` failed: {complaint}", shell::show(command)).into());
    }
    let printed = String::from_utf8(output.stdout)?;
    let numbers: Vec<&str> = printed.split_whitespace().collect();
    let [delivered, peak] = numbers[..] else {
        return Err(format!("`{}` printed `{printed}`", shell::show(command)).into());
    };
    Ok((delivered.parse()?, peak.parse()?))
}
