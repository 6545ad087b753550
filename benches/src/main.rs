//! The simulator measured against a plain hand-written loop, in one run.
//!
//! Each workload exists twice: in [`skeleton`], with bare arrays and nothing else, and in
//! [`world`], through the simulator. `hustings-benches` runs them in turns and prints the ratio of
//! their CPU times per delivered message, set-up included. `hustings-benches one ...` does one side
//! alone, for an instruction counter or a memory reading.

mod calendar;
mod skeleton;
mod workload;
mod world;

use clap::{Parser, Subcommand};
use rustix::time::{ClockId, clock_gettime};

use crate::workload::{Side, WORKLOADS, Workload};

#[derive(Parser)]
#[command(about = "Measures the simulator against a plain hand-written loop")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// How often each side is measured; the best of each counts
    #[arg(long, default_value_t = 5)]
    repeat: u32,
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
    /// Lists the workloads
    List,
}

fn main() {
    let arguments = Arguments::parse();
    match arguments.command {
        Some(Command::One {
            workload,
            side,
            messages,
        }) => run_one(&workload, side, messages),
        Some(Command::List) => {
            for workload in WORKLOADS {
                println!("{}", workload.name);
            }
        }
        None => compare(arguments.repeat),
    }
}

fn run_one(name: &str, side: Side, messages: u64) {
    let Some(workload) = WORKLOADS.iter().find(|workload| workload.name == name) else {
        eprintln!("error: no workload `{name}`: see `hustings-benches list`");
        std::process::exit(2);
    };
    let delivered = workload.run(side, messages);
    println!("{delivered} {}", peak_kilobytes());
}

/// The most memory that this process has held, as Linux tells it; 0 elsewhere.
fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.trim().strip_suffix("kB"));
    number
        .and_then(|number| number.trim().parse().ok())
        .unwrap_or(0)
}

fn compare(repeat: u32) {
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
        println!(
            "{:<14} {skeleton:>6.1} {:>7.1}  {world:>6.1} {:>7.1}  {:>5.2} x",
            workload.name,
            1e3 / skeleton,
            1e3 / world,
            world / skeleton
        );
    }
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
