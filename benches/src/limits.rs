//! Holds the simulator to its limits, for `cargo xtask bench`: also against a plain hand-written
//! loop, in one run.
//!
//! The limits are on:
//! - CPU time per message as a ratio, because times alone say little on a busy machine;
//! - instructions per message, which no neighbour can disturb;
//! - memory at a million members: of a ring, of an election by announcement, whose time must also
//!   grow like N, and of a probabilistic one, also where a second round is needed;
//! - CPU time of a probabilistic election of all members, which must grow like the messages;
//! - CPU seconds of draws on Wagner's ring and of their exact tables;
//! - CPU seconds of council elections: their curves, a round of a million hosts, and an election of
//!   a billion as aggregate counts.
//!
//! What is counted in instructions or bytes runs as a process of its own.

use std::error::Error;
use std::hint::black_box;
use std::process::Command;

use crate::{compare, councils, elections, timed};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The most by which the simulator may be slower than the skeleton.
const MOST_RATIO: f64 = 2.0;

/// The workloads whose instructions are counted, and the most that a message may cost in the
/// simulator.
const COUNTED: &[(&str, f64)] =
    &[("w1-one-1e3", 110.0), ("w1-all-1e3", 110.0), ("w2", 230.0), ("w3", 800.0)];

/// The messages of a short and a long run: their difference leaves out the cost of every process.
const SHORT: u64 = 200_000;
const LONG: u64 = 2_200_000;

const MOST_MEGABYTES: f64 = 150.0;

/// The most bytes that an election by announcement may hold of a member beyond the protocol's own
/// state.
const MOST_BYTES_BEYOND: f64 = 100.0;
/// The two groups whose times are compared.
const SMALLER: u32 = 100_000;
const LARGER: u32 = 1_000_000;
/// The delay at which they are timed, and the default of `hustings sim`. Memory is measured with
/// both: the longer the delay, the more members announce before they have heard the first.
const QUICK_MS: u64 = 1;
const SLOW_MS: u64 = 100;
/// The number of seeds. Memory depends on when members announce, so the greatest of all counts.
const SEEDS: u64 = 5;
/// The most by which the time per member may grow: the larger group has ten times the members, and
/// most of them out of the cache.
const MOST_GROWTH: f64 = 3.0;
/// The number of times that each group is timed; the best of each counts.
const REPEAT: u32 = 3;

/// The loss of most probabilistic elections, and that of elections of many rounds.
const LITTLE_LOSS: f64 = 0.01;
const MUCH_LOSS: f64 = 0.4;
/// K of the report's first round.
const FIRST_K: u32 = 7;
/// The number of elections per point of Figure 5, as in the report.
const RUNS_OF_FIGURE: u64 = 1_000;
/// The most CPU seconds of all simulations of Figure 5, on one core.
const MOST_SECONDS_OF_FIGURE: f64 = 60.0;
/// The most megabytes and CPU seconds of a probabilistic election of a million members.
const MOST_MEGABYTES_DRAWN: f64 = 200.0;
const MOST_SECONDS_DRAWN: f64 = 1.0;
/// The two groups in which all are drawn. The larger sends sixteen times as many messages.
const FEWER_DRAWN: u32 = 1_000;
const MORE_DRAWN: u32 = 4_000;

/// The members of Wagner's ring, the number of draws, and the CPU seconds that all may take.
const RING: u32 = 64;
const RING_DRAWS: u32 = 10_000;
const MOST_SECONDS_DRAWS: f64 = 10.0;
/// The largest ring of the exact tables, and the CPU seconds that all tables may take.
const RING_TABLES: usize = 1_000;
const MOST_SECONDS_TABLES: f64 = 5.0;

/// The CPU seconds that the curves of council elections may take, all algorithms.
const MOST_SECONDS_CURVES: f64 = 20.0;
/// The hosts of a council that is elected host by host, and the CPU seconds of a round.
const COUNCIL_HOSTS: u32 = 1_000_000;
const MOST_SECONDS_ROUND: f64 = 1.0;
/// The hosts of a council that is elected as aggregate counts, the number of elections, and the CPU
/// microseconds of each.
const TALLIED: u64 = 1_000_000_000;
const TALLIES: u64 = 100_000;
const MOST_MICROS_TALLY: f64 = 100.0;

