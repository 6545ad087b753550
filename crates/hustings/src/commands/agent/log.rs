//! What an agent logs, and how much of it.

use std::io::IsTerminal;

use clap::ValueEnum;
use tracing_subscriber::filter::LevelFilter;

/// How much to log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
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

impl Level {
    /// Logs so much from now on, to standard error, with colours only on a terminal.
    pub(crate) fn begin(self) {
        let filter = match self {
            Self::Off => LevelFilter::OFF,
            Self::Error => LevelFilter::ERROR,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
            Self::Trace => LevelFilter::TRACE,
        };
        tracing_subscriber::fmt()
            .with_max_level(filter)
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal())
            .with_target(false)
            .init();
    }
}
