//! The values of a configuration, as files and command lines write them.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use hustings_protocol::Duration;
use hustings_protocol::announce::Takeover;

use super::presets::{ANNOUNCE_BOUNDS, LISTEN_BOUNDS, SUPPRESS_BOUNDS, TTL_BOUNDS, WAIT_BOUNDS};
use super::{MULTICAST_V6, needs_zone};
use crate::council::CouncilPart;

/// A name of the configuration language: the reader is told what is allowed instead.
pub type Refusal = String;

/// Something that can be switched off: `off`, or a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrOff<T> {
    /// There shall be none.
    Off,
    /// This one.
    On(T),
}

impl<T> OrOff<T> {
    /// The value, if there is one.
    pub fn on(self) -> Option<T> {
        match self {
            Self::Off => None,
            Self::On(value) => Some(value),
        }
    }
}

/// How a leader is elected: the names of `hustings sim`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolName {
    /// LE-A: everyone announces itself at once.
    Announce,
    /// LE-S: after a random time, unless a better one was heard.
    Suppress,
    /// LE-M: who wakes up first leads.
    Earliest,
    /// Everyone better is asked whether it lives.
    Bully,
    /// The best identity goes round a ring.
    ChangRoberts,
    /// A list of identities goes round a ring twice.
    ModifiedRing,
    /// A few members, picked by a hash, agree and tell all.
    Probabilistic,
    /// Nobody is elected.
    NoElection,
}

/// Every protocol, with its name.
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

/// How long a member that hears nothing of its leader takes it to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenFor {
    /// As long as the measured loss calls for.
    Auto,
    /// So long.
    Span(Duration),
}

/// `auto`, or a span.
pub fn listen(text: &str) -> Result<ListenFor, Refusal> {
    match (text, duration(text)) {
        ("auto", _) => Ok(ListenFor::Auto),
        (_, Ok(span)) => {
            let checked = LISTEN_BOUNDS.check(span).map(ListenFor::Span);
            checked.map_err(|what| format!("{what}, or auto"))
        }
        (_, Err(_)) => Err(
            "choose auto, or a duration: a number and a unit (ns, us, ms, s, m, h), as in 300ms"
                .to_owned(),
        ),
    }
}

/// What part a member has in the council of its group: `host`, or `off`.
pub fn council(text: &str) -> Result<CouncilPart, Refusal> {
    match text {
        "host" => Ok(CouncilPart::HOST),
        "off" => Ok(CouncilPart::Off),
        _ => Err("choose host or off; a centre is run by `hustings council`".to_owned()),
    }
}

/// How often a leader says that it is there.
pub fn announce(text: &str) -> Result<Duration, Refusal> {
    ANNOUNCE_BOUNDS.check(duration(text)?)
}

/// How long members take to take the floor, perhaps no time at all.
pub fn suppress(text: &str) -> Result<Duration, Refusal> {
    SUPPRESS_BOUNDS.check(duration(text)?)
}

/// How long somebody waits.
pub fn wait(text: &str) -> Result<Duration, Refusal> {
    WAIT_BOUNDS.check(duration(text)?)
}

/// How long tenure is granted at a time.
pub fn ttl(text: &str) -> Result<Duration, Refusal> {
    TTL_BOUNDS.check(duration(text)?)
}

/// Where an etcd is.
pub fn endpoint(text: &str) -> Result<String, Refusal> {
    match text.starts_with("http://") || text.starts_with("https://") {
        true => Ok(text.to_owned()),
        false => Err("write it as http://host:2379 or https://host:2379".to_owned()),
    }
}

/// A name and a password. A complaint must show neither.
pub fn login(text: &str) -> Result<(String, String), Refusal> {
    let login = text.split_once(':');
    let login = login.map(|(user, password)| (user.to_owned(), password.to_owned()));
    login.ok_or_else(|| "write it as name:password".to_owned())
}

/// Where a PostgreSQL is. A complaint must not show it, as it may hold a password.
pub fn postgres(text: &str) -> Result<String, Refusal> {
    match text.starts_with("postgresql://") || text.starts_with("postgres://") {
        true => Ok(text.to_owned()),
        false => Err("write it as postgresql://user:password@host:5432/database".to_owned()),
    }
}

