//! Parsers for the values of files and command lines.

use std::borrow::Borrow;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use hustings_protocol::Duration;
use hustings_protocol::announce::Takeover;
pub use hustings_system::{Refusal, duration, place, some_time};

use super::MULTICAST_V6;
use super::check::needs_zone;
use super::presets::{LISTEN_BOUNDS, WAIT_BOUNDS};
use crate::council::CouncilPart;
use crate::seal::Key;

/// The election protocols, with the names of `hustings sim`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolName {
    /// LE-A: every member announces itself at once.
    Announce,
    /// LE-S: a member announces itself after a random time, unless it received a better
    /// announcement.
    Suppress,
    /// LE-M: the member that wakes up first leads.
    Earliest,
    /// A member asks all members of a higher priority for an answer.
    Bully,
    /// The best identity circulates in a ring.
    ChangRoberts,
    /// A list of identities circulates in a ring twice.
    ModifiedRing,
    /// A few members, chosen by a hash, agree and inform all others.
    Probabilistic,
    /// No election takes place.
    NoElection,
}

/// All protocols with their names.
const PROTOCOLS: [(&str, ProtocolName); 8] = [
    ("announce", ProtocolName::Announce),
    ("suppress", ProtocolName::Suppress),
    ("earliest", ProtocolName::Earliest),
    ("bully", ProtocolName::Bully),
    ("chang-roberts", ProtocolName::ChangRoberts),
    ("modified-ring", ProtocolName::ModifiedRing),
    ("probabilistic", ProtocolName::Probabilistic),
    ("none", ProtocolName::NoElection),
];

impl FromStr for ProtocolName {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let known = PROTOCOLS.iter().find(|(name, _)| *name == text);
        known.map(|(_, protocol)| *protocol).ok_or_else(|| {
            let names = PROTOCOLS.map(|(name, _)| name);
            format!("no such protocol: choose {}", list(&names))
        })
    }
}

impl fmt::Display for ProtocolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = PROTOCOLS.iter().find(|(_, protocol)| protocol == self);
        f.write_str(known.map_or("", |(name, _)| name))
    }
}

/// Parses `auto`, which stands for a time that follows from the measured loss, or a duration.
pub(super) fn listen(text: &str) -> Result<Option<Duration>, Refusal> {
    if text == "auto" {
        return Ok(None);
    }
    let span = duration(text).map_err(
        |_| "choose auto, or a duration: a number and a unit (ns, us, ms, s, m, h), as in 300ms",
    )?;
    LISTEN_BOUNDS.check(span).map(Some).map_err(|what| format!("{what}, or auto"))
}

/// Parses the part of a member in the council of its group: `host` or `off`.
pub(super) fn council(text: &str) -> Result<CouncilPart, Refusal> {
    match text {
        "host" => Ok(CouncilPart::HOST),
        "off" => Ok(CouncilPart::Off),
        _ => Err("choose host or off; a centre is run by `hustings council`".to_owned()),
    }
}

/// Parses a waiting time.
pub fn wait(text: &str) -> Result<Duration, Refusal> {
    WAIT_BOUNDS.check(duration(text)?)
}

/// Returns the text if it is valid, and otherwise refuses it with the remedy.
fn if_valid(is_valid: bool, text: &str, remedy: &str) -> Result<String, Refusal> {
    if is_valid { Ok(text.to_owned()) } else { Err(remedy.to_owned()) }
}

/// Parses the address of an etcd server.
pub(super) fn endpoint(text: &str) -> Result<String, Refusal> {
    let is_url = text.starts_with("http://") || text.starts_with("https://");
    if_valid(is_url, text, "write it as http://host:2379 or https://host:2379")
}

/// Parses a name and a password. The error shows neither.
pub(super) fn login(text: &str) -> Result<(String, String), Refusal> {
    let (user, password) = text.split_once(':').ok_or("write it as name:password")?;
    Ok((user.to_owned(), password.to_owned()))
}

/// Parses the address of a PostgreSQL server. The error does not show it, because it may hold a
/// password.
pub(super) fn postgres(text: &str) -> Result<String, Refusal> {
    let is_url = text.starts_with("postgresql://") || text.starts_with("postgres://");
    if_valid(is_url, text, "write it as postgresql://user:password@host:5432/database")
}

/// Parses the name of a voter.
pub(super) fn voter(text: &str) -> Result<String, Refusal> {
    if_valid(!text.is_empty(), text, "name a member")
}

/// Parses the rule that decides whether a better newcomer replaces a working leader.
pub(super) fn takeover(text: &str) -> Result<Takeover, Refusal> {
    match text {
        "never" => Ok(Takeover::Never),
        "by-the-better" => Ok(Takeover::ByTheBetter),
        _ => Err("choose never or by-the-better".to_owned()),
    }
}

/// Parses an address with a port.
pub fn address(text: &str) -> Result<SocketAddr, Refusal> {
    text.parse().map_err(|_| format!("{}, as in 0.0.0.0:7400 or [::]:7400", not_an_address(text)))
}

/// Returns the problem with an address.
fn not_an_address(text: &str) -> String {
    match text.rsplit_once(':') {
        Some((host, port)) if host.parse::<IpAddr>().is_ok() || host.starts_with('[') => {
            format!("port `{port}` is not a number from 0 to 65535: write an IP address and a port")
        }
        Some(_) | None => "not an address: write an IP address and a port".to_owned(),
    }
}

