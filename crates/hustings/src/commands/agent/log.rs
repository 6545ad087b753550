//! What an agent logs, and how much of it.

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use tracing_subscriber::filter::LevelFilter;

/// How much to log, as the user says.
#[derive(Debug, Args)]
pub(crate) struct LogOptions {
    /// How much to log on standard error
    #[arg(
        long,
        value_enum,
        value_name = "LEVEL",
        env = "HUSTINGS_LOG",
        default_value = "info"
    )]
    log: Level,
}

/// How much to log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Level {
    /// Nothing
    Off,
    /// What keeps it from being a member
    Error,
    /// What somebody should look into
    Warn,
    /// Who leads
    Info,
    /// What it does about it
    Debug,
    /// Everything
    Trace,
}

impl LogOptions {
    /// Logs so much from now on, to standard error, with colours only on a terminal.
    pub(crate) fn begin(&self) {
        let filter = match self.log {
            Level::Off => LevelFilter::OFF,
            Level::Error => LevelFilter::ERROR,
            Level::Warn => LevelFilter::WARN,
            Level::Info => LevelFilter::INFO,
            Level::Debug => LevelFilter::DEBUG,
            Level::Trace => LevelFilter::TRACE,
        };
        tracing_subscriber::fmt()
            .with_max_level(filter)
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal())
            .with_target(false)
            .init();
    }
}
