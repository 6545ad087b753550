//! Holds `hustings-benches` to its limits, for `cargo xtask bench`: the simulator against a plain hand-written loop, in one run.
//!
//! CPU time per message as a ratio (times alone say little on a busy machine), instructions per message
//! (which no neighbour can disturb), and memory at a million members: of a ring, of an election by
//! announcement, whose time must besides grow like N, and of a probabilistic one, also where a second round
//! is needed. Where all take part in that, time must grow like the messages that they send. And CPU seconds of
//! draws on Wagner's ring and of their exact tables, and of council elections: their curves, a round of a million
//! hosts, and an election of a billion by tallies.

use std::error::Error;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What instructions are counted of, and the most that a message may cost in the simulator.
const COUNTED: &[(&str, f64)] =
    &[("w1-one-1e3", 110.0), ("w1-all-1e3", 110.0), ("w2", 230.0), ("w3", 800.0)];

/// A short and a long run: their difference leaves out what every process costs.
const SHORT: u64 = 200_000;
const LONG: u64 = 2_200_000;

const MOST_MEGABYTES: u64 = 150;

/// The most that an election by announcement may hold of a member beyond the protocol's own state.
const MOST_BYTES_BEYOND: f64 = 100.0;
/// The two groups whose times are compared.
const SMALLER: u32 = 100_000;
const LARGER: u32 = 1_000_000;
/// The delay at which they are timed, and the one that `hustings sim` assumes, with which memory is
/// measured too: the longer, the more announce before they have heard the first.
const QUICK_MS: u64 = 1;
const SLOW_MS: u64 = 100;
/// Who announces when decides how much is held: so memory is the most of so many seeds.
const SEEDS: u64 = 5;
/// How much more of its time a member may take in the larger: it has ten times the members, and most of
/// them out of the cache.
const MOST_GROWTH: f64 = 3.0;
/// How often each is timed; the best of each counts.
const REPEAT: u32 = 3;

/// How much is lost in most of them, and how much where many rounds are needed.
const LITTLE_LOSS: f64 = 0.01;
const MUCH_LOSS: f64 = 0.4;
/// K of the report's first round.
const FIRST_K: u32 = 7;
/// The most that all simulations of Figure 5 may take, on one core.
const MOST_SECONDS_OF_FIGURE: f64 = 60.0;
/// The most that a probabilistic election of a million members may hold, and take.
const MOST_MEGABYTES_DRAWN: f64 = 200.0;
const MOST_SECONDS_DRAWN: f64 = 1.0;
/// The two groups in which all are drawn, of which the larger sends sixteen times as many messages.
const FEWER_DRAWN: u32 = 1_000;
const MORE_DRAWN: u32 = 4_000;

/// Draws on Wagner's ring, and the CPU seconds that all of them may take.
const RING: u32 = 64;
const RING_DRAWS: u32 = 10_000;
const MOST_SECONDS_DRAWS: f64 = 10.0;
/// The largest ring of the exact tables, and the CPU seconds that all of these may take.
const RING_TABLES: u32 = 1_000;
const MOST_SECONDS_TABLES: f64 = 5.0;

