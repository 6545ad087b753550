//! Services of the operating system that several crates need: the boot clock, the calendar, files
//! that hold a secret, and values of a configuration.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this crate is where the machine's clock and files are asked"
)]

pub mod calendar;
pub mod clock;
pub mod secret_file;
pub mod values;
