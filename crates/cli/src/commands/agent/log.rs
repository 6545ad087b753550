//! The agent's log on standard error.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};

use clap::Args;
use tracing_subscriber::filter::LevelFilter;

use crate::options::named::{Named, Names, one_of};

/// The options of the log.
#[derive(Debug, Args)]
pub(crate) struct LogOptions {
    /// The level of detail of the log on standard error
    #[arg(long, value_name = "LEVEL", env = "HUSTINGS_LOG", default_value = "info",
          value_parser = one_of::<LevelFilter>())]
    log: LevelFilter,
}

/// The levels of detail.
impl Named for LevelFilter {
    const NAMES: Names<Self> = &[
        (Self::OFF, "off", "Nothing"),
        (Self::ERROR, "error", "Errors that keep the agent from taking part"),
        (Self::WARN, "warn", "Also conditions that an operator should look into"),
        (Self::INFO, "info", "Also changes of leadership"),
        (Self::DEBUG, "debug", "Also the agent's own actions"),
        (Self::TRACE, "trace", "Everything"),
    ];
}

impl LogOptions {
    /// Starts the log on standard error. Colours appear only on a terminal, and only if `NO_COLOR`
    /// is not set. Lines that cannot be written, as on a full disk, are lost.
    pub(crate) fn begin(&self) {
        tracing_subscriber::fmt()
            // It would report a failed write with `eprintln!`, which panics if that fails too.
            .log_internal_errors(false)
            .with_max_level(self.log)
            .with_writer(|| OneLine(io::stderr()))
            .with_ansi(shows_colours(&io::stderr()))
            .with_target(false)
            .init();
    }
}

/// Returns true if colours should be written to `stream`: it is a terminal and `NO_COLOR` is not
/// set.
pub(in crate::commands) fn shows_colours(stream: &impl IsTerminal) -> bool {
    has_colours(stream.is_terminal(), std::env::var_os("NO_COLOR").as_deref())
}

/// Returns true if colours should be written. By the convention of no-color.org an empty `NO_COLOR`
/// counts as unset.
fn has_colours(is_terminal: bool, no_color: Option<&OsStr>) -> bool {
    is_terminal && no_color.is_none_or(OsStr::is_empty)
}

/// Writes each event as one line. The logger passes each event in one piece that ends with a line
/// break. Any other line break in it comes from a text that another program chose, such as the
/// error of a store. Unescaped, it could forge a line of this log.
struct OneLine<W>(W);

impl<W: Write> Write for OneLine<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = event.strip_suffix(b"\n").unwrap_or(event);
        let mut line = Vec::with_capacity(event.len());
        for byte in text {
            match byte {
                b'\n' => line.extend(b"\\n"),
                b'\r' => line.extend(b"\\r"),
                byte => line.push(*byte),
            }
        }
        line.extend(&event[text.len()..]);
        self.0.write_all(&line)?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::io::Write;

    use super::{OneLine, has_colours};

    #[test]
    fn no_color_turns_colours_off_unless_it_is_empty() {
        let set = |value: &'static str| Some(OsStr::new(value));
        assert!(has_colours(true, None));
        assert!(has_colours(true, set("")));
        assert!(!has_colours(true, set("1")));
        assert!(!has_colours(false, None));
    }

    #[test]
    fn event_is_one_line_whatever_its_text() {
        let mut log = OneLine(Vec::new());
        let event = "WARN etcd said: no\r\n2031-01-01 INFO alpha leads\n";
        log.write_all(event.as_bytes()).expect("memory takes it");
        let written = String::from_utf8(log.0).expect("text");
        assert_eq!(written, "WARN etcd said: no\\r\\n2031-01-01 INFO alpha leads\n");
    }
}