/// Parses `off` or the address of the HTTP interface.
pub fn http(text: &str) -> Result<Option<SocketAddr>, Refusal> {
    address_or_off(text, "127.0.0.1:7480")
}

/// Parses `off` or the address of the metrics.
pub(super) fn metrics(text: &str) -> Result<Option<SocketAddr>, Refusal> {
    address_or_off(text, "0.0.0.0:7481")
}

/// Parses `off`, which is `None`, or an address. The error shows the samples.
fn address_or_off(text: &str, samples: &str) -> Result<Option<SocketAddr>, Refusal> {
    if text == "off" {
        return Ok(None);
    }
    let address = text.parse();
    address.map(Some).map_err(|_| format!("{}, as in {samples}, or off", not_an_address(text)))
}

/// Parses `off` or a multicast address.
pub(super) fn multicast(text: &str) -> Result<Option<SocketAddr>, Refusal> {
    let samples = "239.255.72.85:7401 or [ff05::7401]:7401";
    let what = match address_or_off(text, samples)? {
        Some(address) if !address.ip().is_multicast() => {
            "not a multicast address: choose a multicast address"
        }
        Some(address) if needs_zone(address.ip()) => {
            return Err(format!(
                "reaches only one host or one link, and needs a zone to say which: choose a site-local address such as {MULTICAST_V6}, or off"
            ));
        }
        Some(address) if address.port() == 0 => "port 0 cannot be used: choose a port",
        address => return Ok(address),
    };
    Err(format!("{what}, as in {samples}, or off"))
}

/// Parses the address of a network interface of this host.
pub(super) fn interface(text: &str) -> Result<IpAddr, Refusal> {
    text.parse().map_err(|_| {
        "not an IP address: write one of this host's, without a port, as in 10.0.0.1".to_owned()
    })
}

/// Accepts any text.
pub(super) fn any_text(text: &str) -> Result<String, Refusal> {
    Ok(text.to_owned())
}

/// Parses a key. The error does not show it.
pub(super) fn key(text: &str) -> Result<Key, Refusal> {
    Key::try_from(text.to_owned()).map_err(|error| error.to_string())
}

/// Parses the only key of a group.
pub fn only_key(text: &str) -> Result<Vec<Key>, Refusal> {
    key(text).map(|key| vec![key])
}

/// Parses the path of a file, which need not exist.
pub(super) fn file(text: &str) -> Result<PathBuf, Refusal> {
    if_valid(!text.is_empty(), text, "name a file").map(PathBuf::from)
}

/// Parses a boolean as people write it in the environment.
pub(super) fn switch(text: &str) -> Result<bool, Refusal> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err("choose true (or yes, on, 1) or false (or no, off, 0)".to_owned()),
    }
}

/// The largest edit distance at which a name is taken for a known one.
const MOST_OFF: usize = 3;

/// Returns the known name that is most similar to `name`, if one is close enough.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let most = MOST_OFF.min(name.len() / 2);
    let known = known.into_iter();
    let distances = known.map(|known| (strsim::damerau_levenshtein(name, known), known));
    let (distance, known) = distances.min()?;
    (distance <= most).then_some(known)
}

/// Joins words with commas, and the last with `or`.
pub(super) fn list<S: Borrow<str>>(words: &[S]) -> String {
    match words {
        [] => String::new(),
        [word] => word.borrow().to_owned(),
        [first @ .., last] => format!("{} or {}", first.join(", "), last.borrow()),
    }
}

#[cfg(test)]
mod tests {
    use super::{ProtocolName, address, http, multicast, place, switch};

    #[test]
    fn protocol_names_display_as_they_parse() {
        for name in ["announce", "suppress", "earliest", "bully", "chang-roberts", "modified-ring"]
        {
            let protocol: Result<ProtocolName, _> = name.parse();
            assert_eq!(protocol.map(|it| it.to_string()).as_deref(), Ok(name));
        }
    }

    #[test]
    fn place_is_a_host_with_a_port() {
        for good in ["10.0.0.2:7400", "[::1]:7400", "host:1", "a.example.org:65535"] {
            assert_eq!(place(good).as_deref(), Ok(good));
        }
        for bad in ["10.0.0.2", "host:", ":7400", "host:0", "host:65536", "::1:7400", "a b:1", ""] {
            assert!(place(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn switch_accepts_only_the_documented_words() {
        for (text, value) in [("1", true), ("Yes", true), ("on", true), ("true", true)] {
            assert_eq!(switch(text), Ok(value));
        }
        for text in ["0", "no", "OFF", "false"] {
            assert_eq!(switch(text), Ok(false));
        }
        for text in ["", "2", "truth"] {
            assert!(switch(text).is_err(), "{text}");
        }
    }

    #[test]
    fn off_is_accepted_only_where_it_has_a_meaning() {
        assert_eq!(http("off"), Ok(None));
        assert_eq!(multicast("off"), Ok(None));
        assert!(address("off").is_err());
        assert!(multicast("10.0.0.1:7401").is_err());
        assert!(multicast("239.255.72.85:0").is_err());
    }

    #[test]
    fn multicast_address_that_needs_a_zone_is_refused() {
        for good in ["239.255.72.85:1", "[ff05::1]:1", "[ff18::1]:1", "[ff0e::1]:1"] {
            assert!(multicast(good).is_ok(), "{good}");
        }
        for local in ["[ff01::1]:1", "[ff02::1]:1", "[ff12::1]:1", "[ff02::1%2]:1"] {
            assert!(multicast(local).is_err(), "{local}");
        }
    }
}
