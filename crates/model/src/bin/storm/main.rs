//! Runs tenure through random storms, and prints the counts: `cargo xtask storm`.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use hustings_model::storm::{Count, Outcome, Version};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

/// Take tenure through random faults from many seeds, and print what happened
#[derive(Parser)]
#[command(
    bin_name = "cargo xtask storm",
    after_help = "A storm that breaks a promise is printed with the command that replays it. A shorter \
                  run, and the wrong versions that must be caught, are a part of \
                  `cargo test -p hustings-model`."
)]
struct Options {
    /// Run only the storm of this seed and print it line by line
    #[arg(long)]
    seed: Option<u64>,
    /// Tenure itself, or a wrong version: a file of crates/model/wrong, without its ending
    #[arg(long, value_name = "NAME", default_value = Version::HONEST.name, value_parser = version)]
    version: Version,
    /// How many messages must arrive
    #[arg(long, default_value_t = 200_000_000, conflicts_with = "seed")]
    messages: u64,
    /// As what to print it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
}

fn version(name: &str) -> Result<Version, String> {
    Version::named(name).ok_or_else(|| {
        let wrong: Vec<&str> = Version::wrong().map(|version| version.name).collect();
        let honest = Version::HONEST.name;
        format!("choose {honest} or one of the wrong versions: {}", wrong.join(", "))
    })
}

fn main() -> ExitCode {
    let options = Options::parse();
    let told = match options.seed {
        Some(seed) => replay(&options, seed),
        None => run_many(&options),
    };
    match told {
        Ok(code) => code,
        // The reader has closed the pipe.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one storm and prints its log.
fn replay(options: &Options, seed: u64) -> io::Result<ExitCode> {
    let run = options.version.replay(seed);
    let out = &mut io::stdout().lock();
    match options.format {
        Format::Table => {
            for line in &run.lines {
                writeln!(out, "{line}")?;
            }
        }
        Format::Json => {
            let broken = run.broken.map(|broken| broken.to_string());
            let told = json!({ "seed": seed, "lines": run.lines, "broken": broken });
            writeln!(out, "{told:#}")?;
        }
    }
    Ok(code(run.broken.is_none()))
}

/// Runs storms until enough messages have arrived.
fn run_many(options: &Options) -> io::Result<ExitCode> {
    let bar = progress_of(options.messages);
    let outcome = options.version.run_many(options.messages, |messages| bar.set_position(messages));
    bar.finish_and_clear();
    let out = &mut io::stdout().lock();
    match options.format {
        Format::Table => table(out, &outcome)?,
        Format::Json => {
            let broken = outcome
                .broken
                .iter()
                .map(|(seed, broken)| json!({ "seed": seed, "what": broken.to_string() }));
            let told = json!({
                "version": options.version.name,
                "tally": outcome.tally,
                "violations": broken.collect::<Vec<_>>(),
            });
            writeln!(out, "{told:#}")?;
        }
    }
    let shortfalls = outcome.tally.shortfalls();
    for shortfall in &shortfalls {
        eprintln!("too little happened: {shortfall}");
    }
    if let Some((seed, broken)) = outcome.broken.first() {
        eprintln!("{}", how_to_replay(options.version, *seed, broken));
    }
    Ok(code(outcome.broken.is_empty() && shortfalls.is_empty()))
}

fn table(out: &mut impl io::Write, outcome: &Outcome) -> io::Result<()> {
    let tally = &outcome.tally;
    for count in Count::ALL {
        writeln!(out, "{:<40} {:>13}", count.name(), tally.of(*count))?;
    }
    let longest = [
        ("longest tenure", tally.longest.tenure),
        ("longest pause", tally.longest.pause),
        ("longest way of a message", tally.longest.message),
    ];
    for (name, micros) in longest {
        writeln!(out, "{name:<40} {:>11.3} s", micros as f64 / 1e6)?;
    }
    writeln!(out, "{:<40} {:>13}", "violations", outcome.broken.len())
}

fn how_to_replay(version: Version, seed: u64, broken: impl Display) -> String {
    let which = if version.name == Version::HONEST.name {
        String::new()
    } else {
        format!(" --version {}", version.name)
    };
    format!("seed {seed}: {broken}\nreplay it: cargo xtask storm --seed {seed}{which}")
}

fn code(is_well: bool) -> ExitCode {
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn progress_of(messages: u64) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{wide_bar} {human_pos}/{human_len} messages, {eta}");
    ProgressBar::new(messages).with_style(style.expect("the template is well-formed"))
}