/// The CPU seconds that the curves of council elections may take, all algorithms.
const MOST_SECONDS_CURVES: f64 = 20.0;
/// The hosts of a council that is elected host by host, and the CPU seconds of a round.
const COUNCIL_HOSTS: u32 = 1_000_000;
const MOST_SECONDS_ROUND: f64 = 1.0;
/// The hosts of a council that is elected by tallies, how often it is, and the CPU microseconds each time.
const TALLIED: u64 = 1_000_000_000;
const TALLIES: u64 = 100_000;
const MOST_MICROS_TALLY: f64 = 100.0;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    println!("\nCPU time per delivered message, set-up included (at most 2 x):");
    let ratios = program()?.args(["--at-most", "2"]).status()?;
    println!("\nInstructions per delivered message, set-up included:");
    println!("{:<14} {:>8} {:>10} {:>8}", "workload", "skeleton", "simulator", "at most");
    let mut exceeded = Vec::new();
    for &(workload, most) in COUNTED {
        let skeleton = instructions(workload, "skeleton")?;
        let simulator = instructions(workload, "world")?;
        println!("{workload:<14} {skeleton:>8.1} {simulator:>10.1} {most:>8}");
        if simulator > most {
            exceeded.push(format!("{workload}: {simulator:.1} instructions a message"));
        }
    }
    let peak = measure(program()?.args(["one", "w1-all-1e6", "world", "1"]))?.1 / 1024;
    println!("\nMemory, a million members, all initiating: {peak} MB (at most {MOST_MEGABYTES})");
    if peak > MOST_MEGABYTES {
        exceeded.push(format!("{peak} MB"));
    }
    exceeded.extend(announcing()?);
    exceeded.extend(drawing()?);
    exceeded.extend(figure()?);
    exceeded.extend(rings()?);
    exceeded.extend(councils()?);
    if !exceeded.is_empty() {
        return Err(format!("over the limit: {}", exceeded.join(", ")).into());
    }
    match ratios.success() {
        true => Ok(()),
        false => Err("the simulator is too slow beside the skeleton, see above".into()),
    }
}

/// Prints what an election by announcement takes; returns what is over the limit.
fn announcing() -> Result<Vec<String>> {
    println!(
        "\nMemory, one LE-S election of a million members, loss 0.1, the most of {SEEDS} seeds:"
    );
    let mut exceeded = Vec::new();
    for delay in [QUICK_MS, SLOW_MS] {
        let mut peak: f64 = 0.0;
        let mut state = 0.0;
        for seed in 1..=SEEDS {
            let election = elect(LARGER, delay, seed)?;
            peak = peak.max(election.peak);
            state = election.state;
        }
        let beyond = peak / f64::from(LARGER) - state;
        println!(
            "delay {delay:>3} ms: {:.0} MB, a member's share {beyond:.1} bytes beyond its state of {state} (at most {MOST_BYTES_BEYOND})",
            peak / 1e6,
        );
        if beyond > MOST_BYTES_BEYOND {
            exceeded.push(format!(
                "{beyond:.1} bytes a member beyond its state with delays of {delay} ms"
            ));
        }
    }
    let smaller = nanos_per_member(SMALLER)?;
    let larger = nanos_per_member(LARGER)?;
    let growth = larger / smaller;
    println!("\nCPU time per member of the same election, delay {QUICK_MS} ms, set-up included:");
    println!(
        "{smaller:.0} ns of {SMALLER}, {larger:.0} ns of {LARGER}: {growth:.2} x (at most {MOST_GROWTH} x)"
    );
    if growth > MOST_GROWTH {
        exceeded.push(format!("{growth:.2} x the time per member at ten times the members"));
    }
    Ok(exceeded)
}

/// Prints what a probabilistic election takes; returns what is over the limit.
fn drawing() -> Result<Vec<String>> {
    let mut exceeded = Vec::new();
    for (k, loss, then) in [
        (FIRST_K, LITTLE_LOSS, ""),
        (1, LITTLE_LOSS, ", then 14"),
        (FIRST_K, MUCH_LOSS, ", 14, 28 .."),
    ] {
        println!(
            "\nOne probabilistic election of a million members, loss {loss}, views 0.5, K = {k}{then}:"
        );
        for seed in 1..=SEEDS {
            let taken = draw(LARGER, k, loss, seed)?;
            let (megabytes, seconds) = (taken.peak / 1e6, taken.nanos / 1e9);
            let is_met = megabytes <= MOST_MEGABYTES_DRAWN && seconds <= MOST_SECONDS_DRAWN;
            println!(
                "seed {seed}: {} rounds, {megabytes:.0} MB (at most {MOST_MEGABYTES_DRAWN}), {seconds:.2} s CPU (at most {MOST_SECONDS_DRAWN}): {}",
                taken.rounds,
                verdict(is_met)
            );
            if !is_met {
                exceeded.push(format!(
                    "{megabytes:.0} MB and {seconds:.2} s in a probabilistic election, loss {loss}, K = {k}"
                ));
            }
        }
    }
    let nanos = |members| -> Result<f64> {
        let mut best = f64::INFINITY;
        for _ in 0..REPEAT {
            let taken = draw(members, members, LITTLE_LOSS, 1)?;
            best = best.min(taken.nanos / taken.messages);
        }
        Ok(best)
    };
    let (fewer, more) = (nanos(FEWER_DRAWN)?, nanos(MORE_DRAWN)?);
    let growth = more / fewer;
    println!("\nCPU time per message where K = N, set-up included:");
    println!(
        "{fewer:.0} ns of {FEWER_DRAWN}, {more:.0} ns of {MORE_DRAWN}: {growth:.2} x (at most {MOST_GROWTH} x)"
    );
    if growth > MOST_GROWTH {
        exceeded
            .push(format!("{growth:.2} x the time per message where four times as many are drawn"));
    }
    Ok(exceeded)
}

