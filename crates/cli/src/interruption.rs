//! Ctrl-C: the first asks the experiment to stop and report, the second ends the program.

use hustings_sim::measure::Interruption;

use crate::failure::Failure;

/// Starts to listen for Ctrl-C and for the signals that ask a program to end.
pub(crate) fn watch() -> Result<Interruption, Failure> {
    let interruption = Interruption::default();
    let raised = interruption.clone();
    let on_signal = move || {
        if raised.raise() {
            std::process::exit(1);
        }
    };
    ctrlc::set_handler(on_signal)
        .map_err(|error| Failure::Failed(format!("cannot listen for Ctrl-C: {error}")))?;
    Ok(interruption)
}
