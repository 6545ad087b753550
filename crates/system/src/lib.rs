//! Services of the operating system that several crates need: the boot clock, the calendar, files
//! that hold a secret, and parsers for values that several configuration files have.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this crate is where the machine's clock and files are asked"
)]

pub mod clock;
pub mod secret_file;

use hustings_protocol::Duration;

/// An error message that says which values are allowed.
pub type Refusal = String;

/// Parses a duration, which may be zero.
pub fn duration(text: &str) -> Result<Duration, Refusal> {
    text.parse().map_err(|_| {
        "not a duration: write a number and a unit (ns, us, ms, s, m, h), as in 100ms".to_owned()
    })
}

/// Parses a duration that is not zero.
pub fn some_time(text: &str) -> Result<Duration, Refusal> {
    match duration(text)? {
        Duration::ZERO => Err("too short: choose 1ns or more".to_owned()),
        span => Ok(span),
    }
}

/// Parses the address of another member: a host and a port.
pub fn place(text: &str) -> Result<String, Refusal> {
    let is_host = |host: &str| !host.is_empty() && !host.contains([' ', '/', '@']);
    let split = text.rsplit_once(':').filter(|(host, _)| is_host(host));
    // An IPv6 address needs brackets. Otherwise its last part would be taken for the port.
    let split = split.filter(|(host, _)| host.starts_with('[') || !host.contains(':'));
    match split.map(|(_, port)| port.parse::<u16>()) {
        Some(Ok(1..)) => Ok(text.to_owned()),
        Some(Ok(0) | Err(_)) => Err(
            "the port is not a number from 1 to 65535: write a host and a port, as in 10.0.0.2:7400"
                .to_owned(),
        ),
        None => Err(
            "not a host and a port: write them as in 10.0.0.2:7400, [fd00::2]:7400 or host.example.org:7400"
                .to_owned(),
        ),
    }
}