fn verdict(is_met: bool) -> &'static str {
    match is_met {
        true => "met",
        false => "missed",
    }
}

/// Prints what Figure 5 of the report takes; returns what is over the limit.
fn figure() -> Result<Vec<String>> {
    let [points, nanos]: [String; 2] = numbers(program()?.arg("figure"))?;
    let seconds = nanos.parse::<f64>()? / 1e9;
    println!(
        "\nFigure 5 of the report, (a) to (i), by `hash` and by `delay`, 1,000 elections a point:"
    );
    let is_met = seconds <= MOST_SECONDS_OF_FIGURE;
    println!(
        "{points} points: {seconds:.1} s CPU on one core (at most {MOST_SECONDS_OF_FIGURE}): {}",
        verdict(is_met)
    );
    Ok((!is_met).then(|| format!("{seconds:.1} s for Figure 5")).into_iter().collect())
}

/// Prints what draws on Wagner's ring and their tables take; returns what is over the limit.
fn rings() -> Result<Vec<String>> {
    let draws = ["ring".to_owned(), RING.to_string(), RING_DRAWS.to_string()];
    let (elected, seconds) = timed(draws.iter().map(String::as_str).chain(["1"]))?;
    println!("\n{RING_DRAWS} draws on Wagner's ring of {RING}, {elected} with a leader:");
    let draws = held("draws on Wagner's ring", seconds, MOST_SECONDS_DRAWS, "s CPU");
    let (_, tables) = timed(["ring-tables", &RING_TABLES.to_string()])?;
    println!(
        "Exact tables of rings of up to {RING_TABLES}, both comparisons, with and without a limit on equal stages:"
    );
    let tables = held("tables of Wagner's ring", tables, MOST_SECONDS_TABLES, "s CPU");
    Ok(draws.into_iter().chain(tables).collect())
}

/// Prints what council elections take; returns what is over the limit.
fn councils() -> Result<Vec<String>> {
    let (points, seconds) = timed(["council-curves"])?;
    println!(
        "\nT and N of council elections, n = 10 to 100,000, all algorithms, with the best c and by estimates, {points} points:"
    );
    let curves = held("curves of councils", seconds, MOST_SECONDS_CURVES, "s CPU");
    let mut slowest: f64 = 0.0;
    for seed in 1..=SEEDS {
        let (rounds, seconds) =
            timed(["council-hosts", &COUNCIL_HOSTS.to_string(), &seed.to_string()])?;
        slowest = slowest.max(seconds / rounds);
    }
    println!(
        "A council of {COUNCIL_HOSTS} hosts, each simulated, a round, set-up included, the slowest of {SEEDS} seeds:"
    );
    let hosts = held("a round of a council", slowest, MOST_SECONDS_ROUND, "s CPU");
    let (councils, seconds) =
        timed(["council-tallies", &TALLIED.to_string(), &TALLIES.to_string()])?;
    println!("A council of {TALLIED} hosts by tallies, the mean of {councils} elections:");
    let micros = seconds / TALLIES as f64 * 1e6;
    let tallies = held("a council by tallies", micros, MOST_MICROS_TALLY, "us CPU");
    Ok(curves.into_iter().chain(hosts).chain(tallies).collect())
}