/// The name of a voter.
pub fn voter(text: &str) -> Result<String, Refusal> {
    match text.is_empty() {
        true => Err("name a member".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// What a better newcomer does to a leader that works.
pub fn takeover(text: &str) -> Result<Takeover, Refusal> {
    match text {
        "never" => Ok(Takeover::Never),
        "by-the-better" => Ok(Takeover::ByTheBetter),
        _ => Err("choose never or by-the-better".to_owned()),
    }
}

/// A span, perhaps of nothing.
pub fn duration(text: &str) -> Result<Duration, Refusal> {
    text.parse().map_err(|_| {
        "not a duration: write a number and a unit (ns, us, ms, s, m, h), as in 100ms".to_owned()
    })
}

/// A span that is not over at once.
pub fn some_time(text: &str) -> Result<Duration, Refusal> {
    match duration(text)? {
        Duration::ZERO => Err("too short: choose 1ns or more".to_owned()),
        span => Ok(span),
    }
}

/// An address with a port.
pub fn address(text: &str) -> Result<SocketAddr, Refusal> {
    text.parse()
        .map_err(|_| format!("{}, as in 0.0.0.0:7400 or [::]:7400", not_an_address(text)))
}

/// What is wrong with an address.
fn not_an_address(text: &str) -> String {
    match text.rsplit_once(':') {
        Some((host, port)) if host.parse::<IpAddr>().is_ok() || host.starts_with('[') => {
            format!("port `{port}` is not a number from 0 to 65535: write an IP address and a port")
        }
        Some(_) | None => "not an address: write an IP address and a port".to_owned(),
    }
}

/// `off`, or where the HTTP interface listens.
pub fn http(text: &str) -> Result<OrOff<SocketAddr>, Refusal> {
    match text {
        "off" => Ok(OrOff::Off),
        _ => text
            .parse()
            .map(OrOff::On)
            .map_err(|_| format!("{}, as in 127.0.0.1:7480, or off", not_an_address(text))),
    }
}

/// `off`, or where metrics can be read.
pub fn metrics(text: &str) -> Result<OrOff<SocketAddr>, Refusal> {
    match text {
        "off" => Ok(OrOff::Off),
        _ => text
            .parse()
            .map(OrOff::On)
            .map_err(|_| format!("{}, as in 0.0.0.0:7481, or off", not_an_address(text))),
    }
}

/// `off`, or where multicasts go.
pub fn multicast(text: &str) -> Result<OrOff<SocketAddr>, Refusal> {
    let refused =
        |what: String| format!("{what}, as in 239.255.72.85:7401 or [ff05::7401]:7401, or off");
    match (text, text.parse::<SocketAddr>()) {
        ("off", _) => Ok(OrOff::Off),
        (_, Ok(address)) if !address.ip().is_multicast() => {
            Err(refused("not a multicast address: choose one".to_owned()))
        }
        (_, Ok(address)) if needs_zone(address.ip()) => Err(format!(
            "of one host or one link alone, which cannot be told without a zone: choose a site-local one such as {MULTICAST_V6}, or off"
        )),
        (_, Ok(address)) if address.port() == 0 => {
            Err(refused("port 0 is none: choose one".to_owned()))
        }
        (_, Ok(address)) => Ok(OrOff::On(address)),
        (_, Err(_)) => Err(refused(not_an_address(text))),
    }
}

/// The address of a network interface of this host.
pub fn interface(text: &str) -> Result<IpAddr, Refusal> {
    text.parse().map_err(|_| {
        "not an IP address: write one of this host's, without a port, as in 10.0.0.1".to_owned()
    })
}

/// Where another member may be found: a host and a port.
pub fn place(text: &str) -> Result<String, Refusal> {
    let is_host = |host: &str| !host.is_empty() && !host.contains([' ', '/', '@']);
    let split = text.rsplit_once(':').filter(|(host, _)| is_host(host));
    // An IPv6 address needs brackets, or its last part would be taken for the port.
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

/// A file, there or not.
pub fn file(text: &str) -> Result<PathBuf, Refusal> {
    match text.is_empty() {
        true => Err("name a file".to_owned()),
        false => Ok(PathBuf::from(text)),
    }
}

/// Yes or no, as people write it in the environment.
pub fn switch(text: &str) -> Result<bool, Refusal> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err("choose true (or yes, on, 1) or false (or no, off, 0)".to_owned()),
    }
}

/// The greatest number of letters that a name may be off to be taken for a known one.
const MOST_OFF: usize = 3;

/// The known name that is most like `name`, if one is.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let most = MOST_OFF.min(name.len() / 2);
    let known = known.into_iter();
    let distances = known.map(|known| (strsim::damerau_levenshtein(name, known), known));
    let (distance, known) = distances.min()?;
    (distance <= most).then_some(known)
}

/// A word, a comma, a word, `or` a word.
pub(super) fn list(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [word] => (*word).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{OrOff, ProtocolName, address, http, multicast, place, switch};

    #[test]
    fn every_protocol_is_shown_as_it_is_read() {
        for name in [
            "announce",
            "suppress",
            "earliest",
            "bully",
            "chang-roberts",
            "modified-ring",
        ] {
            let protocol: Result<ProtocolName, _> = name.parse();
            assert_eq!(protocol.map(|it| it.to_string()).as_deref(), Ok(name));
        }
    }

    #[test]
    fn places_are_hosts_with_ports() {
        for good in [
            "10.0.0.2:7400",
            "[::1]:7400",
            "host:1",
            "a.example.org:65535",
        ] {
            assert_eq!(place(good).as_deref(), Ok(good));
        }
        for bad in [
            "10.0.0.2",
            "host:",
            ":7400",
            "host:0",
            "host:65536",
            "::1:7400",
            "a b:1",
            "",
        ] {
            assert!(place(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn switches_are_yes_or_no() {
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
    fn off_is_off() {
        assert_eq!(http("off"), Ok(OrOff::Off));
        assert_eq!(multicast("off"), Ok(OrOff::Off));
        assert!(address("off").is_err());
        assert!(multicast("10.0.0.1:7401").is_err());
        assert!(multicast("239.255.72.85:0").is_err());
    }

    #[test]
    fn a_multicast_address_is_the_same_on_every_host() {
        for good in [
            "239.255.72.85:1",
            "[ff05::1]:1",
            "[ff18::1]:1",
            "[ff0e::1]:1",
        ] {
            assert!(multicast(good).is_ok(), "{good}");
        }
        for local in ["[ff01::1]:1", "[ff02::1]:1", "[ff12::1]:1", "[ff02::1%2]:1"] {
            assert!(multicast(local).is_err(), "{local}");
        }
    }
}
