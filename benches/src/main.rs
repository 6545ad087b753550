//! Measures the simulator against a plain hand-written loop, in one run.
//!
//! Each workload exists twice: in [`skeleton`], with bare arrays and nothing else, and in
//! [`world`], through the simulator. `hustings-benches` runs them in turns and prints the ratio of
//! their CPU times per delivered message, set-up included. `hustings-benches one ...` runs one side
//! alone, for an instruction counter or a memory reading.
//!
//! The other commands have no skeleton; they print memory and time:
//! - `elect` holds one election by announcement;
//! - `draw` holds a probabilistic election;
//! - `figure` simulates all elections of a figure;
//! - `ring` and `ring-tables` hold draws on Wagner's ring and compute their tables;
//! - `council-...` compute council elections, host by host and as aggregate counts.

mod calendar;
mod councils;
mod elections;
mod sealing;
mod skeleton;
mod workload;
mod world;

use std::fmt::Display;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use hustings_protocol::Duration;
use rustix::time::{ClockId, clock_gettime};

use crate::workload::{Side, WORKLOADS, Workload};

#[derive(Parser)]
#[command(about = "Measures the simulator against a plain hand-written loop")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Number of measurements of each side; the best of each counts
    #[arg(long, default_value_t = 5)]
    repeat: u32,
    /// Fail if the simulator takes more than RATIO times the skeleton's time
    #[arg(long, value_name = "RATIO", default_value_t = f64::INFINITY)]
    at_most: f64,
}

#[derive(Clone, Copy, Subcommand)]
enum Command {
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
    /// Simulate Figure 5 of the report on probabilistic elections, (a) to (i), by `hash` and by
    /// `delay`, on one core; print the number of points and the CPU time (in ns)
    Figure {
        /// Number of elections per point; the report has 1,000
        #[arg(default_value_t = 1_000)]
        runs: u64,
    },
    /// Hold honest draws on Wagner's ring, by their flips and without the messages, as the
    /// simulator does; print the number of draws with a leader and the CPU time (in ns)
    Ring {
        /// Number of members, 4 or more
        #[arg(value_parser = clap::value_parser!(u32).range(4..))]
        members: u32,
        /// Number of draws
        draws: u32,
        /// The seed of the first run
        seed: u64,
    },
    /// Compute the exact tables of draws on Wagner's ring; print the stages of the largest ring and
    /// the CPU time (in ns)
    RingTables {
        /// Number of members of the largest ring
        #[arg(value_parser = clap::value_parser!(u32).range(2..))]
        most: u32,
    },
    /// Compute the curves of council elections from 10 to 100,000 hosts; print the number of points
    /// and the CPU time (in ns)
    CouncilCurves,
    /// Elect a council, host by host; print the number of rounds and the CPU time (in ns)
    CouncilHosts {
        /// Number of hosts, 9 or more
        #[arg(value_parser = clap::value_parser!(u32).range(9..))]
        hosts: u32,
        /// The seed of the run
        seed: u64,
    },
    /// Elect councils as aggregate counts; print the number of councils and the CPU time (in ns)
    CouncilTallies {
        /// Number of hosts, 9 or more
        #[arg(value_parser = clap::value_parser!(u64).range(9..))]
        members: u64,
        /// Number of elections
        elections: u64,
    },
    /// Seal and open frames; print the CPU time for each (in ns): sealed with a counted nonce,
    /// sealed with a nonce from the operating system, opened
    Seal {
        /// Length of a frame's content
        #[arg(default_value_t = 120)]
        bytes: usize,
    },
    /// List the workloads
    List,
}

fn main() -> ExitCode {
    let Arguments { command, repeat, at_most } = Arguments::parse();
    let Some(command) = command else {
        return compare(repeat, at_most);
    };
    match run(command) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns what a command prints.
fn run(command: Command) -> Result<String, String> {
    Ok(match command {
        Command::One { workload, side, messages } => {
            format!("{} {}", workload.run(side, messages), peak_kilobytes())
        }
        Command::Elect { members, delay, seed } => {
            elections::by_announcing(members, Duration::from_millis(delay), seed)
                .ok_or_else(|| format!("not all of {members} members have heard the leader"))?
        }
        Command::Draw { members, k, loss, seed } => elections::by_hash(members, k, loss, seed),
        Command::Figure { runs } => with_time(elections::figure_5(runs)),
        Command::Ring { members, draws, seed } => {
            with_time(elections::on_ring(members, draws, seed))
        }
        Command::RingTables { most } => with_time(elections::ring_tables(most as usize)),
        Command::CouncilCurves => with_time(timed(councils::curves)),
        Command::CouncilHosts { hosts, seed } => with_time(councils::by_hosts(hosts, seed)),
        Command::CouncilTallies { members, elections } => {
            with_time(timed(|| councils::by_tallies(members, elections)))
        }
        Command::Seal { bytes } => {
            let best = sealing::measure(bytes);
            let best = best.ok_or("the operating system provides no random numbers")?;
            best.map(|nanos| format!("{nanos:.0}")).join(" ")
        }
        Command::List => WORKLOADS.iter().map(|it| it.name).collect::<Vec<_>>().join("\n"),
    })
}

fn with_time((result, nanos): (impl Display, f64)) -> String {
    format!("{result} {nanos}")
}

/// Finds the workload of this name.
fn workload(name: &str) -> Result<&'static Workload, String> {
    let found = WORKLOADS.iter().find(|workload| workload.name == name);
    found.ok_or_else(|| format!("no workload `{name}`: see `hustings-benches list`"))
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

/// Prints the table; fails if a ratio is above `at_most`.
fn compare(repeat: u32, at_most: f64) -> ExitCode {
    let mut outcome = ExitCode::SUCCESS;
    println!("workload            skeleton        simulator      ratio");
    println!("                  ns     M/s      ns     M/s");
    for workload in WORKLOADS {
        let mut best = [f64::INFINITY; 2];
        for _ in 0..repeat.max(1) {
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
        if ratio > at_most {
            outcome = ExitCode::FAILURE;
        }
    }
    outcome
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
