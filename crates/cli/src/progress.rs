//! What a person sees of a long experiment, and how it is stopped.

use std::io::{self, IsTerminal};

use hustings_sim::measure::Interruption;
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;

/// Returns a progress bar, hidden if standard error is not a terminal.
pub(crate) fn bar(steps: u64, template: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(template);
    let bar = ProgressBar::new(steps).with_style(style.expect("the template is well-formed"));
    bar.tick();
    bar
}

/// Starts to listen for Ctrl-C and for the signals that ask a program to end. The first asks the
/// experiment to stop and report, the second ends the program.
pub(crate) fn interruption() -> Result<Interruption, Failure> {
    let interruption = Interruption::default();
    let raised = interruption.clone();
    let on_signal = move || {
        if raised.raise() {
            std::process::exit(1);
        }
    };
    ctrlc::set_handler(on_signal).map_err(Failure::cannot("listen for Ctrl-C"))?;
    Ok(interruption)
}