/// Measures everything, and prints it beside the limits. Fails if one is exceeded.
pub(crate) fn run() -> Result<()> {
    println!("\nCPU time per delivered message, set-up included (at most {MOST_RATIO} x):");
    let is_fast_enough = compare(MOST_RATIO);
    println!("\nInstructions per delivered message, set-up included:");
    println!("{:<14} {:>8} {:>10} {:>8}", "workload", "skeleton", "simulator", "at most");
    let mut exceeded = Vec::new();
    for &(workload, most) in COUNTED {
        let skeleton = instructions(workload, "skeleton")?;
        let simulator = instructions(workload, "world")?;
        println!("{workload:<14} {skeleton:>8.1} {simulator:>10.1} {most:>8}");
        let excess = format!("{workload}: {simulator:.1} instructions a message");
        exceeded.extend((simulator > most).then_some(excess));
    }
    let [_, kilobytes] = measure("one w1-all-1e6 world 1")?;
    let peak = (kilobytes / 1024.0).floor();
    println!("\nMemory, a million members, all initiating: {peak} MB (at most {MOST_MEGABYTES})");
    exceeded.extend((peak > MOST_MEGABYTES).then(|| format!("{peak} MB")));
    announcing(&mut exceeded)?;
    drawing(&mut exceeded)?;
    figure(&mut exceeded);
    rings(&mut exceeded);
    councils(&mut exceeded);
    if !exceeded.is_empty() {
        return Err(format!("over the limit: {}", exceeded.join(", ")).into());
    }
    if !is_fast_enough {
        return Err("the simulator is too slow beside the skeleton, see above".into());
    }
    Ok(())
}

/// Prints the cost of an election by announcement; adds what is over the limit.
fn announcing(exceeded: &mut Vec<String>) -> Result<()> {
    println!(
        "\nMemory, one LE-S election of a million members, loss 0.1, the most of {SEEDS} seeds:"
    );
    for delay in [QUICK_MS, SLOW_MS] {
        let mut peak: f64 = 0.0;
        let mut state = 0.0;
        for seed in 1..=SEEDS {
            let [_, kilobytes, _, bytes] = measure(&format!("elect {LARGER} {delay} {seed}"))?;
            peak = peak.max(kilobytes * 1024.0);
            state = bytes;
        }
        let beyond = peak / f64::from(LARGER) - state;
        println!(
            "delay {delay:>3} ms: {:.0} MB, a member's share {beyond:.1} bytes beyond its state of {state} (at most {MOST_BYTES_BEYOND})",
            peak / 1e6,
        );
        let excess =
            format!("{beyond:.1} bytes a member beyond its state with delays of {delay} ms");
        exceeded.extend((beyond > MOST_BYTES_BEYOND).then_some(excess));
    }
    println!("\nCPU time per member of the same election, delay {QUICK_MS} ms, set-up included:");
    let growth = growth([SMALLER, LARGER], |members| {
        let [_, _, nanos, _] = measure(&format!("elect {members} {QUICK_MS} 1"))?;
        Ok(nanos / f64::from(members))
    })?;
    exceeded.extend(growth.map(|it| format!("{it} the time per member at ten times the members")));
    Ok(())
}

/// Prints the cost of a probabilistic election; adds what is over the limit.
fn drawing(exceeded: &mut Vec<String>) -> Result<()> {
    for (k, loss, then) in [
        (FIRST_K, LITTLE_LOSS, ""),
        (1, LITTLE_LOSS, ", then 14"),
        (FIRST_K, MUCH_LOSS, ", 14, 28 .."),
    ] {
        println!(
            "\nOne probabilistic election of a million members, loss {loss}, views 0.5, K = {k}{then}:"
        );
        for seed in 1..=SEEDS {
            let [_, kilobytes, nanos, rounds] =
                measure(&format!("draw {LARGER} {k} {loss} {seed}"))?;
            let (megabytes, seconds) = (kilobytes * 1024.0 / 1e6, nanos / 1e9);
            let is_met = megabytes <= MOST_MEGABYTES_DRAWN && seconds <= MOST_SECONDS_DRAWN;
            println!(
                "seed {seed}: {rounds} rounds, {megabytes:.0} MB (at most {MOST_MEGABYTES_DRAWN}), {seconds:.2} s CPU (at most {MOST_SECONDS_DRAWN}): {}",
                verdict(is_met)
            );
            if !is_met {
                exceeded.push(format!(
                    "{megabytes:.0} MB and {seconds:.2} s in a probabilistic election, loss {loss}, K = {k}"
                ));
            }
        }
    }
    println!("\nCPU time per message where K = N, set-up included:");
    let growth = growth([FEWER_DRAWN, MORE_DRAWN], |members| {
        let [messages, _, nanos, _] =
            measure(&format!("draw {members} {members} {LITTLE_LOSS} 1"))?;
        Ok(nanos / messages)
    })?;
    let by = "the time per message where four times as many are drawn";
    exceeded.extend(growth.map(|it| format!("{it} {by}")));
    Ok(())
}

/// Prints the cost of Figure 5 of the report; adds what is over the limit.
fn figure(exceeded: &mut Vec<String>) {
    let (points, nanos) = timed(|| elections::figure_5(RUNS_OF_FIGURE));
    let seconds = nanos / 1e9;
    println!(
        "\nFigure 5 of the report, (a) to (i), by `hash` and by `delay`, 1,000 elections a point:"
    );
    let is_met = seconds <= MOST_SECONDS_OF_FIGURE;
    println!(
        "{points} points: {seconds:.1} s CPU on one core (at most {MOST_SECONDS_OF_FIGURE}): {}",
        verdict(is_met)
    );
    exceeded.extend((!is_met).then(|| format!("{seconds:.1} s for Figure 5")));
}

