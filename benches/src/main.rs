//! Measures the simulator against a plain hand-written loop, in one run.
//!
//! Each workload exists twice: in [`skeleton`], with bare arrays and nothing else, and in
//! [`world`], through the simulator. `hustings-benches` runs them in turns and prints the ratio of
//! their CPU times per delivered message, set-up included. `hustings-benches limits` measures
//! elections, draws and councils too, and fails if one costs too much. The other commands run one
//! piece alone, for an instruction counter or a memory reading.

mod calendar;
mod councils;
mod elections;
mod limits;
mod sealing;
mod skeleton;
mod workload;
mod world;

use std::error::Error;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use hustings_protocol::Duration;
use rustix::time::{ClockId, clock_gettime};

use crate::workload::{Side, WORKLOADS, Workload};

/// The number of measurements of each side; the best of each counts.
const REPEAT: u32 = 5;

#[derive(Parser)]
#[command(about = "Measures the simulator against a plain hand-written loop")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Fail if the simulator takes more than RATIO times the skeleton's time
    #[arg(long, value_name = "RATIO", default_value_t = f64::INFINITY)]
    at_most: f64,
}

#[derive(Clone, Copy, Subcommand)]
enum Command {
    /// Measure everything, and fail if a limit is exceeded
    Limits,
    /// Run one side of one workload; print the number of delivered messages and the process's peak
    /// memory (in kB)
    One {
        /// The workload, as the table names it
        #[arg(value_parser = workload)]
        workload: &'static Workload,
        /// The side to run
        side: Side,
        /// Approximate number of messages (or queue operations)
        messages: u64,
    },
    /// Hold one LE-S election; print the announcements, the process's peak memory (in kB), the CPU
    /// time (in ns), and the size of the protocol's state per member (in bytes)
    Elect {
        /// Number of members, 2 or more
        #[arg(value_parser = clap::value_parser!(u32).range(2..))]
        members: u32,
        /// Delay of a message, in milliseconds
        delay: u64,
        /// The seed of the run
        seed: u64,
    },
    /// Hold one probabilistic election; print the messages, the process's peak memory (in kB), the
    /// CPU time (in ns), and the number of rounds
    Draw {
        /// Number of members, 1 or more
        #[arg(value_parser = clap::value_parser!(u32).range(1..))]
        members: u32,
        /// K of the first round, from 1 to all members
        #[arg(value_parser = clap::value_parser!(u32).range(1..))]
        k: u32,
        /// Fraction of messages that are lost
        loss: f64,
        /// The seed of the run
        seed: u64,
    },
    /// Seal and open frames; print the CPU time for each (in ns): sealed with a counted nonce,
    /// sealed with a nonce from the operating system, opened
    Seal {
        /// Length of a frame's content
        #[arg(default_value_t = 120)]
        bytes: usize,
    },
}

fn main() -> ExitCode {
    let Arguments { command, at_most } = Arguments::parse();
    let outcome = match command {
        None => match compare(at_most) {
            true => Ok(()),
            false => return ExitCode::FAILURE,
        },
        Some(command) => run(command),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Limits => limits::run()?,
        Command::One { workload, side, messages } => {
            println!("{} {}", workload.run(side, messages), peak_kilobytes());
        }
        Command::Elect { members, delay, seed } => {
            let costs = elections::by_announcing(members, Duration::from_millis(delay), seed);
            let missing = || format!("not all of {members} members have heard the leader");
            println!("{}", costs.ok_or_else(missing)?);
        }
        Command::Draw { members, k, loss, seed } => {
            println!("{}", elections::by_hash(members, k, loss, seed));
        }
        Command::Seal { bytes } => {
            let best = sealing::measure(bytes);
            let [counted, drawn, opened] =
                best.ok_or("the operating system provides no random numbers")?;
            println!("{counted:.0} {drawn:.0} {opened:.0}");
        }
    }
    Ok(())
}

/// Finds the workload of this name.
fn workload(name: &str) -> Result<&'static Workload, String> {
    let found = WORKLOADS.iter().find(|workload| workload.name == name);
    found.ok_or_else(|| format!("no workload `{name}`: see the table of `hustings-benches`"))
}

/// The peak memory of this process according to Linux, without its program text, of which a varying
/// part is mapped; 0 on other systems.
fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = |field: &str| -> Option<u64> {
        let number = status.lines().find_map(|line| line.strip_prefix(field))?;
        number.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    let peak = kilobytes("VmHWM:").unwrap_or(0);
    peak.saturating_sub(kilobytes("RssFile:").unwrap_or(0))
}

/// Prints the table. Returns false if a ratio is above `at_most`.
fn compare(at_most: f64) -> bool {
    let mut is_fast_enough = true;
    println!("workload            skeleton        simulator      ratio");
    println!("                  ns     M/s      ns     M/s");
    for workload in WORKLOADS {
        let mut best = [f64::INFINITY; 2];
        for _ in 0..REPEAT {
            for (side, best) in [Side::Skeleton, Side::World].into_iter().zip(&mut best) {
                *best = best.min(nanos_per_message(workload, side));
            }
        }
        let [skeleton, world] = best;
        let ratio = world / skeleton;
        let mark = if ratio > at_most { "  too slow" } else { "" };
        println!(
            "{:<14} {skeleton:>6.1} {:>7.1}  {world:>6.1} {:>7.1}  {ratio:>5.2} x{mark}",
            workload.name,
            1e3 / skeleton,
            1e3 / world,
        );
        is_fast_enough &= ratio <= at_most;
    }
    is_fast_enough
}

fn nanos_per_message(workload: &Workload, side: Side) -> f64 {
    let (delivered, nanos) = timed(|| workload.run(side, workload.messages));
    nanos / delivered as f64
}

/// Runs `work`. Returns its result, and the CPU time that it took, in nanoseconds.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let cpu_nanos = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    };
    let begin = cpu_nanos();
    let result = work();
    (result, cpu_nanos() - begin)
}
