//! The simulator measured against a plain hand-written loop, in one run.
//!
//! Each workload exists twice: in [`skeleton`], with bare arrays and nothing else, and in
//! [`world`], through the simulator. `hustings-benches` runs them in turns and prints the ratio of
//! their CPU times per delivered message, set-up included. `hustings-benches one ...` does one side
//! alone, for an instruction counter or a memory reading. `hustings-benches elect ...` holds one
//! election by announcement, `hustings-benches draw ...` a probabilistic one, and `hustings-benches
//! figure` those of a whole figure, `hustings-benches ring ...` draws on Wagner's ring, with their tables,
//! `hustings-benches council ...` council elections, on paper, host by host and by tallies; these have no skeleton beside them: their memory and their time are told.

mod calendar;
mod councils;
mod drawn;
mod election;
mod figure;
mod rings;
mod sealing;
mod skeleton;
mod workload;
mod world;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use hustings_protocol::Duration;
use rustix::time::{ClockId, clock_gettime};

use crate::election::Taken;
use crate::workload::{Side, WORKLOADS, Workload};

/// The frames that `hustings-benches seal` seals each time.
const SEALED_FRAMES: u32 = 100_000;

#[derive(Parser)]
#[command(about = "Measures the simulator against a plain hand-written loop")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// How often each side is measured; the best of each counts
    #[arg(long, default_value_t = 5)]
    repeat: u32,
    /// Fail if the simulator takes more than so many times the skeleton's time
    #[arg(long, value_name = "RATIO", default_value_t = f64::INFINITY)]
    at_most: f64,
}