/// Prints the cost of draws on Wagner's ring and of their tables; adds what is over the limit.
fn rings(exceeded: &mut Vec<String>) {
    let (elected, nanos) = timed(|| elections::on_ring(RING, RING_DRAWS, 1));
    println!("\n{RING_DRAWS} draws on Wagner's ring of {RING}, {elected} with a leader:");
    exceeded.extend(held("draws on Wagner's ring", nanos / 1e9, MOST_SECONDS_DRAWS, "s CPU"));
    let (_, nanos) = timed(|| black_box(elections::ring_tables(RING_TABLES)));
    println!(
        "Exact tables of rings of up to {RING_TABLES}, both comparisons, with and without a limit on equal stages:"
    );
    exceeded.extend(held("tables of Wagner's ring", nanos / 1e9, MOST_SECONDS_TABLES, "s CPU"));
}

/// Prints the cost of council elections; adds what is over the limit.
fn councils(exceeded: &mut Vec<String>) {
    let (points, nanos) = timed(councils::curves);
    println!(
        "\nT and N of council elections, n = 10 to 100,000, all algorithms, with the best c and by estimates, {points} points:"
    );
    exceeded.extend(held("curves of councils", nanos / 1e9, MOST_SECONDS_CURVES, "s CPU"));
    let mut slowest: f64 = 0.0;
    for seed in 1..=SEEDS {
        let (rounds, nanos) = timed(|| councils::by_hosts(COUNCIL_HOSTS, seed));
        slowest = slowest.max(nanos / 1e9 / rounds as f64);
    }
    println!(
        "A council of {COUNCIL_HOSTS} hosts, each simulated, a round, set-up included, the slowest of {SEEDS} seeds:"
    );
    exceeded.extend(held("a round of a council", slowest, MOST_SECONDS_ROUND, "s CPU"));
    let (councils, nanos) = timed(|| councils::by_tallies(TALLIED, TALLIES));
    println!("A council of {TALLIED} hosts by tallies, the mean of {councils} elections:");
    let micros = nanos / TALLIES as f64 / 1e3;
    exceeded.extend(held("a council by tallies", micros, MOST_MICROS_TALLY, "us CPU"));
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "missed" }
}

/// Prints whether a limit is met; returns what is over it.
fn held(what: &str, taken: f64, most: f64, unit: &str) -> Option<String> {
    let is_met = taken <= most;
    println!("  {taken:.2} {unit} (at most {most}): {}", verdict(is_met));
    (!is_met).then(|| format!("{taken:.2} {unit} for {what}"))
}

/// Times groups of two sizes, and prints the growth from one to the other; returns it if it is over
/// the limit. The least of several times counts.
fn growth(sizes: [u32; 2], nanos: impl Fn(u32) -> Result<f64>) -> Result<Option<String>> {
    let mut best = [f64::INFINITY; 2];
    for (size, best) in sizes.into_iter().zip(&mut best) {
        for _ in 0..REPEAT {
            *best = best.min(nanos(size)?);
        }
    }
    let ([few, many], [smaller, larger]) = (sizes, best);
    let growth = larger / smaller;
    println!(
        "{smaller:.0} ns of {few}, {larger:.0} ns of {many}: {growth:.2} x (at most {MOST_GROWTH} x)"
    );
    Ok((growth > MOST_GROWTH).then(|| format!("{growth:.2} x")))
}

/// Counts instructions per message, by the difference of two runs.
fn instructions(workload: &str, side: &str) -> Result<f64> {
    let (few, cheap) = count(workload, side, SHORT)?;
    let (many, dear) = count(workload, side, LONG)?;
    Ok((dear - cheap) / (many - few))
}

/// Returns the messages delivered and the instructions spent in a run of about `messages`.
fn count(workload: &str, side: &str, messages: u64) -> Result<(f64, f64)> {
    let program = std::env::current_exe()?;
    let profile = program.with_file_name("callgrind.out");
    let mut command = Command::new("valgrind");
    command
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(program)
        .args(["one", workload, side, &messages.to_string()]);
    let [delivered, _] = numbers(&mut command)?;
    let written = std::fs::read_to_string(&profile)?;
    let total = written.lines().find_map(|line| line.strip_prefix("totals: "));
    let total = total.ok_or("the profile has no totals line")?;
    Ok((delivered, total.trim().parse()?))
}

/// Runs this program with these arguments, separated by blanks. Returns the numbers that it prints.
fn measure<const N: usize>(arguments: &str) -> Result<[f64; N]> {
    numbers(Command::new(std::env::current_exe()?).args(arguments.split(' ')))
}

/// Returns the numbers that a program prints.
fn numbers<const N: usize>(command: &mut Command) -> Result<[f64; N]> {
    let output = command.output()?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} failed: {complaint}").into());
    }
    let printed = String::from_utf8(output.stdout)?;
    let numbers = printed.split_whitespace().map(str::parse);
    let numbers = numbers.collect::<std::result::Result<Vec<f64>, _>>()?;
    numbers.try_into().map_err(|_| format!("{command:?} printed `{printed}`").into())
}