/// What the benches print for these arguments: a number, and CPU time, here in seconds.
fn timed<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<(f64, f64)> {
    let [first, nanos] = numbers(program()?.args(arguments))?;
    Ok((first.parse()?, nanos.parse::<f64>()? / 1e9))
}

/// Prints whether a limit is met; returns what is over it.
fn held(what: &str, taken: f64, most: f64, unit: &str) -> Option<String> {
    let is_met = taken <= most;
    let verdict = if is_met { "met" } else { "missed" };
    println!("  {taken:.2} {unit} (at most {most}): {verdict}");
    (!is_met).then(|| format!("{taken:.2} {unit} for {what}"))
}

fn nanos_per_member(members: u32) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..REPEAT {
        best = best.min(elect(members, QUICK_MS, 1)?.nanos);
    }
    Ok(best / f64::from(members))
}

/// The command that starts `hustings-benches`.
fn program() -> Result<Command> {
    Ok(Command::new(beside_this("hustings-benches")?))
}

/// A file in the directory of this program: cargo builds both into the same.
fn beside_this(name: &str) -> Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name(name))
}

/// Instructions per message, by the difference of two runs.
fn instructions(workload: &str, side: &str) -> Result<f64> {
    let (few, cheap) = count(workload, side, SHORT)?;
    let (many, dear) = count(workload, side, LONG)?;
    Ok((dear - cheap) as f64 / (many - few) as f64)
}

/// Messages delivered and instructions spent in a run of about `messages`.
fn count(workload: &str, side: &str, messages: u64) -> Result<(u64, u64)> {
    let profile = beside_this("callgrind.out")?;
    let mut command = Command::new("valgrind");
    command
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(beside_this("hustings-benches")?)
        .args(["one", workload, side, &messages.to_string()]);
    let (delivered, _) = measure(&mut command)?;
    let written = std::fs::read_to_string(&profile)?;
    let total = written.lines().find_map(|line| line.strip_prefix("totals: "));
    let total = total.ok_or("the profile has no totals line")?;
    Ok((delivered, total.trim().parse()?))
}

/// What one side of a workload prints: messages delivered, and peak memory in kB.
fn measure(command: &mut Command) -> Result<(u64, u64)> {
    let [delivered, peak] = numbers(command)?;
    Ok((delivered.parse()?, peak.parse()?))
}

/// What an election by announcement took.
struct Election {
    /// The most memory that its process held, in bytes.
    peak: f64,
    nanos: f64,
    /// What the protocol itself holds of a member, in bytes.
    state: f64,
}

fn elect(members: u32, delay_ms: u64, seed: u64) -> Result<Election> {
    let mut command = program()?;
    command.args(["elect", &members.to_string(), &delay_ms.to_string(), &seed.to_string()]);
    let [_, peak, nanos, state] = numbers(&mut command)?;
    let kilobytes: f64 = peak.parse()?;
    Ok(Election { peak: kilobytes * 1024.0, nanos: nanos.parse()?, state: state.parse()? })
}

/// What a probabilistic election took.
struct Drawn {
    messages: f64,
    /// The most memory that its process held, in bytes.
    peak: f64,
    nanos: f64,
    rounds: u32,
}

fn draw(members: u32, k: u32, loss: f64, seed: u64) -> Result<Drawn> {
    let mut command = program()?;
    command.arg("draw");
    command.args([members.to_string(), k.to_string()]);
    command.args([loss.to_string(), seed.to_string()]);
    let [messages, peak, nanos, rounds] = numbers(&mut command)?;
    let kilobytes: f64 = peak.parse()?;
    Ok(Drawn {
        messages: messages.parse()?,
        peak: kilobytes * 1024.0,
        nanos: nanos.parse()?,
        rounds: rounds.parse()?,
    })
}

/// The numbers that a program prints.
fn numbers<const N: usize>(command: &mut Command) -> Result<[String; N]> {
    let output = command.output()?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} failed: {complaint}").into());
    }
    let printed = String::from_utf8(output.stdout)?;
    let numbers: Vec<String> = printed.split_whitespace().map(str::to_owned).collect();
    numbers.try_into().map_err(|_| format!("{command:?} printed `{printed}`").into())
}