#[derive(Subcommand)]
enum Command {
    /// Runs one side of one workload; prints how many messages were delivered, and the most memory
    /// (in kB) that the process has held
    One {
        /// The workload, as the table names it
        workload: String,
        /// Which side
        side: Side,
        /// About how many messages (or queue operations)
        messages: u64,
    },
    /// Holds one LE-S election; prints the announcements, the most memory (in kB) that the process has
    /// held, the CPU time (in ns), and what the protocol itself holds of a member (in bytes)
    Elect {
        /// How many members, 2 or more
        #[arg(value_parser = clap::value_parser!(u32).range(2..))]
        members: u32,
        /// How long a message takes, in milliseconds
        delay: u64,
        /// The seed of the run
        seed: u64,
    },
    /// Holds one probabilistic election; prints the messages, the most memory (in kB) that the process
    /// has held, the CPU time (in ns), and how many rounds there were
    Draw {
        /// How many members, 1 or more
        #[arg(value_parser = clap::value_parser!(u32).range(1..))]
        members: u32,
        /// K of the first round, from 1 to all members
        #[arg(value_parser = clap::value_parser!(u32).range(1..))]
        k: u32,
        /// What part of all messages is lost
        loss: f64,
        /// The seed of the run
        seed: u64,
    },
    /// Simulates Figure 5 of the report on probabilistic elections, (a) to (i), by `hash` and by `delay`, on one
    /// core; prints how many points it has, and the CPU time (in ns)
    Figure {
        /// How many elections a point; the report has 1,000
        #[arg(default_value_t = 1_000)]
        runs: u64,
    },
    /// Holds honest draws on Wagner's ring, by their flips and without the messages, as the simulator does; prints how many have a
    /// leader, and the CPU time (in ns)
    Ring {
        /// How many members, 4 or more
        #[arg(value_parser = clap::value_parser!(u32).range(4..))]
        members: u32,
        /// How many draws
        draws: u32,
        /// The seed of the first run
        seed: u64,
    },
    /// Computes the exact tables of such draws; prints the stages of the largest ring, and the CPU time
    /// (in ns)
    RingTables {
        /// The members of the largest ring
        #[arg(value_parser = clap::value_parser!(u32).range(2..))]
        most: u32,
    },
    /// Computes the curves of council elections from 10 to 100,000 hosts; prints how many points they have, and
    /// the CPU time (in ns)
    CouncilCurves,
    /// Elects a council, host by host; prints how many rounds it took, and the CPU time (in ns)
    CouncilHosts {
        /// How many hosts, 9 or more
        #[arg(value_parser = clap::value_parser!(u32).range(9..))]
        hosts: u32,
        /// The seed of the run
        seed: u64,
    },
    /// Elects councils by their tallies alone; prints how many came about, and the CPU time (in ns)
    CouncilTallies {
        /// How many hosts, 9 or more
        #[arg(value_parser = clap::value_parser!(u64).range(9..))]
        members: u64,
        /// How many elections
        elections: u64,
    },
    /// Seals and opens frames; prints the CPU time for each (in ns): sealed with a counted nonce, sealed with a nonce from the
    /// operating system, opened
    Seal {
        /// The length of a frame's content
        #[arg(default_value_t = 120)]
        bytes: usize,
    },
    /// Lists the workloads
    List,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.command {
        Some(Command::One {
            workload,
            side,
            messages,
        }) => run_one(&workload, side, messages),
        Some(Command::Elect {
            members,
            delay,
            seed,
        }) => elect(members, Duration::from_millis(delay), seed),
        Some(Command::Draw {
            members,
            k,
            loss,
            seed,
        }) => {
            let taken = drawn::hold(members, k, loss, seed);
            let drawn::Taken {
                messages,
                rounds,
                nanos,
            } = taken;
            println!("{messages} {} {nanos} {rounds}", peak_kilobytes());
            ExitCode::SUCCESS
        }
        Some(Command::Figure { runs }) => {
            let figure::Taken { points, nanos } = figure::simulate(runs);
            println!("{points} {nanos}");
            ExitCode::SUCCESS
        }
        Some(Command::Ring {
            members,
            draws,
            seed,
        }) => {
            let (nanos, elected) = rings::hold(members, draws, seed);
            println!("{elected} {nanos}");
            ExitCode::SUCCESS
        }
        Some(Command::RingTables { most }) => {
            let (nanos, stages) = rings::tables(most as usize);
            println!("{stages} {nanos}");
            ExitCode::SUCCESS
        }
        Some(Command::CouncilCurves) => {
            let (nanos, points) = councils::curves();
            println!("{points} {nanos}");
            ExitCode::SUCCESS
        }
        Some(Command::CouncilHosts { hosts, seed }) => {
            let (nanos, rounds) = councils::by_hosts(hosts, seed);
            println!("{rounds} {nanos}");
            ExitCode::SUCCESS
        }
        Some(Command::CouncilTallies { members, elections }) => {
            let (nanos, councils) = councils::by_tallies(members, elections);
            println!("{councils} {nanos}");
            ExitCode::SUCCESS
        }
        Some(Command::Seal { bytes }) => {
            let Some(taken) = sealing::measure(SEALED_FRAMES, bytes) else {
                eprintln!("error: the operating system has no randomness to give");
                return ExitCode::FAILURE;
            };
            let sealing::Taken {
                sealed_counted,
                sealed_drawn,
                opened,
            } = taken;
            println!("{sealed_counted:.0} {sealed_drawn:.0} {opened:.0}");
            ExitCode::SUCCESS
        }
        Some(Command::List) => {
            for workload in WORKLOADS {
                println!("{}", workload.name);
            }
            ExitCode::SUCCESS
        }
        None => compare(arguments.repeat, arguments.at_most),
    }
}

fn run_one(name: &str, side: Side, messages: u64) -> ExitCode {
    let Some(workload) = WORKLOADS.iter().find(|workload| workload.name == name) else {
        eprintln!("error: no workload `{name}`: see `hustings-benches list`");
        return ExitCode::from(2);
    };
    let delivered = workload.run(side, messages);
    println!("{delivered} {}", peak_kilobytes());
    ExitCode::SUCCESS
}

fn elect(members: u32, delay: Duration, seed: u64) -> ExitCode {
    let Some(taken) = election::hold(members, delay, seed) else {
        eprintln!("error: of {members} members some have not heard the leader");
        return ExitCode::FAILURE;
    };
    let Taken {
        announcements,
        nanos,
        state,
    } = taken;
    println!("{announcements} {} {nanos} {state}", peak_kilobytes());
    ExitCode::SUCCESS
}

/// The most memory that this process has held, as Linux tells it, less its own program, of which more
/// or less is mapped from run to run; 0 elsewhere.
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
    let begin = cpu_nanos();
    let delivered = workload.run(side, workload.messages);
    (cpu_nanos() - begin) / delivered as f64
}

/// CPU time that this process has used, in nanoseconds.
fn cpu_nanos() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
